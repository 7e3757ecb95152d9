"""The command line: ``ikcore demo``, ``ikcore --version``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import ikcore
from ikcore import demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done, 1 failed with a sentence, 2 called wrongly."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        return 1
    except OSError as error:
        print(f"ikcore: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except MemoryError:
        print("ikcore: not enough memory: ask for fewer items", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ikcore", description="Inverse kinematics for characters and chains.")
    parser.add_argument("--version", action="version", version=f"ikcore {ikcore.__version__} on {ikcore.isa()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = commands.add_parser("demo", help="solve many limbs, show the rate, draw a leg that follows a target")
    command.add_argument("--items", type=_at_least_one, default=1_000_000, help="how many limbs (default: 1000000)")
    command.add_argument("-o", "--output", default="leg.svg", help="the picture to write (default: leg.svg)")
    command.set_defaults(run=lambda options: demo.run(options.items, options.output))
    return parser


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number
