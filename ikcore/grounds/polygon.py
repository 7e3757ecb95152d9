"""Polygons cut into triangles between their corners, always in the same way.

Few corners are cut off as ears, one by one. Many are swept over from left to right, pieces being cut while they grow
(M. de Berg et al., Computational Geometry, 2008, chapter 3): in n log n, and in whole numbers, so that nothing is
rounded and whatever does not cross itself comes out right. An edge that goes there and back, as to the outline of a
hole and from it, is none. What crosses itself has no inside that triangles between its corners could fill: it is cut
somehow, but soon.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cmp_to_key
from itertools import pairwise

Triangle = tuple[int, int, int]
Corner = tuple[float, float]
Place = tuple[int, int]

_FEW = 8


def cut(corners: Sequence[Corner]) -> list[Triangle]:
    """The triangles of a polygon.

    Parameters
    ----------
    corners : sequence of (float, float)
        Three or more, counter-clockwise.

    Returns
    -------
    list of (int, int, int)
        The corners of each by number, counter-clockwise.

    Examples
    --------
    >>> cut([(0, 0), (2, 0), (1, 0.5), (0, 2)])
    [(0, 1, 2), (0, 2, 3)]
    """
    if len(corners) > _FEW:
        with suppress(_CrossesError):
            return _swept(corners)
    return _ears(corners)


def _turn(a: Corner, b: Corner, c: Corner) -> float:
    """Positive where a, b, c turn left; exact of whole numbers."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


# --- ears ------------------------------------------------------------------------------------------------------------


def _ears(at: Sequence[Corner]) -> list[Triangle]:
    """Ears off, one by one: a corner that turns left and has no other within its triangle.

    There may be none, and it may take long to find one, in what crosses itself: then the rest is a fan.
    """
    left, found = list(range(len(at))), []
    patience = 1000 + 20 * len(at)  # more than few corners ever need
    while len(left) > 3 and patience > 0:
        for ear in range(len(left)):
            looked = _looked_at(ear, left, at)
            patience -= abs(looked)
            if looked > 0:
                break
        else:
            ear = 0
        found.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return [*found, *((left[0], b, c) for b, c in pairwise(left[1:]))]


def _looked_at(ear: int, left: list[int], at: Sequence[Corner]) -> int:
    """How many corners it took to see that it is an ear; below zero, that it is none."""
    a, b, c = (at[left[(ear + step) % len(left)]] for step in (-1, 0, 1))
    if _turn(a, b, c) <= 0:
        return -1
    for looked, corner in enumerate(left, 1):
        p = at[corner]
        if p not in (a, b, c) and _turn(a, b, p) >= 0 and _turn(b, c, p) >= 0 and _turn(c, a, p) >= 0:
            return -looked
    return len(left)


# --- the sweep -------------------------------------------------------------------------------------------------------


class _CrossesError(Exception):
    """It cannot go on, as the polygon crosses or touches itself."""


class _Edge:
    """An edge, and what is inside above it, if that is inside."""

    __slots__ = ("floor", "inside", "left", "right")

    def __init__(self, left: Place, right: Place, floor: bool) -> None:
        self.left, self.right, self.floor = left, right, floor
        self.inside: list[_Piece] = []  # two, one above the other, behind a place where they have met


def _swept(corners: Sequence[Corner]) -> list[Triangle]:
    places = _whole(corners)
    begun, ended = defaultdict(list), defaultdict(list)
    for edge in _edges(places):
        begun[edge.left].append(edge)
        ended[edge.right].append(edge)
    if not begun:  # there and back, all of it
        raise _CrossesError
    line: list[_Edge] = []  # those that are there, from below
    found: list[tuple[Place, Place, Place]] = []
    for place in sorted(begun.keys() | ended.keys()):
        _pass(place, len(ended[place]), _ascending(begun[place]), line, found)
    number = {place: len(places) - 1 - back for back, place in enumerate(reversed(places))}
    return [(number[a], number[b], number[c]) for a, b, c in found]


