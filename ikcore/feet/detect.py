"""The feet of a skeleton: found by joint names, then by structure."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _files
from ikcore._arrays import dot
from ikcore.clips.clip import Clip, FormatError
from ikcore.feet import soles
from ikcore.feet.leg import SIDES, Leg, Sole, ancestors, below, under
from ikcore.feet.names import Named, by_name, side_of
from ikcore.feet.rest_pose import KNOWN, Chain, Stance, chains, farthest, length, resting, stance, standing
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

_FORMAT = "ikcore-feet/1"
_APART, _EVEN = 0.5, 0.2  # of a leg: least distance of front from hind legs, largest difference in height of their feet


@dataclass(frozen=True, slots=True)
class Feet:
    """The legs of a skeleton, any number of them. Immutable: methods that change it return a new object.

    Parameters
    ----------
    legs : tuple of Leg
        All with different names.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=2)
    >>> feet = ik.Feet.detect(walk.clip.skeleton)
    >>> feet
    Feet(left: LeftUpLeg to LeftToeBase_end; right: RightUpLeg to RightToeBase_end)
    >>> feet["left"].knees, feet["left"].ankle, feet["left"].ball
    (('LeftLeg',), 'LeftFoot', 'LeftToeBase')
    """

    legs: tuple[Leg, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "legs", tuple(self.legs))
        for leg in self.legs:
            if not isinstance(leg, Leg):
                raise TypeError(f"legs: expected a Leg each, got {type(leg).__name__}")
        names = [leg.name for leg in self.legs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"legs: expected different names, got {twice[0]!r} twice")

    @classmethod
    def detect(
        cls,
        skeleton: Skeleton,
        *,
        up: str | None = None,
        vertices: Mapping[str, ArrayLike] | None = None,
        clip: Clip | None = None,
    ) -> Feet:
        """Find the legs of a skeleton: by the names of many rigs (`ikcore.feet.names`), else by structure.

        By structure, a leg hangs on the trunk, belongs to one side and ends near the ground at rest; its long bones lie
        between hip, knees and ankle. Names decide what is left and right, otherwise the facing of the rest pose. If
        that lies down, the tallest pose of the clip is used instead. Hind legs with known names get front legs by
        structure, whatever these are called. Feet are free, without legs, if all joints with names of feet hang on
        neither shin nor thigh. Without any legs, low and short branches are free feet.

        Soles are measured where the feet are flat: in frames of the clip in which they are low and still, without a
        clip at rest. Paws are measured at rest if the rest pose stands, because no clip shows which way they point. The
        height of the lowest joint decides where the floor is, for a leg of 0.87 m: up to 0.08 m it is at height 0, from
        0.16 m on it is as far below that joint as at rest, with a gradual transition. Heel and sides have usual
        proportions unless there are vertices. An animal that walks on its toes has no heel.

        Parameters
        ----------
        skeleton : Skeleton
            The joints.
        up : {"Y", "Z"}, optional
            The axis that points up at rest (default: that of the clip, else the one along which legs with known names
            hang down, else "Y").
        vertices : mapping of str to (n, 3) array_like, optional
            The skin of the feet: for joints by name the vertices that follow them most, in the space of the joint.
        clip : Clip, optional
            A motion of this skeleton with both feet on the ground somewhere, for rest poses that do not stand.

        Returns
        -------
        Feet
            From front to back, the left one first. They have no soles if the skeleton does not stand at rest and there
            is no clip.

        Raises
        ------
        ValueError
            If there are no legs, or some feet are not below their shins or are scaled to 0 in all frames.

        Examples
        --------
        >>> import ikcore as ik
        >>> parents = [-1, 0, 1, 2, 3, 0, 5, 6, 7]
        >>> left = [[0.1, 0, 0], [0, -0.4, 0.02], [0, -0.4, -0.02], [0, -0.1, 0.2]]
        >>> body = ik.Skeleton(parents, [[0, 0.9, 0], *left, *(np.array(left) * [-1, 1, 1])])
        >>> ik.Feet.detect(body)
        Feet(left: 1 to 4; right: 5 to 8)
        """
        if isinstance(skeleton, Clip):
            raise TypeError("skeleton: expected a Skeleton, got a Clip: Feet.detect(clip.skeleton, clip=clip)")
        if clip is not None and clip.skeleton != skeleton:
            raise ValueError("clip: expected one of this skeleton, got one of another")
        if up not in (None, "Y", "Z"):
            raise ValueError(f"up: expected 'Y' or 'Z', got {up!r}")
        up = up or (clip.up if clip else _upright(skeleton))
        seen = stance(skeleton, up, clip)
        found = _at_rest(skeleton, up) if seen is resting(skeleton, up) else _find(skeleton, seen)
        legs = _legs(skeleton, seen, found)
        skin = None if vertices is None else _checked_skin(skeleton, vertices)
        if clip is None:
            return cls(soles.at_rest(skeleton, seen, legs, skin))
        return cls(soles.over_time(skeleton, seen, legs, clip.pose, skin))

    def with_soles(self, clip: Clip, *, vertices: Mapping[str, ArrayLike] | None = None) -> Feet:
        """Return the same legs with soles, measured as by `detect`; legs that have soles keep them.

        Parameters
        ----------
        clip : Clip
            A motion with both feet on the ground somewhere.
        vertices : mapping of str to (n, 3) array_like, optional
            The skin of the feet, as for `detect`.

        Returns
        -------
        Feet

        Examples
        --------
        >>> import ikcore as ik
        >>> clip = ik.samples.walk(seconds=2).clip
        >>> left = ik.Leg("left", "left", "LeftUpLeg", ("LeftLeg",), "LeftFoot", "LeftToeBase", "LeftToeBase_end")
        >>> sorted(ik.Feet((left,)).with_soles(clip)["left"].soles)
        ['ball', 'heel', 'inner', 'outer', 'toe']
        """
        self.check(clip.skeleton)
        seen = stance(clip.skeleton, clip.up, clip)
        skin = None if vertices is None else _checked_skin(clip.skeleton, vertices)
        bare = [leg for leg in self.legs if not leg.soles]
        found = soles.over_time(clip.skeleton, seen, bare, clip.pose, skin) if bare else ()
        measured = {leg.name: leg for leg in found}
        return Feet(tuple(measured.get(leg.name, leg) for leg in self.legs))

    def replace(self, leg: str, /, **changes: Any) -> Feet:
        """Return the same legs, with some fields of one leg changed.

        Parameters
        ----------
        leg : str
            Its name.
        **changes
            Fields of `Leg`.

        Returns
        -------
        Feet

        Examples
        --------
        >>> import ikcore as ik
        >>> feet = ik.Feet.detect(ik.samples.walk(seconds=2).clip.skeleton)
        >>> feet.replace("left", toe=None)
        Feet(left: LeftUpLeg to LeftToeBase; right: RightUpLeg to RightToeBase_end)
        """
        changed = dataclasses.replace(self[leg], **changes)
        return Feet(tuple(changed if other.name == leg else other for other in self.legs))

    def check(self, skeleton: Skeleton) -> None:
        """Raise a ValueError with a sentence if a skeleton does not have these legs.

        Parameters
        ----------
        skeleton : Skeleton
            Another skeleton, or a changed version.
        """
        for leg in self.legs:
            leg.check(skeleton)

    def positions(self, skeleton: Skeleton, pose: Pose) -> dict[tuple[str, str], NDArray[Any]]:
        """World positions of the sole points.

        Parameters
        ----------
        skeleton : Skeleton
            The joints.
        pose : Pose
            One pose or many, such as those of a clip.

        Returns
        -------
        dict of (str, str) to (..., 3) array
            By leg and point.

        Examples
        --------
        >>> import ikcore as ik
        >>> clip = ik.samples.walk(seconds=2).clip
        >>> feet = ik.Feet.detect(clip.skeleton)
        >>> feet.positions(clip.skeleton, clip.pose)["left", "ball"][10].round(3) + 0
        array([0.06, 0.  , 0.18])
        """
        found = {(leg.name, point): sole for leg in self.legs for point, sole in leg.soles.items()}
        places = soles.points(skeleton, pose, found.values())
        return {key: places[..., number, :] for number, key in enumerate(found)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the legs to a JSON file.

        Parameters
        ----------
        path : path
            The file. If there is one it is replaced.
        """
        text = json.dumps({"format": _FORMAT, "legs": [_as_json(leg) for leg in self.legs]}, indent=1)
        _files.write(path, [text + "\n"])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Feet:
        """Read a file written by `save`.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Feet

        Raises
        ------
        FormatError
            If the file is not one.
        """
        try:
            read = json.loads(_files.read(path).decode("utf-8"))
            if not isinstance(read, dict) or read.get("format") != _FORMAT:
                raise ValueError(f"expected a file of feet, with the format {_FORMAT}")
            return cls(tuple(_from_json(leg) for leg in read["legs"]))
        except KeyError as error:
            raise FormatError(f"{os.fspath(path)}: {_files.cut(error)} is missing") from error
        except (AttributeError, RecursionError, TypeError, ValueError) as error:
            raise FormatError(f"{os.fspath(path)}: {_files.cut(error, 200)}") from error

    def __getitem__(self, name: str) -> Leg:
        for leg in self.legs:
            if leg.name == name:
                return leg
        raise KeyError(f"no leg is called {name!r}; there are {', '.join(leg.name for leg in self.legs)}")

    def __iter__(self) -> Iterator[Leg]:
        return iter(self.legs)

    def __len__(self) -> int:
        return len(self.legs)

    def __repr__(self) -> str:
        return f"Feet({'; '.join(f'{leg.name}: {leg.chain[0]} to {leg.chain[-1]}' for leg in self.legs)})"


