"""Memory and disk that the jobs of a run take, next to what they ask a scheduler for.

`bench.watching` tells how memory and disk are measured. To the memory of a job is added what a cluster counts as the
job's too: two processes of Snakemake.
"""

from argparse import Namespace
from pathlib import Path

from quire import reference
from quire.io.files import open_input

from bench.cards import name_card
from bench.common import Inputs, arguments, print_setting, print_table, write_measurement
from bench.gpu_mapping import LENGTH
from bench.human_size import write_reads
from bench.synthetic_genome import write_genome
from bench.watching import MEGABYTE, Watch, watched
from bench.workflow import Units, configure, run_workflow

PROCESSES = 2  # that draw genome and reads
HEADER = ("rule", "threads", "asks, MB", "takes, MB", "not in files, MB", "ratio", "disk, asks, MB", "disk, takes, MB")


def rows_of(watch: Watch) -> list[tuple[object, ...]]:
    """Return a row of `HEADER` for each rule: its job that took the largest share of the memory that it asked for."""
    tightest: dict[str, tuple[float, tuple[object, ...]]] = {}
    for job in watch.jobs.values():
        takes, asks = job.memory + 2 * watch.snakemake, job.asked["mem_mb"]
        figures = asks, round(takes), round(job.anonymous), f"{asks / takes:.2f}", job.asked["disk_mb"], round(job.disk)
        tightest[job.rule] = max(
            tightest.get(job.rule, (0.0, ())), (takes / max(asks, 1), (job.rule, job.threads, *figures))
        )
    return [row for _, row in tightest.values()]


def inputs_of(given: Namespace) -> tuple[Path, Units]:
    """Return FASTA and units: real ones of yeast, or reads drawn from E. coli, chr20 or a synthetic genome."""
    name, folder = given.genome, given.work / f"job_memory_{given.genome}"
    folder.mkdir(parents=True, exist_ok=True)
    fasta = folder / "genome.fa"
    if name == "chr20":
        fasta = Inputs(given.data, given.work).chromosome_20()
    elif not fasta.exists() and name in ("ecoli", "yeast"):
        source = {"ecoli": "genomes/ecoli_K12_MG1655_from_bwa_pac.fa.gz", "yeast": "yeast_100k/genome.fa.gz"}[name]
        with open_input(given.data / source) as text:
            fasta.write_bytes(text.read())
    elif not fasta.exists():
        write_genome(fasta, int(float(name) * MEGABYTE), 1, PROCESSES)
    if name == "yeast":
        first = sorted((given.data / "yeast_100k").glob("*_R1.fastq.gz"))
        return fasta, [(path, path.with_name(path.name.replace("_R1.", "_R2."))) for path in first]
    packed = folder / "packed"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    pairs = int(reference.Reference.open(packed, verify=False).axis_length * given.coverage / (2 * LENGTH))
    mates = [folder / f"{given.coverage:g}x_{mate}.fq.gz" for mate in (1, 2)]
    if not mates[1].exists():
        drawn = write_reads(packed, folder / "drawn", pairs, PROCESSES, not given.forty_values)
        for path, final in zip(drawn, mates, strict=True):
            path.rename(final)
    return fasta, [(mates[0], mates[1])]


def main() -> None:
    """Run the workflow, and print what the jobs of each rule asked for and took."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--genome", default="10", help="yeast, ecoli, chr20, or the megabases of a synthetic genome")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--forty-values", action="store_true", help="quality values as drawn instead of four")
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="cpu")
    given = parser.parse_args()
    given.work = given.work.resolve()
    print_setting(())
    name_card(given.backend)
    fasta, units = inputs_of(given)
    folder = given.work / f"job_memory_run_{given.genome}"
    configuration = configure(folder, fasta, {"sample": units}, given.backend)
    with watched(folder) as watch:
        run_workflow(configuration, given.threads)
    print_table(HEADER, rows_of(watch))
    write_measurement(", ".join([given.genome, f"{given.coverage:g}x", f"{given.threads} threads"]))


if __name__ == "__main__":
    main()
