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
from ikcore.feet import free, metrics
from ikcore.feet.carried import carried_back
from ikcore.feet.detect import Feet
from ikcore.feet.human import LEG
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.metrics import Measure, Track
from ikcore.feet.soles import points
from ikcore.grounds.ground import Ground
from ikcore.prepare.root_motion import add_root_motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CONTACT = {"heel": ("heel", "ball"), "ball": ("ball", "heel"), "toe": ("ball", "heel")}  # whose contact each point has


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measured:
    """A clip whose legs are measured; `measure` makes it.

    Attributes
    ----------
    clip : Clip
        The motion.
    feet : Feet
        Its legs.
    contacts : Contacts
        Of its source, where it has one.
    ground : Ground or None
        What it walks on; None for a floor found under the feet.
    in_place : bool
        Whether the clip walks in place and is measured as if it travelled, see `ikcore.prepare.add_root_motion`.
    points : dict of str to tuple of str
        By leg, the points of the sole that are measured: those of heel, ball and toe that are known.
    tracks : dict of str to Track
        By leg, where all is. Y is up, lengths are metres, whatever the clip has. What the leg hangs on is its pelvis;
        of a free foot what stands for it.
        On ground that moves soles and normals are where they would be on it on the first frame.
    lengths : dict of str to float
        By leg, from hip to ankle, metres; of a free foot what that would be; NaN if it is never known.
    held : dict of str to (frames, points) array of bool
        By leg, when each point is in contact. The toe is when the ball is.
    measures : dict of str to Measure
        By leg.
    beyond : bool
        Whether what `metrics.BEYOND` names is what is beyond the source; if not, it is all there is.
    own : dict of str to Track or None
        The tracks of the source on its own ground, where it has a source.
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

    A clip that walks in place is measured as if it travelled, see `ikcore.prepare.add_root_motion`; so is one made of
    it, unless it travels itself.

    Parameters
    ----------
    clip : Clip
        The motion.
    feet : Feet, optional
        Its legs, with soles (default: those of the source, else `Feet.detect(clip.skeleton, clip=clip)`).
    ground : Ground, optional
        What it walks on, with the axis and the unit of the clip (default: that of the source, else a floor as
        `Contacts.detect` finds it). Over as many frames as the clip if it moves: then a foot slides, turns and skates
        that does so on what it stands on.
    contacts : Contacts, optional
        When it stands (default: those of the source, else `Contacts.detect` of this clip).
    source : Measured, optional
        What the clip was made of, on its own ground. Without, nothing is said of how the clip is beside it.

    Returns
    -------
    Measured

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
    found = _measured(_Places(there, feet), ground, contacts, source.tracks if source else None)
    return dataclasses.replace(found, clip=clip, in_place=there is not clip)


def before_and_after(
    source: Clip, clip: Clip, feet: Feet, ground: Ground, contacts: Contacts, *, in_place: bool = False
) -> tuple[Measured, Measured]:
    """Measure what a clip was made of and the clip, both on the ground of the clip, so that they compare.

    Both go where they go: what walks on the spot is not sent on a way that it lacks.

    Parameters
    ----------
    source : Clip
        What it was made of.
    clip : Clip
        The motion.
    feet : Feet
        The legs of both, with soles.
    ground : Ground
        What the clip walks on.
    contacts : Contacts
        When the source stands, and how high that is.
    in_place : bool, default: False
        Whether both walk on the spot: then feet slide that do not go back as fast as contacts say.

    Returns
    -------
    before, after : Measured
        How both slide, sink and float on this ground; and how the motion of the clip is beside that of its source.

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
    before, own = _measured(was, ground, contacts), was.tracks(None, contacts)
    after = _measured(now, ground, contacts, own, beyond=False)
    return (
        dataclasses.replace(before, in_place=in_place),
        dataclasses.replace(after, in_place=in_place),
    )


