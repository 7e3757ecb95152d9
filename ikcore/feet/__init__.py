"""Feet: which joints are legs, where their soles are, and how well they stand on the ground."""

from ikcore.contacts.contacts import Contacts
from ikcore.feet import metrics, verdicts
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.leg_measures import Measured, before_and_after, measure
from ikcore.feet.leg_points import landings_ahead, leg_points

__all__ = [
    "Contacts",
    "Feet",
    "Leg",
    "Measured",
    "Sole",
    "before_and_after",
    "landings_ahead",
    "leg_points",
    "measure",
    "metrics",
    "verdicts",
]


def __dir__() -> list[str]:
    return __all__
