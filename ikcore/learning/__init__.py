"""Poses learned from examples, and sampled."""