def ground_under(measured: Measured, leg: str, points: Array) -> Array:
    """How high the ground is under points of a leg, anywhere on its way: Y up, metres, as tracks have it.

    Of ground that moves it is that of the first frame, as tracks have what is on it there.

    Parameters
    ----------
    measured : Measured
        A clip on a ground.
    leg : str
        The name of a leg, whose length says how far from the points the ground may be.
    points : (..., 3) array
        The points.

    Returns
    -------
    (...) array
        NaN where there is none.
    """
    assert measured.ground is not None
    x, y, z = np.moveaxis(points, -1, 0)
    there, unit = points if measured.clip.up == "Y" else np.stack([x, -z, y], axis=-1), measured.clip.unit
    ground = measured.ground.still(0)
    surface = surface_under(ground, measured.clip, there / unit, measured.lengths[leg] / unit / LEG)
    return np.asarray(surface.height * unit)


def _check(clip: Clip, source: Clip) -> None:
    """That frame by frame the source is what the clip was made of."""
    if len(clip) != len(source):
        raise ValueError(f"source: expected {len(clip)} frames as the clip has, got {len(source)}")
    for name in ("up", "unit"):
        here, there = getattr(clip, name), getattr(source, name)
        if here != there:
            raise ValueError(f"source: expected {name} {here!r} as the clip has, got {there!r}; see Clip.convert")


def _on_its_way(clip: Clip, feet: Feet, contacts: Contacts, source: Measured | None) -> Clip:
    """What it lacks on the spot is added; not to a result that has been given it, which is nearer its source then."""
    moved = add_root_motion(clip, contacts)
    if source is None or moved is clip:
        return moved
    hips = free.hips(clip.skeleton, feet)
    way = _joints(add_root_motion(source.clip, source.contacts) if source.in_place else source.clip, hips)
    return min(moved, clip, key=lambda each: float(np.nan_to_num(np.abs(_joints(each, hips) - way)).sum()))


def _joints(clip: Clip, names: Iterable[str]) -> Array:
    """Where joints are (frames, joints, 3)."""
    at = [clip.skeleton.index(name) for name in names]
    return np.asarray(clip.skeleton.forward(clip.pose).positions[:, at], np.float64)


def _key(contacts: Contacts, leg: str, point: str) -> tuple[str, str]:
    """Of whose contact and floor a point has."""
    return next(((leg, other) for other in _CONTACT[point] if (leg, other) in contacts.weights), (leg, point))


def _measured(
    places: _Places,
    ground: Ground | None,
    contacts: Contacts,
    source: dict[str, Track] | None = None,
    *,
    beyond: bool = True,
) -> Measured:
    """All legs of a clip on some ground; beside those of a source, if there is one, by what is beyond it or by all."""
    held = {leg: _held(contacts, leg, points) for leg, points in places.points.items()}
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


def _held(contacts: Contacts, leg: str, points: tuple[str, ...]) -> Mask:
    """When points of a leg are in contact."""
    return np.stack([contacts.planted(*_key(contacts, leg, point)) for point in points], axis=1)


def _at_ball(normals: Array, points: tuple[str, ...]) -> Array:
    """Those under the ball, or under the first point."""
    return normals[:, points.index("ball") if "ball" in points else 0]


