"""Joint genotyping by number of samples: time, memory and disk of Quire and of its peers, and agreement with GATK.

    python -m bench.cohort --data FOLDER --cohort FOLDER --samples 10 100 1000 --bases 2000000

The cohort is written by bench.cohort_samples. Memory is that of all processes of a program together (the proportional
set size, so that shared pages count once). GATK and Quire of one size are compared. GLnexus reads whole gVCFs, so the
cohort's should be as long as --bases. `python -m bench.cohort --plot FOLDER` draws the newest figures. GATK's jars
are in the folder that GATK_JARS names; GLNEXUS names the program glnexus_cli.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from quire import reference
from quire.report.drawing import Drawing, Scale

from bench.calling import GATK
from bench.cohort_compare import compare, print_comparison, sites_of, true_share
from bench.common import (
    PEERS,
    Timing,
    arguments,
    output_of,
    print_setting,
    print_table,
    read_lines,
    run,
    write_measurement,
    write_svg,
)
from bench.watching import peak_memory

CONTIG, START = "20", 1_000_000
HEADER = ("", "s", "core-seconds", "ms a sample and 1,000 bases", "peak MB", "MB of database", "MB of VCF")
COLORS = {"quire": "#2b6cb0", "gatk": "#c53030", "bcftools": "#718096", "glnexus": "#b7791f"}
PLOTS = {"core-seconds": ("time", "core-seconds"), "peak MB": ("memory", "MB")}
GLNEXUS = os.environ.get("GLNEXUS", "glnexus_cli")
VERSIONS = {
    "gatk": f"{GATK} GenotypeGVCFs --version 2> /dev/null | sed -n 's/.*(GATK) v//p'",
    "bcftools": PEERS["bcftools"],
    "glnexus": f"{GLNEXUS} --help 2>&1 | sed -n 's/.*glnexus_cli release \\([^ ]*\\).*/\\1/p'",
}


class Task(NamedTuple):
    """A cohort to join.

    Attributes:
        gvcfs: one of each sample.
        names: names of the samples.
        region: contig, start and end, 0-based, half-open.
        fasta: plain reference, with .fai and .dict.
        packed: folder of the reference stage.
        folder: for all that a program writes.
        threads: threads of each program.
    """

    gvcfs: Sequence[Path]
    names: Sequence[str]
    region: tuple[str, int, int]
    fasta: Path
    packed: Path
    folder: Path
    threads: int

    @property
    def interval(self) -> str:
        """The region as GATK and bcftools write it."""
        contig, start, end = self.region
        return f"{contig}:{start + 1}-{end}"


class Work(NamedTuple):
    """Commands to run one after another, the VCF that they write, and the program's database if it has one."""

    commands: Sequence[str]
    output: Path
    store: Path | None


def plain_reference(source: Path, folder: Path) -> Path:
    """Return chr20 and chr21 as plain FASTA with the files beside it that GATK needs."""
    fasta = folder / "genome.fa"
    if not fasta.exists():
        run(f"samtools faidx {source} 20 21 > {fasta}.tmp && samtools faidx {fasta}.tmp")
        run(f"samtools dict {fasta}.tmp -o {folder}/genome.dict && mv {fasta}.tmp.fai {fasta}.fai")
        Path(f"{fasta}.tmp").rename(fasta)
    return fasta


def quire(task: Task) -> Work:
    """Import all gVCFs, then joint genotyping of one piece."""
    output, store, paths = task.folder / "quire.vcf.gz", task.folder / "quire", task.folder / "quire.json"
    paths.write_text(json.dumps([str(path) for path in task.gvcfs]))
    common = "import json; from pathlib import Path; from quire.rescore.joint import JointRequest, genotype_interval; "
    common += "from quire.rescore.joint.folder import add_gvcfs, stores_of; from quire.reference import Reference; "
    common += f"folder, packed = Path({str(store)!r}), Path({str(task.packed)!r}); "
    imported = f"{common}add_gvcfs(folder, packed, json.load(open({str(paths)!r})), {task.threads})"
    genotyped = f"{common}stores = [store.path for store in stores_of(folder, Reference.open(packed))]; "
    genotyped += f"genotype_interval(JointRequest(packed, stores, [{task.region!r}], {str(output)!r}, 30.0, "
    genotyped += f"threads={task.threads}))"
    return Work([f"{sys.executable} -c {shlex.quote(code)}" for code in (imported, genotyped)], output, store)


def gatk(task: Task) -> Work:
    """GenomicsDBImport and GenotypeGVCFs."""
    store, output, names = task.folder / "genomicsdb", task.folder / "gatk.vcf.gz", task.folder / "gatk.map"
    names.write_text("".join(f"{name}\t{path}\n" for name, path in zip(task.names, task.gvcfs, strict=True)))
    given = f"--genomicsdb-workspace-path {store} -L {task.interval} --batch-size 50"
    imported = f"{GATK} GenomicsDBImport --sample-name-map {names} {given} > {store}.log 2>&1"
    genotyped = f"{GATK} GenotypeGVCFs -R {task.fasta} -V gendb://{store} -O {output} -L {task.interval}"
    return Work([imported, f"{genotyped} > {output}.log 2>&1"], output, store)


def bcftools(task: Task) -> Work:
    """`bcftools merge -g`, and the sites where some sample has an alternate; nothing is genotyped again.

    bcftools 1.16 cannot call such gVCFs: `call -m` asks for QS, which they do not have, and `call -c` crashes.
    """
    output, paths = task.folder / "bcftools.vcf.gz", task.folder / "bcftools.txt"
    paths.write_text("".join(f"{path}\n" for path in task.gvcfs))
    merged = f"bcftools merge -g {task.fasta} -r {task.interval} -l {paths} --threads {task.threads} -Ou"
    kept = f"bcftools view -a -c 1 -Oz --threads {task.threads} -o {output}"
    return Work([f"({merged} | {kept}) 2> {output}.log"], output, None)


