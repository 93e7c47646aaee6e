"""Count one finished BAM once; `bench.counts` times it in a separate process."""

import argparse
from pathlib import Path

from quire.finish.counts.outputs import CountsOutputs
from quire.reference import Reference

from tests.support.count_files import count_file


def main() -> None:
    """Write the counts to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bam", "reference", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    names = (options.folder / name for name in ("counts.json", "windows.bed.gz", "low.bed.gz"))
    count_file(
        "S", options.bam, Reference.open(options.reference), options.threads, CountsOutputs(*names, low_depth=10)
    )


if __name__ == "__main__":
    main()
