"""A whole run as a user starts it, FASTQ.gz to the report through Snakemake, with a table and a picture of its time.

Reads of chr20 at 30x carry the real variants of HG001 and real quality strings. The workflow runs into new folders:
first with an empty cache of compiled kernels (`cold`), then with a full one (`warm`), both with the index built, then
with the index of the run before, as for a laboratory's next sample (`next`). The time of each job is read from
Snakemake's records of its outputs, and the waiting times of mapping and finishing from their logs.
"""

import json
import shutil
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pysam
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END, open_input
from quire.report.drawing import Drawing, Scale

from bench.cards import name_card
from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    print_setting,
    print_table,
    run,
    write_measurement,
    write_svg,
)
from bench.workflow import Units, cache_of, configure, run_workflow

PARTS = 32
CONTIG = "20"
SAME_JOB = 0.1  # seconds between the recorded starts of the outputs of one job, at most
STRETCH = 16 << 20  # bytes of text that a thread compresses at a time
# The rules that take most of a run's time, named as in the README; others are drawn as `other`.
STAGES = {
    "compile_kernels": "compile",
    "pack_reference": "index",
    "index_page": "index",
    "map_unit": "map",
    "finish_sample": "sort, mark, count",
    "rescore_interval": "call",
    "rescore_sample": "call",
    "gather_variants": "gather",
    "write_report": "report",
}
ON_CARD = ("index_page", "map_unit", "rescore_interval", "rescore_sample")  # rules whose jobs hold a card


