"""Feet: how well they stand on the ground."""

from ikcore.feet import metrics

__all__ = ["metrics"]
