"""Unsorted records to the sorted, marked and indexed file: Quire against samtools sort, markdup and index.

Each starts from its mapper's output: Quire from buckets, samtools from a BAM in the order of the reads. The records are
of simulated reads of 2 Mb of chr20 at 30x, and of a second copy of a third of them, so that there are duplicates. The
answers must be the same, record by record.
"""

import hashlib
import os
from pathlib import Path

import pysam
from quire.buckets.file import BucketFile
from quire.finish.marking import Marking
from quire.finish.sorting import Effort, SortedFile, sort_and_mark

from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    print_setting,
    print_table,
    python,
    quire_command,
    run,
    write_measurement,
)
from tests.support.no_counting import NoCounting

REGION = "20:10000001-12000000"
COPIED = 3  # one in this many pairs has a copy
MEMORY_MB = 4000


def with_duplicates(mates: tuple[Path, Path], folder: Path) -> tuple[Path, Path]:
    """Write both files with some of their pairs a second time, under another name."""
    copies = folder / "copied_1.fq.gz", folder / "copied_2.fq.gz"
    for source, target in zip(mates, copies, strict=True):
        if not target.exists():
            again = f"awk 'int((NR - 1) / 4) % {COPIED} == 0 {{ if (NR % 4 == 1) sub(/^@/, \"@copy_\"); print }}'"
            run(f"( zcat {source}; zcat {source} | {again} ) | gzip -1 > {target}.tmp && mv {target}.tmp {target}")
    return copies


def finish(buckets: Path, output: Path, threads: int) -> None:
    """Sort, mark and index, in a process that is timed."""
    units = [(BucketFile(buckets), 0)]
    file, effort = SortedFile(output, Path(f"{output}.bai")), Effort(threads, MEMORY_MB)
    sort_and_mark("bench", units, file, effort, NoCounting(), Marking())


def digest(bam: Path) -> str:
    """Return a digest of all records as text."""
    total = hashlib.sha256()
    with pysam.AlignmentFile(str(bam)) as stream:
        for record in stream:
            total.update(record.to_string().encode())
    return total.hexdigest()[:16]


def commands(inputs: Inputs, threads: int) -> dict[str, tuple[str, Path]]:
    """Map the reads, and return for each program the command that finishes them, and its output."""
    work, fasta = inputs.work, inputs.chromosome_20()
    index, unsorted = work / "quire_index", work / "finishing.unsorted.bam"
    mates = with_duplicates(inputs.simulated(fasta, REGION, 1, "--coverage 30"), work)
    if not (index / "reference").exists():
        run(python(f"bench.build_index {fasta} {index}"))
    buckets = unsorted.with_suffix(".buckets")
    for records in (unsorted, buckets):
        run(quire_command(index, mates, records, threads))
    own, other = work / "finishing.quire.bam", work / "finishing.samtools.bam"
    call = f"bench.finishing --data {inputs.data} --work {work} --threads {threads} --finish {buckets} {own}"
    more = threads - 1
    return {
        "quire": (python(call), own),
        "samtools": (
            f"samtools sort -@ {more} -l 1 -m 1G {unsorted} -o {other}.sorted && "
            f"samtools markdup -@ {more} -l 1024 {other}.sorted {other} && samtools index -@ {more} {other}",
            other,
        ),
    }


def main() -> None:
    """Map, finish with both, compare."""
    parser = arguments(__doc__)
    parser.add_argument("--finish", type=Path, nargs=2, metavar=("BUCKETS", "OUTPUT"), help="used by this program")
    given = parser.parse_args()
    if given.finish:
        finish(*given.finish, given.threads)
        return
    print_setting(("samtools",))
    found = commands(Inputs(given.data, given.work), given.threads)
    run(found["quire"][0])  # compiles
    rows = [_row(name, output, run(command)) for name, (command, output) in found.items()]
    add_figures({"records that differ": int(rows[0][-1] != rows[1][-1])})
    print_table(("what", "s", "core-seconds", "MB, largest process", "MB of output", "records"), rows)
    write_measurement()


def _row(name: str, output: Path, timing: Timing) -> tuple[object, ...]:
    figures = f"{timing.seconds:.1f}", f"{timing.cpu_seconds:.1f}", f"{timing.peak_megabytes:.0f}"
    return name, *figures, f"{os.path.getsize(output) / 1e6:.1f}", digest(output)


if __name__ == "__main__":
    main()
