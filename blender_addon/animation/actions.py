# SPDX-License-Identifier: GPL-3.0-or-later
"""Slotted actions: the curves that an object plays, their values, and copies of actions with new keys.

Blender 4.5 and 5.x differ in helpers but share layers, strips, slots and channel bags, so only these are used.
"""

import contextlib
import functools
import json
from dataclasses import dataclass

import bpy
import numpy as np

from . import scene_frames

CHANNELS = {"QUATERNION": ("rotation_quaternion", 4), "AXIS_ANGLE": ("rotation_axis_angle", 4)}
SOURCE = "ikcore source"  # custom property of an action: the action it was made from
STILL = "ikcore still"  # the former values of channels that only this action has keys for
ORIGIN = "ikcore origin"  # the provenance of a bake, ikcore.Clip.origin as text
MADE = "ikcore made"  # the title of the operation that made it, which is the end of its name
# The parts of a key, and the number of values of each: kept keys are restored with all of them.
KEY_PARTS = {
    "co": (np.float32, 2),
    "handle_left": (np.float32, 2),
    "handle_right": (np.float32, 2),
    "amplitude": (np.float32, 1),
    "back": (np.float32, 1),
    "period": (np.float32, 1),
    "interpolation": (np.int32, 1),
    "easing": (np.int32, 1),
    "handle_left_type": (np.int32, 1),
    "handle_right_type": (np.int32, 1),
    "type": (np.int32, 1),
    "select_control_point": (np.bool_, 1),
    "select_left_handle": (np.bool_, 1),
    "select_right_handle": (np.bool_, 1),
}
NEAR = 0.01  # frames: Blender merges keys that are nearer when their curve is edited
FEW = 8  # so few values are read faster one by one than all keys
# The new keys are linear, like those of nla.bake: with a key on every frame a Bezier curve could only overshoot between
# frames. If they are changed to Bezier, they have automatic clamped handles, as expected.
NEW_KEY = {"handle_left_type": "AUTO_CLAMPED", "handle_right_type": "AUTO_CLAMPED"}
# Curves of few keys are smooth, with handles along their slopes.
SMOOTH_KEY = {"interpolation": "BEZIER", "handle_left_type": "ALIGNED", "handle_right_type": "ALIGNED"}
HANDLES = ("handle_left", "handle_right")
UNDONE = 32  # data kept for actions that are gone: Blender undoes as many steps by default
NO_KEYS = np.empty((0, 2))  # frames and values of no keys


@dataclass
class Channel:
    """New keys of one curve, by value."""

    path: str
    index: int
    group: str
    values: np.ndarray  # (keys,)
    frames: np.ndarray | None = None  # (keys,), if they differ from those of the other channels
    slopes: np.ndarray | None = None  # (keys,), changes per frame, for smooth curves
    rounds: bool = False  # True if the curve repeats


def tell_origin(action, origin):
    """Store the provenance of a bake with its action, or remove it."""
    if origin is not None:
        action[ORIGIN] = origin.to_json()
    elif ORIGIN in action:
        del action[ORIGIN]


def path_of(bone, name):
    """The data path of a property of a pose bone."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"].{name}'


def rotation_path(bone):
    """The data path of the rotation that the bone's rotation mode uses."""
    return path_of(bone, rotation_of(bone))


def rotation_of(owner):
    """The property that the rotation mode of a bone or an object uses."""
    return CHANNELS.get(owner.rotation_mode, ("rotation_euler", 3))[0]


def layers_and_strips(action):
    """All (layer, strip) pairs of an action: Blender makes at most one at present."""
    return [(layer, strip) for layer in action.layers for strip in layer.strips] if action else []


def played_bag(animation):
    """The channel bag that animation data, or a strip of the NLA, plays from its action: that of its slot, or None."""
    if animation is None or animation.action is None or animation.action_slot is None:
        return None
    bags = (strip.channelbag(animation.action_slot) for _, strip in layers_and_strips(animation.action))
    return next(filter(None, bags), None)


