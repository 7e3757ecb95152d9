"""Path of a foot in stance: the core compared with the same in NumPy, and known properties."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core, rotations
from ikcore.bake import stances
from ikcore.bake.floors import Floor
from ikcore.bake.motion import legs_of
from ikcore.bake.scene import Scene
from ikcore.bake.stances import Stance, foot_of

Array = NDArray[Any]

FRAMES, START, STOP = 70, 10, 50
NAMES = ("heel", "ball", "toe", "joint")
HEEL, BALL, TOE, JOINT = range(4)
UP = np.array([0.0, 1, 0])
RAMP, ENDS = 6.0, 4

# A foot and a stance by name, in the order of the core.
SOLE, MORE = ("points", "axis", "ball", "toe", "heel"), ("ramp", "ends")
AT = ("reference", "front", "back", "way", "turning", "toe_turn")
FOOT = (*SOLE, *AT, "turns", "locked", *MORE)
WHEN = ("start", "stop", "phases", "main", "flat")
WHERE = ("clean", "slips", "aside", "place", "lift", "normal", "floor")


def dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=-1))


def unit(a: Array) -> Array:
    return np.asarray(a / np.sqrt(dot(a, a))[..., np.newaxis])


def made(seed: int, **other: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A foot that shakes, and a stance from heel over ball to toe."""
    random = np.random.default_rng(seed)
    at = np.array([[0, 0, -0.05], [0, 0, 0.15], [0, 0, 0.22], [0, 0.02, 0.14]])
    places = [point + random.normal(0, 0.01, (FRAMES, 3)) for point in at]
    stood = [point[1] + random.normal(0, 0.002, FRAMES) for point in at]
    points = tuple(
        (place, height, 0.01 * number, number == TOE, BALL if number == JOINT else number)
        for number, (place, height) in enumerate(zip(places, stood, strict=True))
    )
    toes = rotations.normalize(random.normal([1, 0, 0, 0], 0.1, (FRAMES, 4)))
    turning = rotations.multiply(rotations.normalize(random.normal([1, 0, 0, 0], 0.03, (FRAMES, 4))), toes[0])
    ways = places[JOINT], places[TOE], places[HEEL], None, turning, toes
    foot = dict(zip(FOOT, (points, 1, JOINT, TOE, HEEL, *ways, True, True, RAMP, ENDS), strict=True))
    phases = ((HEEL, START, 20), (JOINT, 20, 42), (TOE, 42, STOP))
    flat, slips = np.arange(22, 38), random.normal(0, 0.01, (STOP - START, 3)) * [1, 0, 1]
    planes = unit(UP + random.normal(0, 0.1, 3)), unit(UP + random.normal(0, 0.1, 3))
    where = random.normal(0, 0.01, 3) * [1, 0, 1], np.array([0.01, 0.0, 0.15]), 0.2, *planes
    stance = dict(zip((*WHEN, *WHERE), (START, STOP, phases, 1, flat, False, slips, *where), strict=True))
    for name, value in other.items():
        (foot if name in foot else stance)[name] = value
    return foot, stance


def empty() -> tuple[Array, Array, Array, Array]:
    turn, toes = np.tile([1.0, 0, 0, 0], (2, FRAMES, 1))
    return np.zeros((FRAMES, 3)), turn, toes, np.zeros(FRAMES, bool)


def core(foot: dict[str, Any], stance: dict[str, Any]) -> tuple[Array, Array, Array, Array]:
    found = empty()
    when, where = (tuple(stance[name] for name in names) for names in (WHEN, WHERE))
    _core.stand(tuple(foot.values()), when, where, *found)
    return found


# --- the slow way ----------------------------------------------------------------------------------------------------


