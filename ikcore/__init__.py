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
    from ikcore import starting as starting  # before what takes time
    from ikcore._core import __version__, isa
except ModuleNotFoundError as error:
    raise ImportError(
        f"the C core of ikcore is not in {__path__[0]}: if that is the source folder, start Python in another folder "
        "or install with `pip install -e .`; if not, install the wheel for this system"
    ) from error
from ikcore import limits, rotations
from ikcore.goals import Goal, Reach
from ikcore.limits import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World, jacobian
from ikcore.solution import Solution
from ikcore.solve import Method, Methods, Option, Solver, dls, fabrik, methods, solve, solver
from ikcore.solvers import Aim, Limb, Look, PlanarLimb, aim, look, two_bone, two_bone_2d
from ikcore.status import Status, UnusableError, UnusableWarning

if TYPE_CHECKING:
    from ikcore import bvh, feet, gltf, report, samples, terrain
    from ikcore.bake import Baked, BakeSettings, FootLock, bake_feet
    from ikcore.clip import Clip, FormatError
    from ikcore.feet import Contacts, Feet, Leg
    from ikcore.ground import Ground, Hits, Surface

# Clips, ground, feet and pages are imported when they are first named: who only solves does not wait for them.
_ON_FIRST_USE = {
    **dict.fromkeys(("bvh", "feet", "gltf", "report", "samples", "terrain")),  # modules themselves
    **dict.fromkeys(("Baked", "BakeSettings", "FootLock", "bake_feet"), "bake"),
    **dict.fromkeys(("Clip", "FormatError"), "clip"),
    **dict.fromkeys(("Contacts", "Feet", "Leg"), "feet"),
    **dict.fromkeys(("Ground", "Hits", "Surface"), "ground"),
}

if not TYPE_CHECKING:  # checkers see the imports above, and say so where a name is wrong

    def __getattr__(name: str) -> Any:
        if name not in _ON_FIRST_USE:
            raise AttributeError(f"module 'ikcore' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        home = _ON_FIRST_USE[name]
        found = import_module(f"ikcore.{home or name}")
        globals()[name] = value = getattr(found, name) if home else found
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_FIRST_USE})


__all__ = [
    "Aim",
    "BakeSettings",
    "Baked",
    "Clip",
    "Contacts",
    "Feet",
    "FootLock",
    "FormatError",
    "Goal",
    "Ground",
    "Hits",
    "Leg",
    "Limb",
    "Limit",
    "Look",
    "Method",
    "Methods",
    "Option",
    "PlanarLimb",
    "Pose",
    "Reach",
    "Skeleton",
    "Solution",
    "Solver",
    "Status",
    "Surface",
    "UnusableError",
    "UnusableWarning",
    "World",
    "__version__",
    "aim",
    "bake_feet",
    "bvh",
    "dls",
    "fabrik",
    "feet",
    "gltf",
    "isa",
    "jacobian",
    "limits",
    "look",
    "methods",
    "report",
    "rotations",
    "samples",
    "solve",
    "solver",
    "terrain",
    "two_bone",
    "two_bone_2d",
]
