"""Equal records on CPU and card: digests of the CPU's records, and of the card's with different amounts of memory.

The sets are the demo, simulated pairs of chr20, where 600 MB force small pages to be cycled, and optionally a synthetic
genome of 3.1 Gb, where 2 GB and 8 GB do. Exits with status 1 if any digest of a set differs.
"""

import sys
from pathlib import Path

from quire.device.choice import use_backend

from bench.common import (
    REPOSITORY,
    Inputs,
    add_figures,
    arguments,
    measured_on,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.gpu_mapping import write_fastq
from bench.one_answer import digest_of_records
from bench.synthetic_genome import write_genome

# For each set: page sizes, and the amounts of memory to try with each.
SETS = {
    "demo": ((300_000, ("100MB", "auto")), (1 << 30, ("auto",))),
    "chr20": ((1 << 22, ("600MB", "2GB", "8GB", "auto")), (1 << 30, ("2GB", "8GB", "auto"))),
    "synthetic": ((1 << 26, ("2GB", "8GB", "auto")),),
}


def compare(name: str, inputs: Inputs, pairs: int, bases: int, threads: int) -> list[tuple[object, ...]]:
    """Map one set on both backends; return rows of (set, page size, backend, memory, seconds, digest)."""
    demo = REPOSITORY / "tests" / "data" / "demo"
    mates: list[Path] = []
    if name == "demo":
        fasta = inputs.plain("demo", demo / "hg19.chr20.masked.fa.gz")
        mates = [demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)]
    elif name == "chr20":
        fasta = inputs.chromosome_20()
    else:
        fasta = inputs.work / "synthetic" / "synthetic.fa"
        fasta.parent.mkdir(exist_ok=True)
        write_genome(fasta, bases, 1, threads)
    rows: list[tuple[object, ...]] = []
    for page_size, memories in SETS[name]:
        index = inputs.quire_index(fasta, page_size, "--backend gpu")
        mates = mates or write_fastq(index / "reference", fasta.parent, pairs, threads)
        for backend, memory in (("cpu", "auto"), *(("gpu", memory) for memory in memories)):
            output = inputs.work / "gpu_answer.bam"
            command = quire_command(index, mates, output, threads, log=False, backend=backend, memory=memory)
            seconds = run(command).seconds
            rows.append((name, page_size, backend, memory, f"{seconds:.1f}", digest_of_records(output)))
    return rows


def main() -> None:
    """Map on both backends and compare."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="to be simulated")
    parser.add_argument("--genome-bases", type=int, default=3_100_000_000, help="of the synthetic genome")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=("demo", "chr20"), help="which ones")
    given = parser.parse_args()
    print_setting(())
    with use_backend("auto") as (backend, open_card):
        if open_card is None:
            print(f"not measured: {backend.reason}")
            return
        measured_on(backend.card)
    inputs = Inputs(given.data, given.work)
    rows: list[tuple[object, ...]] = []
    for name in given.sets:
        rows += compare(name, inputs, given.pairs, given.genome_bases, given.threads)
    print_table(("set", "page size", "backend", "memory", "s", "digest of the records"), rows)
    digests = {(row[0], row[-1]) for row in rows}
    add_figures({"sets whose records differ": len(digests) - len(given.sets)})
    write_measurement()
    if len(digests) > len(given.sets):
        sys.exit("records differ")
    print("one answer for every set")


if __name__ == "__main__":
    main()
