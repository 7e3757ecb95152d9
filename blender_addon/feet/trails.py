# SPDX-License-Identifier: GPL-3.0-or-later
"""Trails of feet: their paths and contacts, as arrays to be drawn. Without bpy.

All positions are in the world, in single precision, as graphics cards use them.
"""

from dataclasses import dataclass

import numpy as np

from .. import bridge

CORNERS = 32  # of a footprint
ROUND = 0.04  # relative to the leg length: the radius of its corners, and of the print of a point


@dataclass
class Trail:
    """The trail of a leg."""

    name: str
    side: str
    size: float  # the length of the leg
    points: dict  # of the sole, the leading one first: name -> (frames, 3)
    before: np.ndarray | None  # (frames, 3): path of the leading point before the bake

    @property
    def path(self):
        """The path of the leading point of the sole."""
        return next(iter(self.points.values()))


@dataclass
class Trails:
    """The trails of an armature, and the contacts of its points."""

    legs: list[Trail]
    frames: np.ndarray  # of the action, in order
    held: dict  # (leg, point) -> (frames,) of bool
    keyed: list  # the (leg, point) whose contact curves are used, if they exist
    bones: list[str]  # whose curves determine the trails
    world: np.ndarray  # (frames, 4, 4): the object; one frame if it is static

    def planted(self, trail, point=None):
        """Contact of a leg, or of a point of its sole: all points except the heel share that of the ball."""
        of_leg = {key[1]: held for key, held in self.held.items() if key[0] == trail.name}
        return of_leg.get("heel" if point == "heel" else "ball", _any(of_leg)) if point else _any(of_leg)

    def at(self, trail, time):
        """The points of a sole at a time, (n, 3), and which of them are in contact; none outside the frames."""
        number = time - self.frames[0]
        if not 0 <= number <= len(self.frames) - 1:
            return np.empty((0, 3), np.float32), np.empty(0, bool)
        early, share = int(number), number % 1
        late = min(early + 1, len(self.frames) - 1)
        shown = {point: places for point, places in trail.points.items() if point in ("heel", "ball", "toe")}
        places = [(1 - share) * places[early] + share * places[late] for places in shown.values()]
        held = [self.planted(trail, point)[early] for point in shown]
        return np.array(places, np.float32), np.array(held)

    def footprints(self, trail):
        """Footprints in the middle of each contact: outlines (n, CORNERS, 3) of the points in contact."""
        starts, stops = bridge.library.feet.metrics.runs(self.planted(trail)).T
        middles = (starts + stops - 1) // 2
        places = np.stack([places[middles] for places in trail.points.values()], axis=1)
        stands = np.stack([self.planted(trail, point)[middles] for point in trail.points], axis=1)
        return _round_outlines(places, stands, ROUND * trail.size)


def of_bake(job, seen, baked):
    """The trails of a bake, with those of its source."""
    return _of(job, seen, baked, baked.clip, baked.source)


def of_source(job, seen, baked):
    """The trails of the source of a bake, with its detected contacts."""
    return _of(job, seen, baked, seen.reading.clip)


def _of(job, seen, baked, clip, source=None):
    places = baked.feet.positions(clip.skeleton, clip.pose)
    earlier = baked.feet.positions(source.skeleton, source.pose) if source else {}
    weights = baked.contacts.weights
    return Trails(
        [_trail(leg, clip, places, earlier) for leg in baked.feet],
        job.frames,
        {key: weight > 0.5 for key, weight in weights.items()},
        [key for key in weights if job.keyed and job.modes.get(key[0], "auto") == "auto"],
        [*seen.reading.bones, *(name for each in job.switched.values() for name in each.limb.controls())],
        seen.reading.world,
    )


def pieces(path, held=None):
    """A path as lines between frames, (n, 2, 3): all of it, or where both ends are in contact."""
    both = slice(None) if held is None else held[:-1] & held[1:]
    return np.stack([path[:-1], path[1:]], axis=1)[both]


def outlines(footprints):
    """Footprints as lines, (n, CORNERS, 2, 3)."""
    return np.stack([footprints, np.roll(footprints, -1, axis=1)], axis=2)


def _trail(leg, clip, places, earlier):
    order = sorted(leg.soles, key=lambda point: point != "ball")
    points = {point: places[leg.name, point].astype(np.float32) for point in order}
    before = earlier.get((leg.name, order[0]))
    return Trail(leg.name, leg.side, _length(leg, clip), points, None if before is None else before.astype(np.float32))


def _length(leg, clip):
    joints = [clip.skeleton.index(joint) for joint in leg.bones]
    return float(np.linalg.norm(np.diff(clip.skeleton.forward(clip.pose[0]).positions[joints], axis=0), axis=-1).sum())


def _round_outlines(places, counts, radius):
    """Outlines of the active points (n, points, 3) seen from above, with round corners inside."""
    weights = counts[..., np.newaxis] / counts.sum(axis=1)[:, np.newaxis, np.newaxis]
    inward = (weights * places).sum(axis=1, keepdims=True) - places
    far = np.linalg.norm(inward, axis=-1, keepdims=True)
    centers = places + inward * np.minimum(1, radius / np.maximum(far, 1e-9))
    turns = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    ways = np.stack([np.cos(turns), np.sin(turns), np.zeros(CORNERS)], axis=-1)
    reach = np.where(counts[:, np.newaxis], np.einsum("cx,npx->ncp", ways, centers), -np.inf)
    corners = np.take_along_axis(centers, reach.argmax(axis=-1)[..., np.newaxis], axis=1) + radius * ways
    return corners.astype(np.float32)


def _any(of_leg):
    return np.any(list(of_leg.values()), axis=0)
