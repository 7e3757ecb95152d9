"""The command line: ``ikcore bake``, ``ikcore metrics``, ``ikcore demo``, ``ikcore --version``."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import inspect
import math
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

import ikcore
from ikcore import _start
from ikcore.bake import BakeSettings
from ikcore.bake.settings import PRESETS
from ikcore.command import bake_command, commands, demo, many, metrics_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. 0 is success, 1 failure, 2 wrong usage, 130 interrupted."""
    _start.done()
    options = _parser().parse_args(arguments)
    try:
        with _signals_as_exceptions():
            status: int | None = options.run(options)
            print(end="", flush=True)
    except BrokenPipeError:  # the reader of the output has closed it
        _say_no_more()
        return 1
    except commands.CommandError as error:
        commands.say(f"ikcore: {error}", sys.stderr)
        return error.status
    except OSError as error:
        if error.filename is None:
            _say_no_more()
            if os.name == "nt" and error.errno == errno.EINVAL:  # the error of a broken pipe on Windows
                return 1
        commands.say(f"ikcore: cannot write {error.filename or 'the output'}: {error.strerror}", sys.stderr)
        return 1
    except MemoryError:
        print("ikcore: not enough memory: ask for fewer items", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ikcore: interrupted", file=sys.stderr)
        return 130
    return status or 0


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """Turn signals that end the process into an exception, so that no work is left half done."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    here = threading.current_thread() is threading.main_thread()
    taken = [number for number in many.ENDING_SIGNALS if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _say_no_more() -> None:
    """Discard output that cannot be written, so that the process does not try again when it ends."""
    with suppress(OSError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(commands.printable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="ikcore", description="Inverse kinematics for characters and chains.")
    parser.add_argument("--version", action="version", version=f"ikcore {ikcore.__version__} on {ikcore.solvers.isa()}")
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    _add_metrics(subcommands)
    _add_bake(subcommands)

    help = "put the feet of a walk on stairs, print the speed, write a page of pictures"
    command = subcommands.add_parser("demo", help=help)
    command.add_argument(
        "-o", "--output", type=_path, default="demo", metavar="DIR", help="the folder to write (default: demo)"
    )
    command.set_defaults(run=lambda options: demo.run(options.output))
    return parser


def _add_metrics(subcommands: Any) -> None:
    help = "measure how much feet slide, sink and float, and how often knees pop"
    command = subcommands.add_parser("metrics", help=help)
    _add_clips(command)
    help = "the clip before it was changed: its contacts are used, and both are listed"
    command.add_argument("--source", type=_path, metavar="CLIP", help=help)
    for option, what in (("ground", "the ground under the clips"), ("source-ground", "the ground under the source")):
        help = f"{what}: a file (default: the floor that feet suggest). Repeat the option to add files to one ground"
        command.add_argument(f"--{option}", type=_path, metavar="FILE", action="append", default=[], help=help)
    _add_axes(command)
    help = "write a page of pictures about each clip into a folder"
    command.add_argument("-o", "--report", type=_path, metavar="DIR", help=help)
    _add_work(command)
    command.set_defaults(run=_metrics, wrong=command.error)


def _add_bake(subcommands: Any) -> None:
    command = subcommands.add_parser("bake", help="put the feet of clips on the ground, and write the clips as BVH")
    _add_clips(command)
    help = "the ground: an .obj, .gltf or .glb file. Repeat the option to add files to one ground"
    command.add_argument("--ground", type=_path, metavar="FILE", action="append", required=True, help=help)
    help = "the file to write, or a folder for several clips. It must not be one of the clips"
    command.add_argument("-o", "--output", type=_path, metavar="OUT", required=True, help=help)
    help = "write a page of pictures about each clip into a folder"
    command.add_argument("--report", type=_path, metavar="DIR", help=help)
    command.add_argument("--legs", type=_names, metavar="A,B", help="names of the legs to bake (default: all)")
    help = "frames to bake: the first one, and the first one after them (default: all)"
    command.add_argument("--frames", type=_frames, metavar="A:B", help=help)
    command.add_argument("--loop", action="store_true", help="clips are loops: the last frame equals the first")
    help = "the floor for which clips were made (default: auto, chosen by the heights of their stances)"
    command.add_argument("--source-floor", choices=("auto", "level", "ground"), default="auto", help=help)
    _add_axes(command)
    _add_work(command)
    group = command.add_argument_group("preparation", "changes of a clip before the bake")
    help = "let in-place clips travel at the speed of their planted feet (default: yes)"
    group.add_argument("--root-motion", action=argparse.BooleanOptionalAction, default=True, help=help)
    group.add_argument("--denoise", action="store_true", help="remove capture noise from root and legs")
    help = "let strides change by up to this share of their length, so that feet land on treads; 0.4 suits most stairs"
    group.add_argument("--fit-strides", type=float, metavar="N", default=0.0, help=help)
    units = "lengths are in metres for a leg of 0.87 m, angles in degrees; see docs/guide/bake.md"
    group = command.add_argument_group("settings", units)
    help = "values of the settings that are not given (default: default)"
    group.add_argument("--preset", choices=PRESETS, default="default", help=help)
    said = _said_of_settings()
    for field in dataclasses.fields(BakeSettings):
        _add_setting(group, field.name, said.get(field.name, ""), field.default)
    command.set_defaults(run=_bake, wrong=command.error)


def _add_setting(group: Any, name: str, help: str, default: Any) -> None:
    """Add an option for a field of `BakeSettings`; None if it is not given."""
    if default is not None:  # else the text names the default
        help += f" (default: {default if isinstance(default, str) else f'{default:g}'})"
    kind, option = get_type_hints(BakeSettings)[name], f"--{name}"
    if kind is bool:
        help = help.replace("default: 1", "default: yes")
        group.add_argument(option, action=argparse.BooleanOptionalAction, help=help)
    elif get_origin(kind) is Literal:
        group.add_argument(option, choices=get_args(kind), help=help)
    else:
        group.add_argument(option, type=float, metavar="N", help=help)


def _said_of_settings() -> dict[str, str]:
    """The descriptions in the docstring of `BakeSettings`, each on one line."""
    found = re.findall(r"^([\w, ]+) : .*\n((?:    .+\n)+)", inspect.getdoc(BakeSettings) or "", re.MULTILINE)
    said = {names: " ".join(text.split()).rstrip(".") for names, text in found}
    return {name: text[0].lower() + text[1:] for names, text in said.items() for name in names.split(", ")}


def _add_clips(command: argparse.ArgumentParser) -> None:
    help = "a .bvh, .gltf or .glb file, or a folder of them"
    command.add_argument("clips", type=_path, nargs="+", metavar="CLIP", help=help)


def _add_axes(command: argparse.ArgumentParser) -> None:
    command.add_argument("--up", choices=("Y", "Z"), help="up axis of clips (default: guessed from the legs)")
    likely = "guessed from the leg length: m, cm, mm, inches, or the unit of the CMU library"
    help = f"length unit of clips, in metres (default: {likely})"
    command.add_argument("--unit", type=_positive, metavar="M", help=help)
    command.add_argument("--ground-up", choices=("Y", "Z"), default="Y", help="up axis of grounds (default: Y)")
    command.add_argument(
        "--ground-unit", type=_positive, default=1.0, metavar="M", help="length unit of grounds, in metres (default: 1)"
    )


def _add_work(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.add_argument(
        "--workers", type=_at_least_one, default=1, metavar="N", help="number of processes (default: 1)"
    )


def _metrics(options: argparse.Namespace) -> int:
    if options.source_ground and not options.source:
        options.wrong("argument --source-ground: is the ground of --source, which is not given")
    return metrics_command.run(
        options.clips,
        up=options.up,
        unit=options.unit,
        ground=_grounds(options, options.ground),
        source=options.source,
        source_ground=_grounds(options, options.source_ground),
        folder=options.report,
        as_json=options.json,
        workers=options.workers,
    )


def _bake(options: argparse.Namespace) -> int:
    names = [field.name for field in dataclasses.fields(BakeSettings)]
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    try:
        settings = dataclasses.replace(BakeSettings.preset(options.preset), **given)
    except ValueError as error:
        options.wrong(f"argument --{error}")
    as_given = ("denoise", "root_motion", "fit_strides", "up", "unit", "legs", "frames", "loop")
    how = bake_command.How(
        ground=_grounds(options, options.ground),
        settings=settings,
        source_floor=None if options.source_floor == "auto" else options.source_floor,
        **{name: getattr(options, name) for name in as_given},
    )
    return bake_command.run(
        options.clips, options.output, how, folder=options.report, as_json=options.json, workers=options.workers
    )


def _grounds(options: argparse.Namespace, paths: list[str]) -> commands.Grounds:
    return commands.Grounds(tuple(paths), options.ground_up, options.ground_unit)


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file or a folder, got ''")
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _frames(text: str) -> tuple[int | None, int | None]:
    if not (found := re.fullmatch(r"(\d*):(\d*)", text)):
        raise argparse.ArgumentTypeError(f"expected two numbers such as 10:20, the second one not included, got {text}")
    first, stop = (int(number) if number else None for number in found.groups())
    return first, stop


def _at_least_one(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return number
