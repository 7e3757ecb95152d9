"""What is long, near, brief and slow for a human whose leg is 0.87 m long; lengths are in proportion for others.

Feet are found and baked by these scales. What only one rule reckons with is beside it.
"""

from __future__ import annotations

from ikcore import _core

# Metres.
LEG = 0.87  # how long its leg is
TALL = 1.7  # how tall it is
EXACT = 1e-5  # nothing: what the digits of files move a foot, from frame to frame, that stands exactly
TRACE = 0.0015  # hardly anything: what a foot may slide that stands still nearly, or be off what it was put on
ON = 0.005  # what feet may be off a ground and it is that ground all the same
SOLE = 0.015  # what a sole may be thicker than known
EDGE = _core.EDGE  # how deep toes may dip; ground that rises or falls by more than its slopes say has an edge
THICK = 2 * SOLE  # what soles of both feet may be so together
UNEVEN = THICK  # what a floor that is meant to be level may be off it
LOW = 0.05  # a foot in contact is lower somewhere
STEP = 0.1  # and nowhere higher than this; what one steps over, or on, and how far aside for that
NEAR, HIGH, DEEP = 0.3, 0.6, 1.0  # how far above or below feet ground is looked for
FAR = 1e3  # above all there is

# Seconds.
MOMENT = 0.067  # the shortest gap between two contacts; bodies and toes begin to move so much before they have to
BRIEF = 0.1  # the shortest contact, and how long a foot takes to arrive, or to leave
WHILE = 0.25  # before and after a step, in which the body moves for it, and all that is smoothed over steps

# Metres a second.
STILL = 0.15  # what is clearly still; what is twice as fast has left
