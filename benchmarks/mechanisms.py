"""Chains, limbs and arms for the benchmarks: random problems, a judge, and the same mechanisms in other packages.

A mechanism is a sequence of hinges. Up to three hinges without distance are one joint of a skeleton. Targets are tip
positions of random poses within the limits, and starts are other such poses.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ikcore as ik

SEED = 20261121
TOLERANCE = 1e-4  # relative to the reach: tolerance of answers, also given to solvers that take one
SLACK = 1e-5  # radians: tolerance of a joint's range

Floats = NDArray[np.float64]
Solve = Callable[[Floats, Floats], Floats]  # a package's call: start angles and target, to angles


@dataclass(frozen=True)
class Joint:
    """Hinges at one point, the bone to the next joint along x, and the range of each angle."""

    axes: str
    length: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    free: bool = False  # the ranges are used for drawing poses, but are no limits


@dataclass(frozen=True)
class Mechanism:
    """A sequence of joints."""

    name: str
    joints: tuple[Joint, ...]

    @property
    def reach(self) -> float:
        """The length of all bones in line."""
        return sum(joint.length for joint in self.joints)

    @property
    def axes(self) -> str:
        """The axes of all hinges."""
        return "".join(joint.axes for joint in self.joints)

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest angle of every hinge."""
        low, high = ([angle for joint in self.joints for angle in getattr(joint, end)] for end in ("low", "high"))
        return np.array(low), np.array(high)

    def skeleton(self) -> ik.Skeleton:
        """One joint for every joint here, and the tip."""
        lengths = [0.0, *(joint.length for joint in self.joints)]
        offsets = np.stack([lengths, *np.zeros((2, len(lengths)))], axis=1)
        return ik.Skeleton(
            np.arange(len(lengths)) - 1, offsets, limits=[*(limit_of(joint) for joint in self.joints), None]
        )

    def pose(self, angles: Floats) -> ik.Pose:
        """The pose of the skeleton for these angles."""
        rotations, hinge = np.zeros((len(angles), len(self.joints) + 1, 4)), 0
        rotations[..., 0] = 1
        for index, joint in enumerate(self.joints):
            last = hinge + len(joint.axes)
            rotations[:, index] = ik.rotations.from_euler(padded(angles[:, hinge:last]), order_of(joint))
            hinge = last
        return ik.Pose(rotations)

    def tips(self, angles: Floats) -> Floats:
        """Tip positions for these angles, by matrices, independent of any solver."""
        position, turned = np.zeros((len(angles), 3)), np.broadcast_to(np.eye(3), (len(angles), 3, 3))
        hinge = 0
        for joint in self.joints:
            for axis in joint.axes:
                turned = turned @ matrices(axis, angles[:, hinge])
                hinge += 1
            position = position + joint.length * turned[:, :, 0]
        return position

    def problems(self, count: int) -> tuple[Floats, Floats]:
        """Start angles and targets."""
        random = np.random.default_rng(SEED)
        low, high = self.bounds()
        start, there = random.uniform(low, high, (2, count, len(low)))
        return start, self.tips(there)

    def solved(self, angles: Floats, targets: Floats) -> float:
        """The share with the tip on the target, and all angles in range except for whole turns."""
        near = np.linalg.norm(self.tips(angles) - targets, axis=1) <= TOLERANCE * self.reach
        return float(np.mean(near & self.inside(angles)))

    def inside(self, angles: Floats) -> NDArray[np.bool_]:
        """True where all angles are in range."""
        low, high = self.bounds()
        middle = (low + high) / 2
        wrapped = angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi))
        free = np.array([joint.free for joint in self.joints for _ in joint.axes])
        within: NDArray[np.bool_] = free | (wrapped >= low - SLACK) & (wrapped <= high + SLACK)
        return np.asarray(within.all(axis=1))

    def angles(self, pose: ik.Pose) -> Floats:
        """The angles of a pose of the skeleton."""
        columns = []
        for index, joint in enumerate(self.joints):
            found = ik.rotations.to_euler(pose.rotations[:, index], order_of(joint))
            columns.append(np.asarray(found, float)[:, : len(joint.axes)])
        return np.concatenate(columns, axis=1)


def order_of(joint: Joint) -> str:
    """Its axes followed by the others, as an Euler order."""
    return (joint.axes + "".join(axis for axis in "zyx" if axis not in joint.axes)).upper()


def padded(angles: Floats) -> Floats:
    """Angles padded with zeros to three columns."""
    return np.pad(angles, ((0, 0), (0, 3 - angles.shape[1])))


def limit_of(joint: Joint) -> ik.Limit | None:
    """The limit of a joint of the skeleton."""
    if joint.free:
        return None
    if len(joint.axes) == 1:
        return ik.Limit.hinge(np.eye(3)["xyz".index(joint.axes)], joint.low[0], joint.high[0])
    return ik.Limit.euler(joint.axes.upper(), joint.low, joint.high)


def matrices(axis: str, angle: Floats) -> Floats:
    """Rotations about x, y or z."""
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    turned = np.zeros((len(angle), 3, 3))
    turned[:, i, i] = 1
    turned[:, j, j] = turned[:, k, k] = np.cos(angle)
    turned[:, k, j] = np.sin(angle)
    turned[:, j, k] = -turned[:, k, j]
    return turned


def _ball(length: float) -> Joint:
    return Joint("zyx", length, (-0.8,) * 3, (0.8,) * 3, free=True)


