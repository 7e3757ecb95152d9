"""Provenance: the record that a bake writes of itself."""

from __future__ import annotations

from ikcore.bake.foot import Stance
from ikcore.bake.footholds import Foothold
from ikcore.bake.motion import LegMotion
from ikcore.bake.partial import Part
from ikcore.bake.scene import Scene
from ikcore.clips import provenance as records
from ikcore.clips.clip import Clip
from ikcore.clips.provenance import Origin
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.earlier_bake import places
from ikcore.feet.leg import Sole
from ikcore.feet.thresholds import FILE_PRECISION


def _soles_of(motion: LegMotion, clip: Clip) -> dict[records.Key, Sole]:
    """The points of a sole with the joints that carry them; the toe joint is one of them."""
    found = dict(motion.leg.soles)
    if motion.toe is not None:
        found["joint"] = Sole(clip.skeleton.names[motion.toe], (0.0, 0.0, 0.0))
    return {(motion.leg.name, point): sole for point, sole in found.items()}


def _pivots_within(stance: Stance, first: int, frames: int) -> list[tuple[str, int, int]]:
    """The pivots of a stance in a clip that begins at a frame."""
    cut = [(each.point, max(each.start - first, 0), min(each.stop - first, frames)) for each in stance.pivots]
    return [(point, start, stop) for point, start, stop in cut if start < stop]


def _is_whole(part: Part, leg: str, pivots: list[tuple[str, int, int]]) -> bool:
    """True if all frames of a stance belong to the baked part."""
    return bool(pivots) and leg in part.legs and bool(part.share[pivots[0][1] : pivots[-1][2]].min() == 1)


def _unchanged_stances(part: Part, ground: str) -> list[records.Stance]:
    """The stances of an earlier bake on this ground that this one has not changed."""
    origin = part.earlier.origin
    if origin is None or origin.ground != ground:
        return []
    return [
        each for each in origin.stances if each.leg not in part.legs or not part.share[each.start : each.stop].any()
    ]


def origin_of(
    baked: Clip, legs: list[LegMotion], contacts: Contacts, holds: list[Foothold], part: Part, scene: Scene
) -> Origin | None:
    """The record of this bake, and of the earlier one in unchanged legs and frames.

    `holds` of a loop are those of three rounds.
    """
    soles = {key: sole for motion in legs for key, sole in _soles_of(motion, baked).items()}
    first, ground = len(baked) - 1 if baked.loop else 0, scene.ground.fingerprint()
    scale = max(motion.scale for motion in legs)
    least = max(scene.settings.tolerance, FILE_PRECISION) * scale
    cut = [(hold, legs[hold.stance.leg].leg.name, _pivots_within(hold.stance, first, len(baked))) for hold in holds]
    cut = [each for each in cut if each[0].part >= 0 and _is_whole(part, *each[1:])]
    at = iter(places(baked, soles, [((leg, each[0]), *each[1:]) for _, leg, own in cut for each in own]))
    found = []
    for hold, leg, own in cut:
        pivots = tuple([records.pivot(*each, next(at), FILE_PRECISION * scale) for each in own])
        found.append(records.Stance(leg, pivots, float(hold.place[scene.axis] + hold.lift)))
    found += _unchanged_stances(part, ground)
    if not found:
        return None
    moves = contacts.treadmill if contacts.treadmill.any() else None
    return Origin(
        len(baked),
        ground,
        "ground" if scene.on_ground else "level",
        scene.settings._values,
        least,
        soles,
        {key: contacts.intervals(*key) for key in contacts.weights},
        dict(contacts.confidence),
        tuple(found),
        moves,
    )
