"""Work on items, in blocks on several threads; Ctrl-C ends it."""

from __future__ import annotations

import _thread
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence

from ikcore._arrays import as_text, whole_number

# Items, or joints of items, per call of C: each call takes at most a tenth of a second. Ctrl-C is handled between
# calls.
AT_ONCE = 65_536

# An upper bound of useful threads.
_MOST_WORKERS = 1024
# For fewer items a second thread does not pay: starting it takes a few hundred microseconds.
_WORTH_A_THREAD = 131_072


def thread_count(workers: int | None) -> int:
    """The number of threads; None means one for every core that this process may use."""
    if type(workers) is int and workers == 1:  # the usual case
        return 1
    if workers is None:
        return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        workers = whole_number(workers)
    except TypeError:
        raise TypeError(f"workers: expected a whole number, or None for all cores, got {as_text(workers)}") from None
    if not 1 <= workers <= _MOST_WORKERS:
        raise ValueError(f"workers: expected 1 to {_MOST_WORKERS}, or None for all cores, got {as_text(workers)}")
    return workers


def in_blocks(items: int, work: int, workers: int | None, solve: Callable[[slice], None]) -> None:
    """Solve all items, on several threads if requested and worthwhile.

    `work` is the cost of an item relative to a closed form.
    """
    workers = thread_count(workers)
    blocks = slices_of(items, work, workers)
    if len(blocks) == 1:
        solve(blocks[0])
    else:
        on_threads(blocks, workers, solve)


def slices_of(items: int, work: int, workers: int) -> list[slice]:
    """Blocks of items: a few for every thread if threads pay, and enough to handle Ctrl-C between them."""
    count = math.ceil(items * work / AT_ONCE)
    if workers > 1 and items * work >= _WORTH_A_THREAD:
        count = max(count, 4 * workers)
    count = max(1, min(count, items))
    return [slice(items * k // count, items * (k + 1) // count) for k in range(count)]


# Seconds between checks for Ctrl-C while waiting for a thread. Needed if another thread or Windows receives it.
_LISTENS_EVERY = 0.05


def on_threads(
    blocks: Sequence[slice],
    workers: int,
    solve: Callable[[slice], None],
    stop: Callable[[], None] = lambda: None,
) -> None:
    """Solve all blocks on `workers` threads, including this one.

    If a block fails, no other is begun, and the error is raised here.

    The error is raised after all threads have ended, as is an interrupt; `stop` is called first to make them end soon.
    The module `threading` is avoided, since it waits for threads to start, which takes as long as a thousand solves.
    """
    waiting, failures = deque(blocks), []

    def solve_waiting() -> None:
        try:
            while waiting:
                try:
                    block = waiting.popleft()
                except IndexError:  # another thread was faster
                    break
                solve(block)
        except BaseException as failure:
            give_up(failure)

    def give_up(failure: BaseException) -> None:
        failures.append(failure)
        waiting.clear()
        stop()

    def help_out(helping: _thread.LockType) -> None:
        try:
            solve_waiting()
        finally:
            helping.release()

    helpers = [_thread.allocate_lock() for _ in range(min(workers, len(blocks)) - 1)]
    for helping in helpers:
        helping.acquire()
        _thread.start_new_thread(help_out, (helping,))
    solve_waiting()
    while helpers:
        try:
            if helpers[-1].acquire(timeout=_LISTENS_EVERY):
                helpers.pop()
        except BaseException as failure:  # Ctrl-C
            give_up(failure)
    if failures:
        raise failures[0]
