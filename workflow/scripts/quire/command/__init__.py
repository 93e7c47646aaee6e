"""The command `quire`: one subcommand for a run of the workflow, and one for each stage or search alone."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from quire.run.interrupts import loading
from quire.version import VERSION

# Module and function of each subcommand, and its line of help. The function takes the arguments after the subcommand.
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "init": ("files", "init", "copy the template of a configuration, or the demo, into this folder"),
    "run": ("workflow", "run", "run the workflow: Snakemake with Quire's rules, which takes all further arguments"),
    "report": ("workflow", "report", "run the workflow up to the report"),
    "check": ("files", "check", "check a configuration and its sheets without a run"),
    "why": ("variants", "why", "explain why a variant was called, or not"),
    "index": ("alignments", "index", "build the index of a reference"),
    "map": ("alignments", "map_reads", "FASTQ to a sorted, marked and indexed BAM or CRAM"),
    "call": ("variants", "call", "BAM or CRAM to a VCF or gVCF"),
    "joint": ("variants", "joint", "gVCFs to one VCF of all samples"),
    "complete": ("searches", "complete", "every place of each read with at most k differences"),
    "mems": ("searches", "mems", "maximal exact matches of queries"),
    "pairwise": ("searches", "pairwise", "one optimal alignment of two sequences"),
    "completion": ("completion", "completion", "print the completion of these commands for bash or zsh"),
}


def main() -> None:
    """Run the subcommand that the command line names."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in COMMANDS:
        function_of(name)(arguments)
    elif name in ("--version", "-V"):
        print(f"quire {VERSION}")
    elif name in ("--help", "-h", "help"):
        lines = (f"    {command:<12}{line}" for command, (_, _, line) in COMMANDS.items())
        print(text_of("usage.txt").format(lines="\n".join(lines)), end="")
    else:
        print(f"quire: error: {name!r} is no subcommand; quire --help lists them.", file=sys.stderr)
        sys.exit(2)


def function_of(name: str) -> Callable[[list[str]], None]:
    """Return the function of a subcommand; only its module is loaded."""
    module, function, _ = COMMANDS[name]
    with loading():
        found: Callable[[list[str]], None] = getattr(import_module(f"quire.command.{module}"), function)
    return found


def text_of(name: str) -> str:
    """Return the content of a file beside this module."""
    return Path(__file__).with_name(name).read_text()
