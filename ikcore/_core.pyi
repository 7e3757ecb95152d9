from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Array = NDArray[Any]
_Bodies = tuple[tuple[Mesh | tuple[float, float, float, float], _Array | None, _Array | None], ...]
_Item = tuple[_Array, _Array | None, _Array, _Array, NDArray[np.int32], NDArray[np.int32], _Array | None, _Array | None]

__version__: Final[str]
STATUS_FLAGS: Final[tuple[tuple[str, int, str], ...]]
UNUSABLE: Final[int]
METHODS: Final[tuple[tuple[str, str, int], ...]]  # that iterate
CLOSED_FORMS: Final[tuple[tuple[str, str, int], ...]]
REACHES: Final[int]
ALL_JOINTS: Final[int]
STEEPEST: Final[float]
EDGE: Final[float]
HINGED: Final[float]
FOLDED: Final[float]
TAKES: Final[tuple[tuple[str, int], ...]]
GOAL_KINDS: Final[tuple[tuple[str, str], ...]]
GOAL_ROWS: Final[tuple[tuple[str, int, str], ...]]
OPTIONS: Final[tuple[str, ...]]
FOOT_SETTINGS: Final[tuple[tuple[str, float, str], ...]]
FOOT_STATE: Final[tuple[tuple[str, int], ...]]
BODY_STATE: Final[tuple[tuple[str, int], ...]]
FOOT_RAYS: Final[int]
LEGS_MOST: Final[int]
METHOD_OPTIONS: Final[tuple[tuple[str, str, str, float, float, float, str], ...]]

def isa() -> str: ...
def foot_rays(
    settings: _Array, arrays: dict[str, _Array], legs: int, count: int, narrow: bool, first: int, last: int, /
) -> None: ...
def place_feet(
    settings: _Array, arrays: dict[str, _Array], legs: int, count: int, narrow: bool, first: int, last: int, /
) -> None: ...
def use_isa(name: str | None, /) -> str: ...
def dot(a: _Array, b: _Array, /) -> _Array | None: ...
def cross(a: _Array, b: _Array, /) -> _Array | None: ...
def size(a: _Array, /) -> _Array | None: ...

_Foot = tuple[NDArray[Any], _Array, _Array, tuple[bool, bool, float], tuple[float, float, float]]

def flat_frames(steps: NDArray[Any], heights: _Array, least: float, wanted: int, /) -> NDArray[np.intp]: ...
def stood(
    at: NDArray[Any], up: _Array, front: _Array, joints: tuple[bool, bool, float], sizes: tuple[float, float, float], /
) -> tuple[bool, _Array, _Array, _Array, _Array]: ...
def flat_soles(
    foot: _Foot, origins: NDArray[Any], axes: NDArray[Any], proportions: tuple[float, float, float], /
) -> tuple[bool, tuple[tuple[float, float, float] | None, ...]]: ...
def solid(axes: NDArray[Any], least: float, /) -> NDArray[np.bool_]: ...
def widest(points: _Array, ends: ArrayLike, /) -> _Array: ...

# Normal, lift and the point that touches, of a foot that lies on the ground: `which` are axis, heel, ball, toe, joint,
# between and parts of ik_rest_job, `limits` scale, align, pitch, roll, bends and step.
def rest(
    points: _Array,
    main: int,
    ground: tuple[NDArray[np.bool_], _Array, _Array, NDArray[np.int32]],
    ahead: _Array | None,
    job: tuple[int, ...],
    limits: tuple[float, ...],
    /,
) -> tuple[_Array, float, int, float] | None: ...
def empty(parts: tuple[tuple[tuple[int, ...], str], ...], /) -> tuple[_Array, ...]: ...
def single(
    name: str,
    function: Callable[..., Any],
    found: type[Result],
    names: tuple[str, ...],
    positional: int,
    pose: int,
    text: str,
    home: str,
    /,
) -> Callable[..., Any]: ...

class Result: ...
class Limb(Result): ...
class PlanarLimb(Result): ...
class Aim(Result): ...

class Skeleton:
    def __new__(
        cls,
        parents: ArrayLike,
        offsets: ArrayLike,
        rests: ArrayLike,
        limits: ArrayLike | None = None,
        joints: ArrayLike | None = None,
        cones: ArrayLike | None = None,
    ) -> Self: ...
    @property
    def parents(self) -> NDArray[np.int32]: ...
    @property
    def order(self) -> NDArray[np.int32]: ...
    @property
    def offsets(self) -> NDArray[np.float64]: ...
    @property
    def rests(self) -> NDArray[np.float64]: ...
    @property
    def joints(self) -> NDArray[np.float64] | None: ...

