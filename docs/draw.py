"""The pictures of the pages, drawn by solving what they show. Colours read on light and dark, so nothing is behind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

import ikcore as ik
from ikcore.command import demo

BLUE, ORANGE, GREEN, RED, GREY = "#3a80c4", "#c8781e", "#2a9d5c", "#d0463b", "#7c7c7c"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ikcore",
    "savefig.transparent": True,
    "font.size": 9,
    "axes.titlesize": 9,
    "lines.linewidth": 3,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    **dict.fromkeys(["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"], GREY),
}
WIDTH = 4.8  # inches; 460 pixels, which a phone shows at nearly full size

SIDE = np.array([[1, 0, 0], [0, 1, 0]])  # x to the right, y up
PROFILE = np.array([[0, 0, 1], [0, 1, 0]])  # z to the right, y up
OBLIQUE = np.array([[1, 0, -0.45], [0, 1, -0.25]])  # z comes towards the reader, to the left and down

# The leg of docs/guide/limb.md, from its side: two bones of length 1, x forward, y up.
HIP, KNEE, ANKLE = (0, 2, 0), (0.6, 1.2, 0), (0, 0.4, 0)
AWAY, TOWARDS = (0, 0, -1), (0, 0, 1)  # along the line of sight


def write(folder: Path, only: Sequence[str] = ()) -> None:
    """Draw all, one SVG each, named as its function; or only those of these names."""
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        limb = (follow, pole, hinge, twist, soften, stretch, weight, bend_limits, flip, tip, branches)
        chains = (
            fabrik,
            leader,
            circle,
            spring,
            ccd,
            ewbik,
            jacobians,
            bounds,
            newton,
            lbfgsb,
            full_body,
            bodies,
            balance,
            postures,
            rbf,
            motion_matching,
            broyden,
            particles,
            density,
            which,
            nodes,
            many_legs,
            hands,
            capsules,
        )
        for picture in (
            *limb,
            aim,
            look,
            spline,
            forearm,
            limits,
            outside,
            *chains,
            shapes,
            walk,
            smooth,
            ground,
            drift,
            front,
            bake,
            bake_over_time,
            foot_placer,
            clearance,
            strides,
        ):
            if not only or picture.__name__ in only:
                picture().savefig(folder / f"{picture.__name__}.svg", metadata={"Date": None})
        for name in AT_WORK:
            if not only or name in only:
                at_work(name).savefig(folder / f"{name}.svg", metadata={"Date": None})
    if not only or "report" in only:
        (folder / "report.svg").write_text(report(), encoding="utf-8")


# The pictures


def follow() -> Figure:
    """A leg and a target that passes below, ahead of it and out of its reach; the first frames are pale."""
    t = np.linspace(0, 1, 25)
    targets = np.stack([-0.45 + 1.35 * t, 0.12 + 0.1 * t + 0.75 * t**3, 0 * t], axis=-1)
    limb = ik.two_bone([0, 0.9, 0], [0.03, 0.48, 0], [0, 0.06, 0], targets, bend=[1, 0.2, 0])
    figure, (panel,) = scenes("", x=(-0.65, 1.05), y=(-0.02, 1.08))
    line(panel, targets, GREY, width=1, style=":")
    for share, joints, target, status in zip(t, limb.positions, targets, limb.status, strict=True):
        reached = status == 0
        line(panel, joints, BLUE if reached else RED, width=2, shade=0.15 + 0.85 * share)
        dot(panel, target, GREEN if reached else RED)
    return figure


def pole() -> Figure:
    """Towards a point, or in a direction."""
    target = (0.6, 0.5, 0)
    figure, (front, behind, way) = scenes("pole in front", "pole behind", "bend", x=(-0.9, 1.5), y=(0.3, 2.1))
    for panel, point in [(front, (1.4, 1.7, 0)), (behind, (-0.75, 1.2, 0))]:
        limb = leg(target, pole=point)
        line(panel, [limb.positions[1], point], GREY, width=1, style=":")
        before_after(panel, limb, target)
        dot(panel, point, ORANGE, "D")
    limb = leg(target, bend=(-1, 0, 0))
    before_after(way, limb, target)
    arrow(way, limb.positions[1], (-0.5, 0, 0), ORANGE)
    return figure


def hinge() -> Figure:
    """A straight leg bends about it; one bent backwards is put right."""
    target, straight, wrong = (0, 0.5, 0), (0, 1, 0), (-0.6, 1.2, 0)
    titles = "hinge away\nfrom you", "hinge\ntowards you", "away, bent\nbackwards before"
    figure, panels = scenes(*titles, x=(-1, 1.2), y=(-0.1, 2.1))
    for panel, knee, axis in zip(panels, (straight, straight, wrong), (AWAY, TOWARDS, AWAY), strict=True):
        ankle = (0, 0, 0) if knee is straight else ANKLE
        limb = ik.two_bone(HIP, knee, ankle, target, hinge=axis)
        before_after(panel, limb, target, (HIP, knee, ankle))
        x, y = SIDE @ limb.positions[1] + [0.25, 0]
        panel.plot(x, y, "o", color=ORANGE, markersize=12, markerfacecolor="none", markeredgewidth=1.5)
        panel.plot(x, y, "x" if axis is AWAY else ".", color=ORANGE, markersize=6, markeredgewidth=1.5)
    return figure


def twist() -> Figure:
    """The knee goes round the line from root to target."""
    target = (0, 0.6, 0)
    figure, (panel,) = scenes("", x=(-1.3, 1.5), y=(0.5, 2.1))
    knees = leg(target, pole=(2, 1, 0), twist=np.linspace(0, 2 * np.pi, 73)).positions[:, 1]
    line(panel, knees, GREY, width=1, style=":", view=OBLIQUE)
    line(panel, [HIP, target], GREY, width=1, style=":", view=OBLIQUE)
    for degrees, shade, place in [(90, 0.4, (-26, -8)), (45, 0.65, (4, 5)), (0, 1, (8, -3))]:
        joints = leg(target, pole=(2, 1, 0), twist=np.radians(degrees)).positions
        chain(panel, joints, shade=shade, view=OBLIQUE)
        label(panel, joints[1], f"{degrees}°", place, view=OBLIQUE)
    dot(panel, target, GREEN)
    return figure


def soften() -> Figure:
    """The bend of the knee while the target leaves."""
    figure, panel = plot("distance of the target / reach", "bend of the knee")
    share = np.linspace(0.9, 1.06, 400)
    targets = np.stack([0 * share, 2 - 2 * share, 0 * share], axis=-1)
    for start, color, place in [(1.0, BLUE, (0.937, 44)), (0.97, ORANGE, (1.002, 20)), (0.9, GREEN, (0.998, 35))]:
        panel.plot(share, np.degrees(bends(leg(targets, soften=start).positions)), color=color, linewidth=2)
        panel.text(*place, f"soften={start:g}" if start < 1 else "not softened", color=color)
    panel.set_yticks([0, 20, 40], ["0°", "20°", "40°"])
    return figure


def stretch() -> Figure:
    """A target at 1.15 of the reach."""
    target = (0, -0.3, 0)
    options: list[dict[str, float]] = [{}, {"stretch_max": 1.25}, {"stretch_max": 1.25, "stretch_start": 0.8}]
    titles = "no stretch", "stretch_max=1.25", "stretch_start=0.8"
    figure, panels = scenes(*titles, x=(-0.6, 1), y=(-0.4, 2.1))
    for panel, option in zip(panels, options, strict=True):
        limb = leg(target, **option)
        before_after(panel, limb, target)
        label(panel, limb.positions[0], f"stretch {limb.stretch:.2f}", (8, 0))
    return figure


def weight() -> Figure:
    """From the pose that came in to the solution."""
    target = (1.1, 1, 0)
    figure, (panel,) = scenes("", x=(-0.6, 1.8), y=(0.3, 2.1))
    for share in (0, 0.25, 0.5, 0.75, 1):
        joints = leg(target, influence=share).positions
        chain(panel, joints, shade=0.3 + 0.7 * share)
        label(panel, joints[2], f"{share:g}", (8, -8))
    dot(panel, target, GREEN)
    return figure


def bend_limits() -> Figure:
    """The ring that the end can be in."""
    limits = {"min_bend": np.radians(30), "max_bend": np.radians(120)}
    circle = direction(np.linspace(0, 2 * np.pi, 181))
    outer, inner = (SIDE @ leg(HIP + size * circle, **limits).positions[:, 2].T for size in (3, 0.1))
    figure, panels = scenes("min_bend=30°", "max_bend=120°", x=(-2.1, 2.1), y=(-0.1, 4.1))
    for panel, target in zip(panels, [(1.6, 0.6, 0), (0.5, 1.7, 0)], strict=True):
        panel.fill(*np.hstack([outer, inner[:, ::-1]]), color=GREEN, alpha=0.2, linewidth=0)
        chain(panel, leg(target, **limits).positions)
        dot(panel, target, RED)
    return figure


def flip() -> Figure:
    """How far the target's line is from the pole, and what happens when it crosses."""
    figure, (far, near) = scenes("", "", x=(-1, 1.6), y=(0, 2.2))
    pole = np.array([1.0, 0.3, 0])
    to_pole = np.arctan2(pole[1] - 2, pole[0])
    for panel, side, color in [(far, -0.7, BLUE), (near, -0.05, BLUE), (near, 0.05, ORANGE)]:
        target = HIP + 1.5 * direction(to_pole + side)
        limb = leg(target, pole=pole)
        chain(panel, limb.positions, color)
        line(panel, [HIP, pole], GREY, width=1, style=":")
        dot(panel, target, GREEN)
        dot(panel, pole, ORANGE, "D")
        panel.set_title(f"flip = {np.degrees(limb.flip):.0f}°")
        if panel is far:
            line(panel, [HIP, target], GREY, width=1, style=":")
            arc(panel, HIP, 0.8, to_pole, -float(limb.flip), ORANGE)
    return figure


