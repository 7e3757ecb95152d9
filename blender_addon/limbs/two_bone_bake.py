# SPDX-License-Identifier: GPL-3.0-or-later
"""Re-solve two-bone limbs by the library's closed form, all frames of all limbs at once."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import bridge
from ..animation import actions, scene_frames
from ..feet.foot_report import plain
from ..rig import rotations as rot
from ..ui.background import in_thread
from .effect_check import COMPARED, besides_keys
from .sampling import sample
from .two_bone import AWAY, solve

SAMPLED, SOLVED = 0.85, 0.95  # progress after limbs are sampled, and after they are solved


@dataclass
class PreparedBake:
    """The result of a way of baking, to be written."""

    work: list  # (armature, channels)
    muted: list  # the constraints that the keys replace: (armature, bone, constraint), by name
    poses: Callable  # resulting poses by armature, by bone: in armature space; and those of the parents of moved bones
    reports: Callable  # makes the report of each armature after all is written, given the tolerance of keys


@dataclass
class Counts:
    """The counts of a bake of an armature."""

    armature: str
    what: str  # number and kind of the baked constraints, such as "2 IK"
    bones: int  # number of bones with new keys
    frames: int


@dataclass
class Report:
    """Results of the bake of an armature, per frame: unreached if any of its limbs missed its target."""

    armature: str
    limbs: int
    frames: np.ndarray
    unreached: np.ndarray  # (frames,), bool
    unusable: np.ndarray
    undefined: np.ndarray
    short: np.ndarray  # a limb keeps the displayed pose, off a target in reach
    stopped: list[str] = field(default_factory=list)  # sentences about such limbs
    idle: list[str] = field(default_factory=list)  # limbs whose IK did nothing, by their bones
    away: list[str] = field(default_factory=list)  # sentences about limbs that are not displayed where they were put
    keys: str = ""  # their number, if not one on every frame

    def has_problems(self):
        """True if there is something to look at."""
        flags = (self.unreached, self.unusable, self.undefined, self.short)
        return bool(self.idle or self.away or any(which.any() for which in flags))

    @property
    def problems(self):
        """The first frame of each run of problems, and the problem."""
        found = []
        for which, what in self._flags():
            starts = self.frames[which & ~np.r_[False, which[:-1]]]
            found += [(int(frame), f"{what} from here") for frame in starts]
        return sorted(found)

    def _flags(self):
        return (
            (self.unreached, "out of reach"),
            (self.undefined, "with the pole in line"),
            (self.unusable, "unchanged"),
            (self.short, "short of the target as displayed"),
        )

    def sentence(self):
        """The report in one line."""
        limbs = "1 limb" if self.limbs == 1 else f"{self.limbs} limbs"
        missed = int(np.count_nonzero(self.unreached | self.short))
        text = f"Baked {limbs}, {len(self.frames)} frames{self.keys}: {len(self.frames) - missed} reached"
        for which, what in self._flags():
            if which.any():
                text += f", {int(np.count_nonzero(which))} {what} (frames {_spans(self.frames[which])})"
        if self.idle:
            text += f"; nothing has changed, because influence is 0 on all frames: {', '.join(self.idle)}"
        return "; ".join([text, *self.stopped, *self.away])


def _spans(frames, most=4):
    """Frame numbers as ranges: '3, 40-42'."""
    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs[:most]]
    return ", ".join(texts) + (", ..." if len(runs) > most else "")


def prepare(context, limbs, frames):
    """Prepare the bake of these limbs: a generator that yields progress and returns a `PreparedBake`."""
    armatures = list({limb.object.name: limb.object for limb in limbs}.values())
    samples = yield from scene_frames.run_part(sample(context, limbs, frames), 0.0, SAMPLED)
    solved = yield from scene_frames.run_part(in_thread(lambda _: solve(samples.limbs)), SAMPLED, SOLVED)
    work = yield from scene_frames.run_part(_work(armatures, limbs, samples, solved), SOLVED, 1.0)

    def reports(slack):
        away = _away(context, limbs, samples.limbs, solved, frames, slack)
        return [_report(armature, limbs, frames, samples.limbs, solved, away) for armature in armatures]

    muted = [(limb.object, limb.owner, limb.constraint) for limb in limbs]
    return PreparedBake(work, muted, lambda: _poses(armatures, limbs, samples, solved), reports)


def _poses(armatures, limbs, samples, solved):
    """The resulting poses, as in Found."""
    quat, poses = bridge.rotations, {armature.name: {} for armature in armatures}
    both, before = quat.multiply(solved.root, solved.mid), samples.limbs
    mids = before.root + quat.rotate(solved.root, before.mid - before.root)
    for n, limb in enumerate(limbs):
        for b, (delta, place) in enumerate(((solved.root, before.root), (both, mids))):
            made = np.tile(np.eye(4), (len(place), 1, 1))
            turned = quat.multiply(samples.parents[:, n, b], samples.channels[:, n, b])
            made[:, :3, :3], made[:, :3, 3] = quat.to_matrix(quat.multiply(delta[:, n], turned)), place[:, n]
            poses[limb.object.name][limb.chain[b]] = made, None
    return poses


def _report(armature, limbs, frames, before, solved, away):
    """The report of one armature's limbs."""
    mine = [n for n, limb in enumerate(limbs) if limb.object == armature]
    acting = before.influence[:, mine] > 0.0
    status, undefined, short = (found[:, mine] for found in (solved.status, solved.undefined, solved.short))
    own = [limbs[n] for n in mine]
    return Report(
        armature.name,
        len(mine),
        frames,
        unreached=(bridge.out_of_reach(status) & acting).any(axis=1),
        unusable=bridge.unusable(status).any(axis=1),
        undefined=(undefined & acting).any(axis=1),
        short=(short > 0.0).any(axis=1),
        stopped=_distance_problems(own, short.max(axis=0)),
        idle=[limb.label() for limb, acts in zip(own, acting.any(axis=0), strict=True) if not acts],
        away=[away[n] for n in mine if n in away],
    )