class Slow:
    """Step by step, in NumPy."""

    def __init__(self, foot: dict[str, Any], stance: dict[str, Any]) -> None:
        self.foot, self.stance = foot, stance
        self.shift, self.turn, self.toes, self.lies = empty()
        here = slice(stance["start"], stance["stop"])
        if foot["turns"]:
            self.turn[here] = self.turned(here)
        lain = self.lain() if foot["toe_turn"] is not None and foot["locked"] and not stance["clean"] else None
        rise, main = self.rise(), stance["main"]
        if foot["turns"] and foot["heel"] >= 0 and not stance["clean"]:
            self.raise_heel(rise)
        if lain is not None:
            self.lie(lain)
        for number in (*range(main, len(stance["phases"])), *range(main - 1, -1, -1)):
            self.put(number, rise)

    def turned(self, here: slice) -> Array:
        foot, stance, floor = self.foot, self.stance, self.stance["floor"]
        tilt = rotations.shortest_arc(floor, stance["normal"])
        if stance["clean"] or foot["front"] is None or foot["back"] is None or not foot["locked"]:
            return tilt
        middle = stance["flat"][len(stance["flat"]) // 2]
        ahead = (foot["front"] - foot["back"])[middle]
        turned = rotations.multiply(foot["turning"][here], rotations.conjugate(foot["turning"][middle]))
        leveled = rotations.multiply(rotations.shortest_arc(rotations.rotate(turned, floor), floor), turned)
        ways = rotations.rotate(leveled, unit(ahead - dot(ahead, floor) * floor))
        wanted = unit(ways[stance["flat"] - here.start].mean(axis=0))
        along, cut = dot(ways, wanted), min(foot["ends"], len(ways) // 5)
        if along[cut : len(ways) - cut].min() < 0.94 or along.min() < 0.1:
            return tilt
        return rotations.multiply(tilt, rotations.shortest_arc(ways, wanted))

    def on_ball(self) -> list[int]:
        ball = self.foot["ball"]
        return [frame for point, *edges in self.stance["phases"] if point == ball for frame in range(*edges)]

    def lain(self) -> Array | None:
        frames, flat = self.on_ball(), self.stance["flat"]
        if not frames:
            return None
        turned = rotations.multiply(self.turn[frames], self.foot["toe_turn"][frames])
        quarter = len(flat) // 4
        known = turned[np.isin(frames, flat[quarter : len(flat) - quarter])]
        known = known if len(known) else turned
        return rotations.normalize(np.where(dot(known, known[0])[:, np.newaxis] < 0, -known, known).mean(axis=0))

    def raise_heel(self, rise: Array) -> None:
        start, stop, ramp = self.stance["start"], self.stance["stop"], self.foot["ramp"]
        if (start == 0 or stop == FRAMES) and stop - start < 2 * ramp:
            return
        ramp, heel, ball = min(ramp, (stop - start) / 3), self.foot["heel"], self.foot["ball"]
        deep = 0.0
        for point, begins, ends in self.stance["phases"]:
            left = 0.0 if point == heel else deep
            for frame in range(begins, ends):
                arm = self.foot["points"][heel][0][frame] - self.foot["points"][ball][0][frame]
                deep = left * (1 - eased((frame - begins + 1) / ramp))
                if point == ball:
                    deep = max(self.above(ball, frame) - self.above(heel, frame) - rise[frame], 0)
                    deep *= deep / (deep + 0.01 * float(np.sqrt(dot(arm, arm)))) * (1 - self.free(frame, ramp))
                    deep *= eased((frame - start + 1) / (2 * ramp)) if start else 1
                raised = rotations.shortest_arc(arm, arm + deep * UP)
                self.turn[frame] = rotations.multiply(self.turn[frame], raised)

    def lie(self, lain: Array) -> None:
        frames, phases = self.on_ball(), self.stance["phases"]
        turned = rotations.multiply(self.turn[frames], self.foot["toe_turn"][frames])
        self.toes[frames], self.lies[frames] = rotations.multiply(lain, rotations.conjugate(turned)), True
        point, start, stop = phases[-1]
        if point == self.foot["toe"]:
            self.toes[start:stop], self.lies[start:stop] = self.toes[start - 1], True

    def above(self, point: int, frame: int) -> float:
        places, stood = self.foot["points"][point][:2]
        return float(places[frame, 1] - stood[frame])

    def rise(self) -> Array:
        stance, found = self.stance, np.zeros(FRAMES)
        ramp, before = min(self.foot["ramp"], (stance["stop"] - stance["start"]) / 3), None
        for number, (point, start, stop) in enumerate(stance["phases"]):
            for frame in range(start, stop):
                above, free = self.above(point, frame), self.free(frame, ramp)
                if 0 < number <= stance["main"]:
                    free = max(free, 1 - eased((frame - start) / ramp))
                found[frame] = above if stance["clean"] else max(above, 0) * free
            if before is not None and not stance["clean"]:
                left = found[start - 1] + self.above(point, start) - self.above(before, start) - found[start]
                for frame in range(start, stop):
                    found[frame] += left * (1 - eased((frame - start) / ramp))
            before = point
        return found

    def free(self, frame: int, ramp: float) -> float:
        stance, free = self.stance, 0.0
        if stance["start"] > 0:
            free = max(free, 1 - eased((frame - stance["start"] + 1) / ramp))
        if stance["stop"] < FRAMES:
            rises = max(ramp, stance["stop"] - 1 - stance["flat"][-1])
            free = max(free, 1 - min((stance["stop"] - frame) / rises, 1))
        return free

    def sole(self, point: int, frame: int) -> Array:
        origin, turn = self.foot["reference"][frame], self.turn[frame]
        arm, with_toes = self.foot["points"][point][0][frame] - origin, self.foot["points"][point][3]
        if with_toes:
            arm = rotations.rotate(rotations.multiply(self.toes[frame], turn), arm)
        elif self.foot["turns"]:
            arm = rotations.rotate(turn, arm)
        return np.asarray(origin + self.shift[frame] + arm)

    def put(self, number: int, rise: Array) -> None:
        stance, (point, start, stop) = self.stance, self.stance["phases"][number]
        level, places, joined = np.array([1.0, 0, 1]), self.foot["points"][point][0], np.zeros(3)
        if number != stance["main"]:
            frame = start - 1 if number > stance["main"] else stop
            joined = (self.sole(point, frame) - places[frame] - stance["aside"]) * level
        slope = -stance["normal"] / max(stance["normal"][1], 0.2) * level

        def standing(there: Array) -> float:
            high = stance["place"][1] + stance["lift"] + dot((there - stance["place"]) * level, slope)
            return float(high + self.foot["points"][point][2])

        ramp, more = min(self.foot["ramp"], (stance["stop"] - stance["start"]) / 3), 0.0
        if number > stance["main"] and not stance["clean"]:
            there = self.sole(point, start - 1)
            more = there[1] - standing(there) - rise[start]
        for frame in range(start, stop):
            there = places[frame] * level + stance["slips"][frame - stance["start"]] + stance["aside"] + joined
            there[1] = standing(there) + rise[frame] + more * (1 - eased((frame - start) / ramp))
            self.shift[frame] = 0
            self.shift[frame] = there - self.sole(point, frame)


def eased(share: float) -> float:
    share = min(max(share, 0.0), 1.0)
    return share**3 * (10 + share * (6 * share - 15))


WHOLE = np.arange(START, STOP)
CASES: dict[str, dict[str, Any]] = {
    "usual": {},
    "clean": {"clean": True},
    "not locked": {"locked": False},
    "without an ankle": {"turns": False},
    "a point": {"front": None, "back": None},
    "stiff": {"toe_turn": None},
    "heel alone": {"phases": ((HEEL, START, STOP),), "main": 0},
    "toes first": {"phases": ((TOE, START, 30), (JOINT, 30, STOP)), "main": 1},
    "main is the last": {"main": 2},
    "main is the first": {"main": 0},
    "no heel": {"heel": -1},
    "brief at an end": {"start": 62, "stop": FRAMES, "phases": ((JOINT, 62, FRAMES),), "main": 0}
    | {"slips": np.zeros((8, 3)), "flat": np.arange(63, 68)},
    "hardly flat": {"flat": np.array([45])},
    "from the first frame": {"start": 0, "phases": ((JOINT, 0, STOP),), "main": 0, "slips": np.zeros((STOP, 3))},
    "to the last": {"stop": FRAMES, "phases": ((JOINT, START, FRAMES),), "main": 0, "slips": np.zeros((60, 3))},
    "of one frame": {"stop": 11, "phases": ((BALL, 10, 11),), "main": 0, "slips": np.zeros((1, 3)), "flat": WHOLE[:1]},
    "steep": {"normal": unit(np.array([1.0, 0.05, 0]))},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_feet_stand_as_the_slow_way_has_them(case: str, seed: int) -> None:
    foot, stance = made(seed, **CASES[case])
    found, slow = core(foot, stance), Slow(foot, stance)
    for name, seen in zip(("shift", "turn", "toes", "lies"), found, strict=True):
        np.testing.assert_allclose(seen, getattr(slow, name), atol=1e-12, err_msg=name)


def slides(foot: dict[str, Any], stance: dict[str, Any]) -> tuple[Array, tuple[float, ...]]:
    slips, *how = _core.still(tuple(foot.values()), tuple(stance[name] for name in WHEN))
    return slips, tuple(how)


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("clean", "steep")])
@pytest.mark.parametrize("away", [False, True], ids=["there", "on the spot"])
def test_feet_slide_as_the_slow_way_has_them(case: str, away: bool) -> None:
    foot, stance = made(8, **CASES[case])
    if away:
        foot["way"] = np.linspace([0, 0, 0], [0.1, 7, 0.3], FRAMES)
    start, stop, phases, main, flat = (stance[name] for name in WHEN)
    level, wanted, slid = np.array([1.0, 0, 1]), np.zeros((stop - start, 3)), 0.0
    cut = min(ENDS, (stop - start) // 5)
    for number, (point, first, last) in enumerate(phases):
        touches = foot["points"][foot["points"][point][4]][0]
        at, sole = (each * level + (foot["way"] * level if away else 0) for each in (foot["points"][point][0], touches))
        few = (last - first) // 8
        kept = at[first + few : last - few].mean(axis=0) if number == main else at[last if number < main else first - 1]
        wanted[first - start : last - start] = (kept - at[first:last]) * foot["locked"]
        seen = sole[max(first, start + cut) : min(last, stop - cut)]
        slid += float(np.sqrt((np.ptp(seen, axis=0) ** 2).sum())) if len(seen) and foot["locked"] else 0
    above = np.array([places[:, 1] - stood for places, stood, *_ in foot["points"]])
    about = above[sorted({point for point, *_ in phases})]
    slips, found = slides(foot, stance)
    np.testing.assert_allclose(slips, wanted, atol=1e-12)
    best, about = np.abs(about).min(axis=0), about[:, start + cut : stop - cut]
    seen = slid, found[1], best[flat[len(flat) // 2]], best[start + cut : stop - cut].max(), -about.min()
    np.testing.assert_allclose(found, seen, atol=1e-12)
    assert (found[1] > 0) == (foot["locked"] and foot["front"] is not None and stop - start > 1)


def test_how_far_a_foot_spins() -> None:
    """By an angle, evenly: over the inside of its stance its tangent; not at all where it is to turn as it does."""
    foot, stance = made(9)
    steps = np.linspace(-0.2, 0.2, STOP - START)
    for most, spins in ((1.0, True), (4.0, False)):
        angles = np.zeros(FRAMES)
        angles[START:STOP] = most * steps
        foot["turning"] = rotations.from_axis_angle(UP, angles)
        middle = angles[stance["flat"]].mean()
        inner = angles[START + ENDS : STOP - ENDS] - middle
        seen = slides(foot, stance)[1][1]
        assert seen == pytest.approx(np.ptp(np.tan(inner)) if spins else 0.0, rel=1e-3)


def test_a_foot_that_turns_far_is_meant_to() -> None:
    foot, stance = made(3, heel=-1)
    away = rotations.from_axis_angle(UP, np.linspace(0, 2, FRAMES))
    foot["turning"] = rotations.multiply(away, foot["turning"])
    turn = core(foot, stance)[1][START:STOP]
    np.testing.assert_array_equal(turn, np.broadcast_to(turn[0], turn.shape))
    np.testing.assert_allclose(turn, Slow(foot, stance).turn[START:STOP], atol=1e-12)


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 0, 0]], ids=["rolls", "bends"])
def test_a_foot_that_rolls_and_bends_points_where_it_did(axis: list[float]) -> None:
    """Whatever points of it do meanwhile: heel and toe that are known wrongly swing about as it rolls."""
    foot, stance = made(3, heel=-1, floor=UP, normal=UP)
    foot["turning"] = rotations.from_axis_angle(np.array(axis), 0.3 * np.sin(np.arange(FRAMES) / 5))
    arm = rotations.rotate(foot["turning"], [0.05, 0.06, 0.2])
    foot["front"] = foot["back"] + arm
    assert np.ptp(np.arctan2(arm[:, 0], arm[:, 2])) > 0.02
    assert slides(foot, stance)[1][1] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(core(foot, stance)[1][START:STOP, 1:], 0, atol=1e-12)


def test_a_heel_is_not_in_the_ground_while_the_ball_stands() -> None:
    """Its height is that of the ground, but where the foot arrives and leaves; one that is above it stays."""
    foot, stance = made(10)
    level = {"aside": np.zeros(3), "place": np.zeros(3), "lift": 0.0, "normal": UP, "floor": UP}
    stance |= level | {"slips": np.zeros((STOP - START, 3))}
    for deep in (0.02, -0.02):
        at = np.array([[0, -deep, -0.05], [0, 0, 0.15], [0, 0, 0.22], [0, 0, 0.14]])
        places = [np.tile(point, (FRAMES, 1)) for point in at]
        foot["points"] = tuple((place, np.zeros(FRAMES), 0.0, n == TOE, n) for n, place in enumerate(places))
        foot |= {"reference": places[JOINT], "front": places[TOE], "back": places[HEEL]}
        foot |= {"turning": None, "toe_turn": None}
        shift, turn, *_ = core(foot, stance)
        arm = rotations.rotate(turn, places[HEEL] - places[JOINT])
        heel = (places[JOINT] + shift + arm)[:, 1]
        np.testing.assert_allclose(heel[28:36], max(-deep, 0), atol=0.01 * 0.19 + 3e-4)


def test_what_it_turns_about_stands_where_it_should() -> None:
    """On a slope, to the height: the main point is at its place in the middle of the stance, and frames beside stay."""
    foot, stance = made(4, slips=np.zeros((STOP - START, 3)))
    shift, turn, toes, lies = core(foot, stance)
    outside = np.r_[0:START, STOP:FRAMES]
    assert not shift[outside].any()
    assert not lies[outside].any()
    np.testing.assert_array_equal(turn[outside], empty()[1][outside])
    np.testing.assert_array_equal(toes[outside], empty()[2][outside])
    places, thick = foot["points"][JOINT][0], foot["points"][JOINT][2]
    for frame in range(30, 36):
        there = places[frame] + shift[frame]  # the reference is the joint
        off = there - stance["place"] - [0, stance["lift"] + thick, 0]
        assert abs(dot(off, stance["normal"])) < 1e-12


def test_the_foot_turns_about_the_same_places_from_phase_to_phase() -> None:
    """A point is where the phase nearer to the main one has put it, in the frame beside: over the ground and above it.

    Toes that lie are turned, and so not as high beside the ball as in the clip.
    """
    foot, stance = made(11, **{"lift": 0.0})
    stance["slips"], _ = slides(foot, stance)
    slow = Slow(foot, stance)
    slow.shift, slow.turn, slow.toes, _ = core(foot, stance)
    slope = -stance["normal"] / stance["normal"][1] * [1, 0, 1]
    for point, inner, outer in ((HEEL, 20, 19), (TOE, 41, 42)):
        a, b = slow.sole(point, inner), slow.sole(point, outer)
        np.testing.assert_allclose(a[::2], b[::2], atol=1e-12)
        if point == TOE:
            assert b[1] - a[1] == pytest.approx(float(dot(b - a, slope)), abs=1e-12)


@pytest.mark.parametrize("axis", [0, 2])
def test_any_axis_may_be_up(axis: int) -> None:
    """The same with all coordinates turned on by one or two."""
    foot, stance = made(5)
    by = (axis - 1) % 3
    expected = core(foot, stance)
    other = {name: np.roll(foot[name], by, axis=-1) for name in ("reference", "front", "back")}
    other |= {
        name: np.concatenate([foot[name][:, :1], np.roll(foot[name][:, 1:], by, axis=-1)], axis=1)
        for name in ("turning", "toe_turn")
    }
    points = tuple((np.roll(places, by, axis=-1), *rest) for places, *rest in foot["points"])
    rolled = {name: np.roll(stance[name], by, axis=-1) for name in ("slips", "aside", "place", "normal", "floor")}
    found = core({**foot, **other, "points": points, "axis": axis}, {**stance, **rolled})
    np.testing.assert_allclose(np.roll(found[0], -by, axis=-1), expected[0], atol=1e-12)


def test_what_is_not_finite_stays_in_its_frame() -> None:
    foot, stance = made(6, front=None, toe_turn=None)
    expected = core(foot, stance)[0]
    places = foot["points"][JOINT][0].copy()
    places[30] = np.nan
    foot["points"] = (*foot["points"][:JOINT], (places, *foot["points"][JOINT][1:]))
    found = core(foot, stance)[0]
    others = np.setdiff1d(np.arange(FRAMES), [30])
    assert found[others].tobytes() == expected[others].tobytes()
    assert np.isnan(found[30]).any()


@pytest.mark.parametrize("wrong", [None, "x", np.zeros((3, 2)), -7])
def test_the_core_refuses_what_does_not_fit(wrong: Any) -> None:
    foot, stance = made(7)
    stand: Any = _core.stand
    may_be = {"turns", "locked", "clean"}
    if wrong is None:
        may_be |= {"front", "back", "way", "turning", "toe_turn"}
    if isinstance(wrong, int):
        may_be |= {"ramp", "lift"}
    for name in {*foot, *stance} - may_be:
        with pytest.raises(TypeError):
            core(*({**each, name: wrong} if name in each else each for each in (foot, stance)))
    for place in range(4):
        found = list(empty())
        found[place] = wrong
        with pytest.raises(TypeError):
            stand(tuple(foot.values()), *(tuple(stance[name] for name in names) for names in (WHEN, WHERE)), *found)
    for name, value in (
        ("phases", ()),
        ("phases", ((HEEL, START, 20), (JOINT, 21, STOP))),
        ("phases", ((9, START, STOP),)),
        ("flat", np.array([START - 1])),
        ("flat", np.zeros(0, int)),
        ("stop", FRAMES + 1),
        ("main", 3),
        ("axis", 3),
        ("toe", JOINT),
        ("points", ()),
    ):
        with pytest.raises(TypeError):
            core(*({**each, name: value} if name in each else each for each in (foot, stance)))


# --- what it turns about ---------------------------------------------------------------------------------------------

SPAN, CONTACT = (8, 55), (12, 50)


def turned_about(
    foot: dict[str, Any], held: dict[int, Array], span: tuple[int, int], contact: tuple[int, int], rolls: float
) -> tuple[tuple[tuple[int, int, int], ...], int, list[int]]:
    """Frame by frame what it turns about, then what of that is one phase; the main one, and when it stands flat."""
    frames, level = range(*span), np.array([1.0, 0, 1])
    seen = [min(max(frame, contact[0]), contact[1] - 1) for frame in frames]
    heel, ball = (foot["points"][at][0][:, 1] - foot["points"][at][1] for at in (HEEL, JOINT))
    down = [bool(JOINT in held and (held[JOINT][at] or (HEEL in held and ball[at] < heel[at]))) for at in seen]
    about = [JOINT if on_ball else HEEL for on_ball in down]
    if about[-1] == JOINT and foot["toe"] == TOE:
        first = max([k + 1 for k, point in enumerate(about) if point == HEEL], default=0)
        way = 0 if foot["way"] is None else foot["way"]
        at, toe = (((foot["points"][point][0] + way) * level)[span[0] :][: len(frames)] for point in (JOINT, TOE))
        flat = [k for k in range(first, len(frames)) if HEEL in held and held[HEEL][seen[k]]]
        middle, last = max([first + (len(frames) - first) // 2, *flat]), len(frames) - 1
        stays = max(k for k in range(middle, len(frames)) if np.linalg.norm(at[k] - at[middle]) <= rolls)
        if np.linalg.norm(toe[last] - toe[stays]) < 0.6 * np.linalg.norm(at[last] - at[stays]):
            about[stays + 1 :] = [TOE] * (last - stays)
    edges = [0, *(k for k in range(1, len(about)) if about[k] != about[k - 1]), len(about)]
    phases = tuple((about[a], span[0] + a, span[0] + b) for a, b in itertools.pairwise(edges))
    main = max(range(len(phases)), key=lambda at: (phases[at][0] == JOINT, phases[at][2] - phases[at][1]))
    flat = [frame for frame, at in zip(frames, seen, strict=True) if len(held) > 1 and held[HEEL][at] & held[JOINT][at]]
    return phases, main, flat or list(range(*phases[main][1:]))


ABOUT: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, int], tuple[int, int]]] = {
    "usual": ({}, (HEEL, JOINT), SPAN, CONTACT),
    "without toes": ({"toe": -1}, (HEEL, JOINT), SPAN, CONTACT),
    "on the spot": ({"way": np.linspace([0, 0, 0], [0.1, 7, 0.3], FRAMES)}, (HEEL, JOINT), SPAN, CONTACT),
    "heel alone": ({}, (HEEL,), SPAN, CONTACT),
    "ball alone": ({}, (JOINT,), CONTACT, CONTACT),
    "of one frame": ({}, (HEEL, JOINT), (30, 31), CONTACT),
    "whole": ({}, (HEEL, JOINT), (0, FRAMES), (0, FRAMES)),
}


