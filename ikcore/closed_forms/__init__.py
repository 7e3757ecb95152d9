"""Closed forms on arrays: limbs, aims, curves and twist. No skeleton is needed.

Leading axes broadcast: an argument of shape (..., 3) is one item or any batch of them. Results are float32 if the
positions and rotations of the joints are, else float64; all other arguments are converted to that. Rotations are
(w, x, y, z), and angles are radians.

``workers=`` is the number of threads (default 1), None for all cores; the result is the same to the bit.
``strict=True`` raises `UnusableError` if an item cannot be used (because of NaN, for instance), instead of one
`UnusableWarning`.

Delta rotations are in world space, with w >= 0, relative to the input pose. A joint's local rotation becomes
``W^-1 delta W local``, where W is its parent's world rotation in that pose. Joint k of a chain has then turned by
``deltas[0] * deltas[1] * ... * deltas[k]``.
"""

from ikcore.closed_forms.aims import AimSolution, LookAtSolution, aim, look_at
from ikcore.closed_forms.limbs import LimbSolution, PlanarLimbSolution, two_bone, two_bone_2d
from ikcore.closed_forms.splines import SplineSolution, curve_through, spline
from ikcore.closed_forms.twists import TwistSolution, spread_twist

__all__ = [
    "AimSolution",
    "LimbSolution",
    "LookAtSolution",
    "PlanarLimbSolution",
    "SplineSolution",
    "TwistSolution",
    "aim",
    "curve_through",
    "look_at",
    "spline",
    "spread_twist",
    "two_bone",
    "two_bone_2d",
]


def __dir__() -> list[str]:
    return __all__
