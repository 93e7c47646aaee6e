"""Check of a configuration and its sheets without a run: `python -m quire.run --configfile my.yaml`."""

import argparse
import sys
from pathlib import Path

from quire.errors import QuireError
from quire.run import config
from quire.run.config_file import DEFAULT, read_config_file
from quire.run.job import SENTENCE
from quire.run.schema import SCHEMAS


def main() -> None:
    """Check everything that a run checks before its first job, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m quire.run", description=__doc__)
    parser.add_argument("--configfile", type=Path, default=DEFAULT, help="relative paths in it begin in this folder")
    path = parser.parse_args().configfile
    try:
        run = config.load(read_config_file(path), SCHEMAS)
        config.check_before_jobs(run)
    except QuireError as error:
        sys.exit(f"{SENTENCE}{error}")
    print(f"{path}: the configuration and its sheets are valid (samples: {len(run.samples)}, units: {len(run.units)}).")


if __name__ == "__main__":
    main()
