"""Reference and index of all pages without Snakemake, for measurements: python -m bench.build_index FASTA FOLDER."""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from quire import index, reference
from quire.device.card import Card
from quire.device.choice import use_backend
from quire.errors import QuireError
from quire.reference import Reference

PARAMETERS = {"sampling_distance": 64, "sa_sampling": 1}


def build(
    fasta: Path, folder: Path, page_size: int, parameters: dict[str, int], card: Card | None, *more: Any
) -> Reference:
    """Build reference and index in a folder; return the opened reference. `more` are backend and threads."""
    reference.build(fasta, folder / "reference", page_size)
    opened = Reference.open(folder / "reference")
    for number in range(len(opened.pages)):
        index.build(opened, number, folder / f"page_{number}", parameters, card, *more)
    return opened


def main() -> None:
    """Parse the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path)
    parser.add_argument("folder", type=Path, help="gets reference/ and page_0/, page_1/, ...")
    parser.add_argument("--page-size", type=int, default=1 << 30)
    parser.add_argument("--backend", choices=("auto", "gpu", "cpu"), default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    try:
        with use_backend(given.backend) as (_, open_card):
            card = open_card() if open_card else None
            build(given.fasta, given.folder, given.page_size, PARAMETERS, card, given.backend, given.threads)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
