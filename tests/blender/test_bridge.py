"""The extension's handling of the library's status flags."""

import numpy as np

from ikcore import Status


def test_unusable_is_what_the_library_says(addon):
    status = np.array([0, *(int(flag) for flag in Status), int(Status.TOO_FAR | Status.NO_LENGTH)], np.int32)
    assert addon.bridge.unusable(status).tolist() == [not Status(value).usable for value in status.tolist()]


def test_only_a_target_out_of_reach_is_unreached(addon):
    flags = [flag for flag in Status if addon.bridge.out_of_reach(np.int32(int(flag)))]
    assert flags == [Status.TOO_FAR, Status.TOO_NEAR]
