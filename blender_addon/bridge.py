# SPDX-License-Identifier: GPL-3.0-or-later
"""The only module that imports ikcore, the compiled library in this extension's wheel.

Blender skips a wheel that does not fit, keeps a loaded library through an update, and prefers a library that was
installed separately. None of these may prevent the extension from being enabled. They end in a sentence, which
`problem()` gives to the panel and to the operators' poll. No bpy.
"""

import contextlib
import importlib
import os
import platform
import sys
import tomllib
import warnings

LEG = 0.87  # metres: the leg length for which ikcore.BakeSettings has its lengths
library = None  # ikcore, once loaded
rotations = None  # its rotation module
_problem = None


def load(extensions):
    """Import the library and check that it can be used. Called once, on registration.

    `extensions` is the folder in which Blender keeps extensions and their wheels.
    """
    global library, rotations, _problem
    library = rotations = _problem = None
    wheels = bundled_wheels()
    try:
        import ikcore
    except ImportError as error:
        _problem = _import_sentence(wheels, error)
        return
    version = getattr(ikcore, "__version__", "unknown")
    if wheels and version != version_of(wheels):
        folder = os.path.dirname(ikcore.__file__ or "")
        stale = folder.startswith(extensions)
        _problem = _version_sentence(version, version_of(wheels), folder, stale)
        return
    library, rotations = ikcore, ikcore.rotations


def load_rest():
    """Import the library's lazy modules, so that the first use does not wait.

    This is not done in a thread. Add-ons that Blender enables at the same time, such as Rigify, iterate over all
    modules and would fail.
    """
    if library is None:
        return
    with contextlib.suppress(ImportError, OSError):  # for example if the extension is removed meanwhile
        importlib.import_module("ikcore.bake")


def problem():
    """The reason why the library cannot be used, as a sentence, or None."""
    return _problem


def two_bone(*args, **options):
    """The library's closed form. Unusable items are flagged in its status, which the operator reports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", library.UnusableWarning)
        return library.two_bone(*args, **options)


def look(*args, **options):
    """The library's aim of one or several joints. Unusable items are flagged in its status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", library.UnusableWarning)
        return library.look_at(*args, **options)


def origin(text):
    """The provenance of a bake from its text; None if it is something else."""
    from ikcore.clips.provenance import Origin  # imported late, as the library does itself

    return Origin.from_json(text)


def out_of_reach(status):
    """Mask of the items whose target was out of reach: too far or too near."""
    flags = library.Status.TOO_FAR | library.Status.TOO_NEAR
    return (status & int(flags)) != 0


def unusable(status):
    """Mask of the items whose pose could not be used: not finite, or bones without length."""
    return status >= min(int(flag) for flag in library.Status if not flag.usable)


def leg_length(percent):
    """A percentage of the leg length in the library's unit: metres for a leg of 0.87 m.

    Rounded, as Blender stores single precision.
    """
    return round(percent / 100 * LEG, 5)


def leg_percent(metres):
    """A length for a leg of 0.87 m as a percentage of the leg length."""
    return 100 * metres / LEG


def bundled_wheels():
    """The file names of the wheels in this extension, one per platform; none when run from a source folder."""
    manifest = os.path.join(os.path.dirname(__file__), "blender_manifest.toml")
    with open(manifest, "rb") as file:
        return [os.path.basename(path) for path in tomllib.load(file).get("wheels", [])]


def version_of(wheels):
    """The version in the file names of the wheels, which is the same in all."""
    return wheels[0].split("-")[1]


def _is_for_here(wheel):
    """True if a wheel is for this operating system and processor, by its name."""
    systems = {"win32": ("win_",), "darwin": ("macosx_",), "linux": ("manylinux", "linux_")}[sys.platform]
    system = wheel.removesuffix(".whl").split("-")[-1]
    return system.startswith(systems) and system.endswith(platform.machine().lower())


def _import_sentence(wheels, error):
    here = f"{platform.system()} {platform.machine()} with Python {sys.version_info[0]}.{sys.version_info[1]}"
    if isinstance(error, ModuleNotFoundError) and error.name == "ikcore":
        if not wheels:
            return "The ikcore library is not installed: install the zip that blender_addon/build_zip.py makes"
        if any(map(_is_for_here, wheels)):
            return (
                "Blender has not unpacked this extension's library (Windows: an older one was in use): install it again"
            )
        tags = " and ".join(wheel.removesuffix(".whl").split("-", 2)[2] for wheel in wheels)
        return f"This extension was built for {tags}, but this Blender is {here}: install the zip made for it"
    return f"The ikcore library does not load on {here}: {error}"


def _version_sentence(loaded, bundled, folder, stale):
    if stale:
        return f"Restart Blender: ikcore {bundled} was installed while {loaded} was in use"
    return f"Another ikcore, {loaded} in {folder}, is used in place of {bundled} of this extension: remove it"
