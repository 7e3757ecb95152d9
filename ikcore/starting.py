"""The command ``ikcore`` while it starts: importing takes a moment, and an interrupt ends it then as it does later.

That begins when this module is imported, and ends with `done`.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

# `signal` and `threading` are imported where they are used: who calls the library does not wait for them.


def done() -> None:
    """From here on an interrupt is an exception again."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    started = (getattr(sys, "argv", None) or [""])[0]  # a host of Python need not have any
    folder, name = os.path.split(started)
    module = ("-m", "ikcore") in pairwise(sys.orig_argv) or (os.path.basename(folder), name) == (
        "ikcore",
        "__main__.py",
    )
    return module or os.path.splitext(name)[0] == "ikcore"


def _listen() -> None:
    """Where an interrupt would be a traceback, and nobody else listens."""
    import signal
    import threading

    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    if "--multiprocessing-fork" not in sys.orig_argv:  # or else it is a worker, and who waits for it says so
        os.write(2, b"ikcore: interrupted\n")
    os._exit(130)


if _is_command():
    _listen()