class _Places:
    """Where joints and points of soles are: found in the space of the clip, given as metrics have it."""

    def __init__(self, clip: Clip, feet: Feet, way: Array | None = None) -> None:
        self.clip, self.feet = clip, feet
        self.points = {leg.name: tuple(point for point in _CONTACT if point in leg.soles) for leg in feet}
        self.pelvis = {leg.name: self._pelvis(leg) for leg in feet}
        self.joints, self.soles = self._places()
        self.sole = {leg.name: self._sole(leg) for leg in feet}
        self.chains = {leg.name: self._chain(leg) for leg in feet}
        self.lengths = {leg.name: self._length(leg) for leg in feet}
        self.normals = {leg.name: self._normals(leg.name) for leg in feet}
        self.ankles = self._measured(np.stack([chain[:, -1] for chain in self.chains.values()], axis=1))
        gone = 0.0 if way is None else way[:, np.newaxis]  # how far what slides is taken to have come
        self.legs = {
            leg.name: (self._measured(self.chains[leg.name]), self._measured(self.sole[leg.name] + gone))
            for leg in feet
        }

    def tracks(self, ground: Ground | None, contacts: Contacts) -> dict[str, Track]:
        """What is measured of every leg on some ground, or on the floor that its contacts were found on."""
        return {leg.name: self._track(leg, ground, contacts) for leg in self.feet}

    def _track(self, leg: Leg, ground: Ground | None, contacts: Contacts) -> Track:
        sole, points, surface = self.sole[leg.name], self.points[leg.name], None
        if ground is not None:
            surface = surface_under(ground, self.clip, sole, self.lengths[leg.name] / LEG, sunk=True)
        if surface is None:
            below, normals = self._floor(leg.name, contacts), np.array(metrics.UP)
        else:
            below, normals = surface.height, self._upright(_at_ball(surface.normals, points))
        track = Track.on(
            *self.legs[leg.name],
            below * self.clip.unit,
            normals,
            soles=self.normals[leg.name],
            pelvis=self._measured(self.joints[self.pelvis[leg.name]]),
            ankles=self.ankles,
        )
        if surface is None or ground is None or not ground.moves:
            return track
        held, above = _held(contacts, leg.name, points), track.heights
        sole, there = carried_back(ground, surface, sole, above, held, self.clip.fps)
        sole, normals = self._measured(sole), self._upright(_at_ball(there, points))
        return dataclasses.replace(track, sole=sole, normals=normals)

    def _places(self) -> tuple[dict[str, Array], dict[tuple[str, str], Array]]:
        """Of joints by name, and of points of soles."""
        joints = sorted({joint for leg in self.feet for joint in (*leg.bones, self.pelvis[leg.name])})
        soles = {(leg.name, point): sole for leg in self.feet for point, sole in leg.soles.items()}
        named = [Sole(joint, (0, 0, 0)) for joint in joints]
        found = points(self.clip.skeleton, self.clip.pose, [*named, *soles.values()])
        each = np.moveaxis(np.asarray(found, np.float64), 1, 0)
        return dict(zip(joints, each[: len(joints)], strict=True)), dict(zip(soles, each[len(joints) :], strict=True))

    def _measured(self, places: Array) -> Array:
        """With Y up, in metres."""
        return self._upright(places) * self.clip.unit

    def _sole(self, leg: Leg) -> Array:
        return np.stack([self.soles[leg.name, point] for point in self.points[leg.name]], axis=1)

    def _chain(self, leg: Leg) -> Array:
        """From hip to ankle, or to the tip."""
        chain = np.stack([self.joints[joint] for joint in leg.bones], axis=1)
        return chain if leg.ankle is not None else np.concatenate([chain, self.sole[leg.name][:, -1:]], axis=1)

    def _length(self, leg: Leg) -> float:
        return free.length_in(self.clip, leg) if leg.free else metrics.leg_length(self.chains[leg.name])

    def _pelvis(self, leg: Leg) -> str:
        """The joint that a leg hangs on; of a free foot what stands for that."""
        skeleton = self.clip.skeleton
        if leg.hip is None:
            return free.hips(skeleton, self.feet)[0]
        return skeleton.names[max(int(skeleton.parents[skeleton.index(leg.hip)]), 0)]

    def _floor(self, leg: str, contacts: Contacts) -> Array:
        """How high it is under the points, in units of the clip."""
        return np.stack([contacts.ground[_key(contacts, leg, point)] for point in self.points[leg]], axis=1)

    def _normals(self, leg: str) -> Array | None:
        """Of a sole: of the plane through its heel and sides, which one joint carries."""
        if not {(leg, point) for point in ("heel", "inner", "outer")} <= set(self.soles):
            return None
        heel, inner, outer = (self._upright(self.soles[leg, point]) for point in ("heel", "inner", "outer"))
        normals = cross(inner - heel, outer - heel)
        return np.asarray(normals * (1 if np.nansum(normals[:, 1]) >= 0 else -1))

    def _upright(self, vectors: Array) -> Array:
        """With Y up."""
        if self.clip.up == "Y":
            return vectors
        x, y, z = np.moveaxis(vectors, -1, 0)
        return np.stack([x, z, -y], axis=-1)
