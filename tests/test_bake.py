"""The foot bake as its docstrings promise it, on clips and grounds of which the truth is known."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import gaits
import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import samples, terrain
from ikcore.bake import loops

Array = NDArray[Any]

FLOOR = ik.Ground.plane()
ACROSS = ik.Ground.plane([0.2, 1, 0])  # falls to the left: its height is -0.2 x
UPHILL = ik.Ground.plane([0, 1, -0.2])
SIDES = ("left", "right")


@functools.cache
def walk() -> ik.Clip:
    return samples.walk(seconds=4).clip


@functools.cache
def feet() -> ik.Feet:
    return ik.Feet.detect(walk().skeleton, clip=walk())


@functools.cache
def bumps() -> ik.Ground:
    return terrain.bumps(0.04, spacing=1.5, count=8)


@functools.cache
def stairs() -> ik.Ground:
    return terrain.stairs(12, rise=0.15, run=0.35, width=4, landing=6).moved(translations=[0, 0, 2])


def ramp(rise: float = 0.2) -> ik.Ground:
    """Its height is this for every metre from z = 2 on."""
    return terrain.ramp(8, 8 * rise, width=4, landing=6).moved(translations=[0, 0, 2])


GROUNDS = {"across": ACROSS, "uphill": UPHILL, "ramp": ramp(), "stairs": stairs(), "bumps": bumps()}


def translations(clip: ik.Clip) -> Array:
    given = clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations
    return np.broadcast_to(given, (len(clip), len(clip.skeleton), 3))


def same(a: ik.Clip, b: ik.Clip) -> bool:
    """To the bit."""
    return np.array_equal(a.pose.rotations, b.pose.rotations) and np.array_equal(translations(a), translations(b))


def positions(clip: ik.Clip, joint: str | None = None) -> Array:
    found = clip.skeleton.forward(clip.pose).positions
    return np.asarray(found if joint is None else found[:, clip.skeleton.index(joint)])


def apart(a: ik.Clip, b: ik.Clip) -> float:
    """The most that any joint is."""
    return float(np.abs(positions(a) - positions(b)).max())


def soles(clip: ik.Clip) -> dict[tuple[str, str], Array]:
    return feet().positions(clip.skeleton, clip.pose)


def sliding(clip: ik.Clip, speed: float) -> ik.Clip:
    """Feet slide ahead with this speed while they stand."""
    return gaits.moved(clip, np.arange(len(clip))[:, np.newaxis] / clip.fps * [0, 0, speed])


def stances(clip: ik.Clip, side: str, point: str = "ball") -> list[slice]:
    """Whole ones, without the tenth of a second in which feet arrive and leave."""
    inner = round(0.1 * clip.fps)
    found = ik.Contacts.detect(clip, feet()).intervals(side, point).tolist()
    return [slice(a + inner, b - inner) for a, b in found if a > 0 and b < len(clip) and b - a > 3 * inner]


def box(height: float, z: tuple[float, float], x: tuple[float, float] = (-5.0, 5.0), bottom: float = -1.0) -> ik.Ground:
    """An upright block, closed on all sides."""
    corners = np.array([[x[i], (bottom, height)[j], z[k]] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = [[q[0], q[a], q[a + 1]] for q in quads for a in (1, 2)]
    return ik.Ground.mesh(corners, faces)


# --- what stands is left ---------------------------------------------------------------------------------------------

CLEAN = {
    **{f"walk at {fps:g}": functools.partial(samples.walk, 3, fps=fps) for fps in (24, 30, 59.94, 120)},
    "slow walk": functools.partial(samples.walk, 3, speed=0.5, step=0.4),
    "walk": gaits.walking,
    "run": gaits.running,
    "strafe": gaits.strafing,
    "turn": gaits.turning,
    "jump": gaits.jumping,
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_clip_on_its_floor_is_left_to_the_bit(name: str) -> None:
    clip = CLEAN[name]().clip
    baked = ik.bake_feet(clip, FLOOR)
    assert same(baked.clip, clip)
    assert not baked.rise.any()


def test_a_clean_clip_of_floats_is_left_to_the_bit() -> None:
    pose = ik.Pose(walk().pose.rotations.astype(np.float32), walk().pose.translations.astype(np.float32))
    clip = dataclasses.replace(walk(), pose=pose)
    baked = ik.bake_feet(clip, FLOOR).clip
    assert same(baked, clip)
    assert baked.pose.rotations.dtype == baked.pose.translations.dtype == np.float32


def test_a_climb_on_its_own_stairs_is_left_where_it_stands() -> None:
    """Edges are ahead of toes and behind heels, and the floor of the clip is the ground. Swings, which meet them, not."""
    climb = gaits.climbing(run=0.32)
    ground = terrain.stairs(8, rise=0.18, run=0.32, width=4, landing=6).moved(translations=[0, 0, 0.24])
    baked = ik.bake_feet(climb.clip, ground, feet=feet()).clip
    for side in SIDES:
        ankle = [positions(clip, f"{side.title()}Foot") for clip in (baked, climb.clip)]
        held = climb.planted(side)
        held[1:-1] &= held[:-2] & held[2:]
        assert held.sum() > 100
        np.testing.assert_allclose(ankle[0][held], ankle[1][held], atol=1e-9)


@pytest.mark.parametrize("name", ["uphill", "ramp"])
def test_baking_twice_changes_nothing(name: str) -> None:
    once = ik.bake_feet(walk(), GROUNDS[name], feet=feet()).clip
    assert apart(ik.bake_feet(once, GROUNDS[name], feet=feet()).clip, once) < 1e-4


def test_nothing_of_the_input_changes() -> None:
    clip = sliding(walk(), 0.05)
    before = clip.pose.rotations.copy(), translations(clip).copy()
    baked = ik.bake_feet(clip, bumps()).clip
    assert np.array_equal(clip.pose.rotations, before[0])
    assert np.array_equal(translations(clip), before[1])
    assert not np.shares_memory(clip.pose.rotations, baked.pose.rotations)


# --- loops -----------------------------------------------------------------------------------------------------------


def looped(rounds: int = 1, fps: int = 60, *, on_the_spot: bool = False, root: bool = False) -> ik.Clip:
    """Strides of one second; the last frame is the first one but for where the root is."""
    clip = samples.walk(rounds + 1e-9, speed=1.4, step=0.7, fps=fps).clip
    turned, moved, last = np.array(clip.pose.rotations), np.array(clip.pose.translations), rounds * fps
    turned[-1], moved[-1] = turned[0], moved[0]
    moved[:, 0, 2] = np.where(np.arange(last + 1) < last, moved[:, 0, 2], moved[0, 0, 2] + 1.4 * rounds)
    moved[:, 0, 2] -= 1.4 * np.arange(last + 1) / fps * on_the_spot
    if on_the_spot:
        moved[-1] = moved[0]
    found = dataclasses.replace(clip, pose=ik.Pose(turned, moved), loop=True)
    return with_root(found) if root else found


def with_root(clip: ik.Clip) -> ik.Clip:
    """A root on the floor that goes ahead below the hips, which sway and bob."""
    skeleton, way = clip.skeleton, translations(clip)[:, :1] * [0, 0, 1]
    above = ik.Skeleton(
        [-1, *(skeleton.parents + 1).tolist()],
        np.concatenate([np.zeros((1, 3)), skeleton.offsets]),
        names=["Root", *skeleton.names],
    )
    turned = np.concatenate([np.tile([1.0, 0, 0, 0], (len(clip), 1, 1)), clip.pose.rotations], axis=1)
    moved = np.concatenate([way, translations(clip)], axis=1)
    moved[:, 1] -= way[:, 0]
    return dataclasses.replace(clip, skeleton=above, pose=ik.Pose(turned, moved))


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
@pytest.mark.parametrize(("rounds", "fps"), [(1, 60), (2, 30), (3, 24)])
@pytest.mark.parametrize("root", [False, True], ids=["hips", "root"])
def test_loops_stay_loops(name: str, rounds: int, fps: int, root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """First and last frame are the same to the bit but for where the root is: not by force, and nothing jumps there."""
    clip, forced = looped(rounds, fps, root=root), []
    close = loops.closed

    def spy(baked: ik.Clip, clip: ik.Clip) -> ik.Clip:
        forced.append(apart(baked, close(baked, clip)))
        return close(baked, clip)

    monkeypatch.setattr(loops, "closed", spy)
    baked = ik.bake_feet(clip, FLOOR if name == "floor" else GROUNDS[name]).clip
    assert baked.loop
    assert forced[0] < 1e-5
    assert np.array_equal(baked.pose.rotations[0], baked.pose.rotations[-1])
    assert np.array_equal(translations(baked)[0, 1:], translations(baked)[-1, 1:])
    at = positions(baked)
    seam = (at[1] - at[0]) - (at[-1] - at[-2])
    assert np.abs(seam).max() < np.abs(np.diff(at, n=2, axis=0)).max()


def test_a_loop_uphill_climbs_with_its_root() -> None:
    baked = ik.bake_feet(looped(root=True), UPHILL).clip
    np.testing.assert_allclose(np.diff(translations(baked)[:, 0], axis=0)[:, 1], 0.2 * 1.4 / 60, atol=1e-9)


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
def test_a_loop_on_the_spot_walks(name: str) -> None:
    """As the one that travels does: it is sent on its way first."""
    ground = FLOOR if name == "floor" else GROUNDS[name]
    there, here = (ik.bake_feet(looped(2, 30, on_the_spot=spot), ground, feet=feet()).clip for spot in (True, False))
    assert apart(there, here) < 2e-3


def test_a_loop_on_ground_that_moves_is_refused() -> None:
    with pytest.raises(ValueError, match="loop"):
        ik.bake_feet(looped(), FLOOR.moved(translations=np.zeros((61, 3))))


@pytest.mark.parametrize("frames", [(0, 30), (20, 45), (40, 61)])
def test_some_frames_of_a_loop_leave_a_loop(frames: tuple[int, int]) -> None:
    baked = ik.bake_feet(looped(), bumps(), frames=frames).clip
    assert np.array_equal(baked.pose.rotations[0], baked.pose.rotations[-1])
    assert np.array_equal(translations(baked)[0, 1:], translations(baked)[-1, 1:])
    assert not same(baked, looped())


# --- where feet go ---------------------------------------------------------------------------------------------------


def gaps(clip: ik.Clip, ground: ik.Ground, frames_between: int = 8) -> Array:
    """How far above the ground the points of the soles are, between frames too, as joints turn and move evenly."""
    fine = clip.resample(clip.fps * frames_between)
    found = []
    for at in soles(fine).values():
        found.append(at[:, 1] - ground.at(at, above=0.4, below=3).height)
    return np.stack(found)


@pytest.mark.parametrize("fps", [10, 30, 60])
@pytest.mark.parametrize("ahead", [0.0, 0.07, 0.14, 0.21])
def test_swings_clear_a_box_between_frames(fps: float, ahead: float) -> None:
    """A board on edge, as thin as 20 mm, across a swing in its fastest part: at 10 frames a second a foot passes in one."""
    clip = samples.walk(4, fps=fps).clip
    ground = FLOOR + box(0.12, (0.62 + ahead, 0.64 + ahead), (0, 1))
    source, baked = gaps(clip, ground), gaps(ik.bake_feet(clip, ground, feet=feet()).clip, ground)
    assert source.min() < -0.05
    assert baked.min() > gaps(clip, FLOOR).min() - 0.008  # feet of a clip of few frames dip between them


def test_a_sole_is_turned_only_where_it_stands() -> None:
    """A wedge under one stance: the foot has the angle of the clip again half a swing later, on the level."""
    wedge = ik.Ground.mesh([[-1, 0, 1.3], [1, 0, 1.3], [1, 0.2, 1.8], [-1, 0.2, 1.8]], [[0, 2, 1], [0, 3, 2]])
    ground = FLOOR + wedge
    baked = ik.bake_feet(walk(), ground, feet=feet())
    foot = walk().skeleton.index("LeftFoot")
    turned = [clip.skeleton.forward(clip.pose).rotations[:, foot] for clip in (baked.clip, walk())]
    angle = 2 * np.arccos(np.clip(np.abs((turned[0] * turned[1]).sum(axis=1)), 0, 1))
    here = soles(walk())["left", "ball"][:, 2]
    assert np.degrees(angle[(here > 1.55) & (here < 1.61)].max()) > 10
    assert np.degrees(angle[(here < 0.2) | (here > 2.975)].max()) < 1e-3


def test_floors_above_and_below_are_none() -> None:
    """An overhang above a knee, and a cellar: nothing changes."""
    floors = FLOOR + ik.Ground.plane(height=-2) + box(1.5, (-9, 9), bottom=0.7)
    assert same(ik.bake_feet(walk(), floors).clip, walk())


def test_of_floors_on_stairs_the_one_is_taken_that_is_walked_up() -> None:
    """A ramp up to a gallery over the floor: feet go up, though the floor goes on below."""
    ground = ik.Ground.mesh(
        [[-2, 0, 1.5], [2, 0, 1.5], [2, 1.2, 4.5], [-2, 1.2, 4.5], [-2, 1.2, 9], [2, 1.2, 9]],
        [[0, 2, 1], [0, 3, 2], [3, 5, 2], [3, 4, 5]],
    )
    baked = ik.bake_feet(walk(), FLOOR + ground, feet=feet()).clip
    at = soles(baked)["right", "ball"]
    for stance in stances(walk(), "right"):
        height = 0.4 * np.clip(at[stance, 2] - 1.5, 0, 3)
        np.testing.assert_allclose(at[stance, 1], height, atol=0.003)


@pytest.mark.parametrize("deep", [0.8, 3.0, np.inf])
def test_a_hole_does_not_drag_the_foot_down(deep: float) -> None:
    """From z = 1.5 to 1.9 there is none, or one far below: the foot stands there as if there were."""
    parts = box(0.0, (-3, 1.5)) + box(0.0, (1.9, 9))
    ground = parts if np.isinf(deep) else parts + ik.Ground.plane(height=-deep)
    baked = ik.bake_feet(walk(), ground, feet=feet())
    assert np.abs(baked.rise).max() < 1e-3
    for side in SIDES:
        np.testing.assert_allclose(soles(baked.clip)[side, "ball"], soles(walk())[side, "ball"], atol=2e-3)


def test_an_abyss_does_not_drag_the_foot_down() -> None:
    """The ground ends; the clip goes on as it was there."""
    baked = ik.bake_feet(walk(), box(0.0, (-3, 2)), feet=feet())
    assert apart(baked.clip, walk()) < 2e-3


def test_walls_are_no_footholds() -> None:
    """A wall that leans by 80 degrees and begins beside the feet: no sole turns to it, and no foot is on it."""
    steep = ik.Ground.mesh([[-0.2, 0, -9], [-0.2, 0, 9], [-0.4, 1.2, 9], [-0.4, 1.2, -9]], [[0, 1, 2], [0, 2, 3]])
    assert apart(ik.bake_feet(walk(), FLOOR + steep, feet=feet()).clip, walk()) < 1e-9


# --- lock ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
def test_planted_points_stand_still(name: str) -> None:
    """What slides by 30 mm in a stance stands still to less than 2 mm, and on the ground."""
    ground = FLOOR if name == "floor" else GROUNDS[name]
    baked = ik.bake_feet(sliding(walk(), 0.05), ground, feet=feet(), contacts=ik.Contacts.detect(walk(), feet())).clip
    for side in SIDES:
        for stance in stances(walk(), side):
            at = soles(baked)[side, "ball"][stance]
            assert np.ptp(at, axis=0).max() < 2e-3
            height = ground.at(at, above=0.3, below=0.3).height
            assert -0.005 < (at[:, 1] - height).min() <= (at[:, 1] - height).max() < 0.01 + 0.02 * (name == "stairs")


def test_heel_ball_and_toe_follow_each_other_without_a_jump() -> None:
    """Ankles are accelerated as in the clean clip while the foot rolls, though it slid."""
    baked = ik.bake_feet(sliding(walk(), 0.05), FLOOR, feet=feet(), contacts=ik.Contacts.detect(walk(), feet())).clip
    for side in ("Left", "Right"):
        hard = [np.abs(np.diff(positions(clip, f"{side}Foot"), n=2, axis=0)).max() for clip in (baked, walk())]
        assert hard[0] < 1.1 * hard[1]


def test_what_slides_too_far_is_planted_anew() -> None:
    """Never farther from the clip than it may be, with steps between that are as smooth as the rest."""
    plants = {side: [gaits.Plant(-1, 99, (x, 0, 0))] for side, x in gaits.ASIDE.items()}
    clip = gaits.moved(gaits.gait(plants, 3, 60, gaits.above(0.82)).clip, np.arange(181)[:, np.newaxis] / 60 * [0, 0, 0.4])
    contacts = ik.Contacts.detect(clip, feet(), modes="always")
    baked = ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts)
    away = np.abs(soles(baked.clip)["left", "ball"] - soles(clip)["left", "ball"]).max()
    assert away < 0.2
    moves = np.abs(np.diff(soles(baked.clip)["left", "ball"][:, 2]))
    assert (moves < 1e-6).mean() > 0.5
    assert baked.stances >= 2 * 5


# --- pelvis ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("slides", [0.0, 0.3])
def test_no_leg_overreaches(name: str, slides: float) -> None:
    baked = ik.bake_feet(sliding(walk(), slides), GROUNDS[name])
    for side in ("Left", "Right"):
        hip, knee, ankle = (positions(baked.clip, side + joint) for joint in ("UpLeg", "Leg", "Foot"))
        reach = np.sqrt(((ankle - hip) ** 2).sum(axis=1))
        bones = np.sqrt(((knee - hip) ** 2).sum(axis=1)) + np.sqrt(((ankle - knee) ** 2).sum(axis=1))
        np.testing.assert_allclose(bones, 0.85, atol=1e-9)
        assert (reach <= 0.9901 * 0.85).all()
    if slides == 0:
        assert max(short.max() for short in baked.short.values()) < 1e-9


def test_the_body_is_not_pulled_down_in_the_air() -> None:
    """A jump over a pit, which the feet never come near."""
    jump = gaits.jumping(ahead=1.2, flight=0.55).clip
    pit = box(0.0, (-3, 0.4)) + box(0.0, (0.9, 9)) + ik.Ground.plane(height=-0.5)
    baked = ik.bake_feet(jump, pit, feet=feet())
    assert np.abs(baked.rise).max() < 1e-6


def test_a_jump_onto_a_box_lands_on_it() -> None:
    """Made on the floor; before it rises the body gives the legs a little room."""
    jump = gaits.jumping(ahead=1.2, flight=0.55).clip
    baked = ik.bake_feet(jump, FLOOR + box(0.3, (0.9, 3)), feet=feet())
    assert baked.rise[0] == pytest.approx(0, abs=1e-9)
    assert baked.rise[-1] == pytest.approx(0.3, abs=1e-6)
    assert -0.03 < baked.rise.min() <= baked.rise.max() < 0.301
    assert max(short.max() for short in baked.short.values()) < 1e-9
    np.testing.assert_allclose(soles(baked.clip)["left", "heel"][-1, 1], 0.3, atol=1e-6)


def test_a_deep_hole_shortens_one_leg_and_says_so() -> None:
    """A foot is 0.55 m lower than the other, and the body may not follow: by how much the leg is too short is known."""
    plants = {side: [gaits.Plant(-1, 99, (x, 0, 0))] for side, x in gaits.ASIDE.items()}
    clip = gaits.gait(plants, 1, 60, gaits.above(0.82)).clip
    ground = box(0.0, (-3, 3), (0, 5)) + ik.Ground.plane(height=-0.55)
    baked = ik.bake_feet(clip, ground, feet=feet(), settings=ik.BakeSettings(drop=0, lift=0))
    assert baked.rise[30] == pytest.approx(-0.55, abs=0.05)
    held = ik.bake_feet(clip, ground, feet=feet())
    knee = positions(held.clip, "RightFoot")[30, 1]
    hip = positions(held.clip, "RightUpLeg")[30, 1]
    assert hip - knee <= 0.85
    assert held.short["left"].max() == 0
    lower = -0.55 + gaits.ANKLE
    assert knee - held.short["right"][30] == pytest.approx(lower, abs=2e-3)
