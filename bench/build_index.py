"""Reference and index of all pages without Snakemake, for measurements: python -m bench.build_index FASTA FOLDER."""

import argparse
import logging
import sys
from pathlib import Path

from quire import index, reference
from quire.device.choice import use_backend
from quire.errors import QuireError


def main() -> None:
    """Parse the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path)
    parser.add_argument("folder", type=Path, help="gets reference/ and page_0/, page_1/, ...")
    parser.add_argument("--page-size", type=int, default=1 << 30)
    parser.add_argument("--backend", choices=("auto", "gpu", "cpu"), default="cpu")
    parser.add_argument("--memory", default="auto", help="of the card, such as 4GB")
    parser.add_argument("--sampling-distance", type=int, default=64)
    parser.add_argument("--sa-sampling", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    parameters = {"sampling_distance": arguments.sampling_distance, "sa_sampling": arguments.sa_sampling}
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    try:
        reference.build(arguments.fasta, arguments.folder / "reference", arguments.page_size)
        opened = reference.Reference.open(arguments.folder / "reference")
        with use_backend(arguments.backend, arguments.memory) as (_, open_card):
            card = open_card() if open_card else None
            for number in range(len(opened.pages)):
                folder = arguments.folder / f"page_{number}"
                index.build(opened, number, folder, parameters, card, arguments.backend, arguments.threads)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