# Arrays are (items, joints, 3 or 4), all float32 or all float64.
def forward(
    skeleton: Skeleton,
    rotations: _Array,
    translations: _Array | None,
    scales: _Array | None,
    positions: _Array,
    world_rotations: _Array,
    /,
) -> None: ...

# Points hang on joints of these indices at offsets (points, 3); found are (..., points or joints, 3 or 4), of the type
# and with the leading axes of the pose.
def carried(
    skeleton: Skeleton,
    rotations: _Array,
    translations: _Array | None,
    scales: _Array | None,
    joints: Sequence[int],
    offsets: _Array,
    wanted: Sequence[int],
    /,
) -> tuple[_Array, _Array, _Array]: ...
def local(
    skeleton: Skeleton, world_rotations: _Array, positions: _Array, rotations: _Array, translations: _Array, /
) -> None: ...

class Mesh:
    def __new__(cls, vertices: ArrayLike, faces: ArrayLike) -> Self: ...
    @property
    def vertices(self) -> NDArray[np.float64]: ...
    @property
    def faces(self) -> NDArray[np.int32]: ...

class Table:
    def __new__(cls, keys: ArrayLike) -> Self: ...
    @property
    def keys(self) -> NDArray[np.float64]: ...
    def nearest(self, query: _Array, row: NDArray[np.int32], distance: _Array, first: int, last: int, /) -> None: ...

# A body is a mesh or a plane's normal and height; a translation (3) and a matrix (9) to its space, one row for all
# items or one for `each` of them. Arrays are (items, 3) or (items), of float64, bool and int32; the last seven are
# written.
def cast(
    bodies: _Bodies,
    each: int,
    front: bool,
    first: int,
    last: int,
    origins: _Array,
    directions: _Array,
    lengths: _Array,
    chosen: NDArray[np.bool_] | None,
    distances: _Array | None,
    points: _Array | None,
    normals: _Array | None,
    triangles: NDArray[np.int32] | None,
    sides: NDArray[np.int32] | None,
    parts: NDArray[np.int32] | None,
    status: NDArray[np.int32] | None,
    /,
) -> None: ...

# Bodies likewise; above and below are numbers or arrays; the last four are written.
def surface(
    bodies: _Bodies,
    each: int,
    axis: int,
    first: int,
    last: int,
    points: _Array,
    above: float | _Array,
    below: float | _Array,
    hit: NDArray[np.bool_],
    found: _Array,
    normals: _Array | None,
    parts: NDArray[np.int32] | None,
    /,
) -> None: ...
def foothold(
    bodies: _Bodies,
    axis: int,
    points: _Array,
    last: _Array,
    jumps: bool,
    step: float,
    above: float,
    below: float,
    same: float,
    /,
) -> tuple[NDArray[np.bool_], _Array, _Array, NDArray[np.int32]]: ...

# Arrays have frames first; the last three are written, the last of these where it is asked for.
def bend_leg(
    chain: _Array,
    turns: _Array,
    pivot: _Array | None,
    tilt: _Array | None,
    hip: _Array,
    foot: _Array,
    reach: _Array,
    nearer: _Array | None,
    hinges: _Array,
    length: float,
    bent: _Array,
    deltas: _Array,
    short: _Array | None,
    /,
) -> None: ...

# Likewise; the first is written.
def turn_leg(
    rotations: NDArray[Any],
    joints: Sequence[int],
    world: tuple[_Array, ...],
    deltas: tuple[_Array, ...],
    above: _Array | None,
    chosen: NDArray[np.bool_] | None,
    /,
) -> None: ...
def hinges(chain: _Array, turns: _Array, /) -> _Array: ...
def displaced(points: _Array, origin: _Array, shift: _Array, turn: _Array | None, /) -> _Array: ...

# Masks in one block; gap and least are numbers of frames.
def within(axes: _Array, ways: _Array, /) -> _Array: ...

# Arrays are (channels, frames) of float64, status and iterations (channels) of int32; the last three are written. It
# ends before all is done where the first byte of `stop` is set meanwhile.
def smooth(
    wanted: _Array | None,
    lower: _Array | None,
    upper: _Array | None,
    pull: _Array | None,
    fps: float,
    tension: float,
    loop: bool,
    values: _Array,
    status: NDArray[np.int32],
    iterations: NDArray[np.int32],
    stop: bytearray | None = ...,
    start: _Array | None = ...,
    /,
) -> None: ...

# An offset where a word is no number.
def parse_numbers(text: bytes, start: int, /) -> NDArray[np.float64] | int: ...

