"""The zip as a user meets it: built, validated, installed, updated, in the way of another, removed.

Each test runs fresh Blender processes with a profile of its own; what they print as JSON comes back.
"""

import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import zipfile

import bpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRELUDE = """
import bpy, json, os, sys, addon_utils
EXTENSION = "bl_ext.user_default.ikcore"
def install(path):
    bpy.ops.extensions.package_install_files(filepath=path, repo="user_default", enable_on_install=True)
def seen():
    module = sys.modules.get(EXTENSION)
    return {
        "problem": module.bridge.problem() if module else None,
        "version": getattr(sys.modules.get("ikcore"), "__version__", None),
        "enabled": hasattr(bpy.types, "IKCORE_OT_bake_ik") and hasattr(bpy.types, "IKCORE_PT_bake_ik"),
    }
def say(**values):
    print("SAID" + json.dumps(values), flush=True)
"""


def blender(profile, code, path=""):
    """Run Python code in a new Blender and return what it said."""
    script = f"{PRELUDE}\n{code}\nsys.stdout.flush()\nos._exit(0)"
    if bpy.app.module:
        command = [sys.executable, "-c", script]
    else:
        command = [
            bpy.app.binary_path,
            "--background",
            "--factory-startup",
            "--python-exit-code",
            "3",
            "--python-expr",
            script,
        ]
    found_first = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "BLENDER_USER_RESOURCES": str(profile),
        "PYTHONPATH": found_first,
        "PYTHONSAFEPATH": "1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    if done.returncode and os.name == "nt" and "WinError 1359" in said:
        pytest.skip("wine refused to start a process for Blender: WinError 1359")
    assert done.returncode == 0, said
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("SAID")]
    return json.loads(said.removeprefix("SAID"))


def wheels_in(archive):
    """The wheels in an extension's zip, one a platform: bytes by name."""
    with zipfile.ZipFile(archive) as contents:
        names = [name for name in contents.namelist() if name.endswith(".whl")]
        return {pathlib.PurePosixPath(name).name: contents.read(name) for name in names}


def changed(archive, path, change_wheel=lambda name, data: (name, data), rename=lambda name: name):
    """Write a copy of the extension's zip with its wheels changed or renamed."""
    renamed = {name: rename(name) for name in wheels_in(archive)}
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(path, "w") as out:
        for entry in old.namelist():
            data, base = old.read(entry), pathlib.PurePosixPath(entry).name
            if base in renamed:
                data = rebuilt(data, change_wheel)
            if entry == "blender_manifest.toml":
                for name, new in renamed.items():
                    data = data.replace(name.encode(), new.encode())
            out.writestr(entry.replace(base, renamed.get(base, base)), data)
    return path


def rebuilt(wheel, change):
    """The bytes of a wheel whose every file went through `change`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as inside, zipfile.ZipFile(out, "w") as made:
        for item in inside.namelist():
            made.writestr(*change(item, inside.read(item)))
    return out.getvalue()


def relabelled(archive, path):
    """The extension with wheels of another version of the same length, also where it is compiled in."""
    version = next(iter(wheels_in(archive))).split("-")[1]
    other = version[:-1] + ("0" if version[-1] != "0" else "1")

    def swap(text):
        return text.replace(version.encode(), other.encode())

    def change(name, data):
        return swap(name.encode()).decode(), swap(data)

    return changed(archive, path, change, lambda name: name.replace(version, other)), version, other


def site_packages(profile):
    """The names of what Blender unpacked from wheels."""
    here = profile / "extensions" / ".local"
    return sorted(path.name for path in here.glob("**/site-packages/*"))


def extension_tool(*arguments):
    """Run what stands behind Blender's command line option `--command extension`."""
    tool = pathlib.Path(bpy.utils.system_resource("SCRIPTS")) / "addons_core/bl_pkg/cli/blender_ext.py"
    done = subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_blender_validates_it_and_builds_the_same(archive, tmp_path):
    extension_tool("validate", archive)
    with zipfile.ZipFile(archive) as contents:
        contents.extractall(tmp_path / "unpacked")
        names = set(contents.namelist())
    extension_tool("validate", tmp_path / "unpacked")
    (tmp_path / "built").mkdir()
    extension_tool("build", "--source-dir", tmp_path / "unpacked", "--output-dir", tmp_path / "built")
    with zipfile.ZipFile(next((tmp_path / "built").iterdir())) as contents:
        assert {name for name in contents.namelist() if not name.endswith("/")} == names