def tip() -> Figure:
    """The foot under four rules."""
    target, toe = (0.45, 0.75, 0), np.array([0.4, 0, 0])
    slope, none = ik.rotations.exp([0, 0, np.radians(25)]), (1, 0, 0, 0)
    limb = leg(target)
    rules: dict[str, NDArray[Any]] = {
        "local": limb.tip("local"),
        "keep": limb.tip("keep"),
        "take": limb.tip("take", rotation=none, target=slope),
        "maintain": limb.tip("maintain", space=none, space_after=ik.rotations.conjugate(slope)),
    }
    figure, panels = scenes(*rules, x=(-0.3, 1.1), y=(0.2, 2.1))
    for panel, (rule, delta) in zip(panels, rules.items(), strict=True):
        turn = ik.rotations.multiply(ik.rotations.multiply(limb.root, limb.mid), delta)
        foot = limb.positions[2] + ik.rotations.rotate(turn, toe)
        chain(panel, [HIP, KNEE, ANKLE, ANKLE + toe], GREY, 0.5)
        chain(panel, [*limb.positions, foot])
        if rule in ("take", "maintain"):
            ground = ik.rotations.rotate(slope if rule == "take" else ik.rotations.conjugate(slope), toe)
            down = np.array([0, 0.12, 0])
            line(panel, [target - ground - down, target + 1.6 * ground - down], ORANGE, width=1.5)
    return figure


def branches() -> Figure:
    """Both arms that reach a point of the plane."""
    target = np.array([0.7, 1.3])
    arm = ik.closed_forms.two_bone_2d(1, 1, target)
    figure, (panel,) = scenes("", x=(-1.2, 2.2), y=(-0.15, 1.5))
    line(panel, [(0, 0, 0), (1.3, 0, 0)], GREY, width=1, style=":")
    for (first, second), color, name in zip(arm.angles, (BLUE, ORANGE), ("angles[0]", "angles[1]"), strict=True):
        elbow = direction(first)
        line(panel, [elbow, 1.4 * elbow], color, width=1, style=":")
        arc(panel, elbow, 0.3, first, second, color)
        arc(panel, (0, 0, 0), 0.45 if second > 0 else 0.6, 0, first, color)
        chain(panel, [(0, 0, 0), elbow, elbow + direction(first + second)], color)
        label(panel, elbow, name, (12, -12) if second > 0 else (-60, 0), color)
    dot(panel, (*target, 0), GREEN)
    return figure


def aim() -> Figure:
    """From the joint, from beside it, and rolled."""
    target, offset = np.array([1.5, 0.9, 0]), np.array([0, 0.4, 0])
    figure, (plain, beside, rolled) = scenes("forward", "offset", "up and pole", x=(-0.2, 1.7), y=(-0.3, 1.3))
    for panel, start in [(plain, np.zeros(3)), (beside, offset)]:
        found = ik.aim([0, 0, 0], [1, 0, 0, 0], target, forward=[1, 0, 0], offset=start)
        for turn, color, shade in [(np.array([1, 0, 0, 0]), GREY, 0.4), (found.delta, BLUE, 1)]:
            muzzle, way = ik.rotations.rotate(turn, np.array([start, [0.6, 0, 0]]))
            chain(panel, [(0, 0, 0), muzzle], color, shade)
            line(panel, [muzzle, muzzle + 4 * way], color, width=1, style=":", shade=shade)
            arrow(panel, muzzle, way, color, shade)
        dot(panel, target, GREEN)
    roll(rolled)
    return figure


def roll(panel: Axes) -> None:
    """A head that looks at the reader, as it rolls by the shortest way and towards a pole."""
    rotation, pole = ik.rotations.exp([0.3, 0.5, -0.9]), (-0.3, 1, 0)
    panel.set(xlim=(-0.85, 1.05), ylim=(-0.5, 1.1))
    head: dict[str, Any] = {"position": [0, 0, 0], "rotation": rotation, "target": [0, 0, 9], "forward": [0, 0, 1]}
    for found, color, shade in [(ik.aim(**head), GREY, 0.5), (ik.aim(**head, up=[0, 1, 0], pole=pole), BLUE, 1)]:
        turn = ik.rotations.multiply(found.delta, rotation)
        around = np.linspace(0, 2 * np.pi, 60)
        outline = np.stack([0.34 * np.cos(around), 0.44 * np.sin(around), 0 * around], axis=-1)
        line(panel, ik.rotations.rotate(turn, outline), color, shade=shade, width=2)
        arrow(panel, ik.rotations.rotate(turn, [0, 0.44, 0]), ik.rotations.rotate(turn, [0, 0.4, 0]), color, shade)
    dot(panel, pole, ORANGE, "D")


def look() -> Figure:
    """A spine that looks up: its joints share the turn; the head alone; and no farther than the cone."""
    spine = np.array([(0, 0, 0), (0, 0.25, 0), (0.02, 0.5, 0), (0.03, 0.62, 0)])
    rest: dict[str, Any] = {"rotation": [1, 0, 0, 0], "forward": [1, 0, 0], "offset": [0.1, 0.08, 0]}
    cone: dict[str, Any] = {"weights": [1, 2, 3, 4], "reference": [1, 0, 0], "clamp": 0.85}
    figure, panels = scenes("weights=[1, 2, 3, 4]", "the head alone", "clamp=0.85", x=(-0.45, 0.85), y=(-0.05, 1.65))
    for panel, options in zip(panels, ({"weights": [1, 2, 3, 4]}, {"weights": [0, 0, 0, 1]}, cone), strict=True):
        target = (0.55, 1.5, 0)
        found = ik.look_at(spine, target=target, **rest, **options)
        turn = functools.reduce(ik.rotations.multiply, found.deltas)
        eyes = ik.rotations.rotate(turn, rest["offset"]) + found.positions[-1]
        gaze = ik.rotations.rotate(turn, rest["forward"])
        chain(panel, [*spine, spine[-1] + rest["offset"]], GREY, 0.5)
        line(panel, [eyes, eyes + np.linalg.norm(eyes - target) * gaze], GREY, width=1, style=":")
        chain(panel, [*found.positions, eyes])
        dot(panel, target, GREEN if found.status == 0 else RED)
    return figure


def spline() -> Figure:
    """A tail on its curve; on one that ends before it; stretched over all of one."""
    tail = np.stack([np.linspace(0, 2, 9), np.full(9, 1.6), np.zeros(9)], axis=-1)
    long = ik.closed_forms.curve_through([[0, 0.6, 0], [0.6, 1.1, 0], [1.3, 0.1, 0], [2, 0.6, 0], [2.3, 1.2, 0]])
    figure, panels = scenes("", "TOO_SHORT", 'stretch="even"', x=(-0.15, 2.45), y=(-0.15, 1.75))
    options: list[dict[str, Any]] = [{}, {}, {"stretch": "even"}]
    for panel, curve, more in zip(panels, (long, long[:4], long), options, strict=True):
        found = ik.spline(tail, curve, **more)
        chain(panel, tail, GREY, 0.5)
        line(panel, bezier(curve), ORANGE, width=6, shade=0.4)
        chain(panel, found.positions, BLUE if found.status == 0 else RED)
    return figure


def bezier(curve: NDArray[Any]) -> NDArray[Any]:
    """Points along cubic pieces."""
    t = np.linspace(0, 1, 40)[:, None]
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    pieces = [sum(w * curve[k + i] for i, w in enumerate(weights)) for k in range(0, len(curve) - 1, 3)]
    return np.concatenate(pieces)


def forearm() -> Figure:
    """A hand turned by a quarter: which way the joints' own y axes look, before the twist is shared and after."""
    arm = ik.Skeleton.chain([[x, 0, 0] for x in (0, 0.4, 0.8, 1.2, 1.5)])
    turned = arm.rest.rotations.copy()
    turned[3] = ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    came = ik.Pose(turned)
    figure, panels = scenes("turned at the wrist", "shared", x=(-0.2, 1.7), y=(-0.35, 0.6))
    for panel, pose in zip(panels, (came, ik.spread_twist(arm, came, [0, 1, 2, 3]).pose), strict=True):
        world = arm.forward(pose)
        chain(panel, world.positions, view=OBLIQUE)
        for at, rotation in zip(world.positions[:4], world.rotations[:4], strict=True):
            ends = [at, at + ik.rotations.rotate(rotation, [0, 0.45, 0])]
            line(panel, ends, ORANGE, view=OBLIQUE)
    return figure


def fabrik() -> Figure:
    """A rope, iteration by iteration, for a target near its full reach; the error of ropes."""
    rope = ik.Skeleton.chain([[x, 0, 0] for x in range(7)])
    near, far = (6 * share * direction(1.2) for share in (0.6, 0.95))
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    scene, panel = figure.subplots(1, 2, width_ratios=[1, 1.3])
    scene.set(xlim=(-0.4, 6.3), ylim=(-0.6, 5.8), aspect="equal")
    scene.axis("off")
    for iterations, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.35), (3, BLUE, 0.6), (200, BLUE, 1)]:
        found = ik.fabrik(rope, rope.rest, [ik.Reach(6, far)], iterations=iterations)
        chain(scene, rope.forward(found.pose).positions, color, shade)
    dot(scene, far, GREEN)
    cones = [ik.Limit.cone([1, 0, 0], 0.5, twist=(-0.3, 0.3))] * 6
    stiff = ik.Skeleton(rope.parents, rope.offsets, limits=[*cones, None])
    runs = [
        ("well within reach", rope, near, GREEN),
        ("near full reach", rope, far, BLUE),
        ("with limits", stiff, 4.9 * direction(0.7), ORANGE),
    ]
    for name, skeleton, target, color in runs:
        found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(6, target)], history=True)
        assert found.history is not None
        panel.semilogy(found.history / 6, color=color, linewidth=1.5, alpha=0.8, label=name)
    return with_errors(figure, panel, "iterations", 16)


def with_errors(figure: Figure, panel: Axes, steps: str, most: int) -> Figure:
    """The figure with labels for a panel of errors over steps, and a legend above."""
    panel.set(xlabel=steps, ylabel="error / reach", xlim=(0, most))
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def leader() -> Figure:
    """A rope drawn after its tip; the error by what an iteration costs, beside FABRIK as published."""
    rope = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    start = ik.Pose(np.tile(ik.rotations.from_axis_angle([0, 0, 1], 0.08), (9, 1)))
    near, far = 8 * 0.85 * direction(1.7), 8 * 0.97 * direction(1.2)
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    scene, panel = figure.subplots(1, 2, width_ratios=[1.2, 1])
    scene.set(xlim=(-2.8, 8.4), ylim=(-0.6, 7.2), aspect="equal")
    scene.axis("off")
    for iterations, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.3), (2, BLUE, 0.5), (200, BLUE, 1)]:
        found = ik.solvers.follow(rope, start, [ik.Reach(8, near)], iterations=iterations, textbook=True)
        chain(scene, rope.forward(found.pose).positions, color, shade)
    dot(scene, near, GREEN)
    runs: list[tuple[str, Any, float, str]] = [
        ("follow", ik.solvers.follow, 0.5, BLUE),
        ("textbook", functools.partial(ik.solvers.follow, textbook=True), 0.5, GREEN),
        ("textbook FABRIK", functools.partial(ik.fabrik, textbook=True), 1, ORANGE),
    ]
    for name, solve, passes, color in runs:
        found = solve(rope, start, [ik.Reach(8, far)], history=True)
        steps = passes * np.arange(len(found.history))
        panel.semilogy(steps, found.history / 8, color=color, linewidth=1.5, alpha=0.8, label=name)
    panel.set(ylim=(5e-6, 1))
    return with_errors(figure, panel, "iterations of FABRIK", 30)


