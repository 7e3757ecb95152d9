"""Joints of a skeleton by name or index, and the joints between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ikcore._arrays import as_text, whole_number
from ikcore.pose import Pose

if TYPE_CHECKING:
    from ikcore.skeleton import Skeleton


def start_of(skeleton: Skeleton, chain: str | int | None, joint: int, where: str = "chain") -> int:
    """The first joint of a chain that ends at `joint`, given as in `Reach`; `where` names it in errors."""
    check_chain(chain, where)
    above, end = ancestors(skeleton, joint), skeleton.names[joint]
    if chain is None:
        return above[-1]
    if isinstance(chain, str):
        start = index_of(skeleton, chain, where)
        if start not in above:
            raise ValueError(f"{where}: expected {end!r} or a joint above it, got {chain!r}")
        return start
    if not 0 <= chain < len(above):
        above_it = f"{len(above) - 1} joint{'s' * (len(above) != 2)} above it"
        raise ValueError(f"{where}: expected 0 to {len(above) - 1}, as {end!r} has {above_it}, got {as_text(chain)}")
    return above[chain]


def index_of(skeleton: Skeleton, joint: str | int, where: str) -> int:
    """`Skeleton.index`, with `where` in its errors."""
    try:
        return skeleton.index(joint)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None


def path(skeleton: Skeleton, start: int, joint: int) -> list[int]:
    """The joints from one down to another."""
    above = ancestors(skeleton, joint)
    return list(above[above.index(start) :: -1])


def chain_indices(skeleton: Skeleton, joints: Sequence[str | int]) -> list[int]:
    """The indices of joints, each of which is the child of the previous one."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise TypeError(f"joints: expected a list of joints, got {joints!r}")
    chain = [index_of(skeleton, joint, f"joints[{at}]") for at, joint in enumerate(joints)]
    for at in range(1, len(chain)):
        if skeleton.parents[chain[at]] != chain[at - 1]:
            above, name = (skeleton.names[chain[k]] for k in (at - 1, at))
            raise ValueError(f"joints[{at}]: expected a child of {above!r}, got {name!r}")
    return chain


def check_unscaled(skeleton: Skeleton, pose: Pose) -> None:
    """Refuse values that are no pose of the skeleton, and poses with scales."""
    if not isinstance(pose, Pose):
        raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}; ik.Pose(rotations) makes one")
    skeleton._check_joints("pose", pose.joints)
    if pose.scales is not None:
        raise ValueError("pose: expected one without scales")


def ancestors(skeleton: Skeleton, joint: int) -> tuple[int, ...]:
    """The joint, its parent and so on up to the root."""
    if joint not in skeleton._ancestors:
        joints, parents = [joint], skeleton.parents
        while (parent := int(parents[joints[-1]])) >= 0:
            joints.append(parent)
        skeleton._ancestors[joint] = tuple(joints)
    return skeleton._ancestors[joint]


def check_chain(chain: Any, name: str = "chain") -> None:
    """Refuse values that cannot be the start of a chain."""
    if chain is not None and not is_name_or_number(chain):
        raise TypeError(f"{name}: expected a joint's name, or how many joints above may turn, got {as_text(chain)}")


def is_name_or_number(value: Any) -> bool:
    """True if it could be the name of a joint, or its index."""
    if type(value) is int or isinstance(value, str):  # the usual case
        return True
    try:
        return whole_number(value) is not None
    except TypeError:
        return False
