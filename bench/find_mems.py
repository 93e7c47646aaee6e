"""Maximal exact matches of queries in an index of `bench.build_index`: one run of the stage, for measurements."""

import argparse
import logging
from pathlib import Path

from quire.index import SearchInputs
from quire.mems.search import MemsOutputs, MemsSettings, find_mems


def main() -> None:
    """Search; a summary (.json) is written next to the output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path, help="folder of the index")
    parser.add_argument("queries", type=Path, help="FASTA or FASTQ")
    parser.add_argument("output", type=Path, help="MUMmer's text")
    parser.add_argument("--min-length", type=int, default=20)
    parser.add_argument("--strands", choices=("forward", "reverse", "both"), default="forward")
    parser.add_argument("--unique", choices=("none", "reference", "both"), default="none")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="cpu")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    pages = sorted(given.index.glob("page_*"), key=lambda path: int(path.name.split("_")[1]))
    find_mems(
        SearchInputs(given.index / "reference", pages, None, given.queries),
        MemsOutputs(given.output, given.output.with_suffix(".json")),
        MemsSettings("bench", given.min_length, given.strands, given.unique, given.threads, given.backend),
    )


if __name__ == "__main__":
    main()
