"""Robots in installed packages that solve for the pose of a hand.

A robot is defined by a, d and alpha of every joint (modified Denavit and Hartenberg), and by its range in degrees.
Failures of a package are NaN.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Solve = Callable[[Floats, Floats], Floats]  # start angles and hand pose, to angles
Parameters = Sequence[tuple[float, float, float]]
Ranges = Sequence[tuple[float, float]]
RESTARTS = 100  # for packages without their own restarts


def installed(parameters: Parameters, ranges: Ranges, tolerance: float) -> dict[str, Solve]:
    """A robot in every installed package, with a tolerance in metres and radians."""
    solvers: dict[str, Solve] = {}
    for name, (distribution, make) in PACKAGES.items():
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        try:
            title = f"{distribution} {version(distribution)}"
        except PackageNotFoundError:  # of a system package, not of pip
            title = distribution
        solvers |= {f"{title}{how}": solve for how, solve in make(package, parameters, ranges, tolerance).items()}
    return solvers


def _roboticstoolbox(package: Any, parameters: Parameters, ranges: Ranges, tolerance: float) -> dict[str, Solve]:
    """`ik_LM` in C++, with restarts from random angles; its tolerance is half the squared error."""
    turn, chain = package.ET, None
    for (a, d, alpha), span in zip(parameters, ranges, strict=True):
        for part in (turn.tx(a), turn.Rx(np.radians(alpha)), turn.tz(d), turn.Rz(qlim=list(np.radians(span)))):
            chain = part if chain is None else chain * part
    assert chain is not None

    def solve(start: Floats, wanted: Floats) -> Floats:
        return np.asarray(chain.ik_LM(wanted, q0=start, tol=tolerance**2 / 2)[0])

    return {"": solve}


def _kdl(package: Any, parameters: Parameters, ranges: Ranges, tolerance: float) -> dict[str, Solve]:
    """Newton's method with angles projected into their ranges; once, and with restarts from random angles."""
    return {
        how: _Newton(package, parameters, ranges, tolerance, attempts).solve
        for how, attempts in (("", 1), (", restarts", 1 + RESTARTS))
    }


class _Newton:
    """KDL's Newton solver; keeps its parts alive."""

    def __init__(self, package: Any, parameters: Parameters, ranges: Ranges, tolerance: float, attempts: int) -> None:
        self.package, self.ranges, self.attempts = package, np.radians(ranges), attempts
        self.chain, joint = package.Chain(), package.Joint
        places = [_place(*given) for given in parameters] + [np.eye(4)]
        for index, place in enumerate(places):
            kind = joint.RotZ if index else joint.Fixed
            self.chain.addSegment(package.Segment(joint(kind), self._frame(place)))
        self.forward = package.ChainFkSolverPos_recursive(self.chain)
        self.step = package.ChainIkSolverVel_pinv(self.chain)
        self.bounds = [self._angles(bound) for bound in self.ranges.T]
        self.newton = package.ChainIkSolverPos_NR_JL(
            self.chain, *self.bounds, self.forward, self.step, 100, tolerance / 2
        )
        self.found, self.random = package.JntArray(len(ranges)), np.random.default_rng(1)

    def solve(self, start: Floats, wanted: Floats) -> Floats:
        """Solve, as in every package."""
        frame = self._frame(wanted)
        for _ in range(self.attempts):
            if self.newton.CartToJnt(self._angles(start), frame, self.found) >= 0:
                return np.array([self.found[joint] for joint in range(len(start))])
            start = np.asarray(self.random.uniform(*self.ranges.T))
        return np.full(len(start), np.nan)

    def _frame(self, place: Floats) -> Any:
        turned = self.package.Rotation(*place[:3, :3].ravel().tolist())
        return self.package.Frame(turned, self.package.Vector(*place[:3, 3].tolist()))

    def _angles(self, values: Floats) -> Any:
        angles = self.package.JntArray(len(values))
        for joint, angle in enumerate(values.tolist()):
            angles[joint] = angle
        return angles


def _trac_ik(package: Any, parameters: Parameters, ranges: Ranges, tolerance: float) -> dict[str, Solve]:
    """Two threads, for the default 5 ms, and for 50 ms; its tolerance is per axis."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(_urdf(parameters, ranges))
        given = {"epsilon": tolerance / np.sqrt(3)}
        solvers = {
            f", {1e3 * most:g} ms": package.TracIK("link0", "hand", str(file), timeout=most, **given)
            for most in (0.005, 0.05)
        }

    def ready(solver: Any) -> Solve:
        def solve(start: Floats, wanted: Floats) -> Floats:
            found = solver.ik(wanted[:3, 3], wanted[:3, :3], start)
            return np.full(len(ranges), np.nan) if found is None else np.asarray(found)

        return solve

    return {how: ready(solver) for how, solver in solvers.items()}


def _place(a: float, d: float, alpha: float) -> Floats:
    """The rest transform of a joint relative to the previous one."""
    c, s = np.cos(np.radians(alpha)), np.sin(np.radians(alpha))
    return np.array([[1, 0, 0, a], [0, c, -s, -s * d], [0, s, c, c * d], [0, 0, 0, 1]])


def _urdf(parameters: Parameters, ranges: Ranges) -> str:
    joints = []
    for joint, ((a, d, alpha), span) in enumerate(zip(parameters, ranges, strict=True)):
        x, y, z = _place(a, d, alpha)[:3, 3]
        low, high = np.radians(span)
        child = "hand" if joint == len(parameters) - 1 else f"link{joint + 1}"
        joints.append(
            f'<link name="{child}"/><joint name="joint{joint}" type="revolute"><parent link="link{joint}"/>'
            f'<child link="{child}"/><origin xyz="{x} {y} {z}" rpy="{np.radians(alpha)} 0 0"/><axis xyz="0 0 1"/>'
            f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint>'
        )
    return f'<robot name="robot"><link name="link0"/>{"".join(joints)}</robot>'


PACKAGES: dict[str, tuple[str, Callable[[Any, Parameters, Ranges, float], dict[str, Solve]]]] = {
    "roboticstoolbox": ("roboticstoolbox-python", _roboticstoolbox),
    "PyKDL": ("PyKDL", _kdl),
    "trac_ik": ("pytracik", _trac_ik),
}