def spring() -> Figure:
    """A tail after some iterations; with springs to tip and base; the error by damping."""
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    start = ik.Pose(np.tile(ik.rotations.from_axis_angle([0, 0, 1], 0.08), (9, 1)))
    target, far = (3, 3.5, 0), (5.5, 4.5, 0)
    figure = Figure(figsize=(WIDTH, 2.3), layout="constrained")
    *scenes, panel = figure.subplots(1, 3, width_ratios=[1.1, 0.9, 1])
    for scene in scenes:
        scene.set_aspect("equal")
        scene.margins(0.08)
        scene.axis("off")
    for iterations, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.2), (2, BLUE, 0.35), (5, BLUE, 0.55), (200, BLUE, 1)]:
        found = ik.solvers.spring(tail, start, [ik.Reach(8, target)], iterations=iterations)
        chain(scenes[0], tail.forward(found.pose).positions, color, shade)
    drawn: list[tuple[dict[str, Any], str]] = [({"effector_strength": 64}, GREEN), ({"root_strength": 64}, ORANGE)]
    for springs, color in drawn:
        found = ik.solvers.spring(tail, start, [ik.Reach(8, target)], **springs)
        chain(scenes[1], tail.forward(found.pose).positions, color, 0.8)
    for scene in scenes:
        dot(scene, target, GREEN)
    for damping, color in ((0.1, GREEN), (0.4, BLUE), (0.5, ORANGE)):
        found = ik.solvers.spring(tail, start, [ik.Reach(8, far)], damping=damping, history=True)
        assert found.history is not None
        panel.semilogy(found.history / 8, color=color, linewidth=1.5, alpha=0.8, label=f"{damping}")
    panel.set(xlabel="iterations", ylabel="error / reach", ylim=(5e-6, 1))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(title="damping", frameon=False)
    return figure


def circle() -> Figure:
    """Targets near and far; a chain of unequal bones, iteration by iteration; one that has a longest bone."""
    figure = Figure(figsize=(WIDTH, 2.2), layout="constrained")
    scenes = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
    for scene in scenes:
        scene.set_aspect("equal")
        scene.margins(0.08)
        scene.axis("off")
    above: dict[str, Any] = {"pole": [0, 50, 0]}
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(7)])
    for distance, shade in zip((0.3, 2, 4, 5.4, 6), (0.3, 0.45, 0.6, 0.8, 1), strict=True):
        found = ik.solvers.circle(tail, tail.rest, [ik.Reach(6, [distance, 0, 0], **above)])
        chain(scenes[0], tail.forward(found.pose).positions, BLUE, shade)
        dot(scenes[0], (distance, 0, 0), GREEN)
    for scene, lengths, target in (
        (scenes[1], [1.4, 0.5, 1, 0.7, 1.2], (4, 0, 0)),
        (scenes[2], [0.8, 3.2, 0.9, 1.3], (0.9, 0, 0)),
    ):
        arm = ik.Skeleton.chain([[x, 0, 0] for x in np.cumsum([0, *lengths])])
        for iterations, shade in ((1, 0.3), (2, 0.5), (50, 1)):
            found = ik.solvers.circle(arm, arm.rest, [ik.Reach(len(lengths), target, **above)], iterations=iterations)
            points = arm.forward(found.pose).positions
            chain(scene, points, BLUE, shade)
        middle, radius = circle_through(points[0], points[1], points[-1])
        turn = np.linspace(0, 2 * np.pi, 100)
        line(scene, middle + radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1), GREY, width=1, style=":")
        dot(scene, target, GREEN)
    return figure


