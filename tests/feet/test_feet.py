"""Feet, of skeletons whose legs are written down."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gaits
import mocap
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core
from ikcore.feet import Sole, leg_structure, soles

Array = NDArray[Any]
Places = Mapping[str, tuple[str | None, tuple[float, float, float]]]  # name: parent, place in the world at rest


def body(places: Places, turn: Array | None = None) -> ik.Skeleton:
    """A skeleton with these joints; `turn` is a rotation of all, and joints have strange axes at rest."""
    names = list(places)
    parents = [-1 if above is None else names.index(above) for above, _ in places.values()]
    at = np.array([place for _, place in places.values()], float)
    world = ik.rotations.normalize(np.random.default_rng(3).normal(size=(len(names), 4)))
    if turn is not None:
        at = ik.rotations.rotate(turn, at)
    bare = ik.Skeleton(parents, np.zeros((len(names), 3)), names=names)
    local = bare.local(ik.skeleton.World(at, world))
    assert local.translations is not None
    return ik.Skeleton(parents, local.translations, local.rotations, names)


# Hip, twist, knee, twist, ankle, middle of the foot, ball, tip, of a left leg whose ground is at 0.
LEFT = {
    **{"hip": (0.1, 0.9, 0), "thigh_twist": (0.105, 0.7, 0.005), "knee": (0.11, 0.48, 0.02)},
    **{"shin_twist": (0.11, 0.28, 0.01), "ankle": (0.11, 0.08, -0.02), "mid": (0.112, 0.06, 0.03)},
    **{"ball": (0.115, 0.02, 0.11), "toe": (0.118, 0.015, 0.18)},
}
NAMES = {  # by family: names of the joints of a left leg from the hip on, as (part, name); and a trunk
    "Mixamo": ("mixamorig:Hips", "mixamorig:{Left}{}", "hip UpLeg, knee Leg, ankle Foot, ball ToeBase, toe Toe_End"),
    "Mixamo with a number": ("mixamorig7:Hips", "mixamorig7:{Left}{}", "hip UpLeg, knee Leg, ankle Foot, ball ToeBase"),
    "Mixamo in three.js": ("mixamorigHips", "mixamorig{Left}{}", "hip UpLeg, knee Leg, ankle Foot, ball ToeBase"),
    "CMU": ("Hips", "{Left}{}", "hip UpLeg, knee Leg, ankle Foot, ball ToeBase, toe ToeBase_end"),
    "LaFAN": ("Hips", "{Left}{}", "hip UpLeg, knee Leg, ankle Foot, ball Toe"),
    "CMU in capitals": ("HIPS", "{LEFT}{}", "hip UPLEG, knee LEG, ankle FOOT, ball TOEBASE"),
    "CMU in ASF": ("root", "{l}{}", "hip femur, knee tibia, ankle foot, ball toes"),
    "motion capture": ("Hips", "{Left}{}", "hip Hip, knee Knee, ankle Ankle, ball Toe"),
    "Rigify DEF": (
        "DEF-spine",
        "DEF-{}",
        "hip thigh.{L}, thigh_twist thigh.{L}.001, knee shin.{L}, shin_twist shin.{L}.001, ankle foot.{L}, "
        "ball toe.{L}",
    ),
    "Rigify ORG": ("ORG-spine", "ORG-{}.{L}", "hip thigh, knee shin, ankle foot, ball toe"),
    "Rigify FK": ("torso", "{}_fk.{L}", "hip thigh, knee shin, ankle foot, ball toe"),
    "Rigify's plain rig": ("spine", "{}.{L}", "hip thigh, knee shin, ankle foot, ball toe"),
    "Unreal": ("pelvis", "{}_{l}", "hip thigh, knee calf, ankle foot, ball ball"),
    "Auto-Rig Pro": ("root.x", "{}.{l}", "hip thigh_stretch, knee leg_stretch, ankle foot, ball toes_01"),
    "Auto-Rig Pro FK": ("c_root.x", "c_{}_fk.{l}", "hip thigh, knee leg, ankle foot, ball toes"),
    "CC": ("CC_Base_Hip", "CC_Base_{L}_{}", "hip Thigh, knee Calf, ankle Foot, ball ToeBase"),
    "MMD": ("センター", "{左}{}", "hip 足, knee ひざ, ankle 足首, toe つま先"),
    "MMD in Blender": ("センター", "{}.{L}", "hip 足, knee ひざ, ankle 足首, toe つま先"),
    "Daz 8": (
        "hip",
        "{l}{}",
        "hip ThighBend, thigh_twist ThighTwist, knee Shin, ankle Foot, mid Metatarsals, ball Toe",
    ),
    "Daz 2": ("hip", "{l}{}", "hip Thigh, knee Shin, ankle Foot, ball Toe"),
    "Daz 9": ("hip", "{l}_{}", "hip thigh, knee shin, ankle foot, mid metatarsals, ball toes"),
    "Rocketbox": ("Bip01 Pelvis", "Bip01 {L} {}", "hip Thigh, knee Calf, ankle Foot, ball Toe0, toe Toe0Nub"),
    "Biped": ("Bip001_Pelvis", "Bip001_{L}_{}", "hip Thigh, knee Calf, ankle Foot, ball Toe0"),
    "VRM": ("J_Bip_C_Hips", "J_Bip_{L}_{}", "hip UpperLeg, knee LowerLeg, ankle Foot, ball ToeBase"),
    "Blender": ("Body", "{}.{L}", "hip UpperLeg, knee LowerLeg, ankle Foot, ball Toes"),
    "MMD in English": ("center", "{}_{L}", "hip leg, knee knee, ankle ankle, toe toe"),
    "VRM 1": ("hips", "{left}{}", "hip UpperLeg, knee LowerLeg, ankle Foot, ball Toes"),
}
RIGHT = {"left": "right", "Left": "Right", "LEFT": "RIGHT", "l": "r", "L": "R", "左": "右"}


def human(family: str) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """A body with two legs and two arms, and what the joints of its legs are called."""
    root, pattern, text = NAMES[family]
    places: dict[str, Any] = {root: (None, (0, 1, 0)), "chest": (root, (0, 1.4, 0)), "head": ("chest", (0, 1.6, 0.05))}
    called: dict[str, dict[str, str]] = {}
    for side in ("left", "right"):
        words = {word: word if side == "left" else other for word, other in RIGHT.items()}
        mirrored = 1 if side == "left" else -1
        above, called[side] = root, {}
        for part, short in (pair.split(" ") for pair in text.split(", ")):
            name = pattern.replace("{}", short).format(**words)
            x, y, z = LEFT[part]
            places[name] = (above, (mirrored * x, y, z))
            above = called[side][part] = name
        for part, above, x in (
            ("arm", "chest", 0.2),
            ("forearm", f"{side}_arm", 0.5),
            ("palm", f"{side}_forearm", 0.8),
        ):
            places[f"{side}_{part}"] = (above, (mirrored * x, 1.4, 0))
    return places, called


@pytest.mark.parametrize("family", NAMES)
def test_every_family_of_names(family: str) -> None:
    """A body with its legs up in the air, so that only names identify them."""
    places, called = human(family)
    legs = {name for joints in called.values() for name in joints.values()}
    places = {n: (above, (x, 1.8 - y if n in legs else y, z)) for n, (above, (x, y, z)) in places.items()}
    feet = ik.Feet.detect(body(places), up="Y")
    assert [leg.name for leg in feet] == ["left", "right"]
    for side in ("left", "right"):
        leg, joints = feet[side], called[side]
        assert (leg.side, leg.hip, leg.knees) == (side, joints["hip"], (joints["knee"],))
        assert (leg.ankle, leg.ball, leg.toe) == (joints["ankle"], joints.get("ball"), joints.get("toe"))


@pytest.mark.parametrize("change", [str.upper, str.lower])
@pytest.mark.parametrize("family", ["Mixamo", "Rigify FK", "Unreal", "CC", "Rocketbox", "VRM", "Daz 8"])
def test_names_in_any_case(family: str, change: Any) -> None:
    places, called = human(family)
    places = {change(name): (above and change(above), at) for name, (above, at) in places.items()}
    assert ik.Feet.detect(body(places))["left"].hip == change(called["left"]["hip"])


def test_of_a_whole_rig_the_bones_that_are_keyed() -> None:
    """Not those that follow them, nor the IK ones and the mechanics beside them."""
    places: dict[str, Any] = {}
    for family in ("Rigify ORG", "Rigify DEF", "Rigify FK"):
        places |= {name: at for name, at in human(family)[0].items() if name not in places}
    for side, x in (("L", 0.1), ("R", -0.1)):
        places[f"MCH-thigh_ik.{side}"] = ("torso", (x, 0.9, 0))
        places[f"foot_ik.{side}"] = (None, (x, 0.1, 0))
    assert ik.Feet.detect(body(places))["left"].chain == ("thigh_fk.L", "shin_fk.L", "foot_fk.L", "toe_fk.L")
    deform = {name: at for name, at in places.items() if not name.endswith(("_fk.L", "_fk.R"))}
    assert ik.Feet.detect(body(deform))["left"].hip == "DEF-thigh.L"


def test_names_of_a_quadruped() -> None:
    places, _ = human("Rigify's plain rig")
    for side, x in (("L", 0.1), ("R", -0.1)):
        for part, above, y, z in (
            ("thigh", "chest", 0.9, 1.0),
            ("shin", "thigh", 0.5, 1.0),
            ("foot", "shin", 0.1, 1.0),
        ):
            places[f"front_{part}.{side}"] = (above if above == "chest" else f"front_{above}.{side}", (x, y, z))
    feet = ik.Feet.detect(body(places))
    assert [leg.name for leg in feet] == ["front left", "front right", "hind left", "hind right"]
    assert (feet["front left"].hip, feet["hind right"].hip) == ("front_thigh.L", "thigh.R")


# --- by structure ----------------------------------------------------------------------------------------------------

FOX: Places = {
    "root": (None, (0, 0, 0)),
    "hip": ("root", (0, 43, -27)),
    "spine": ("hip", (0, 55, -22)),
    "chest": ("spine", (0, 53, 0)),
    "neck": ("chest", (0, 53, 25)),
    "head": ("neck", (0, 60, 36)),
    "brush1": ("hip", (0, 52, -40)),
    "brush2": ("brush1", (0, 28, -67)),
    "brush3": ("brush2", (0, 2, -75)),  # on the ground
}
FOX_LEGS = {
    "front": ("chest", [(7, 49, 18), (7, 26, 17), (7, 6, 18)]),
    "hind": ("hip", [(7, 49, -30), (7, 30, -27), (7, 16, -38), (7, 1, -33)]),
}


def fox(named: bool) -> tuple[dict[str, Any], dict[str, list[str]]]:
    places, called = dict(FOX), {}
    for leg, (start, joints) in FOX_LEGS.items():
        for side, mirrored in (("left", 1), ("right", -1)):
            above, key = start, f"{leg} {side}"
            called[key] = [f"{side}_{leg}{n}" if named else f"bone{len(places) + n}" for n in range(len(joints))]
            for name, (x, y, z) in zip(called[key], joints, strict=True):
                places[name] = (above, (mirrored * x, y, z))
                above = name
    return places, called


@pytest.mark.parametrize("named", [True, False], ids=["sides named", "no sides"])
def test_a_fox(named: bool) -> None:
    places, called = fox(named)
    skeleton = body(places)
    feet = ik.Feet.detect(skeleton)
    assert [leg.name for leg in feet] == ["front left", "front right", "hind left", "hind right"]
    for leg in feet:
        assert [leg.hip, *leg.knees, leg.ankle] == called[leg.name]
        assert (leg.ball, leg.toe, list(leg.soles)) == (None, None, ["ball"])
    assert [len(leg.knees) for leg in feet] == [1, 1, 2, 2]
    assert_allclose([leg.soles["ball"].offset for leg in feet], [under(skeleton, leg) for leg in feet], atol=1e-9)


def under(skeleton: ik.Skeleton, leg: ik.Leg) -> Array:
    """The place at height 0 under a foot, in its space."""
    world, joint = skeleton.forward(skeleton.rest), skeleton.index(leg.foot)
    down = [0, -world.positions[joint, 1], 0]
    return ik.rotations.rotate(world.rotations[joint] * [1, -1, -1, -1], down)


def spider(tips: bool) -> dict[str, Any]:
    """Eight legs; without tips, IK targets are where these would be."""
    places: dict[str, Any] = {"Root": (None, (0, 0, 0)), "Body": ("Root", (0, 0.19, 0))}
    for side, mirrored in (("L", 1), ("R", -1)):
        for leg, angle in {"Front": 1.1, "MidFront": 0.2, "MidBack": -0.4, "Back": -1.1}.items():
            for part, above, out, up in (("Upper", "Body", 0.1, 0.19), ("Lower", f"Leg{leg}Upper.{side}", 0.4, 0.28)):
                at = (mirrored * out * np.cos(angle), up, out * np.sin(angle))
                places[f"Leg{leg}{part}.{side}"] = (above, at)
            part, above = ("Tip", f"Leg{leg}Lower.{side}") if tips else ("IK", "Root")
            places[f"Leg{leg}{part}.{side}"] = (above, (mirrored * 0.6 * np.cos(angle), 0.01, 0.6 * np.sin(angle)))
    return places


@pytest.mark.parametrize("tips", [True, False])
def test_a_spider(tips: bool) -> None:
    places = spider(tips)
    skeleton = body(places)
    feet = ik.Feet.detect(skeleton)
    assert [leg.name for leg in feet] == [f"{side} {n}" for n in range(1, 5) for side in ("left", "right")]
    at = feet.positions(skeleton, skeleton.rest)
    for n, leg in enumerate(["Front", "MidFront", "MidBack", "Back"], 1):
        for side, letter in (("left", "L"), ("right", "R")):
            found, end = feet[f"{side} {n}"], f"Leg{leg}{'Tip' if tips else 'IK'}.{letter}"
            assert (found.hip, found.knees) == (f"Leg{leg}Upper.{letter}", (f"Leg{leg}Lower.{letter}",))
            assert (found.ankle, found.foot) == ((end, end) if tips else (None, f"Leg{leg}Lower.{letter}"))
            x, y, z = places[end][1]
            assert_allclose(at[found.name, "ball"], [x, 0 if tips else y, z], atol=1e-9)


@pytest.mark.parametrize(("up", "facing"), [("Y", 0.0), ("Y", 0.5), ("Y", 1.0), ("Z", 0.0), ("Z", 1.0)])
def test_sides_of_a_body_without_names(up: str, facing: float) -> None:
    """Left is the left of a body that looks where its feet point, whichever axis that is."""
    places, called = human("CMU")
    numbers = {name: f"{place}" for place, name in enumerate(places)}
    places = {numbers[name]: (above and numbers[above], at) for name, (above, at) in places.items()}
    turn = ik.rotations.from_axis_angle([0, 1, 0], facing * np.pi)
    if up == "Z":
        turn = ik.rotations.multiply(ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2), turn)
    feet = ik.Feet.detect(body(places, turn), up=up)
    for side in ("left", "right"):
        assert feet[side].chain == tuple(numbers[name] for name in called[side].values())


def test_a_sword_and_a_coat_are_no_legs() -> None:
    places, _ = human("Unreal")
    names = {name: name.replace("thigh", "a").replace("calf", "b").replace("foot", "c") for name in places}
    places = {names[name]: (above and names[above], at) for name, (above, at) in places.items()}
    places |= {"sword": ("left_palm", (1.0, 1.4, 0)), "point": ("sword", (2.2, 1.4, 0))}
    for side, x in (("l", 0.2), ("r", -0.2)):
        for n, above, y in ((1, "pelvis", 0.9), (2, f"coat1_{side}", 0.5), (3, f"coat2_{side}", 0.1)):
            places[f"coat{n}_{side}"] = (above, (x, y, -0.1))
    feet = ik.Feet.detect(body(places))
    assert [leg.hip for leg in feet] == ["a_l", "a_r"]
    assert feet["left"].ankle == "c_l"


def test_numbers_that_exporters_add() -> None:
    places, called = human("Daz 8")  # whose middle of the foot would be its ball by structure
    numbers = {name: f"{name}_{n:03}" for n, name in enumerate(places)}
    places = {numbers[name]: (above and numbers[above], at) for name, (above, at) in places.items()}
    assert ik.Feet.detect(body(places))["right"].ball == numbers[called["right"]["ball"]]


def test_a_long_foot_is_no_shin() -> None:
    places: dict[str, Any] = {"pelvis": (None, (0, 1, 0)), "head": ("pelvis", (0, 1.6, 0))}
    for side, x in (("a", 0.1), ("b", -0.1)):
        above = "pelvis"
        for part, y, z in (("1", 0.9, 0), ("2", 0.5, 0.02), ("3", 0.1, 0), ("4", 0.02, 0.35), ("5", 0.02, 0.6)):
            places[side + part] = (above, (x, y, z))
            above = side + part
    leg = ik.Feet.detect(body(places))["left"]
    assert (leg.hip, leg.knees, leg.ankle, leg.ball, leg.toe) == ("a1", ("a2",), "a3", "a4", "a5")


def test_legs_with_known_names_say_which_axis_is_up() -> None:
    places, _ = human("Mixamo")
    lying = body(places, ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2))
    feet = ik.Feet.detect(lying)
    assert feet == ik.Feet.detect(lying, up="Z")
    assert_allclose(feet.positions(lying, lying.rest)["left", "heel"][2], 0, atol=1e-9)


def test_pelvis_bones_of_a_leg_and_several_toes_belong_to_no_shin() -> None:
    places, _ = human("CMU")
    legs = [name for name in places if name.startswith(("Left", "Right"))]
    for name in legs:
        above, at = places.pop(name)
        places[name.replace("Up", "A").replace("Leg", "B").replace("Foot", "C")] = (
            above.replace("Up", "A").replace("Leg", "B").replace("Foot", "C"),
            at,
        )
    for side, mirrored in (("Left", 1), ("Right", -1)):
        places = {f"{side}Haunch": ("Hips", (mirrored * 0.02, 0.98, 0)), **places}
        places[f"{side}AB"] = (f"{side}Haunch", places[f"{side}AB"][1])
        places[f"{side}Small"] = (f"{side}C", (mirrored * 0.16, 0.015, 0.1))
    hips = places.pop("Hips")
    leg = ik.Feet.detect(body({"Hips": hips, **places}))["left"]
    assert leg.chain == ("LeftAB", "LeftB", "LeftC", "LeftToeBase", "LeftToeBase_end")


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_clip_in_place_of_its_skeleton_is_told_how() -> None:
    with pytest.raises(TypeError, match=r"got a Clip: Feet.detect\(clip.skeleton, clip=clip\)"):
        ik.Feet.detect(ik.samples.walk(seconds=1).clip)  # type: ignore[arg-type]


def test_a_foot_that_is_not_under_its_shin_is_refused() -> None:
    places, _ = human("Unreal")
    places["foot_r"] = ("pelvis", places["foot_r"][1])
    sentence = (
        "the foot 'foot_r' is not under the shin 'calf_r' but under 'pelvis': "
        "a leg is a chain from hip to foot, parent the foot to the shin"
    )
    with pytest.raises(ValueError, match="foot_r") as refused:
        ik.Feet.detect(body(places))
    assert str(refused.value) == sentence


def test_other_broken_legs_are_refused() -> None:
    places, _ = human("VRM 1")
    places["leftLowerLeg"] = (None, places["leftLowerLeg"][1])
    with pytest.raises(
        ValueError, match="the shin 'leftLowerLeg' is not under the thigh 'leftUpperLeg' but a root: a leg"
    ):
        ik.Feet.detect(body(places))
    loose: dict[str, Any] = {"a": (None, (0.0, 1.0, 0.0))}
    for n, x in enumerate((0.1, -0.1)):
        loose |= {f"b{n}": ("a", (x, 0.9, 0)), f"c{n}": (f"b{n}", (x, 0.5, 0))}
        loose |= {f"d{n}": ("a", (x, 0.1, 0)), f"e{n}": (f"d{n}", (x, 0.0, 0.2))}
    assert [leg.chain for leg in ik.Feet.detect(body(loose))] == [("d0", "e0"), ("d1", "e1")]  # feet of no legs
    loose["d0"] = ("c0", loose["d0"][1])  # now only one foot is loose
    with pytest.raises(ValueError, match="'d1' is at the ground but hangs on 'a', without a knee between: a leg is"):
        ik.Feet.detect(body(loose))


@pytest.mark.quick
def test_fins_are_no_legs() -> None:
    places: dict[str, Any] = {"body": (None, (0.0, 1.0, 0.0)), "head": ("body", (0.0, 1.0, 0.8))}
    for side, x in (("L", 0.1), ("R", -0.1)):
        for part, z in (("1", 0.9), ("2", 0.6), ("3", 0.3)):
            above = "body" if part == "1" else f"limb_{int(part) - 1}.{side}"
            places[f"limb_{part}.{side}"] = (above, (6 * x * (1 - z) + x, z, 0.0))
    assert len(ik.Feet.detect(body(places))) == 2
    called = {
        name.replace("limb", "fin"): (above and above.replace("limb", "fin"), at)
        for name, (above, at) in places.items()
    }
    with pytest.raises(ValueError, match="no legs found among 8 joints"):
        ik.Feet.detect(body(called))


@pytest.mark.parametrize("joints", [1, 2, 5])
def test_what_has_no_legs_is_refused(joints: int) -> None:
    tail = ik.Skeleton.chain(np.arange(3.0 * joints).reshape(joints, 3))
    with pytest.raises(ValueError, match=f"no legs found among {joints} joints, by name or by structure: give them"):
        ik.Feet.detect(tail)


WORDS = st.sampled_from(["thigh", "shin", "foot", "toe", "L", "R", "Left", "UpLeg", "Leg", "Foot", "IK", "Upper", "x"])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 30), st.lists(WORDS, max_size=3), st.sampled_from([-1, 0, 0.5, 1])), min_size=1),
    st.integers(0, 99),
)
def test_any_tree_has_feet_that_fit_it_or_is_refused(joints: list[tuple[int, list[str], float]], seed: int) -> None:
    parents = [min(above, joint - 1) for joint, (above, _, _) in enumerate(joints)]
    names = [f"{'_'.join(words)}_{joint}" if words else str(joint) for joint, (_, words, _) in enumerate(joints)]
    offsets = np.random.default_rng(seed).choice([-1.0, 0, 0, 1], (len(joints), 3))
    offsets[:, 0] *= [size for _, _, size in joints]
    skeleton = ik.Skeleton(parents, offsets, names=names)
    try:
        feet = ik.Feet.detect(skeleton)
    except ValueError as error:
        assert re.search("a leg is a chain from hip to foot|no legs found", str(error))  # noqa: PT017
        return
    feet.check(skeleton)
    for place in feet.positions(skeleton, skeleton.rest).values():
        assert np.isfinite(place).all()


def test_arguments_are_checked() -> None:
    walk = ik.samples.walk(seconds=1).clip
    with pytest.raises(ValueError, match="clip: expected one of this skeleton"):
        ik.Feet.detect(body(human("CMU")[0]), clip=walk)
    with pytest.raises(ValueError, match="up: expected 'Y' or 'Z', got 'X'"):
        ik.Feet.detect(walk.skeleton, up="X")
    with pytest.raises(ValueError, match="vertices: 'LeftFoot': expected finite numbers of shape"):
        ik.Feet.detect(walk.skeleton, vertices={"LeftFoot": [[0, 0, np.nan]]})
    with pytest.raises(ValueError, match="no joint is called 'Foot'"):
        ik.Feet.detect(walk.skeleton, vertices={"Foot": [[0, 0, 0]]})


# --- animals, and poses that do not stand ----------------------------------------------------------------------------

DOG_NAMES = {
    "hind": ["{}UpLeg", "{}Leg", "{}Foot", "{}ToeBase"],
    "front": ["{}Arm", "{}ForeArm", "{}Hand"],
}


def dog() -> dict[str, Any]:
    """A fox whose joints are called as those of a human."""
    places = dict(FOX)
    for leg, (start, joints) in FOX_LEGS.items():
        for side, mirrored in (("Left", 1), ("Right", -1)):
            above = start
            for name, (x, y, z) in zip(DOG_NAMES[leg], joints, strict=True):
                places[name.format(side)] = (above, (mirrored * x, y, z))
                above = name.format(side)
    return places


def test_arms_that_are_legs() -> None:
    feet = ik.Feet.detect(body(dog()))
    assert [leg.name for leg in feet] == ["front left", "front right", "hind left", "hind right"]
    assert (feet["front left"].hip, feet["front right"].ankle) == ("LeftArm", "RightHand")
    assert feet["hind left"].chain == ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase")


@pytest.mark.parametrize("hands", [(0.3, 0.75, 0.0), (0.25, 0.02, 0.05), (0.2, 1.3, 0.5), (0.2, 0.3, 0.9)])
def test_arms_of_a_human_are_none(hands: tuple[float, float, float]) -> None:
    """Even where they reach down to the feet, as those of one who stretches."""
    places, _ = human("CMU")
    x, y, z = hands
    for side, mirrored in (("left", 1), ("right", -1)):
        places[f"{side}_forearm"] = (f"{side}_arm", (mirrored * 0.25, (1.4 + y) / 2, z))
        places[f"{side}_palm"] = (f"{side}_forearm", (mirrored * x, y, z))
    assert [leg.name for leg in ik.Feet.detect(body(places))] == ["left", "right"]


def test_an_animal_on_its_toes_has_no_heel() -> None:
    """Its ankle is a hock, high above the ball; that of a human is not."""
    skeleton = body(dog())
    feet = ik.Feet.detect(skeleton)
    at = feet.positions(skeleton, skeleton.rest)
    assert "heel" not in feet["hind left"].soles
    assert_allclose(at["hind left", "ball"], [7, 0, -33], atol=1e-9)
    assert_allclose(at["hind left", "toe"][1], 0, atol=1e-9)
    places, _ = human("CMU")
    assert "heel" in ik.Feet.detect(body(places))["left"].soles


def test_paws_of_a_clip_are_those_of_a_rest_that_stands() -> None:
    """A wrist is higher above the ground than an ankle; what a clip sinks or turns does not matter."""
    places, _ = fox(named=True)
    skeleton = body(places)
    at = np.tile(skeleton.rest.rotations, (20, 1, 1))
    moved = np.tile(skeleton.offsets, (20, 1, 1))
    moved[:, 0, 1] -= 3.0
    bent = ik.rotations.from_axis_angle([1, 0, 0], np.linspace(0.2, 0.6, 20))
    paw = skeleton.index("left_front2")
    at[:, paw] = ik.rotations.multiply(bent, at[:, paw])
    clip = ik.Clip(skeleton, ik.Pose(at, moved), 24)
    for leg in ik.Feet.detect(skeleton, clip=clip):
        assert_allclose(leg.soles["ball"].offset, under(skeleton, leg), atol=1e-9)


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("rest", ["lies on its back", "lies on its face", "is upside down", "hangs by the toes"])
def test_a_rest_pose_that_lies_and_a_clip_that_stands(rest: str, names: bool) -> None:
    truth = ik.samples.walk(seconds=3)
    skeleton, q = truth.clip.skeleton, truth.clip.skeleton.rest.rotations.copy()
    if rest == "hangs by the toes":  # as clips whose rest has all rotations at 0 may have it
        for side in ("Left", "Right"):
            q[skeleton.index(f"{side}Foot")] = ik.rotations.from_axis_angle([1, 0, 0], 1.4)
    else:
        angle = {"lies on its back": -1.57, "lies on its face": 1.57, "is upside down": 3.1}[rest]
        q[0] = ik.rotations.from_axis_angle([1, 0, 0], angle)
    named = skeleton.names if names else tuple(str(joint) for joint in range(len(skeleton)))
    if rest == "is upside down" and not names:
        return  # nothing says so
    lying = ik.Skeleton(skeleton.parents, skeleton.offsets, q, named)
    clip = ik.Clip(lying, truth.clip.pose, truth.clip.fps)
    feet = ik.Feet.detect(lying, clip=clip)
    assert [leg.name for leg in feet] == ["left", "right"]
    if names:
        check_soles_of_walk(clip, feet, truth)
        if rest != "hangs by the toes":
            assert not any(leg.soles for leg in ik.Feet.detect(lying, up="Y"))
    else:
        called = [lying.names[skeleton.index(name)] for name in ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase")]
        assert feet["left"].chain[:4] == tuple(called)


def test_a_foot_and_its_toes_that_have_no_size_by_turns() -> None:
    clip = ik.samples.walk(seconds=2).clip
    scales = np.ones((len(clip), len(clip.skeleton), 3))
    scales[::2, clip.skeleton.index("LeftFoot")] = scales[1::2, clip.skeleton.index("LeftToeBase")] = 0.0
    by_turns = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, clip.pose.translations, scales))
    with pytest.raises(ValueError, match="is scaled to 0, where its sole has no size"):
        ik.Feet.detect(clip.skeleton, clip=by_turns)


def test_a_record_of_all_legs_shows_as_a_table() -> None:
    lines = repr(ik.feet.measure(ik.samples.walk(seconds=2).clip)).splitlines()
    assert lines[0].split() == ["Measured,", "121", "frames", "left", "right"]
    assert lines[1] == "  drift               0.0 mm  0.0 mm"


@pytest.mark.parametrize("frames", [slice(0, 20), slice(None)])
def test_a_foot_that_is_scaled_to_nothing(frames: slice) -> None:
    truth = ik.samples.walk(seconds=3)
    skeleton = truth.clip.skeleton
    scales = np.ones((len(truth.clip), len(skeleton), 3))
    scales[frames, skeleton.index("LeftFoot")] = 0.0
    pose = ik.Pose(truth.clip.pose.rotations, truth.clip.pose.translations, scales)
    clip = dataclasses.replace(truth.clip, pose=pose)
    if frames == slice(None):
        with pytest.raises(ValueError, match="'LeftFoot' is scaled to 0, where its sole has no size: scale it up"):
            ik.Feet.detect(skeleton, clip=clip)
    else:
        found = ik.Feet.detect(skeleton, clip=clip)["left"].soles["toe"].offset
        assert_allclose(found, truth.soles["LeftToe"][1], atol=1e-3)


# --- soles -----------------------------------------------------------------------------------------------------------


def check_soles_of_walk(clip: ik.Clip, feet: ik.Feet, truth: ik.samples.Sample, scale: float = 1.0) -> None:
    """Ball and toe to rounding; the heel, where there is nothing to see it by, at the right height."""
    found = feet.positions(clip.skeleton, clip.pose)
    points = [Sole(joint, tuple(at.tolist())) for joint, at in truth.soles.values()]
    there = ik.feet.soles.points(truth.clip.skeleton, truth.clip.pose, points)
    for place, name in enumerate(truth.soles):
        side, point = ("left", name[4:]) if name.startswith("Left") else ("right", name[5:])
        away = found[side, point.lower()] * scale - there[:, place]
        assert np.abs(away).max() < (0.02 if point == "Heel" else 1e-6)
        assert np.abs(away[truth.planted(name), 1]).max() < 1e-3


@pytest.mark.parametrize("given", ["rest", "clip"])
def test_soles_of_the_walk_are_where_they_were_planted(given: str) -> None:
    truth = ik.samples.walk(seconds=3)
    feet = ik.Feet.detect(truth.clip.skeleton, clip=truth.clip if given == "clip" else None)
    check_soles_of_walk(truth.clip, feet, truth)
    assert {leg.soles["toe"].joint for leg in feet} == {"LeftToeBase", "RightToeBase"}


def test_soles_in_other_units_and_under_a_scale() -> None:
    truth = ik.samples.walk(seconds=3)
    centimetres = truth.clip.convert(unit=0.01)
    check_soles_of_walk(centimetres, ik.Feet.detect(centimetres.skeleton, clip=centimetres), truth, 0.01)
    small = truth.clip.convert(unit=0.5)
    assert small.pose.translations is not None
    scales = np.ones((len(small), len(small.skeleton), 3))
    scales[:, 0] = 0.5  # of all that hangs on the hips
    moved = small.pose.translations.copy()
    moved[:, 0] *= 0.5
    scaled = dataclasses.replace(small, pose=ik.Pose(small.pose.rotations, moved, scales))
    check_soles_of_walk(scaled, ik.Feet.detect(scaled.skeleton, clip=scaled), truth)
    check_soles_of_walk(scaled, ik.Feet.detect(scaled.skeleton), truth)


def test_a_rest_pose_that_does_not_stand_has_no_soles_and_a_clip_gives_them() -> None:
    truth = ik.samples.walk(seconds=3)
    skeleton = truth.clip.skeleton
    rest = skeleton.rest.rotations.copy()
    rest[skeleton.index("RightUpLeg")] = ik.rotations.from_axis_angle([1, 0, 0], -1.5)
    kicking = ik.Skeleton(skeleton.parents, skeleton.offsets, rest, skeleton.names)
    assert [dict(leg.soles) for leg in ik.Feet.detect(kicking)] == [{}, {}]
    clip = ik.Clip(kicking, truth.clip.pose, truth.clip.fps)
    check_soles_of_walk(clip, ik.Feet.detect(kicking, clip=clip), truth)


@pytest.mark.parametrize("height", [-1.0, 0.0, 0.05, 0.7])
def test_soles_are_as_thick_on_any_floor(height: float) -> None:
    """A clip on a higher or lower floor says nothing about that, but its rest pose does."""
    walk = gaits.walking(seconds=2).clip
    found = ik.Feet.detect(walk.skeleton, clip=gaits.moved(walk, [0, height, 0]))
    for leg in found:
        assert leg.soles["ball"].offset[1] == pytest.approx(-0.025)
        assert leg.soles["heel"].offset[1] == pytest.approx(-gaits.ANKLE)


def test_soles_of_a_floor_at_another_height() -> None:
    """If the rest pose is at another height, too, nothing says how thick the soles are: the lowest joint is on it."""
    truth = ik.samples.walk(seconds=3)
    assert truth.clip.pose.translations is not None
    offsets = truth.clip.skeleton.offsets.copy()
    offsets[0] = 0
    sunk = ik.Skeleton(truth.clip.skeleton.parents, offsets, names=truth.clip.skeleton.names)
    for shift in (-0.5, 3.0):
        moved = truth.clip.pose.translations.copy()
        moved[:, 0, 1] += shift
        clip = dataclasses.replace(truth.clip, skeleton=sunk, pose=ik.Pose(truth.clip.pose.rotations, moved))
        feet = ik.Feet.detect(sunk, clip=clip)
        assert_allclose(feet["left"].soles["ball"].offset, [0, 0, 0], atol=1e-6)
        assert_allclose(feet["left"].soles["heel"].offset[1], -0.065, atol=1e-3)


def bare(feet: ik.Feet) -> ik.Feet:
    return ik.Feet(tuple(dataclasses.replace(leg, soles={}) for leg in feet))


def off(feet: ik.Feet, others: ik.Feet) -> float:
    """How far apart points of soles are at most, along an axis."""
    pairs = [(leg.soles[point], others[leg.name].soles[point]) for leg in feet for point in leg.soles]
    return max(float(np.abs(np.subtract(a.offset, b.offset)).max()) for a, b in pairs)


def test_a_root_that_stays_where_it_is_makes_nobody_taller() -> None:
    """The rest pose stands, however high a clip climbs in which somebody bends."""
    walk = ik.samples.walk(seconds=1).clip
    old, frames = walk.skeleton, len(walk)
    turned = np.concatenate([np.tile([1.0, 0, 0, 0], (frames, 1, 1)), walk.pose.rotations], axis=1)
    skeleton = ik.Skeleton(
        [-1, *(old.parents + 1)],
        [[0, 0, 0], *old.offsets],
        [[1, 0, 0, 0], *old.rest.rotations],
        ["root", *old.names],
    )
    moved = np.tile(skeleton.offsets, (frames, 1, 1))
    moved[:, 1] = translations(walk)[:, 0] + np.linspace(0, 20, frames)[:, np.newaxis] * [0, 1, 0]
    seen = leg_structure.stance(skeleton, "Y", ik.Clip(skeleton, ik.Pose(turned, moved), walk.fps))
    assert np.array_equal(seen.pose.rotations, skeleton.rest.rotations)


def translations(clip: ik.Clip) -> Array:
    given = clip.pose.translations
    return clip.skeleton.offsets[np.newaxis].repeat(len(clip), axis=0) if given is None else given


def test_soles_of_a_shoe() -> None:
    """A mesh of known shape: a heel block, a sole that is wider outside, an upper that is wider than both."""
    truth = ik.samples.walk(seconds=3)
    skeleton = truth.clip.skeleton
    world = skeleton.forward(skeleton.rest)
    vertices: dict[str, Array] = {}
    for side, mirrored in (("Left", 1), ("Right", -1)):
        for joint, ahead in (("Foot", np.linspace(-0.08, 0.12, 21)), ("ToeBase", np.linspace(0.13, 0.23, 11))):
            at = world.positions[skeleton.index(f"{side}{joint}")]
            ankle = world.positions[skeleton.index(f"{side}Foot")]
            sole = [[x * mirrored, -0.09, z] for z in ahead for x in (-0.04, 0, 0.06)]
            upper = [[x * mirrored, 0.0, z] for z in (-0.1, 0.25) for x in (-0.2, 0.2)]
            vertices[f"{side}{joint}"] = ankle + np.array(sole + upper) - at
    for clip in (None, truth.clip):
        feet = ik.Feet.detect(skeleton, vertices=vertices, clip=clip)
        expected = {"heel": (0.01, -0.08), "ball": (0.01, 0.13), "toe": (0.01, 0.23), "inner": (-0.04, 0.13)}
        expected |= {"outer": (0.06, 0.13)}
        places = feet.positions(skeleton, skeleton.rest)
        for side, mirrored in (("left", 1), ("right", -1)):
            ankle = world.positions[skeleton.index(f"{side.title()}Foot")]
            for point, (x, z) in expected.items():
                assert_allclose(places[side, point] - ankle, [x * mirrored, -0.09, z], atol=2e-3)


def test_the_sole_of_a_paw_is_where_its_mesh_is_lowest() -> None:
    places, _ = fox(named=True)
    skeleton = body(places)
    axes = skeleton.forward(skeleton.rest)
    paw = np.array([[7.0, 2, 20], [6, -0.5, 21], [8, -0.5, 21], [7, 3, 16]])
    joint = skeleton.index("left_front2")
    back = axes.rotations[joint] * [1, -1, -1, -1]
    mesh = {"left_front2": ik.rotations.rotate(back, paw - axes.positions[joint])}
    feet = ik.Feet.detect(skeleton, vertices=mesh)
    places_now = feet.positions(skeleton, skeleton.rest)
    assert_allclose(places_now["front left", "ball"], [7, -0.5, 21], atol=1e-9)
    assert_allclose(places_now["front right", "ball"], [-7, 0, 18], atol=1e-9)  # without a mesh: under the joint


def test_a_foot_with_a_ball_but_no_tip_has_toes_of_usual_length() -> None:
    places, _ = human("Unreal")
    skeleton = body(places)
    at = ik.Feet.detect(skeleton).positions(skeleton, skeleton.rest)
    heel, ball, toe, inner, outer = (at["left", point] for point in ("heel", "ball", "toe", "inner", "outer"))
    assert_allclose([heel[1], ball[1], toe[1], inner[1], outer[1]], 0, atol=1e-9)
    ankle_to_ball = np.hypot(0.005, 0.13)
    assert np.linalg.norm(toe - ball) == pytest.approx(0.55 * ankle_to_ball, rel=0.05)  # toes are a third of a foot
    assert heel[2] == pytest.approx(-0.02 - 0.05, abs=0.015)
    assert inner[0] < ball[0] < outer[0]
    right = at["right", "inner"], at["right", "outer"]
    assert right[1][0] < at["right", "ball"][0] < right[0][0]


def test_legs_that_are_known_get_the_soles_of_a_detection() -> None:
    """All of them, or those that have none: the others keep theirs."""
    clip = ik.samples.walk(seconds=2).clip
    found = ik.Feet.detect(clip.skeleton, clip=clip)
    bare = ik.Feet(tuple(dataclasses.replace(leg, soles={}) for leg in found))
    assert bare.with_soles(clip) == found
    own = {"ball": Sole("LeftFoot", (1.0, 2.0, 3.0))}
    edited = bare.replace("left", soles=own).with_soles(clip)
    assert edited["left"].soles == own
    assert set(edited["right"].soles) == set(found["right"].soles)
    with pytest.raises(ValueError, match="'LeftLeg' is not under the hip 'LeftFoot'"):
        bare.replace("left", hip="LeftFoot", ankle="LeftToeBase", ball=None, toe=None).with_soles(clip)


# --- the record ------------------------------------------------------------------------------------------------------


def test_feet_are_edited_saved_and_pickled(tmp_path: Path) -> None:
    walk = ik.samples.walk(seconds=2)
    feet = ik.Feet.detect(walk.clip.skeleton)
    heel = Sole("LeftFoot", (0.0, -0.09, -0.06))
    edited = feet.replace("left", soles={**feet["left"].soles, "heel": heel}, name="nigh")
    assert edited != feet
    assert (edited["nigh"].soles["heel"], edited["right"]) == (heel, feet["right"])
    edited.save(tmp_path / "feet.json")
    assert ik.Feet.load(tmp_path / "feet.json") == edited
    assert pickle.loads(pickle.dumps(edited)) == edited
    assert hash(edited) == hash(pickle.loads(pickle.dumps(edited)))
    edited.check(walk.clip.skeleton)
    with pytest.raises(ValueError, match="no joint is called 'LeftUpLeg'"):
        edited.check(body(human("Unreal")[0]))
    with pytest.raises(ValueError, match="the foot 'LeftUpLeg' is not under the shin 'LeftLeg'"):
        feet.replace("left", ankle="LeftUpLeg").check(walk.clip.skeleton)
    with pytest.raises(KeyError, match="no leg is called 'port'; there are left, right"):
        feet.replace("port", toe=None)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"side": "port"}, "'left': side: expected one of left, right, middle, got 'port'"),
        ({"knees": "LeftLeg"}, "knees: expected a tuple of names, got 'LeftLeg'"),
        ({"knees": ()}, "knees: expected one or more"),
        ({"soles": {"arch": Sole("LeftFoot", (0, 0, 0))}}, "soles: expected some of heel, ball, toe"),
        ({"soles": {"heel": Sole("LeftFoot", (0, 0))}}, "soles: expected offsets of three numbers, got 2"),  # type: ignore[arg-type]
        ({"name": "right"}, "expected different names, got 'right' twice"),
    ],
)
def test_wrong_edits_are_refused(change: dict[str, Any], sentence: str) -> None:
    feet = ik.Feet.detect(ik.samples.walk(seconds=1).clip.skeleton)
    with pytest.raises((TypeError, ValueError), match=sentence):
        feet.replace("left", **change)


NAMED = {"name": "left", "side": "left", "hip": "hip", "knees": ["knee"], "ankle": "ankle"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"format": "ikcore-feet/1"}', '{"format": "ikcore-feet/1", "legs": [{}]}']
    + [json.dumps({"format": "ikcore-feet/1", "legs": legs}) for legs in (3, [3], [{"knees": 3}], [{"knees": ["a"]}])]
    + [json.dumps({"format": "ikcore-feet/1", "legs": [NAMED | change]}) for change in ({"hip": 3}, {"knees": [None]})],
)
def test_damaged_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "feet.json"
    path.write_text(text)
    with pytest.raises(ik.FormatError, match=r"feet\.json: "):
        ik.Feet.load(path)


# --- files that others made ------------------------------------------------------------------------------------------


@mocap.each_clip
def test_legs_of_real_files_are_as_another_script_has_them(given: dict[str, Any]) -> None:
    clip = mocap.read(given)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    assert {leg.hip for leg in feet} == {leg["hip"] for leg in given["legs"]}
    by_hip = {leg.hip: leg for leg in feet}
    for truth in given["legs"]:
        leg = by_hip[truth["hip"]]
        assert leg.side == ("left" if truth["name"].lower().endswith("l") or "left" in truth["name"] else "right")
        assert leg.knees[0] == truth["knee"]
        if truth["ankle"] and "IK" in truth["ankle"]:
            assert leg.ankle is None
        elif truth["ball"] and truth["toe_end"] is None:
            assert (leg.knees, leg.ankle) == ((truth["knee"], truth["ankle"]), truth["ball"])  # three bones
        else:
            assert (leg.knees, leg.ankle) == ((truth["knee"],), truth["ankle"])
            assert leg.ball == (None if truth["ball"] == "End Site" else truth["ball"])
            end = leg.ball or leg.ankle
            assert leg.toe == (f"{end}_end" if truth["toe_end"] == "End Site" else truth["toe_end"])


@mocap.needs_clips
@pytest.mark.parametrize("animation", ["Walk", "Run"])
def test_paws_of_a_real_fox_reach_the_ground(animation: str) -> None:
    """Its wrists are 6.7 cm above the ground at rest."""
    clip = ik.Clip.read(mocap.MOCAP / "Fox.glb", animation, unit=0.01)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    at = feet.positions(clip.skeleton, clip.skeleton.rest)
    assert_allclose([at[leg.name, "ball"][1] for leg in feet], 0, atol=0.01)  # centimetres


@mocap.needs_clips
def test_soles_of_the_cleanest_walk_stand_still_on_the_floor() -> None:
    """In the frames in which a foot is flat all its points are at one height, that of the other foot too."""
    clip = ik.Clip.read(mocap.MOCAP / "pab_walk.bvh", unit=0.01)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    assert not any(leg.soles for leg in ik.Feet.detect(clip.skeleton))  # at rest it is in the middle of a step
    places = feet.positions(clip.skeleton, clip.pose)
    heights = []
    for side in ("left", "right"):
        points = np.stack([places[side, point] for point in ("heel", "ball", "toe", "inner", "outer")]) * clip.unit
        flat = np.ptp(points[..., 1], axis=0) < 0.01
        assert flat.sum() >= 4
        heights.append(np.median(points[:, flat, 1]))
        for frame in np.flatnonzero(flat[1:] & flat[:-1]):
            assert np.abs(points[:, frame + 1] - points[:, frame]).max() < 0.012
    assert abs(heights[0] - heights[1]) < 0.015


@pytest.mark.parametrize("height", np.arange(-0.05, 0.3, 0.01).tolist())
def test_the_depth_of_the_floor_has_no_cliff(height: float) -> None:
    """A millimetre of height moves the floor by a few millimetres, and it is at 0 below what is a foot high."""
    depths = [soles.depth_of(height + more, 1.0) for more in (0.0, 0.001)]
    assert abs(depths[1] - depths[0]) <= 0.0011
    assert depths[0] == pytest.approx(max(height, 0.0) if height <= 0.08 else max(0.16 - height, 0.0))


# --- what joints carry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("given", ["rotations", "translations", "scales"])
def test_points_are_where_joints_would_be_that_hang_there(given: str, dtype: str, isa: str) -> None:
    random, joints, frames = np.random.default_rng(3), 12, 600
    parents = [4, 0, 1, -1, 3, 4, 2, 6, 3, -1, 9, 10]  # in no order, with two roots
    offsets = random.normal(size=(joints, 3))
    parts = {"rotations": 4, "translations": 3, "scales": 3}
    parts = {name: size for name, size in parts.items() if name in ("rotations", given)}
    pose = {name: random.uniform(0.5, 2, (frames, joints, size)).astype(dtype) for name, size in parts.items()}
    bare = ik.Skeleton(parents, offsets, names=[f"joint {joint}" for joint in range(joints)])
    points, more = [7, 7, 2, 11], random.normal(size=(4, 3))
    none = {"rotations": np.array([1.0, 0, 0, 0]), "translations": more, "scales": np.ones(3)}
    wide = {
        name: np.concatenate([values, np.broadcast_to(none[name], (frames, 4, values.shape[-1]))], axis=1, dtype=dtype)
        for name, values in pose.items()
    }
    whole = ik.Skeleton([*parents, *points], np.concatenate([offsets, more])).forward(ik.Pose(**wide))
    places, at, turns = soles.world_points(bare, ik.Pose(**pose), points, more, [6, 0, 11])
    assert np.array_equal(places, whole.positions[:, joints:])
    assert np.array_equal(at, whole.positions[:, [6, 0, 11]])
    assert np.array_equal(turns, whole.rotations[:, [6, 0, 11]])
    assert places.dtype == turns.dtype == dtype
    alone = ik.Pose(**{name: values[5] for name, values in pose.items()})
    assert np.array_equal(soles.world_points(bare, alone, points, more, [])[0], places[5])
    assert soles.world_points(bare, ik.Pose(**pose)[:0], points, more, [6])[0].shape == (0, 4, 3)


@pytest.mark.parametrize("wrong", ["joints", "offsets", "rotations", "translations", "scales", "wanted"])
def test_the_core_refuses_points_that_do_not_fit(wrong: str) -> None:
    given: dict[str, Any] = {"rotations": np.ones((5, 3, 4)), "translations": np.ones((5, 3, 3)), "scales": None}
    given |= {"joints": [2], "offsets": np.zeros((1, 3)), "wanted": [0]}
    bad = {"joints": [3], "offsets": np.zeros((2, 3)), "wanted": [-1]}
    for odd in [bad[wrong]] if wrong in bad else [np.ones((4, 3, 3)), np.ones(3), [[[1.0]]]]:
        with pytest.raises(TypeError, match=f"carried: {wrong}"):
            _core.carried(ik.Skeleton.chain(np.eye(3))._data, *(given | {wrong: odd}).values())


@pytest.mark.parametrize("animated", [False, True], ids=["bones stay", "bones change"])
def test_no_two_joints_are_farther_apart_than_the_bones_between_them(animated: bool) -> None:
    """However a body is posed; and where these are stretched out they are as far apart as that."""
    random = np.random.default_rng(3)
    tree = ik.Skeleton([-1, 0, 1, 0, 3, 3], random.normal(size=(6, 3)))
    turns = ik.rotations.normalize(random.normal(size=(500, 6, 4)))
    moved = random.normal(size=(500, 6, 3)) if animated else None
    pose = ik.Pose(turns, moved)
    at = tree.forward(pose).positions
    apart = np.sqrt(((at[:, :, np.newaxis] - at[:, np.newaxis]) ** 2).sum(axis=-1))
    assert apart.max() <= leg_structure._span(tree, pose)
    line = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [3, 0, 0]])
    assert leg_structure._span(line, line.rest) == pytest.approx(3, rel=2e-3)
    assert leg_structure._span(line, ik.Pose(line.rest.rotations, scales=np.full((3, 3), 2.0))) == np.inf
    assert leg_structure._span(ik.Skeleton([-1, -1], np.eye(3)[:2]), ik.Pose(np.tile([1.0, 0, 0, 0], (2, 1)))) == np.inf
