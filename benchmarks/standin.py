"""A careful baseline for the bake, given the contacts: a bake should score better than this by judge.py.

In each stance one point of the sole is planted on the ground, and the foot is aligned with the ground there. Between
stances, both are interpolated smoothly, raised where the ground is higher. The pelvis follows the feet within the reach
of legs no straighter than in the source. The code does not use ikcore's foot detection.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from judge import UP, Array, Motion, Names, Point, Source, core, drift, joint_of, runs, size

import ikcore as ik
from ikcore.rotations import conjugate, multiply, rotate, shortest_arc, slerp

REACH = 0.995  # relative to the leg length: largest extension, unless the source exceeds it
CLEAR = 0.005  # metres: clearance above ground that the source's path would penetrate
SLOW = 0.12  # seconds: faster changes of the pelvis are smoothed
LEANS = 0.03  # relative to the leg length: smallest knee offset from the line that defines a side in the source


class Way(NamedTuple):
    """Path of an ankle (frames, 3), and rotation of its foot (frames, 4)."""

    ankle: Array
    turn: Array


def put(clip: ik.Clip, ground: ik.Ground, source: Source) -> ik.Clip:
    """The clip with its feet on the ground; contacts and soles are those of the source."""
    motion = Motion(clip, source.motion.legs)
    ways = [_way(motion, leg, ground, source) for leg in range(len(motion.legs))]
    raised = _raised(motion, ways)[:, np.newaxis] * UP
    world = clip.skeleton.forward(clip.pose)
    turns: dict[int, Array] = {}
    for at, (names, way) in enumerate(zip(motion.legs, ways, strict=True)):
        turns |= _bent(motion, at, names, way, motion.hip[:, at] + raised)
    pose = ik.Pose(_local(clip, np.asarray(world.rotations), turns), _moved(clip, raised), clip.pose.scales)
    return dataclasses.replace(clip, pose=pose)


def _way(motion: Motion, leg: int, ground: ik.Ground, source: Source) -> Way:
    """From stance to stance; at the ends of the clip with the source's height above ground."""
    ankle, sole = motion.ankle[:, leg], source.soles.positions(motion)[:, leg]
    shift, turn = np.zeros_like(ankle), np.tile([1.0, 0, 0, 0], (len(ankle), 1))
    stances = runs(source.contact[:, leg])
    for first, end in stances:
        at = _planted(sole[core(first, end, source.fps)])
        spot = np.median(sole[core(first, end, source.fps), at], axis=0)
        height, normal = _under(ground, spot, source)
        spot[1] = height + source.soles.zero[leg, at]
        turn[first:end] = shortest_arc(UP, normal)
        shift[first:end] = spot + rotate(turn[first:end], (ankle - sole[:, at])[first:end]) - ankle[first:end]
    for end, near in _loose_ends(stances, len(ankle)):
        shift[end] = shift[near] * [1, 0, 1] + _under(ground, sole[end] + shift[near] * [1, 0, 1], source)[0].max() * UP
    held = sorted({*stances, (0, min(1, len(ankle))), (len(ankle) - 1, len(ankle))})
    for (_, left), (struck, _) in pairwise(held):
        if struck > left:
            part, share = slice(left, struck), np.arange(1, struck - left + 1) / (struck - left + 1)
            gone = (share**3 * (10 - 15 * share + 6 * share**2))[:, np.newaxis]
            shift[part] = shift[left - 1] * (1 - gone) + shift[struck] * gone
            turn[part] = slerp(turn[left - 1], turn[struck], gone[:, 0])
            now = (ankle + shift)[part, np.newaxis] + rotate(
                turn[part, np.newaxis], (sole - ankle[:, np.newaxis])[part]
            )
            deep = (_under(ground, now, source)[0] + source.soles.zero[leg] - now[..., 1]).max(axis=1)
            more = np.maximum(0, deep + CLEAR - np.maximum(0, -source.heights[part, leg].min(axis=1)))
            arc = 16 * (share * (1 - share)) ** 2
            shift[part, 1] += arc * (np.where(deep > 0, more, 0) / np.maximum(arc, 0.2)).max()
    return Way(ankle + shift, turn)


def _planted(sole: Array) -> int:
    """The point (frames, points, 3) that moves least."""
    return min(range(sole.shape[1]), key=lambda point: drift(sole[:, point, np.newaxis]))