def circle_through(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Its middle and radius; points in the plane."""
    sides = 2 * np.array([b - a, c - a])[:, :2]
    middle = np.append(np.linalg.solve(sides, [b @ b - a @ a, c @ c - a @ a]), 0)
    return middle, float(np.linalg.norm(a - middle))


def nodes() -> Figure:
    """A human reaches and looks by stages; a tail swings after its joint; a foot goes up a step."""
    body = ik.samples.walk(seconds=0.1).clip.skeleton
    figure, (reach, swing, step) = scenes("sequential", "SpringNode", "GroundNode", x=(-0.5, 0.9), y=(-0.05, 1.85))
    cup = (-0.15, 1.08, 0.5)
    wanted: dict[str, Any] = {
        "pelvis": [0, 0.95, -0.1],
        "chest_rotation": ik.rotations.exp([0.6, 0, 0]),
        "right_hand": cup,
        "look": cup,
    }
    wanted |= {f"{side}_foot": place for side, place in (("left", [0.09, 0.09, 0.1]), ("right", [-0.09, 0.09, -0.2]))}
    found = ik.solvers.stages(body, body.rest, ik.bodies.nodes.sequential(body, wanted))
    reach.plot([0.35, 0.9], [0.95, 0.95], color=GREY, linewidth=3)
    figure_of(reach, body, body.rest, GREY, 0.35)
    figure_of(reach, body, found.pose, BLUE, 1)
    dot(reach, (*(PROFILE @ np.array(cup)), 0), GREEN)
    tail = ik.Skeleton.chain([[0, 1.6 - 0.3 * k, 0] for k in range(6)])
    turns = np.zeros((24, 6, 3))
    turns[:, 0, 0] = -np.minimum(0.06 * np.arange(24), 1.0)
    swung = ik.bodies.nodes.SpringNode([1, 2, 3, 4], stiffness=80, fps=60)(tail, ik.Pose(ik.rotations.exp(turns)))
    for frame, shade in ((0, 0.3), (8, 0.4), (16, 0.7), (23, 1.0)):
        chain(swing, tail.forward(swung.pose[frame]).positions, GREY if frame == 0 else BLUE, shade, PROFILE)
    stairs = ik.Ground.plane() + ik.Ground.mesh([[-3, 0.22, 0.05], [3, 0.22, 0.05], [3, 0.22, 3], [-3, 0.22, 3]], STAIR)
    stride = np.zeros((len(body), 3))
    for name, angle in (("LeftUpLeg", -0.35), ("LeftLeg", 0.35), ("RightUpLeg", 0.25), ("RightLeg", 0.1)):
        stride[body.index(name), 0] = angle
    came = ik.Pose(ik.rotations.exp(stride))
    step.plot([-0.5, 0.05, 0.05, 0.9], [0, 0, 0.22, 0.22], color=GREY, linewidth=2)
    figure_of(step, body, came, GREY, 0.35)
    figure_of(step, body, ik.bodies.nodes.GroundNode(stairs)(body, came).pose, BLUE, 1)
    return figure


def many_legs() -> Figure:
    """A quadruped and a hexapod on a slope with steps."""
    figure, panels = scenes("four legs", "six legs", x=(-0.8, 0.8), y=(-0.4, 1.3))
    steps = [(-0.8, -0.25, -0.12), (-0.25, 0.15, 0.0), (0.15, 0.8, 0.15)]
    ground = ik.Ground.plane(height=-0.3)
    for near, far, height in steps:
        ground += ik.Ground.mesh([[x, height, z] for x, z in ((-3, near), (3, near), (3, far), (-3, far))], STAIR)
    for panel, pairs in zip(panels, (2, 3), strict=True):
        parents, offsets, legs = [-1, 0], [[0, 0.8, -0.4], [0, 0, 0.8]], []
        for z in np.linspace(0, 0.8, pairs):
            for x in (0.3, -0.3):
                first = len(parents)
                parents += [0, first, first + 1]
                offsets += [[x, 0, float(z)], [0, -0.4, 0.1], [0, -0.4, -0.1]]
                legs.append((first, first + 2))
        body = ik.Skeleton(parents, offsets)
        found = ik.bodies.ManyLegsNode(ground, legs, 0, 1)(body, body.rest)
        for near, far, height in steps:
            panel.plot([near, far], [height, height], color=GREY, linewidth=2)
        for pose, color, shade in ((body.rest, GREY, 0.35), (found.pose, BLUE, 1)):
            at = body.forward(pose).positions
            line(panel, at[[0, 1]], color, width=3, shade=shade, view=PROFILE)
            for hip, foot in legs:
                line(panel, at[hip : foot + 1], color, width=2, shade=shade, view=PROFILE, marker="o", markersize=3)
    return figure


STAIR = [[0, 2, 1], [0, 3, 2]]


def hands() -> Figure:
    """A hand that is open, on a ball, and on a box; from the side of the thumb."""
    from_thumb = np.array([[1, 0, 0], [0, 0, 1]])  # x to the right, z up
    left = ik.bodies.hand("left", 0.19)
    ball = ik.bodies.CapsuleShape([0.1, 0, 0.05], 0.035)
    bar = ik.bodies.CapsuleShape([0.095, -0.03, 0.045], 0.028, [0.095, 0.05, 0.045])
    figure, panels = scenes("open", "on a ball", "on a bar", x=(-0.02, 0.2), y=(-0.03, 0.13))
    for panel, shape in zip(panels, (None, ball, bar), strict=True):
        pose = ik.bodies.grasp(left, shape).pose if shape else left.rest
        if shape:
            centre = from_thumb @ np.asarray(shape.start)
            panel.add_patch(Circle((float(centre[0]), float(centre[1])), shape.radius, color=GREY, alpha=0.3))
        at = left.forward(pose).positions
        for finger in range(5):
            joints = [0, *range(1 + 4 * finger, 5 + 4 * finger)]
            color = GREEN if finger == 0 else BLUE
            line(panel, at[joints], color, width=2, view=from_thumb, marker="o", markersize=3)
    return figure


def capsules() -> Figure:
    """A leg that is in the other, and both apart."""
    body = ik.samples.walk(seconds=0.1).clip.skeleton
    solid = ik.bodies.Capsules.along(body, radius=0.05)
    turns = np.zeros((len(body), 3))
    turns[body.index("LeftUpLeg"), 2] = turns[body.index("LeftLeg"), 2] = -0.3
    crossed = ik.Pose(ik.rotations.exp(turns), body.offsets)
    apart = ik.bodies.SeparateNode(solid)(body, crossed).pose
    figure, panels = scenes("one leg in the other", "apart: one ankle before the other", x=(-0.5, 0.5), y=(-0.05, 1.05))
    for panel, pose in zip(panels, (crossed, apart), strict=True):
        at = body.forward(pose).positions
        for name, color in (("Left", BLUE), ("Right", GREEN)):
            leg = [body.index(name + part) for part in ("UpLeg", "Leg", "Foot")]
            line(panel, at[leg], color, width=14, shade=0.35, solid_capstyle="round")
            line(panel, at[leg], color, width=1.5)
    return figure


def figure_of(panel: Axes, body: ik.Skeleton, pose: ik.Pose, color: str, shade: float) -> None:
    """A human from its side."""
    at = body.forward(pose).positions
    for limb in ([0, 1, 2, 3, 4], [2, 5, 6, 7], [2, 8, 9, 10], [0, 11, 12, 13, 14], [0, 16, 17, 18, 19]):
        line(panel, at[limb], color, width=2, shade=shade, view=PROFILE, marker="o", markersize=3)


def full_body() -> Figure:
    """The error before the finish over the sweeps, and the turns of joints as a target moves out of reach."""
    anywhere = ik.Limit.free(position=[[-np.inf] * 3, [np.inf] * 3])
    offsets: list[list[float]] = [[0, 1, 0], [0, 0.5, 0], [0.3, 0, 0], [0.3, -0.05, 0], [-0.3, 0, 0], [-0.3, -0.05, 0]]
    offsets += [[0.1, -0.45, 0], [0, -0.45, 0.02], [-0.1, -0.45, 0], [0, -0.45, 0.02]]
    body = ik.Skeleton([-1, 0, 1, 2, 1, 4, 0, 6, 0, 8], offsets, limits=[anywhere, *[None] * 9])
    ends, rest = (3, 5, 7, 9), body.forward(body.rest).positions
    target = np.array([0.62, 1.6, 0.1])

    def goals(targets: NDArray[Any]) -> list[ik.Reach]:
        return [ik.Reach(3, targets), *(ik.Reach(end, rest[end]) for end in ends[1:])]

    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    scene, left, turns = figure.subplots(1, 3, width_ratios=[1, 1, 1])
    scene.set(xlim=(-0.8, 1.4), ylim=(0, 2), aspect="equal")
    scene.axis("off")
    for sweeps, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.3), (3, BLUE, 0.55), (20, BLUE, 1)]:
        found = ik.solvers.full_body(
            body, body.rest, goals(target), sweeps=sweeps, iterations=0, pre_pull=min(sweeps, 1)
        )
        places = body.forward(found.pose).positions
        for limb in ([0, 1, 2, 3], [1, 4, 5], [0, 6, 7], [0, 8, 9]):
            chain(scene, places[limb], color, shade)
    dot(scene, target, GREEN)
    counts = [1, 2, 3, 5, 8, 12, 20, 30, 50, 80]
    for inertia, color in ((1, GREEN), (10, BLUE), (100, ORANGE)):
        runs = (
            ik.solvers.full_body(body, body.rest, goals(target), sweeps=n, iterations=0, inertia=inertia)
            for n in counts
        )
        left.loglog(counts, [1000 * float(run.error) for run in runs], color=color, linewidth=1.5, label=f"{inertia}")
    left.set(xlabel="sweeps", ylabel="before the finish, mm")
    left.legend(title="inertia", frameon=False, fontsize=7)
    way = 0.007 * np.arange(150)
    away = rest[3] + way[:, np.newaxis] * np.array([0.8, 0.6, 0])
    for method, color in (("dls", GREY), ("full_body", BLUE)):
        pose = ik.solve(body, body.rest, goals(away), method).pose.rotations
        cosines = np.abs((pose[1:] * pose[:-1]).sum(-1)).clip(0, 1)
        angles = np.degrees(2 * np.arccos(cosines)).max(-1).clip(0.05)
        turns.semilogy(way[1:], angles, color=color, linewidth=1.5, label=method)
    turns.set(xlabel="target away, m", ylabel="largest turn, degrees")
    turns.legend(frameon=False, fontsize=7)
    for panel in (left, turns):
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def bodies() -> Figure:
    """The ready-made bodies at rest, and the centres of the masses of their bones, by area."""
    made = {"human": ik.bodies.human(), "quadruped": ik.bodies.quadruped(), "hexapod": ik.bodies.hexapod()}
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    for panel, (name, body) in zip(figure.subplots(1, 3), made.items(), strict=True):
        world = body.forward(body.rest)
        for joint, parent in enumerate(body.parents):
            if parent >= 0:
                line(panel, world.positions[[parent, joint]], BLUE, width=2, view=OBLIQUE)
        centres = world.positions + ik.rotations.rotate(world.rotations, body.centres)
        shares = body.masses / body.masses.sum()
        x, y = OBLIQUE @ centres.T
        panel.scatter(x, y, 600 * shares, color=ORANGE, alpha=0.6, linewidths=0, zorder=3)
        panel.set(title=name, aspect="equal", xmargin=0.1, ymargin=0.1)
        panel.axis("off")
    return figure


def balance() -> Figure:
    """A person reaches over a table for a cup: with its centre of mass ahead of its toes, and kept over its feet."""
    person = ik.bodies.human()
    soles, turned = ik.bodies.soles(person), person.rest.rotations.copy()
    for side, sign in (("left", -1), ("right", 1)):
        turned[person.index(f"{side} shoulder")] = ik.rotations.from_axis_angle([0, 0, 1], 1.3 * sign)
        turned[person.index(f"{side} elbow")] = ik.rotations.from_axis_angle([0, sign, 0], 0.25)
    standing, cup = ik.Pose(turned), np.array([-0.1, 0.82, 0.95])
    at, ankles = person.forward(standing).positions, [person.index(f"{side} ankle") for side in ("left", "right")]
    goals: list[ik.Goal] = [ik.Reach(ankle, at[ankle], rotation=[1, 0, 0, 0]) for ankle in ankles]
    goals += [ik.Reach("right wrist", cup - [0, 0, 0.1]), ik.Look("right wrist", [-1, 0, 0], cup)]
    goals += [ik.Look("head", [0, -0.1, 1], cup, chain="neck"), ik.Inside("pelvis", [0, 0, 0.1], [0, 0, -1])]
    polygon = ik.bodies.support_polygon(ik.bodies.balance(person, standing, soles).points)
    over_feet = ik.Inside.polygon(polygon, [0, 1, 0], distance=0.03)
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    scene, above = figure.subplots(1, 2, width_ratios=[1.3, 1])
    line(scene, [(0, 0.75, 0.25), (0, 0.75, 1.1)], GREY, width=4, view=PROFILE)
    scene.plot(cup[2], cup[1], "s", color=GREEN, zorder=3)
    above.fill(polygon[:, 0], polygon[:, 2], color=GREY, alpha=0.3, linewidth=0)
    for wanted, color in ((goals, RED), ([*goals, *over_feet], BLUE)):
        pose = ik.solvers.full_body(person, standing, wanted).pose
        places, found = person.forward(pose).positions, ik.bodies.balance(person, pose, soles)
        for joint, parent in enumerate(person.parents):
            if parent >= 0:
                line(scene, places[[parent, joint]], color, view=PROFILE)
        centre = found.centre
        line(scene, [centre, centre * [1, 0, 1]], color, width=1, style=":", view=PROFILE, marker="o", markersize=4)
        line(scene, [places[person.index("head")], cup], GREY, width=1, style=":", view=PROFILE)
        above.plot(centre[0], centre[2], "o", color=color)
        said = f"{100 * abs(found.margin):.1f} cm {'in' if found.margin > 0 else 'out'}side"
        above.annotate(said, (centre[0], centre[2]), (8, -3), textcoords="offset points", color=color)
    above.set(aspect="equal", title="from above", xlim=(0.28, -0.28), ylim=(-0.12, 0.28))
    scene.set(aspect="equal", title="from the right")
    for panel in (scene, above):
        panel.axis("off")
    return figure


def ccd() -> Figure:
    """A rope sweep by sweep, from the tip and from the root; the error over the sweeps."""
    rope = ik.Skeleton.chain([[x, 0, 0] for x in range(7)])
    start = ik.Pose(np.tile(ik.rotations.exp([0, 0, 0.15]), (7, 1)))
    target, figure = 5.4 * direction(1.6), Figure(figsize=(WIDTH, 2.8), layout="constrained")
    tip, root, panel = figure.subplots(1, 3, width_ratios=[1, 1, 1])
    for scene, title, tail in [(tip, "from the tip", True), (root, "from the root", False)]:
        scene.set(xlim=(-2.2, 5.4), ylim=(-0.6, 6.2), aspect="equal", title=title)
        scene.axis("off")
        for sweeps, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.35), (3, BLUE, 0.6), (200, BLUE, 1)]:
            goal = [ik.Reach(6, target)]
            found = ik.ccd(rope, start, goal, iterations=sweeps, textbook=sweeps < 200, start_from_tail=tail)
            chain(scene, rope.forward(found.pose).positions, color, shade)
        dot(scene, target, GREEN)
    runs: list[tuple[str, str, dict[str, bool]]] = [
        ("from the tip", GREY, {"textbook": True}),
        ("from the root", ORANGE, {"textbook": True, "start_from_tail": False}),
        ("with strides", BLUE, {}),
    ]
    for name, color, options in runs:
        run = ik.ccd(rope, start, [ik.Reach(6, target)], history=True, **options)
        assert run.history is not None
        panel.semilogy(run.history / 6, color=color, linewidth=1.5, alpha=0.8, label=name)
    return with_errors(figure, panel, "sweeps", 40)


def outside() -> Figure:
    """A rope to places behind a pillar, seen from above: through it, and clear of it."""
    rope, pillar, radius = ik.Skeleton.chain([[x, 0, 0] for x in range(9)]), (3.6, 0.5, 0.0), 0.9
    figure, panels = scenes("without", "with Outside", x=(-1.2, 6.6), y=(-2.2, 5.4))
    clear = [ik.Outside(joint, pillar, radius, end=(3.6, 0.5, 9.0)) for joint in range(1, 9)]
    for panel, goals in zip(panels, ([], clear), strict=True):
        arc(panel, pillar, radius, 0, 2 * np.pi, GREY)
        for target, shade in (((5.2, 3.6, 0.0), 1), ((3.4, 4.6, 0.0), 0.45)):
            found = ik.dls(rope, rope.rest, [ik.Reach(8, target), *goals])
            chain(panel, rope.forward(found.pose).positions, shade=shade)
            dot(panel, target, GREEN)
    return figure


def ewbik() -> Figure:
    """A torso and three pins, whose arms joints fit to those of the targets, a little at each sweep."""
    arms = [[x * side, y, 0.0] for side in (1, -1) for x, y in ((0.08, 0.15), (0.15, 0), (0.3, 0), (0.27, 0))]
    spine = [[0, 1.0, 0], [0, 0.15, 0], [0, 0.2, 0], [0, 0.22, 0], [0, 0.15, 0]]
    body = ik.Skeleton([-1, 0, 1, 2, 3, 2, 5, 6, 7, 2, 9, 10, 11], [*spine, *arms])
    turns = np.zeros((13, 3))
    turns[:, :2], turns[:, 2] = (0.1, 0.15), (0, -0.1, -0.2, -0.1, -0.2, 0.1, 0.9, 0.7, 0.6, 0, 0.4, 0.9, -0.7)
    wanted, pins = body.forward(ik.Pose(ik.rotations.exp(turns))), [4, 8, 12]
    goals = [ik.Reach(pin, wanted.positions[pin], wanted.rotations[pin], rotation_weight=0.01) for pin in pins]
    sweeps = {"textbook": True, "iterations": 8, "max_step": np.radians(5)}
    figure, panels = scenes("at rest", "8 sweeps of 5°", "solved", x=(-0.95, 0.95), y=(0.9, 2.1))
    for panel, options in zip(panels, ({"iterations": 0}, sweeps, {}), strict=True):
        now = body.forward(ik.ccd(body, body.rest, goals, **options).pose)
        for joint, parent in enumerate(body.parents[1:], 1):
            line(panel, now.positions[[parent, joint]], BLUE, marker="o", markersize=4)
        for world, color in ((now, ORANGE), (wanted, GREEN)):
            for pin in pins:
                for arm in ik.rotations.rotate(world.rotations[pin], 0.12 * np.eye(3)):
                    line(panel, world.positions[pin] + [-arm, arm], color, width=1.5)
    return figure


def jacobians() -> Figure:
    """Beyond reach, the last of many updates by two methods, and the largest turn in each; an error that creeps."""
    colors = {"transpose": GREY, "pinv": RED, "svf": ORANGE, "sdls": BLUE}
    rope = ik.Skeleton.chain([[0, y, 0] for y in range(5)])
    start, far = ik.Pose(np.tile(ik.rotations.exp([0, 0, -0.2]), (5, 1))), [2.9, 3.4, 0]
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    (swings, rests), (turns, errors) = figure.subplots(2, 2)
    for name, color in colors.items():
        pose, largest = start, []
        for update in range(60):
            found = ik.solve(rope, pose, [ik.Reach(4, far)], name, iterations=1, textbook=True)
            between = ik.rotations.multiply(ik.rotations.conjugate(pose.rotations), found.pose.rotations)
            largest.append(np.degrees(np.linalg.norm(ik.rotations.log(between), axis=-1).max()))
            pose = found.pose
            if update >= 50 and name in ("pinv", "sdls"):
                chain(swings if name == "pinv" else rests, rope.forward(pose).positions, color, 0.4)
        turns.semilogy(largest, color=color, linewidth=3 if name == "pinv" else 1.5, label=name)
        near = ik.solve(rope, start, [ik.Reach(4, [3.1, 2.5, 0])], name, iterations=60, history=True, textbook=True)
        assert near.history is not None
        errors.semilogy(near.history / 4, color=color, linewidth=1.5)
    for scene, title in ((swings, "pinv"), (rests, "sdls")):
        scene.set(xlim=(-0.4, 4), ylim=(-0.4, 4), aspect="equal", title=f"{title}, 51st to 60th")
        scene.axis("off")
        dot(scene, far, GREEN)
    turns.set(xlabel="update", ylabel="largest turn, degrees", title="beyond reach")
    errors.set(xlabel="iteration", ylabel="error, of the reach", title="near full reach")
    turns.legend(frameon=False, fontsize=7)
    for panel in (turns, errors):
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def at_work(name: str) -> Figure:
    """A chain after some iterations, and what goes wrong: see `AT_WORK`."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    works, fails = figure.subplots(1, 2)
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    start, target = ik.Pose(np.tile(ik.rotations.exp([0, 0, 0.08]), (9, 1))), [-1.3, 3.8, 0]
    for iterations, color, shade in [(0, GREY, 0.5), (1, BLUE, 0.2), (2, BLUE, 0.35), (4, BLUE, 0.55), (200, BLUE, 1)]:
        found = ik.solve(tail, start, [ik.Reach(8, target)], name, iterations=iterations)
        chain(works, tail.forward(found.pose).positions, color, shade)
    dot(works, target, GREEN)
    works.set(aspect="equal", xmargin=0.1, ymargin=0.1, title=f"{name}, after 0, 1, 2, 4 and all")
    works.axis("off")
    AT_WORK[name](fails)
    fails.spines[["top", "right"]].set_visible(False)
    return figure


def errors_of(panel: Axes, target: ArrayLike, variants: dict[str, tuple[str, dict[str, Any]]], **limits: Any) -> None:
    """The error of a chain of ten by iterations, for a method and options in each color."""
    rope = ik.Skeleton(range(-1, 10), [[0, 0, 0], *[[0, 1, 0]] * 10], **limits)
    bent = ik.Pose(np.tile(ik.rotations.exp([0, 0, -0.05]), (11, 1)))
    for color, (label, options) in variants.items():
        found = ik.solve(rope, bent, [ik.Reach(10, target)], iterations=60, history=True, tolerance=1e-6, **options)
        assert found.history is not None
        panel.semilogy(found.history / 10, color=color, linewidth=1.5, label=label)
    panel.set(xlabel="iteration", ylabel="error, of the reach", ylim=(1e-7, 1))
    panel.legend(frameon=False, fontsize=7)


def turns_of(panel: Axes, variants: dict[str, tuple[str, dict[str, Any]]]) -> None:
    """The largest turn in each update, as published, of a chain of four that cannot reach its target."""
    rope = ik.Skeleton.chain([[0, y, 0] for y in range(5)])
    for color, (label, options) in variants.items():
        pose, largest = ik.Pose(np.tile(ik.rotations.exp([0, 0, -0.2]), (5, 1))), []
        for _ in range(60):
            found = ik.solve(rope, pose, [ik.Reach(4, [2.9, 3.4, 0])], iterations=1, textbook=True, **options)
            between = ik.rotations.multiply(ik.rotations.conjugate(pose.rotations), found.pose.rotations)
            largest.append(np.degrees(np.linalg.norm(ik.rotations.log(between), axis=-1).max()))
            pose = found.pose
        panel.semilogy(largest, color=color, linewidth=1.5, label=label)
    panel.set(xlabel="update", ylabel="largest turn, degrees", title="out of reach")
    panel.legend(frameon=False, fontsize=7)


NEAR = [6.5, 7.5, 0]  # full reach
HELD = [ik.Limit.hinge([0, 0, 1], -np.pi / 10, np.pi / 10)] * 10 + [None]


def by_method(**colors: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Methods as they are."""
    return {color: (name, {"method": name}) for name, color in colors.items()}


# A weakness of each.
AT_WORK: dict[str, Callable[[Axes], None]] = {
    "transpose": lambda panel: errors_of(panel, NEAR, by_method(transpose=RED, dls=BLUE)),
    "pinv": lambda panel: turns_of(panel, by_method(pinv=RED, sdls=BLUE)),
    "svf": lambda panel: turns_of(panel, by_method(svf=RED, sdls=BLUE)),
    "sdls": lambda panel: errors_of(panel, NEAR, by_method(sdls=RED, dls=BLUE)),
    "dls": lambda panel: turns_of(
        panel,
        {
            color: (f"damping={damping}", {"method": "dls", "damping": damping})
            for color, damping in ((RED, 0.02), (ORANGE, 0.2), (BLUE, 1.0))
        },
    ),
    "sns": lambda panel: errors_of(panel, [-7.7, 4.4, 0], by_method(sns=RED, dls=BLUE), limits=HELD),
    "gauss_seidel": lambda panel: errors_of(
        panel,
        NEAR,
        {
            color: (f"sweeps={sweeps}", {"method": "gauss_seidel", "sweeps": sweeps})
            for color, sweeps in ((RED, 20), (ORANGE, 100), (BLUE, 500))
        },
    ),
}


HINGE = ik.Limit.hinge([0, 0, 1], -1.5, 1.5)
TAIL = ik.Skeleton(range(-1, 6), [[0, 0, 0], *[[1, 0, 0]] * 6], limits=[HINGE] * 6 + [None])


def tails(count: int = 2000) -> ik.Pose:
    """Poses of a tail that moves most at its tip."""
    angles = np.random.default_rng(1).normal(size=(count, 7)) * [*np.linspace(0.1, 0.5, 6), 0]
    return ik.Pose(ik.rotations.from_axis_angle([0, 0, 1], angles))


def postures() -> Figure:
    """A target from rest, from the nearest of known poses, and with joints as willing as in these."""
    titles = ["from rest", "from the nearest", "as willing, too"]
    figure, panels = scenes(*titles, x=(-0.5, 6.5), y=(-0.5, 4.2))
    target = [4, 3, 0]
    near = ik.learned.Postures(TAIL, tails(), [ik.Reach(6, position=...)]).nearest(TAIL.rest, target)[0]
    ways = [(TAIL, TAIL.rest), (TAIL, near), (ik.learned.fit_skeleton(TAIL, tails()), near)]
    for panel, (skeleton, start) in zip(panels, ways, strict=True):
        chain(panel, TAIL.forward(TAIL.rest).positions, GREY, 0.5)
        chain(panel, TAIL.forward(start).positions, BLUE, 0.35)
        found = ik.dls(skeleton, start, [ik.Reach(6, target)])
        chain(panel, TAIL.forward(found.pose).positions, BLUE)
        dot(panel, target, GREEN)
    return figure


def rbf() -> Figure:
    """A target that moves on a line: the nearest of 20 examples, and the pose between them."""
    figure, panels = scenes("the nearest of 20", "between 20 (rbf)", x=(-0.5, 6.5), y=(-2.9, 2.9))
    goal, shades = ik.Reach(6, position=...), np.linspace(0.2, 1, 7)
    targets = np.linspace([5, -2.4, 0], [5, 2.4, 0], 7)
    made = ik.learned.RbfPoses(TAIL, tails(), [goal], 20)
    examples = ik.Pose(tails().rotations[made.examples])
    nearest = ik.learned.Postures(TAIL, examples, [goal]).nearest(TAIL.rest, targets)[0]
    for panel, poses in zip(panels, (nearest, made.pose(TAIL.rest, targets)), strict=True):
        for positions, target, shade in zip(TAIL.forward(poses).positions, targets, shades, strict=True):
            chain(panel, positions, BLUE, shade)
            dot(panel, target, GREEN)
    return figure


def motion_matching() -> Figure:
    """The speed that is asked for, dotted, and that of the clip that is played, at two prices of a jump."""
    speeds, fps, step = (0.6, 1.0, 1.4, 1.8), 30, 0.2
    clips = [ik.samples.walk(4, speed=speed, fps=fps).clip for speed in speeds]
    time = np.arange(0, 8, 1 / fps)
    asked = 1.2 + 0.6 * np.sin(2 * np.pi * time / 8)
    figure, panel = plot("seconds", "metres a second")
    panel.plot(time, asked, color=GREY, linewidth=1.5, linestyle=":")
    for price, color in ((0.0, ORANGE), (12.0, BLUE)):
        options: dict[str, Any] = {"times": [step, 2 * step], "weights": {"path": 5}, "transition": price}
        library = ik.learned.MotionMatching(clips, ["LeftFoot", "RightFoot"], **options)
        row, played = 40, []
        for speed in asked:
            row = int(library.search(library.next(row), [[0, speed * step], [0, 2 * speed * step]], [0, 0])[0])
            played.append(speeds[library.clip[row]])
        panel.plot(time, played, color=color, linewidth=2)
        panel.plot([], [], color=color, label=f"transition={price:g}")
    panel.legend(frameon=False)
    return figure


def broyden() -> Figure:
    """The error by iteration, with a Jacobian computed for each, for every fifth, and for the first alone."""
    arm = ik.Skeleton.chain([[x, 0, 0] for x in range(7)])
    figure, panel = plot("iterations", "distance from the target")
    counts, goals = range(0, 41, 2), [ik.Reach(6, [-1, 2, 1])]
    for refresh, color in ((1, GREEN), (5, BLUE), (None, ORANGE)):
        options: dict[str, Any] = {"refresh": refresh, "tolerance": 1e-8}
        errors = [float(ik.solvers.broyden(arm, arm.rest, goals, iterations=n, **options).error) for n in counts]
        panel.semilogy(counts, np.maximum(errors, 1e-9), color=color, linewidth=2, label=f"refresh={refresh}")
    panel.legend(frameon=False)
    return figure


def particles() -> Figure:
    """How near the best of so many particles is after so many iterations, in the median of 20 targets."""
    turned = np.stack([HINGE.sample(20, seed=joint) for joint in range(6)] + [np.tile([1.0, 0, 0, 0], (20, 1))], axis=1)
    goals = [ik.Reach(6, TAIL.forward(ik.Pose(turned)).positions[:, 6])]
    figure, panel = plot("iterations", "distance / reach")
    counts = (5, 10, 20, 40, 80)
    for count, color in ((10, ORANGE), (50, BLUE), (250, GREEN)):
        found = [ik.solvers.particles(TAIL, TAIL.rest, goals, count=count, iterations=n).error / 6 for n in counts]
        panel.loglog(counts, [np.median(error) for error in found], color=color, linewidth=2, label=f"count={count}")
    panel.set_xticks(counts, [str(n) for n in counts])
    panel.minorticks_off()
    panel.legend(frameon=False)
    return figure


def density() -> Figure:
    """The solution of dls from rest, and the likeliest pose that reaches the same; some known poses are pale."""
    figure, panels = scenes("dls", "the likeliest", x=(-0.5, 6.5), y=(-2.2, 3.4))
    target = [4, 3, 0]
    made = ik.learned.PoseDensity(TAIL, tails(), directions=6)
    goals = [ik.Reach(6, target)]
    for panel, found in zip(panels, (ik.dls(TAIL, TAIL.rest, goals), made.solve(TAIL.rest, goals)), strict=True):
        for positions in TAIL.forward(tails(12)).positions:
            line(panel, positions, GREY, width=1.5, shade=0.4)
        chain(panel, TAIL.forward(found.pose).positions)
        dot(panel, target, GREEN)
    return figure


def bounds() -> Figure:
    """Hinges at their bounds, from which the others take over; and an error that creeps near full reach."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    held, errors = figure.subplots(1, 2)
    hinge = ik.Limit.hinge([0, 0, 1], -np.pi / 6, np.pi / 6)
    tail = ik.Skeleton(range(-1, 8), [[0, 0, 0], *[[1, 0, 0]] * 8], limits=[hinge] * 8 + [None])
    target = [-1.0, 4.0, 0]
    pose = ik.solvers.sns(tail, tail.rest, [ik.Reach(8, target)]).pose
    joints, turned = tail.forward(pose).positions, np.linalg.norm(ik.rotations.log(pose.rotations), axis=-1)
    chain(held, joints, BLUE)
    for joint in np.flatnonzero(turned > np.pi / 6 - 1e-6):
        dot(held, joints[joint], RED)
    dot(held, target, GREEN)
    held.set(aspect="equal", title="sns, some at their bounds", xmargin=0.1, ymargin=0.1)
    held.axis("off")
    rope = ik.Skeleton.chain([[0, y, 0] for y in range(11)])
    bent = ik.Pose(np.tile(ik.rotations.exp([0, 0, -0.05]), (11, 1)))
    for name, color in {"gauss_seidel": RED, "sns": BLUE, "dls": ORANGE}.items():
        near = ik.solve(rope, bent, [ik.Reach(10, [6.5, 7.5, 0])], name, iterations=60, history=True)
        assert near.history is not None
        errors.semilogy(near.history / 10, color=color, linewidth=1.5, label=name)
    errors.set(xlabel="iteration", ylabel="error, of the reach", title="near full reach")
    errors.spines[["top", "right"]].set_visible(False)
    errors.legend(frameon=False, fontsize=7)
    return figure


def newton() -> Figure:
    """Two tips drawn apart, how far their squared error is from its least, and a chain in line with its target."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    drawn, errors, stays = figure.subplots(1, 3)
    fork = ik.Skeleton([-1, 0, 1, 2, 1, 4], [[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]])
    wanted = np.array([[1, 3, 1.0], [2, -3, -1]])
    apart = [ik.Reach(3, wanted[0]), ik.Reach(5, wanted[1])]

    def squared(method: str, iterations: int) -> tuple[NDArray[Any], float]:
        pose = ik.solve(fork, fork.rest, apart, method, iterations=iterations, textbook=True).pose
        joints = fork.forward(pose).positions
        return joints, float(np.square(joints[[3, 5]] - wanted).sum())

    joints, least = squared("newton", 100)
    for joint, parent in enumerate(fork.parents[1:], 1):
        line(drawn, joints[[parent, joint]], BLUE, marker="o", markersize=4)
    for target in wanted:
        dot(drawn, target, GREEN)
    drawn.set(aspect="equal", title="goals in conflict", xmargin=0.1, ymargin=0.1)
    drawn.axis("off")
    for name, color in {"dls": ORANGE, "newton": BLUE}.items():
        left = [max(squared(name, n)[1] - least, 1e-12) for n in range(31)]
        errors.semilogy(left, color=color, linewidth=1.5, label=name)
    errors.set(xlabel="iteration", ylabel="squared error", title="above the least")
    errors.spines[["top", "right"]].set_visible(False)
    errors.legend(frameon=False, fontsize=7)
    in_line(stays, ik.solvers.newton)
    return figure


def lbfgsb() -> Figure:
    """An error that falls, hinges at their bounds, and a chain in line with its target, which stays as published."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    errors, bounds, stays = figure.subplots(1, 3)
    rope = ik.Skeleton.chain([[0, y, 0] for y in range(5)])
    start = ik.Pose(np.tile(ik.rotations.exp([0, 0, -0.2]), (5, 1)))
    for name, color in {"transpose": GREY, "lbfgsb": BLUE, "dls": ORANGE}.items():
        near = ik.solve(rope, start, [ik.Reach(4, [3.1, 2.5, 0])], name, iterations=60, history=True, textbook=True)
        assert near.history is not None
        errors.semilogy(near.history / 4, color=color, linewidth=1.5, label=name)
    errors.set(xlabel="iteration", ylabel="error, of the reach", title="near full reach")
    errors.spines[["top", "right"]].set_visible(False)
    errors.legend(frameon=False, fontsize=7)
    hinge = ik.Limit.hinge([0, 0, 1], -np.pi / 4, np.pi / 4)
    tail = ik.Skeleton(range(-1, 8), [[0, 0, 0], *[[1, 0, 0]] * 8], limits=[hinge] * 8 + [None])
    pose = ik.solvers.lbfgsb(tail, tail.rest, [ik.Reach(8, [-5, 0, 0])]).pose
    joints, turned = tail.forward(pose).positions, np.linalg.norm(ik.rotations.log(pose.rotations), axis=-1)
    chain(bounds, joints, BLUE)
    for joint in np.flatnonzero(turned > np.pi / 4 - 1e-6):
        dot(bounds, joints[joint], RED)
    dot(bounds, [-5, 0, 0], GREEN)
    bounds.set(aspect="equal", title="at their bounds", xmargin=0.1, ymargin=0.1)
    bounds.axis("off")
    in_line(stays, ik.solvers.lbfgsb)
    return figure


def in_line(scene: Axes, method: Callable[..., ik.Solution]) -> None:
    """A straight chain in line with its target: as published it stays as it is, red; it is bent first, blue."""
    straight = ik.Skeleton.chain([[x, 0, 0] for x in range(5)])
    for textbook, color in ((True, RED), (False, BLUE)):
        found = method(straight, straight.rest, [ik.Reach(4, [2, 0, 0])], textbook=textbook)
        chain(scene, straight.forward(found.pose).positions, color, 0.6 if textbook else 1)
    dot(scene, [2, 0, 0], GREEN)
    scene.set(aspect="equal", title="in line", xmargin=0.1, ymargin=0.1)
    scene.axis("off")


def which() -> Figure:
    """The same rope by each method, for a near and a farther target."""
    names = ["dls", "fabrik", "follow", "circle", "ccd"]
    rope = ik.Skeleton.chain([[x, 0, 0] for x in range(11)])
    start = ik.Pose(np.tile(ik.rotations.exp([0, 0, 0.06]), (11, 1)))
    targets = [2.5 * direction(1.9), 6.5 * direction(1.2)]
    figure, panels = scenes(*names, x=(-3.5, 10), y=(-1.5, 7.5))
    for panel, name in zip(panels, names, strict=True):
        line(panel, rope.forward(start).positions, GREY, shade=0.4, width=2)
        for target, shade in zip(targets, (1, 0.45), strict=True):
            found = ik.solve(rope, start, [ik.Reach(10, target)], name)
            joints = rope.forward(found.pose).positions
            line(panel, joints, BLUE, shade=shade, width=2, marker="o", markersize=2.5)
            dot(panel, target, GREEN)
    return figure


def shapes() -> Figure:
    """A long tail and one target by six methods: bent evenly, folded, with a corner."""
    names = ["dls", "sdls", "circle", "fabrik", "follow", "spring"]
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(21)])
    start, target = ik.Pose(np.tile(ik.rotations.exp([0, 0, 0.02]), (21, 1))), 9 * direction(1.4)
    figure, panels = scenes(*names, x=(-2, 9.5), y=(-2, 11))
    for panel, name in zip(panels, names, strict=True):
        found = ik.solve(tail, start, [ik.Reach(20, target)], name, iterations=2000)
        line(panel, tail.forward(found.pose).positions, BLUE, width=1.5, marker="o", markersize=1.5)
        dot(panel, target, GREEN)
    return figure


