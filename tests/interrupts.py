"""A command that waits for a file that never ends, to be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import BinaryIO


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
