"""Thresholds shared by contact detection and baking, for a leg of 0.87 m. Lengths grow in proportion to the leg.

Thresholds of a single rule stand beside that rule.
"""

from __future__ import annotations

from ikcore import _core

# Lengths, m.
LEG_LENGTH = 0.87
BODY_HEIGHT = 1.7
FILE_PRECISION = 1e-5  # apparent motion of a fixed foot from the decimal digits of files
PLANT_TOLERANCE = 0.0015  # a smaller slide or height error counts as none
SOLE_UNCERTAINTY = 0.015  # of the height of one sole
EDGE_DEPTH = _core.EDGE  # depth to which toes may dip; a larger jump of the ground than its slope explains is an edge
SOLES_UNCERTAINTY = 2 * SOLE_UNCERTAINTY  # of the height difference of two soles
FLOOR_UNEVENNESS = SOLES_UNCERTAINTY  # largest unevenness of a floor that counts as level
CONTACT_HEIGHT = 0.05  # a point in contact is less above its lowest level
STEP_HEIGHT = 0.1  # usual height of a step, and largest distance of a foothold beside an edge
NEAR_WINDOW, HIGH_WINDOW, DEEP_WINDOW = 0.3, 0.6, 1.0  # distances above and below a foot in which ground is searched
FAR_WINDOW = 1e3  # higher than any ground

# Times, s.
ANTICIPATION_TIME = 0.067  # in which pelvis and toes move ahead of an event
SHORTEST_STANCE = 0.1  # also the time in which a foot arrives and leaves
SMOOTHING_TIME = 0.25  # before and after a step, for the pelvis
