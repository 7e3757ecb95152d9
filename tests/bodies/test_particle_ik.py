"""Particle IK of a human: targets are met, and a density of poses brings the result nearer to poses not seen."""

from __future__ import annotations

import numpy as np
import pytest

import ikcore as ik
from ikcore.bodies.nodes import HumanRoles, particle_ik

CLIP = ik.samples.walk(seconds=3).clip
ROOT = ik.Limit.free(position=[[-np.inf] * 3, [np.inf] * 3])
BODY = ik.Skeleton(
    CLIP.skeleton.parents,
    CLIP.skeleton.offsets,
    names=CLIP.skeleton.names,
    limits={CLIP.skeleton.names[0]: ROOT},
)
HALF = len(CLIP) // 2
SEEN, ASKED = CLIP.pose[:HALF:2], CLIP.pose[HALF + 5 :: 30]
START = ik.Pose(np.broadcast_to(BODY.rest.rotations, ASKED.rotations.shape), ASKED.translations)


def targets(pose: ik.Pose) -> dict[str, np.ndarray]:
    """Positions of hands, feet and head."""
    roles, at = HumanRoles.detect(BODY), BODY.forward(pose).positions
    ends = {f"{side}_hand": roles.hands[side] for side in ("left", "right")}
    ends |= {f"{side}_foot": roles.feet[side] for side in ("left", "right")}
    return {name: at[..., BODY.index(joint), :] for name, joint in (ends | {"head": roles.head or 0}).items()}


def angle_to(pose: ik.Pose) -> float:
    """The mean angle of joints to those of the poses that were asked for, in degrees."""
    away = ik.rotations.multiply(ik.rotations.conjugate(ASKED.rotations), pose.rotations)
    return float(np.degrees(2 * np.arccos(np.clip(np.abs(away[..., 0]), 0, 1))).mean())


def test_a_density_brings_poses_that_it_has_not_seen_nearer() -> None:
    density = ik.learned.PoseDensity(BODY, SEEN)
    plain = ik.solvers.stages(BODY, START, particle_ik(BODY, targets(ASKED)))
    likely = ik.solvers.stages(BODY, START, particle_ik(BODY, targets(ASKED), density=density))
    assert (plain.error < 1e-4).all()
    assert (likely.status == 0).all()
    assert (likely.error < 1e-9).all()
    assert (density.log_likelihood(likely.pose) > density.log_likelihood(plain.pose)).all()
    assert angle_to(likely.pose) < 0.8 * angle_to(plain.pose)


@pytest.mark.parametrize("known", [False, True])
def test_a_batch_gives_the_bits_of_single_poses(known: bool) -> None:
    density = ik.learned.PoseDensity(BODY, SEEN) if known else None
    batch = ik.solvers.stages(BODY, START, particle_ik(BODY, targets(ASKED), density=density))
    for item in (0, len(ASKED) - 1):
        stages = particle_ik(BODY, targets(ASKED[item]), density=density)
        single = ik.solvers.stages(BODY, START[item], stages)
        assert single.pose.rotations.tobytes() == batch.pose.rotations[item].tobytes()


@pytest.mark.filterwarnings("ignore::ikcore.UnusableWarning")
def test_a_target_that_is_no_number_is_flagged() -> None:
    wanted = {name: np.array(at) for name, at in targets(ASKED).items()}
    wanted["left_hand"][0, 1] = np.nan
    density = ik.learned.PoseDensity(BODY, SEEN)
    found = ik.solvers.stages(BODY, START, particle_ik(BODY, wanted, density=density))
    assert found.status[0] & ik.Status.NOT_FINITE
    assert found.pose.rotations[0].tobytes() == START.rotations[0].tobytes()
    assert (found.status[1:] == 0).all()


def test_parts_without_a_target_stay_free_and_others_are_refused() -> None:
    few = particle_ik(BODY, {"left_hand": targets(ASKED[0])["left_hand"]})
    assert [getattr(stage, "method", "") for stage in few] == ["full_body", "fabrik", "dls"]
    with pytest.raises(ValueError, match="targets: expected some of left_hand"):
        particle_ik(BODY, {"tail": [0.0, 0, 0]})
