"""Notes on a bake, in sentences: root motion, missing reach, why nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, plain, size
from ikcore.bake.floors import height_of
from ikcore.bake.footholds import WALL, Foothold
from ikcore.bake.motion import LegMotion
from ikcore.bake.paths import FootPath
from ikcore.bake.scene import Array, Mask, Scene, mean
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.intervals import blocks
from ikcore.feet.note import Note
from ikcore.feet.penetration import Penetration
from ikcore.feet.thresholds import (
    BODY_HEIGHT,
    CONTACT_HEIGHT,
    FILE_PRECISION,
    HIGH_WINDOW,
    PLANT_TOLERANCE,
    SOLES_UNCERTAINTY,
    STEP_HEIGHT,
)

_ELSEWHERE = ": it may be in another place, or in another unit"
NOWHERE = f"ground: there is none under any foot{_ELSEWHERE}"  # message for ground that lies nowhere under the clip
_MOVED = 0.01  # m: a smaller displacement of a clip is invisible
_SURGES = 3  # number of strides with unusual climbs that is more than chance


def of(
    clip: Clip, holds: list[Foothold], paths: list[FootPath], scene: Scene, noise: float, contacts: Contacts
) -> tuple[Note, ...]:
    """The notes on a bake that do not need its result; `of_result` adds the others.

    `noise` is the shake of the hips from frame to frame.
    """
    motions = [path.motion for path in paths]
    said = (
        _in_place_note(clip, scene),
        _noise_note(noise, clip),
        _confidence_note(contacts),
        _moved_note(holds, motions, scene, clip.unit),
        _stride_note(holds, motions, scene),
        _obstacle_note(paths, scene),
        *_foothold_notes(clip, holds, paths, scene),
    )
    return tuple(note for note in said if note)


def of_result(
    said: tuple[Note, ...],
    baked: Clip,
    before: Clip | None,
    missed: str | None,
    short: dict[str, Array],
    depth: Penetration,
    scale: float,
    *,
    still: bool,
) -> tuple[Note, ...]:
    """All notes: also on feet off the ground or in it, and why nothing has changed.

    `said` are the notes of `of`, `before` is the unchanged clip, and `missed` is why feet are off the ground. `short`
    are the shortfalls of legs; `still` is true if the body does not move.
    """
    if before is not None and _same(baked, before, scale):
        missed = f"nothing has changed: {missed or _reason_unchanged(depth.faults(baked), told=bool(said))}"
    more = (Note(missed) if missed else None, _reach_note(baked, short, scale, still=still), _depth_note(baked, depth))
    return said + tuple(note for note in more if note)


def _reason_unchanged(faults: str, *, told: bool) -> str:
    """The reason why a bake has changed nothing."""
    if faults:
        return f"feet that stand still on the ground are left as they are, though they {faults}"
    return "feet are where they would be put" if told else "all feet stand on the ground as they should"


def _depth_note(baked: Clip, depth: Penetration) -> Note | None:
    """A note if feet are deeper in the ground than in the clip: largest depth, first time, legs."""
    found = depth.deeper(baked)
    if not found:
        return None
    by, frame = max(each.by for each in found), min(each.frame for each in found)
    where = f"first at {frame / baked.fps:.2f} s: {' and '.join(each.leg for each in found)}"
    return Note(f"feet are deeper in the ground than in the clip, by up to {1000 * by * baked.unit:.0f} mm, {where}")


def _reach_note(baked: Clip, short: dict[str, Array], scale: float, *, still: bool) -> Note | None:
    """A note if legs do not reach: first time, largest distance, remedy."""
    out = {leg: far > SOLES_UNCERTAINTY * scale for leg, far in short.items()}
    legs = [leg for leg, frames in out.items() if frames.any()]
    if not legs:
        return None
    most, frame = max(float(short[leg].max()) for leg in legs), min(int(out[leg].argmax()) for leg in legs)
    where = f"by up to {plain(most * baked.unit)} m, first at {frame / baked.fps:.2f} s: {' and '.join(legs)}"
    if still:
        return Note(
            f"legs do not reach the ground from a body that stays, {where}; change all legs to move it with them"
        )
    return Note(f"legs do not reach, or fold, as far as feet should go, {where}; lower steps or shorter strides help")


def _in_place_note(clip: Clip, scene: Scene) -> Note | None:
    if scene.way is None:
        return None
    way = scene.way[: len(clip)]
    speed = float(size(np.diff(way, axis=0)).sum()) * clip.unit * clip.fps / max(len(clip) - 1, 1)
    return Note(f"in-place walk ({plain(speed)} m/s) kept in place", "add_root_motion")


def _noise_note(noise: float, clip: Clip) -> Note | None:
    if not noise:
        return None
    return Note(f"it shakes by {plain(1000 * noise * clip.unit)} mm from frame to frame", "denoise")


def _confidence_note(contacts: Contacts) -> Note | None:
    """A note on legs whose contacts have a confidence below one half."""
    if not (legs := contacts.uncertain()):
        return None
    least = min(legs.values())
    return Note(
        f"contacts of {' and '.join(legs)} are uncertain, confidence {100 * least:.0f} %: check them, or give contacts"
    )


def _moved_note(holds: list[Foothold], motions: list[LegMotion], scene: Scene, unit: float) -> Note | None:
    """A note if the bake moves stances up or down by more than 1 cm, together or on a floor that is not level."""
    lifts = np.array([hold.lift for hold in holds if hold.part >= 0])
    least = _MOVED * max(motion.scale for motion in motions)
    if not len(lifts) or scene.on_ground or np.abs(lifts).max() <= least:
        return None
    low, high = (plain(1000 * float(far) * unit, 3) for far in (lifts.min(), lifts.max()))
    if np.ptp(lifts) > least:
        level = height_of(scene.ground) is not None
        return Note(f"the floor of the clip is not level: stances move by {low} to {high} mm") if level else None
    if abs(float(lifts[0])) <= least:
        return None
    where = "higher" if lifts[0] > 0 else "lower"
    far = plain(1000 * abs(float(lifts[0])) * unit, 3)
    return Note(f"the ground is {far} mm {where} than the floor of the clip: all of it moves there")


def _stride_note(holds: list[Foothold], motions: list[LegMotion], scene: Scene) -> Note | None:
    """A note that strides should be fitted, if some climb much more than others and the ground has steps."""
    if scene.on_ground or scene.ground.moves:
        return None
    scale = max(motion.scale for motion in motions)
    rises = [(to.lift - start.lift) / scale for start, to in pairwise(hold for hold in holds if hold.part >= 0)]
    surges = [min(abs(last - first), abs(last + first)) > STEP_HEIGHT for first, last in pairwise(rises)]
    if sum(surges) < _SURGES:
        return None
    return Note("steps do not match the stairs: some strides climb more treads than others", "fit_strides")


def _obstacle_note(paths: list[FootPath], scene: Scene) -> Note | None:
    """A note if feet pass through the side of an obstacle, with the first time."""
    if height_of(scene.ground) is not None:
        return None
    times = {path.motion.leg.name: _first_entry(path, scene) for path in paths}
    first = {name: frame for name, frame in times.items() if frame is not None}
    if not first:
        return None
    legs, frame = " and ".join(first), min(first.values())
    return Note(f"feet go through what is higher than they are lifted, first at {frame / scene.fps:.2f} s: {legs}")


def _first_entry(path: FootPath, scene: Scene) -> int | None:
    """The first frame in which a foot passes through the side of an obstacle, None without one."""
    places, scale = path.new_positions(path.motion.reference), path.motion.scale
    for frames in blocks(len(places) - 1):
        at, step = places[frames], places[1:][frames] - places[:-1][frames]
        met = scene.ground.still(frames).cast(at[: len(step)], step, length=size(step), workers=scene.workers)
        sides = np.flatnonzero(met.hit & (np.abs(met.normals[:, scene.axis]) < WALL))
        behind = met.points[sides] + step[sides] * (PLANT_TOLERANCE * scale / size(step[sides]))[:, np.newaxis]
        there = scene.ground.still(sides + frames.start)
        low = there.at(behind, above=HIGH_WINDOW * scale, below=0.0, workers=scene.workers).hit
        if not low.all():
            return int(sides[np.flatnonzero(~low)[0]] + frames.start)
    return None


def _foothold_notes(clip: Clip, holds: list[Foothold], paths: list[FootPath], scene: Scene) -> Iterator[Note]:
    """Notes on impossible footholds: under or inside something, or with little support; legs, and the first time.

    Stances of a loop are those of three rounds, of which the second counts.
    """
    if height_of(scene.ground) is not None:
        return
    found: dict[str, dict[str, int]] = {}
    before = len(clip) - 1 if clip.loop else 0
    for at, path in enumerate(paths):
        mine = [
            each
            for each in holds
            if each.stance.leg == at and each.part >= 0 and 0 <= each.stance.middle - before < len(clip)
        ]
        frames = np.array([each.stance.middle - before for each in mine], np.intp)
        for what, there in _foothold_problems(path, mine, frames, scene).items():
            if there.any():
                found.setdefault(what, {})[path.motion.leg.name] = int(frames[there].min())
    for what, legs in found.items():
        frame = min(legs.values())
        yield Note(f"feet stand {what}, first at {frame / scene.fps:.2f} s: {' and '.join(legs)}")


def _foothold_problems(
    path: FootPath, holds: list[Foothold], frames: NDArray[np.intp], scene: Scene
) -> dict[str, Mask]:
    """Problems of footholds by description, each with a mask of the stances."""
    if not holds:
        return {}
    scale, up, ground = path.motion.scale, scene.up, scene.ground.still(frames)
    sole = path.soles([name for name in path.motion.soles if name != "joint"], frames)
    middle = mean(np.moveaxis(sole, 1, 0))[:, np.newaxis]
    over = middle + SOLES_UNCERTAINTY * scale * up
    above = ground.cast(over, up, length=BODY_HEIGHT * scale, workers=scene.workers)
    far = size(sole - middle) - FILE_PRECISION * scale  # geometry that only touches the foot is beside it
    aside = ground.cast(over, sole - middle, length=np.maximum(far, 0), workers=scene.workers)
    walls = aside.hit & (np.abs(aside.normals[..., scene.axis]) < WALL)
    points = _on_foothold_planes(np.concatenate([sole, middle], axis=1), holds, scene)
    on = ground.at(points, above=SOLES_UNCERTAINTY * scale, below=CONTACT_HEIGHT * scale, workers=scene.workers).hit
    return {
        "under something that is lower than a body": (above.hit & above.front).any(axis=1),
        "in something": walls.any(axis=1) | (above.hit & ~above.front).any(axis=1),
        "with less than half of their soles on the ground": 2 * np.count_nonzero(on, axis=1) < points.shape[1],
    }


def _on_foothold_planes(points: Array, holds: list[Foothold], scene: Scene) -> Array:
    """Points of soles (stances, points, 3) on the planes of their footholds, as heel or toes may be raised."""
    places = np.stack([hold.place + hold.lift * scene.up for hold in holds])[:, np.newaxis]
    slopes = scene.slope(np.stack([hold.normal for hold in holds]))[:, np.newaxis]
    level = scene.level(points - places)
    return np.asarray(places + level + dot(level, slopes)[..., np.newaxis] * scene.up)


def reason_off_ground(holds: list[Foothold], scene: Scene) -> str | None:
    """The reason why feet are off the ground, if there is one."""
    if scene.settings.weight == 0:
        return "its weight is 0"
    if not holds:
        rate = f"at {scene.fps:g} frames a second no foot was found to stand"
        return f"{rate}, so that nothing says where the ground is to be: give contacts"
    nowhere = sum(hold.part < 0 for hold in holds)
    if nowhere:
        return f"there is no ground under {nowhere} of {len(holds)} places where feet stand{_ELSEWHERE}"
    return None


def _same(baked: Clip, before: Clip, scale: float) -> bool:
    """True if clips are equal within invisible differences."""
    now, was, shape = baked.pose, before.pose, (len(baked), len(baked.skeleton), 3)
    moved, there = (
        np.broadcast_to(before.skeleton.offsets, shape) if each is None else each
        for each in (now.translations, was.translations)
    )
    return _nearly_equal(now.rotations, was.rotations, FILE_PRECISION) and _nearly_equal(
        moved, there, FILE_PRECISION * scale
    )


def _nearly_equal(now: Array, was: Array, near: float) -> bool:
    """Compares a few frames at a time: a difference is usually found in the first ones."""
    parts = (slice(start, start + 16) for start in range(0, len(now), 16))
    return all(bool(np.abs(now[frames] - was[frames]).max() <= near) for frames in parts)
