"""Shared parts of the subcommands: arguments from the configuration's keys, the index, messages and exit status.

An argument has the name, the description, the default and the limits of the schema's key.
"""

import argparse
import inspect
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from quire.errors import SENTENCE, InputError, QuireError
from quire.index.construction import ensure_index, ensure_reference
from quire.io.files import read_json
from quire.io.sniff import require_fasta
from quire.ledger import in_words
from quire.run.inputs import require_file, require_text
from quire.run.interrupts import end_interrupted
from quire.run.job import describe
from quire.run.schema import SCHEMAS, complete_settings, read_schema, value_of

log = logging.getLogger("quire")
LIST = "--list-options"  # for completion: print the options, each with the words that it takes


def list_options(parser: argparse.ArgumentParser) -> None:
    """Print the long options of a parser, each with the words that it takes, if these are listed."""
    for action in parser._actions:
        shown = str(action.metavar)
        words = action.choices or (shown[1:-1].split(",") if shown.startswith("{") else ())
        for option in action.option_strings:
            if option.startswith("--") and action.help != argparse.SUPPRESS:
                print(option, *words)


class CommandParser(argparse.ArgumentParser):
    """The arguments of a subcommand; the docstring of its function, which has an example, is its help."""

    def __init__(self, function: Callable[[list[str]], None]) -> None:
        """Begin without arguments; the subcommand has the function's name."""
        super().__init__(
            prog=f"quire {function.__name__.removesuffix('_reads')}",
            description=inspect.getdoc(function),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="Exit status: 0 if all went well, 1 if an input cannot be used, 2 for a mistake in the arguments, "
            "130 after Ctrl-C.",
            allow_abbrev=False,
        )
        self.schema = read_schema(SCHEMAS / "config.schema.yaml")["properties"]
        self._keys: dict[str, list[str]] = {}  # names of arguments by block of the configuration

    def parse_args(self, arguments: list[str]) -> argparse.Namespace:  # type: ignore[override]
        """Return the values of the arguments; for completion, list the options and end."""
        if arguments == [LIST]:
            list_options(self)
            self.exit()
        return super().parse_args(arguments)

    def add_keys(self, block: str, *, without: Iterable[str] = (), only: Iterable[str] | None = None) -> None:
        """Add arguments for the keys of a block, or of an entry of a list: `only` these or all, `without` some."""
        keys = self.schema[block].get("items", self.schema[block])["properties"]
        chosen = {*(keys if only is None else only)} - {*without}
        wanted = [part.get("properties", {key: part}) for key, part in keys.items() if key in chosen]
        flat = {key: part for parts in wanted for key, part in parts.items()}
        self._keys[block] = list(flat)
        for key, part in flat.items():
            self.add_key(key, part)

    def add_key(self, key: str, part: Mapping[str, Any], of_each: str = "") -> None:
        """Add the argument of a key, which may have a value for each input `of_each`: the parsed value is a list."""

        def value(text: str) -> Any:
            try:
                require_text(text, "it")
                return [value_of(one, part) for one in text.split(",")] if of_each else value_of(text, part)
            except InputError as error:
                raise argparse.ArgumentTypeError(str(error)) from None

        name, default, kind = key.replace("_", "-"), part.get("default"), part.get("type")
        words = part["description"].replace("%", "%%")
        if default not in (None, ""):
            words += f" Default: {default}."
        words += f" One for all, or one for each {of_each}, separated by commas." if of_each else ""
        if kind == "boolean":
            self.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=default, help=words)
            return
        shown = (
            "{" + ",".join(map(str, part["enum"])) + "}"
            if "enum" in part
            else "N"
            if "integer" in (kind or ())
            else "VALUE"
        )
        # A default that depends on another key is filled in by `settings`.
        default = argparse.SUPPRESS if "default_with" in part else default
        self.add_argument(f"--{name}", type=value, default=default, metavar=shown, help=words)

    def add_device(self) -> None:
        """Add the arguments about processors and cards."""
        processors = len(os.sched_getaffinity(0))
        threads = {"type": "integer", "minimum": 1, "default": processors, "description": "Processors to use."}
        self.add_key("threads", threads)
        self.add_keys("device")

    def add_reference(self, required: bool = True, folder_required: bool = False) -> None:
        """Add the arguments of a subcommand that needs a reference."""
        words = "FASTA of the reference, plain, gzip or bgzip."
        self.add_argument("--reference", required=required, metavar="FASTA", help=words)
        self.add_argument(
            "--index-directory",
            type=Path,
            metavar="FOLDER",
            required=folder_required,
            help="Folder of the reference's index, which a run of the workflow can share; missing parts are built. "
            "Default: a temporary folder, so the index is built again each time.",
        )

    def add_output(self, kind: str, *endings: str) -> None:
        """Add the argument of the output, which must have one of the endings if any are given."""

        def output(text: str) -> Path:
            path = Path(text)
            if not path.name or path.name == ".." or path.is_dir():
                raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a file name")
            if endings and not path.name.endswith(endings):
                raise argparse.ArgumentTypeError(f"{text!r} must end in {' or '.join(endings)}")
            return path

        self.add_argument("--output", required=True, type=output, metavar=kind, help="What is written.")

    def keys(self, given: argparse.Namespace, block: str) -> dict[str, Any]:
        """Return the values of a block's keys, with the keys of inner blocks on the same level."""
        return {key: getattr(given, key) for key in self._keys[block] if hasattr(given, key)}

    def all_keys(self, given: argparse.Namespace) -> dict[str, Any]:
        """Return the values of the keys of all blocks on one level."""
        return {key: value for block in self._keys for key, value in self.keys(given, block).items()}

    def settings(self, given: argparse.Namespace, block: str) -> dict[str, Any]:
        """Return the whole configuration with the given keys of a block, and defaults for all others, checked."""
        raw = {
            "reference": {"fasta": given.reference},
            "output": str(given.output.parent),
            block: self.keys(given, block),
        }
        return complete_settings(raw, read_schema(SCHEMAS / "config.schema.yaml"))

    @contextmanager
    def index(self, given: argparse.Namespace) -> Iterator[tuple[Path, list[Path]]]:
        """Yield the folders of the packed reference and of its pages' indexes; build the missing ones."""
        with self._index_folder(given) as (folder, page_size):
            layout = {key: part["default"] for key, part in self.schema["index"]["properties"].items()}
            layout |= self.keys(given, "index") if "index" in self._keys else {}
            yield ensure_index(given.reference, folder, page_size, layout, given.backend, given.memory, given.threads)

    @contextmanager
    def packed(self, given: argparse.Namespace) -> Iterator[Path]:
        """Yield the folder of the packed reference, without an index; build it if it is missing."""
        with self._index_folder(given) as (folder, page_size):
            yield ensure_reference(given.reference, folder, page_size)

    @contextmanager
    def _index_folder(self, given: argparse.Namespace) -> Iterator[tuple[Path, int]]:
        """Yield the folder of the index and the size of its pages."""
        require_file(given.reference, "--reference")
        require_fasta(given.reference, "--reference", random_access=False)
        page_size = getattr(given, "page_size", self.schema["reference"]["properties"]["page_size"]["default"])
        with tempfile.TemporaryDirectory(prefix="quire_index_") as temporary:
            if given.index_directory is None:
                log.info("the index is built in %s; --index-directory FOLDER would keep it", temporary)
            yield given.index_directory or Path(temporary), page_size

    def error(self, message: str) -> NoReturn:
        """End the process with one sentence."""
        self.exit(2, f"{SENTENCE}{message}; {self.prog} --help explains every argument.\n")


