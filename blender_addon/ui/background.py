# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in a background thread, so that Blender stays responsive. Without bpy."""

import threading

PATIENCE = 0.02  # seconds to wait for the thread before control returns to Blender


class _StoppedError(Exception):
    """Ends work that is no longer needed."""


class _Work(threading.Thread):
    """Calls `call(progress)` and stores its result or its exception."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.result = self.error = None
        self.share, self.stopped, self._call = 0.0, False, call

    def run(self):
        try:
            self.result = self._call(self._progress)
        except BaseException as error:  # raised again in the waiting thread
            self.error = error

    def _progress(self, share):
        if self.stopped:
            raise _StoppedError
        self.share = share


def in_thread(call):
    """The result of `call(progress)`: a generator that yields progress.

    If it is closed early, it does not wait. The work then stops at its next progress report.
    """
    work = _Work(call)
    work.start()
    try:
        while work.is_alive():
            yield work.share
            work.join(PATIENCE)
    finally:
        work.stopped = True
    if work.error is not None:
        raise work.error
    return work.result
