"""Feet on moving ground, moved back to where they would be if the ground stood still as in the first frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.contacts.intervals import core, runs
from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Surface

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def carried_back(
    ground: Ground, surface: Surface, sole: Array, heights: Array, held: Mask, fps: float
) -> tuple[Array, Array]:
    """The points of a sole, and the normals below them, moved back to where they would be in the first frame.

    Parameters
    ----------
    ground : Ground
        The ground, with the frames of the clip.
    surface : Surface
        The ground below the points.
    sole : (frames, points, 3) array
        The points.
    heights : (frames, points) array
        Their heights above the ground.
    held : (frames, points) array of bool
        Contacts of each point.
    fps : float
        Frames per second.

    Returns
    -------
    (frames, points, 3) arrays
        Points on a part at rest, or over no ground, are unchanged.
    """
    points, normals = sole.copy(), surface.normals.copy()
    on = _stood_on(surface, heights, np.asarray(held.any(axis=1)), fps)
    for number in np.unique(on[on >= 0]):
        part = ground.parts[number]
        if part.moves:
            first, frames = part.still(0), on == number
            points[frames] = first.world(part.local(sole))[frames]
            if part.rotations is not None and first.rotations is not None:
                turned = rotations.multiply(first.rotations, rotations.conjugate(part.rotations))
                turned = np.broadcast_to(turned, (len(sole), 4))[:, np.newaxis]
                normals[frames] = rotations.rotate(turned, surface.normals)[frames]
    return points, normals


def _stood_on(surface: Surface, heights: Array, down: Mask, fps: float) -> NDArray[np.intp]:
    """The part of the ground that a foot stands on, in each frame; one per stance.

    It is the part that is most often below its lowest point. In swing it is the part of the nearer stance in time. -1
    if there is none.
    """
    lowest = np.where(np.isnan(heights), np.inf, heights).argmin(axis=1)
    under: NDArray[np.intp] = surface.part[np.arange(len(lowest)), lowest].astype(np.intp)
    stances = runs(down)
    if not len(stances):
        return under
    parts = np.array([_usual(under[core(start, stop, fps)]) for start, stop in stances.tolist()])
    edges = (stances[:-1, 1] + stances[1:, 0] + 1) // 2
    return np.asarray(parts[np.searchsorted(edges, np.arange(len(down)), side="right")])


def _usual(numbers: NDArray[np.intp]) -> int:
    """The most frequent number."""
    found, counts = np.unique(numbers, return_counts=True)
    return int(found[counts.argmax()])
