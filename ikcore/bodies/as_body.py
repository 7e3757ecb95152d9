"""A skeleton made ready for `full_body`."""

from __future__ import annotations

from ikcore.bodies.anthropometry import Sex
from ikcore.bodies.hinges import hinges_from
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