def _distance_problems(limbs, short):
    """Sentences about limbs that Blender leaves far off their targets, in limb lengths."""
    return [
        f"{limb.ik.name} of {limb.owner} stops {plain(100 * off)} % of the limb length from its target: "
        f"raise its Iterations ({limb.ik.iterations})"
        for limb, off in zip(limbs, short, strict=True)
        if off > 0.0
    ]


def _away(context, limbs, before, solved, frames, slack):
    """Sentences, by number, about limbs that are not displayed where they were put, checked on some frames."""
    quat = bridge.rotations
    some = np.unique(np.linspace(0, len(frames) - 1, COMPARED).astype(int))
    arm, forearm = before.mid - before.root, before.end - before.mid
    mid = before.root + quat.rotate(solved.root, arm)
    put = np.stack([mid, mid + quat.rotate(quat.multiply(solved.root, solved.mid), forearm)], axis=2)[some]
    seen = np.empty_like(put)
    for row, frame in enumerate(frames[some]):
        context.scene.frame_set(int(frame))
        depsgraph = context.evaluated_depsgraph_get()
        for n, limb in enumerate(limbs):
            bone = limb.object.evaluated_get(depsgraph).pose.bones[limb.chain[1]]
            seen[row, n] = bone.head, bone.tail
    reach = np.linalg.norm(arm[some], axis=-1) + np.linalg.norm(forearm[some], axis=-1)
    far = np.linalg.norm(seen - put, axis=-1).max(axis=-1)  # NaN marks bones that Blender does not display
    far = (far - [slack / limb.object.matrix_world.median_scale for limb in limbs]) / reach
    worst, size = np.argmax(far, axis=0), f"more than {AWAY:.1%} of its length"
    return {
        n: f"{limb.label()} is displayed {size} from its baked place at frame {frames[some[worst[n]]]}, "
        f"because {besides_keys(limb.object, limb.chain)}"
        for n, limb in enumerate(limbs)
        if not far[worst[n], n] <= AWAY
    }


def _work(armatures, limbs, samples, solved):
    """The channels to write, as (armature, channels): a generator that yields progress."""
    channels, work = _channels(limbs, samples, solved), {armature.name: (armature, []) for armature in armatures}
    for n, limb in enumerate(limbs):
        for b, bone in enumerate((limb.root, limb.mid)):
            numbers = rot.numbers(bone.rotation_mode, channels[:, n, b], samples.start[n][b])
            work[limb.object.name][1].extend(actions.channels(bone, "rotation", numbers))
            yield (n + 0.5 * b) / len(limbs)
    return list(work.values())


def _channels(limbs, samples, solved):
    """The new rotation channels as quaternions, (frames, limbs, 2, 4).

    A rotation D of a bone in armature space is P^-1 D P in the space P of its channel. The second bone's space rotates
    with the first, so it needs only its own rotation. If it does not inherit rotation, it needs both.
    """
    inherits = np.array([limb.mid.bone.use_inherit_rotation for limb in limbs])
    quat = bridge.rotations
    both = quat.multiply(solved.root, solved.mid)
    delta = np.stack([solved.root, np.where(inherits[:, None], solved.mid, both)], axis=2)
    parents = samples.parents
    local = quat.multiply(quat.multiply(quat.conjugate(parents), delta), parents)
    return quat.normalize(quat.multiply(local, samples.channels))
