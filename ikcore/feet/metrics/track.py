"""A leg over time: joints, sole, ground and contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore.feet.metrics import arguments
from ikcore.feet.metrics.geometry import UP
from ikcore.feet.metrics.on_ground import sole_angle

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The motion of a leg that is measured, over all frames; `Track.on` makes it.

    Attributes
    ----------
    chain : (frames, joints, 3) array
        Its joints from hip to ankle; for a foot without a leg its ankle.
    sole : (frames, points, 3) array
        Points of the sole.
    heights : (frames, points) array
        Their heights above the ground.
    normals : (frames, 3) array
        Normals of the ground at the foot.
    tilt : (frames,) array
        `sole_angle`; NaN if unknown.
    pelvis : (frames, 3) array
        The joint that carries the legs; NaN if unknown.
    ankles : (frames, legs, 3) array
        Ankles of all legs that the pelvis carries.
    """

    chain: Array
    sole: Array
    heights: Array
    normals: Array
    tilt: Array
    pelvis: Array
    ankles: Array

    @classmethod
    def on(
        cls,
        chain: ArrayLike,
        sole: ArrayLike,
        ground: ArrayLike = 0.0,
        normals: ArrayLike = UP,
        *,
        soles: ArrayLike | None = None,
        pelvis: ArrayLike | None = None,
        ankles: ArrayLike | None = None,
    ) -> Track:
        """Make a track on a ground; without one the ground is y = 0.

        Parameters
        ----------
        chain : (frames, joints, 3) array_like
            Its joints from hip to ankle.
        sole : (frames, points, 3) array_like
            Points of the sole, such as heel, ball and toe, from back to front.
        ground : (frames, points) array_like or float, optional
            Heights of the ground below those points; NaN where there is none.
        normals : (frames, 3) or (3,) array_like, optional
            Normals of the ground at the foot.
        soles : (frames, 3) array_like, optional
            Normals of the sole, upwards. Without them its angle to the ground is not measured.
        pelvis : (frames, 3) array_like, optional
            The joint that carries the legs. Without it its path is not measured.
        ankles : (frames, legs, 3) array_like, optional
            Ankles of all legs that the pelvis carries (default: that of this leg alone).

        Examples
        --------
        >>> leg = Track.on(chain=np.zeros((9, 3, 3)), sole=np.zeros((9, 2, 3)), ground=-0.01)
        >>> leg.heights[0]
        array([0.01, 0.01])
        """
        joints = arguments.vectors("chain", chain, "frames", "joints")
        points = arguments.vectors("sole", sole, len(joints), "points")
        below = arguments.spread("ground", rows("ground", ground, arguments.DOUBLE), points.shape[:2])
        upward = arguments.spread("normals", arguments.vectors("normals", normals), (len(joints), 3))
        across, above = (
            arguments.spread(
                name, np.full(3, np.nan) if known is None else arguments.vectors(name, known), upward.shape
            )
            for name, known in (("soles", soles), ("pelvis", pelvis))
        )
        carriers = joints[:, -1:] if ankles is None else arguments.vectors("ankles", ankles, len(joints), "legs")
        return cls(joints, points, points[..., 1] - below, upward, sole_angle(across, upward), above, carriers)
