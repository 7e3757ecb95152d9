"""Start of the command ``ikcore``: makes an interrupt during the slow imports end it as cleanly as later ones.

The handler is installed when this module is imported, and removed by `done`.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

# `signal` and `threading` are imported where they are used, so that users of the library need not wait for them.


def done() -> None:
    """Make an interrupt an exception again."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    started = (getattr(sys, "argv", None) or [""])[0]  # a program that embeds Python may have no argv
    folder, name = os.path.split(started)
    module = ("-m", "ikcore") in pairwise(sys.orig_argv) or (os.path.basename(folder), name) == (
        "ikcore",
        "__main__.py",
    )
    return module or os.path.splitext(name)[0] == "ikcore"


def _listen() -> None:
    """Install the handler, if an interrupt would print a traceback and no other handler is installed."""
    import signal
    import threading

    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    if "--multiprocessing-fork" not in sys.orig_argv:  # else it is a worker, and the parent process prints this
        os.write(2, b"ikcore: interrupted\n")
    os._exit(130)


if _is_command():
    _listen()
