"""One character's feet, frame by frame, slowly and plainly: the contract of ik_feet.h in NumPy, for comparison.

The ground is a function of a place to (height, normal), or None where there is none. Axes: y is up.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ikcore as ik

Array = np.ndarray
GroundAt = Callable[[Array], tuple[float, Array] | None]
UP = np.array([0.0, 1, 0])
RAYS = 16
DEFAULTS = {name: value for name, value, _ in ik._core.FOOT_SETTINGS}


def flat(a: Array) -> Array:
    return a * [1, 0, 1]


def fade(x: Any, v: Any, half_life: float, t: float) -> tuple[Any, Any]:
    """A critically damped spring, by its closed form."""
    y = 2 * math.log(2) / half_life
    e = math.exp(-y * t)
    return e * (x + (v + y * x) * t), e * (v - (v + y * x) * y * t)


def follow(x: Any, v: Any, before: Any, after: Any, half_life: float, t: float) -> tuple[Any, Any]:
    """The same towards a target that moves at a steady speed: by numbers, in many small steps of the closed form."""
    y = 2 * math.log(2) / half_life
    pace = (after - before) / t
    error, change = fade(x - before + 2 * pace / y, v - pace, half_life, t)
    return after - 2 * pace / y + error, pace + change


def tilted(vector: Array, gradient: Array) -> Array:
    """Turned as up turns to the normal of a plane, by Rodrigues' formula."""
    normal = (UP - gradient) / np.linalg.norm(UP - gradient)
    axis = np.cross(UP, normal)
    return np.asarray(vector + np.cross(axis, vector) + np.cross(axis, np.cross(axis, vector)) / (1 + UP @ normal))


class Foot:
    """Its state."""

    def __init__(self) -> None:
        self.planted = self.waits = False
        self.place, self.tilt, self.ray = np.zeros(3), np.zeros(3), 0.0
        self.offset, self.offset_speed = np.zeros(3), np.zeros(3)
        self.plan, self.residual, self.residual_speed = np.zeros(4), np.zeros(4), np.zeros(4)
        self.elapsed = self.swing_time = self.ahead = self.beside = self.slowest = 0.0
        self.toe, self.velocity = np.zeros(3), np.zeros(3)
        self.height = self.height_before = 0.0


