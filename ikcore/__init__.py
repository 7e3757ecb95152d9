"""Inverse kinematics for characters and chains.

>>> import ikcore as ik
>>> limb = ik.two_bone(root=[0, 0.9, 0], mid=[0, 0.5, 0.05], end=[0, 0.1, 0], target=[0.2, 0.3, 0.1])
>>> limb.positions[2].round(6)
array([0.2, 0.3, 0.1])
"""

try:
    from ikcore import starting as starting  # before what takes time
    from ikcore._core import __version__, isa
except ModuleNotFoundError as error:
    raise ImportError(
        f"the C core of ikcore is not in {__path__[0]}: if that is the source folder, start Python in another folder "
        "or install with `pip install -e .`; if not, install the wheel for this system"
    ) from error
from ikcore import bvh, feet, gltf, limits, report, rotations, samples, terrain
from ikcore.bake import Baked, BakeSettings, FootLock, bake_feet
from ikcore.clip import Clip, FormatError
from ikcore.feet import Contacts, Feet, Leg
from ikcore.goals import Goal, Reach
from ikcore.ground import Ground, Hits, Surface
from ikcore.limits import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World, jacobian
from ikcore.solution import Solution
from ikcore.solve import Method, Methods, Option, Solver, dls, fabrik, methods, solve, solver
from ikcore.solvers import Aim, Limb, Look, PlanarLimb, aim, look, two_bone, two_bone_2d
from ikcore.status import Status, UnusableError, UnusableWarning

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
