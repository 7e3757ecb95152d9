"""A skeleton made ready for `full_body`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ikcore import rotations
from ikcore.bodies.anthropometry import Sex
from ikcore.bodies.hinges import hinges_from
from ikcore.bodies.roles import roles_of
from ikcore.bodies.segments import with_masses
from ikcore.clips.clip import Clip
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

_ANYWHERE = [[-float("inf")] * 3, [float("inf")] * 3]


def as_body(
    skeleton: Skeleton, clip: Clip | None = None, *, mass: float | None = None, sex: Sex = "average"
) -> Skeleton:
    """The same skeleton with knees and elbows that bend one way, and roots that move freely.

    Its own limits are kept. Stiffness, preferred angles and, without `mass`, masses are those of the skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton of a human or an animal, its knees and elbows named as `hinges_from` expects.
    clip : Clip, optional
        A motion of it. Limbs that are straight at rest need one.
    mass : float, optional
        The mass of a person, distributed over the segments by `with_masses`.
    sex : {"male", "female", "average"}
        Their table.

    Examples
    --------
    >>> import ikcore as ik
    >>> leg = ik.Skeleton([-1, 0, 1], [[0, 1, 0], [0, -0.5, 0.1], [0, -0.5, -0.2]], names=["hip", "knee", "ankle"])
    >>> [limit and limit.kind for limit in ik.bodies.as_body(leg).limits]
    ['free', 'hinge', None]
    """
    hinges = hinges_from(skeleton, clip)
    limits = [limit or hinges.get(name) for name, limit in zip(skeleton.names, skeleton.limits, strict=True)]
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0 and limits[joint] is None:
            limits[joint] = Limit.free(position=_ANYWHERE)
    body = skeleton._with_limits(limits)
    return body if mass is None else with_masses(body, mass, sex=sex)


def with_squat(skeleton: Skeleton, *, stiffness: float = 0.93) -> Skeleton:
    """The skeleton of a person, the same joints, whose knees bend in `full_body` before its trunk leans.

    Its pelvis resists rotation, and its knees prefer to be bent as far as their ranges allow. Methods that take no
    stiffness, such as `fabrik`, refuse it.

    Parameters
    ----------
    skeleton : Skeleton
        Two arms and two legs, found by the names of their joints. The limits of its knees are hinges.
    stiffness : float, default: 0.93
        The stiffness of the pelvis about every axis, if its limit has less.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.with_squat(ik.bodies.human())
    >>> person.limits[person.index("pelvis")].stiffness
    (0.93, 0.93, 0.93)
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if not 0 <= stiffness <= 1:
        raise ValueError(f"stiffness: expected a number from 0 to 1, got {stiffness!r}")
    roles, limits, preferred = roles_of(skeleton), list(skeleton.limits), skeleton.preferred.rotations.copy()
    for leg in roles.legs.values():
        limit = limits[leg.knee]
        if limit is None or limit.kind != "hinge":
            raise ValueError(
                f"skeleton: expected a hinge at {skeleton.names[leg.knee]!r}; as_body and with_ranges give it one"
            )
        axis, angle = rotations.rotate(limit.frame, [1.0, 0.0, 0.0]), max(limit.twist, key=abs)
        bent = rotations.from_axis_angle(axis, angle)
        preferred[leg.knee] = rotations.multiply(skeleton.rest.rotations[leg.knee], bent)
    pelvis = limits[roles.spine[0]] or Limit.free()
    stiff = np.maximum(pelvis.stiffness, stiffness)
    limits[roles.spine[0]] = replace(pelvis, stiffness=tuple(stiff.tolist()))
    return skeleton._with_limits(limits, preferred)