def simulate(inputs: Inputs, fasta: Path, coverage: float, threads: int, units: int = 1) -> Units:
    """Simulate paired reads of the whole chromosome in parallel; return both gzip files of each unit."""
    folder = inputs.work / f"chromosome_{coverage:g}_{units}"
    found = [(folder / f"unit{unit}_1.fq.gz", folder / f"unit{unit}_2.fq.gz") for unit in range(1, units + 1)]
    if found[-1][1].exists():
        return found
    folder.mkdir(parents=True, exist_ok=True)
    with pysam.FastaFile(str(fasta)) as stream:
        length = stream.get_reference_length(CONTIG)
    step = -(-length // PARTS)
    regions = [f"{CONTIG}:{first}-{min(first + step - 1, length)}" for first in range(1, length + 1, step)]
    with ThreadPoolExecutor(threads) as pool:
        options = f"--coverage {coverage}"
        parts = list(pool.map(lambda n: inputs.simulated(fasta, regions[n], n + 1, options), range(len(regions))))
    for unit, mates in enumerate(found):
        for mate, path in enumerate(mates):
            texts = " ".join(str(part[mate]) for part in parts[unit::units])
            run(f"cat {texts} > {path}.tmp && mv {path}.tmp {path} && rm {texts}")
    return found


def as_bgzip(path: Path, threads: int) -> Path:
    """Return the same reads as bgzip, as Illumina's converters write them."""
    packed = path.with_suffix(".bgzip.gz")
    temporary = packed.with_suffix(".tmp")
    if not packed.exists():
        with ThreadPoolExecutor(threads) as pool, open_input(path) as text, temporary.open("wb") as out:
            while parts := [part for part in (text.read(STRETCH) for _ in range(threads)) if part]:
                for blocks in pool.map(compress_blocks, parts):
                    out.write(blocks.data)
            out.write(BGZF_END)
        temporary.rename(packed)
    return packed


def jobs(folder: Path) -> list[tuple[str, float, float]]:
    """Return rule, start and end (seconds from the first start) of each job that Snakemake recorded in a folder."""
    records = [json.loads(path.read_text()) for path in (folder / ".snakemake/metadata").iterdir()]
    found: list[tuple[str, float, float]] = []
    for rule, start, end in sorted((record["rule"], record["starttime"], record["endtime"]) for record in records):
        if found and found[-1][0] == rule and start - found[-1][1] < SAME_JOB:
            found[-1] = rule, found[-1][1], max(end, found[-1][2])
        else:
            found.append((rule, start, end))
    first = min(start for _, start, _ in found)
    return sorted((rule, start - first, end - first) for rule, start, end in found)


def held(rows: list[tuple[str, float, float]]) -> float:
    """Return the seconds in which at least one job holds the card."""
    seconds = until = 0.0
    for rule, start, end in sorted(rows, key=lambda row: row[1]):
        if rule in ON_CARD:
            seconds += max(end - max(start, until), 0.0)
            until = max(until, end)
    return seconds


def cost(name: str, timing: Timing, rows: list[tuple[str, float, float]], on_card: bool) -> dict[str, float]:
    """Return the figures of `bench.cost`."""
    seconds = {"s": timing.seconds, "core-seconds": timing.cpu_seconds, "card-seconds": held(rows) if on_card else 0.0}
    return {f"{name}, {what}": round(value, 1) for what, value in seconds.items()}


def draw(rows: list[tuple[str, float, float]], seconds: float, title: str, path: Path) -> None:
    """Draw the jobs as bars over the time of the run, one line for each stage."""
    stages = list(dict.fromkeys(STAGES.get(rule, "other") for rule, *_ in sorted(rows, key=lambda row: row[1])))
    names = [(len(stages) - number - 0.5, stage) for number, stage in enumerate(stages)]
    drawing = Drawing(Scale("seconds", 0, seconds), Scale("", 0, len(stages), names=names))
    places = {stage: at for at, stage in names}
    drawing.separate_bars(
        [
            (s, e, places[STAGES.get(rule, "other")] - 0.3, places[STAGES.get(rule, "other")] + 0.3)
            for rule, s, e in rows
        ]
    )
    style = "text{font:11px sans-serif}.a{fill:#2b6cb0;fill-opacity:.75}.x{fill:none;stroke:#444}"
    # The names of stages are longer than numbers.
    wider = drawing.svg(title).replace('viewBox="0 0 400', 'viewBox="-80 0 480', 1)
    write_svg(path, wider, title, style)


def logs(folder: Path) -> str:
    """Return the logs of mapping and finishing: their steps, and the waiting times of their threads."""
    paths = sorted(
        path for rule in ("map_unit", "finish_sample") for path in (folder / "results/logs" / rule).iterdir()
    )
    return "\n".join(f"{path.parent.name}: {line}" for path in paths for line in path.read_text().splitlines())


def whole_run(
    given: Namespace, fasta: Path, units: Units, name: str, target: str = "", index: Path | None = None
) -> tuple[Timing, Path]:
    """Run the workflow into a fresh folder, up to a target if one is named; return its timing and the folder.

    `index` is the folder of an earlier run's index; without one, the run builds its own.
    """
    kept = {"reference": {"index_directory": str(index)}} if index else {}
    configuration = configure(given.work / f"whole_run_{name}", fasta, {"sample": units}, given.backend, **kept)
    return run_workflow(configuration, given.threads, target), configuration.parent


def main() -> None:
    """Simulate, run, and print the time of each step."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--bgzip", action="store_true", help="reads in bgzip files instead of plain gzip")
    parser.add_argument("--units", type=int, default=1, help="lanes that the reads are in, each mapped by a job")
    parser.add_argument("--runs", nargs="+", choices=("cold", "warm", "next"), default=("cold", "warm"))
    parser.add_argument("--target", default="", help="a target of the Snakefile, such as align")
    parser.add_argument("--picture", type=Path, help="draw the last run into this file (SVG)")
    given = parser.parse_args()
    print_setting(())
    on_card = name_card(given.backend)
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    units = simulate(inputs, fasta, given.coverage, given.threads, given.units)
    if given.bgzip:
        units = [(as_bgzip(one, given.threads), as_bgzip(two, given.threads)) for one, two in units]
    if "cold" in given.runs:
        shutil.rmtree(cache_of(given.work / "whole_run_cold"), ignore_errors=True)
    built = given.work.resolve() / "whole_run_warm/results/index"  # of an earlier call, if `next` is the first run
    for name in given.runs:
        index = built if name == "next" else None
        timing, folder = whole_run(given, fasta, units, name, given.target, index)
        built = index or folder / "results/index"
        rows = jobs(folder)
        print(f"{name}: {timing.seconds:.1f} s, {timing.cpu_seconds:.0f} core-seconds")
        to_bam = sum(end - start for rule, start, end in rows if rule in ("map_unit", "finish_sample"))
        add_figures(cost(name, timing, rows, on_card))
        add_figures({f"{name}, to the finished BAM, s": round(to_bam, 1)})
        print_table(
            ("rule", "starts at", "seconds"),
            [(r, f"{s:.1f}", f"{e - s:.1f}") for r, s, e in sorted(rows, key=lambda r: r[1])],
        )
        mapped = [(s, e) for rule, s, e in rows if rule == "map_unit"]
        print(f"from the start of the first map_unit to the end of the last: "
              f"{max(e for _, e in mapped) - min(s for s, _ in mapped):.1f} s")  # fmt: skip
        print(logs(folder), end="\n\n", flush=True)
        if given.picture:
            draw(
                rows,
                timing.seconds,
                f"chr20 at {given.coverage:g}x, {given.threads} cores: {timing.seconds:.0f} s",
                given.picture,
            )
    write_measurement(
        " ".join([given.backend, "bgzip" if given.bgzip else "gzip", *([given.target] if given.target else [])])
    )


if __name__ == "__main__":
    main()
