# SPDX-License-Identifier: GPL-3.0-or-later
"""Work beside Blender: in a thread, so that Blender can answer meanwhile. Without bpy."""

import threading

PATIENCE = 0.02  # seconds to wait for the work before it is Blender's turn


class _StoppedError(Exception):
    """Ends work that nobody waits for any more."""


class _Work(threading.Thread):
    """Calls `call(progress)` and keeps what it returns or raises."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.result = self.error = None
        self.share, self.stopped, self._call = 0.0, False, call

    def run(self):
        try:
            self.result = self._call(self._progress)
        except BaseException as error:  # raised again where it is waited for
            self.error = error

    def _progress(self, share):
        if self.stopped:
            raise _StoppedError
        self.share = share


def in_thread(call):
    """What `call(progress)` returns: a generator that yields the share that is done.

    Closed before its end it does not wait: the work stops when it next tells its progress.
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