@pytest.mark.parametrize("case", ABOUT)
@pytest.mark.parametrize("seed", range(6))
def test_a_foot_turns_about_what_the_slow_way_has(case: str, seed: int) -> None:
    other, points, span, contact = ABOUT[case]
    foot, _ = made(seed, **other)
    random = np.random.default_rng(seed)
    rolling = np.clip(np.arange(FRAMES) - 44, 0, None)[:, np.newaxis] * [0.002, 0, 0.01]  # the ball goes, the toes stay
    foot["points"][JOINT][0][:] += rolling
    foot["points"][TOE][0][:] += rolling * random.uniform(0, 1)
    edges = np.sort(random.integers(10, 50, (2, 2)), axis=1)
    masks = {
        at: (np.arange(FRAMES) >= a) & (np.arange(FRAMES) < b) for at, (a, b) in zip((HEEL, JOINT), edges, strict=True)
    }
    held = {at: masks[at] if len(points) > 1 else np.ones(FRAMES, bool) for at in points}
    for rolls in (0.0, 0.02, 0.1):
        each = held.get(HEEL), held.get(JOINT)
        phases, main, flat = _core.phases(tuple(foot.values()), HEEL, *each, span, contact, rolls, 0.6)
        assert (phases, main, flat.tolist()) == turned_about(foot, held, span, contact, rolls)