def _builder():
    spec = importlib.util.spec_from_file_location("build_zip", ROOT / "blender_addon" / "build_zip.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_label_is_a_number(tmp_path):
    """Wheels write 0.1.0+01557259 as 0.1.0+1557259, and Blender would be told for ever to start again."""
    for number in range(32):
        (tmp_path / "source.c").write_text(str(number), encoding="utf-8")
        assert _builder().label(tmp_path)[0].isalpha()


def test_zip_is_the_same_bytes_for_the_same_wheels(archive, tmp_path):
    command = [sys.executable, ROOT / "blender_addon" / "build_zip.py"]
    for name, data in wheels_in(archive).items():
        (tmp_path / name).write_bytes(data)
        command = [*command, "--wheel", tmp_path / name]
    made = [build(*command, "--output", tmp_path / folder) for folder in ("one", "two")]
    first, second = (pathlib.Path(done.stdout.strip()) for done in made)
    assert first == tmp_path / "one" / archive.name
    assert first.read_bytes() == second.read_bytes() == archive.read_bytes(), "the zip is not built from these sources"
    for name in wheels_in(archive):
        assert f": {name}, " in made[0].stderr, "not told on the way"


def build(*command):
    """Run build_zip.py."""
    return subprocess.run(command, check=True, capture_output=True, text=True)


def test_a_zip_of_several_platforms(archive, tmp_path, monkeypatch):
    """Every wheel is in it and named, and so are its platforms, which Blender goes by."""
    name, data = next(iter(wheels_in(archive).items()))
    tags = {"linux-x64": "manylinux2014_x86_64", "macos-arm64": "macosx_11_0_arm64", "windows-x64": "win_amd64"}
    wheels = [tmp_path / f"{name.rsplit('-', 1)[0]}-{tag}.whl" for tag in tags.values()]
    for wheel in wheels:
        wheel.write_bytes(data)
    given = [word for wheel in reversed(wheels) for word in ("--wheel", wheel)]
    monkeypatch.setenv("IKCORE_HOME", "https://example.org/ikcore")
    done = build(sys.executable, ROOT / "blender_addon" / "build_zip.py", *given, "--output", tmp_path / "out")
    path = pathlib.Path(done.stdout.strip())
    assert path.stem.endswith("-linux-x64-macos-arm64-windows-x64")
    with zipfile.ZipFile(path) as contents:
        manifest = tomllib.loads(contents.read("blender_manifest.toml").decode())
    assert manifest["platforms"] == list(tags)
    assert manifest["website"] == "https://example.org/ikcore"
    assert manifest["wheels"] == [f"./wheels/{wheel.name}" for wheel in wheels]
    assert sorted(wheels_in(path)) == sorted(wheel.name for wheel in wheels)
    extension_tool("validate", path)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["ikcore-0.1.0-cp311-abi3-win_amd64.whl", "ikcore-0.1.0-cp312-abi3-win_amd64.whl"],
            "are both for windows-x64",
        ),
        (
            ["ikcore-0.1.0-cp311-abi3-win_amd64.whl", "ikcore-0.2.0-cp311-abi3-linux_x86_64.whl"],
            "wheels of one version",
        ),
        (["ikcore-0.1.0-cp311-abi3-plan9.whl"], "no Blender platform"),
    ],
)
def test_wheels_that_are_no_extension(names, sentence, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(SystemExit, match=sentence):
        _builder().check_wheels([tmp_path / name for name in names])
    with pytest.raises(SystemExit, match="there is no"):
        _builder().check_wheels([tmp_path / "absent.whl"])


def test_zip_holds_what_it_should(archive):
    with zipfile.ZipFile(archive) as contents:
        names = set(contents.namelist())
    assert {"__init__.py", "blender_manifest.toml", "LICENSE"} < names
    assert not {name for name in names if "build_zip" in name or "pyc" in name or "test_" in name}
    for name, data in wheels_in(archive).items():
        assert "-abi3-" in name
        assert f"{os.path.expanduser('~')}/".encode() not in data  # with the slash: root_motion.py is no home


@pytest.mark.parametrize(
    ("tag", "platform"),
    [
        ("manylinux_2_17_x86_64.manylinux2014_x86_64", "linux-x64"),
        ("linux_aarch64", "linux-arm64"),
        ("win_amd64", "windows-x64"),
        ("macosx_11_0_arm64", "macos-arm64"),
        ("macosx_10_13_x86_64", "macos-x64"),
    ],
)
def test_platform_names(tag, platform):
    assert _builder().platform_of(pathlib.Path(f"ikcore-0.1.0-cp311-abi3-{tag}.whl")) == platform


def test_install_use_reinstall_remove(archive, tmp_path):
    first = blender(tmp_path, f"install({str(archive)!r}); say(**seen(), file=sys.modules['ikcore'].__file__)")
    assert first["enabled"]
    assert first["problem"] is None
    assert pathlib.Path(first["file"]).is_relative_to(tmp_path)
    again = blender(tmp_path, f"install({str(archive)!r}); say(**seen())")
    assert again["enabled"]
    assert again["problem"] is None
    removed = blender(
        tmp_path,
        """
addon_utils.enable(EXTENSION, default_set=True)
assert seen()["enabled"]
bpy.ops.extensions.package_uninstall(repo_index=1, pkg_id="ikcore")
say(**seen())
""",
    )
    assert not removed["enabled"]
    blender(tmp_path, "say()")  # where a library in use cannot be deleted, the next start does
    assert site_packages(tmp_path) == []
    assert not (tmp_path / "extensions/user_default/ikcore").exists()


def test_no_first_press_waits_for_imports(archive, tmp_path):
    """A timer imports the library's lazy modules after Blender has started."""
    code = """
from bl_ext.user_default.ikcore import bridge
early, waiting = "ikcore.bake" in sys.modules, bpy.app.timers.is_registered(bridge.load_rest)
bridge.load_rest()
say(there=waiting and not early and "ikcore.bake" in sys.modules)
"""
    assert blender(tmp_path, f"install({str(archive)!r})\n{code}")["there"]


def test_update_and_back(archive, tmp_path):
    newer, version, other = relabelled(archive, tmp_path / "newer.zip")
    profile = tmp_path / "profile"
    profile.mkdir()
    for path, expected in ((archive, version), (newer, other), (archive, version)):
        blender(profile, f"install({str(path)!r}); say()")
        found = blender(profile, "addon_utils.enable(EXTENSION, default_set=True); say(**seen())")
        assert found == {"problem": None, "version": expected, "enabled": True}
        assert [name for name in site_packages(profile) if name.endswith("-info")] == [f"ikcore-{expected}.dist-info"]


def test_update_inside_a_running_blender_asks_for_a_restart(archive, tmp_path):
    newer, version, other = relabelled(archive, tmp_path / "newer.zip")
    profile = tmp_path / "profile"
    profile.mkdir()
    found = blender(
        profile,
        f"""
install({str(archive)!r})
try:
    install({str(newer)!r})
except RuntimeError as error:  # what is in use cannot be replaced: see below
    assert os.name == "nt" and "Permission denied" in str(error)
say(**seen(), poll=bpy.ops.ikcore.bake_ik.poll())
""",
    )
    assert found["problem"] == f"Restart Blender: ikcore {other} was installed while {version} was in use"
    assert found["enabled"]
    assert not found["poll"]


def test_library_that_was_not_unpacked(archive, tmp_path):
    """As on Windows, which lets no library be replaced that is in use; installed again it is all there."""
    blender(tmp_path, f"install({str(archive)!r}); say()")
    for folder in (tmp_path / "extensions" / ".local").glob("**/site-packages/*"):
        shutil.rmtree(folder)
    found = blender(tmp_path, "addon_utils.enable(EXTENSION, default_set=True); say(**seen())")
    assert found["problem"].startswith("Blender has not unpacked this extension's library")
    assert found["enabled"]
    again = blender(tmp_path, f"install({str(archive)!r}); say(**seen())")
    assert again["problem"] is None


@pytest.mark.skipif(os.name != "nt", reason="elsewhere a library can be replaced that is in use")
def test_update_that_windows_stops(archive, tmp_path):
    newer, _, version = relabelled(archive, tmp_path / "newer.zip")
    profile = tmp_path / "profile"
    profile.mkdir()
    blender(
        profile,
        f"""
install({str(archive)!r})
try:
    install({str(newer)!r})
except RuntimeError:
    say()
""",
    )
    found = blender(profile, "addon_utils.enable(EXTENSION, default_set=True); say(**seen())")
    assert found["problem"].startswith("Blender has not unpacked this extension's library")
    again = blender(profile, f"install({str(newer)!r}); say(**seen())")
    assert again == {"problem": None, "version": version, "enabled": True}


def test_wheel_that_does_not_fit(archive, tmp_path):
    def rename(name):
        return name.rsplit("-", 1)[0] + ("-win_arm64.whl" if "win" in name else "-musllinux_1_2_x86_64.whl")

    path = changed(archive, tmp_path / "other.zip", rename=rename)
    found = blender(tmp_path, f"install({str(path)!r}); say(**seen(), poll=bpy.ops.ikcore.bake_ik.poll())")
    tags = " and ".join(rename(name).removesuffix(".whl").split("-", 2)[2] for name in wheels_in(archive))
    assert found["problem"].startswith(f"This extension was built for {tags}, but this Blender is ")
    assert found["enabled"]
    assert not found["poll"]


def test_library_that_does_not_load(archive, tmp_path):
    def spoil(name, data):
        return name, b"not a library" if name.endswith((".so", ".pyd")) else data

    path = changed(archive, tmp_path / "broken.zip", spoil)
    found = blender(tmp_path, f"install({str(path)!r}); say(**seen(), poll=bpy.ops.ikcore.bake_ik.poll())")
    assert "does not load" in found["problem"]
    assert found["enabled"]
    assert not found["poll"]


def test_another_ikcore_in_the_way(archive, tmp_path):
    other = tmp_path / "elsewhere" / "ikcore"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    prelude = "" if bpy.app.module else f"sys.path.insert(0, {str(other.parent)!r}); "  # the program ignores PYTHONPATH
    found = blender(tmp_path, f"{prelude}install({str(archive)!r}); say(**seen())", path=str(other.parent))
    assert found["problem"].startswith(f"Another ikcore, 0.0.1 in {other}, is used in place of ")
    assert found["enabled"]