# A goal is (kind, joint, chain, relative, other, other_chain, level, points, rows): points are offset, other_offset,
# axis and up, its rows as GOAL_ROWS has them. The outputs are (rotations, status, error, rotation_error, iterations,
# history, translations, goal_errors). Arrays are (items, ...), those of one item (...), or of frames that follow each
# other (frames, items, ...), of which `fps` are a second; rows and the last three outputs may be None. It ends before
# all is done where the first byte of `stop` is set meanwhile. `release` is a share, as in ik_solve_job.
def solve(
    method: str,
    skeleton: Skeleton,
    goals: tuple[tuple[Any, ...], ...],
    rotations: _Array,
    translations: _Array | None,
    scales: _Array | None,
    options: tuple[float | None, ...],
    outputs: tuple[_Array | None, ...],
    stop: bytearray = ...,
    fps: float = ...,
    judge: bool = ...,
    moving: bytes | None = ...,
    release: float = ...,
    /,
) -> None: ...

# What decides how goals are solved is looked up in `kept`; what is not there prepare(skeleton, goals, that) makes.
def solve_single(
    method: str,
    asked: tuple[Any, ...],
    goals: tuple[Any, ...],
    rotations: _Array,
    translations: _Array | None,
    scales: _Array | None,
    kinds: dict[type, tuple[tuple[str, ...], ...]],
    kept: dict[tuple[Any, ...], Prepared | None],
    prepare: Callable[..., Prepared | None],
    skeleton: Any,
    /,
) -> _Item | None: ...

# One item a call: a row or a point of a goal is None, the number of an argument of the call, or numbers. It returns
# rotations, translations where joints move, error, rotation error, iterations, status, history where wanted, and the
# errors of goals where their places are given; None where the arrays are of more than one item, or of one that cannot
# be used.
class Prepared:
    def __new__(
        cls,
        method: str,
        skeleton: Skeleton,
        goals: tuple[tuple[Any, ...], ...],
        options: tuple[float | None, ...],
        arguments: int,
        moves: bool,
        history: bool = ...,
        places: tuple[int, ...] | None = ...,
        judge: bool = ...,
        moving: bytes | None = ...,
        /,
    ) -> Self: ...
    def __call__(
        self,
        rotations: ArrayLike,
        translations: ArrayLike | None,
        scales: ArrayLike | None,
        /,
        *arrays: Any,
    ) -> _Item | None: ...

# (3),(3),(3),(3),(pole3),(bend3),(hinge3),7 x (option1)->(4),(4),(3,3),(),(),(),()
two_bone: Final[np.ufunc]

# (),(),(2)->(2,2),(),()
two_bone_2d: Final[np.ufunc]

# (3),(4),(3),(3),(offset3),(upright3),(upright3),(twist1),(weight1)->(4),(),()
aim: Final[np.ufunc]

# (n,3),(4),(3),(3),(weights),(offset3),(up3),(pole3),(reference3),(clamp1),(clampstart1),(weight1)->(n,4),(n,3),(),()
look: Final[np.ufunc]

# (n,3),(m,3),(shares),(tilts),(rootweight1),(start3),(start3),(end3),(end3)->(n,4),(n,3),(n),(),()
spline: Final[np.ufunc]

# (n,4),(n,4),(n,3),(weights)->(n,4),(n),()
spread_twist: Final[np.ufunc]

# (4),(4)->(4)
quat_multiply: Final[np.ufunc]

# (4)->(4)
quat_conjugate: Final[np.ufunc]

# (4)->(4)
quat_normalize: Final[np.ufunc]

# (4)->(4)
quat_canonical: Final[np.ufunc]

# (4),(3)->(3)
quat_rotate: Final[np.ufunc]

# (3),(3),(axis3)->(4)
quat_shortest_arc: Final[np.ufunc]

# (3)->(4)
quat_exp: Final[np.ufunc]

# (4)->(3)
quat_log: Final[np.ufunc]

# (4),(4),()->(4)
quat_slerp: Final[np.ufunc]

# (4),(3)->(4),(4)
quat_swing_twist: Final[np.ufunc]

# (4)->(3,3)
quat_to_matrix: Final[np.ufunc]

# (3,3)->(4)
quat_from_matrix: Final[np.ufunc]

# (4)->(3),()
quat_to_axis_angle: Final[np.ufunc]

# (3),()->(4)
quat_from_axis_angle: Final[np.ufunc]

# (4)->(6)
quat_to_6d: Final[np.ufunc]

# (6)->(4)
quat_from_6d: Final[np.ufunc]

# (4),(3,3)->(3)
quat_to_euler: Final[np.ufunc]

# (3),(3,3)->(4)
quat_from_euler: Final[np.ufunc]

# (n,3),(n,3),(weights)->(4),()
quat_best_fit: Final[np.ufunc]

# (4),(),(4),(2),(4),(3),(3),(3)->(4),()
limit_project: Final[np.ufunc]
