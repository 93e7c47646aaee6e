"""Find every place of each read with at most k differences.

    python -m quire.complete --reference genome.fa --reads reads.fq --max-differences 3 --output places.bam

Finds each place in the reference where a whole read lies with at most --max-differences substitutions, inserted and
deleted bases, on both strands, none left out. --output is a BAM in the order of the reads, the best place of a read
first and the others as secondary records. Two files beside it hold the number of places of each read (.counts.tsv) and
a summary (.json).
"""

from pathlib import Path

from quire.run.interrupts import loading

with loading():
    from quire.io.sniff import require_fastq
    from quire.run.command_line import ToolParser, beside, require_apart, run_tool
    from quire.run.inputs import require_file


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and search."""
    parser = ToolParser("complete", str(__doc__), ("reads",), "BAM")
    given = parser.parse_args(arguments)

    def search() -> Path:
        with loading():
            from quire.complete.search import CompleteInputs, CompleteOutputs, CompleteSettings, search_reads

        require_file(given.reads, "--reads")
        require_fastq(given.reads, "--reads")
        counts, summary = (beside(given.output, "bam", ending) for ending in ("counts.tsv", "json"))
        outputs = CompleteOutputs(given.output, counts, summary)
        require_apart((given.output, counts, summary), (given.reads, given.reference))
        with parser.index(given) as (reference, pages):
            search_reads(
                CompleteInputs(reference, pages, Path(given.reference), Path(given.reads)),
                outputs,
                CompleteSettings(given.output.stem, **parser.keys(given), **parser.device(given)),
            )
        return outputs.summary

    run_tool(search)


if __name__ == "__main__":
    main()
