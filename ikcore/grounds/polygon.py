"""Deterministic triangulation of polygons without new vertices.

Polygons with few corners are cut by ear clipping. Larger ones are swept from left to right and cut into monotone pieces
(M. de Berg et al., Computational Geometry, 2008, chapter 3). The sweep takes n log n time. It uses integers, so it is
exact, and correct for every polygon that does not cross itself. A pair of opposite edges, as in a bridge to the outline
of a hole, cancels. A polygon that crosses itself has no interior that its triangles could fill; it is cut arbitrarily,
in bounded time.
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


def triangulate(corners: Sequence[Corner]) -> list[Triangle]:
    """The triangles of a polygon.

    Parameters
    ----------
    corners : sequence of (float, float)
        Three or more, counter-clockwise.

    Returns
    -------
    list of (int, int, int)
        The corner indices of each, counter-clockwise.

    Examples
    --------
    >>> triangulate([(0, 0), (2, 0), (1, 0.5), (0, 2)])
    [(0, 1, 2), (0, 2, 3)]
    """
    if len(corners) > _FEW:
        with suppress(_CrossesError):
            return _sweep(corners)
    return _ears(corners)


def _turn(a: Corner, b: Corner, c: Corner) -> float:
    """Positive if a, b, c turn left; exact for integers."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


# --- ears ------------------------------------------------------------------------------------------------------------


def _ears(at: Sequence[Corner]) -> list[Triangle]:
    """Clip ears one by one: a corner that turns left and has no other corner in its triangle.

    A polygon that crosses itself may have no ear, or take long to find one. The rest is then cut as a fan.
    """
    left, found = list(range(len(at))), []
    patience = 1000 + 20 * len(at)  # more than polygons with few corners need
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
    """The number of corners tested to find that it is an ear; negative if it is none."""
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
    """The sweep cannot continue, because the polygon crosses or touches itself."""


class _Edge:
    """An edge and, if the interior is above it, the pieces there."""

    __slots__ = ("floor", "inside", "left", "right")

    def __init__(self, left: Place, right: Place, floor: bool) -> None:
        self.left, self.right, self.floor = left, right, floor
        self.inside: list[_Piece] = []  # two, one above the other, after a vertex where they have met


def _sweep(corners: Sequence[Corner]) -> list[Triangle]:
    places = _whole(corners)
    begun, ended = defaultdict(list), defaultdict(list)
    for edge in _edges(places):
        begun[edge.left].append(edge)
        ended[edge.right].append(edge)
    if not begun:  # all edges cancel
        raise _CrossesError
    line: list[_Edge] = []  # the edges that cross the sweep line, from below
    found: list[tuple[Place, Place, Place]] = []
    for place in sorted(begun.keys() | ended.keys()):
        _pass(place, len(ended[place]), _sort_ascending(begun[place]), line, found)
    number = {place: len(places) - 1 - back for back, place in enumerate(reversed(places))}
    return [(number[a], number[b], number[c]) for a, b, c in found]


def _whole(corners: Sequence[Corner]) -> list[Place]:
    """The corners in integers. Each axis has its own unit, which keeps the sign of all turns."""
    axes = []
    for axis in zip(*corners, strict=True):
        ratios = [float(value).as_integer_ratio() for value in axis]
        finest = max(below for _, below in ratios)  # all are powers of two
        axes.append([above * (finest // below) for above, below in ratios])
    return list(zip(*axes, strict=True))


def _edges(places: list[Place]) -> list[_Edge]:
    """The edges from left to right: a floor has the interior above it."""
    count: Counter[tuple[Place, Place]] = Counter()
    for a, b in pairwise([places[-1], *places]):
        count[min(a, b), max(a, b)] += (a < b) - (b < a)
    if any(abs(times) > 1 for times in count.values()):
        raise _CrossesError
    return [_Edge(left, right, times > 0) for (left, right), times in count.items() if times]


def _sort_ascending(edges: list[_Edge]) -> list[_Edge]:
    """The edges that start at one vertex, from below."""

    def order(a: _Edge, b: _Edge) -> int:
        if not (turn := _turn(a.left, a.right, b.right)):
            raise _CrossesError
        return -1 if turn > 0 else 1

    return sorted(edges, key=cmp_to_key(order)) if len(edges) > 1 else edges


def _pass(
    place: Place, ends: int, begun: list[_Edge], line: list[_Edge], found: list[tuple[Place, Place, Place]]
) -> None:
    """Advance the sweep past a vertex where some edges end and others begin."""
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
    """The number of edges below a vertex."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high) // 2
        if _turn(line[middle].left, line[middle].right, place) > 0:
            low = middle + 1
        else:
            high = middle
    return low


def _inside_above(edges: list[_Edge], inside: bool) -> bool:
    """True if the interior is above the edges; floors and ceilings alternate."""
    for edge in edges:
        if edge.floor == inside:
            raise _CrossesError
        inside = edge.floor
    return inside


class _Piece:
    """The uncut part of a piece that grows to the right: a chain of corners on one side, none of them convex.

    The first corner may be on the other side.
    """

    __slots__ = ("chain", "upper")

    def __init__(self, chain: list[Place], upper: bool) -> None:
        self.chain, self.upper = chain, upper

    def add(self, place: Place, upper: bool, found: list[tuple[Place, Place, Place]]) -> None:
        """Add a corner and cut the triangles that it completes. From the other side it sees the whole chain."""
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
    """Add a corner on one side of the interior. It ends the piece on that side if two pieces have met."""
    if len(inside) == 2:
        ended = inside.pop(upper)
        ended.add(place, not ended.upper, found)
    inside[0].add(place, upper, found)


def _split(
    inside: list[_Piece], place: Place, found: list[tuple[Place, Place, Place]]
) -> tuple[list[_Piece], list[_Piece]]:
    """The pieces below and above a corner in the interior; they are separated at the last corner."""
    if len(inside) == 1:
        other = _Piece([inside[0].chain[-1]], False)
        inside = [inside[0], other] if inside[0].upper else [other, inside[0]]
    below, above = inside
    below.add(place, True, found)
    above.add(place, False, found)
    return [below], [above]
