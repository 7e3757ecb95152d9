from typing import Final

import numpy as np

__version__: Final[str]
STATUS_FLAGS: Final[tuple[tuple[str, int, str], ...]]
UNUSABLE: Final[int]

def isa() -> str: ...
def use_isa(name: str | None, /) -> str: ...

# (3),(3),(3),(3),(pole3),(bend3)->(4),(4),(3,3),(),()
two_bone: Final[np.ufunc]