def test_a_foot_does_not_roll_while_its_heel_is_down() -> None:
    """Its ball may slide, and its toes less: it turns about them when the heel has left, if the ball still moves."""
    foot, _ = made(3)
    still = np.broadcast_to(
        np.array([[0, 0, -0.05], [0, 0, 0.15], [0, 0, 0.22], [0, 0.02, 0.14]])[:, None], (4, FRAMES, 3)
    )
    slides = np.clip(np.arange(FRAMES) - 20, 0, None)[:, np.newaxis] * [0.002, 0, 0]
    foot["points"] = tuple(
        (place + (slides if number == JOINT else 0), *rest)
        for number, (place, (_, *rest)) in enumerate(zip(still, foot["points"], strict=True))
    )
    ball, heel = np.ones((2, FRAMES), bool)
    for lifts in (30, 45, STOP):
        heel = np.arange(FRAMES) < lifts
        phases, *_ = _core.phases(tuple(foot.values()), HEEL, heel, ball, (START, STOP), (START, STOP), 0.005, 0.6)
        leaves = min(max(lifts - 1, (START + STOP) // 2) + 3, STOP)  # 0.005 in three frames, of which the third is more
        assert phases == ((JOINT, START, leaves), (TOE, leaves, STOP))[: 1 + (leaves < STOP)]


def test_the_core_refuses_phases_that_do_not_fit() -> None:
    foot, held = tuple(made(7)[0].values()), np.ones(FRAMES, bool)
    phases: Any = _core.phases
    for wrong in (
        (HEEL, held[1:], held, SPAN, CONTACT),
        (HEEL, held, held.astype(float), SPAN, CONTACT),
        (-1, held, held, SPAN, CONTACT),
        (4, held, held, SPAN, CONTACT),
        (HEEL, held, held, (5, 5), CONTACT),
        (HEEL, held, held, SPAN, (0, FRAMES + 1)),
        (HEEL, held, held, (-1, 5), CONTACT),
    ):
        with pytest.raises(TypeError):
            phases(foot, *wrong, 0.01, 0.6)
    (without,) = [tuple((foot | {"ball": -1}).values()) for foot, _ in [made(7)]]
    with pytest.raises(TypeError):
        phases(without, HEEL, held, held, SPAN, CONTACT, 0.01, 0.6)


@pytest.mark.parametrize("away", [False, True], ids=["there", "on the spot"])
@pytest.mark.parametrize("other", [{}, {"toe": -1}, {"ball": -1}, {"locked": False}])
def test_what_stands_exactly_is_where_it_is_in_a_frame_beside(other: dict[str, Any], away: bool) -> None:
    foot, _ = made(6, **other)
    random, way = np.random.default_rng(6), np.zeros((FRAMES, 3))
    for at, *_ in foot["points"]:
        at[:] = np.round(random.normal(0, 0.6, (FRAMES, 3)))
    if away:
        foot["way"] = way = np.round(random.normal(0, 0.6, (FRAMES, 3)))
    ball_on = random.uniform(size=FRAMES) < 0.5
    for mask in (None, ball_on):
        wanted = np.zeros(FRAMES, bool)
        for number in {HEEL, foot["toe"], BALL if foot["ball"] >= 0 else -1} - {-1}:
            gone = (foot["points"][number][0] + way)[:, [0, 2]]
            stays = (gone[1:] == gone[:-1]).all(axis=1)
            if number == HEEL and mask is not None:
                stays &= ~mask[1:]
            wanted[1:] |= stays
            wanted[:-1] |= stays
        found = _core.exact(tuple(foot.values()), HEEL, mask, 1e-3)
        np.testing.assert_array_equal(found, wanted & foot["locked"])
    assert found.any() == foot["locked"]
    assert not found.all()
    exact: Any = _core.exact
    for wrong in ((4, ball_on, 1e-3), (HEEL, ball_on[1:], 1e-3), (HEEL, ball_on, None)):
        with pytest.raises(TypeError):
            exact(tuple(foot.values()), *wrong)


def about_the_heel(beside: float) -> tuple[dict[str, Any], slice]:
    """A foot that goes and turns somehow; in some frames about a point that is so far beside its heel."""
    foot, _ = made(6, toe=-1)
    random, turns = np.random.default_rng(3), slice(12, 20)
    foot["turning"] = turning = rotations.exp(0.02 * np.cumsum(random.normal(0, 1, (FRAMES, 3)), axis=0))
    pivot = np.cumsum(random.normal(0, 0.1, (FRAMES, 3)), axis=0)
    pivot[turns] = pivot[turns.start]
    for number, (at, *_) in enumerate(foot["points"]):
        at[:] = pivot + rotations.rotate(turning, [0, -beside, 0.0 if number == HEEL else 0.3])
    return foot, turns


@pytest.mark.parametrize(("beside", "stands"), [(0.0, True), (0.05, True), (0.3, False)])
def test_a_foot_stands_exactly_that_turns_about_a_point_beside_its_heel(beside: float, stands: bool) -> None:
    """Nearer to that than to its ball, as heels are not known exactly; not while the ball is on the ground."""
    foot, turns = about_the_heel(beside)
    found = _core.exact(tuple(foot.values()), HEEL, None, 1e-6)
    assert found[turns].all() == found.any() == stands
    assert not np.delete(found, turns).any()
    assert not _core.exact(tuple(foot.values()), HEEL, np.ones(FRAMES, bool), 1e-6).any()
    foot["points"][HEEL][0][turns] += np.random.default_rng(1).normal(0, 1e-4, (8, 3))
    assert not _core.exact(tuple(foot.values()), HEEL, None, 1e-6).any()


@pytest.mark.parametrize("away", [False, True], ids=["there", "on the spot"])
def test_how_far_a_foot_strays(away: bool) -> None:
    foot, _ = made(9)
    way = np.linspace([0, 0, 0], [0.1, 7, 0.3], FRAMES) if away else np.zeros((FRAMES, 3))
    foot["way"] = way if away else None
    far = np.ptp((foot["reference"] + way)[3:40, [0, 2]], axis=0)
    assert _core.strayed(tuple(foot.values()), 3, 40) == np.sqrt(far[0] * far[0] + far[1] * far[1])
    assert _core.strayed(tuple(foot.values()), 3, 4) == 0
    for wrong in ((-1, 3), (3, 3), (3, FRAMES + 1)):
        with pytest.raises(TypeError):
            _core.strayed(tuple(foot.values()), *wrong)


# --- where it treads -------------------------------------------------------------------------------------------------

LINES = np.array([[HEEL, BALL], [BALL, TOE]])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("a_point", [False, True])
def test_a_foot_treads_where_it_is_as_a_rule_while_it_stands_flat(axis: int, a_point: bool) -> None:
    foot, _ = made(3, axis=axis, **({"front": None} if a_point else {}))
    flat, middle, slip = np.array([20, 21, 24, 30]), 24, np.array([0.1, 0.2, 0.3])
    points, ahead = _core.tread(tuple(foot.values()), flat, middle, slip, LINES, 4)
    wanted = [places[flat].mean(axis=0) + slip for places, *_ in foot["points"]]
    for at, (_, stood, thick, *_) in zip(wanted, foot["points"], strict=True):
        at[axis] = stood[middle] - thick
    wanted += [wanted[a] * (1 - share) + wanted[b] * share for a, b in LINES for share in (0.25, 0.5, 0.75)]
    np.testing.assert_allclose(points, wanted, atol=1e-15)
    assert (ahead is None) == a_point
    if ahead is not None:
        way = (foot["front"] - foot["back"])[flat].mean(axis=0) * (np.arange(3) != axis)
        np.testing.assert_allclose(ahead, unit(way), atol=1e-15)


def test_the_core_refuses_treads_that_do_not_fit() -> None:
    foot, flat, slip = tuple(made(7)[0].values()), np.array([3, 4]), np.zeros(3)
    tread: Any = _core.tread
    for wrong in (
        (flat[:0], 3, slip, LINES, 4),
        (flat + FRAMES, 3, slip, LINES, 4),
        (flat.astype(float), 3, slip, LINES, 4),
        (flat, FRAMES, slip, LINES, 4),
        (flat, 3, slip[:2], LINES, 4),
        (flat, 3, slip, LINES + 2, 4),
        (flat, 3, slip, LINES[0], 4),
        (flat, 3, slip, LINES, 0),
    ):
        with pytest.raises(TypeError):
            tread(foot, *wrong)


def test_the_lowest_point_of_a_sole() -> None:
    foot, _ = made(5)
    foot["points"][1][0][7, 1] = np.nan
    wanted = np.min([at[:, 1] - stood for at, stood, *_ in foot["points"]], axis=0)
    np.testing.assert_array_equal(_core.sole_height(tuple(foot.values())), wanted)
    assert np.isnan(wanted[7])
    none = tuple(
        tuple(each[:0] if isinstance(each, np.ndarray) else each for each in point) for point in foot["points"]
    )
    ways = [None if foot[name] is None else foot[name][:0] for name in AT]
    empty = foot | {"points": none} | dict(zip(AT, ways, strict=True))
    assert _core.sole_height(tuple(empty.values())).shape == (0,)
    lowest: Any = _core.sole_height
    for wrong in (None, (), tuple((foot | {"points": ()}).values())):
        with pytest.raises(TypeError):
            lowest(wrong)


@pytest.mark.parametrize("stances", [[], [(0, 1)], [(0, 20)], [(7, 8)], [(3, 5), (5, 6), (12, 19)], [(4, 9), (2, 6)]])
@pytest.mark.parametrize("ramp", [0.5, 3.0, 100.0])
def test_how_much_a_foot_stands(stances: list[tuple[int, int]], ramp: float) -> None:
    spans, there = np.array(stances, np.intp).reshape(-1, 2), [k for each in stances for k in range(*each)]
    away = np.array([min((abs(k - at) for at in there), default=np.inf) for k in range(20)])
    wanted = [1 - eased(share) for share in away / ramp]
    np.testing.assert_allclose(_core.standing(spans, 20, ramp), wanted, rtol=0, atol=1e-15)


def test_a_foot_of_no_frames_and_stances_that_do_not_fit() -> None:
    standing: Any = _core.standing
    none = np.zeros((0, 2), np.intp)
    assert standing(none, 0, 1.0).shape == (0,)
    one = np.array([[0, 4]], np.intp)
    for wrong in ((one, 3, 1.0), (one - 1, 9, 1.0), (one.astype(float), 9, 1.0), (none, -1, 1.0), (one, 9, np.nan)):
        with pytest.raises(TypeError):
            standing(*wrong)


def test_frames_of_any_whole_numbers_are_as_the_core_takes_them() -> None:
    """NumPy 1 counts in 32 bits on Windows, where the core takes 64."""
    assert Stance(0, 3, 5, ((BALL, 3, 5),), 0, np.arange(3, 5, dtype=np.int32)).flat.dtype == np.intp


@pytest.mark.parametrize(("thick", "known"), [(0.0, True), (0.014, True), (0.03, False)])
def test_heels_that_stand_higher_than_soles_are_thick_are_not_raised(thick: float, known: bool) -> None:
    """A foot that rolls over its ball all the time has a heel that is high in the middle of its stances."""
    walk = ik.samples.walk(seconds=1)
    motion = legs_of(walk.clip, ik.Feet.detect(walk.clip.skeleton, clip=walk.clip))[0]
    stood = {name: np.zeros(len(walk.clip)) for name in motion.soles}
    floor = Floor(stood, dict.fromkeys(motion.soles, 0.0) | {"heel": thick * motion.scale})
    scene = Scene(ik.Ground.plane(), walk.clip.fps, 1, ik.BakeSettings(), 1, made=False, kept=False)
    heel = foot_of(motion, floor, scene)[4]
    assert heel == (list(motion.soles).index("heel") if known else -1)


@pytest.mark.parametrize(("kept", "slides", "left"), [(True, 0.02, True), (True, 0.04, False), (False, 0.02, True)])
def test_what_was_put_here_stays_though_its_heel_is_known_otherwise(
    monkeypatch: pytest.MonkeyPatch, kept: bool, slides: float, left: bool
) -> None:
    """Measured on the ground that is of other points than when it was put there, which slide."""
    walk = ik.samples.walk(seconds=2)
    motion = legs_of(walk.clip, ik.Feet.detect(walk.clip.skeleton, clip=walk.clip))[0]
    scene = Scene(ik.Ground.plane(), walk.clip.fps, 1, ik.BakeSettings(), 1, made=True, kept=kept)
    seen = np.zeros((40, 3)), slides * motion.scale, 0.0, 0.0, 0.0, 0.0
    monkeypatch.setattr(_core, "still", lambda *_: seen)
    stance = Stance(0, 60, 100, ((HEEL, 60, 90), (BALL, 90, 100)), 0, np.arange(60, 90))
    stances._still(motion, stance, (), scene, exact=True)
    assert stance.clean == left


@pytest.mark.parametrize(("off", "left"), [(0.001, True), (0.01, False)])
def test_a_foot_that_goes_up_and_down_while_it_stands_is_not_left(
    monkeypatch: pytest.MonkeyPatch, off: float, left: bool
) -> None:
    """Though it is on the floor in the middle of its stance, and slides nowhere."""
    walk = ik.samples.walk(seconds=2)
    motion = legs_of(walk.clip, ik.Feet.detect(walk.clip.skeleton, clip=walk.clip))[0]
    scene = Scene(ik.Ground.plane(), walk.clip.fps, 1, ik.BakeSettings(), 1, made=False, kept=False)
    seen = np.zeros((40, 3)), 0.0, 0.0, 0.0, off * motion.scale, off * motion.scale
    monkeypatch.setattr(_core, "still", lambda *_: seen)
    stance = Stance(0, 60, 100, ((BALL, 60, 100),), 0, np.arange(60, 90))
    stances._still(motion, stance, (), scene, exact=False)
    assert stance.clean == left
