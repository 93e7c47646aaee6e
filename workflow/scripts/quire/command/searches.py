"""The exact searches: `quire complete`, `quire mems` and `quire pairwise`."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quire.command.parser import CommandParser, beside, print_counts, require_apart, run_command
from quire.index import SearchInputs
from quire.run.exact_tools import check_files, fasta_and_region
from quire.run.interrupts import loading


def complete(arguments: list[str]) -> None:
    """Find every place of each read with at most k differences.

        quire complete --reference genome.fa --reads reads.fq --max-differences 3 --output places.bam

    Finds each place in the reference where a whole read lies with at most --max-differences substitutions, inserted and
    deleted bases, on both strands, none left out. --output is a BAM in the order of the reads, the best place of a read
    first and the others as secondary records. Two files beside it hold the number of places of each read (.counts.tsv)
    and a summary (.json).
    """
    parser = search_parser(complete, "BAM", "reads")
    given, settings = parse_search(parser, arguments)
    with run_command():
        with loading():
            from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads

        check_files("complete", vars(given), "--")
        outputs = CompleteOutputs(
            given.output, beside(given.output, "bam", "counts.tsv"), beside(given.output, "bam", "json")
        )
        require_apart((outputs.bam, outputs.counts, outputs.summary), (given.reads, given.reference))
        with parser.index(given) as index:
            inputs = SearchInputs(*index, Path(given.reference), Path(given.reads))
            search_reads(inputs, outputs, CompleteSettings(**settings))
        print_counts(outputs.summary)


def mems(arguments: list[str]) -> None:
    """Find maximal exact matches between queries and a reference.

        quire mems --reference genome.fa --queries other.fa --min-length 50 --output other.mems

    Finds every match of at least --min-length bases between a query and the reference that cannot be extended. --output
    is text as MUMmer 3 writes it (`mummer -maxmatch -n -b`; --strands and --unique replace its other options): for each
    query a line `> name`, then contig, position in the contig, position in the query and length, with positions counted
    from 1. A summary (.json) is written next to it.
    """
    parser = search_parser(mems, "FILE", "queries")
    given, settings = parse_search(parser, arguments)
    with run_command():
        with loading():
            from quire.mems.search import MemsOutputs, MemsSettings, find_mems

        check_files("mems", vars(given), "--")
        outputs = MemsOutputs(given.output, beside(given.output, "mems", "json"))
        require_apart((outputs.mems, outputs.summary), (given.queries, given.reference))
        with parser.index(given) as index:
            inputs = SearchInputs(*index, Path(given.reference), Path(given.queries))
            find_mems(inputs, outputs, MemsSettings(**settings))
        print_counts(outputs.summary)


def pairwise(arguments: list[str]) -> None:
    """Align two sequences optimally.

        quire pairwise --query a.fa --target b.fa:chr20:1-100000 --output ab.paf

    Aligns two sequences of up to a million bases by their whole matrix, so that no other alignment scores better under
    the scores given, with affine gaps. --output is a PAF with the CIGAR in its tag cg. A BAM (.bam) of the alignment
    and a summary (.json) with score and identity are written next to it.
    """
    parser = search_parser(pairwise, "PAF", "query", "target")
    given, settings = parse_search(parser, arguments)
    with run_command():
        with loading():
            from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair

        check_files("pairwise", vars(given), "--")
        outputs = PairwiseOutputs(given.output, beside(given.output, "paf", "bam"), beside(given.output, "paf", "json"))
        files = [fasta_and_region(text)[0] for text in (given.query, given.target)]
        require_apart((outputs.paf, outputs.bam, outputs.summary), files)
        align_pair(given.query, given.target, outputs, PairwiseSettings(**settings))
        print_counts(outputs.summary)


def search_parser(function: Callable[[list[str]], None], output: str, *inputs: str) -> CommandParser:
    """Return the parser of a search, whose function has the name of its list in the configuration."""
    parser, tool = CommandParser(function), function.__name__
    if tool != "pairwise":
        parser.add_reference()
    for key in inputs:
        words = parser.schema[tool]["items"]["properties"][key]["description"]
        parser.add_argument(f"--{key}", required=True, metavar="FILE", help=words)
    parser.add_output(output)
    parser.add_keys(tool, without=["name", *inputs])
    parser.add_device()
    return parser


def parse_search(parser: CommandParser, arguments: list[str]) -> tuple[Namespace, dict[str, Any]]:
    """Return the arguments of a search, and its settings."""
    given = parser.parse_args(arguments)
    return given, {"name": given.output.stem, "threads": given.threads, **parser.all_keys(given)}
