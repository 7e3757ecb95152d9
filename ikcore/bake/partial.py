"""The bake of some legs or frames; everything else stays as in the clip or in an earlier bake."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ikcore import _core, rotations
from ikcore._arrays import dot, size
from ikcore.bake.legs import STRAIGHTEST, bend, hinges_of
from ikcore.bake.motion import LegMotion, legs_of, place_of
from ikcore.bake.paths import FootPath
from ikcore.bake.pelvis import Body
from ikcore.bake.scene import Array, Scene, smooth_step, unit
from ikcore.bake.write import Move, Turn, move_free_feet, moves_of, rotate_joints, turn_of, turns_of
from ikcore.clips.clip import Clip
from ikcore.feet.detect import Feet
from ikcore.pose import Pose

if TYPE_CHECKING:
    from ikcore.bake.plan import LegPlan


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The part of a clip that a bake changes."""

    earlier: Clip  # the clip that provides everything else
    legs: set[str]  # names of the legs that change
    share: Array  # (frames,): blend weight of the bake
    still: bool  # True if some legs do not change, so that the body stays in place
    whole: bool  # True if the whole clip is baked


def part_of(
    clip: Clip,
    feet: Feet,
    earlier: Clip | None,
    legs: Collection[str] | None,
    frames: tuple[int, int] | None,
    scene: Scene,
) -> Part:
    """The part with legs by name and frames (first, one after last); None for all."""
    known = {leg.name for leg in feet}
    chosen = known if legs is None else {legs} if isinstance(legs, str) else set(legs)
    if not chosen:
        raise ValueError(f"legs: expected some of {', '.join(leg.name for leg in feet)}, got none")
    if strange := chosen - known:
        raise ValueError(f"legs: no leg is called {min(strange)!r}; there are {', '.join(leg.name for leg in feet)}")
    share, still = _share(clip, frames, scene), len(chosen) < len(feet)
    return Part(earlier or clip, chosen, share, still, not still and bool(share.min() == 1))


def _share(clip: Clip, frames: tuple[int, int] | None, scene: Scene) -> Array:
    """Blend weights of a bake in every frame. A range of frames of a loop fades in and out at the loop's ends, too."""
    count = len(clip)
    share = np.ones(count)
    if frames is not None and frames != (0, count):
        at, window = np.arange(count), max(scene.settings.blend * scene.fps, 1.0)
        first, stop = frames
        since, until = at - first + (first > 0), stop - at - (stop == count)
        if not clip.loop:
            since = since if first > 0 else np.full(count, window)
            until = until if stop < count else np.full(count, window)
        share = smooth_step(np.clip(np.minimum(since, until) / window, 0, 1))
    return share


def body_of(earlier: Clip, clip: Clip, pelvis: int) -> Body:
    """Displacement of the body in an earlier bake, relative to the clip."""
    at = place_of(clip, pelvis)
    if earlier is clip:
        return Body(at, None, np.zeros_like(at))
    was, now = (turn_of(each, pelvis) for each in (clip, earlier))
    return Body(at, rotations.multiply(now, rotations.conjugate(was)), place_of(earlier, pelvis) - at)


def hold_back(paths: list[FootPath], body: Body) -> tuple[list[FootPath], dict[str, Array]]:
    """Foot paths held back to where legs can fold under a body that stays, and the distance, (frames,).

    Towards ground above its hip a leg would turn over: the foot stays below, on the straight line to its target.
    """
    nearer = [path if path.motion.leg.free else _held_back(path, body) for path in paths]
    less = {
        path.motion.leg.name: np.asarray(size(path.shift - held.shift))
        for path, held in zip(paths, nearer, strict=True)
        if not path.motion.leg.free
    }
    return nearer, less


def _held_back(path: FootPath, body: Body) -> FootPath:
    motion, wanted, goes = path.motion, path.shift, path.ankle
    hip, ankle = (body.new_positions(motion.chain[:, joint]) for joint in (0, -1))
    far, down = size(ankle - hip), unit(ankle - hip)
    first, last = dot(goes - wanted - hip, down), dot(goes - hip, down)
    least = np.minimum(np.minimum(far, _core.FOLDED * motion.size), first)  # a foot that is nearer already may stay so
    share = np.where(last < least, (first - least) / np.maximum(first - last, 1e-12), 1.0)
    return dataclasses.replace(path, shift=wanted * share[:, np.newaxis], plain=path.plain * share)


