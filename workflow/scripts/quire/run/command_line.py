"""Shared parts of the exact tools' command lines: arguments from the configuration's keys, the index, final messages.

An argument has the name, the description, the default and the limits of the schema's key.
"""

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from quire.errors import InputError, QuireError
from quire.index.construction import ensure_index
from quire.io.files import read_json
from quire.io.sniff import require_fasta
from quire.ledger import in_words
from quire.run.inputs import require_file
from quire.run.interrupts import end_interrupted
from quire.run.job import SENTENCE, describe
from quire.run.schema import SCHEMAS, read_schema, value_of

log = logging.getLogger("quire")


class ToolParser(argparse.ArgumentParser):
    """The arguments of an exact tool, whose name is that of its list in the configuration.

    `inputs` are keys that name files; their arguments are required. `output` is the kind of its file, such as BAM.
    """

    def __init__(self, tool: str, description: str, inputs: tuple[str, ...], output: str) -> None:
        super().__init__(
            prog=f"python -m quire.{tool}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="Exit status: 0 if all went well, 1 if an input cannot be used, 2 for a mistake in the arguments, "
            "130 after Ctrl-C.",
            allow_abbrev=False,
        )
        self.schema = read_schema(SCHEMAS / "config.schema.yaml")["properties"]
        keys = self.schema[tool]["items"]["properties"]
        if tool != "pairwise":
            self._add_reference()
        for key in inputs:
            self.add_argument(f"--{key}", required=True, metavar="FILE", help=keys[key]["description"])
        self.add_argument("--output", required=True, type=_output, metavar=output, help="What is written.")
        self._keys = {key: part for key, part in keys.items() if key not in ("name", *inputs)}
        for key, part in self._keys.items():
            for inner, part_of_it in part.get("properties", {key: part}).items():
                self._add_key(inner, part_of_it)
        processors = len(os.sched_getaffinity(0))
        self._add_key(
            "threads",
            {"type": "integer", "minimum": 1, "default": processors, "description": "Processors to use."},
        )
        self._add_key("backend", self.schema["device"]["properties"]["backend"])
        self._add_key("memory", self.schema["device"]["properties"]["memory"])

    def _add_key(self, key: str, part: Mapping[str, Any]) -> None:
        """Add the argument of a key."""

        def value(text: str) -> Any:
            try:
                return value_of(text, part)
            except InputError as error:
                raise argparse.ArgumentTypeError(str(error)) from None

        shown = "{" + ",".join(part["enum"]) + "}" if "enum" in part else "N" if part["type"] == "integer" else "SIZE"
        name, default = key.replace("_", "-"), part["default"]
        words = f"{part['description']} Default: {default}."
        self.add_argument(f"--{name}", type=value, default=default, metavar=shown, help=words)

    def _add_reference(self) -> None:
        """Add the arguments of a tool that searches a reference."""
        words = "FASTA of the reference, plain, gzip or bgzip."
        self.add_argument("--reference", required=True, metavar="FASTA", help=words)
        self.add_argument(
            "--index-directory",
            type=Path,
            metavar="FOLDER",
            help="Folder of the reference's index, which a run of the workflow can share; missing parts are built. "
            "Default: a temporary folder, so the index is built again each time.",
        )

    def keys(self, given: argparse.Namespace) -> dict[str, Any]:
        """Return the values of the tool's keys, with the keys of blocks on the same level."""
        names = [inner for key, part in self._keys.items() for inner in part.get("properties", {key: part})]
        return {name: getattr(given, name) for name in names}

    def device(self, given: argparse.Namespace) -> dict[str, Any]:
        """Return the values of the device's keys."""
        return {key: getattr(given, key) for key in ("threads", "backend", "memory")}

    @contextmanager
    def index(self, given: argparse.Namespace) -> Iterator[tuple[Path, list[Path]]]:
        """Yield the folders of the packed reference and of its pages' indexes; build the missing ones."""
        require_file(given.reference, "--reference")
        require_fasta(given.reference, "--reference", random_access=False)
        with tempfile.TemporaryDirectory(prefix="quire_index_") as temporary:
            if given.index_directory is None:
                log.info("the index is built in %s; --index-directory FOLDER would keep it", temporary)
            yield ensure_index(
                given.reference,
                given.index_directory or Path(temporary),
                self.schema["reference"]["properties"]["page_size"]["default"],
                {key: part["default"] for key, part in self.schema["index"]["properties"].items()},
                given.backend,
                given.memory,
            )

    def error(self, message: str) -> NoReturn:
        """End the process with one sentence."""
        self.exit(2, f"{SENTENCE}{message}; {self.prog} --help explains every argument.\n")


def beside(output: Path, own: str, ending: str) -> Path:
    """Return the path of an additional output: `places.bam` and `counts.tsv` give `places.counts.tsv`.

    Only its usual ending (`own`) is replaced. Any other stays, so that two names never become one.
    """
    name = output.name.removesuffix(f".{own}") or output.name
    return output.with_name(f"{name}.{ending}")


def require_apart(outputs: Iterable[Path], inputs: Iterable[str]) -> None:
    """Raise InputError if an output would overwrite an input."""
    for output in outputs:
        for path in inputs:
            if output.exists() and os.path.exists(path) and output.samefile(path):
                raise InputError(f"--output: {output} is an input of this search; give another name.")


def _output(text: str) -> Path:
    """Return the path of an output; refuse a folder."""
    path = Path(text)
    if not path.name or path.name == ".." or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a file name")
    return path


def run_tool(main: Callable[[], Path]) -> None:
    """Run a tool, which returns its summary's path, with its log on stderr; print counts, or one sentence on failure.

    Raises:
        SystemExit: status 1 if an input cannot be used or an output cannot be written. Ctrl-C ends the process.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    try:
        summary = main()
    except (QuireError, OSError) as error:
        sys.exit(f"{SENTENCE}{describe(error)}")
    except KeyboardInterrupt:
        end_interrupted()
    content = read_json(summary)
    for warning in content.get("warnings", []):
        print(f"warning: {warning}", file=sys.stderr)
    print(in_words(content["counts"]))
