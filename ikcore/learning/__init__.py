"""Poses learned from examples, and sampled."""

from ikcore.solving import by_name as by_name  # so that the methods of the core stand first in the table
