"""Reads to alignments without a run of the workflow: `quire index` and `quire map`."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from quire import many_threads
from quire.command.parser import CommandParser, beside, print_counts, require_apart, run_command
from quire.device.backend import look_for_card
from quire.errors import InputError
from quire.io.files import scratch_directory
from quire.run import config
from quire.run.before_jobs import check_before_jobs
from quire.run.interrupts import loading
from quire.run.schema import SCHEMAS, read_schema
from quire.run.sheets import row_of

MEMORY_MB = 4000  # for sorting, as the workflow's rule asks for
_SHEETS = {name: read_schema(SCHEMAS / f"{name}.schema.yaml") for name in ("samples", "units")}
_OF_FASTQ = ("interleaved", "fq_umi", "qualities")


def index(arguments: list[str]) -> None:
    """Build the index of a reference, for `quire map` and for runs of the workflow.

        quire index --reference genome.fa --index-directory genome.index

    Parts that exist are kept.
    """
    parser = CommandParser(index)
    parser.add_reference(folder_required=True)
    parser.add_key("page_size", parser.schema["reference"]["properties"]["page_size"])
    parser.add_keys("index")
    parser.add_device()
    given = parser.parse_args(arguments)

    with run_command(), parser.index(given) as (_, pages):
        print(f"{given.index_directory}: the index is complete (pages: {len(pages)}).")


def map_reads(arguments: list[str]) -> None:
    """Map reads to a sorted BAM or CRAM with duplicates marked, and its index.

        quire map R1.fastq.gz R2.fastq.gz --reference genome.fa --sample NA12878 --output NA12878.bam

    READS are one FASTQ (single or interleaved reads), two (first and second mates), or one BAM or CRAM, whose reads are
    mapped again. Several files of a lane are separated by commas. Beside --output lie its index, counts of reads and
    bases (.counts.json) and the table of duplicates (.duplicates.tsv). Several lanes of a sample need `quire run`.
    """
    parser = map_parser()
    given = parser.parse_args(arguments)

    with run_command():
        with loading():
            from quire.align.read_ends import Clipping
            from quire.align.unit import map_unit
            from quire.align.unit_files import MappingSettings, UnitInputs
            from quire.buckets.file import UnitFiles
            from quire.finish.counts.outputs import CountsOutputs
            from quire.finish.marking import Marking
            from quire.finish.sample import SampleFormat, SampleOutputs, UnsortedUnit, finish_sample, name_assembly
            from quire.finish.sorting import Effort
            from quire.io.bam.writer import ReadGroup
            from quire.io.read_files import ReadFiles
            from quire.kernel_list import options_of
            from quire.kernels import compile_stage

        many_threads.prepare()
        settings, unit = checked_unit(parser, given)
        files: dict[str, Any] = {column: [*map(Path, unit[column])] for column in ("fq1", "fq2", "fq_umi", "bam")}
        look_for_card(given.backend, (path for paths in files.values() for path in paths))
        output, align, fasta = given.output, settings["align"], Path(given.reference)
        counts, duplicates = (beside(output, align["format"], end) for end in ("counts.json", "duplicates.tsv"))
        require_apart((output, counts, duplicates), (fasta, *(path for paths in files.values() for path in paths)))
        alternate = Path(f"{fasta}.alt")
        compile_stage("align", given.threads, **options_of(settings, "align", alternate.exists()))
        read_group = ReadGroup(**{key: unit[key] for key in ("sample", "unit", "platform", "library")})
        with (
            scratch_directory(output.parent, f"{output.name}.work") as work,
            parser.index(given) as (reference, pages),
        ):
            records, ledger = output if given.unsorted else work / "unit.buckets", work / "ledger.json"
            map_unit(
                UnitInputs(
                    reference,
                    pages,
                    ReadFiles(**files, interleaved=unit["interleaved"], qualities=unit["qualities"]),
                    fasta,
                    alternate if alternate.exists() else None,
                ),
                UnitFiles(records, ledger, work / "insert_size.json"),
                read_group,
                MappingSettings(given.threads, given.backend, given.memory, align["reads_per_batch"]),
                Clipping(align["clip_adapters"], align["clip_poly_g"]),
                umis=align["umi"] == "name",
            )
            if given.unsorted and given.assembly:
                name_assembly(output, given.assembly, given.threads)
            if not given.unsorted:
                beds = work / "coverage.bed.gz", work / "low_coverage.bed.gz"
                finish_sample(
                    unit["sample"],
                    [UnsortedUnit(unit["unit"], unit["library"], records)],
                    reference,
                    SampleOutputs(output, CountsOutputs(counts, *beds, align["low_depth"]), duplicates, ledger),
                    SampleFormat(align["format"], align["index_format"], fasta, given.assembly),
                    Marking(align["optical_distance"], align["umi"] != "none", align["mark_duplicates"]),
                    Effort(given.threads, MEMORY_MB),
                )
            print_counts(ledger)


def map_parser() -> CommandParser:
    """Return the parser of `quire map`."""
    parser = CommandParser(map_reads)
    parser.add_argument("reads", nargs="+", metavar="READS", help="FASTQ of the reads and of their mates, or a BAM.")
    parser.add_reference()
    parser.add_output("BAM", ".bam", ".cram")
    words = "Write the records in the order of the reads to a BAM, without marking duplicates and without an index."
    parser.add_argument("--unsorted", action="store_true", help=words)
    sheets = _SHEETS["samples"]["properties"], _SHEETS["units"]["properties"]
    parser.add_key(
        "sample", {**sheets[0]["sample"], "default": None, "description": "Name. Default: that of --output."}
    )
    parser.add_key("unit", {**sheets[1]["unit"], "default": "unit"})
    for key in ("library", "platform", "qualities", "fq_umi"):
        parser.add_key(key, sheets[1][key])
    words = sheets[1]["interleaved"]["description"]
    parser.add_argument("--interleaved", action="store_const", const="yes", default="", help=words)
    parser.add_key("assembly", parser.schema["reference"]["properties"]["assembly"])
    parser.add_keys("align", without=["format"])
    parser.add_device()
    return parser


def checked_unit(parser: CommandParser, given: Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration and the row of the one unit, checked as those of a run."""
    if len(given.reads) > 2:
        raise InputError(f"{given.reads[2]}: is a third file of reads; separate several files of a lane by commas.")
    of_bam = given.reads[0].endswith((".bam", ".cram"))
    if of_bam and len(given.reads) > 1:
        raise InputError(f"{given.reads[1]}: a BAM or CRAM holds the mates too; leave this file out.")
    if given.unsorted and given.output.suffix == ".cram":
        raise InputError(f"{given.output}: --unsorted writes a BAM; let the name end in .bam.")
    settings = parser.settings(given, "align")
    settings["align"]["format"] = given.output.suffix[1:]
    settings["reference"]["index_directory"] = str(given.index_directory or given.output.parent / "index")
    settings["units"] = settings["samples"] = place = "quire map"
    columns = ("bam",) if of_bam else ("fq1", "fq2")
    row = {key: getattr(given, key) for key in ("unit", "library", "platform", *_OF_FASTQ)}
    row |= {"sample": given.sample or given.output.stem, **dict(zip(columns, given.reads, strict=False))}
    samples, units = ([row_of(place, row, _SHEETS[name])] for name in ("samples", "units"))
    run = config.checked(settings, samples, units, {})
    check_before_jobs(run)
    unit: dict[str, Any] = run.units.to_dict("records")[0]
    return settings, unit
