"""Some turns of fuzz_rigs.py, which has more of them."""

import fuzz_rigs
import pytest


@pytest.mark.parametrize("seed", range(30))
def test_made_up_rigs(seed, tmp_path):
    fuzz_rigs.turn(seed, tmp_path)
