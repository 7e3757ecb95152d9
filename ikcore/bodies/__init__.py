"""Whole bodies: what their joints are like where a rig does not say so."""
