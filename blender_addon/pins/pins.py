# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""The pins of an armature, bones pinned to objects or other bones: as Blender stores them, and by value."""

import itertools
from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, PointerProperty, StringProperty
from mathutils import Vector

from ..animation import actions, scene_frames
from ..feet.legs import overridable
from ..rig import skin
from ..rig.armatures import CannotBakeError, Rig, movable
from ..rig.ik_limits import Freedom
from ..rig.rotations import quaternions, unit
from . import knees
from .full_body import BALANCED, PIN_METHODS

TITLE = "Baked Pins"  # the name of baked actions
WIDTH = 0.35  # smallest width of a sole, relative to its length
# A knee joins two bones that make up at least LIMB of the limb, with a length ratio of at least EVEN.
LIMB, EVEN = 0.6, 0.5
MIRRORED = 0.02  # relative to their length: tolerance of the mirror image on the other side
_weighed = {}  # bone masses by the uids of armatures: cached, because measuring is slow
_bending = {}  # by the uids of armatures: chains and rest pose, and the knees in them, needed at every update


def _tell(item, context):
    """Notify live pins, through Blender, of changed settings."""
    item.id_data.update_tag(refresh={"DATA"})


@overridable
class IKCORE_PG_pin(bpy.types.PropertyGroup):
    """A bone pinned to a target."""

    name: StringProperty(name="Bone", description="The pinned bone")
    target: PointerProperty(
        name="Target", description="The object to pin the bone to", type=bpy.types.Object, update=_tell
    )
    subtarget: StringProperty(name="Bone", description="The bone of the target armature", update=_tell)
    use: BoolProperty(name="Use", description="Use this pin. Off: the bone is free", default=True, update=_tell)
    rotation: BoolProperty(
        name="Rotation", description="Match the rotation of the target too", default=True, update=_tell
    )
    supports_weight: BoolProperty(
        name="Supports Weight",
        description="The bone and its children stand on the ground: Balance keeps the weight over them",
        update=_tell,
    )


@overridable
class IKCORE_PG_pins(bpy.types.PropertyGroup):
    """The pins of an armature, and how its body bends for them."""

    pins: CollectionProperty(name="Pins", description="Pinned bones", type=IKCORE_PG_pin)
    active: IntProperty(name="Active Pin", description="The pin whose target is displayed")
    method: EnumProperty(
        name="Method", description="How the body bends for its pins", items=PIN_METHODS, default=BALANCED, update=_tell
    )
    root_bone: StringProperty(
        name="Root Bone",
        description="The bone that moves the whole body, usually the hips. Empty: the first bone from the root with "
        "several branches. A chain without branches keeps its start in place",
        update=_tell,
    )
    one_way: BoolProperty(
        name="Bend One Way",
        description="Knees and elbows bend only to their side at rest, or in the animation. Bones with IK limits, "
        "locks or stiffness use these instead",
        default=True,
        update=_tell,
    )
    balance: BoolProperty(
        name="Balance",
        description="Keep the centre of mass over the pins with Supports Weight. The mass of a bone comes from its "
        "skin, or without a skin from its length",
        update=_tell,
    )


def pinned_armature(context):
    """The active object, or the armature of which it is a pin, because a dragged pin is the active object."""
    item = context.object
    if item is None or item.type == "ARMATURE":
        return item
    armatures = (each for each in context.view_layer.objects if each.type == "ARMATURE")
    return next((each for each in armatures if any(pin.target == item for pin in each.ikcore_pins.pins)), item)


def forget():
    """Clear the cached masses and knees."""
    _weighed.clear()
    _bending.clear()


@dataclass(frozen=True)
class Pin:
    """A pin by value, with its target."""

    bone: str
    target: bpy.types.Object
    subtarget: str
    turned: bool
    first: str  # the first bone of its chain
    sole: tuple  # support points in the space of the bone, at rest; empty if it supports no weight

    def place(self, depsgraph):
        """World matrix of its target."""
        return scene_frames.world_matrix(self.target, self.subtarget, depsgraph)


@dataclass(frozen=True)
class PinSet:
    """The pins of an armature by value: equal as long as pins and settings are unchanged."""

    pins: tuple[Pin, ...]
    body: str | None  # the bone that may move freely, if any
    method: str
    freedoms: dict  # allowed motion of the bones of its chains, by name
    knees: tuple  # (upper bone, lower bone, end) of each knee and elbow with a bend direction
    weights: dict | None  # if balance is kept: masses of bones, with centres in their own space

    @property
    def names(self):
        """The names of the pinned bones."""
        return [pin.bone for pin in self.pins]

    @property
    def bones(self):
        """The names of the bones to read, to which ancestors are added; None for all, which have mass."""
        return None if self.weights else set(self.names)

    def places(self, depsgraph):
        """World matrices of the pins' targets: (pins, 4, 4)."""
        found = np.array([pin.place(depsgraph) for pin in self.pins])
        if not np.isfinite(found).all():
            lost = self.pins[int(np.argmin(np.isfinite(found).all(axis=(1, 2))))]
            raise CannotBakeError(f"The pin of {lost.bone} has no finite place: move its target")
        return found


