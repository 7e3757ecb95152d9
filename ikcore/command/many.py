"""The same work for many files: optionally in several processes, with a progress bar."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from ikcore._files import drop_unfinished

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")

ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that end a process, as somebody logs out or a system goes down."""


def each(work: Callable[[_Job], _Result], jobs: Sequence[_Job], workers: int = 1) -> Iterator[_Result]:
    """Do all jobs and yield their results in order.

    Parameters
    ----------
    work : function
        A module-level function, so that other processes can import it.
    jobs : sequence
        The arguments of its calls.
    workers : int, default: 1
        Number of processes.

    Yields
    ------
    The results of `work`.
    """
    if workers == 1 or len(jobs) < 2:
        yield from _with_progress(map(work, jobs), len(jobs))
        return
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(workers, len(jobs)), initializer=_end_silently)
    try:
        futures: list[Future[_Result]] = [pool.submit(work, job) for job in jobs]
        yield from _with_progress((future.result() for future in futures), len(jobs))
    except (KeyboardInterrupt, SystemExit):  # nobody waits for unfinished jobs
        _end([child for child in multiprocessing.active_children() if child not in others])
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end(children: list[BaseProcess]) -> None:
    """End processes.

    Python misses a signal that arrives just as it begins to wait, so signals are repeated.
    """
    for attempt in range(50):
        children = [child for child in children if child.is_alive()]
        for child in children:
            (child.terminate if attempt < 49 else child.kill)()  # after five seconds they are killed
        for child in children:
            child.join(0.1)


def _end_silently() -> None:
    """End the worker without output when it is interrupted; the parent process prints the message.

    End it also when the parent process is gone. On Windows nothing else ends it then.
    """

    def end(number: int, _: object) -> None:
        drop_unfinished()
        os._exit(128 + number)

    for number in (signal.SIGINT, *ENDING_SIGNALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    drop_unfinished()
    os._exit(1)


def _with_progress(results: Iterable[_Result], count: int) -> Iterator[_Result]:
    """The same results, with a progress bar if the output is a terminal and there are several jobs."""
    shown = sys.stderr.isatty() and count > 1
    try:
        for done, result in enumerate(results, 1):
            if shown:
                filled = 30 * done // count
                print(f"\r[{'#' * filled}{' ' * (30 - filled)}] {done} of {count}", end="", file=sys.stderr, flush=True)
            yield result
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def files(paths: Iterable[str], endings: Iterable[str]) -> list[str]:
    """The given files, and the files below given folders that have such extensions, by name.

    Parameters
    ----------
    paths : iterable of str
        Files and folders.
    endings : iterable of str
        Extensions in small letters, with their dots.

    Returns
    -------
    list of str
        The files. A folder without such files stands for itself, so that an error is reported.
    """
    known, found = set(endings), []
    for path in paths:
        below = sorted(str(file) for file in Path(path).rglob("*") if file.suffix.lower() in known and file.is_file())
        found += below if Path(path).is_dir() and below else [path]
    return found