def _as_json(leg: Leg) -> dict[str, Any]:
    return {item.name: getattr(leg, item.name) for item in dataclasses.fields(leg)}


def _from_json(given: dict[str, Any]) -> Leg:
    points = {point: Sole(*sole) for point, sole in given.get("soles", {}).items()}
    leg = Leg(**{**given, "knees": tuple(given["knees"]), "soles": points})
    joints = (*leg.knees, *(sole.joint for sole in points.values()))
    for name in (
        leg.name,
        *joints,
        *(joint for joint in (leg.hip, leg.ankle, leg.ball, leg.toe, leg.pole) if joint is not None),
    ):
        if not isinstance(name, str):
            raise TypeError(f"expected names of a leg and its joints, got {name!r}")
    return leg


def _checked_skin(skeleton: Skeleton, vertices: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    found = {}
    for name, given in vertices.items():
        skeleton.index(name)
        rows = np.asarray(given, float)
        if rows.ndim != 2 or rows.shape[1] != 3 or not np.isfinite(rows).all():
            raise ValueError(f"vertices: {name!r}: expected finite numbers of shape (n, 3), got shape {rows.shape}")
        found[name] = rows
    return found


@functools.lru_cache(maxsize=KNOWN)
def _at_rest(skeleton: Skeleton, up: str) -> tuple[Sided, ...]:
    """The legs of a skeleton that stands at rest, cached for all its clips, see `resting`."""
    return tuple(_find(skeleton, resting(skeleton, up)))


def _find(skeleton: Skeleton, seen: Stance) -> list[Sided]:
    named = _legs_by_name(skeleton)
    return _called_so(skeleton, seen, named) if named else _legs_by_structure(skeleton, seen)


# --- by name ---------------------------------------------------------------------------------------------------------


def _legs_by_name(skeleton: Skeleton) -> Sequence[Named]:
    """The legs of the first family whose legs are complete, else of the first whose feet are all free.

    If all are incomplete, an error says what is wrong with the first.
    """
    broken, loose = None, None
    for legs in by_name(skeleton.names):
        wrong = [sentence for leg in legs if (sentence := _fault(skeleton, leg))]
        if not wrong:
            return legs
        broken = broken or wrong[0]
        loose = loose or (legs if all(_is_free(skeleton, leg) for leg in legs) else None)
    if broken and loose is None:
        raise ValueError(broken)
    return loose or ()


def _is_free(skeleton: Skeleton, leg: Named) -> bool:
    """Whether the foot hangs on no joint of its leg."""
    return not {leg.hip, leg.knee} & {*ancestors(skeleton, leg.ankle)}


def _upright(skeleton: Skeleton) -> str:
    """The axis along which legs with known names hang down."""
    at = skeleton.forward(skeleton.rest).positions
    legs_up = sum((at[leg.hip] - at[leg.ankle] for leg in _legs_by_name(skeleton)), np.zeros(3))
    return "Z" if legs_up[2] > legs_up[1] else "Y"


def _called_so(skeleton: Skeleton, seen: Stance, legs: Sequence[Named]) -> list[Sided]:
    return [(_whole(skeleton, seen, leg), leg.side) for leg in legs] + _others(skeleton, seen, legs)


def _others(skeleton: Skeleton, seen: Stance, legs: Sequence[Named]) -> list[Sided]:
    """Other legs of an animal, far in front of the legs with known names or behind them: arms used as legs."""
    ends = [(chain, _lowest(skeleton, seen, chain.knees[-1])) for chain in standing(skeleton, seen)]
    hips = {leg.hip for leg in legs}
    ends = [(chain, low) for chain, low in ends if not hips & {low, *ancestors(skeleton, low)}]
    if len(ends) < 2:
        return []
    ahead, height, size = dot(seen.at, seen.front), seen.height, max(_size(seen, leg) for leg in legs)
    feet, found = [_lowest(skeleton, seen, leg.ankle) for leg in legs], []
    for chain, low in ends:
        apart = min(abs(ahead[low] - ahead[foot]) for foot in feet)
        level = max(abs(height[low] - height[foot]) for foot in feet)
        if apart > _APART * size and level < _EVEN * size:
            found.append(_with_side(skeleton, seen, chain))
    return found if {side for _, side in found} == {"left", "right"} else []


def _lowest(skeleton: Skeleton, seen: Stance, joint: int) -> int:
    """The lowest of a joint and its descendants."""
    height = seen.height.tolist()
    return min(below(skeleton, joint), key=lambda other: height[other])


def _size(seen: Stance, leg: Named) -> float:
    return length(seen.at, [leg.hip, leg.knee, leg.ankle])


def _fault(skeleton: Skeleton, leg: Named) -> str | None:
    if leg.hip not in ancestors(skeleton, leg.knee):
        return under(skeleton, "shin", leg.knee, "thigh", leg.hip)
    if leg.knee not in ancestors(skeleton, leg.ankle):
        return under(skeleton, "foot", leg.ankle, "shin", leg.knee)
    return None


@dataclass(frozen=True, slots=True)
class _Bare:
    """A leg without name and side."""

    chain: Chain
    ball: int | None
    toe: int | None


Sided = tuple[_Bare, str]  # a leg with its side


def _whole(skeleton: Skeleton, seen: Stance, leg: Named) -> _Bare:
    """Ball and toe by name, otherwise by what hangs on the ankle."""
    chain = Chain(None, (), leg.ankle) if _is_free(skeleton, leg) else Chain(leg.hip, (leg.knee,), leg.ankle)
    ball = leg.ball if leg.ball is not None and leg.ankle in ancestors(skeleton, leg.ball) else None
    above = leg.ankle if ball is None else ball
    toe = leg.toe if leg.toe is not None and above in ancestors(skeleton, leg.toe) else None
    if ball is None and toe is None:
        ball, toe = _toes(skeleton, seen, leg.ankle)
    elif toe is None and ball is not None:
        beyond = farthest(skeleton, seen.at, ball)
        toe = beyond[-1] if beyond else None
    return _Bare(chain, ball, toe)


def _toes(skeleton: Skeleton, seen: Stance, ankle: int) -> tuple[int | None, int | None]:
    """The joint where toes bend is the first of several beyond an ankle, their tip the last."""
    beyond = farthest(skeleton, seen.at, ankle)
    return (beyond[0] if len(beyond) > 1 else None), (beyond[-1] if beyond else None)


# --- by structure ----------------------------------------------------------------------------------------------------


def _legs_by_structure(skeleton: Skeleton, seen: Stance) -> list[Sided]:
    found = [_with_side(skeleton, seen, chain) for chain in chains(skeleton, seen)]
    if not found:
        raise ValueError(
            f"no legs found among {len(skeleton)} joints, by name or by structure: give them, "
            "ik.Feet((ik.Leg('left', 'left', hip=..., knees=(...,), ankle=...), ...))"
        )
    return found


def _with_side(skeleton: Skeleton, seen: Stance, chain: Chain) -> Sided:
    toes = (None, None) if chain.ankle is None else _toes(skeleton, seen, chain.ankle)
    said = side_of(skeleton.names[chain.top])
    return _Bare(chain, *toes), said or ("left" if seen.beside[chain.top] > 0 else "right")


def _legs(skeleton: Skeleton, seen: Stance, found: Iterable[Sided]) -> list[Leg]:
    """The legs with names, from front to back."""
    ahead = dot(seen.at, seen.front)
    found = sorted(found, key=lambda leg: -round(float(ahead[leg[0].chain.top]), 6))
    rows = {side: [leg for leg, other in found if other == side] for side in SIDES}
    placed = [(row, side, leg) for side in SIDES for row, leg in enumerate(rows[side])]
    placed.sort(key=lambda leg: (leg[0], SIDES.index(leg[1])))
    return [_leg(skeleton, seen, leg, side, _leg_name(side, row, len(rows[side]))) for row, side, leg in placed]


def _leg_name(side: str, row: int, rows: int) -> str:
    """The name of a leg: left; or front left and hind left; or left 1, left 2, and so on."""
    if rows == 1:
        return side
    return f"{('front', 'hind')[row]} {side}" if rows == 2 else f"{side} {row + 1}"


def _leg(skeleton: Skeleton, seen: Stance, found: _Bare, side: str, name: str) -> Leg:
    names, chain = skeleton.names, found.chain
    ankle, ball, toe = (None if joint is None else names[joint] for joint in (chain.ankle, found.ball, found.toe))
    hip = None if chain.hip is None else names[chain.hip]
    leg = Leg(name, side, hip, tuple(names[knee] for knee in chain.knees), ankle, ball, toe)
    if chain.handle is None:
        return leg
    tip = soles.fixed(skeleton, seen.pose, leg.foot, seen.at[chain.handle])
    return dataclasses.replace(leg, soles={"ball": tip})
