"""Map the reads of one unit to an unsorted BAM or to buckets: mapping alone, as the other measurements time it."""

import argparse
import logging
import sys
from pathlib import Path

from quire import many_threads
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.device.backend import look_for_card
from quire.errors import QuireError
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles


def main() -> None:
    """Parse the command line and map one unit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", required=True, type=Path, help="folder with reference/ and page_0/, page_1/, ...")
    parser.add_argument("--fq1", required=True, type=Path, help="FASTQ of first mates or single reads")
    parser.add_argument("--fq2", type=Path, help="FASTQ of second mates")
    parser.add_argument("--alternate", type=Path, help="list of alternate contigs, such as genome.fa.alt")
    parser.add_argument("--out", required=True, type=Path, help="x.bam; or x.buckets, a folder that finishing reads")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="auto", help="auto, gpu or cpu")
    parser.add_argument("--memory", default="auto", help="most memory of the card, such as 4GB")
    parser.add_argument("--batch", type=int, help="pairs (or single reads) at a time")
    given = parser.parse_args()
    many_threads.prepare()
    reads = ReadFiles([given.fq1], [given.fq2] if given.fq2 else [])
    look_for_card(given.backend, reads.files)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    pages = sorted(given.index.glob("page_*"), key=lambda path: int(path.name.split("_")[1]))
    ledger, insert_size = (given.out.with_suffix(f".{what}.json") for what in ("ledger", "insert_size"))
    try:
        map_unit(
            UnitInputs(given.index / "reference", pages, reads, None, given.alternate),
            UnitFiles(records=given.out, ledger=ledger, insert_size=insert_size),
            ReadGroup("sample", "unit", "library", "ILLUMINA"),
            MappingSettings(given.threads, given.backend, given.memory, given.batch or "auto"),
        )
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
