"""Published cases that are not part of the project: whole sets, where IKCORE_CONFORMANCE names their folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

CONFORMANCE = os.environ.get("IKCORE_CONFORMANCE")
whole_sets = pytest.mark.skipif(not CONFORMANCE, reason="IKCORE_CONFORMANCE names no folder with the whole sets")


def cases(name: str) -> list[dict[str, Any]]:
    """Those of a file; where there is no folder the test that asks is skipped."""
    if not CONFORMANCE:
        pytest.skip("IKCORE_CONFORMANCE names no folder with the whole sets")
    found: list[dict[str, Any]] = json.loads((Path(CONFORMANCE) / name).read_text())["cases"]
    assert found
    return found
