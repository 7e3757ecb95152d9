"""Particle IK of a human as stages: masses that all targets pull at, limbs, and the likeliest pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ikcore import _core
from ikcore.bodies.nodes.node import Targets
from ikcore.bodies.nodes.roles import HumanRoles
from ikcore.bodies.nodes.trunk import TrunkNode
from ikcore.goals import Goal, Reach
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.stages import PoseStage, Stage

if TYPE_CHECKING:
    from ikcore.learned.density import PoseDensity


class LikelyStage(PoseStage):
    """A stage that looks for the likeliest pose that still meets its goals: `PoseDensity.solve`.

    Parameters
    ----------
    density : PoseDensity
        The likelihood of poses.
    goals : list of Goal
        The goals, without `Posture`.
    rounds : int, optional
        Largest number of steps towards likelier poses.
    """

    def __init__(self, density: PoseDensity, goals: Sequence[Goal], rounds: int = 20) -> None:
        self.density, self.goals, self.rounds = density, tuple(goals), rounds

    def goals_on(self, skeleton: Skeleton) -> Sequence[Goal]:
        """The goals."""
        return self.goals

    def run(self, skeleton: Skeleton, pose: Pose, workers: int | None, *, strict: bool) -> tuple[Pose, Any]:
        """The likelier poses, and the flags of items that cannot be used."""
        found = self.density.solve(pose, self.goals, rounds=self.rounds, workers=workers)
        return found.pose, np.where(np.asarray(found.status) >= _core.UNUSABLE, found.status, 0)

    def __repr__(self) -> str:
        return f"LikelyStage({self.density!r}, {list(self.goals)!r}, {self.rounds})"


def particle_ik(
    skeleton: Skeleton,
    targets: Targets,
    *,
    density: PoseDensity | None = None,
    roles: HumanRoles | None = None,
    sweeps: int = 20,
    iterations: int = 64,
    rounds: int = 20,
) -> list[PoseStage | Stage]:
    """Particle IK of a human: stages for `solvers.stages`.

    They are soft goals on the whole body, then limbs, then all targets exactly.

    C. Hecker and others, "Real-time motion retargeting to highly varied user-created morphologies", ACM Transactions on
    Graphics 27 (2008). First all targets pull softly at the masses of the whole body, by the sweeps of `full_body`
    without its finish; this places pelvis and spine. Then every limb reaches for its target by FABRIK. The last stage
    meets all targets at once: by `dls`, or with a density by the likeliest pose that does.

    Parameters
    ----------
    skeleton : Skeleton
        A humanoid. Masses and a root that may move (`as_body`) matter in the first stage.

    targets : mapping of str to array_like
        Positions of "left_hand", "right_hand", "left_foot", "right_foot" and "head". Parts without one stay free.

    density : PoseDensity, optional
        The likelihood of poses of this skeleton, a soft constraint of the last stage.

    roles : HumanRoles, optional
        The joints of pelvis, chest, hands, feet and head. Default: by their names.
    sweeps, iterations, rounds : int, optional
        Sweeps of the first stage, iterations of a limb, rounds of the density.

    Examples
    --------
    >>> import ikcore as ik
    >>> clip = ik.samples.walk(seconds=1).clip
    >>> body = clip.skeleton
    >>> wanted = {"left_hand": [0.4, 1.2, 0.5], "left_foot": [0.1, 0.1, 0.1], "right_foot": [-0.1, 0.1, 0]}
    >>> likely = ik.learned.PoseDensity(body, clip.pose)
    >>> stages = ik.bodies.nodes.particle_ik(body, wanted, density=likely)
    >>> print(ik.solvers.stages(body, body.rest, stages).status)
    0
    """
    node = TrunkNode(roles=roles)
    given = node.read(np.dtype(float), targets)
    limbs = node.limbs(skeleton, given)
    soft = [Reach(limb.joints[-1], given[name]) for name, limb in limbs.items()]
    found: list[PoseStage | Stage] = [Stage("full_body", soft, sweeps=sweeps, iterations=0)]
    for name, limb in limbs.items():
        goal = Reach(limb.joints[-1], given[name], chain=len(limb.joints) - 1)
        found.append(Stage("fabrik", [goal], iterations=iterations))
    found.append(Stage("dls", soft) if density is None else LikelyStage(density, soft, rounds))
    return found