def glnexus(task: Task) -> Work:
    """GLnexus with its preset for GATK's gVCFs."""
    store, output, paths = task.folder / "glnexus", task.folder / "glnexus.bcf", task.folder / "glnexus.txt"
    paths.write_text("".join(f"{path}\n" for path in task.gvcfs))
    bed = task.folder / "glnexus.bed"
    bed.write_text("\t".join(map(str, task.region)) + "\n")
    given = f"--config gatk --dir {store} --bed {bed} --threads {task.threads} --mem-gbytes 4 --list {paths}"
    return Work([f"{GLNEXUS} {given} > {output} 2> {output}.log"], output, store)


PROGRAMS: dict[str, Callable[[Task], Work]] = {"quire": quire, "gatk": gatk, "bcftools": bcftools, "glnexus": glnexus}


def versions(programs: Sequence[str]) -> dict[str, str]:
    """Return the versions of the peers among programs."""
    return {name: output_of(VERSIONS[name]) for name in programs if name in VERSIONS}


def megabytes_of(path: Path | None) -> float:
    """Return the size of a file or folder."""
    if path is None or not path.exists():
        return 0.0
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def measured(work: Work) -> tuple[list[Timing], float]:
    """Run the commands of a program; return the timing of each and the peak memory of all processes."""
    with peak_memory() as most:
        timings = [run(command) for command in work.commands]
    return timings, most[0]


def main() -> None:
    """Run the programs on cohorts of each size."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--cohort", type=Path, help="folder that bench.cohort_samples has written")
    parser.add_argument("--samples", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--bases", type=int, default=2_000_000, help=f"bases from {CONTIG}:{START + 1}")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--plot", type=Path, help="draw the newest figures into this folder, and run nothing")
    given = parser.parse_args()
    if given.plot:
        draw(given.plot)
        return
    print_setting(versions(given.programs))
    source = given.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz"
    base = given.work / "cohort"
    base.mkdir(parents=True, exist_ok=True)
    packed, fasta = base / "reference", plain_reference(source, base)
    if not packed.exists():
        reference.build(source, packed, 1 << 30)
    names = sorted(path.name.removesuffix(".g.vcf.gz") for path in given.cohort.glob("*.g.vcf.gz"))
    for size in given.samples:
        folder = base / f"{size}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        chosen = names[:size]
        region = CONTIG, START, START + given.bases
        gvcfs = [given.cohort / f"{name}.g.vcf.gz" for name in chosen]
        task = Task(gvcfs, chosen, region, fasta, packed, folder, given.threads)
        rows, outputs = [], {}
        for program in given.programs:
            work = PROGRAMS[program](task)
            timings, peak = measured(work)
            seconds, processor = (sum(getattr(each, name) for each in timings) for name in ("seconds", "cpu_seconds"))
            each_one = 1e6 * seconds / size / given.bases
            sizes = (round(megabytes_of(path), 1) for path in (work.store, work.output))
            label = f"{program}, {size} samples x {given.bases / 1e6:g} Mb"
            rows.append([label, round(seconds, 1), round(processor, 1), round(each_one, 3), round(peak), *sizes])
            outputs[program] = work.output
        print_table(HEADER, rows)
        found = {name: dict(sites_of(path)) for name, path in outputs.items() if name in ("quire", "gatk")}
        if len(found) == 2:
            comparison = compare(found["quire"], found["gatk"])
            print_comparison(comparison, f"Quire and GATK, {size} samples")
        truth = {
            position: site._replace(genotypes=site.genotypes[:size])
            for position, site in sites_of(given.cohort / "GT.vcf.gz")
            if position <= region[2]
        }
        shares = [[f"{name}, {size} samples", *true_share(sites, truth)] for name, sites in found.items()]
        print_table(["", "true variant genotypes", "found", "REF called variant"], shares)
    write_measurement(f"{given.bases / 1e6:g} Mb")


def draw(folder: Path) -> None:
    """Draw time and memory by number of samples: the newest figures of the region that was measured last."""
    newest: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    lines = [line for line in read_lines() if line["command"].startswith("python -m bench.cohort ")]
    region = lines[-1]["case"]
    for line in lines:
        for name, value in line["figures"].items() if line["case"] == region else ():
            found = re.fullmatch(rf"(\w+), (\d+) samples x {re.escape(region)}: (.+)", name)
            if found and found[3] in PLOTS:
                newest[found[3], found[1]][int(found[2])] = value
    style = "text{font:11px sans-serif}.x{fill:none;stroke:#444}.l{stroke-width:2}"
    style += "".join(f".l.{name}{{fill:none;stroke:{color}}}.{name}{{fill:{color}}}" for name, color in COLORS.items())
    for quantity, (stem, unit) in PLOTS.items():
        curves = {name: sorted(points.items()) for (what, name), points in newest.items() if what == quantity}
        values = [value for points in curves.values() for _, value in points]
        sizes = [size for points in curves.values() for size, _ in points]
        drawing = Drawing(
            Scale("samples", min(sizes), max(sizes), logarithmic=True),
            Scale(unit, min(values), max(values), logarithmic=True),
        )
        for name, points in curves.items():
            drawing.line([size for size, _ in points], [value for _, value in points], name)
            drawing.points(
                [(size, value, f"{name}, {size} samples: {value:,g} {unit}") for size, value in points], name
            )
        drawing.legend([(name, name) for name in curves])
        title = f"{unit} by number of samples, {region}"
        write_svg(folder / f"cohort_{stem}.svg", drawing.svg(title), title, style)


if __name__ == "__main__":
    main()
