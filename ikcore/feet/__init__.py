"""Feet: which joints are legs, and where their soles are."""

from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole

__all__ = ["Feet", "Leg", "Sole"]
