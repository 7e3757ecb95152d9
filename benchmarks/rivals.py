"""What ikcore is compared with: the usual acos solver, in C and in NumPy. Packages, none with a pole: packages.py."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from instructions import cc
from numpy.typing import NDArray
from problems import Problems, arrays_of

import ikcore as ik

FLAGS = ["-std=c17", "-O3", "-fno-math-errno", "-shared", "-fPIC"]
C_TYPE = {"float32": "float", "float64": "double"}


def conventional_c(folder: str, dtype: str) -> Callable[[Problems, ik.Limb], Callable[[], None]]:
    """Compile conventional.c; the function returned makes a ready call of given problems and results."""
    source = Path(__file__).with_name("conventional.c")
    library = Path(folder) / f"conventional_{dtype}.so"
    command = [*cc(), *FLAGS, f"-DNUMBER={C_TYPE[dtype]}", str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    solve = ctypes.CDLL(str(library)).conventional
    solve.restype = None

    def prepare(problems: Problems, out: ik.Limb) -> Callable[[], None]:
        arrays = (*arrays_of(problems), out.root, out.mid, out.positions, out.status, out.error)
        arguments = [ctypes.c_ssize_t(len(problems.root)), *(ctypes.c_void_p(array.ctypes.data) for array in arrays)]
        return lambda: solve(*arguments)

    return prepare


def conventional_numpy(problems: Problems, out: ik.Limb) -> None:
    """The same in whole-array NumPy, as one would write it for a paper."""
    root, mid, end, target, pole = arrays_of(problems)
    bone1, bone2, line, to_target = mid - root, end - mid, end - root, target - root
    l1, l2, now, wanted = (np.linalg.norm(v, axis=1) for v in (bone1, bone2, line, to_target))
    r = np.clip(wanted, abs(l1 - l2), l1 + l2)
    hinge, u, e = _unit(np.cross(bone1, bone2)), _unit(line), _unit(to_target)

    turn1 = _angle(_dot(u, _unit(bone1))) - _corner(l1, r, l2)
    turn2 = _corner(l1, l2, now) - _corner(l1, l2, r)
    swing = _about(_unit(np.cross(u, e)), _angle(_dot(u, e)))
    q = _multiply(swing, _about(hinge, turn1))
    side, to_pole = _rotate(q, bone1), pole - root
    side -= _dot(side, e)[:, None] * e
    to_pole -= _dot(to_pole, e)[:, None] * e
    q = _multiply(_about(e, np.arctan2(_dot(np.cross(side, to_pole), e), _dot(side, to_pole))), q)

    out.root[:] = np.where(q[:, :1] < 0, -q, q)
    turn = _about(hinge, turn2)
    out.mid[:] = np.where(turn[:, :1] < 0, -turn, turn)
    out.positions[:, 0] = root
    out.positions[:, 1] = root + _rotate(q, bone1)
    out.positions[:, 2] = out.positions[:, 1] + _rotate(q, _rotate(turn, bone2))
    out.status[:] = (wanted > l1 + l2) | (wanted < abs(l1 - l2)) << 1
    out.error[:] = np.linalg.norm(out.positions[:, 2] - target, axis=1)


def _dot(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.einsum("ij,ij->i", a, b)


def _unit(a: NDArray[Any]) -> NDArray[Any]:
    return a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-20)


def _angle(cosine: NDArray[Any]) -> NDArray[Any]:
    return np.arccos(np.clip(cosine, -1, 1))


def _corner(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    return _angle((a * a + b * b - c * c) / (2 * a * b))


def _about(axis: NDArray[Any], angle: NDArray[Any]) -> NDArray[Any]:
    half = angle[:, None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=1)


def _multiply(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    w = a[:, 0] * b[:, 0] - _dot(a[:, 1:], b[:, 1:])
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w[:, None], v], axis=1)


def _rotate(q: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    t = 2 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * t + np.cross(q[:, 1:], t)
