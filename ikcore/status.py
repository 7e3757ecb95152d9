"""The status of solved items: flags with a name and a sentence, both from the C core."""

from __future__ import annotations

import operator
import os
import sys
import warnings
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core

_VALUES = {name: value for name, value, _ in _core.STATUS_FLAGS}
_SENTENCES = {value: sentence for _, value, sentence in _core.STATUS_FLAGS}
_FOLDER = os.path.dirname(__file__) + os.sep
_KNOWN = sum(_SENTENCES)


class Status(IntFlag):
    """Flags of one item; 0 means that all goals are reached.

    Flags may be set together. INPUT_OUTSIDE concerns the start pose; without other flags the goals are reached.
    NOT_FINITE and NO_LENGTH, for example, say that the input cannot be used: the output pose is then the start pose.
    The pose is valid with all other flags.

    Examples
    --------
    >>> status = Status(Status.TOO_FAR | Status.POLE_UNDEFINED)
    >>> Status.TOO_FAR in status, status.usable
    (True, True)
    >>> print(Status.NO_LENGTH.sentence)
    the chain, its curve or a plane's normal has no length, so the input pose is returned
    """

    TOO_FAR = _VALUES["TOO_FAR"]
    TOO_NEAR = _VALUES["TOO_NEAR"]
    POLE_UNDEFINED = _VALUES["POLE_UNDEFINED"]
    AT_LIMIT = _VALUES["AT_LIMIT"]
    SOFTENED = _VALUES["SOFTENED"]
    PARTIAL_INFLUENCE = _VALUES["PARTIAL_INFLUENCE"]
    STALLED = _VALUES["STALLED"]
    ITERATION_LIMIT = _VALUES["ITERATION_LIMIT"]
    CONFLICT = _VALUES["CONFLICT"]
    LEVEL = _VALUES["LEVEL"]
    OFF_BALANCE = _VALUES["OFF_BALANCE"]
    TOO_FAST = _VALUES["TOO_FAST"]
    TOO_SHORT = _VALUES["TOO_SHORT"]
    INPUT_OUTSIDE = _VALUES["INPUT_OUTSIDE"]
    NOT_FINITE = _VALUES["NOT_FINITE"]
    NO_LENGTH = _VALUES["NO_LENGTH"]

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return super()._missing_(operator.index(value))  # type: ignore[arg-type]  # NumPy integers are not int

    @property
    def sentence(self) -> str:
        """The sentences of all flags that are set."""
        unknown = self & ~_KNOWN
        said = [_SENTENCES[flag] for flag in self & _KNOWN] + [f"unknown flags {int(unknown):#x}"] * bool(unknown)
        return "; ".join(said) or "reached"

    @property
    def usable(self) -> bool:
        """True if the input could be used."""
        return self < _core.UNUSABLE


# This flag does not concern the solved pose.
INPUT_OUTSIDE = int(Status.INPUT_OUTSIDE)


class UnusableWarning(RuntimeWarning):
    """Some items of a batch could not be used and keep their input pose."""


class UnusableError(ValueError):
    """Some items of a batch could not be used, with ``strict=True``."""


def count(status: NDArray[np.int32] | np.int32) -> dict[Status, int]:
    """The number of items with each flag, for the flags that occur.

    >>> count(np.array([0, 1, 5], np.int32))
    {<Status.TOO_FAR: 1>: 2, <Status.POLE_UNDEFINED: 4>: 1}
    """
    counts = {flag: int(np.count_nonzero(np.bitwise_and(status, flag))) for flag in Status}
    return {flag: items for flag, items in counts.items() if items}


def summarize(noun: str, status: NDArray[np.int32] | np.int32, error: NDArray[Any] | np.floating[Any]) -> str:
    """A summary of a batch: how many items reached their goals, how many have each flag, and the largest error of each.

    >>> print(summarize("limb", np.array([0, 0, 1], np.int32), np.array([1e-16, 0.0, 0.5])))
    2 of 3 limbs reached, largest error 1e-16
      1 TOO_FAR, largest error 0.5: the target is beyond the reach of the chain
    """
    items, reached = np.size(status), np.equal(np.bitwise_and(status, ~INPUT_OUTSIDE), 0)
    lines = [f"{np.count_nonzero(reached)} of {items} {noun}{'s' * (items != 1)} reached{_largest(error, reached)}"]
    for flag, flagged in count(status).items():
        largest = _largest(error, np.not_equal(np.bitwise_and(status, flag), 0))
        lines.append(f"  {flagged} {flag.name}{largest}: {flag.sentence}")
    return "\n".join(lines)


class Summarized:
    """Results with `status` and `error` of every item."""

    __slots__ = ()
    _noun = "pose"  # what one item is

    def summary(self: Any) -> str:
        """A summary of the batch: how many items reached their targets, and the reasons for the others."""
        return summarize(self._noun, self.status, self.error)


def _largest(error: NDArray[Any] | np.floating[Any], where: NDArray[np.bool_] | np.bool_) -> str:
    """Text for the largest error of some items, if there are any."""
    where = np.logical_and(where, np.isfinite(error))
    return f", largest error {np.max(error, where=where, initial=0):.3g}" if np.any(where) else ""


def report_unusable(solver: str, status: NDArray[np.int32] | np.int32, *, strict: bool) -> None:
    """Warn once about all unusable items of a batch, or raise. The warning points to the code that called ikcore."""
    worst = status.max(initial=0) if status.ndim else status
    if worst < _core.UNUSABLE:
        return
    unusable = int(np.count_nonzero(np.greater_equal(status, _core.UNUSABLE)))
    why = ", ".join(
        f"{items} {flag.name} ({flag.sentence})" for flag, items in count(status).items() if not flag.usable
    )
    message = f"{solver}: {unusable} of {np.size(status)} items cannot be used: {why}"
    if strict:
        raise UnusableError(message)
    warnings.warn(message, UnusableWarning, stacklevel=_stack_depth() + 1)


def _stack_depth() -> int:
    """The number of stack frames, from the caller's on, that belong to this package."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    return level
