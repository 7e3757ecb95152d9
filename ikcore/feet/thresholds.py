"""Thresholds shared by contact detection and baking, for a leg of 0.87 m. Lengths grow in proportion to the leg.

Thresholds of a single rule stand beside that rule.
"""

from __future__ import annotations

from ikcore import _core

# Lengths, m.
LEG = 0.87  # length of the leg
TALL = 1.7  # body height
EXACT = 1e-5  # apparent motion of a fixed foot from the decimal digits of files
TRACE = 0.0015  # plant tolerance: a slide or a height error below it is none
SOLE = 0.015  # uncertainty of the height of a sole
EDGE = _core.EDGE  # depth to which toes may dip; a larger jump of the ground than its slope explains is an edge
THICK = 2 * SOLE  # uncertainty of the soles of two feet together
UNEVEN = THICK  # unevenness of a floor that counts as level
LOW = 0.05  # height above its lowest level below which a point may be in contact
STEP = 0.1  # height of a usual step, and distance to its side within which a foot looks for a place
NEAR, HIGH, DEEP = 0.3, 0.6, 1.0  # windows above and below a foot in which ground is looked for
FAR = 1e3  # window above everything

# Times, s.
MOMENT = 0.067  # time in which the pelvis and the toes anticipate what they have to do
BRIEF = 0.1  # shortest stance, and the time in which a foot arrives and leaves
WHILE = 0.25  # time before and after a step over which the pelvis is smoothed
