"""``method="auto"``: what is chosen, that nothing but structure decides, and that the answer is that of the method."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore.solving.auto import TABLE, method_for

CHAIN = ik.Skeleton.chain([[0, 0.9, 0], [0, 0.5, 0.05], [0, 0.1, 0], [0, 0, 0.2]])
LEG = ik.Skeleton(CHAIN.parents, CHAIN.offsets, masses=[1, 1, 1, 1])
AT, POLE, UPRIGHT = [0.1, 0.3, 0.2], [0, 0.5, 9], [1.0, 0, 0, 0]
LIMITED = ik.Skeleton(LEG.parents, LEG.offsets, limits={1: ik.Limit.hinge([1, 0, 0], 0, 2)})
CAPPED = ik.Skeleton(LEG.parents, LEG.offsets, caps=[0.1, 0, 0, 0])


def limb(**changed: Any) -> ik.Reach:
    given: dict[str, Any] = {"position": AT, "chain": 2, "pole": POLE} | changed
    return ik.Reach(2, **given)


@pytest.mark.parametrize(
    ("skeleton", "goals", "options", "method"),
    [
        (LEG, [limb()], {}, "two_bone"),
        (LEG, [limb(rotation=UPRIGHT)], {"twist": 0.1}, "two_bone"),
        (LEG, [limb(chain="0")], {"workers": 2}, "two_bone"),
        (LEG, [limb()], {"history": True}, "fabrik"),
        (LEG, [limb()], {"sequence": True}, "dls"),
        (LEG, [limb(pole=None)], {}, "fabrik"),
        (LEG, [limb(offset=[0, 0.1, 0])], {}, "fabrik"),
        (LEG, [ik.Reach(3, AT, pole=POLE)], {}, "fabrik"),
        (LIMITED, [limb(pole=None)], {}, "fabrik"),
        (LEG, [ik.Reach(3, AT)], {"moving": [0, 1]}, "fabrik"),
        (LEG, [ik.Reach(3, AT)], {"damping": 0.1}, "dls"),
        (LEG, [ik.Reach(3, AT)], {"bounce": True}, "ccd"),
        (LEG, [ik.Reach(3, AT, UPRIGHT)], {}, "dls"),
        (LEG, [ik.Reach(3, rotation=UPRIGHT)], {}, "dls"),
        (LEG, [ik.Reach(3, AT), ik.Posture(1, UPRIGHT)], {}, "dls"),
        (LEG, [ik.CentreOfMass(AT)], {}, "dls"),
        (LEG, [ik.Look(2, [0, 0, 1], AT, chain=0)], {}, "aim"),
        (LEG, [ik.Look(2, [0, 0, 1], AT)], {}, "dls"),
        (CAPPED, [ik.Reach(3, AT, UPRIGHT)], {}, "ccd"),
    ],
)
def test_the_first_row_that_fits_counts(
    skeleton: ik.Skeleton, goals: list[ik.Goal], options: dict[str, Any], method: str
) -> None:
    pose = skeleton.rest if "sequence" not in options else ik.Pose(skeleton.rest.rotations[np.newaxis])
    found, named = (ik.solve(skeleton, pose, goals, name, **options) for name in ("auto", method))
    assert found.method == method
    assert found.pose.rotations.tobytes() == named.pose.rotations.tobytes()
    assert found.status == named.status
    assert ik.solve(skeleton, pose, goals, **options).method == method  # the choice that was kept


def test_values_decide_nothing() -> None:
    for value in (AT, [9.0, 9, 9], [np.nan] * 3, np.zeros((5, 3)), ...):
        assert method_for(LEG, [limb(position=value)], {}) == "two_bone"


def test_every_row_is_a_method_and_the_last_takes_all_kinds_of_goals() -> None:
    assert {row.method for row in TABLE} <= set(ik.methods())
    takers = [row.method for row in TABLE if row.goals == (ik.Goal,)]
    assert takers[0] == "dls"


def test_what_is_wrong_is_explained_as_by_dls() -> None:
    with pytest.raises(TypeError, match="goals: expected a list of goals, got Reach"):
        ik.solve(LEG, LEG.rest, limb())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="goals: expected one or more, got none"):
        ik.solve(LEG, LEG.rest, [])
    with pytest.raises(TypeError, match="dls: no option 'stiffness' here"):
        ik.solve(LEG, LEG.rest, [limb()], stiffness=1)
    with pytest.raises(TypeError, match="skeleton: expected a Skeleton, got NoneType"):
        ik.Solver(None, [limb()])  # type: ignore[arg-type]


def test_a_solver_keeps_what_was_chosen() -> None:
    solver = ik.Solver(LEG, [ik.Reach(2, ..., chain=2, pole=POLE)])
    again = pickle.loads(pickle.dumps(solver))
    assert solver.method == again.method == "two_bone"
    assert again(LEG.rest.rotations, AT)[0].tobytes() == solver(LEG.rest.rotations, AT)[0].tobytes()


def test_stages_choose_each_for_itself() -> None:
    spine, leg = ik.solvers.Stage("auto", [ik.Reach(3, AT, UPRIGHT)]), ik.solvers.Stage("auto", [limb()])
    found = ik.solvers.stages(LEG, LEG.rest, [spine, leg])
    assert found.method == "dls, two_bone"
