"""One answer on a card: the records of simulated pairs on chr20 from the CPU, and from the card with several amounts
of its memory; with small pages the least of them forces pages to be cycled. With --genome-bases a larger synthetic
genome takes the place of chr20, whose pages 2 GB and 8 GB force to be cycled.

Exits with status 1 if any digest differs.
"""

import sys
from pathlib import Path

from quire.device.choice_gpu import use_backend

from bench.common import Inputs, arguments, print_setting, print_table, quire_command, run
from bench.gpu_mapping import write_fastq
from bench.one_answer import digest_of_records
from bench.synthetic_genome import write_genome

# Page size and amounts of memory; on chr20 600 MB hold the text and some of the small pages.
CHROMOSOME = ((1 << 22, ("600MB", "2GB", "8GB", "auto")), (1 << 30, ("2GB", "8GB", "auto")))
GENOME = ((1 << 26, ("2GB", "8GB", "auto")),)


def main() -> None:
    """Map with both backends and compare."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--genome-bases", type=int, default=0, help="of a synthetic genome instead of chr20")
    given = parser.parse_args()
    print_setting(())
    with use_backend("auto") as (backend, open_card):
        if open_card is None:
            print(f"not measured: {backend.reason}")
            return
    inputs = Inputs(given.data, given.work)
    if given.genome_bases:
        fasta = inputs.work / "synthetic" / "synthetic.fa"
        fasta.parent.mkdir(exist_ok=True)
        write_genome(fasta, given.genome_bases, 1, given.threads)
    else:
        fasta = inputs.chromosome_20()
    rows: list[tuple[object, ...]] = []
    mates: list[Path] = []
    for page_size, memories in GENOME if given.genome_bases else CHROMOSOME:
        index = inputs.quire_index(fasta, page_size, "--backend gpu")
        mates = mates or write_fastq(index / "reference", given.work, given.pairs, given.threads)
        runs = [("cpu", "auto"), *(("gpu", memory) for memory in memories)]
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