def walk() -> Figure:
    """The left leg over two steps, and when the points of its foot are planted."""
    steps = ik.samples.walk(2.2, fps=60)
    clip, figure = steps.clip, Figure(figsize=(WIDTH, 3.2), layout="constrained")
    scene, bars = figure.subplots(2, 1, height_ratios=(3, 1))
    joints = [clip.skeleton.index(f"Left{joint}") for joint in ("UpLeg", "Leg", "Foot", "ToeBase", "ToeBase_end")]
    paths = clip.skeleton.forward(clip.pose).positions[:, joints]
    for frame in range(0, len(clip), 4):
        standing = steps.planted("LeftHeel")[frame] or steps.planted("LeftBall")[frame]
        line(scene, paths[frame], BLUE if standing else GREY, width=1.2, view=PROFILE)
    for plant in steps.plants:
        if plant.point in ("LeftHeel", "LeftBall"):
            scene.plot(*(PROFILE @ plant.position), "o", color=GREEN, markersize=4)
            bars.barh(plant.point[4:], plant.end - plant.start, left=plant.start, height=0.5, color=GREEN)
    scene.axhline(0, color=GREY, linewidth=0.8)
    scene.set_aspect("equal")
    scene.set_axis_off()
    bars.set(xlim=(0, clip.duration), xlabel="seconds")
    bars.spines[["top", "right"]].set_visible(False)
    return figure


