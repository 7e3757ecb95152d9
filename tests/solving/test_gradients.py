"""One step of every method that goes by rows, beside what central differences of residuals come to.

The truth is that of goals_reference.py: no closed form of a derivative in it. Goals of every kind, each beside a place
for another end; joints that turn about one axis or all, with limits, less willingly about some axes, and that slide.
"""

from __future__ import annotations

from typing import Any

import goals_reference as truth
import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose
from test_goal_kinds import residuals_of, world_of

import ikcore as ik

Array = Any
TIP, END, COUNT = 3, 5, 6
_RNG = np.random.default_rng(8)
BONES = ref.unit(_RNG.normal(size=(COUNT, 3)))  # of length 1, so that an angle counts as a distance
AXIS, LOOKED = ref.unit(_RNG.normal(size=(2, 3)))
BESIDE, OFFSET = np.array([0.4, -1.1, 0.8]), np.array([0.6, 0.64, -0.48])
LITTLE = 1e-6  # how far off goals are: what is not linear in that is as little beside a step
LIMITS = {
    0: ik.Limit.free(position=[[-9, -9, -9], [9, 9, 9]]),
    1: ik.Limit.hinge(AXIS, -3, 3, stiffness=0.4),
    2: ik.Limit.free(stiffness=(0.0, 0.3, 0.7)),
    4: ik.Limit.kusudama([0, 0, 1], [([0, 0, 1], 2.5), ([1, 0, 0], 2.0)]),
    5: ik.Limit.cone([1, 0, 0], 3, stiffness=(0.5, 0.2, 0.2)),
}
MASSES, CENTRES = _RNG.uniform(0.5, 2, COUNT), ref.unit(_RNG.normal(size=(COUNT, 3)))


def tree(*, slides: bool) -> ik.Skeleton:
    limits = dict(LIMITS) if slides else {joint: limit for joint, limit in LIMITS.items() if joint}
    return ik.Skeleton([-1, 0, 1, 2, 1, 4], BONES, limits=limits, masses=MASSES, centres=CENTRES)


def bent() -> ik.Pose:
    turned = ref.unit(np.random.default_rng(4).normal([3, 0, 0, 0], 0.5, (COUNT, 4)))
    turned[1] = ik.rotations.from_axis_angle(AXIS, 0.7)
    return ik.Pose(turned, BONES)


def goals_of(world: truth.World) -> dict[str, ik.Goal]:
    """Each a little off, and one-sided ones on their wrong side."""
    near, turned, turn = LITTLE * np.array([0.7, -0.4, 0.5]), world.rotations[TIP], ik.rotations.from_matrix
    here, other, centre = world.point(TIP, OFFSET), world.positions[END], world.centre_of_mass()
    seen, away = world.rotations[END].T, LITTLE * AXIS
    half: dict[str, Any] = {"weight": 0.5}
    far, apart = (np.linalg.norm(here - place) + LITTLE for place in (BESIDE, other))
    outside = -truth.Outside(TIP, BESIDE, BESIDE + AXIS, 0.0).below(world)
    return {
        "a place": ik.Reach(TIP, here + near, offset=OFFSET, **half),
        "a rotation": ik.Reach(TIP, rotation=turn(truth.exp(near) @ turned), rotation_weight=0.5),
        "look at a place": ik.Look(TIP, LOOKED, here + 1.5 * turned @ LOOKED + near, offset=OFFSET, **half),
        "look at a joint": ik.Look(TIP, turned.T @ (other - here) + near, other=END, offset=OFFSET, **half),
        "how far from a place": ik.Distance(TIP, far, position=BESIDE, offset=OFFSET, **half),
        "how far from a joint": ik.Distance(TIP, apart, other=END, offset=OFFSET, **half),
        "a place seen from a joint": ik.Relative(TIP, END, seen @ (here - other) + near, offset=OFFSET, **half),
        "a rotation seen from a joint": ik.Relative(
            TIP, END, rotation=turn(seen @ truth.exp(near) @ turned), rotation_weight=0.5
        ),
        "the centre of mass": ik.CentreOfMass(centre + near, **half),
        "a side of a plane": ik.Inside(TIP, here + away, AXIS, offset=OFFSET, **half),
        "a side of a plane, by mass": ik.Inside(None, centre + away, AXIS, **half),
        "outside of a capsule": ik.Outside(TIP, BESIDE, outside + LITTLE, end=BESIDE + AXIS, **half),
    }


