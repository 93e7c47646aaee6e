"""Counting a finished sample in one pass, against the same counts by samtools and Picard.

    python -m bench.counts --bam S.bam --fasta G.fa --reference INDEX/reference

`--fasta` is plain or bgzip, with its index. The samtools commands are those that finishing and reporting a sample ran
before Quire counted: records, flagstat, records again, then flagstat, stats and the depth of every position.
"""

import json
import shutil
import sys
from pathlib import Path

from quire.finish.counts.outputs import CountsOutputs
from quire.reference import Reference

from bench.common import Timing, add_figures, arguments, print_setting, print_table, python, run, write_measurement
from tests.support import peer_counts
from tests.support.count_files import count_file


def fastest(command: str, repeats: int) -> Timing:
    """Return the run with the least processor time."""
    return min((run(command) for _ in range(repeats)), key=lambda timing: timing.cpu_seconds)


def count(bam: str, reference: str, folder: str, threads: str) -> None:
    """Write the counts of one finished BAM to a folder, in this process."""
    names = (Path(folder) / name for name in ("counts.json", "windows.bed.gz", "low.bed.gz"))
    opened = Reference.open(Path(reference))
    count_file("S", Path(bam), opened, int(threads), CountsOutputs(*names, low_depth=10))


def main() -> None:
    """Measure and compare."""
    if sys.argv[1:2] == ["--count"]:
        count(*sys.argv[2:])
        return
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--bam", type=Path, required=True, help="sorted, marked and indexed")
    parser.add_argument("--fasta", type=Path, required=True, help="plain or bgzip, with its index")
    parser.add_argument("--reference", type=Path, required=True, help="the packed reference")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print_setting(["samtools"])
    folder = options.work / "counts"
    folder.mkdir(parents=True, exist_ok=True)
    bam, more = options.bam, f"-@ {options.threads - 1}" if options.threads > 1 else ""
    ours = python(f"bench.counts --count {bam} {options.reference} {folder} {options.threads}")
    run(ours)  # compiles
    commands = {
        "Quire, every count": ours,
        "samtools view -c": f"samtools view -c {more} {bam} > {folder}/count.txt",
        "samtools flagstat": f"samtools flagstat {more} {bam} > {folder}/flagstat.txt",
        "samtools stats": f"samtools stats {more} {bam} > {folder}/stats.txt",
        "samtools depth -a": f"samtools depth -a {more} {bam} > /dev/null",
    }
    rows = []
    for name, command in commands.items():
        timing = fastest(command, options.repeats)
        rows.append([name, f"{timing.seconds:.2f}", f"{timing.cpu_seconds:.2f}", f"{timing.peak_megabytes:.0f}"])
    print_table(["program", "s", "processor s", "peak MB"], rows)
    figures = json.loads((folder / "counts.json").read_text())
    differences = peer_counts.samtools_differences(figures, bam, options.fasta)
    print(f"differs from samtools stats, flagstat, idxstats, coverage: {differences or 'nothing'}")
    add_figures({"figures that differ from samtools": len(differences)})
    if peer_counts.picard() is None:
        print("Picard is not installed")
        write_measurement()
        return
    differences = peer_counts.picard_gc_bias_differences(figures, bam, options.fasta, folder)
    print(f"differs from CollectGcBiasMetrics: {differences or 'nothing'}")
    add_figures({"figures that differ from Picard's GC bias": len(differences)})
    marked, metrics = peer_counts.picard_mark_duplicates(bam, folder)
    run(python(f"bench.counts --count {marked} {options.reference} {folder} 1"))
    figures = json.loads((folder / "counts.json").read_text())
    print(f"differs from MarkDuplicates: {peer_counts.duplication_differences(figures, metrics) or 'nothing'}")
    shutil.rmtree(folder)
    write_measurement()


if __name__ == "__main__":
    main()
