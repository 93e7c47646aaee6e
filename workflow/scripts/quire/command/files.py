"""The configuration alone: `quire init` and `quire check`."""

import shutil
from pathlib import Path

from quire.command.parser import CommandParser, run_command
from quire.errors import InputError
from quire.run import config
from quire.run.before_jobs import check_before_jobs
from quire.run.config_file import DEFAULT, read_config_file
from quire.run.schema import SCHEMAS
from quire.sources import ROOT

DEMO = "tests/data/demo"


def init(arguments: list[str]) -> None:
    """Copy the template of a configuration into this folder, as config/.

        quire init && nano config/config.yaml

    config/config.yaml names the reference, and config/samples.tsv and config/units.tsv name the reads. config/README.md
    explains every key. Then `quire run` does everything. With --demo the reads of the demo are copied too, for `quire
    run --configfile config/demo.yaml`. Files that exist are never overwritten.
    """
    parser = CommandParser(init)
    parser.add_argument("--demo", action="store_true", help="Also copy the reads and the reference of the demo.")
    given = parser.parse_args(arguments)

    with run_command():
        names = ["config", DEMO] if given.demo else ["config"]
        for name in names:
            if Path(name).exists():
                raise InputError(f"{name}: exists in this folder; start in an empty one, or go on with what is here.")
        for name in names:
            _copy_folder(ROOT / name, Path(name))
        print(f"copied {' and '.join(names)}")


def check(arguments: list[str]) -> None:
    """Check a configuration, its sheets and the first reads, as a run does before its first job.

        quire check --configfile my.yaml

    Nothing is written.
    """
    parser = CommandParser(check)
    words = f"The configuration; relative paths in it begin in this folder. Default: {DEFAULT}."
    parser.add_argument("--configfile", type=Path, default=DEFAULT, metavar="FILE", help=words)
    path = parser.parse_args(arguments).configfile

    with run_command():
        run = config.load(read_config_file(path), SCHEMAS)
        check_before_jobs(run)
        counts = f"(samples: {len(run.samples)}, units: {len(run.units)})"
        print(f"{path}: the configuration and its sheets are valid {counts}.", *config.advice_lines(run), sep="\n")


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder without its permissions: an installation may be read-only."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_dir():
            _copy_folder(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)
