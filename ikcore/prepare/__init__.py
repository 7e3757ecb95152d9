"""Prepare a clip before its feet are baked: remove capture noise, add root motion, fit step lengths to stairs."""

from ikcore.prepare.all_steps import Prepared, prepare
from ikcore.prepare.denoise import denoise, noise_of
from ikcore.prepare.root_motion import add_root_motion
from ikcore.prepare.strides import FittedStrides, fit_strides

__all__ = ["FittedStrides", "Prepared", "add_root_motion", "denoise", "fit_strides", "noise_of", "prepare"]


def __dir__() -> list[str]:
    return __all__
