"""Map the reads of one unit to an unsorted BAM or to buckets: mapping alone, as the other measurements time it."""

import argparse
import logging
import sys
from pathlib import Path

from quire import many_threads
from quire.align.read_ends import Clipping
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.device.backend import look_for_card
from quire.errors import InputError, QuireError
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--index", required=True, type=Path, help="folder with reference/ and page_0/, page_1/, ...")
    reads = made.add_mutually_exclusive_group(required=True)
    reads.add_argument("--fq1", type=Path, nargs="+", default=[], help="FASTQ of first mates or single reads")
    reads.add_argument("--bam", type=Path, nargs="+", default=[], help="BAM or CRAM of the reads")
    made.add_argument("--fq2", type=Path, nargs="+", default=[], help="FASTQ of second mates")
    made.add_argument("--fq-umi", type=Path, nargs="+", default=[], help="FASTQ of UMIs")
    made.add_argument("--interleaved", action="store_true", help="fq1 holds the mates in turn")
    made.add_argument("--qualities", default="", choices=["", "phred33", "phred64"])
    made.add_argument("--fasta", type=Path, help="the reference, for CRAM")
    made.add_argument("--alternate", type=Path, help="list of the reference's alternate contigs, such as genome.fa.alt")
    made.add_argument("--clip-adapters", action="store_true")
    made.add_argument("--clip-poly-g", action="store_true")
    made.add_argument("--umis", action="store_true", help="names end in UMIs")
    made.add_argument("--out", required=True, type=_output, help="x.bam; or x.buckets, a folder that finishing reads")
    for part in ("sample", "unit", "library"):
        made.add_argument(f"--{part}", type=_header_value, default=part, help="of the read group")
    made.add_argument("--platform", type=_header_value, default="ILLUMINA", help="of the read group")
    made.add_argument("--threads", type=_positive, default=2)
    made.add_argument("--backend", default="auto", help="auto, gpu or cpu")
    made.add_argument("--memory", default="auto", help="most memory of the card, such as 4GB")
    made.add_argument("--batch", type=_positive, help="pairs (or single reads) at a time")
    return made


def _output(text: str) -> Path:
    """Return the path of the output; its suffix selects a BAM or a folder of buckets."""
    path = Path(text)  # drops the slash that a shell appends to a folder
    if path.suffix not in (".bam", ".buckets"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .bam or .buckets")
    return path


def _positive(text: str) -> int:
    """Return a positive number of threads or reads."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def _header_value(text: str) -> str:
    """Return a non-empty value of a header line."""
    if not text:
        raise argparse.ArgumentTypeError("it must not be empty: it is a value of a BAM header line")
    return _printable(text)


def _printable(text: str) -> str:
    """Return a value of a header line, which must not contain tabs; it may be empty."""
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} contains characters that a BAM header line cannot hold")
    return text


def inputs_of(arguments: argparse.Namespace) -> UnitInputs:
    """Return the inputs of the unit that the command line names.

    Raises:
        InputError: options that exclude each other, as in the sheet of units.
    """
    pages = sorted(arguments.index.glob("page_*"), key=lambda path: int(path.name.split("_")[1]))
    given = arguments
    _require_together(given)
    reads = ReadFiles(given.fq1, given.fq2, given.bam, given.interleaved, given.qualities, given.fq_umi)
    return UnitInputs(arguments.index / "reference", pages, reads, arguments.fasta, arguments.alternate)


def _require_together(given: argparse.Namespace) -> None:
    """Raise InputError for options that exclude each other: reads would lose their mates or UMIs, or not be mapped."""
    for option, files in (("--fq2", given.fq2), ("--fq-umi", given.fq_umi)):
        if files and given.bam:
            raise InputError(f"{option} does not apply to --bam; leave it out.")
        if files and len(files) != len(given.fq1):
            raise InputError(
                f"--fq1 names {len(given.fq1)} files and {option} {len(files)}; give one for each of --fq1, in the "
                "same order."
            )
    if given.fq2 and given.interleaved:
        raise InputError("--fq2 is given, but an --interleaved --fq1 holds the mates too; leave one of the two out.")
    for option, said in (("--interleaved", given.interleaved), ("--qualities", given.qualities)):
        if said and given.bam:
            raise InputError(f"{option} does not apply to --bam; leave it out.")


def read_group_of(arguments: argparse.Namespace) -> ReadGroup:
    """Return the read group that the command line names."""
    return ReadGroup(arguments.sample, arguments.unit, arguments.library, arguments.platform)


def clipping_of(arguments: argparse.Namespace) -> Clipping:
    """Return the clipping that the command line requests."""
    return Clipping(arguments.clip_adapters, arguments.clip_poly_g)


def main() -> None:
    """Parse the command line and map one unit."""
    arguments = parser().parse_args()
    many_threads.prepare()
    look_for_card(arguments.backend, [*arguments.fq1, *arguments.fq2, *arguments.bam])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    outputs = UnitFiles(
        records=arguments.out,
        ledger=arguments.out.with_suffix(".ledger.json"),
        insert_size=arguments.out.with_suffix(".insert_size.json"),
    )
    settings = MappingSettings(arguments.threads, arguments.backend, arguments.memory, arguments.batch or "auto")
    try:
        inputs, read_group, clipping = inputs_of(arguments), read_group_of(arguments), clipping_of(arguments)
        map_unit(inputs, outputs, read_group, settings, clipping, arguments.umis)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