def blend_part(part: Part, baked: Clip, legs: list[LegPlan], held: dict[str, Array]) -> tuple[Clip, dict[str, Array]]:
    """The earlier clip blended into a part of a bake, and the shortfall of the legs that change.

    While the weight is between 0 and 1, feet blend between both paths. If only some legs change, they are solved again
    from the hips of the earlier clip. The result equals the earlier clip to the bit at weight 0, and the bake at
    weight 1 if all legs change. `held` are the distances of `held_back`.
    """
    earlier, chosen, share = part.earlier, part.legs, part.share
    wanted = [leg for leg in legs if leg.path.motion.leg.name in chosen]
    feet = Feet(tuple(leg.path.motion.leg for leg in wanted))
    clip = _mix_clips(earlier, baked, _joints(wanted) if part.still else slice(None), share)
    solved = (share > 0) & ((share < 1) | part.still)
    turned, moved, short = clip.pose.rotations.copy(), [], {}
    for leg, was, now in zip(wanted, legs_of(earlier, feet), legs_of(clip, feet), strict=True):
        turns, moves, missed = _leg(leg, was, now, share)
        rotate_joints(turned, turns, where=solved)
        moved += [(joint, at, np.where(solved[:, np.newaxis], to, at)) for joint, at, to in moves]
        short[was.leg.name] = np.where(share > 0, missed + share * held.get(was.leg.name, 0.0), 0.0)
    return move_free_feet(dataclasses.replace(clip, pose=clip.pose.with_rotations(turned)), moved), short


def _joints(legs: list[LegPlan]) -> list[int]:
    motions = [leg.path.motion for leg in legs]
    return [joint for motion in motions for joint in (*motion.joints, motion.toe) if joint is not None]


def _mix_clips(earlier: Clip, baked: Clip, joints: slice | list[int], share: Array) -> Clip:
    """Two clips blended in some joints, each in its own space."""
    turned = earlier.pose.rotations.copy()
    turned[:, joints] = _blend_exactly(turned[:, joints], baked.pose.rotations[:, joints], share, rotations.slerp)
    moved, scaled = earlier.pose.translations, earlier.pose.scales
    shape = (len(earlier), len(earlier.skeleton), 3)
    if moved is not None or baked.pose.translations is not None:
        moved, there = (_full(each.pose.translations, each.skeleton.offsets, shape) for each in (earlier, baked))
        moved[:, joints] = _blend_exactly(moved[:, joints], there[:, joints], share, _line)
    if scaled is not None or baked.pose.scales is not None:
        scaled, there = (_full(each.pose.scales, np.ones(3), shape) for each in (earlier, baked))
        scaled[:, joints] = _blend_exactly(scaled[:, joints], there[:, joints], share, _line)
    return dataclasses.replace(earlier, pose=Pose(turned, moved, scaled))


def _full(values: Array | None, default: Array, shape: tuple[int, ...]) -> Array:
    return np.array(np.broadcast_to(default if values is None else values, shape))


def _blend_exactly(a: Array, b: Array, share: Array, between: Callable[[Array, Array, Array], Array]) -> Array:
    """A blend that is exactly `a` at share 0 and exactly `b` at share 1."""
    found = between(a, b, share.reshape(-1, *[1] * (a.ndim - 2)))
    for end, values in ((0, a), (1, b)):
        found[share == end] = values[share == end]
    return found


def _line(a: Array, b: Array, share: Array) -> Array:
    return np.asarray(a + share[..., np.newaxis] * (b - a))


def _leg(leg: LegPlan, was: LegMotion, now: LegMotion, share: Array) -> tuple[Turn, list[Move], Array]:
    """Rotations that blend a leg from the earlier foot path to the baked one, or displacements; and the shortfall."""
    path = leg.path
    far = size(was.ankle - was.chain[:, 0])
    reach = np.maximum(leg.reach, far + share * (leg.reach - far))
    ankle = _blend_exactly(was.ankle, path.ankle, share, _line)
    most = np.maximum(reach, STRAIGHTEST * now.size)
    hip, hinges = now.chain[:, 0], hinges_of(now)
    limb, short = bend(now.chain, now.turns, hinges, hip, ankle, most, length=now.size)
    foot = _blended_rotation(was.foot_turn, path.turn, path.motion.foot_turn, now.foot_turn, share)
    toes = foot
    if was.toe_turn is not None and path.motion.toe_turn is not None and now.toe_turn is not None:
        toes = _blended_rotation(was.toe_turn, leg.toes, path.motion.toe_turn, now.toe_turn, share)
    return turns_of(now, limb.deltas, foot, toes), moves_of(now, limb.chain[:, -1]), short


def _blended_rotation(was: Array, by: Array, source: Array, now: Array, share: Array) -> Array:
    """The world rotation from the present one to a blend of the earlier one and the baked one."""
    wanted = rotations.slerp(was, rotations.multiply(by, source), share)
    return rotations.multiply(wanted, rotations.conjugate(now))
