"""The command in a process of its own: how it ends, also when it is interrupted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import BinaryIO


def on_wine() -> bool:
    return sys.platform == "win32" and hasattr(ctypes.windll.ntdll, "wine_get_version")


def command(*arguments: str | Path, start: str | None = None) -> list[str]:
    """`ikcore` with arguments, which starts other processes in one way."""
    code = "import multiprocessing, sys; from ikcore.command import cli; "
    code += f"multiprocessing.set_start_method({start!r}); " if start else ""
    return [sys.executable, "-P", "-c", f"{code}sys.exit(cli.main())", *map(str, arguments)]


def finished(asked: list[str]) -> tuple[int, str, str]:
    """Status, output and errors of a command.

    Wine's pipes between workers lose a message now and then, and both sides wait: there it may be asked again.
    """
    for _ in range(2 if on_wine() else 0):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return _finished(asked)
    return _finished(asked)


def _finished(asked: list[str]) -> tuple[int, str, str]:
    """Its output goes to files, because orphaned workers would keep a pipe open."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        done = subprocess.run(asked, stdout=out, stderr=err, check=False, timeout=120)
        out.seek(0)
        err.seek(0)
        return done.returncode, out.read(), err.read()


def interrupted(asked: list[str], pipe: Path) -> tuple[int, str, str]:
    """Status, output and errors of a command that is interrupted while it reads a pipe that it is given."""
    running = subprocess.Popen(
        asked,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )
    try:
        with _opened(pipe, running):
            time.sleep(0.2)
            os.killpg(running.pid, signal.SIGINT)
            out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    return running.returncode, out, err


def _heed_interrupts() -> None:
    """As a command of a terminal does; what runs under nohup or in the background is started without."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _opened(pipe: Path, running: subprocess.Popen[str]) -> BinaryIO:
    """The other end of a pipe, once the command reads it; if that has ended before, what it said."""
    for _ in range(600):
        try:
            return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError:  # nobody reads it yet
            assert running.poll() is None, running.communicate()
            time.sleep(0.1)
    raise TimeoutError(f"{pipe} was not read")
