"""Clips: a skeleton and its pose over time; files of them, and a walk that is known."""
