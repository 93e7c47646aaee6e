"""One optimal alignment of two sequences.

    python -m quire.pairwise --query a.fa --target b.fa:chr20:1-100000 --output ab.paf

Aligns two sequences of up to a million bases by their whole matrix, so that no other alignment scores better under the
scores given, with affine gaps. --output is a PAF with the CIGAR in its tag cg. A BAM (.bam) of the alignment and a
summary (.json) with score and identity are written next to it.
"""

from pathlib import Path

from quire.run.interrupts import loading

with loading():
    from quire.run.command_line import ToolParser, beside, require_apart, run_tool
    from quire.run.exact_tools import fasta_and_region, require_sequence_of_pair


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and align."""
    parser = ToolParser("pairwise", str(__doc__), ("query", "target"), "PAF")
    given = parser.parse_args(arguments)

    def align() -> Path:
        with loading():
            from quire.pairwise.alignment import PairwiseInputs, PairwiseOutputs, PairwiseSettings, align_pair

        for side in ("query", "target"):
            require_sequence_of_pair(getattr(given, side), f"--{side}")
        query, query_region = fasta_and_region(given.query)
        target, target_region = fasta_and_region(given.target)
        bam, summary = (beside(given.output, "paf", ending) for ending in ("bam", "json"))
        outputs = PairwiseOutputs(given.output, bam, summary, None)
        require_apart((given.output, bam, summary), (query, target))
        align_pair(
            PairwiseInputs(Path(query), query_region or "", Path(target), target_region or ""),
            outputs,
            PairwiseSettings(given.output.stem, **parser.keys(given), **parser.device(given)),
        )
        return outputs.summary

    run_tool(align)


if __name__ == "__main__":
    main()