def curves(animation):
    """The curves that this animation data plays."""
    bag = played_bag(animation)
    return list(bag.fcurves) if bag else []


def curves_in(action, slot):
    """The curves of an action for the slot with the name of another's, if it has one."""
    own = action.slots.get(slot.identifier) if slot else None
    bags = (strip.channelbag(own) for _, strip in layers_and_strips(action)) if own else ()
    return [curve for bag in bags if bag for curve in bag.fcurves]


def by_path(curves):
    """Curves, or drivers, by data path: read once, because reading thousands of paths takes milliseconds."""
    found = {}
    for curve in curves:
        found.setdefault(curve.data_path, []).append(curve)
    return found


def muted_groups(animation):
    """The names of the muted channel groups, among those that hold curves."""
    bag = played_bag(animation)
    return {group.name for group in bag.groups if group.mute and len(group.channels)} if bag else set()


def has_modifier(curve):
    """True if a modifier changes a curve between its keys: Cycles only repeats it outside."""
    return any(not modifier.mute and modifier.type != "CYCLES" for modifier in curve.modifiers)


def numbers(curves, owner, path, name, frames):
    """The values of an object's or bone's property on these frames, (frames, width); unkeyed ones are constant."""
    still = getattr(owner, name)
    result = np.empty((len(frames), len(still)))
    result[:] = still
    for curve in curves.get(path, ()):
        if not curve.mute:  # a muted group has no effect, in 4.5 and 5.2
            result[:, curve.array_index] = curve_values(curve, frames)
    return result


def curve_values(curve, frames):
    """The values of a curve on these frames: those of its keys if it has one on each, else as Blender blends them."""
    if len(frames) > FEW and len(curve.modifiers) == 0 and len(curve.keyframe_points):
        keys = _read(curve.keyframe_points, "co")
        if len(keys) == len(frames) and (keys[:, 0] == frames).all():
            return keys[:, 1]
        at = np.minimum(np.searchsorted(keys[:, 0], frames), len(keys) - 1)
        if np.array_equal(keys[at, 0], frames):
            return keys[at, 1]
    return np.fromiter(map(curve.evaluate, frames.tolist()), float, len(frames))


def assignment(armature):
    """Whether there is animation data, the action and the slot in it."""
    animation = armature.animation_data
    return (True, animation.action, animation.action_slot) if animation else (False, None, None)


def assign(armature, action, slot):
    """Make an action the armature's active one, or none."""
    animation = armature.animation_data or armature.animation_data_create()
    animation.action = action
    if action is not None:
        animation.action_slot = slot


@contextlib.contextmanager
def swap_actions(plans):
    """Make actions active, as (armature, action, slot). If the following code fails, restore the old ones."""
    before = [assignment(armature) for armature, _, _ in plans]
    replaced = {old.session_uid: new for (_, new, _), (_, old, _) in zip(plans, before, strict=True) if old}
    try:
        for armature, action, slot in plans:
            assign(armature, action, slot)
        yield
    except BaseException:
        for (armature, _, _), (had_data, old, old_slot) in zip(plans, before, strict=True):
            if had_data:
                assign(armature, old, old_slot)
            else:
                armature.animation_data_clear()
        for action in {action for _, action, _ in plans}:
            bpy.data.actions.remove(action)
        raise
    for old in [action for action in bpy.data.actions if action.session_uid in replaced]:
        retire(old, replaced[old.session_uid])


def retire(old, new):
    """Keep an action that another one has replaced, or remove it and give its name to the new one.

    It is removed if the same operation made both, nobody uses the old one, and its name is unchanged.
    """
    if old.users or not _alike(old, new):
        keep(old)
        return
    name = old.name
    bpy.data.actions.remove(old)
    new.name = name


def replace_copies(original, new):
    """Give a copy of an action the name of earlier ones made by the same operation, and remove those not in use."""
    for old in list(bpy.data.actions):
        if old != new and old.get(SOURCE) == original and _alike(old, new) and old.users == old.use_fake_user:
            old.use_fake_user = False
            retire(old, new)