def read_pins(armature, rig=None):
    """The pins of an armature by value, or a CannotBakeError. `rig` is its Rig, if that has been read."""
    kept, bones = armature.ikcore_pins, armature.pose.bones
    used = [pin for pin in kept.pins if pin.use]
    if not used:
        raise CannotBakeError(f"{armature.name} has no pins: select bones in Pose Mode and press Pin")
    for pin in used:
        if pin.name not in bones:
            raise CannotBakeError(f"{armature.name} has no pinned bone {pin.name}: remove that pin")
    if kept.root_bone and kept.root_bone not in bones:
        raise CannotBakeError(f"{armature.name} has no root bone {kept.root_bone}: choose another one")
    first = kept.root_bone or branching_bone(bones[used[0].name])
    pins = tuple(_pin(armature, pin, first) for pin in used)
    below = {bones[pin.bone] for pin in pins if pin.first == first}
    goes = below and first and movable(bones[first], rig or Rig(armature))
    names = {name for pin in pins for name in _chain(bones[pin.bone], pin.first)}
    freedoms = {name: _freedom(bones[name]) for name in sorted(names)}
    bending = _knees(armature, pins, freedoms) if kept.one_way else ()
    weights = _weights(armature, pins) if kept.balance else None
    return PinSet(pins, first if goes else None, kept.method, freedoms, bending, weights)


def source(armature):
    """The original action of a bake, not its result; None without an action."""
    animation = armature.animation_data
    if not animation or not animation.action:
        return None
    return actions.source(animation) if animation.action.get(actions.MADE) == TITLE else animation.action


def sides(armature, held, clip):
    """Bend directions of knees: {name of the lower bone: knees.OneWay}; clip is to be solved."""
    return knees.one_way(held.knees, clip, _keyed_rotations(armature, held)) if held.knees else {}


def _keyed_rotations(armature, held):
    """Keyed rotations of bones below knees relative to rest, by name: {name: (frames, 4)}."""
    animation, action, found = armature.animation_data, source(armature), {}
    curves = actions.by_path(actions.curves_in(action, animation.action_slot)) if action else {}
    for _, name, _ in held.knees:
        bone = armature.pose.bones[name]
        path = actions.rotation_path(bone)
        if ends := [curve.range() for curve in curves.get(path, ()) if len(curve.keyframe_points)]:
            frames = np.arange(np.floor(min(ends)[0]), max(end for _, end in ends) + 1)
            values = actions.numbers(curves, bone, path, actions.rotation_of(bone), frames)
            found[name] = quaternions(bone.rotation_mode, values)
    return found


def _knees(armature, pins, freedoms):
    """The knees and elbows of chains, as (upper bone, lower bone, end), if IK settings leave the lower bone free.

    A limb extends between branching bones, or to the pin. Its knee is between its two longest bones if these are most
    of it and similar, and the armature has the mirror image. Tails and spines therefore have none.
    """
    bones = armature.data.bones
    heads = np.empty((len(bones), 3), np.float32)
    bones.foreach_get("head_local", heads.reshape(-1))
    chains = tuple((pin.bone, pin.first) for pin in pins)
    known, found = _bending.get(armature.session_uid, (None, ()))
    if known != (chains, heads.tobytes()):
        limbs = (limb for name, first in chains for limb in _limbs(armature.pose.bones[name], first))
        knees_of = (_knee([bones[name] for name in limb], heads) for limb in limbs)
        found = tuple(dict.fromkeys(knee for knee in knees_of if knee))
        _bending[armature.session_uid] = (chains, heads.tobytes()), found
    return tuple(knee for knee in found if freedoms[knee[1]].is_free)


def _limbs(bone, first):
    """The parts of a chain between branching bones, each from its root to its end, inclusive."""
    limbs = [[]]
    for name in reversed(_chain(bone, first)):
        limbs[-1].append(name)
        if name != bone.name and _branches(bone.id_data.pose.bones[name]):
            limbs.append([])
    return limbs


