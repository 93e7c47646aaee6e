"""Maximal exact matches between queries and a reference.

    python -m quire.mems --reference genome.fa --queries other.fa --min-length 50 --output other.mems

Finds every match of at least --min-length bases between a query and the reference that cannot be extended. --output is
text as MUMmer 3 writes it (`mummer -maxmatch -n -b`; --strands and --unique replace its other options): for each query
a line `> name`, then contig, position in the contig, position in the query and length, with positions counted from 1.
A summary (.json) is written next to it.
"""

from pathlib import Path

from quire.run.interrupts import loading

with loading():
    from quire.io.sniff import require_sequences
    from quire.run.command_line import ToolParser, beside, require_apart, run_tool
    from quire.run.inputs import require_file


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and search."""
    parser = ToolParser("mems", str(__doc__), ("queries",), "FILE")
    given = parser.parse_args(arguments)

    def search() -> Path:
        with loading():
            from quire.mems.search import MemsInputs, MemsOutputs, MemsSettings, find_mems

        require_file(given.queries, "--queries")
        require_sequences(given.queries, "--queries")
        outputs = MemsOutputs(given.output, beside(given.output, "mems", "json"))
        require_apart((outputs.mems, outputs.summary), (given.queries, given.reference))
        with parser.index(given) as (reference, pages):
            find_mems(
                MemsInputs(reference, pages, Path(given.reference), Path(given.queries)),
                outputs,
                MemsSettings(given.output.stem, **parser.keys(given), **parser.device(given)),
            )
        return outputs.summary

    run_tool(search)


if __name__ == "__main__":
    main()
