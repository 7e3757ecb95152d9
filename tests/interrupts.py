"""A command that waits for a file that never ends, to be interrupted."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import BinaryIO


def opened(pipe: Path, running: subprocess.Popen[str]) -> BinaryIO:
    """The other end of a pipe, once the command reads it; if that has ended before, what it said."""
    for _ in range(600):
        try:
            return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError:  # nobody reads it yet
            assert running.poll() is None, running.communicate()
            time.sleep(0.1)
    raise TimeoutError(f"{pipe} was not read")
