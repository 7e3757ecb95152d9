"""Whole bodies: ready-made ones, masses and hinges for rigs, balance, effort and momentum."""

from ikcore.bodies.hinges import hinges_from
from ikcore.bodies.human import human, strengths
from ikcore.bodies.ready import as_body
from ikcore.bodies.segments import with_masses

__all__ = ["as_body", "hinges_from", "human", "strengths", "with_masses"]


def __dir__() -> list[str]:
    return __all__
