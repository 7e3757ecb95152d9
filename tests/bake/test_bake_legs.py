"""The bake of bodies with more than two legs, hind legs of three bones, and legs without ankles."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from test_bake import box, positions, same
from test_feet import body, fox, spider

import ikcore as ik
from ikcore._arrays import size
from ikcore.bake.legs import approach_of, bend
from ikcore.bake.motion import legs_of
from ikcore.bake.pelvis import Body


def standing(kind: str) -> tuple[ik.Clip, ik.Feet]:
    """Half a second of it, in metres."""
    places = {"fox": lambda: fox(named=True)[0], "spider": lambda: spider(tips=True), "no tips": lambda: spider(False)}
    skeleton = body(places[kind]())
    turned, moved = (np.repeat(part[np.newaxis], 31, axis=0) for part in (skeleton.rest.rotations, skeleton.offsets))
    clip = ik.Clip(skeleton, ik.Pose(turned, moved), 60, unit=0.01 if kind == "fox" else 1.0)
    clip = clip.convert(unit=1)
    return clip, ik.Feet.detect(clip.skeleton)


def off(baked: ik.Clip, clip: ik.Clip, feet: ik.Feet, ground: ik.Ground) -> float:
    """How much higher or lower above the ground any foot is than it is above the floor in the clip, at height 0."""
    now, was = (feet.positions(c.skeleton, c.pose) for c in (baked, clip))
    found = [now[key][15, 1] - ground.at(now[key][15], above=1, below=1).height - was[key][15, 1] for key in now]
    return float(np.abs(found).max())


KINDS = ("fox", "spider", "no tips")


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_on_a_floor_is_left(kind: str) -> None:
    clip, feet = standing(kind)
    assert same(ik.bake_feet(clip, ik.Ground.plane(), feet=feet).clip, clip)


def test_a_body_whose_legs_stand_far_aside_goes_aside_and_not_into_the_ground() -> None:
    """Feet slide by 0.1 m and are planted: some are out of reach then, and hips 0.12 m above them."""
    places = spider(tips=True) | {"Body": ("Root", (0, 0.21, 0))}
    for name, (above, (x, _, z)) in places.items():
        if "Upper" in name:
            places[name] = (above, (x, 0.12, z))
        if "Lower" in name:  # all but straight from hip to tip
            places[name] = (above, (0.875 * x, 0.085, 0.875 * z))
    skeleton = body(places)
    moved = np.repeat(skeleton.offsets[np.newaxis], 61, axis=0)
    moved[:, 0, 0] += np.linspace(0, 0.1, 61)
    clip = ik.Clip(skeleton, ik.Pose(np.repeat(skeleton.rest.rotations[np.newaxis], 61, axis=0), moved), 60)
    feet = ik.Feet.detect(skeleton)
    contacts = ik.Contacts.detect(clip, feet, modes="always")
    baked = ik.bake_feet(clip, ik.Ground.plane(), feet=feet, contacts=contacts)
    at = clip.skeleton.index("Body")
    aside, up, _ = (positions(baked.clip)[:, at] - positions(clip)[:, at]).T
    assert up.min() > -0.075  # little more than half of their height; it was -0.15, in the ground
    assert np.abs(aside).max() > 0.04
    assert max(short.max() for short in baked.shortfall.values()) < 0.005


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [(0.0, 0.2), (0.0, -0.2), (0.2, 0.0)], ids=["up", "down", "across"])
def test_all_feet_stand_on_a_slope(kind: str, slope: tuple[float, float]) -> None:
    """And the body leans with it, most of the way; not at all if that is not wanted."""
    clip, feet = standing(kind)
    ground = ik.Ground.plane([-slope[0], 1, -slope[1]])
    baked = ik.bake_feet(clip, ground, feet=feet)
    assert off(baked.clip, clip, feet, ground) < 0.003
    for joint in (joint for leg in feet for joint in leg.chain[1:]):
        at, parent = clip.skeleton.index(joint), int(clip.skeleton.parents[clip.skeleton.index(joint)])
        now, was = (np.sqrt(((positions(c)[15, at] - positions(c)[15, parent]) ** 2).sum()) for c in (baked.clip, clip))
        assert now == pytest.approx(was, abs=1e-9)
    pelvis = int(np.flatnonzero((baked.clip.pose.rotations != clip.pose.rotations).any(axis=(0, 2)))[0])
    turned, before = (c.skeleton.forward(c.pose).rotations[15, pelvis] for c in (baked.clip, clip))
    normal = ik.rotations.rotate(ik.rotations.multiply(turned, ik.rotations.conjugate(before)), [0.0, 1, 0])
    leans = -normal[[0, 2]] / normal[1]
    share = leans @ slope / (slope[0] ** 2 + slope[1] ** 2)
    assert 0.1 < share < 1.02
    upright = ik.bake_feet(clip, ground, feet=feet, settings=ik.BakeSettings(tilt=0)).clip
    assert np.array_equal(upright.pose.rotations[:, pelvis], clip.pose.rotations[:, pelvis])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [(0.0, 0.27), (0.0, -0.27), (0.27, 0.0)], ids=["up", "down", "across"])
def test_what_stands_on_a_slope_is_left_though_feet_are_found_anew(kind: str, slope: tuple[float, float]) -> None:
    """On the upper side hips of a spider are below its tips, and its targets of IK stay where they were."""
    clip, _ = standing(kind)
    ground = ik.Ground.plane([-slope[0], 1, -slope[1]])
    once = ik.bake_feet(clip, ground).clip
    np.testing.assert_allclose(positions(ik.bake_feet(once, ground).clip), positions(once), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_foot_on_a_stone(kind: str) -> None:
    """The other feet stay where they are on the floor."""
    clip, feet = standing(kind)
    first = next(iter(feet.positions(clip.skeleton, clip.pose).values()))[0]
    stone = box(0.05, (first[2] - 0.03, first[2] + 0.03), (first[0] - 0.03, first[0] + 0.03))
    ground = ik.Ground.plane() + stone
    assert off(ik.bake_feet(clip, ground, feet=feet).clip, clip, feet, ground) < 0.003


# --- poles -----------------------------------------------------------------------------------------------------------


def with_pole(clip: ik.Clip, offset: tuple[float, float, float]) -> tuple[ik.Clip, ik.Feet]:
    """A clip with a joint that hangs on its pelvis, and its feet, the left knee pointing at that joint."""
    old, pose = clip.skeleton, clip.pose
    skeleton = ik.Skeleton(
        [*old.parents, 0], [*old.offsets, offset], [*old.rest.rotations, [1, 0, 0, 0]], [*old.names, "pole"]
    )
    still = np.tile([1.0, 0, 0, 0], (len(clip), 1, 1))
    moved = np.broadcast_to(
        old.offsets if pose.translations is None else pose.translations, (*still.shape[:1], len(old), 3)
    )
    moved = np.concatenate([moved, np.tile(offset, (len(clip), 1, 1))], axis=1)
    clip = ik.Clip(skeleton, ik.Pose(np.concatenate([pose.rotations, still], axis=1), moved), clip.fps)
    return clip, ik.Feet.detect(skeleton, clip=clip).replace("left", pole="pole")


def bones(clip: ik.Clip, leg: ik.Leg) -> np.ndarray:
    """Positions of the joints from hip to foot."""
    return positions(clip)[:, [clip.skeleton.index(joint) for joint in leg.bones]]


def test_a_knee_that_is_backwards_goes_forwards_for_a_while_and_not_to_and_fro(walk: ik.Clip) -> None:
    """Feet come nearer to their hips by 1 mm, except in one frame in between without offset."""
    feet = ik.Feet.detect(walk.skeleton, clip=walk)
    motion = legs_of(walk[:40], feet)[0]
    hip, thigh, shin = motion.chain[:, 0], *(size(motion.chain[:, at + 1] - motion.chain[:, at]) for at in (0, 1))
    angle = np.radians(3.0)
    knee = hip + thigh[:, np.newaxis] * [0, -np.cos(angle), -np.sin(angle)]
    ankle = knee + shin[:, np.newaxis] * [0, -np.cos(angle), np.sin(angle)]
    motion.chain = np.stack([hip, knee, ankle], axis=1)
    foot = ankle + np.where(np.arange(40) % 13 == 6, 0.0, 1e-3)[:, np.newaxis] * [0, 1, 0]
    still = Body(hip, None, np.zeros((40, 3)))
    hinges, reach = np.array([[1.0, 0, 0]]), np.full(40, motion.size)
    turns = np.broadcast_to([1.0, 0, 0, 0], motion.turns.shape)
    ahead = []
    for nearer in (np.zeros(40), approach_of(motion, still, foot, reach, walk.fps, loop=False)):
        bent, short = bend(motion.chain, turns, hinges, hip, foot, reach, nearer=nearer, length=motion.size)
        assert not short.any()
        ahead.append((bent.chain[:, 1] - hip)[:, 2])
    assert (ahead[0] < 0).any()
    assert (ahead[1] > 0).all()
    middle = np.arange(3, 37)  # far from it nothing is as it was for a while
    assert np.abs(np.diff(ahead[1][middle])).max() < np.abs(np.diff(ahead[0][middle])).max() / 2


def out_of_plane(clip: ik.Clip, leg: ik.Leg) -> np.ndarray:
    """By how much the knee is beside the plane of hip, foot and pole, in metres, to the far side of the pole."""
    hip, knee, foot = np.moveaxis(bones(clip, leg), 1, 0)
    line = (foot - hip) / np.linalg.norm(foot - hip, axis=1)[:, None]
    pole = positions(clip)[:, clip.skeleton.index("pole")]
    off, to = (way - np.sum(way * line, axis=1)[:, None] * line for way in (knee - hip, pole - hip))
    along = np.sum(off * to, axis=1)[:, None] / np.sum(to * to, axis=1)[:, None] * to
    return np.where(
        along[:, 0] == 0, 0, np.linalg.norm(off - np.where(np.sum(along * to, axis=1)[:, None] > 0, along, 0), axis=1)
    )


@pytest.fixture(scope="module")
def walk() -> ik.Clip:
    return ik.samples.walk(seconds=2).clip


@pytest.mark.parametrize("aside", [-0.6, 0.0, 0.6])
def test_a_knee_points_at_its_pole(walk: ik.Clip, aside: float) -> None:
    """The foot stays where it is and turned as it is, and so do the other leg and the body."""
    clip, feet = with_pole(walk, (aside, -0.4, 0.7))
    ground = ik.Ground.plane([0, 1, 0.1])
    usual = ik.bake_feet(clip, ground, feet=feet.replace("left", pole=None)).clip
    baked = ik.bake_feet(clip, ground, feet=feet).clip
    if aside:
        assert out_of_plane(usual, feet["left"]).max() > 0.03
    assert out_of_plane(baked, feet["left"]).max() < 0.004  # a leg as good as straight points by its hinge
    one, other = (c.skeleton.forward(c.pose) for c in (usual, baked))
    foot = [clip.skeleton.index(joint) for joint in feet["left"].chain[2:]]
    assert np.abs(one.positions[:, foot] - other.positions[:, foot]).max() < 1e-9
    assert np.abs(1 - np.abs(np.sum(one.rotations * other.rotations, axis=-1)))[:, foot].max() < 1e-12
    rest = [n for n, name in enumerate(clip.skeleton.names) if name not in feet["left"].chain[:3]]
    assert np.array_equal(usual.pose.rotations[:, rest], baked.pose.rotations[:, rest])


def test_a_pole_counts_as_much_as_the_bake(walk: ik.Clip) -> None:
    """Half of it turns the knee by half, and frames that are left alone keep their knee to the bit."""
    clip, feet = with_pole(walk, (0.6, -0.4, 0.7))
    ground = ik.Ground.plane()

    def turned(**options: object) -> np.ndarray:
        baked = ik.bake_feet(clip, ground, feet=feet, **options).clip  # type: ignore[arg-type]
        usual = ik.bake_feet(clip, ground, feet=feet.replace("left", pole=None), **options).clip  # type: ignore[arg-type]
        hip, knee, foot = np.moveaxis(bones(usual, feet["left"]), 1, 0)
        line = (foot - hip) / np.linalg.norm(foot - hip, axis=1)[:, None]
        sides = [
            at - hip - np.sum((at - hip) * line, axis=1)[:, None] * line
            for at in (knee, bones(baked, feet["left"])[:, 1])
        ]
        cosine = np.sum(sides[0] * sides[1], axis=1) / np.prod(np.linalg.norm(sides, axis=2), axis=0)
        return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))

    whole, half = turned(), turned(settings=ik.BakeSettings(weight=0.5))
    assert whole.min() > 20
    assert np.abs(half / whole - 0.5).max() < 0.02
    part = ik.bake_feet(clip, ground, feet=feet, frames=(40, 90)).clip
    outside = np.r_[0:40, 90 : len(clip)]
    assert np.array_equal(part.pose.rotations[outside], clip.pose.rotations[outside])
    steps = np.linalg.norm(np.diff(bones(part, feet["left"])[:, 1], axis=0), axis=1)
    usual = np.linalg.norm(np.diff(bones(clip, feet["left"])[:, 1], axis=0), axis=1)
    assert steps.max() < 2 * usual.max()


def test_a_knee_points_at_its_pole_in_a_leg_that_is_baked_again(walk: ik.Clip) -> None:
    """Under the pelvis of the earlier bake, which is another one than that of a bake of all."""
    clip, feet = with_pole(walk, (0.6, -0.4, 0.7))
    earlier = ik.bake_feet(clip, ik.Ground.plane([0, 1, 0.1]), feet=feet.replace("left", pole=None)).clip
    ground = ik.Ground.plane([0, 1, 0.1], -0.05)
    baked = ik.bake_feet(clip, ground, feet=feet, legs=["left"], earlier=earlier)
    assert out_of_plane(baked.clip, feet["left"]).max() < 0.004
    changed = (baked.clip.pose.rotations != earlier.pose.rotations).any(axis=(0, 2))
    assert {clip.skeleton.names[n] for n in np.flatnonzero(changed)} <= set(feet["left"].chain)
    assert np.array_equal(baked.clip.pose.translations, earlier.pose.translations)  # type: ignore[arg-type]


def test_a_pole_behind_turns_the_knee_round(walk: ik.Clip) -> None:
    clip, feet = with_pole(walk, (0.0, 0.0, -0.7))
    baked = ik.bake_feet(clip, ik.Ground.plane(), feet=feet).clip
    assert out_of_plane(baked, feet["left"]).max() < 0.004
    assert np.linalg.norm(np.diff(bones(baked, feet["left"])[:, 1], axis=0), axis=1).max() < 0.1


@pytest.mark.parametrize("offset", [(0.09, -0.9, 0.0), (0.0, 0.0, 0.0)], ids=["under the foot", "at the pelvis"])
def test_a_pole_in_line_with_the_leg(walk: ik.Clip, offset: tuple[float, float, float]) -> None:
    """It says nothing, or too much: the foot stays, and all is finite."""
    clip, feet = with_pole(walk, offset)
    usual, baked = (
        ik.bake_feet(clip, ik.Ground.plane(), feet=each).clip for each in (feet.replace("left", pole=None), feet)
    )
    assert np.abs(bones(usual, feet["left"])[:, -1] - bones(baked, feet["left"])[:, -1]).max() < 1e-9


def test_legs_of_three_bones_turn_as_a_whole() -> None:
    """The fox's hind leg: every bone keeps its angle to the next."""
    clip, feet = standing("fox")
    hind = next(leg for leg in feet if len(leg.knees) == 2)
    pole = feet.replace(hind.name, pole=clip.skeleton.names[0])
    ground = ik.Ground.plane([0, 1, 0.1])
    usual, baked = (bones(ik.bake_feet(clip, ground, feet=each).clip, hind) for each in (feet, pole))
    assert np.abs(usual - baked).max() > 0.01
    assert np.abs(usual[:, [0, -1]] - baked[:, [0, -1]]).max() < 1e-9
    spans = [np.linalg.norm(at[:, 2:] - at[:, :-2], axis=-1) for at in (usual, baked)]
    assert np.abs(spans[0] - spans[1]).max() < 1e-9


def test_a_pole_that_is_no_joint() -> None:
    feet = ik.Feet.detect(ik.samples.walk(seconds=1).clip.skeleton).replace("left", pole="nowhere")
    with pytest.raises(ValueError, match="nowhere"):
        ik.bake_feet(ik.samples.walk(seconds=1).clip, ik.Ground.plane(), feet=feet)


def test_poles_are_saved(tmp_path: pathlib.Path) -> None:
    feet = ik.Feet.detect(ik.samples.walk(seconds=1).clip.skeleton).replace("left", pole="Hips")
    feet.save(tmp_path / "feet.json")
    assert ik.Feet.load(tmp_path / "feet.json") == feet
