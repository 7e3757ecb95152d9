"""The ground: meshes, height grids and planes for feet, their files, and synthetic terrain."""

from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Hits, Surface

__all__ = ["Ground", "Hits", "Surface"]


def __dir__() -> list[str]:
    return __all__
