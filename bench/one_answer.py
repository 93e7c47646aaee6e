"""Equal records of the mapper for 1 and 2 threads, small and large batches, and pages of several sizes.

The sets are the demo's reads, E. coli (simulated 2x150 without variants) and yeast (real 2x50, a genome with repeats).
Exits with status 1 if any digest differs.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pysam

from bench.common import (
    Inputs,
    add_figures,
    arguments,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.simulate import WHOLE_GENOME

PAGE_SIZES = (300_000, 1_000_000, 1 << 30)
BATCHES = (1_000, 100_000)
ECOLI_PAIRS = 50_000


def digest_of_records(path: Path) -> str:
    """Return a digest of the records as text, without the header (which contains the command)."""
    text = pysam.samtools.view("--no-PG", str(path))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(name: str, fasta: Path, mates: Sequence[Path], inputs: Inputs) -> list[tuple]:
    """Map one set in all ways; return rows of (set, page size, batch, threads, digest)."""
    rows = []
    for page_size in PAGE_SIZES:
        index = inputs.quire_index(fasta, page_size)
        for batch, threads in ((BATCHES[0], 1), (BATCHES[0], 2), (BATCHES[1], 1), (BATCHES[1], 2)):
            output = inputs.work / f"one_answer.{name}.bam"
            run(quire_command(index, mates, output, threads, batch))
            rows.append((name, page_size, batch, threads, digest_of_records(output)))
    return rows


def sets_of_reads(inputs: Inputs) -> dict[str, tuple[Path, Sequence[Path]]]:
    """Return name, FASTA and reads of the three sets."""
    demo = inputs.plain("demo", inputs.demo / "hg19.chr20.masked.fa.gz")
    ecoli = inputs.plain("ecoli", inputs.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    yeast = inputs.plain("yeast", inputs.data / "yeast_100k" / "genome.fa.gz")
    ecoli_reads = inputs.simulated(ecoli, WHOLE_GENOME, 1, f"--pairs {ECOLI_PAIRS}", has_variants=False)
    return {
        "demo": (demo, [inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)]),
        "ecoli": (ecoli, ecoli_reads),
        "yeast": (yeast, sorted((inputs.data / "yeast_100k").glob("SRR5204809*.fastq.gz"))),
    }


def main() -> None:
    """Map all sets in all ways and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--only", choices=("demo", "ecoli", "yeast"), help="one of the sets")
    given = parser.parse_args()
    print_setting(())
    inputs = Inputs(given.data, given.work)
    differing = []
    rows = []
    for name, (fasta, mates) in sets_of_reads(inputs).items():
        if given.only in (None, name):
            found = digests(name, fasta, mates, inputs)
            rows += found
            if len({row[-1] for row in found}) > 1:
                differing.append(name)
    print_table(("reads", "page size", "batch", "threads", "digest of the records"), rows)
    add_figures({"sets whose records differ": len(differing)})
    write_measurement()
    if differing:
        sys.exit(f"records differ for {', '.join(differing)}")
    print("one answer for every set")


if __name__ == "__main__":
    main()
