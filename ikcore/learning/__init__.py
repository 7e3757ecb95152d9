"""Poses learned from examples, and sampled."""

from ikcore.solving import by_name as by_name  # first, so that the methods of the core precede these in the table
