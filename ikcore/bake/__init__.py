"""Feet on the ground: `bake_feet` and what can be chosen about it; `FootLock` for what is not all there yet."""

from ikcore.bake.bake import Baked, bake_feet
from ikcore.bake.held import Held
from ikcore.bake.settings import BakeSettings
from ikcore.bake.stream import FootLock

__all__ = ["BakeSettings", "Baked", "FootLock", "Held", "bake_feet"]