def _alike(old, new):
    """True if two actions were made by the same operation, and the name of the older one is unchanged."""
    title = old.get(MADE)
    return title is not None and title == new.get(MADE) and f" {title}" in old.name


def forget_gone(kept):
    """Drop old data stored by the uids of armatures and actions. The newest stay: undo may bring actions back."""
    there = {action.session_uid for action in bpy.data.actions}
    for key in [key for key in kept if key[1] not in there][:-UNDONE]:
        del kept[key]


def keep(*unused):
    """Give actions without users a fake user."""
    for action in unused:
        if action.users == 0:
            action.use_fake_user = True  # otherwise the file is saved without it


@contextlib.contextmanager
def play_action(armature, action):
    """Temporarily make another action active, with a slot of the same name, or none.

    Channels that only the former action has keys for get their values from when the action was made.
    """
    _, before, slot = assignment(armature)
    still = json.loads(before.get(STILL, "{}"))
    now = {path: scene_frames.value(armature, path) for path in still}
    assign(armature, action, action and action.slots[slot.identifier])
    try:
        _set_all(armature, still)
        yield
    finally:
        assign(armature, before, slot)
        _set_all(armature, now)


def _set_all(armature, values):
    for path, value in values.items():
        if scene_frames.value(armature, path) is not None:
            scene_frames.set_value(armature, path, value)


def still(armature, channels):
    """Values of channels without keys in the action, and former values of channels keyed by a bake, as text."""
    _, action, _ = assignment(armature)
    keyed = by_path(curves(armature.animation_data))
    new = {
        channel.path: scene_frames.value(armature, channel.path) for channel in channels if channel.path not in keyed
    }
    return json.dumps((json.loads(action.get(STILL, "{}")) if action else {}) | new)


def source(animation):
    """The action from which the active one was made, if it exists and has its slot."""
    made_of = animation.action.get(SOURCE)
    return made_of if made_of and animation.action_slot.identifier in made_of.slots else None


def original(animation):
    """The action from which the active one was made, or the active one itself; or None."""
    return (source(animation) or animation.action) if animation and animation.action else None


def copy_for(armature, copies, title):
    """A copy of the armature's action with `title` in its name, and the slot in it, without touching the armature.

    `copies` maps an action to (copy, identifiers of slots already written). Armatures that share an action through
    slots share its copy; armatures that share a slot cannot.
    """
    animation = armature.animation_data
    action = animation.action if animation else None
    slot = animation.action_slot if animation else None
    if action is None or slot is None:
        copy = bpy.data.actions.new(f"{armature.name} {title}")
        return copy, copy.slots.new(id_type="OBJECT", name=armature.name)
    copy, written = copies.get(action, (None, set()))
    if copy is None or slot.identifier in written:
        copy, written = action.copy(), set()
        copy.name = _result_name(action, title)
        copies[action] = (copy, written)
    written.add(slot.identifier)
    return copy, copy.slots[slot.identifier]


def _result_name(action, title):
    """The name of a result made from an action."""
    return f"{action.name.partition(f' {title}')[0]} {title}"


def _empty_for(armature, title):
    """A new action named after the active one, with a slot of the same name."""
    _, action, slot = assignment(armature)
    made = bpy.data.actions.new(_result_name(action, title))
    return made, made.slots.new(id_type="OBJECT", name=slot.identifier[2:])  # without its prefix, "OB"


def ensure_bag(action, slot):
    """The channel bag of a slot, made if missing."""
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def channels(bone, name, values, free=None):
    """Channels of a bone's "rotation", in its mode, or "location": those that are `free`."""
    path = rotation_path(bone) if name == "rotation" else path_of(bone, name)
    indices = range(values.shape[1]) if free is None else np.flatnonzero(free).tolist()
    return [Channel(path, index, bone.name, values[:, index]) for index in indices]


