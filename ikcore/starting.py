"""The command ``ikcore`` while it starts: importing takes a moment, and an interrupt ends it then as it does later.

That begins when this module is imported, and ends with `done`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import pairwise
from pathlib import Path


def done() -> None:
    """From here on an interrupt is an exception again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    started = Path((getattr(sys, "argv", None) or [""])[0])  # a host of Python need not have any
    module = ("-m", "ikcore") in pairwise(sys.orig_argv) or started.parts[-2:] == ("ikcore", "__main__.py")
    return module or started.stem == "ikcore"


def _may_be_told() -> bool:
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _end(*_: object) -> None:
    if "--multiprocessing-fork" not in sys.orig_argv:  # or else it is a worker, and who waits for it says so
        os.write(2, b"ikcore: interrupted\n")
    os._exit(130)


if _is_command() and _may_be_told():  # where the exception would be a traceback
    signal.signal(signal.SIGINT, _end)
