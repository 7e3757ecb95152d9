"""The clip displayed after Bake Foot IK has the same measures as the command line's result for the same files."""

import json
import math
import os
import pathlib

import bpy
import pytest
import walks

import ikcore as ik
from ikcore.command import cli

MOCAP = pathlib.Path(os.environ.get("IKCORE_MOCAP", "none"))
FLOOR = pathlib.Path(os.environ.get("IKCORE_TERRAIN", "none")) / "ozz_foot_ik_floor.obj"
CLIPS = {
    "cmu_12_01_walk.bvh": (0.0254 / 0.45, {}),
    "cmu_03_01_uneven_daz.bvh": (0.01, {}),
    "fair1_zombie.bvh": (0.0254, {"axis_forward": "Y", "axis_up": "Z"}),
    "pab_walk.bvh": (0.01, {}),
    "pab_run.bvh": (0.01, {}),
}
# Metres, radians, shares. Blender's curves are of single precision and soles 0.05 mm apart; stances of the dirty clip,
# which are taken or left as they are, then turn by up to 4e-3.
# Two are of what the source does, which may be little: of a lift of 20 mm, a millimetre is a share of 5 %.
CLOSE = {"sole_angle": 5e-3, "reach_violations": 0, "knee_flips": 0, "knee_pops": 0}
CLOSE |= {"lift_lost": 1e-2, "knee_acceleration": 1e-2, "straightness_lost": 5e-3}


def by_command(path, unit, out, capsys):
    """The legs in what `ikcore bake` prints."""
    given = ["bake", path, "--ground", FLOOR, "-o", out / "out.bvh", "--unit", unit, "--json"]
    cli.main([str(word) for word in given])
    said = capsys.readouterr().out
    return json.loads(said[said.index("{") :])["clips"][0]["legs"]


@pytest.mark.skipif(not (MOCAP.is_dir() and FLOOR.exists()), reason="IKCORE_MOCAP and IKCORE_TERRAIN name no folders")
@pytest.mark.parametrize("file", CLIPS)
def test_measures(file, tmp_path, capsys):
    unit, axes = CLIPS[file]
    wanted = by_command(MOCAP / file, unit, tmp_path, capsys)
    armature = walks.imported(MOCAP / file, global_scale=unit, **axes)
    source = walks.read(armature)
    bpy.ops.wm.obj_import(filepath=str(FLOOR))
    floor = bpy.context.object
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.ikcore.bake_feet(ground="OBJECTS", ground_objects=[{"name": floor.name}]) == {"FINISHED"}
    ground = walks.ground_of([floor.name])
    feet = ik.bake_feet(source, ground).feet
    contacts = ik.Contacts.detect(source, feet)
    _, shown = ik.feet.before_and_after(source, walks.read(armature), feet, ground, contacts)
    for leg, said in wanted.items():
        for name, value in said["measure"].items():
            found = getattr(shown.measures[leg], name)
            if value is None:  # what JSON cannot say
                assert not math.isfinite(found), (leg, name)
            else:
                assert found == pytest.approx(value, rel=1e-9, abs=CLOSE.get(name, 1e-3)), (leg, name)