def copy_actions(work, frames, title, *, bare=False):
    """Copy actions, with the keys of each (armature, channels). A generator that yields progress.

    Returns (armature, action, slot) for each, none of them active yet: copies of the active actions; `bare` ones have
    no other channels. If it is closed early or fails, it leaves no copies.
    """
    plans, copies, made = [], {}, []
    done = _shares_of(work)
    try:
        for armature, channels in work:
            action, slot = _empty_for(armature, title) if bare else copy_for(armature, copies, title)
            made.append(action)
            action[MADE] = title
            bag = ensure_bag(action, slot)
            for channel in channels:
                write_keys(bag, channel, frames)
                yield next(done)
            plans.append((armature, action, slot))
    except BaseException:
        for action in set(made):
            bpy.data.actions.remove(action)
        raise
    return plans


def overwrite(work, frames, own=1.0, rest=()):
    """Write the keys of each (armature, channels) into its active action, completely or not at all.

    A generator that yields progress: `own` at its end, followed by what `rest` yields. If closed early or failing, it
    restores the keys.
    """
    undo, done = [], _shares_of(work)
    try:
        for armature, channels in work:
            _, action, slot = assignment(armature)
            bag = ensure_bag(action, slot)
            for channel in channels:
                undo.append(_way_back(bag, channel))
                write_keys(bag, channel, frames)
                yield own * next(done)
        yield from rest
    except BaseException:
        for back in reversed(undo):
            back()
        raise


def _shares_of(work):
    """Progress after each channel."""
    count = sum(len(channels) for _, channels in work)
    return ((n + 1) / count for n in range(count))


def _way_back(bag, channel):
    """A function that restores the present curve of a channel."""
    curve = bag.fcurves.find(channel.path, index=channel.index)
    if curve is None:
        return lambda: _remove(bag, channel)
    keys = {name: _read(curve.keyframe_points, name) for name in KEY_PARTS}
    before = [(each.mute, _modes(each)) for each in curve.modifiers]

    def back():
        curve.keyframe_points.clear()
        curve.keyframe_points.add(len(keys["co"]))
        if len(keys["co"]):
            _set_key_parts(curve, keys)  # exactly as before: an update might move handles
        for modifier in list(curve.modifiers)[len(before) :]:
            curve.modifiers.remove(modifier)
        for modifier, (mute, modes) in zip(curve.modifiers, before, strict=True):
            modifier.mute = mute
            for name, mode in modes.items():
                setattr(modifier, name, mode)

    return back


def _remove(bag, channel):
    curve = bag.fcurves.find(channel.path, index=channel.index)
    if curve is not None:
        bag.fcurves.remove(curve)


def write_keys(bag, channel, frames, interpolation=None):
    """Replace the keys of one curve from the first to the last of `frames`; keys outside stay, to the digit.

    New keys are linear by default; a single one has the interpolation of the key before it.

    A key very near to an end of the range is replaced too. Modifiers that reshape the curve are muted, because the new
    keys include their effect.
    """
    frames = frames if channel.frames is None else channel.frames
    curve = bag.fcurves.find(channel.path, index=channel.index) or bag.fcurves.new(channel.path, index=channel.index)
    if curve.group is None:
        curve.group = bag.groups.get(channel.group) or bag.groups.new(channel.group)
    for modifier in curve.modifiers:
        modifier.mute = modifier.mute or modifier.type != "CYCLES"
    if channel.rounds:
        _go_on(curve)
    points, kept = curve.keyframe_points, _outside(curve, frames)
    interpolation = interpolation or _goes_on(kept, frames)
    points.clear()
    points.add(len(frames) + len(kept["co"]))
    if not len(kept["co"]):
        _set_key_parts(curve, _key_parts(channel, frames, interpolation))
        points.handles_recalc()
        return
    before = np.count_nonzero(kept["co"][:, 0] < frames[0])
    new = slice(before, before + len(frames))  # indices of the new keys among the kept ones
    keys = _key_parts(channel, frames, interpolation, kept["co"], before)
    every = {name: _read(points, name) for name in KEY_PARTS}
    for name, part in every.items():
        part[new] = keys.get(name, part[new])
        _surround(part, new, kept[name])
    _set_key_parts(curve, every)
    points.handles_recalc()  # not FCurve.update, which merges kept keys that are near each other
    for name in HANDLES:  # automatic handles of kept keys have moved
        points.foreach_set(name, _surround(_read(points, name), new, kept[name]).ravel())


