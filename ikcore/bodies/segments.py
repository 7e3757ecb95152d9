"""Masses, centres and inertias of a person's segments on the joints of a skeleton."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.bodies import anthropometry as measures
from ikcore.bodies.anthropometry import Sex
from ikcore.bodies.roles import Roles, roles_of
from ikcore.skeleton import Skeleton

Array = NDArray[np.float64]


class Piece(NamedTuple):
    """A rigid piece at rest, in world axes."""

    joint: int
    mass: float
    centre: Array  # (3,)
    inertia: Array  # (3, 3) about the centre


def with_masses(skeleton: Skeleton, mass: float = 75.0, *, sex: Sex = "average") -> Skeleton:
    """The skeleton of a person with masses, their centres and inertias.

    Segment masses, centres and radii of gyration are those of de Leva (1996), along the bones of this skeleton at rest.
    The lower part of the trunk is on the pelvis. The other two are shared among the joints of the spine beside them, as
    skin is. Mass, centre and inertia of the whole at rest do not depend on the number of these joints. Joints of
    fingers, toes, face and twist have no mass of their own; their hand, foot, head or bone has it.

    Parameters
    ----------
    skeleton : Skeleton
        Two arms and two legs, found by the names of their joints.
    mass : float, default: 75
        The total mass, in any unit. Inertias are in this unit times length squared.
    sex : {"male", "female", "average"}
        The table; "average" is the mean of both.

    Returns
    -------
    Skeleton
        With the same joints and limits.

    Raises
    ------
    ValueError
        If a limb is not found, or has no length.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human(1.8)
    >>> heavy = ik.bodies.with_masses(person, 90)
    >>> print(heavy.masses.sum().round(9), heavy.masses[heavy.index("left knee")].round(2))
    90.0 4.11
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if not (np.isfinite(mass) and mass > 0):
        raise ValueError(f"mass: expected more than 0, got {mass!r}")
    whole = [(piece, mass * piece.mass, mass * piece.inertia) for piece in pieces_of(skeleton, sex)]
    return on_joints(skeleton, [piece._replace(mass=m, inertia=inertia) for piece, m, inertia in whole])


def on_joints(skeleton: Skeleton, pieces: list[Piece]) -> Skeleton:
    """The skeleton with these pieces on its joints; several on one joint are joined by the theorem of parallel axes."""
    count, world = len(skeleton), skeleton.forward(skeleton.rest)
    masses, centres, inertias = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for joint in {piece.joint for piece in pieces}:
        own = [piece for piece in pieces if piece.joint == joint]
        masses[joint] = sum(piece.mass for piece in own)
        centre = sum((piece.mass * piece.centre for piece in own), np.zeros(3)) / masses[joint]
        about = [piece.inertia + piece.mass * _of_point(piece.centre - centre) for piece in own]
        inertia = sum(about, np.zeros((3, 3)))
        turned = rotations.to_matrix(world.rotations[joint])
        centres[joint] = turned.T @ (centre - world.positions[joint])
        inertias[joint] = turned.T @ inertia @ turned
    inertias = (inertias + np.swapaxes(inertias, -1, -2)) / 2
    given = {"masses": masses, "centres": centres, "inertias": inertias, "caps": skeleton.caps}
    given |= {"preferred": skeleton.preferred.rotations, "compliances": skeleton.compliances}
    return Skeleton(
        skeleton.parents, skeleton.offsets, skeleton.rest.rotations, skeleton.names, skeleton.limits, **given
    )


def _of_point(r: Array) -> Array:
    """The inertia of a unit mass at r."""
    return np.asarray((r @ r) * np.eye(3) - np.outer(r, r))


def pieces_of(skeleton: Skeleton, sex: Sex) -> list[Piece]:
    """The pieces of a person at rest; their masses sum to 1."""
    roles, at = roles_of(skeleton), skeleton.forward(skeleton.rest).positions
    shoulders, hips = (np.mean([at[joint] for joint in joints], axis=0) for joints in _pairs(roles))
    body = _Body(skeleton, roles, at, sex, *axes_of(roles, at).T)
    return [*body.trunk(shoulders, hips), body.head(shoulders, hips), *body.arms(), *body.legs()]


def axes_of(roles: Roles, at: Array) -> Array:
    """The axes of a person at rest as columns: left, up along the trunk, and forward."""
    shoulders, hips = ([at[joint] for joint in joints] for joints in _pairs(roles))
    up = _unit(np.mean(shoulders, axis=0) - np.mean(hips, axis=0), "the trunk")
    left = _unit(np.cross(np.cross(up, hips[0] - hips[1]), up), "the pelvis")
    return np.array([left, up, np.cross(left, up)]).T


def _pairs(roles: Roles) -> tuple[list[int], list[int]]:
    sides = ("left", "right")
    return [roles.arms[side].shoulder for side in sides], [roles.legs[side].hip for side in sides]


def _unit(v: Array, what: str) -> Array:
    length = float(np.linalg.norm(v))
    if not length > 0:
        raise ValueError(f"skeleton: expected a length of {what}, got 0")
    return np.asarray(v / length)