def smooth() -> Figure:
    """A step that is followed sooner and later; and within bounds, pinned at the ends."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    free, bounded = figure.subplots(1, 2, sharey=True)
    seconds = np.arange(121) / 60
    wanted = np.where((seconds > 0.6) & (seconds < 1.4), 1.0, 0.0)
    lower, upper = np.full(121, -np.inf), np.where(seconds > 1, 0.5, np.inf)
    for end in (0, -1):
        lower[end] = upper[end] = 0.25
    for panel in (free, bounded):
        panel.plot(seconds, wanted, ":", color=GREY, linewidth=1.5)
        panel.set(xlabel="seconds", ylim=(-0.2, 1.25))
        panel.spines[["top", "right"]].set_visible(False)
    for time, color in ((0.05, BLUE), (0.2, ORANGE)):
        free.plot(seconds, ik.smooth(wanted, fps=60, pull=1 / time**4).values, color=color, linewidth=1.5)
    within = ik.smooth(wanted, fps=60, pull=1 / 0.2**4, lower=lower, upper=upper).values
    bounded.plot(seconds[:-1], upper[:-1], color=RED, linewidth=1.5)
    bounded.plot(seconds[[0, -1]], within[[0, -1]], "o", color=RED, markersize=5.5)
    bounded.plot(seconds, within, color=ORANGE, linewidth=1.5)
    free.set(title="pull of 1 / 0.05\u2074 and 1 / 0.2\u2074")
    bounded.set(title="bound, and pinned")
    return figure


def report() -> str:
    """The path of the left foot, from a page about a walk that slides, and sinks after two seconds."""
    clip = ik.samples.walk(seconds=4).clip
    moved = np.array(clip.pose.translations)
    moved[:, 0, 2] *= 1.03
    moved[120:, 0, 1] -= 0.015
    left = ik.Feet((ik.Feet.detect(clip.skeleton)["left"],))
    before = ik.feet.measure(clip, left)
    after = ik.feet.measure(ik.Clip(clip.skeleton, ik.Pose(clip.pose.rotations, moved), clip.fps), source=before)
    strokes = {"heel": BLUE, "ball": ORANGE, "toe": GREEN, "before": GREY, "sunk": RED, "grid": "none"}
    lines = " ".join(f"path.{name} {{ stroke: {color} }}" for name, color in strokes.items())
    style = f"path {{ fill: none; stroke-width: 1.6 }} {lines} path.earth {{ fill: {GREY}; opacity: 0.3 }}"
    style += f" path.before {{ stroke-dasharray: 4 3 }} path.sunk {{ stroke-width: 3 }} text {{ fill: {GREY} }}"
    style += " text { font: 11px sans-serif } text.middle { text-anchor: middle } text.end { text-anchor: end }"
    head, rest = ik.report.side(after, before).split("\n", 1)
    return f"{head}\n<style>{style}</style>\n{rest}\n"


def drift() -> Figure:
    """The ball of a foot in one stance, of the walk and of the same on a path that is 1 % too short."""
    steps = ik.samples.walk(2.2, fps=60)
    clip, figure = steps.clip, Figure(figsize=(WIDTH, 2.2), layout="constrained")
    plant = next(plant for plant in steps.plants if plant.point == "LeftBall" and plant.start > 0)
    ball = clip.skeleton.forward(clip.pose).positions[:, clip.skeleton.index("LeftToeBase"), 2]
    seconds, axes = np.arange(len(clip)) / clip.fps, figure.subplots()
    cut = 0.1 * (plant.end - plant.start) + 1 / 30
    axes.axvspan(plant.start, plant.end, color=GREEN, alpha=0.15, linewidth=0)
    axes.axvspan(plant.start + cut, plant.end - cut, color=GREEN, alpha=0.2, linewidth=0)
    for way, color, name in (
        (0 * seconds, BLUE, "clean"),
        (0.013 * (plant.start + cut - seconds), RED, "1 % too slow"),
    ):
        axes.plot(seconds, 1000 * (ball + way - plant.position[2]), color=color, linewidth=1.5, label=name)
    axes.set(xlim=(plant.start - 0.1, plant.end + 0.1), ylim=(-8, 8), xlabel="seconds", ylabel="mm along z")
    axes.legend(frameon=False, loc="lower center")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def bake() -> Figure:
    """The right leg of a walk that knows nothing of stairs, and what becomes of it on them."""
    source, baked = demo.walk(), on_stairs()
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    for panel, title, clip in zip(figure.subplots(2, 1), ("before", "after"), (source, baked.clip), strict=True):
        joints = [clip.skeleton.index(f"Right{joint}") for joint in ("UpLeg", "Leg", "Foot", "ToeBase", "ToeBase_end")]
        legs = clip.skeleton.forward(clip.pose).positions[:, joints]
        stands = baked.contacts.planted("right")
        step_profile(panel)
        for frame in range(90, 400, 8):
            line(panel, legs[frame], BLUE if stands[frame] else GREY, width=1.2, view=PROFILE)
        panel.set(title=title, xlim=(0.6, 5.2), ylim=(-0.1, 2.4), aspect="equal")
        panel.axis("off")
    return figure


def front() -> Figure:
    """The picture of the first page: the same walk before and after, the whole body, from its side."""
    source, baked = demo.walk(), on_stairs()
    figure = Figure(figsize=(1.6 * WIDTH, 2.3), layout="constrained")
    titles = ("a walk on level ground", "put on stairs by one call")
    for panel, title, clip in zip(figure.subplots(1, 2), titles, (source, baked.clip), strict=True):
        joints = clip.skeleton.forward(clip.pose).positions
        step_profile(panel)
        for frame in range(100, 400, 42):
            for joint, parent in enumerate(clip.skeleton.parents):
                if parent >= 0:
                    left = clip.skeleton.names[joint].startswith("Left")
                    color, shade = (ORANGE, 0.55) if left else (BLUE, 1)
                    line(panel, joints[frame, [parent, joint]], color, width=2, shade=shade, view=PROFILE)
        panel.set(title=title, xlim=(0.5, 5.0), ylim=(-0.1, 3.2), aspect="equal")
        panel.axis("off")
    return figure


def foot_placer() -> Figure:
    """Toes and pelvis of a walk that meets a step of 0.2 m, with and without the placer."""
    walk = ik.samples.walk(seconds=3).clip
    points = ik.feet.leg_points(walk.skeleton, walk.pose, ik.Feet.detect(walk.skeleton).with_soles(walk))
    box = [[x, 0.2, z] for x in (-1, 1) for z in (1.3, 9)]
    ground = ik.Ground.plane() + ik.Ground.mesh(box, [[0, 1, 3], [0, 3, 2]])
    placer = ik.FootPlacer()
    placed = [placer.step(now[np.newaxis], 1 / walk.fps, ground=ground) for now in points]
    figure, (panel,) = scenes("", x=(0, 3.5), y=(-0.02, 1.2))
    panel.plot([0, 1.3, 1.3, 3.5], [0, 0, 0.2, 0.2], color=GREY, linewidth=1)
    for leg_number, color in enumerate((BLUE, ORANGE)):
        toes = np.array([frame.toes[0, leg_number] for frame in placed])
        panel.plot(points[:, leg_number, 3, 2], points[:, leg_number, 3, 1], ":", color=color, linewidth=1)
        panel.plot(toes[:, 2], toes[:, 1], color=color, linewidth=2)
    hips = np.array([frame.hips[0].mean(axis=0) for frame in placed])
    panel.plot(points[:, :, 0, 2].mean(axis=1), points[:, :, 0, 1].mean(axis=1), ":", color=GREEN, linewidth=1)
    panel.plot(hips[:, 2], hips[:, 1], color=GREEN, linewidth=2)
    return figure


def bake_over_time() -> Figure:
    """The pelvis and the balls of the same walk, and their contacts."""
    source, baked = demo.walk(), on_stairs()
    figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
    heights, bars = figure.subplots(2, 1, height_ratios=(5, 1), sharex=True)
    seconds = np.arange(len(source)) / source.fps
    for clip, style in ((source, ":"), (baked.clip, "-")):
        hips = clip.skeleton.forward(clip.pose).positions[:, 0, 1]
        heights.plot(seconds, hips, style, color=GREY, linewidth=1.5)
    heights.annotate("pelvis", (1.2, 1.02), color=GREY)
    feet = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)
    for row, (leg, color) in enumerate((("left", BLUE), ("right", ORANGE))):
        heights.plot(seconds, feet[leg, "ball"][:, 1], color=color, linewidth=1.5)
        for start, stop in baked.contacts.intervals(leg, "ball") / source.fps:
            bars.barh(row, stop - start, left=start, height=0.6, color=color)
    heights.set(ylabel="metres")
    bars.set(yticks=(0, 1), yticklabels=("left ball", "right ball"), xlabel="seconds")
    for panel in (heights, bars):
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def clearance() -> Figure:
    """The way of a ball over steps, for two clearances."""
    figure, (panel,) = scenes("", x=(1.5, 3.1), y=(0, 0.95))
    step_profile(panel)
    for settings, color in ((ik.BakeSettings(), BLUE), (ik.BakeSettings(clearance=0.1), ORANGE)):
        baked = ik.bake_feet(demo.walk(), demo.stairs(), settings=settings)
        ball = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)["left", "ball"]
        line(panel, ball, color, width=1.5, view=PROFILE)
        label(panel, (0, 0.8, 1.55), f"clearance {settings.clearance:g}", (0, -14 * (color == ORANGE)), color, PROFILE)
    return figure


def strides() -> Figure:
    """Footfalls of a walk on stairs that do not match its strides, and with fitted strides."""
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    walk = ik.samples.walk(8, speed=0.8, step=0.45).clip
    for panel, share in zip(figure.subplots(2, 1), (0.0, 0.4), strict=True):
        contacts = ik.Contacts.detect(walk)
        fitted = ik.prepare.fit_strides(walk, contacts, demo.stairs(), share=share)
        settings = ik.BakeSettings(unlock=0.2 + fitted.drag)
        baked = ik.bake_feet(fitted.clip, demo.stairs(), contacts=contacts, settings=settings)
        step_profile(panel)
        hips = baked.clip.skeleton.forward(baked.clip.pose).positions[:, 0]
        line(panel, hips, GREY, width=1.5, view=PROFILE)
        feet = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)
        for leg, color in (("left", BLUE), ("right", ORANGE)):
            for start, stop in baked.contacts.intervals(leg):
                frame = (start + stop) // 2
                line(
                    panel, [feet[leg, point][frame] for point in ("heel", "ball", "toe")], color, width=3, view=PROFILE
                )
        panel.set(title=f"stride {share:g}", xlim=(0.6, 5.2), ylim=(-0.1, 2.6), aspect="equal")
        panel.axis("off")
    return figure


@functools.cache
def on_stairs() -> ik.Baked:
    """The walk of ``ikcore demo``."""
    return ik.bake_feet(demo.walk(), demo.stairs())


def step_profile(panel: Axes) -> None:
    """The stairs that it walks on, from their side."""
    along = np.linspace(-1, 6, 1401)
    points = np.stack([0 * along, 0 * along, along], axis=-1)
    heights = demo.stairs().at(points, above=3, below=1).height
    panel.fill_between(along, heights, -1, color=GREY, alpha=0.25, linewidth=0)


def limits() -> Figure:
    """The examples of the page: where the axis may point, and how far it may twist."""
    shown = {
        "hinge": ik.Limit.hinge([1, 0, 0], -0.5, 1.5),
        "cone": ik.Limit.cone([0, 0, 1], 0.6, twist=(-1, 1)),
        "ball": ik.limits.human_leg("left")["hip"],
        "Euler box": ik.Limit.euler("xyz", [-0.5, -0.6, -0.8], [0.9, 0.4, 1.2]),
        "kusudama": ik.Limit.kusudama(
            [0, 0, 1], [([0, -1, 0.3], 0.5), ([1, 0, 0.7], 0.2), ([0, 1, 1], 0.3)], twist=(-1, 1)
        ),
    }
    figure = Figure(figsize=(WIDTH, 1.5 * WIDTH), layout="constrained")
    for place, (name, limit) in enumerate(shown.items(), 1):
        limit.draw(figure.add_subplot(3, 2, place, projection="3d", title=name))
    return figure


def ground() -> Figure:
    """The example of the page, from its side."""
    side = np.array([[0, 0, 1], [0, 1, 0]])  # z to the right
    figure, (panel,) = scenes("", x=(-0.4, 2.6), y=(-0.2, 2.6))
    stairs = ik.terrain.stairs(5, rise=0.2, run=0.3)
    gallery = ik.Ground.heights(np.full((2, 2), 1.5), spacing=2.5, origin=[-1, 0, 0])
    profile = [(0, 0, -0.4), *((0, 0.2 * level, 0.3 * step) for step in range(5) for level in (step, step + 1))]
    line(panel, [*profile, (0, 1, 2.5)], GREY, view=side)
    line(panel, [(0, 1.5, 0), (0, 1.5, 2.5)], GREY, view=side)
    window = np.array([0, 0.3, 0])
    feet = np.array([[0, 0.15, 0.4], [0, 0.7, 0.8], [0, 1.15, 1.8], [0, 1.4, 2.2], [0, 2.2, 2.2]])
    found = (ik.Ground.plane() + stairs + gallery).at(feet, above=0.3, below=0.3)
    for foot, point, hit in zip(feet, found.points, found.hit, strict=True):
        line(panel, [np.subtract(foot, window), np.add(foot, window)], BLUE, width=1.5, view=side)
        panel.plot(*(side @ foot), "o", color=BLUE, markersize=5.5)
        if hit:
            panel.plot(*(side @ point), "o", color=GREEN, markersize=7)
    return figure


# The leg


def leg(target: ArrayLike, **options: Any) -> ik.closed_forms.LimbSolution:
    """Solve it."""
    return ik.two_bone(HIP, KNEE, ANKLE, target, **options)


def direction(angle: ArrayLike) -> NDArray[Any]:
    """Seen from the side, counter-clockwise from forward."""
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(np.shape(angle))], axis=-1)


def bends(positions: NDArray[Any]) -> NDArray[Any]:
    """Angles between the bones, radians."""
    bone1, bone2 = positions[..., 1, :] - positions[..., 0, :], positions[..., 2, :] - positions[..., 1, :]
    across = np.linalg.norm(np.cross(bone1, bone2), axis=-1)
    angles: NDArray[Any] = np.arctan2(across, np.vecdot(bone1, bone2))
    return angles


# The pencil


def scenes(*titles: str, x: tuple[float, float], y: tuple[float, float]) -> tuple[Figure, Iterable[Axes]]:
    """Panels side by side that show space to scale."""
    scene = min(2.4, WIDTH / len(titles) * (y[1] - y[0]) / (x[1] - x[0]))
    above = 0.16 * max(text.count("\n") + 2 for text in titles) if any(titles) else 0
    figure = Figure(figsize=(WIDTH, scene + above), layout="constrained")
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    for panel, title in zip(panels, titles, strict=True):
        panel.set(title=title, xlim=x, ylim=y, aspect="equal")
        panel.axis("off")
    return figure, panels


def plot(x: str, y: str) -> tuple[Figure, Axes]:
    """A panel with axes."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    panel = figure.subplots()
    panel.set(xlabel=x, ylabel=y)
    panel.spines[["top", "right"]].set_visible(False)
    return figure, panel


