"""Joint genotyping by number of samples: time, memory and disk of Quire and of its peers, and agreement with GATK.

    python -m bench.cohort --data FOLDER --cohort FOLDER --samples 10 100 1000 --bases 2000000

The cohort is written by bench.cohort_samples. Memory is that of all processes of a program together (the proportional
set size, so that shared pages count once). GATK and Quire of one size are compared. GLnexus reads whole gVCFs, so the
cohort's should be as long as --bases. `python -m bench.cohort --plot FOLDER` draws the newest figures.
"""

import re
import shutil
from collections import defaultdict
from pathlib import Path

from quire import reference
from quire.report.drawing import Drawing, Scale

from bench.cohort_compare import compare, print_comparison, sites_of, true_share
from bench.cohort_peers import PROGRAMS, Task, Work, plain_reference, versions
from bench.common import Timing, arguments, print_setting, print_table, read_lines, run, write_measurement, write_svg
from bench.watching import peak_memory

CONTIG, START = "20", 1_000_000
HEADER = ("", "s", "core-seconds", "ms a sample and 1,000 bases", "peak MB", "MB of database", "MB of VCF")
COLORS = {"quire": "#2b6cb0", "gatk": "#c53030", "bcftools": "#718096", "glnexus": "#b7791f"}
PLOTS = {"core-seconds": ("time", "core-seconds"), "peak MB": ("memory", "MB")}


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
