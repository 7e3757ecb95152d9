"""All legs of a clip on some ground, measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import cross
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts, with_soles
from ikcore.contacts.tracks import surface_under
from ikcore.feet import free_feet, metrics
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.metrics import Measure, Track
from ikcore.feet.moving_ground import carried_back
from ikcore.feet.soles import points
from ikcore.feet.thresholds import LEG_LENGTH
from ikcore.grounds.ground import Ground
from ikcore.prepare.root_motion import add_root_motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CONTACT = {"heel": ("heel", "ball"), "ball": ("ball", "heel"), "toe": ("ball", "heel")}  # point whose contact it has


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measured:
    """The measures of a clip's legs; `measure` makes it.

    Attributes
    ----------
    clip : Clip
    feet : Feet
        Its legs.
    contacts : Contacts
        The contacts, those of its source if it has one.
    ground : Ground or None
        The ground; None for a floor found below the feet.
    in_place : bool
        Whether the clip walks in place and is measured as if it travelled, see `ikcore.prepare.add_root_motion`.
    points : dict of str to tuple of str
        By leg, the measured points of the sole: heel, ball and toe as far as known.
    tracks : dict of str to Track
        By leg, the positions over time. Y is up, lengths are in metres, whatever the clip has. The pelvis is the joint
        that carries the leg; for a free foot a joint is chosen. On moving ground, soles and normals are moved back to
        where they would be on it in the first frame.
    lengths : dict of str to float
        By leg, from hip to ankle, in metres; for a free foot an estimate; NaN if unknown.
    held : dict of str to (frames, points) array of bool
        By leg, the contacts of each point. The toe has the contacts of the ball.
    measures : dict of str to Measure
        By leg.
    beyond : bool
        Whether the measures in `metrics.BEYOND` are differences from the source; if False, they are absolute.
    own : dict of str to Track or None
        The tracks of the source on its own ground, if it has a source.
    """

    clip: Clip
    feet: Feet
    contacts: Contacts
    ground: Ground | None
    in_place: bool
    points: dict[str, tuple[str, ...]]
    tracks: dict[str, Track]
    lengths: dict[str, float]
    held: dict[str, Mask]
    measures: dict[str, Measure]
    beyond: bool
    own: dict[str, Track] | None = None

    def __repr__(self) -> str:
        texts = {leg: measure.texts() for leg, measure in self.measures.items()}
        frames = f"{len(self.clip)} frame{'s' * (len(self.clip) != 1)}"
        rows = [[f"Measured, {frames}", *texts]]
        rows += [[f"  {name}", *(said[name] for said in texts.values())] for name in next(iter(texts.values()), {})]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, wide)).rstrip() for row in rows)


def measure(
    clip: Clip,
    feet: Feet | None = None,
    ground: Ground | None = None,
    *,
    contacts: Contacts | None = None,
    source: Measured | None = None,
) -> Measured:
    """Measure all legs of a clip.

    A clip that walks in place is measured as if it travelled, see `ikcore.prepare.add_root_motion`. A result made from
    it is measured in the same way, unless it travels itself.

    Parameters
    ----------
    clip : Clip
    feet : Feet, optional
        Its legs, with soles (default: those of the source, else `Feet.detect(clip.skeleton, clip=clip)`).
    ground : Ground, optional
        The ground, in the axes and the unit of the clip (default: that of the source, else a floor as
        `Contacts.detect` finds it). Moving ground has as many frames as the clip; sliding, turning and skating are then
        relative to it.
    contacts : Contacts, optional
        The contacts (default: those of the source, else `Contacts.detect` of this clip).
    source : Measured, optional
        The measures of the source, on its own ground. Without it there are no comparisons with the source.

    Raises
    ------
    ValueError
        If the source has other frames, axes or units, or the ground moves over other frames.

    Examples
    --------
    A walk whose root is 10 mm too low and goes 1 % too far:

    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> before = measure(walk)
    >>> moved = walk.pose.translations.copy()
    >>> moved[:, 0] += [0, -0.01, 0]
    >>> moved[:, 0, 2] *= 1.01
    >>> after = measure(ik.Clip(walk.skeleton, ik.Pose(walk.pose.rotations, moved), walk.fps), source=before)
    >>> for name, measured in (("before", before), ("after", after)):
    ...     left = measured.measures["left"]
    ...     print(f"{name:6} {1000 * left.drift:.1f} mm drift, {1000 * left.penetration:.1f} mm deep")
    before 0.0 mm drift, 0.0 mm deep
    after  5.0 mm drift, 10.0 mm deep
    """
    if source is not None:
        _check(clip, source.clip)
        feet, contacts = feet or source.feet, contacts or source.contacts
        ground = source.ground if ground is None else ground
    feet = with_soles(clip, feet)
    contacts = contacts or Contacts.detect(clip, feet, ground)
    there = _on_its_way(clip, feet, contacts, source)
    found = _measure_legs(_Places(there, feet), ground, contacts, source.tracks if source else None)
    return dataclasses.replace(found, clip=clip, in_place=there is not clip)


def before_and_after(
    source: Clip, clip: Clip, feet: Feet, ground: Ground, contacts: Contacts, *, in_place: bool = False
) -> tuple[Measured, Measured]:
    """Measure the source of a clip and the clip, both on the ground of the clip, so that they can be compared.

    An in-place clip is measured in place, without the travel that it lacks.

    Parameters
    ----------
    source : Clip
        The clip before.
    clip : Clip
    feet : Feet
        The legs of both, with soles.
    ground : Ground
        The ground of the clip.
    contacts : Contacts
        The contacts of the source, with the heights of its floor.
    in_place : bool, default: False
        Whether both walk in place. Then feet slide if they do not move back as fast as the contacts say.

    Returns
    -------
    before, after : Measured
        Measures of both on this ground, and comparisons of the clip with its source.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> feet = ik.Feet.detect(walk.skeleton, clip=walk)
    >>> raised = ik.Clip(walk.skeleton, ik.Pose(walk.pose.rotations, walk.pose.translations + [0, 0.1, 0]), walk.fps)
    >>> step, contacts = ik.Ground.plane(height=0.1), ik.Contacts.detect(walk, feet)
    >>> before, after = before_and_after(walk, raised, feet, step, contacts)
    >>> [round(each.measures["left"].penetration, 3) for each in (before, after)]
    [0.1, 0.0]
    """
    _check(clip, source)
    way = contacts.travel if in_place else None
    was, now = (_Places(each, with_soles(each, feet), way) for each in (source, clip))
    before, own = _measure_legs(was, ground, contacts), was.tracks(None, contacts)
    after = _measure_legs(now, ground, contacts, own, beyond=False)
    return (
        dataclasses.replace(before, in_place=in_place),
        dataclasses.replace(after, in_place=in_place),
    )


def ground_under(measured: Measured, leg: str, points: Array) -> Array:
    """Height of the ground below points of a leg, anywhere along its path: Y up, in metres, like tracks.

    For moving ground, its height in the first frame, like tracks.

    Parameters
    ----------
    measured : Measured
        A clip on a ground.
    leg : str
        The name of a leg. Its length limits how far from the points the ground is searched.
    points : (..., 3) array
        The points.

    Returns
    -------
    (...) array
        NaN where there is no ground.
    """
    assert measured.ground is not None
    x, y, z = np.moveaxis(points, -1, 0)
    there, unit = points if measured.clip.up == "Y" else np.stack([x, -z, y], axis=-1), measured.clip.unit
    ground = measured.ground.still(0)
    surface = surface_under(ground, measured.clip, there / unit, measured.lengths[leg] / unit / LEG_LENGTH)
    return np.asarray(surface.height * unit)


def _check(clip: Clip, source: Clip) -> None:
    """Refuse a clip that does not have the frames, axes and unit of its source."""
    if len(clip) != len(source):
        raise ValueError(f"source: expected {len(clip)} frames as the clip has, got {len(source)}")
    for name in ("up", "unit"):
        here, there = getattr(clip, name), getattr(source, name)
        if here != there:
            raise ValueError(f"source: expected {name} {here!r} as the clip has, got {there!r}; see Clip.convert")


def _on_its_way(clip: Clip, feet: Feet, contacts: Contacts, source: Measured | None) -> Clip:
    """The clip with the travel that it lacks in place, unless it has it already and is nearer to its source."""
    moved = add_root_motion(clip, contacts)
    if source is None or moved is clip:
        return moved
    hips = free_feet.hips(clip.skeleton, feet)
    way = _joints(add_root_motion(source.clip, source.contacts) if source.in_place else source.clip, hips)
    return min(moved, clip, key=lambda each: float(np.nan_to_num(np.abs(_joints(each, hips) - way)).sum()))


def _joints(clip: Clip, names: Iterable[str]) -> Array:
    """Positions of joints (frames, joints, 3)."""
    at = [clip.skeleton.index(name) for name in names]
    return np.asarray(clip.skeleton.forward(clip.pose).positions[:, at], np.float64)


def _key(contacts: Contacts, leg: str, point: str) -> tuple[str, str]:
    """The leg and point whose contact and floor a point has."""
    return next(((leg, other) for other in _CONTACT[point] if (leg, other) in contacts.weights), (leg, point))


def _measure_legs(
    places: _Places,
    ground: Ground | None,
    contacts: Contacts,
    source: dict[str, Track] | None = None,
    *,
    beyond: bool = True,
) -> Measured:
    """Measures of all legs on a ground; with a source, as differences from it or absolute (`beyond`)."""
    held = {leg: _contacts_of(contacts, leg, points) for leg, points in places.points.items()}
    tracks = places.tracks(ground, contacts)
    measures = {
        leg: metrics.measure_leg(
            track, held[leg], fps=places.clip.fps, source=None if source is None else source[leg], beyond=beyond
        )
        for leg, track in tracks.items()
    }
    lengths = {leg: length * places.clip.unit for leg, length in places.lengths.items()}
    return Measured(
        places.clip,
        places.feet,
        contacts,
        ground,
        False,
        places.points,
        tracks,
        lengths,
        held,
        measures,
        beyond and source is not None,
        source,
    )


def _contacts_of(contacts: Contacts, leg: str, points: tuple[str, ...]) -> Mask:
    """Contacts of the points of a leg."""
    return np.stack([contacts.planted(*_key(contacts, leg, point)) for point in points], axis=1)


def _at_ball(normals: Array, points: tuple[str, ...]) -> Array:
    """The normals below the ball, or below the first point."""
    return normals[:, points.index("ball") if "ball" in points else 0]


class _Places:
    """Positions of joints and sole points: found in the space of the clip, given with Y up in metres."""

    def __init__(self, clip: Clip, feet: Feet, way: Array | None = None) -> None:
        self.clip, self.feet = clip, feet
        self.points = {leg.name: tuple(point for point in _CONTACT if point in leg.soles) for leg in feet}
        self.pelvis = {leg.name: self._pelvis(leg) for leg in feet}
        self.joints, self.soles = self._places()
        self.sole = {leg.name: self._sole(leg) for leg in feet}
        self.chains = {leg.name: self._chain(leg) for leg in feet}
        self.lengths = {leg.name: self._length(leg) for leg in feet}
        self.normals = {leg.name: self._normals(leg.name) for leg in feet}
        self.ankles = self._in_metres(np.stack([chain[:, -1] for chain in self.chains.values()], axis=1))
        gone = 0.0 if way is None else way[:, np.newaxis]  # travel that an in-place clip is taken to have made
        self.legs = {
            leg.name: (self._in_metres(self.chains[leg.name]), self._in_metres(self.sole[leg.name] + gone))
            for leg in feet
        }

    def tracks(self, ground: Ground | None, contacts: Contacts) -> dict[str, Track]:
        """The track of every leg on some ground, or on the floor that its contacts were found on."""
        return {leg.name: self._track(leg, ground, contacts) for leg in self.feet}

    def _track(self, leg: Leg, ground: Ground | None, contacts: Contacts) -> Track:
        sole, points, surface = self.sole[leg.name], self.points[leg.name], None
        if ground is not None:
            surface = surface_under(ground, self.clip, sole, self.lengths[leg.name] / LEG_LENGTH, sunk=True)
        if surface is None:
            below, normals = self._floor(leg.name, contacts), np.array(metrics.UP)
        else:
            below, normals = surface.height, self._upright(_at_ball(surface.normals, points))
        track = Track.on(
            *self.legs[leg.name],
            below * self.clip.unit,
            normals,
            soles=self.normals[leg.name],
            pelvis=self._in_metres(self.joints[self.pelvis[leg.name]]),
            ankles=self.ankles,
        )
        if surface is None or ground is None or not ground.moves:
            return track
        held, above = _contacts_of(contacts, leg.name, points), track.heights
        sole, there = carried_back(ground, surface, sole, above, held, self.clip.fps)
        sole, normals = self._in_metres(sole), self._upright(_at_ball(there, points))
        return dataclasses.replace(track, sole=sole, normals=normals)

    def _places(self) -> tuple[dict[str, Array], dict[tuple[str, str], Array]]:
        """Positions of joints by name, and of sole points by leg and point."""
        joints = sorted({joint for leg in self.feet for joint in (*leg.bones, self.pelvis[leg.name])})
        soles = {(leg.name, point): sole for leg in self.feet for point, sole in leg.soles.items()}
        named = [Sole(joint, (0, 0, 0)) for joint in joints]
        found = points(self.clip.skeleton, self.clip.pose, [*named, *soles.values()])
        each = np.moveaxis(np.asarray(found, np.float64), 1, 0)
        return dict(zip(joints, each[: len(joints)], strict=True)), dict(zip(soles, each[len(joints) :], strict=True))

    def _in_metres(self, places: Array) -> Array:
        """Positions with Y up, in metres."""
        return self._upright(places) * self.clip.unit

    def _sole(self, leg: Leg) -> Array:
        return np.stack([self.soles[leg.name, point] for point in self.points[leg.name]], axis=1)

    def _chain(self, leg: Leg) -> Array:
        """The joints from hip to ankle, or to the tip."""
        chain = np.stack([self.joints[joint] for joint in leg.bones], axis=1)
        return chain if leg.ankle is not None else np.concatenate([chain, self.sole[leg.name][:, -1:]], axis=1)

    def _length(self, leg: Leg) -> float:
        return free_feet.length_in(self.clip, leg) if leg.free else metrics.leg_length(self.chains[leg.name])

    def _pelvis(self, leg: Leg) -> str:
        """The joint that carries a leg; for a free foot, a joint in its place."""
        skeleton = self.clip.skeleton
        if leg.hip is None:
            return free_feet.hips(skeleton, self.feet)[0]
        return skeleton.names[max(int(skeleton.parents[skeleton.index(leg.hip)]), 0)]

    def _floor(self, leg: str, contacts: Contacts) -> Array:
        """Height of the floor below the points, in units of the clip."""
        return np.stack([contacts.ground[_key(contacts, leg, point)] for point in self.points[leg]], axis=1)

    def _normals(self, leg: str) -> Array | None:
        """Normals of a sole: of the plane through its heel and sides, which one joint carries."""
        if not {(leg, point) for point in ("heel", "inner", "outer")} <= set(self.soles):
            return None
        heel, inner, outer = (self._upright(self.soles[leg, point]) for point in ("heel", "inner", "outer"))
        normals = cross(inner - heel, outer - heel)
        return np.asarray(normals * (1 if np.nansum(normals[:, 1]) >= 0 else -1))

    def _upright(self, vectors: Array) -> Array:
        """Vectors with Y up."""
        if self.clip.up == "Y":
            return vectors
        x, y, z = np.moveaxis(vectors, -1, 0)
        return np.stack([x, z, -y], axis=-1)
