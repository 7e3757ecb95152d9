# SPDX-License-Identifier: GPL-3.0-or-later
"""Place legs on the ground by the library's ManyLegsNode. Without bpy.

Every frame is placed alone. The body of a pose made on a level floor follows the ground. A pose that already
stands on the ground keeps its body, and only its feet move.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import bridge
from ..rig.armatures import CannotBakeError
from . import placement_job

BLOCK = 64  # frames placed between two updates of the progress
EVEN = 0.5  # a pose stands on the ground if its feet are this much more even above it than above a level floor
UNEVEN = 0.02  # of the leg length: feet more even than this above a level floor stand on that
STILL = (1.0, 0.0, 0.0, 0.0)  # no rotation
UPRIGHT = 2  # a body on at most this number of legs stays upright
SHORT = 0.005  # of the leg length: a foot farther from its place does not reach it


@dataclass(frozen=True)
class Options:
    """The parameters of ManyLegsNode: lengths as shares of the leg length, angles in radians."""

    lengths: dict  # trace_above, trace_below, cross_radius, foot_length, foot_width, ceiling
    others: dict  # all other parameters, by their names


@dataclass
class PlacementResult:
    """The result."""

    clip: object  # ikcore.Clip
    soles: np.ndarray  # (frames, legs, 3): where the feet touch the ground
    on_ground: bool  # True if the pose stood on the ground, so that the body stays
    rise: float  # largest change of the height of the body, signed
    tilt: float  # largest rotation of the body, in radians
    length: float  # mean length of the legs
    body: "Body"
    missing: dict[str, int] = field(default_factory=dict)  # by leg: frames without ground
    short: dict[str, tuple[float, int]] = field(default_factory=dict)  # by leg: largest distance, and its frame number


class Body:
    """The skeleton to place, standing at rest on height 0, and where its feet touch the ground."""

    def __init__(self, job, skeleton, feet):
        self.bones = job.bones
        self.feet, self.length = feet, float(np.mean([placement_job.length(skeleton, leg) for leg in feet]))
        world = skeleton.forward(skeleton.rest)
        places, turns = (np.asarray(each, float) for each in (world.positions, world.rotations))
        floor = min(
            float((places[joint] + bridge.rotations.rotate(turns[joint], np.array(offset)))[2])
            for leg in feet
            for joint, offset in ((skeleton.index(sole.joint), sole.offset) for sole in leg.soles.values())
        )
        ends = [self._end(skeleton, leg, places[:, 2] - floor) for leg in feet]
        self.pairs = [(leg.hip, foot) for leg, (foot, _) in zip(feet, ends, strict=True)]
        self.joints, self.tips = [skeleton.index(foot) for foot, _ in ends], [tip for _, tip in ends]
        down = np.zeros((len(ends), 3))
        down[:, 2] = -np.maximum(places[self.joints, 2] - floor, 0.0)
        below = bridge.rotations.rotate(bridge.rotations.conjugate(turns[self.joints]), down)
        tips = zip(below, self.tips, strict=True)
        self.points = np.array([under if tip is None else tip for under, tip in tips])  # in the frames of the joints
        self.read, self.parents = skeleton, np.array(skeleton.parents)
        for leg, foot in zip(feet, self.joints, strict=True):
            joints = [skeleton.index(name) for name in leg.chain if name in skeleton.names]
            joints = joints[: joints.index(foot) + 1]
            self.parents[joints[1:]] = joints[:-1]
        self.skeleton = self._at_zero(skeleton, floor)
        self.pelvis, self.chest = job.pelvis, placement_job.chest(skeleton, feet, job.pelvis)
        self.forward = placement_job.forward(skeleton, feet)

    def _end(self, skeleton, leg, heights):
        """The joint that stands on the ground, and its tip if the ground is at the end of its bone.

        Tails are no joints that turn: the tip of their bone is on the ground.
        """
        names = skeleton.names
        if leg.ankle in names and leg.ankle not in self.bones:
            tail = skeleton.index(leg.ankle)
            return names[skeleton.parents[tail]], np.array(skeleton.offsets[tail], float)
        if leg.ankle in names and heights[skeleton.index(leg.ankle)] <= placement_job.FLAT_FOOT * self.length:
            return leg.ankle, None
        if leg.ball in names:
            return leg.ball, None
        sole = leg.soles.get("ball") or next(iter(leg.soles.values()))
        return sole.joint, np.array(sole.offset, float)

    def _at_zero(self, skeleton, floor):
        """The skeleton whose feet stand on height 0. The bones of a leg have no others in between."""
        offsets, rest = np.array(skeleton.offsets), skeleton.rest.rotations
        offsets[np.asarray(skeleton.parents) < 0, 2] -= floor
        pose = _with_parents(skeleton, self.parents, bridge.library.Pose(rest[np.newaxis], offsets[np.newaxis]))
        return bridge.library.Skeleton(self.parents, pose.translations[0], pose.rotations[0], list(skeleton.names))

    def from_read(self, pose):
        """A pose of the skeleton that was read, for this skeleton."""
        return _with_parents(self.read, self.parents, pose)

    def as_read(self, pose):
        """A pose of this skeleton, for the skeleton that was read."""
        return _with_parents(self.skeleton, np.asarray(self.read.parents), pose)

    def soles(self, pose):
        """World positions of the points that touch the ground: (frames, legs, 3)."""
        world = self.skeleton.forward(pose)
        turns = np.asarray(world.rotations, float)[:, self.joints]
        return np.asarray(world.positions, float)[:, self.joints] + bridge.rotations.rotate(turns, self.points)


def _with_parents(skeleton, parents, pose):
    """The pose of a skeleton whose joints have other parents, with the same positions in the world."""
    others = np.flatnonzero(np.asarray(skeleton.parents) != parents)
    if not len(others):
        return pose
    world, back = skeleton.forward(pose), bridge.rotations.conjugate
    places, turns = np.asarray(world.positions), np.asarray(world.rotations)
    above, rotations, translations = parents[others], np.array(pose.rotations), np.array(pose.translations)
    rotations[:, others] = bridge.rotations.multiply(back(turns[:, above]), turns[:, others])
    translations[:, others] = bridge.rotations.rotate(back(turns[:, above]), places[:, others] - places[:, above])
    return bridge.library.Pose(rotations, translations)


def place(job, body, clip, ground, progress):
    """Place a clip: returns a Placed, whose IK controls have moved with feet and body."""
    lengths = {name: share * body.length for name, share in job.options.lengths.items()}
    came = body.from_read(clip.pose)
    soles = body.soles(came)
    floor = np.full(len(clip), float(np.median(soles[..., 2].min(axis=1))))
    found = _under(ground, soles, soles[..., 2], lengths)
    on_ground = _stands(job, body, soles, found)
    options = job.options.others | {name: value for name, value in lengths.items() if name != "ceiling" or value > 0}
    if len(job.legs) <= UPRIGHT:
        options |= {"pitch_weight": 0.0, "roll_weight": 0.0}
    if on_ground:
        floor = soles[..., 2].max(axis=1)
        spread = float(np.ptp(soles[..., 2], axis=1).max())
        options |= {"move": False, "pitch_weight": 0.0, "roll_weight": 0.0, "foot_weight": 1.0}
        options |= {name: lengths[name] + spread for name in ("trace_above", "trace_below")}
        hit, heights = found
    else:
        hit, heights = _under(ground, soles, floor[:, np.newaxis], lengths)
    if not hit.any():
        raise CannotBakeError(
            f"There is no ground near the feet of {job.armature.name}: move it, or raise Trace Above and Trace Below"
        )
    pose = _by_node(job, body, came, ground, floor, options, progress)
    pose = _with_controls(job, body, came, pose)
    lifted = 0.0 if on_ground else np.maximum(soles[..., 2] - floor[:, np.newaxis], 0.0)
    wanted = np.where(on_ground, heights, floor[:, np.newaxis] + lifted)
    if not on_ground:
        wanted = wanted + options["foot_weight"] * (heights - floor[:, np.newaxis])
    return _result(job, body, clip, (came, pose), on_ground, hit, wanted)


def _under(ground, soles, levels, lengths):
    """Whether there is ground under feet, and its height, (frames, legs): seen from these heights."""
    points = soles.copy()
    points[..., 2] = levels
    found = ground.at(points, above=lengths["trace_above"], below=lengths["trace_below"])
    return np.asarray(found.hit), np.asarray(found.height)


def _stands(job, body, soles, found):
    """True if the pose was made on this ground."""
    if job.source_floor != "AUTO":
        return job.source_floor == "GROUND"
    hit, heights = found
    if not job.posed or not hit.all() or soles.shape[1] < 3:
        return False
    level, above_ground = (float(np.ptp(each)) for each in (soles[..., 2], soles[..., 2] - heights))
    return level > UNEVEN * body.length and above_ground < EVEN * level


def _by_node(job, body, pose, ground, floor, options, progress):
    """The poses that the node makes, in blocks of frames."""
    turns, moved = [], []
    for start in range(0, len(pose), BLOCK):
        some = slice(start, start + BLOCK)
        node = bridge.library.bodies.ManyLegsNode(
            ground.still(np.arange(len(pose))[some]) if ground.moves else ground,
            body.pairs,
            pelvis=body.pelvis,
            chest=body.chest,
            forward=body.forward,
            tips=body.tips,
            **options,
        )
        try:
            found = node(body.skeleton, pose[some], floor[some], workers=None)
        except ValueError as error:
            raise CannotBakeError(f"{job.armature.name} cannot be placed: {error}") from error
        turns.append(found.pose.rotations)
        moved.append(found.pose.translations)
        progress(min(start + BLOCK, len(pose)) / len(pose))
    return bridge.library.Pose(np.concatenate(turns), np.concatenate(moved))


def _with_controls(job, body, before, after):
    """The pose with the controls of IK: they move with their foot, poles with the body."""
    skeleton, moving = body.skeleton, {}
    for leg, joint, point, tip in zip(job.legs, body.joints, body.points, body.tips, strict=True):
        if leg.control:
            moving[skeleton.index(leg.control)] = joint, point, tip is None
        if leg.pole:
            moving[skeleton.index(leg.pole)] = skeleton.index(job.pelvis), np.zeros(3), True
    if not moving:
        return after
    rotation, came, went = bridge.rotations, skeleton.forward(before), skeleton.forward(after)
    turns, slid = np.array(after.rotations), np.array(after.translations)
    for control in sorted(moving, key=lambda joint: len(placement_job.ancestors(skeleton, joint))):
        with_joint, point, turning = moving[control]
        (at, turned), (to, now) = (
            (np.asarray(each.positions)[:, with_joint], np.asarray(each.rotations)[:, with_joint])
            for each in (came, went)
        )
        turn = rotation.multiply(now, rotation.conjugate(turned)) if turning else np.broadcast_to(STILL, now.shape)
        start, end = at + rotation.rotate(turned, point), to + rotation.rotate(now, point)
        place = end + rotation.rotate(turn, np.asarray(came.positions)[:, control] - start)
        outer = rotation.multiply(turn, np.asarray(came.rotations)[:, control])
        parent = int(skeleton.parents[control])
        if parent >= 0:
            world = skeleton.forward(bridge.library.Pose(turns, slid))
            back = rotation.conjugate(np.asarray(world.rotations)[:, parent])
            place = rotation.rotate(back, place - np.asarray(world.positions)[:, parent])
            outer = rotation.multiply(back, outer)
        turns[:, control], slid[:, control] = outer, place
    return bridge.library.Pose(turns, slid)


def with_world_rotations(clip, wanted, names):
    """A clip whose joints, parents first, have their world rotations from another clip of the same skeleton."""
    skeleton, rotations = clip.skeleton, np.array(clip.pose.rotations)
    outer = np.asarray(skeleton.forward(wanted.pose).rotations)
    for joint in map(skeleton.index, names):
        pose = clip.pose.with_rotations(rotations)
        parents = np.asarray(skeleton.forward(pose).rotations)[:, int(skeleton.parents[joint])]
        rotations[:, joint] = bridge.rotations.multiply(bridge.rotations.conjugate(parents), outer[:, joint])
    pose = clip.pose.with_rotations(rotations)
    return bridge.library.Clip(skeleton, pose, clip.fps, clip.loop, up=clip.up)


def _result(job, body, clip, poses, on_ground, hit, wanted):
    """The result with its figures."""
    skeleton, pelvis = body.skeleton, body.skeleton.index(job.pelvis)
    soles, (before, after) = body.soles(poses[1]), (skeleton.forward(each) for each in poses)
    rise = (np.asarray(after.positions) - np.asarray(before.positions))[:, pelvis, 2]
    turn = bridge.rotations.multiply(
        np.asarray(after.rotations)[:, pelvis], bridge.rotations.conjugate(np.asarray(before.rotations)[:, pelvis])
    )
    tilt = 2 * np.arctan2(np.linalg.norm(turn[:, 1:], axis=-1), np.abs(turn[:, 0]))
    placed = PlacementResult(
        bridge.library.Clip(clip.skeleton, body.as_read(poses[1]), clip.fps, clip.loop, up=clip.up),
        soles,
        on_ground,
        float(rise[np.abs(rise).argmax()]),
        float(tilt.max()),
        body.length,
        body,
    )
    full = job.options.others["influence"] == 1.0
    off = np.where(hit & full, np.abs(soles[..., 2] - wanted), 0.0)
    for number, leg in enumerate(job.legs):
        if missing := int(np.count_nonzero(~hit[:, number])):
            placed.missing[leg.name] = missing
        if (worst := int(off[:, number].argmax())) >= 0 and off[worst, number] > SHORT * body.length:
            placed.short[leg.name] = float(off[worst, number]), worst
    return placed
