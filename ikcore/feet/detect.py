"""The feet of a skeleton: found by joint names, then by structure."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _files
from ikcore.clips.clip import Clip, FormatError
from ikcore.feet import soles
from ikcore.feet.find_legs import find_legs, legs_at_rest, legs_of, upright_axis
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.leg_structure import rest_stance, stance
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

_FORMAT = "ikcore-feet/1"


@dataclass(frozen=True, slots=True)
class Feet:
    """The legs of a skeleton, any number of them. Immutable: methods that change it return a new object.

    Parameters
    ----------
    legs : tuple of Leg
        The legs. Their names differ.

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
        height of the lowest joint decides where the floor is. Up to 0.08 m, for a leg of 0.87 m, the floor is at height
        0. From 0.16 m on it is as far below that joint as at rest. The transition is gradual. Heel and sides have usual
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
        up = up or (clip.up if clip else upright_axis(skeleton))
        seen = stance(skeleton, up, clip)
        found = legs_at_rest(skeleton, up) if seen is rest_stance(skeleton, up) else find_legs(skeleton, seen)
        legs = legs_of(skeleton, seen, found)
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
            raise FormatError(f"{os.fspath(path)}: {_files.shorten(error)} is missing") from error
        except (AttributeError, RecursionError, TypeError, ValueError) as error:
            raise FormatError(f"{os.fspath(path)}: {_files.shorten(error, 200)}") from error

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