def beside(output: Path, own: str, ending: str) -> Path:
    """Return the path of an additional output: `places.bam` and `counts.tsv` give `places.counts.tsv`.

    Only its usual ending (`own`) is replaced. Any other stays, so that two names never become one.
    """
    name = output.name.removesuffix(f".{own}") or output.name
    return output.with_name(f"{name}.{ending}")


def require_apart(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Raise InputError if an output would overwrite an input."""
    for output in outputs:
        for path in inputs:
            if output.exists() and os.path.exists(path) and output.samefile(path):
                raise InputError(f"--output: {output} is an input of this command; give another name.")


@contextmanager
def run_command(level: int = logging.INFO) -> Iterator[None]:
    """Log a subcommand's block on stderr; on failure, or on Ctrl-C, print one sentence and end with its status."""
    logging.basicConfig(level=level, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    try:
        yield
    except (QuireError, OSError) as error:
        sys.exit(f"{SENTENCE}{describe(error)}")
    except KeyboardInterrupt:
        end_interrupted()


def print_counts(ledger: Path) -> None:
    """Print the counts of a summary or ledger, and its warnings on stderr."""
    content = read_json(ledger)
    for warning in content.get("warnings", []):
        print(f"warning: {warning}", file=sys.stderr)
    print(in_words(content["counts"]))
