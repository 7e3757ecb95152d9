"""How far a bake is, told while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Progress = Callable[[float], object]
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Told:
    """Tells how far a part of a bake is, as a share of the whole, 0 to 1."""

    progress: Progress  # whom
    # the shares at which that part begins and ends
    first: float = 0.0
    last: float = 1.0

    def part(self, first: float, last: float) -> Told:
        """For what begins and ends at these shares of the part."""
        span = self.last - self.first
        return Told(self.progress, self.first + first * span, self.first + last * span)

    def over(self, items: Sequence[_Item]) -> Iterator[_Item]:
        """The items one after the other; when each is done it is told how many are."""
        for done, item in enumerate(items, 1):
            yield item
            self.progress(self.first + (self.last - self.first) * (done / len(items)))
