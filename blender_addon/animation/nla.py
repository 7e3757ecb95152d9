# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake as an NLA strip above the original action, which continues in a track below it.

No extra data are stored. Two tracks count as a bake if they have its structure, so edits in the NLA Editor are
respected.
"""

import contextlib
from itertools import pairwise

import bpy

from ..rig.armatures import CannotBakeError, plays
from . import actions, scene_frames

AS_IT_IS = {  # of a strip that plays its action unchanged
    "type": "CLIP",
    "mute": False,
    "blend_type": "REPLACE",
    "extrapolation": "HOLD",
    "scale": 1.0,
    "repeat": 1.0,
    "blend_in": 0.0,
    "blend_out": 0.0,
    "use_auto_blend": False,
    "use_reverse": False,
    "use_animated_influence": False,
    "use_animated_time": False,
}


def bake_tracks(animation):
    """The tracks of a bake, (below, above), if nothing else plays; or None."""
    if animation is None or animation.action is not None or not animation.use_nla or animation.use_tweak_mode:
        return None
    tracks = list(animation.nla_tracks)
    found = [each for each in pairwise(tracks) if _goes_on(each[0]) and _made_here(each[1])]
    if len(found) != 1 or any(plays(track, animation) for track in tracks if track not in found[0]):
        return None
    return found[0]


def _goes_on(track):
    if track.mute or track.is_solo or len(track.strips) != 1:
        return False
    (strip,) = track.strips
    same = all(getattr(strip, name) == value for name, value in AS_IT_IS.items())
    keys = _ends(strip)
    return (
        same
        and not len(strip.modifiers)
        and strip.frame_start == strip.action_frame_start
        and bool(keys)
        and strip.action_frame_start <= min(first for first, _ in keys)
        and strip.action_frame_end >= max(last for _, last in keys)
    )


def _made_here(track):
    return not track.is_solo and len(track.strips) == 1 and actions.SOURCE in (track.strips[0].action or ())


def current_action(animation):
    """The relevant action: the active one, or that of a baked strip."""
    tracks = bake_tracks(animation)
    return tracks[1].strips[0].action if tracks else animation and animation.action


def action_sources(animation):
    """The sources of active actions: the animation data, or the strips of a bake."""
    tracks = bake_tracks(animation)
    return [track.strips[0] for track in tracks] if tracks else [animation]


@contextlib.contextmanager
def taken_down(armature, *, for_good=False):
    """Make the action below a baked strip the armature's own, temporarily or permanently."""
    animation = armature.animation_data
    tracks = bake_tracks(animation)
    if tracks is None:
        yield
        return
    below, above = (track.strips[0] for track in tracks)
    (under, over), mutes, gone = (below.action, above.action), [track.mute for track in tracks], False
    try:
        for track in tracks:
            track.mute = True
        actions.assign(armature, below.action, below.action_slot)
        yield
        gone = for_good
    finally:
        if gone:
            for track in tracks:
                animation.nla_tracks.remove(track)
            actions.keep(under)
            actions.retire(over, current_action(animation))
            _rename(animation)
        else:
            actions.assign(armature, None, None)
            for track, mute in zip(tracks, mutes, strict=True):
                track.mute = mute


@contextlib.contextmanager
def pushed_down(plan, frames, scene):
    """Play an action, as (armature, action, slot), above the armature's own on these frames, in NLA tracks.

    If the following code fails, the armature's own action is restored and the other one removed.
    """
    armature, action, slot = plan
    animation, (_, own, own_slot) = armature.animation_data, actions.assignment(armature)
    made = []
    try:
        for what, which, ends, outside in (
            (own, own_slot, _span(animation, scene), "HOLD"),
            (action, slot, (frames[0], frames[-1]), "NOTHING"),
        ):
            made.append(animation.nla_tracks.new())
            _fill(made[-1], what, which, ends, outside)
        animation.action = None
        yield
    except BaseException:
        for track in reversed(made):
            animation.nla_tracks.remove(track)
        actions.assign(armature, own, own_slot)
        bpy.data.actions.remove(action)
        raise


def _rename(animation):
    """Name the strip of a bake, if there is one, after its action."""
    if tracks := bake_tracks(animation):
        (strip,) = tracks[1].strips
        tracks[1].name = strip.name = strip.action.name


def _fill(track, action, slot, ends, outside):
    """Put an action into a track: on these frames, where its keys are."""
    track.name = action.name
    strip = track.strips.new(action.name, int(ends[0]), action)
    strip.action_slot, strip.extrapolation, strip.blend_type = slot, outside, "REPLACE"
    for name in ("action_frame_start", "action_frame_end", "frame_start", "frame_end"):
        setattr(strip, name, ends[name.endswith("end")])


def _span(animation, scene):
    """Frame range in which a strip plays its action: its keys, or the whole scene if curves extrapolate."""
    curves, ends = actions.curves(animation), _ends(animation)
    if not ends or any(curve.extrapolation != "CONSTANT" or len(curve.modifiers) for curve in curves):
        ends.append(scene_frames.shown_range(scene))
    first, last = min(first for first, _ in ends), max(last for _, last in ends)
    return first, max(last, first + 1)


def _ends(playing):
    """The first and the last key of each curve of animation data or a strip."""
    return [curve.range() for curve in actions.curves(playing) if len(curve.keyframe_points)]


def check(armature, channels):
    """Refuse channels without keys in the armature's action, since no strip below would reset them."""
    keyed = {(curve.data_path, curve.array_index) for curve in actions.curves(armature.animation_data)}
    if loose := [channel for channel in channels if (channel.path, channel.index) not in keyed]:
        names = dict.fromkeys(f"{channel.group} ({channel.path.rpartition('.')[2]})" for channel in loose)
        raise CannotBakeError(
            f"Action {armature.animation_data.action.name} has no keys on {', '.join(names)}: add a key there, "
            "so that the strip can be muted"
        )
