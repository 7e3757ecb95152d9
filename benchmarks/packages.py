"""Installable packages that can solve a two-bone limb for a point. None has a pole, so the problem differs slightly.

They model the limb as a robot with three hinges at the root and one at the mid joint, and search from its present pose.
Packages that are not installed are left out.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ikcore as ik

COUNT = 25
LENGTHS = (0.45, 0.42)
REACH = sum(LENGTHS)
TOLERANCE = 1e-4  # relative to the reach: tolerance of answers, also given to the packages
START = (0.3, 0.2, 0.1, 0.8)  # angles about z, y and x at the root, about z at the mid joint; bones along x

Reach = Callable[[NDArray[Any]], Any]  # a package's call: target to answer
Limb = tuple[Reach, Callable[[Any], NDArray[Any]]]  # that, and the end position of its answer


def targets() -> NDArray[Any]:
    """Points well within reach, all around the root."""
    random = np.random.default_rng(20261121)
    line = random.normal(size=(COUNT, 3))
    found: NDArray[Any] = (
        line / np.linalg.norm(line, axis=1, keepdims=True) * random.uniform(0.2, 0.95, (COUNT, 1)) * REACH
    )
    return found


def installed() -> tuple[dict[str, Limb], list[str]]:
    """The limb in every installed package, and a sentence for every other package."""
    limbs, missing = {"ikcore `two_bone`, with a pole": _ikcore()}, []
    for name, make in PACKAGES.items():
        try:
            limbs[f"{name} {version(DISTRIBUTIONS.get(name, name))}"] = make(importlib.import_module(name))
        except ImportError:
            missing.append(f"{name} is not installed: left out.")
    return limbs, missing


def misses(limb: Limb) -> NDArray[Any]:
    """Distance of the end from every target, relative to the reach."""
    reach, end_of = limb
    return np.array([np.linalg.norm(end_of(reach(target)) - target) for target in targets()]) / REACH


def _forward(angles: Any) -> NDArray[Any]:
    """The end position for these angles."""
    z, y, x, bend = np.asarray(angles, float)
    root = ik.rotations.from_euler([z, y, x], "ZYX")
    return ik.rotations.rotate(root, [LENGTHS[0] + LENGTHS[1] * np.cos(bend), LENGTHS[1] * np.sin(bend), 0])


def _ikcore() -> Limb:
    root, mid, end = np.zeros(3), np.array([LENGTHS[0], 0, 0]), np.array([LENGTHS[0], LENGTHS[1], 0])
    pole = np.array([0.0, 1, 1])
    return lambda target: ik.two_bone(root, mid, end, target, pole=pole), lambda limb: limb.positions[2]


def _roboticstoolbox(package: Any) -> Limb:
    turn, along = package.ET, package.ET.tx
    robot = turn.Rz() * turn.Ry() * turn.Rx() * along(LENGTHS[0]) * turn.Rz() * along(LENGTHS[1])
    options = {"q0": np.array(START), "mask": np.array([1.0, 1, 1, 0, 0, 0]), "tol": (TOLERANCE * REACH) ** 2 / 8}

    def reach(target: NDArray[Any]) -> Any:
        pose = np.eye(4)
        pose[:3, 3] = target
        return robot.ik_LM(pose, **options)

    return reach, lambda answer: _forward(answer[0])


def _pybullet(package: Any) -> Limb:
    package.connect(package.DIRECT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "limb.urdf"
        file.write_text(_urdf())
        body = package.loadURDF(str(file), useFixedBase=True)

    def reach(target: NDArray[Any]) -> Any:
        for joint, angle in enumerate(START):
            package.resetJointState(body, joint, angle)
        return package.calculateInverseKinematics(
            body, 4, target.tolist(), maxNumIterations=1000, residualThreshold=TOLERANCE * REACH / 2
        )

    return reach, _forward


def _ikpy(package: Any) -> Limb:
    chain = importlib.import_module(f"{package.__name__}.chain").Chain
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "limb.urdf"
        file.write_text(_urdf())
        mask = [False, True, True, True, True, False]
        limb = chain.from_urdf_file(str(file), base_elements=["link0"], active_links_mask=mask)
    start = [0, *START, 0]
    return lambda target: limb.inverse_kinematics(target, initial_position=start), lambda q: _forward(q[1:5])


def _tinyik(package: Any) -> Limb:
    limb = package.Actuator(["z", "y", "x", [LENGTHS[0], 0, 0], "z", [LENGTHS[1], 0, 0]])

    def reach(target: NDArray[Any]) -> Any:
        limb.angles = START
        limb.ee = target
        return limb.angles

    return reach, _forward


def _urdf() -> str:
    """The limb as URDF. Bullet needs masses, and the tip as a separate joint."""
    axes, ends = ("0 0 1", "0 1 0", "1 0 0", "0 0 1", None), (0, 0, 0, *LENGTHS)
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="link{i}">{inertia}</link>' for i in range(6))
    joints = "".join(
        f'<joint name="j{i}" type="{"revolute" if axis else "fixed"}"><parent link="link{i}"/>'
        f'<child link="link{i + 1}"/><origin xyz="{x} 0 0"/>'
        + (f'<axis xyz="{axis}"/><limit lower="-6.3" upper="6.3" effort="1" velocity="1"/>' if axis else "")
        + "</joint>"
        for i, (axis, x) in enumerate(zip(axes, ends, strict=True))
    )
    return f'<robot name="limb">{links}{joints}</robot>'


PACKAGES: dict[str, Callable[[Any], Limb]] = {
    "roboticstoolbox": _roboticstoolbox,
    "pybullet": _pybullet,
    "ikpy": _ikpy,
    "tinyik": _tinyik,
}
DISTRIBUTIONS = {"roboticstoolbox": "roboticstoolbox-python"}
