"""Inverse kinematics for characters and chains.

>>> import ikcore as ik
>>> limb = ik.two_bone(root=[0, 0.9, 0], mid=[0, 0.5, 0.05], end=[0, 0.1, 0], target=[0.2, 0.3, 0.1])
>>> limb.positions[2].round(6)
array([0.2, 0.3, 0.1])
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from ikcore import _start as _start  # before what takes time
    from ikcore._core import __version__
except ModuleNotFoundError as error:
    raise ImportError(
        f"the C core of ikcore is not in {__path__[0]}: if that is the source folder, start Python in another folder "
        "or install with `pip install -e .`; if not, install the wheel for this system"
    ) from error
from ikcore import closed_forms as closed_forms
from ikcore import limits as limits
from ikcore import rotations as rotations
from ikcore import solvers as solvers
from ikcore.closed_forms import aim, look_at, spline, spread_twist, two_bone
from ikcore.goals import CentreOfMass, Distance, Goal, Inside, Look, Outside, Posture, Reach, Relative
from ikcore.limits.limit import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solvers import ccd, dls, fabrik
from ikcore.solving.registry import meant_by as _meant_by
from ikcore.solving.registry import methods
from ikcore.solving.solution import Solution
from ikcore.solving.solve import Solver, solve
from ikcore.status import Status, UnusableError, UnusableWarning

if TYPE_CHECKING:
    from ikcore import bodies as bodies
    from ikcore import feet as feet
    from ikcore import grounds as grounds
    from ikcore import learned as learned
    from ikcore import masses as masses
    from ikcore import prepare as prepare
    from ikcore.bake import Baked, BakeSettings, bake_feet
    from ikcore.clips import bvh as bvh
    from ikcore.clips import gltf as gltf
    from ikcore.clips import samples as samples
    from ikcore.clips.clip import Clip, FormatError
    from ikcore.clips.smoothing import smooth
    from ikcore.feet import Contacts, Feet, Leg
    from ikcore.feet.foot_placer import FootPlacer
    from ikcore.feet.placed_feet import FootRays, PlacedFeet
    from ikcore.grounds import terrain as terrain
    from ikcore.grounds.ground import Ground
    from ikcore.reports import report as report

# Imported at first use, so that a program that only solves does not wait for clips, grounds, feet and pages.
_MODULES = {
    "bodies": "bodies",
    "bvh": "clips.bvh",
    "feet": "feet",
    "gltf": "clips.gltf",
    "grounds": "grounds",
    "learned": "learned",
    "masses": "masses",
    "prepare": "prepare",
    "report": "reports.report",
    "samples": "clips.samples",
    "terrain": "grounds.terrain",
}
_HOMES = {
    **dict.fromkeys(("Baked", "BakeSettings", "bake_feet"), "bake"),
    **dict.fromkeys(("FootPlacer", "FootRays", "PlacedFeet"), "feet.foot_placer"),
    **dict.fromkeys(("Clip", "FormatError"), "clips.clip"),
    "smooth": "clips.smoothing",
    **dict.fromkeys(("Contacts", "Feet", "Leg"), "feet"),
    "Ground": "grounds.ground",
}

if not TYPE_CHECKING:  # type checkers see the imports above, and report unknown names

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = import_module(f"ikcore.{_MODULES[name]}")
        elif name in _HOMES:
            value = getattr(import_module(f"ikcore.{_HOMES[name]}"), name)
        else:
            homes = [module.__name__ for module in (solvers, closed_forms) if name in module.__all__]
            hint = f"; it is {homes[0]}.{name}" if homes else _meant_by(name)
            said = f"module 'ikcore' has no attribute {name!r}{hint}"
            raise AttributeError(said, name=name, obj=sys.modules[__name__])
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The names of `__all__` and the public modules, without `feet`: no two names differ by case only."""
    modules = {"closed_forms", "limits", "rotations", "solvers", *_MODULES} - {"feet"}
    return sorted({*__all__, *modules})


__all__ = [
    "BakeSettings",
    "Baked",
    "CentreOfMass",
    "Clip",
    "Contacts",
    "Distance",
    "Feet",
    "FootPlacer",
    "FootRays",
    "FormatError",
    "Goal",
    "Ground",
    "Inside",
    "Leg",
    "Limit",
    "Look",
    "Outside",
    "PlacedFeet",
    "Pose",
    "Posture",
    "Reach",
    "Relative",
    "Skeleton",
    "Solution",
    "Solver",
    "Status",
    "UnusableError",
    "UnusableWarning",
    "__version__",
    "aim",
    "bake_feet",
    "ccd",
    "dls",
    "fabrik",
    "look_at",
    "methods",
    "smooth",
    "solve",
    "spline",
    "spread_twist",
    "two_bone",
]
