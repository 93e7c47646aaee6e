"""Map FASTQ without Snakemake, for benchmarks: python -m quire.align --index DIR --fq1 R1 --fq2 R2 --out x.bam.

Another ending than `.bam` asks for buckets, as `quire.finish` takes them.
"""

import argparse
import logging
import sys
from pathlib import Path

from quire.align.unit import MappingSettings, UnitInputs, UnitOutputs, map_unit
from quire.errors import QuireError
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles


def main() -> None:
    """Parse the command line and map one unit."""
    parser = argparse.ArgumentParser(prog="python -m quire.align", description="FASTQ to unsorted records")
    parser.add_argument("--index", required=True, type=Path, help="folder with reference/ and page_0/, page_1/, ...")
    parser.add_argument("--fq1", required=True, type=Path)
    parser.add_argument("--fq2", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="auto", help="auto, gpu or cpu")
    parser.add_argument("--memory", default="auto", help="most memory of the card, such as 4GB")
    parser.add_argument("--batch", type=int, help="pairs (or single reads) at a time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    pages = sorted(arguments.index.glob("page_*"), key=lambda path: int(path.name.split("_")[1]))
    mates = [arguments.fq2] if arguments.fq2 else []
    inputs = UnitInputs(arguments.index / "reference", pages, ReadFiles([arguments.fq1], mates))
    outputs = UnitOutputs(
        records=arguments.out,
        ledger=arguments.out.with_suffix(".ledger.json"),
        insert_size=arguments.out.with_suffix(".insert_size.json"),
    )
    read_group = ReadGroup(sample="sample", unit="unit", library="library", platform="ILLUMINA")
    settings = MappingSettings(arguments.threads, arguments.backend, arguments.memory, arguments.batch or "auto")
    try:
        map_unit(inputs, outputs, read_group, settings)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