def _whole(corners: Sequence[Corner]) -> list[Place]:
    """The same in whole numbers, each axis in a unit of its own, which leaves all turns."""
    axes = []
    for axis in zip(*corners, strict=True):
        ratios = [float(value).as_integer_ratio() for value in axis]
        finest = max(below for _, below in ratios)  # of powers of two
        axes.append([above * (finest // below) for above, below in ratios])
    return list(zip(*axes, strict=True))


def _edges(places: list[Place]) -> list[_Edge]:
    """From left to right: a floor has the inside above it."""
    count: Counter[tuple[Place, Place]] = Counter()
    for a, b in pairwise([places[-1], *places]):
        count[min(a, b), max(a, b)] += (a < b) - (b < a)
    if any(abs(times) > 1 for times in count.values()):
        raise _CrossesError
    return [_Edge(left, right, times > 0) for (left, right), times in count.items() if times]


def _ascending(edges: list[_Edge]) -> list[_Edge]:
    """Edges from one place, from below."""

    def order(a: _Edge, b: _Edge) -> int:
        if not (turn := _turn(a.left, a.right, b.right)):
            raise _CrossesError
        return -1 if turn > 0 else 1

    return sorted(edges, key=cmp_to_key(order)) if len(edges) > 1 else edges


def _pass(
    place: Place, ends: int, begun: list[_Edge], line: list[_Edge], found: list[tuple[Place, Place, Place]]
) -> None:
    """Go on past a place where so many edges end and others begin."""
    low = _below(place, line)
    ended = line[low : low + ends]
    above = line[low + ends : low + ends + 1]
    if any(edge.right != place for edge in ended) or any(not _turn(e.left, e.right, place) for e in above):
        raise _CrossesError
    under = line[low - 1] if low and line[low - 1].floor else None
    over = _inside_above(ended, under is not None)
    if over != _inside_above(begun, under is not None):
        raise _CrossesError
    for edge in ended[:-1]:
        for piece in edge.inside:
            piece.add(place, not piece.upper, found)
    if under and not ended:
        under.inside, begun[-1].inside = _split(under.inside, place, found)
    elif under:
        _add(under.inside, place, True, found)
    if over and ended:
        inside = ended[-1].inside
        _add(inside, place, False, found)
        if begun:
            begun[-1].inside = inside
        elif under:
            under.inside += inside
    for edge in begun[:-1]:
        edge.inside = [_Piece([place], False)] if edge.floor else []
    line[low : low + ends] = begun


def _below(place: Place, line: list[_Edge]) -> int:
    """How many edges are below a place."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high) // 2
        if _turn(line[middle].left, line[middle].right, place) > 0:
            low = middle + 1
        else:
            high = middle
    return low


def _inside_above(edges: list[_Edge], inside: bool) -> bool:
    """Whether it is inside above edges, whose floors and ceilings take turns."""
    for edge in edges:
        if edge.floor == inside:
            raise _CrossesError
        inside = edge.floor
    return inside


class _Piece:
    """What is left to cut of a piece that grows to the right: a chain of corners that turns inwards, on one side.

    The first of them may be on the other side.
    """

    __slots__ = ("chain", "upper")

    def __init__(self, chain: list[Place], upper: bool) -> None:
        self.chain, self.upper = chain, upper

    def add(self, place: Place, upper: bool, found: list[tuple[Place, Place, Place]]) -> None:
        """A corner on this side, with the triangles that it ends; on the other side it sees the whole chain."""
        chain = self.chain
        if upper != self.upper:
            found += [(b, a, place) if self.upper else (a, b, place) for a, b in pairwise(chain)]
            self.chain, self.upper = [chain[-1], place], upper
            return
        last = chain.pop()
        while chain and (turn := _turn(chain[-1], last, place)) and (turn < 0) == upper:
            found.append((last, chain[-1], place) if upper else (chain[-1], last, place))
            last = chain.pop()
        chain += [last, place]


def _add(inside: list[_Piece], place: Place, upper: bool, found: list[tuple[Place, Place, Place]]) -> None:
    """A corner on one side of what is inside; of two pieces that have met it ends the one on that side."""
    if len(inside) == 2:
        ended = inside.pop(upper)
        ended.add(place, not ended.upper, found)
    inside[0].add(place, upper, found)


def _split(
    inside: list[_Piece], place: Place, found: list[tuple[Place, Place, Place]]
) -> tuple[list[_Piece], list[_Piece]]:
    """What is below a corner in the middle, and above it; they part where the last corner was."""
    if len(inside) == 1:
        other = _Piece([inside[0].chain[-1]], False)
        inside = [inside[0], other] if inside[0].upper else [other, inside[0]]
    below, above = inside
    below.add(place, True, found)
    above.add(place, False, found)
    return [below], [above]
