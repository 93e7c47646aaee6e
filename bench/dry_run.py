"""Dry run of a cohort: time of Snakemake's plan, and jobs that a cluster would be given.

    python -m bench.dry_run --samples 1000

Each sample has 200 pairs of reads of the small real set (tests/data/chr22_40kb) in gVCF mode; the genome is cut into
five pieces, about as many as a human genome has. A first dry run knows neither the pages of the index nor the pieces; a
second one is done when both exist, and a third one for Slurm (profiles/slurm).
"""

import gzip
import re
import shutil
import sys
from pathlib import Path

import yaml

from bench.common import REPOSITORY, add_figures, arguments, print_setting, print_table, run, write_measurement

SMALL = REPOSITORY / "tests" / "data" / "chr22_40kb"
SUBMITTED = re.compile(r"^\[.*\] Group job|^rule (?!all|check_gvcfs)\w+:|^Job \d+: Compiling", re.MULTILINE)
PAIRS = 200


def write_cohort(folder: Path, samples: int) -> Path:
    """Write reads, sheets and configuration of a cohort, and return the configuration."""
    (folder / "reads").mkdir(parents=True)
    rows, units = ["sample\tploidy"], ["sample\tunit\tfq1\tfq2\tplatform\tlibrary"]
    mates = [
        b"".join(gzip.decompress((SMALL / f"NA12878_R{mate}.fastq.gz").read_bytes()).splitlines(True)[: 4 * PAIRS])
        for mate in (1, 2)
    ]
    for number in range(samples):
        name = f"S{number:04}"
        files = [f"reads/{name}_R{mate}.fastq.gz" for mate in (1, 2)]
        for path, text in zip(files, mates, strict=True):
            (folder / path).write_bytes(gzip.compress(text.replace(b"@A00", f"@{number}.A00".encode()), 1))
        rows.append(f"{name}\t2")
        units.append("\t".join([name, "lane_1", *files, "ILLUMINA", "library"]))
    (folder / "samples.tsv").write_text("\n".join(rows) + "\n")
    (folder / "units.tsv").write_text("\n".join(units) + "\n")
    config = {
        "reference": {"fasta": str(SMALL / "genome.fa.gz")},
        "samples": "samples.tsv",
        "units": "units.tsv",
        "output": "out",
        "device": {"backend": "cpu"},
        "rescore": {"gvcf": True, "interval_size": 10_000},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder / "config.yaml"


def main() -> None:
    """Time the dry runs."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--samples", type=int, default=1000)
    given = parser.parse_args()
    print_setting({})
    folder = (given.work / f"dry_run_{given.samples}").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    config = write_cohort(folder, given.samples)
    snakemake = f"{sys.executable} -m snakemake -s {REPOSITORY}/Snakefile --directory {folder} --configfile {config}"
    plan, rows = folder / "plan.txt", []
    slurm = f"--workflow-profile {REPOSITORY}/profiles/slurm"
    known = "out/rescore/pieces.json out/index/page_0/manifest.json"
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