class _Body(NamedTuple):
    """A person at rest, in world space."""

    skeleton: Skeleton
    roles: Roles
    at: Array
    sex: Sex
    left: Array
    up: Array
    forward: Array

    def trunk(self, shoulders: Array, hips: Array) -> list[Piece]:
        """The lower part on the pelvis; the middle and the upper one shared among the joints that they are beside."""
        long, low = float(np.linalg.norm(shoulders - hips)), 0.0
        pieces: list[Piece] = []
        for name in ("lower trunk", "middle trunk", "upper trunk"):
            high = low + long * measures.length(name, "trunk", self.sex)
            part, spine = measures.segment(name, self.sex), list(self.roles.spine)
            spine = spine[:1] if name == "lower trunk" else spine[1:] or spine
            starts = np.maximum.accumulate((self.at[spine] - hips) @ self.up)
            whole = self._piece(spine[0], part, hips + high * self.up, hips + low * self.up)
            for joint, share in zip(spine, _shares(starts, low, high), strict=True):
                if share > 0:
                    pieces.append(whole._replace(joint=joint, mass=share * whole.mass, inertia=share * whole.inertia))
            low = high
        return pieces

    def head(self, shoulders: Array, hips: Array) -> Piece:
        """The head. Its joint is at the height of the chin, the vertex above it along the trunk."""
        long = float(np.linalg.norm(shoulders - hips))
        stature = long / (measures.HEIGHT["shoulder"] - measures.HEIGHT["hip"])
        joint = self.roles.spine[-1] if self.roles.head is None else self.roles.head
        chin = measures.HEIGHT["chin"]
        place = shoulders + (chin - measures.HEIGHT["shoulder"]) * stature * self.up
        if self.roles.head is not None:
            place = self.at[joint]
        vertex = place + (1 - chin) * stature * self.up
        gonion = vertex - long * measures.length("head", "trunk", self.sex) * self.up
        return self._piece(joint, measures.segment("head", self.sex), vertex, gonion)

    def arms(self) -> list[Piece]:
        pieces = []
        for shoulder, elbow, wrist in self.roles.arms.values():
            bone = self.at[wrist] - self.at[elbow]
            knuckle = self.at[wrist] + self._hand(wrist, bone) * np.linalg.norm(bone) * measures.length(
                "hand", "forearm", self.sex
            )
            places = self.at[shoulder], self.at[elbow], self.at[wrist], knuckle
            names, joints = ("upper arm", "forearm", "hand"), (shoulder, elbow, wrist)
            pieces += [self._limb(*given) for given in zip(joints, names, places[:-1], places[1:], strict=True)]
        return pieces

    def _hand(self, wrist: int, bone: Array) -> Array:
        """The direction of the hand: from the wrist to the mean of its child joints, or that of the forearm."""
        below = self.at[list(self.skeleton.children(wrist))] - self.at[wrist]
        middle = below.mean(axis=0) if len(below) else np.zeros(3)
        return _unit(middle if np.linalg.norm(middle) > 0.1 * np.linalg.norm(bone) else bone, "a forearm")

    def legs(self) -> list[Piece]:
        pieces = []
        for hip, knee, ankle, ball in self.roles.legs.values():
            thigh, shank = self.at[knee] - self.at[hip], self.at[ankle] - self.at[knee]
            stature = float(np.linalg.norm(thigh) + np.linalg.norm(shank)) / (
                measures.LENGTH["thigh"] + measures.LENGTH["shank"]
            )
            ahead = self.forward if ball is None else self.at[ball] - self.at[ankle]
            ahead = _unit(ahead - (ahead @ self.up) * self.up, "a foot")
            long = measures.LENGTH["foot"] * stature
            heel = self.at[ankle] - measures.ANKLE_FROM_HEEL * long * ahead
            heel = heel - measures.HEIGHT["ankle"] / 2 * stature * self.up  # half of the way to the ground
            pieces += [
                self._limb(hip, "thigh", self.at[hip], self.at[knee]),
                self._limb(knee, "shank", self.at[knee], self.at[ankle]),
                self._limb(ankle, "foot", heel, heel + long * ahead),
            ]
        return pieces

    def _limb(self, joint: int, name: str, start: Array, end: Array) -> Piece:
        return self._piece(joint, measures.segment(name, self.sex), start, end)

    def _piece(self, joint: int, part: measures.Segment, start: Array, end: Array) -> Piece:
        """A segment from its first named end to the other, its axes as near as can be to those of the body."""
        long = float(np.linalg.norm(end - start))
        along = _unit(end - start, f"the bone of {self.skeleton.names[joint]!r}")
        ahead = self.forward if abs(along @ self.forward) < 0.9 else self.up  # a foot points forwards
        sagittal = _unit(ahead - (ahead @ along) * along, "a bone")
        axes = np.array([sagittal, np.cross(along, sagittal), along])
        radii = long * np.array([part.sagittal, part.transverse, part.longitudinal])
        inertia = part.mass * np.einsum("i,ij,ik->jk", radii**2, axes, axes)
        return Piece(joint, part.mass, start + part.centre * (end - start), inertia)


def _shares(starts: Array, low: float, high: float) -> Array:
    """The share of low to high above each start and below the next one; the first and the last have no end."""
    ends = np.append(starts[1:], np.inf)
    begins = np.append(-np.inf, starts[1:])
    covered = np.minimum(ends, high) - np.maximum(begins, low)
    return np.asarray(np.maximum(covered, 0) / (high - low))
