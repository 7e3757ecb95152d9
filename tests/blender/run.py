"""Run the tests of the extension in a real Blender: `python tests/blender/run.py ZIP [pytest arguments]`.

The python is one with the `bpy` wheel and pytest. In the full program, with BLENDER_USER_RESOURCES set to an empty
folder: `blender --background --python-exit-code 1 --python tests/blender/run.py -- ZIP [pytest arguments]`.

Installs the zip into a fresh profile, so that nothing of this machine's Blender is read or changed.
"""

import os
import pathlib
import sys
import tempfile


def main():
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    if not arguments:
        raise SystemExit(__doc__)
    archive = pathlib.Path(arguments[0]).resolve()
    # Windows deletes no library that is loaded
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        os.environ["IKCORE_TEST_ZIP"] = str(archive)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        import pytest

        here = pathlib.Path(__file__).resolve().parent
        settings = ["-c", os.devnull, "-o", "markers=quick\nslow\narrays", "-p", "no:cacheprovider"]
        rc = pytest.main([str(here), f"--rootdir={here}", *settings, *arguments[1:]])
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender 4.5 as a module can wait for ever at exit, for a thread of its own that has ended
    os._exit(int(rc))


main()
