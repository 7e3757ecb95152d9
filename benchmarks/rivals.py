"""Competitors of ikcore: the usual acos solver in C and in NumPy, and a closed form without acos in numba.

Packages without a pole are in packages.py.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from instructions import cc
from numpy.typing import NDArray
from problems import Problems, arrays_of

import ikcore as ik

FLAGS = ["-std=c17", "-O3", "-fno-math-errno", "-shared", "-fPIC"]
C_TYPE = {"float32": "float", "float64": "double"}


def conventional_c(folder: str, dtype: str) -> Callable[[Problems, ik.closed_forms.LimbSolution], Callable[[], None]]:
    """Compile conventional.c. The returned function prepares a call for given problems and results."""
    source = Path(__file__).with_name("conventional.c")
    library = Path(folder) / f"conventional_{dtype}.so"
    command = [*cc(), *FLAGS, f"-DNUMBER={C_TYPE[dtype]}", str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    solve = ctypes.CDLL(str(library)).conventional
    solve.restype = None

    def prepare(problems: Problems, out: ik.closed_forms.LimbSolution) -> Callable[[], None]:
        arrays = (*arrays_of(problems), out.root, out.mid, out.positions, out.status, out.error)
        arguments = [ctypes.c_ssize_t(len(problems.root)), *(ctypes.c_void_p(array.ctypes.data) for array in arrays)]
        return lambda: solve(*arguments)

    return prepare


def conventional_numpy(problems: Problems, out: ik.closed_forms.LimbSolution) -> None:
    """The same with whole NumPy arrays, as in a typical paper."""
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


def closed_form_numba() -> Callable[[Problems, tuple[NDArray[Any], ...]], None] | None:
    """A typical limb in numba: law of cosines, two frames, no acos. None without numba.

    It writes rotations, positions, status and error (see `results_like`). It lacks flip and stretch of `two_bone`, and
    degenerate cases.
    """
    try:
        numba: Any = import_module("numba")
    except ImportError:
        return None

    @numba.njit(cache=True, error_model="numpy", inline="always")
    def dot(a: Any, b: Any) -> Any:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

    @numba.njit(cache=True, error_model="numpy", inline="always")
    def cross(a: Any, b: Any) -> Any:
        return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]

    @numba.njit(cache=True, error_model="numpy", inline="always")
    def less(a: Any, b: Any, scale: Any) -> Any:
        return (a[0] - b[0]) * scale, (a[1] - b[1]) * scale, (a[2] - b[2]) * scale

    @numba.njit(cache=True, error_model="numpy")
    def solve(
        root: Any,
        mid: Any,
        end: Any,
        target: Any,
        pole: Any,
        turns: Any,
        bends: Any,
        positions: Any,
        status: Any,
        error: Any,
    ) -> None:
        count, one = len(root), root.dtype.type(1)
        half, two, none = one / (one + one), one + one, one - one
        for i in range(count):
            r, t = root[i], target[i]
            bone1, bone2, line = less(mid[i], r, one), less(end[i], mid[i], one), less(t, r, one)
            l1, l2, wanted = np.sqrt(dot(bone1, bone1)), np.sqrt(dot(bone2, bone2)), np.sqrt(dot(line, line))
            far = min(max(wanted, abs(l1 - l2)), l1 + l2)
            status[i] = (wanted > l1 + l2) + 2 * (wanted < abs(l1 - l2))

            # frames of the first bone and the axis that the limb bends about, before and after
            x = bone1[0] / l1, bone1[1] / l1, bone1[2] / l1
            axis = cross(bone1, bone2)
            sine = np.sqrt(dot(axis, axis))
            z = axis[0] / sine, axis[1] / sine, axis[2] / sine
            y = cross(z, x)
            e = line[0] / wanted, line[1] / wanted, line[2] / wanted
            side = cross(e, less(pole[i], r, one))
            length = np.sqrt(dot(side, side))
            axis_after = -side[0] / length, -side[1] / length, -side[2] / length
            up = cross(e, axis_after)
            c = min(one, max(-one, (l1 * l1 + far * far - l2 * l2) / (two * l1 * far)))
            s = np.sqrt(one - c * c)
            u = c * e[0] + s * up[0], c * e[1] + s * up[1], c * e[2] + s * up[2]
            v = cross(axis_after, u)

            # the rotation from one frame to the other
            m00 = u[0] * x[0] + v[0] * y[0] + axis_after[0] * z[0]
            m01 = u[0] * x[1] + v[0] * y[1] + axis_after[0] * z[1]
            m02 = u[0] * x[2] + v[0] * y[2] + axis_after[0] * z[2]
            m10 = u[1] * x[0] + v[1] * y[0] + axis_after[1] * z[0]
            m11 = u[1] * x[1] + v[1] * y[1] + axis_after[1] * z[1]
            m12 = u[1] * x[2] + v[1] * y[2] + axis_after[1] * z[2]
            m20 = u[2] * x[0] + v[2] * y[0] + axis_after[2] * z[0]
            m21 = u[2] * x[1] + v[2] * y[1] + axis_after[2] * z[1]
            m22 = u[2] * x[2] + v[2] * y[2] + axis_after[2] * z[2]
            if m00 + m11 + m22 > none:
                w, a, b, d = one + m00 + m11 + m22, m21 - m12, m02 - m20, m10 - m01
            elif m00 > m11 and m00 > m22:
                w, a, b, d = m21 - m12, one + m00 - m11 - m22, m10 + m01, m02 + m20
            elif m11 > m22:
                w, a, b, d = m02 - m20, m10 + m01, one - m00 + m11 - m22, m21 + m12
            else:
                w, a, b, d = m10 - m01, m02 + m20, m21 + m12, one - m00 - m11 + m22
            norm = one / np.sqrt(w * w + a * a + b * b + d * d)
            if w < none:
                norm = -norm
            turns[i, 0], turns[i, 1], turns[i, 2], turns[i, 3] = w * norm, a * norm, b * norm, d * norm

            # the additional bend of the second bone
            cos0, sin0 = dot(bone1, bone2) / (l1 * l2), sine / (l1 * l2)
            cos1 = min(one, max(-one, (far * far - l1 * l1 - l2 * l2) / (two * l1 * l2)))
            sin1 = np.sqrt(one - cos1 * cos1)
            cosine = cos1 * cos0 + sin1 * sin0
            half_cos = np.sqrt(max(none, half + half * cosine))
            half_sin = np.sqrt(max(none, half - half * cosine))
            if sin1 * cos0 < cos1 * sin0:
                half_sin = -half_sin
            bends[i, 0] = half_cos
            bends[i, 1], bends[i, 2], bends[i, 3] = half_sin * z[0], half_sin * z[1], half_sin * z[2]

            missed = far - wanted
            for k in range(3):
                positions[i, 0, k] = r[k]
                positions[i, 1, k] = r[k] + l1 * u[k]
                positions[i, 2, k] = r[k] + far * e[k]
            error[i] = abs(missed)

    return lambda problems, out: solve(*arrays_of(problems), *out)


def results_like(problems: Problems) -> tuple[NDArray[Any], ...]:
    """New arrays for the results of `closed_form_numba`: rotations, positions, status, error."""
    count, dtype = len(problems.root), problems.root.dtype
    rows: tuple[tuple[int, ...], ...] = ((4,), (4,), (3, 3), (), ())
    types = (dtype, dtype, dtype, np.dtype(np.int32), dtype)
    return tuple(np.empty((count, *row), number) for row, number in zip(rows, types, strict=True))