def _hinge(axis: str, length: float, low: float, high: float) -> Joint:
    return Joint(axis, length, (low,), (high,))


MECHANISMS = (
    Mechanism("ten ball joints", tuple(_ball(length) for length in (1.2, 1.1, 1, 1.1, 0.9, 0.8, 1, 0.9, 1, 0.8))),
    Mechanism(
        "limb: a hip and a knee",
        (Joint("zyx", 0.45, (-2.4, -1.5, -2.4), (2.4, 1.5, 2.4)), _hinge("y", 0.43, 0.02, 2.7)),
    ),
    Mechanism(
        "arm of six hinges",
        tuple(
            _hinge(axis, length, -high, high)
            for axis, length, high in zip(
                "zyyxyx", (0.15, 0.43, 0.41, 0.05, 0.06, 0.02), (2.8, 1.9, 2.3, 3.0, 1.7, 3.0), strict=True
            )
        ),
    ),
    Mechanism(
        "arm of seven hinges",
        tuple(
            _hinge(axis, length, -high, high)
            for axis, length, high in zip(
                "zyxyxyx", (0.1, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1), (2.9, 1.7, 2.9, 2.0, 2.9, 1.9, 2.9), strict=True
            )
        ),
    ),
)


# Packages


def installed(mechanism: Mechanism) -> tuple[dict[str, Solve], list[str]]:
    """The mechanism in every installed package that supports it, and a sentence for every other package."""
    solvers, missing = {}, []
    for name, make in PACKAGES.items():
        distribution = DISTRIBUTIONS.get(name, name)
        try:
            solvers[f"{distribution} {version(distribution)}"] = make(importlib.import_module(name), mechanism)
        except ImportError:
            missing.append(f"{distribution} is not installed: left out.")
    return solvers, missing


def _roboticstoolbox(package: Any, mechanism: Mechanism) -> Solve:
    turn, robot = package.ET, None
    bounds = iter(zip(*mechanism.bounds(), strict=True))
    for joint in mechanism.joints:
        parts = [getattr(turn, f"R{axis}")(qlim=list(next(bounds))) for axis in joint.axes]
        for part in [*parts, turn.tx(joint.length)]:
            robot = part if robot is None else robot * part
    assert robot is not None
    options = {"mask": np.array([1.0, 1, 1, 0, 0, 0]), "tol": (TOLERANCE * mechanism.reach) ** 2 / 8}

    def solve(start: Floats, target: Floats) -> Floats:
        pose = np.eye(4)
        pose[:3, 3] = target
        return np.asarray(robot.ik_LM(pose, q0=start, **options)[0])

    return solve


def _pybullet(package: Any, mechanism: Mechanism) -> Solve:
    """Without its null space, which respects the limits but does not converge to the targets."""
    if not package.isConnected():
        package.connect(package.DIRECT)
    package.resetSimulation()
    hinges = len(mechanism.axes)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mechanism.urdf"
        file.write_text(urdf(mechanism))
        body = package.loadURDF(str(file), useFixedBase=True)
    options = {"maxNumIterations": 1000, "residualThreshold": TOLERANCE * mechanism.reach / 2}

    def solve(start: Floats, target: Floats) -> Floats:
        for hinge, angle in enumerate(start):
            package.resetJointState(body, hinge, float(angle))
        return np.asarray(package.calculateInverseKinematics(body, hinges, target.tolist(), **options))

    return solve


def _ikpy(package: Any, mechanism: Mechanism) -> Solve:
    chain = importlib.import_module(f"{package.__name__}.chain").Chain
    mask = [False, *[True] * len(mechanism.axes), False]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mechanism.urdf"
        file.write_text(urdf(mechanism))
        robot = chain.from_urdf_file(str(file), base_elements=["link0"], active_links_mask=mask)

    def solve(start: Floats, target: Floats) -> Floats:
        return np.asarray(robot.inverse_kinematics(target, initial_position=[0, *start, 0]))[1:-1]

    return solve


def urdf(mechanism: Mechanism) -> str:
    """The mechanism as URDF. Bullet needs masses, the tip as a separate joint, and short lines."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    ahead, joints = 0.0, []
    bounds = iter(zip(*mechanism.bounds(), strict=True))
    for joint in mechanism.joints:
        for axis in joint.axes:
            low, high = next(bounds)
            if joint.free:
                low, high = -6.3, 6.3
            lies = " ".join("1" if axis == other else "0" for other in "xyz")
            limit = f'<axis xyz="{lies}"/><limit lower="{low}" upper="{high}" effort="1" velocity="1"/>'
            joints.append(("revolute", ahead, limit))
            ahead = 0.0
        ahead = joint.length
    joints.append(("fixed", ahead, ""))
    links = "".join(f'<link name="link{i}">{inertia}</link>\n' for i in range(len(joints) + 1))
    text = "".join(
        f'<joint name="j{i}" type="{kind}"><parent link="link{i}"/><child link="link{i + 1}"/>'
        f'<origin xyz="{x} 0 0"/>{limit}</joint>\n'
        for i, (kind, x, limit) in enumerate(joints)
    )
    return f'<robot name="mechanism">{links}{text}</robot>'


PACKAGES: dict[str, Callable[[Any, Mechanism], Solve]] = {
    "roboticstoolbox": _roboticstoolbox,
    "pybullet": _pybullet,
    "ikpy": _ikpy,
}
DISTRIBUTIONS = {"roboticstoolbox": "roboticstoolbox-python"}
