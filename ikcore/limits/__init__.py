"""Joint limits: the allowed rotations of a joint relative to rest.

A `Limit` projects rotations to the nearest allowed one, measures their violation, samples what is allowed, and draws
it. Angles are radians. A rotation relative to rest is ``rest^-1 * local``; a skeleton applies that itself.

>>> import ikcore as ik
>>> knee = ik.Limit.hinge([1, 0, 0], 0, 2.4)
>>> bent_back = ik.rotations.from_axis_angle([1, 0, 0], -0.5)
>>> float(knee.violation(bent_back).round(6))
0.5
>>> knee.project(bent_back).round(6)
array([1., 0., 0., 0.])
"""

from ikcore.limits.human import human_arm, human_leg
from ikcore.limits.limit import Limit

__all__ = ["Limit", "human_arm", "human_leg"]


def __dir__() -> list[str]:
    return __all__