def ways_of(skeleton: ik.Skeleton, world: truth.World) -> tuple[Array, Array]:
    """Degrees of freedom of joints as columns, with 6 numbers per joint, and their mobility."""
    ways, willing = [], []
    for joint, limit in enumerate(skeleton.limits):
        axes, will = np.eye(3), np.ones(3)
        if limit is not None and limit.kind == "hinge":
            axes, will = world.rotations[joint] @ AXIS[:, None], 1 - np.array(limit.stiffness[:1])
        elif limit is not None and any(limit.stiffness):
            axes = world.rotations[joint] @ ik.rotations.to_matrix(limit.frame)
            will = 1 - np.array(limit.stiffness)
        slides = np.eye(3) if limit is not None and limit.position is not None else np.zeros((3, 0))
        for first, columns, much in ((0, axes, will), (3, slides, np.ones(slides.shape[1]))):
            for axis, one in zip(columns.T, much, strict=True):
                way = np.zeros(6 * COUNT)
                way[6 * joint + first : 6 * joint + first + 3] = axis
                ways.append(way)
                willing.append(one)
    return np.array(ways).T, np.array(willing)


def rows_of(skeleton: ik.Skeleton, pose: ik.Pose, goals: list[ik.Goal]) -> tuple[Array, Array]:
    """By differences; and the errors."""
    world, parts = world_of(skeleton, pose), []
    for goal in goals:
        turns_only = getattr(goal, "position", 0) is None and hasattr(goal, "rotation")
        weight = getattr(goal, "rotation_weight" if turns_only else "weight")
        for part in residuals_of(skeleton, goal):
            if part is not None:
                scale = np.sqrt(float(np.asarray(weight)))
                parts.append((scale * truth.jacobian(world.of, world.pose, part), scale * part.residual(world)))
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([error for _, error in parts])


DAMPING = 0.3


def damped(rows: Array, willing: Array, error: Array) -> Array:
    return willing * (rows.T @ np.linalg.solve(rows * willing @ rows.T + DAMPING**2 * np.eye(len(rows)), error))


def whole(rows: Array, willing: Array, error: Array) -> Array:
    return willing * (rows.T @ (np.linalg.pinv(rows * willing @ rows.T, rcond=1e-12) @ error))


def filtered(rows: Array, willing: Array, error: Array) -> Array:
    values, vectors = np.linalg.eigh(rows * willing @ rows.T)
    size = np.sqrt(np.maximum(values, 0))
    size = np.where(size < 1e-6, 0, size)
    least = (size**3 + 7 * size**2 + 2 * size + 0.4) / (size**2 + 7 * size + 2)
    gain = np.where(size > 0, 1 / (np.where(size > 0, size, 1) * least), 0)
    return willing * (rows.T @ (vectors @ (gain * (vectors.T @ error))))


def downhill(rows: Array, willing: Array, error: Array) -> Array:
    pull = willing * (rows.T @ error)
    seen = rows @ pull
    return error @ seen / (seen @ seen) * pull


# Options, and what a step comes to.
STEPS: dict[str, tuple[dict[str, Any], Any]] = {
    "dls": ({"damping": DAMPING}, damped),
    "gauss_seidel": ({"damping": DAMPING, "sweeps": 2000}, damped),
    "newton": ({"damping": DAMPING}, damped),
    "pinv": ({"truncation": 1e-5}, whole),
    "sns": ({}, whole),
    "svf": ({"sigma0": 0.2, "nu": 7}, filtered),
    "sdls": ({}, whole),
    "transpose": ({}, downhill),
    "lbfgsb": ({}, downhill),
}
KINDS = list(goals_of(world_of(tree(slides=True), bent())))


def made(skeleton: ik.Skeleton, pose: ik.Pose, found: ik.Solution) -> Array:
    """The motion of joints, 6 numbers each."""
    turned = ik.rotations.multiply(found.pose.rotations, ik.rotations.conjugate(ref.unit(pose.rotations)))
    world = skeleton.forward(pose).rotations
    above = np.array([[1.0, 0, 0, 0] if parent < 0 else world[parent] for parent in skeleton.parents])
    by = ik.rotations.rotate(above, ik.rotations.log(turned))
    slid = np.zeros((COUNT, 3)) if found.pose.translations is None else found.pose.translations - BONES
    return np.concatenate([by, slid], axis=-1).ravel()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", STEPS)
def test_a_step_is_what_differences_of_residuals_come_to(method: str, kind: str, everywhere: None) -> None:
    skeleton, pose = tree(slides=method != "lbfgsb"), bent()
    world = world_of(skeleton, pose)
    beside = world.point(END, OFFSET) + LITTLE * np.array([0.2, 0.5, -0.3])
    goals, (options, step) = [goals_of(world)[kind], ik.Reach(END, beside, offset=OFFSET)], STEPS[method]
    ways, willing = ways_of(skeleton, world)
    rows, error = rows_of(skeleton, pose, goals)
    expected = ways @ step(rows @ ways, willing, error)
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 4, "tolerance": 0, "rotation_tolerance": 0}
    found = ik.solve(skeleton, pose, goals, method, moving=list(range(COUNT)), **given, **options)
    done = made(skeleton, pose, found)
    if method in ("sns", "sdls") and kind.startswith("look"):  # whose third row is as little as what it is off
        assert_allclose(rows @ done, error, atol=1e-5 * np.abs(error).max())
    else:
        assert_allclose(done, expected, atol=1e-5 * np.abs(expected).max())
