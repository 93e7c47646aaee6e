"""Dry run of a cohort: time of Snakemake's plan, and jobs that a cluster would be given.

    python -m bench.dry_run --samples 1000

Each sample has 200 pairs of reads of the small real set (tests/data/chr22_40kb) in gVCF mode; the genome is cut into
five pieces, about as many as a human genome has. A first dry run knows neither the pages of the index nor the pieces; a
second one is done when both exist, and a third one for Slurm (profiles/slurm).
"""

import gzip
import re
from pathlib import Path

from bench.common import REPOSITORY, add_figures, arguments, print_setting, print_table, run, write_measurement
from bench.workflow import SNAKEMAKE, Units, configure

SMALL = REPOSITORY / "tests" / "data" / "chr22_40kb"
SUBMITTED = re.compile(r"^\[.*\] Group job|^rule (?!all|check_gvcfs)\w+:|^Job \d+: Compiling", re.MULTILINE)
PAIRS = 200


def write_reads(folder: Path, samples: int) -> dict[str, Units]:
    """Write the reads of a cohort; return the units of each sample."""
    folder.mkdir(parents=True, exist_ok=True)
    mates = [
        b"".join(gzip.decompress((SMALL / f"NA12878_R{mate}.fastq.gz").read_bytes()).splitlines(True)[: 4 * PAIRS])
        for mate in (1, 2)
    ]
    units: dict[str, Units] = {}
    for number in range(samples):
        name = f"S{number:04}"
        files = folder / f"{name}_R1.fastq.gz", folder / f"{name}_R2.fastq.gz"
        for path, text in zip(files, mates, strict=True):
            path.write_bytes(gzip.compress(text.replace(b"@A00", f"@{number}.A00".encode()), 1))
        units[name] = [files]
    return units


def main() -> None:
    """Time the dry runs."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--samples", type=int, default=1000)
    given = parser.parse_args()
    print_setting({})
    folder = (given.work / f"dry_run_{given.samples}").absolute()
    units = write_reads(given.work / "dry_run_reads", given.samples)
    settings = {"gvcf": True, "interval_size": 10_000}
    config = configure(folder, SMALL / "genome.fa.gz", units, "cpu", rescore=settings)
    snakemake = f"{SNAKEMAKE} --directory {folder} --configfile {config}"
    plan, rows = folder / "plan.txt", []
    slurm = f"--workflow-profile {REPOSITORY}/profiles/slurm"
    known = f"{folder}/results/rescore/pieces.json {folder}/results/index/page_0/manifest.json"
    for name, options in (("before the index", "--cores 2"), ("after it", "--cores 2"), ("for Slurm", slurm)):
        if name == "after it":
            run(f"{snakemake} --cores 2 {known} > {plan} 2>&1")
        timing = run(f"{snakemake} {options} --dry-run > {plan} 2>&1")
        jobs = re.findall(r"^total +(\d+)$", plan.read_text(), re.MULTILINE)[0]
        rows.append([f"dry run {name}", round(timing.seconds, 1), round(timing.peak_megabytes), int(jobs)])
    print_table(["", "s", "MB", "jobs"], rows, f"{given.samples} samples")
    submitted = len(SUBMITTED.findall(plan.read_text()))
    print(f"a cluster would be given {submitted} jobs")
    add_figures(
        {
            f"{given.samples} samples, longest dry run, s": max(row[1] for row in rows),
            f"{given.samples} samples, jobs of a cluster": submitted,
        }
    )
    write_measurement()


if __name__ == "__main__":
    main()
