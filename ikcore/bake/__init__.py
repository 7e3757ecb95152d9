"""Feet on the ground: `bake_feet` and what can be chosen about it."""

from ikcore.bake.bake import Baked, bake_feet
from ikcore.bake.locked_feet import LockedFeet
from ikcore.bake.settings import BakeSettings

__all__ = ["BakeSettings", "Baked", "LockedFeet", "bake_feet"]
