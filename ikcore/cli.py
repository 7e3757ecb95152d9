"""The command line: ``ikcore metrics``, ``ikcore demo``, ``ikcore --version``."""

from __future__ import annotations

import argparse
import functools
import math
import sys
from collections.abc import Sequence

import ikcore
from ikcore import demo, measuring


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done, 1 failed with a sentence, 2 called wrongly, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        status: int | None = options.run(options)
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        return 1
    except OSError as error:
        print(f"ikcore: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except MemoryError:
        print("ikcore: not enough memory: ask for fewer items", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ikcore: interrupted", file=sys.stderr)
        return 130
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ikcore", description="Inverse kinematics for characters and chains.")
    parser.add_argument("--version", action="version", version=f"ikcore {ikcore.__version__} on {ikcore.isa()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = commands.add_parser("metrics", help="measure how well feet stand: slide, sink, float, knees that pop")
    command.add_argument("clips", nargs="+", metavar="CLIP", help="a .bvh, .gltf or .glb file, or a folder of them")
    command.add_argument("--source", metavar="CLIP", help="what they were made of: contacts are its, both are listed")
    for option, what in (("ground", "what clips walk on"), ("source-ground", "what the source was made for")):
        help = f"{what}, a file (default: a floor found under the feet); several are one ground"
        command.add_argument(f"--{option}", metavar="FILE", action="append", default=[], help=help)
    command.add_argument("--up", choices=("Y", "Z"), help="the axis that points up in clips (default: as legs stand)")
    likely = "of metres, centimetres, inches and millimetres what suits the legs"
    command.add_argument("--unit", type=_positive, metavar="M", help=f"metres in a unit of clips (default: {likely})")
    command.add_argument("--ground-up", choices=("Y", "Z"), default="Y", help="the same of grounds (default: Y)")
    command.add_argument(
        "--ground-unit", type=_positive, default=1.0, metavar="M", help="the same of grounds (default: 1)"
    )
    command.add_argument("-o", "--report", metavar="DIR", help="write a page of pictures about each clip into a folder")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.add_argument("--workers", type=_at_least_one, default=1, metavar="N", help="processes (default: 1)")
    command.set_defaults(run=functools.partial(_metrics, command))

    command = commands.add_parser("demo", help="solve many limbs, show the rate, draw a leg that follows a target")
    command.add_argument("--items", type=_at_least_one, default=1_000_000, help="how many limbs (default: 1000000)")
    command.add_argument("-o", "--output", default="leg.svg", help="the picture to write (default: leg.svg)")
    command.set_defaults(run=lambda options: demo.run(options.items, options.output))
    return parser


def _metrics(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.source_ground and not options.source:
        command.error("argument --source-ground: is the ground of --source, which is not given")

    def grounds(paths: list[str]) -> measuring.Grounds:
        return measuring.Grounds(tuple(paths), options.ground_up, options.ground_unit)

    return measuring.run(
        options.clips,
        up=options.up,
        unit=options.unit,
        ground=grounds(options.ground),
        source=options.source,
        source_ground=grounds(options.source_ground),
        folder=options.report,
        as_json=options.json,
        workers=options.workers,
    )


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