def _loose_ends(stances: list[tuple[int, int]], frames: int) -> list[tuple[int, int]]:
    """First and last frame without a stance, each with a frame of the nearest stance; with itself if there is none."""
    first, last = (stances[0][0], stances[-1][1] - 1) if stances else (0, frames - 1)
    loose = [(0, first)] * (first > 0 or not stances) + [(frames - 1, last)] * (last < frames - 1 or not stances)
    return loose


def _under(ground: ik.Ground, points: Array, source: Source) -> tuple[Array, Array]:
    """Height and normals of the ground; 0 and up if there is none."""
    leg = float(source.motion.length.max())
    found = ground.at(points, above=2 * leg, below=4 * leg)
    return np.where(found.hit, found.height, 0.0), np.where(np.asarray(found.hit)[..., np.newaxis], found.normals, UP)


def _raised(motion: Motion, ways: list[Way]) -> Array:
    """Offset of the pelvis (frames,): the smooth mean of the feet's, limited by the reach of legs."""
    ankles = np.stack([way.ankle for way in ways], axis=1)
    longest = np.maximum(REACH * motion.bones[..., :2].sum(-1), size(motion.ankle - motion.hip))
    away = (ankles - motion.hip) * [1, 0, 1]
    high = ankles[..., 1] + np.sqrt(np.maximum(0, longest**2 - (away**2).sum(-1))) - motion.hip[..., 1]
    wanted = (ankles - motion.ankle)[..., 1].mean(axis=1)
    found = ik.smooth(wanted, fps=motion.fps, pull=1 / SLOW**4, upper=high.min(axis=1)).values
    return np.asarray(found)


def _bent(motion: Motion, at: int, names: Names, way: Way, hip: Array) -> dict[int, Array]:
    """World rotations of thigh, shin and foot, by joint: from hip to ankle, bent in the plane of the source."""
    was_hip, was_knee, was_ankle = (each[:, at] for each in (motion.hip, motion.knee, motion.ankle))
    thigh, shin = motion.bones[:, at, 0], motion.bones[:, at, 1]
    parent = motion.parent(names.hip)
    off = _across(was_knee - was_hip, was_ankle - was_hip)
    usual = motion.turned(parent, motion.seen_from(parent, off).mean(axis=0))
    side = off + LEANS * (thigh + shin)[:, np.newaxis] * usual / np.maximum(size(usual), 1e-9)[:, np.newaxis]
    line = way.ankle - hip
    side = _across(rotate(shortest_arc(was_ankle - was_hip, line), side), line)
    apart = np.clip(size(line), np.abs(thigh - shin), thigh + shin)
    along = (thigh**2 - shin**2 + apart**2) / (2 * apart)
    aside = np.sqrt(np.maximum(0, thigh**2 - along**2))
    knee = hip + (along / size(line))[:, np.newaxis] * line + (aside / size(side))[:, np.newaxis] * side
    index = motion.clip.skeleton.index
    found = {
        index(names.hip): shortest_arc(was_knee - was_hip, knee - hip),
        index(names.knee): shortest_arc(was_ankle - was_knee, way.ankle - knee),
    }
    return found if isinstance(names.ankle, Point) else found | {index(joint_of(names.ankle)): way.turn}


def _across(vectors: Array, line: Array) -> Array:
    """Vectors without their component along a line."""
    return np.asarray(vectors - ((vectors * line).sum(-1) / (line * line).sum(-1))[:, np.newaxis] * line)


def _local(clip: ik.Clip, world: Array, turns: dict[int, Array]) -> Array:
    """Local rotations after some joints are rotated in the world together with all joints below them."""
    parents, rotations = clip.skeleton.parents, clip.pose.rotations.copy()
    for joint, turn in turns.items():
        above = int(parents[joint])
        while above >= 0 and above not in turns:
            above = int(parents[above])
        carried = multiply(turns[above], world[:, parents[joint]]) if above >= 0 else world[:, parents[joint]]
        rotations[:, joint] = multiply(conjugate(carried), multiply(turn, world[:, joint]))
    return rotations


def _moved(clip: ik.Clip, raised: Array) -> Array:
    """Translations, with raised roots."""
    shape = (len(clip), len(clip.skeleton), 3)
    given = clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations
    moved = np.array(np.broadcast_to(given, shape))
    moved[:, clip.skeleton.parents < 0] += raised[:, np.newaxis]
    return moved