def _knee(limb, heads):
    """The (upper bone, lower bone, end) of a limb, or None."""
    ways = [(below.head_local - above.head_local).length for above, below in pairwise(limb)]
    solid = [each for each, way in zip(limb, [*ways, 1.0], strict=True) if way > 0.0]
    ways = [way for way in ways if way > 0.0]
    pairs = [upper + lower for upper, lower in pairwise(ways)]
    if not pairs:
        return None
    n = int(np.argmax(pairs))
    both, size = ways[n : n + 2], pairs[n]
    across = solid[n + 1].head_local * Vector((-1.0, 1.0, 1.0))
    beside = np.linalg.norm(heads - np.array(across), axis=-1).min() <= MIRRORED * size
    middle = abs(across.x) <= MIRRORED * size
    if size < LIMB * sum(ways) or min(both) < EVEN * max(both) or middle or not beside:
        return None
    return tuple(each.name for each in solid[n : n + 3])


def _freedom(bone):
    """Allowed motion of a bone by its IK settings, without axes that are locked for posing."""
    free = Freedom.of(bone)
    pairs = zip(free.stiffness, bone.lock_rotation, strict=True)
    return Freedom(free.ranges, tuple(1.0 if locked else stiff for stiff, locked in pairs))


def _chain(bone, first):
    """The names of the bones from one up to the first of its chain."""
    names = [each.name for each in (bone, *bone.parent_recursive)]
    return names[: names.index(first) + 1]


def _weights(armature, pins):
    """Masses of bones, if balance can be kept."""
    if not any(pin.sole for pin in pins):
        raise CannotBakeError("Balance needs pins with Supports Weight: turn it on for the feet")
    if armature.ikcore_pins.method != BALANCED:
        raise CannotBakeError("Balance needs the method Whole Body: choose it, or turn Balance off")
    if armature.session_uid not in _weighed:
        _weighed[armature.session_uid] = skin.weights(armature)
    return _weighed[armature.session_uid]


def _pin(armature, pin, body):
    bone, target = armature.pose.bones[pin.name], pin.target
    if target is None:
        raise CannotBakeError(f"The pin of {pin.name} has no target: choose an object")
    if target.type == "ARMATURE" and (target == armature or pin.subtarget):
        if pin.subtarget not in target.pose.bones:
            raise CannotBakeError(f"The pin of {pin.name} has no bone of {target.name}: choose one")
    elif pin.subtarget:
        raise CannotBakeError(f"The pin of {pin.name} has a bone, {pin.subtarget}, of no armature: clear it")
    above = [each.name for each in (bone, *bone.parent_recursive)]
    first = body if body in above else above[-1]
    if _hangs(armature, target, pin.subtarget, first):
        raise CannotBakeError(
            f"The target of the pin of {pin.name} follows {first}, which the pin moves: choose another one"
        )
    sole = _sole(armature, bone.bone) if pin.supports_weight else ()
    return Pin(pin.name, target, pin.subtarget, pin.rotation, first, sole)


def _sole(armature, bone):
    """The support corners of a bone and its children: a rectangle on the ground, in the bone's space.

    It is measured at rest, along the direction in which they extend from the bone's head, in world units.
    """
    world = armature.matrix_world
    ends = np.array(
        [world @ end for each in (bone, *bone.children_recursive) for end in (each.head_local, each.tail_local)]
    )
    out = ends[:, :2] - ends[0, :2]
    along, _ = unit(out[np.linalg.norm(out, axis=-1).argmax()])
    aside = np.array([-along[1], along[0]])
    far, wide = out @ along, out @ aside
    half, middle = max(np.ptp(wide), WIDTH * np.ptp(far)) / 2, (wide.min() + wide.max()) / 2
    corners = [
        (*(ends[0, :2] + there * along + side * aside), ends[:, 2].min())
        for there, side in itertools.product((far.min(), far.max()), (middle - half, middle + half))
    ]
    into = (world @ bone.matrix_local).normalized().inverted()
    return tuple(tuple(into @ Vector(corner)) for corner in corners)


def _hangs(armature, target, subtarget, first):
    """True if a bone moves a target through parents. Constraints may do so too, but Blender reports that."""
    while target is not None:
        name = subtarget if target == armature else ""
        if name and first in {name, *(above.name for above in armature.pose.bones[name].parent_recursive)}:
            return True
        target, subtarget = target.parent, target.parent_bone
    return False


def branching_bone(bone):
    """The name of the first branching bone from the root to this one; None without any."""
    return next((each.name for each in reversed([bone, *bone.parent_recursive]) if _branches(each)), None)


def _branches(bone):
    """True if several children of a bone have children themselves."""
    return sum(bool(child.children) for child in bone.children) > 1


CLASSES = (IKCORE_PG_pin, IKCORE_PG_pins)