class Placer:
    """One character; `step` gives toes, ankles, the pelvis offset and who is planted."""

    def __init__(self, legs: int, **settings: float) -> None:
        self.set = DEFAULTS | settings
        self.feet = [Foot() for _ in range(legs)]
        self.started = self.moves = False
        self.support = self.support_speed = self.target = 0.0
        self.drop = self.drop_speed = self.drop_target = self.shown = 0.0
        self.velocity, self.hips = np.zeros(3), np.zeros(3)
        self.last_dt = 0.0

    def step(self, points: Array, dt: float, ground: GroundAt, floor: float = 0.0) -> dict[str, Array]:
        self.points, self.dt, self.ground, self.floor = points, dt, ground, floor
        self.scale = [(np.linalg.norm(p[1] - p[0]) + np.linalg.norm(p[2] - p[1])) / 0.87 for p in points]
        hips = points[:, 0].mean(axis=0)
        if self.started:
            now = flat(hips - self.hips) / dt
            stays = 0.5 ** (dt / self.set["lean_half_life"])
            self.velocity = now + stays * (self.velocity - now) if self.moves else now
        else:
            self.shown = floor
        speed = np.linalg.norm(self.velocity)
        self.way = self.velocity / speed if speed > 1e-9 else np.zeros(3)
        self.travels = self.started and speed >= 0.3 * self.scale[0]
        self.supports: list[float | None] = [None] * len(points)
        for k, foot in enumerate(self.feet):
            self.advance(k, foot)
        self.pelvis()
        for k, foot in enumerate(self.feet):
            toe, moved = points[k][3], points[k][3] - foot.toe
            foot.velocity = moved / dt if self.started else np.zeros(3)
            height = toe[1] - floor
            foot.height_before = 0.5 * (height + foot.height) if self.started else height
            foot.height, foot.toe = height, toe
        self.moves, self.started, self.hips, self.last_dt = self.started, True, hips, dt
        toes, ankles = zip(*[self.goal(k, foot) for k, foot in enumerate(self.feet)], strict=True)
        planted = np.array([foot.planted for foot in self.feet])
        pelvis = np.asarray(self.shown - floor)
        return {"toes": np.array(toes), "ankles": np.array(ankles), "planted": planted, "pelvis": pelvis}

    # --- ground

    def hit(self, k: int, place: Array, about: float) -> tuple[float, Array] | None:
        found = self.ground(place)
        if found is None or abs(found[0] - about) > self.set["max_step"] * self.scale[k]:
            return None
        if found[1][1] < math.cos(self.set["max_slope"]):
            return None
        return found[0], -flat(found[1]) / found[1][1]

    def rest(self, k: int, toe: Array) -> tuple[float, Array] | None:
        points = self.points[k]
        heel = toe + 0.75 * (points[4] - points[3])
        under_toe, under_heel = self.hit(k, toe, self.shown), self.hit(k, heel, self.shown)
        if under_toe is None and under_heel is None:
            return None
        length = float(np.linalg.norm(flat(toe - heel)))
        forward = flat(toe - heel) / length
        both = [found for found in (under_toe, under_heel) if found is not None]
        most, side = math.tan(self.set["max_pitch"]), math.tan(self.set["max_roll"])
        along = float(both[0][1] @ forward)
        if len(both) == 2 and abs(both[0][0] - both[1][0]) <= most * length:
            along = (both[0][0] - both[1][0]) / length
        along = min(max(along, -most), most)
        mean = np.mean([found[1] for found in both], axis=0)
        across = mean - (mean @ forward) * forward
        if np.linalg.norm(across) > side:
            across *= side / np.linalg.norm(across)
        heights = []
        if under_toe is not None:
            heights.append(under_toe[0])
        if under_heel is not None:
            heights.append(under_heel[0] + self.set["align"] * along * length)
        return max(heights), self.set["align"] * (along * forward + across)

    # --- contact

    def signal(self, k: int, foot: Foot, speed: float, height: float) -> tuple[float, float]:
        """How near to its thresholds the foot is, and when it passed them."""
        scale, now = self.scale[k], self.points[k][3][1] - self.floor
        if not self.started:
            return now / (height * scale), 0.0
        velocity = (self.points[k][3] - foot.toe) / self.dt
        before = max(float(np.linalg.norm(flat(foot.velocity))) / speed, foot.height_before / height) / scale
        after = max(np.linalg.norm(flat(velocity)) / speed, 0.5 * (now + foot.height) / height) / scale
        share = min(max((before - 1) / (before - after), 0), 1) if before != after else 1.0
        start, end = -self.dt - self.last_dt / 2, -self.dt / 2
        return after, start + share * (end - start)

    def toe_at(self, k: int, foot: Foot, time: float) -> tuple[Array, Array]:
        """A parabola whose velocity is that of both last frames in their middles."""
        if not self.started:
            return self.points[k][3], np.zeros(3)
        recent = (self.points[k][3] - foot.toe) / self.dt
        rate = (recent - foot.velocity) / (0.5 * (self.dt + max(self.last_dt, self.dt * 1e-3)))
        velocity = recent + rate * (time + 0.5 * self.dt)
        return self.points[k][3] + velocity * time - rate * time * time / 2, velocity

    def release(self, k: int, foot: Foot, time: float) -> None:
        at, velocity = self.toe_at(k, foot, time)
        foot.offset, foot.offset_speed = flat(foot.place - at), -flat(velocity)
        foot.planted, foot.elapsed = False, 0.0
        if not foot.swing_time > 0:
            away = foot.place - self.points[k][0]
            foot.ahead, foot.beside = -away @ self.way, away @ np.cross(UP, self.way)

    def longest(self, k: int) -> float:
        p = self.points[k]
        return max(float(self.set["max_extension"] * self.scale[k] * 0.87), float(np.linalg.norm(p[2] - p[0])))

    def change(self, foot: Foot, height: float, gradient: Array) -> None:
        plan = np.array([height, *gradient])
        foot.residual = foot.residual + foot.plan - plan
        foot.plan = plan

    # --- a frame of a foot

    def advance(self, k: int, foot: Foot) -> None:
        toe = self.points[k][3]
        if not self.started:
            self.start(k, foot)
            return
        stood, span, before = foot.planted, self.dt, foot.toe + foot.offset
        if stood:
            before, span = foot.place, 0.0
            leaves, time = self.signal(k, foot, self.set["release_speed"], self.set["release_height"])
            off = flat(foot.place - toe)
            apart = np.linalg.norm(flat(self.points[k][2] - self.points[k][0]) + off)
            dragged = np.linalg.norm(off) > self.set["release_radius"] * self.scale[k] or apart > self.longest(k)
            if leaves > 1 or dragged:
                foot.waits = not leaves > 1
                self.release(k, foot, time if leaves > 1 else 0.0)
                span = -time if leaves > 1 else 0.0
            elif (under := self.hit(k, foot.place, foot.place[1])) is not None:
                self.stand(k, foot, under[0])
                return
            else:
                self.release(k, foot, 0.0)
        offset, speed = fade(foot.offset, foot.offset_speed, self.set["release_half_life"], span)
        self.swing(k, foot, before, toe + offset, span)
        foot.offset, foot.offset_speed = offset, speed
        foot.elapsed += span
        if not stood:
            self.land(k, foot, toe + offset)

    def start(self, k: int, foot: Foot) -> None:
        toe = self.points[k][3]
        ground = self.rest(k, toe)
        lands, _ = self.signal(k, foot, self.set["plant_speed"], self.set["plant_height"])
        foot.planted = lands < 1 and self.hit(k, toe, self.shown) is not None
        height, gradient = (self.floor, np.zeros(3)) if ground is None else ground
        foot.place, foot.tilt = flat(toe) + height * UP, gradient
        foot.plan = np.array([height, *gradient])
        self.supports[k] = None if ground is None else height
        if foot.planted:
            foot.ray = self.ground(toe)[0]  # type: ignore[index]

    def stand(self, k: int, foot: Foot, height: float) -> None:
        foot.place = foot.place + (height - foot.ray) * UP
        foot.ray = height
        moved = flat(self.points[k][3] - foot.toe)
        speed = np.linalg.norm(moved) / self.dt
        if speed < foot.slowest:
            foot.slowest = float(speed)
            foot.place = foot.place + moved + (foot.tilt @ moved) * UP
            foot.ray += foot.tilt @ moved
        self.settle(foot)
        foot.plan = np.array([foot.place[1], *foot.tilt])
        self.supports[k] = foot.place[1]

    def settle(self, foot: Foot) -> None:
        foot.residual, foot.residual_speed = fade(
            foot.residual, foot.residual_speed, self.set["swing_half_life"], self.dt
        )

    def swing(self, k: int, foot: Foot, before: Array, toe: Array, span: float) -> None:
        to, remaining = toe + flat(self.points[k][3] - foot.toe) * 0.15 / self.dt, 0.0
        if self.travels:
            remaining = max((foot.swing_time or 0.4) - foot.elapsed - span, 0.0)
            hip = self.points[k][0] + self.velocity * remaining
            landing = hip + self.way * foot.ahead + np.cross(UP, self.way) * foot.beside
            if (landing - to) @ self.way > 0:
                to = landing
        end = self.rest(k, to) or self.rest(k, toe)
        if end is None:
            self.change(foot, self.shown, np.zeros(3))
            self.settle(foot)
            return
        length = float(np.linalg.norm(flat(to - foot.place)))
        way = flat(to - foot.place) / length if length > 0 else np.zeros(3)
        is_short = length < 0.1 * self.scale[k]
        whole = 0.0 if is_short and remaining <= 0 else foot.elapsed + span + remaining
        corners = [(0.0, foot.place[1]), (length, end[0])]
        if not is_short:
            corners = self.corners(k, foot, way, length, end[0])

        def at(place: Array, elapsed: float) -> tuple[float, Array, float]:
            x = min(max(float((place - foot.place) @ way), 0.0), length)
            share = x / length if not is_short else min(elapsed / whole, 1.0) if whole > 0 else 1.0
            u = share * share * (3 - 2 * share)
            plain = foot.place[1] * (1 - u) + end[0] * u
            return plain if is_short else curve(corners, x), foot.tilt * (1 - u) + end[1] * u, plain

        height, gradient, _ = at(before, foot.elapsed)
        self.change(foot, height, gradient)
        self.settle(foot)
        height, gradient, self.supports[k] = at(toe, foot.elapsed + span)
        foot.plan = np.array([height, *gradient])

    def corners(self, k: int, foot: Foot, way: Array, length: float, end: float) -> list[tuple[float, float]]:
        """Corners of the upper convex hull over the path, by brute force."""
        clearance, start = max(self.set["clearance"], 0.03) * self.scale[k], foot.place[1]
        cell = length / (RAYS + 1)
        foot_length = 0.75 * float((self.points[k][3] - self.points[k][4]) @ way)

        def line(x: float) -> float:
            return float(start + (end - start) * x / length)

        found = []
        for ray in range(RAYS):
            x = (ray + 1) * cell
            under = self.hit(k, foot.place + way * x, self.shown)
            share = 0.0 if under is None else min(max(float(2 * (under[0] - line(x)) / clearance), 0.0), 1.0)
            found.append((0.0 if under is None else under[0], share))
        behind = int(min(abs(foot_length) / cell + 1.999, RAYS))
        before, after = (1, behind) if foot_length < 0 else (behind, 1)
        asked = [(0.0, start), (length, end)]
        for x, near in [(0.15 * cell, [found[0]])] + [
            ((node + 1) * cell, found[max(node - before, 0) : node + after + 1]) for node in range(RAYS)
        ]:
            taper = clearance * min(float((length - x) / (0.15 * self.scale[k])), 1.0)
            most = max(share * (height + taper - line(x)) for height, share in near)
            if most > 0:
                asked.append((x, line(x) + most))
        asked.sort()

        def is_corner(x: float, y: float) -> bool:
            left, right = [p for p in asked if p[0] < x], [p for p in asked if p[0] > x]
            return all(y > p[1] + (q[1] - p[1]) * (x - p[0]) / (q[0] - p[0]) + 1e-9 for p in left for q in right)

        return [p for p in asked if is_corner(*p)]

    def land(self, k: int, foot: Foot, toe: Array) -> None:
        lands, time = self.signal(k, foot, self.set["plant_speed"], self.set["plant_height"])
        if lands > 1:
            foot.waits = False
        if not lands < 1 or foot.waits:
            return
        under = self.hit(k, toe, self.shown)
        if under is None:
            foot.place, foot.tilt, foot.elapsed = flat(toe) + self.shown * UP, np.zeros(3), 0.0
            return
        height, gradient = self.rest(k, toe)  # type: ignore[misc]
        foot.place, foot.tilt, foot.ray, foot.planted = flat(toe) + height * UP, gradient, under[0], True
        self.change(foot, height, gradient)
        self.supports[k] = height
        foot.slowest = float(np.linalg.norm(flat(self.toe_at(k, foot, time)[1])))
        foot.offset, foot.offset_speed = np.zeros(3), np.zeros(3)
        if foot.elapsed + time <= 1.5:
            away = toe - self.points[k][0]
            foot.swing_time = max(foot.elapsed + time, 0.0)
            foot.ahead, foot.beside = away @ self.way, away @ np.cross(UP, self.way)

    # --- pelvis

    def goal(self, k: int, foot: Foot) -> tuple[Array, Array]:
        p = self.points[k]
        toe = flat(foot.place if foot.planted else p[3] + foot.offset)
        toe = toe + (p[3][1] - self.floor + foot.plan[0] + foot.residual[0]) * UP
        return toe, toe + tilted(p[2] - p[3], foot.plan[1:] + foot.residual[1:])

    def pelvis(self) -> None:
        supports, reach = [], math.inf
        for k, foot in enumerate(self.feet):
            support = self.supports[k]
            if support is None:
                continue
            supports.append(support)
            ankle, hip = self.goal(k, foot)[1], self.points[k][0]
            apart = flat(ankle - hip)
            rise = math.sqrt(max(self.longest(k) ** 2 - apart @ apart, 0))
            reach = min(reach, ankle[1] + rise - (hip[1] - self.floor))
        target = self.floor
        if supports:
            lowest, more = min(supports), float(np.mean(supports)) - min(supports)
            room = reach - lowest
            target = min(lowest, reach)
            if more > 0 and room > 0:
                target = lowest + more * room / (more + room)
        if not self.started:
            self.support = self.target = target
        self.support, self.support_speed = follow(
            self.support, self.support_speed, self.target, target, self.set["pelvis_half_life"], self.dt
        )
        self.target = target
        drop = max(self.support - reach, 0.0)
        if not self.started:
            self.drop = self.drop_target = drop
        self.drop, self.drop_speed = follow(
            self.drop, self.drop_speed, self.drop_target, drop, self.set["swing_half_life"], self.dt
        )
        self.drop_target = drop
        self.shown = self.support - self.drop
        for k, foot in enumerate(self.feet):
            if self.supports[k] is None:
                foot.plan = np.array([self.shown, 0, 0, 0])


def curve(corners: list[tuple[float, float]], x: float) -> float:
    """The monotone cubic through the corners (Fritsch and Butland), with the secants at the ends."""
    spline = importlib.import_module("scipy.interpolate").CubicHermiteSpline

    at, heights = np.array(corners).T
    steps, rises = np.diff(at), np.diff(heights) / np.diff(at)
    slopes = np.zeros(len(at))
    slopes[0], slopes[-1] = rises[0], rises[-1]
    for k in range(1, len(at) - 1):
        if rises[k - 1] * rises[k] > 0:
            a, b = 2 * steps[k] + steps[k - 1], steps[k] + 2 * steps[k - 1]
            slopes[k] = (a + b) / (a / rises[k - 1] + b / rises[k])
    return float(spline(at, heights, slopes)(x))
