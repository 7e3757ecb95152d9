# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawing of foot trails: batches for the graphics card. Imported when needed, since it requires a window.

The colours of the sides are distinguishable for the colour-blind (Okabe and Ito). Hidden parts are drawn faintly.
"""

# unknown to the stubs of gpu:
# mypy: disable-error-code="func-returns-value, attr-defined, index"

import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from . import trails

COLORS = {"left": (0.90, 0.62, 0.0), "right": (0.34, 0.71, 0.91), "middle": (0.0, 0.62, 0.45)}
GREY, DARK = (0.75, 0.75, 0.75), (0.05, 0.05, 0.05)
DEPTHS = (("GREATER", 0.35), ("LESS_EQUAL", 1.0))  # depth tests and opacities: hidden parts, then visible ones
BEFORE, PATH, PLANTED, OUTLINE = 1.5, 2.0, 5.0, 1.5  # line widths, in pixels
FREE, HELD, RIM = 5.0, 10.0, 3.0  # point sizes, in pixels
RAISED = 0.005  # relative to the leg length: height above the ground, to avoid z-fighting

FILL, LINE, POINT = "UNIFORM_COLOR", "POLYLINE_UNIFORM_COLOR", "POINT_UNIFORM_COLOR"
SHAPES = {FILL: "TRIS", LINE: "LINES", POINT: "POINTS"}


class Picture:
    """The trails of an armature as batches for the graphics card."""

    def __init__(self, all_legs):
        self._all, self._time = all_legs, None
        self._still = [mark for leg in all_legs.legs for mark in _marks(all_legs, leg)]
        self._moving = []

    def draw(self, time, pixel):
        """Draw them for a time; `pixel` is the interface scale of the screen."""
        if time != self._time:
            self._time, self._moving = time, [mark for leg in self._all.legs for mark in _points(self._all, leg, time)]
        kept = gpu.state.blend_get(), gpu.state.depth_test_get(), gpu.state.depth_mask_get()
        gpu.state.blend_set("ALPHA")
        gpu.state.depth_mask_set(False)
        gpu.state.program_point_size_set(True)  # point sizes come from the shader
        try:
            with gpu.matrix.push_pop():
                gpu.matrix.translate((0.0, 0.0, RAISED * self._all.legs[0].size))
                for depth, opaque in DEPTHS:
                    gpu.state.depth_test_set(depth)
                    for mark in self._still:
                        mark.draw(opaque, pixel)
                gpu.state.depth_test_set("ALWAYS")
                for mark in self._moving:
                    mark.draw(1.0, pixel)
        finally:
            gpu.state.program_point_size_set(False)  # Blender's default, which cannot be queried
            gpu.state.blend_set(kept[0])
            gpu.state.depth_test_set(kept[1])
            gpu.state.depth_mask_set(kept[2])


def _marks(all_legs, leg):
    """A leg's footprints and paths."""
    color, prints = COLORS[leg.side], all_legs.footprints(leg)
    corners = np.arange(1, trails.CORNERS - 1)
    fans = prints[:, np.stack([0 * corners, corners, corners + 1], axis=1)]
    found = [(FILL, fans, (*color, 0.3), 0), (LINE, trails.outlines(prints), (*color, 0.9), OUTLINE)]
    if leg.before is not None:
        found.append((LINE, trails.pieces(leg.before), (*GREY, 0.8), BEFORE))
    found.append((LINE, trails.pieces(leg.path), (*color, 0.9), PATH))
    found.append((LINE, trails.pieces(leg.path, all_legs.planted(leg)), (*color, 1.0), PLANTED))
    return [Mark(*each) for each in found if len(each[1])]


def _points(all_legs, leg, time):
    """The points of a leg's sole, with a dark rim; points in contact are larger."""
    places, held = all_legs.at(leg, time)
    sizes = ((places[~held], FREE), (places[held], HELD))
    both = [(at, size + rim, color) for at, size in sizes for rim, color in ((RIM, DARK), (0, COLORS[leg.side]))]
    return [Mark(POINT, at, (*color, 1.0), size) for at, size, color in both if len(at)]


class Mark:
    """Fills, lines or points of one colour, with a width in pixels."""

    def __init__(self, kind, places, color, width):
        self._kind, self._color, self._width = kind, color, width
        self._shader = gpu.shader.from_builtin(kind)
        self._batch = batch_for_shader(self._shader, SHAPES[kind], {"pos": places.reshape(-1, 3)})

    def draw(self, opaque, pixel):
        """Draw it with this opacity."""
        self._shader.bind()
        self._shader.uniform_float("color", (*self._color[:3], self._color[3] * opaque))
        if self._kind == LINE:
            self._shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
            self._shader.uniform_float("lineWidth", self._width * pixel)
        elif self._kind == POINT:
            self._shader.uniform_float("size", self._width * pixel)
        self._batch.draw(self._shader)
