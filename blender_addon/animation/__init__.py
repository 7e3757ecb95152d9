# SPDX-License-Identifier: GPL-3.0-or-later
"""Animation: actions, curves, cycles, NLA strips, frames of the scene, clips, key reduction."""