def _go_on(curve):
    """Repeat a curve; locations with offset."""
    cycles = next((each for each in curve.modifiers if each.type == "CYCLES"), None) or curve.modifiers.new("CYCLES")
    if curve.data_path.endswith("location"):
        cycles.mode_before = cycles.mode_after = "REPEAT_OFFSET"


def _modes(modifier):
    """The modes of a modifier before and after its keys, by name."""
    return {name: getattr(modifier, name) for name in ("mode_before", "mode_after") if modifier.type == "CYCLES"}


def _goes_on(kept, frames):
    """The interpolation of new keys; a single one has that of a key set by hand."""
    if len(frames) > 1:
        return "LINEAR"
    before = np.count_nonzero(kept["co"][:, 0] < frames[0])
    return kept["interpolation"][max(before - 1, 0)] if len(kept["co"]) else "BEZIER"


def _outside(curve, frames):
    """All parts of the keys before the first and after the last of `frames`."""
    (first, last), start, end = curve.range(), frames[0] - NEAR, frames[-1] + NEAR
    if (start <= first and last <= end) or not len(curve.keyframe_points):
        return {"co": NO_KEYS}
    keys = {name: _read(curve.keyframe_points, name) for name in KEY_PARTS}
    outside = (keys["co"][:, 0] < start) | (keys["co"][:, 0] > end)
    return {name: part[outside] for name, part in keys.items()}


def _surround(part, new, kept):
    """One part of all keys: the kept ones around the new ones."""
    part[: new.start], part[new.stop :] = kept[: new.start], kept[new.start :]
    return part


def _key_parts(channel, frames, interpolation, kept=NO_KEYS, before=0):
    """The parts of new keys, one for all or one for each, inserted after some of the kept ones."""
    smooth = channel.slopes is not None
    shape = SMOOTH_KEY if smooth else {"interpolation": interpolation, **NEW_KEY}
    made = {"co": np.empty((len(frames), 2), np.float32)}
    made["co"][:, 0], made["co"][:, 1] = frames, channel.values
    made |= {name: _number(name, value) for name, value in shape.items()}
    if smooth:
        near = [kept[:before][-1:, 0], frames, kept[before:][:1, 0]]
        thirds = np.diff(np.concatenate(near)) / 3 if sum(map(len, near)) > 1 else np.full(1, 1 / 3)
        first = len(near[0])
        ways = -np.r_[thirds[0], thirds][first:][: len(frames)], np.r_[thirds, thirds[-1]][first:][: len(frames)]
        for name, way in zip(HANDLES, ways, strict=True):
            # a third of the distance to the next key: time is then linear, and the curve has these slopes
            made[name] = made["co"] + way[:, np.newaxis] * np.column_stack([np.ones(len(frames)), channel.slopes])
    return made


def _set_key_parts(curve, keys):
    """Set parts of new keys, which are all equal at first: one value for all or one for each."""
    points = curve.keyframe_points
    for name, part in keys.items():
        dtype, width = KEY_PARTS[name]
        now = _number(name, getattr(points[0], name))
        if np.ndim(part) == 0:
            if part != now:
                points.foreach_set(name, np.full(len(points), part, dtype))
        elif not (part == np.array(now)).all():
            points.foreach_set(name, np.ascontiguousarray(part, dtype).reshape(width * len(points)))


@functools.cache
def _enumeration_number(name, word):
    """The number of an enumeration value in arrays of keys."""
    return bpy.types.Keyframe.bl_rna.properties[name].enum_items[word].value


def _number(name, value):
    """A part of a key as a number: enumerations by index."""
    return _enumeration_number(name, value) if isinstance(value, str) else value


def _read(points, name):
    """One part of all keys of a curve, as an array."""
    dtype, width = KEY_PARTS[name]
    part = np.empty(len(points) * width, dtype)
    points.foreach_get(name, part)
    return part.reshape(-1, width) if width > 1 else part