def before_after(
    panel: Axes, limb: ik.closed_forms.LimbSolution, target: ArrayLike, before: Any = (HIP, KNEE, ANKLE)
) -> None:
    """The pose that came in, pale, and the solution; the target red where it is missed."""
    chain(panel, before, GREY, 0.5)
    chain(panel, limb.positions)
    dot(panel, target, GREEN if limb.status == 0 else RED)


def chain(panel: Axes, joints: Any, color: str = BLUE, shade: float = 1, view: NDArray[Any] = SIDE) -> None:
    """Bones and joints."""
    line(panel, joints, color, shade=shade, view=view, marker="o", markersize=5.5)


def line(
    panel: Axes,
    points: Any,
    color: str,
    *,
    width: float = 3,
    style: str = "-",
    shade: float = 1,
    view: NDArray[Any] = SIDE,
    **options: Any,
) -> None:
    """From point to point."""
    x, y = view @ np.array([np.asarray(point, float) for point in points]).T
    panel.plot(x, y, color=color, linewidth=width, linestyle=style, alpha=shade, **options)


def arc(panel: Axes, centre: ArrayLike, radius: float, start: float, turn: float, color: str) -> None:
    """An angle, counter-clockwise from `start`."""
    around = direction(start + turn * np.linspace(0, 1, 40))
    line(panel, np.add(centre, radius * around), color, width=1.5)


def dot(panel: Axes, point: ArrayLike, color: str, marker: str = "o") -> None:
    """A target or, as a diamond, a pole."""
    panel.plot(*(SIDE @ np.asarray(point)), marker, color=color, markersize=7 if marker == "o" else 6, zorder=3)


def arrow(panel: Axes, start: ArrayLike, way: ArrayLike, color: str, shade: float = 1) -> None:
    """From `start` so far and that way."""
    tail, head = SIDE @ np.asarray(start), SIDE @ np.add(start, way)
    style = {"arrowstyle": "-|>", "color": color, "alpha": shade, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    panel.annotate("", tuple(head), tuple(tail), arrowprops=style)


def label(
    panel: Axes, point: ArrayLike, text: str, points: tuple[float, float], color: str = GREY, view: NDArray[Any] = SIDE
) -> None:
    """Text beside a point."""
    x, y = view @ np.asarray(point)
    panel.annotate(text, (x, y), points, textcoords="offset points", color=color)
