"""One answer on a card: the records of simulated pairs on chr20 from the CPU, and from the card with several amounts
of its memory, the least of which forces pages to be cycled.

Exits with status 1 if any digest differs.
"""

import sys
from pathlib import Path

from quire.reference import Reference

from bench.common import Inputs, arguments, print_setting, print_table, quire_command, run
from bench.gpu_mapping import write_fastq
from bench.one_answer import digest_of_records

PAGE_SIZES = (1 << 22, 1 << 30)
MEMORIES = ("600MB", "2GB", "8GB", "auto")


def main() -> None:
    """Map with both backends and compare."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    given = parser.parse_args()
    print_setting(())
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    rows: list[tuple[object, ...]] = []
    mates: list[Path] = []
    for page_size in PAGE_SIZES:
        index = inputs.quire_index(fasta, page_size)
        mates = mates or write_fastq(Reference.open(index / "reference"), given.work, given.pairs)
        runs = [("cpu", "auto"), *(("gpu", memory) for memory in MEMORIES)]
        for backend, memory in runs:
            output = given.work / "gpu_answer.bam"
            command = quire_command(index, mates, output, given.threads, log=False)
            seconds = run(f"{command} --backend {backend} --memory {memory}").seconds
            rows.append((page_size, backend, memory, f"{seconds:.1f}", digest_of_records(output)))
    print_table(("page size", "backend", "memory", "s", "digest of the records"), rows)
    if len({row[-1] for row in rows}) > 1:
        sys.exit("records differ")
    print("one answer")


if __name__ == "__main__":
    main()
