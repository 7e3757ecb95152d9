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
from ikcore.forms import Aim, Gaze, Limb, PlanarLimb, aim, look, two_bone, two_bone_2d
from ikcore.goals import CentreOfMass, Distance, Goal, Inside, Look, Outside, Posture, Reach, Relative
from ikcore.learning.broyden import broyden
from ikcore.learning.density import PoseDensity
from ikcore.learning.particles import particles
from ikcore.learning.posture_map import posture_map
from ikcore.learning.postures import Postures, learned
from ikcore.learning.rbf import RbfPoses
from ikcore.limits import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World, jacobian
from ikcore.solving.bodies import full_body
from ikcore.solving.by_name import Solver, solve, solver
from ikcore.solving.composed import composed
from ikcore.solving.heuristic import ccd, circle, fabrik, follow, spring
from ikcore.solving.jacobian import dls, gauss_seidel, lbfgsb, newton, pinv, sdls, sns, svf, transpose
from ikcore.solving.solution import Solution
from ikcore.solving.stages import Stage, stages
from ikcore.solving.table import Method, Methods, Option, meant_by, methods
from ikcore.status import Status, UnusableError, UnusableWarning

if TYPE_CHECKING:
    from ikcore import feet, prepare
    from ikcore.bake import Baked, BakeSettings, bake_feet
    from ikcore.bodies.hinges import hinges_from
    from ikcore.bodies.ready import as_body
    from ikcore.clips import bvh, gltf, samples
    from ikcore.clips.clip import Clip, FormatError
    from ikcore.clips.smoothing import Smoothed, smooth
    from ikcore.feet import Contacts, Feet, Leg
    from ikcore.feet.foot_lock import FootLock
    from ikcore.grounds import terrain
    from ikcore.grounds.ground import Ground, Hits, Surface
    from ikcore.learning.matching import MotionMatching
    from ikcore.masses import as_strong, momentum
    from ikcore.pages import report
    from ikcore.splines import Spline, curve_through, spline
    from ikcore.twists import Twists, spread_twist

# Clips, ground, feet, pages and curves are imported when they are first named: who only solves does not wait for them.
_MODULES = {
    "bvh": "clips.bvh",
    "feet": "feet",
    "gltf": "clips.gltf",
    "prepare": "prepare",
    "report": "pages.report",
    "samples": "clips.samples",
    "terrain": "grounds.terrain",
}
_HOMES = {
    **dict.fromkeys(("as_strong", "momentum"), "masses"),
    "as_body": "bodies.ready",
    **dict.fromkeys(("Baked", "BakeSettings", "bake_feet"), "bake"),
    "FootLock": "feet.foot_lock",
    **dict.fromkeys(("Clip", "FormatError"), "clips.clip"),
    **dict.fromkeys(("Smoothed", "smooth"), "clips.smoothing"),
    **dict.fromkeys(("Contacts", "Feet", "Leg"), "feet"),
    "hinges_from": "bodies.hinges",
    "MotionMatching": "learning.matching",
    **dict.fromkeys(("Ground", "Hits", "Surface"), "grounds.ground"),
    **dict.fromkeys(("Spline", "curve_through", "spline"), "splines"),
    **dict.fromkeys(("Twists", "spread_twist"), "twists"),
}

if not TYPE_CHECKING:  # checkers see the imports above, and say so where a name is wrong

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = import_module(f"ikcore.{_MODULES[name]}")
        elif name in _HOMES:
            value = getattr(import_module(f"ikcore.{_HOMES[name]}"), name)
        else:
            said = f"module 'ikcore' has no attribute {name!r}{meant_by(name)}"
            raise AttributeError(said, name=name, obj=sys.modules[__name__])
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_HOMES})


__all__ = [
    "Aim",
    "BakeSettings",
    "Baked",
    "CentreOfMass",
    "Clip",
    "Contacts",
    "Distance",
    "Feet",
    "FootLock",
    "FormatError",
    "Gaze",
    "Goal",
    "Ground",
    "Hits",
    "Inside",
    "Leg",
    "Limb",
    "Limit",
    "Look",
    "Method",
    "Methods",
    "MotionMatching",
    "Option",
    "Outside",
    "PlanarLimb",
    "Pose",
    "PoseDensity",
    "Posture",
    "Postures",
    "RbfPoses",
    "Reach",
    "Relative",
    "Skeleton",
    "Smoothed",
    "Solution",
    "Solver",
    "Spline",
    "Stage",
    "Status",
    "Surface",
    "Twists",
    "UnusableError",
    "UnusableWarning",
    "World",
    "__version__",
    "aim",
    "as_body",
    "as_strong",
    "bake_feet",
    "broyden",
    "bvh",
    "ccd",
    "circle",
    "composed",
    "curve_through",
    "dls",
    "fabrik",
    "feet",
    "follow",
    "full_body",
    "gauss_seidel",
    "gltf",
    "hinges_from",
    "isa",
    "jacobian",
    "lbfgsb",
    "learned",
    "limits",
    "look",
    "methods",
    "momentum",
    "newton",
    "particles",
    "pinv",
    "posture_map",
    "prepare",
    "report",
    "rotations",
    "samples",
    "sdls",
    "smooth",
    "sns",
    "solve",
    "solver",
    "spline",
    "spread_twist",
    "spring",
    "stages",
    "svf",
    "terrain",
    "transpose",
    "two_bone",
    "two_bone_2d",
]
