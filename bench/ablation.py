"""Ablation of mapping's special rules: wrong placements of pooled simulated reads, and real records, without each rule.

A textual change removes a rule from a copy of the library, which maps all simulated sets of chr20 and the demo. A rule
stays if without it the wrong placements of the pool at MAPQ 20 or at MAPQ 60 change by 2 % or more, or calls on real
reads change (docs/decisions/0016-rules-of-mapping.md). With --calls the changed workflow also calls variants of the
demo.
"""

import argparse
import gzip
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from bench.calls import write_run
from bench.common import (
    REPOSITORY,
    Inputs,
    arguments,
    print_setting,
    print_table,
    python,
    run,
    write_measurement,
)
from bench.one_answer import digest_of_records
from bench.place import Placement, place
from bench.simulate import WHOLE_GENOME

# Simulation options and mates of each set.
SETS = {
    "2x150": ("--length 150", 2),
    "1x150": ("--length 150", 1),
    "2x150 adapters": ("--length 150 --adapters --insert 160", 2),
    "2x150 diverged 3 %": ("--length 150 --divergence 0.03", 2),
    "2x150 diverged 5 %": ("--length 150 --divergence 0.05", 2),
    "1x150 diverged 5 %": ("--length 150 --divergence 0.05", 1),
    "2x250": ("--length 250 --insert 425", 2),
    "2x100": ("--length 100", 2),
    "1x100": ("--length 100", 1),
    "2x100 adapters": ("--length 100 --adapters --insert 100", 2),
    "2x100 diverged 3 %": ("--length 100 --divergence 0.03", 2),
    "2x50": ("--length 50", 2),
    "1x64": ("--length 64", 1),
    "1x50": ("--length 50", 1),
    "2x36": ("--length 36", 2),
    "1x36": ("--length 36", 1),
}
# Sets from a synthetic genome of tandem repeats, which are rare in chr20.
TANDEM_SETS = {
    "2x75 tandem repeats": "--pairs 150000 --length 75 --insert 400 --divergence 0.001",
    "2x100 tandem repeats": "--pairs 150000 --length 100 --insert 400 --divergence 0.001",
}
TANDEM_BASES = 5_000_000
UNITS = (1, 2, 3, 6, 9, 12, 21, 30, 39)  # bases of a repeat's unit
BASE_WEIGHTS = (40, 10, 10, 40)  # of A, C, G and T, about as in P. falciparum
# Map one command line of `python -m bench.map_unit` after another, read from standard input.
MAP_ALL = """
import shlex, sys
from bench.map_unit import main
for line in sys.stdin:
    sys.argv = shlex.split(line)
    main()
"""
# A line of align/engines/steps.py before which a change can redefine the passes.
_AFTER_IMPORTS = "Rounds: TypeAlias = "


def _passes(change: str) -> tuple[str, str, str]:
    """Return a change that edits LATER_PASSES and LATER_PASSES_ALONE by Python statements."""
    return "align/engines/steps.py", _AFTER_IMPORTS, f"{change}\n{_AFTER_IMPORTS}"


def _without_passes(first: int, last: int) -> tuple[str, str, str]:
    """Return the change that leaves out the later passes [first, last)."""
    names = "LATER_PASSES", "LATER_PASSES_ALONE"
    return _passes("\n".join(f"{name} = {name}[:{first}] + {name}[{last}:]" for name in names))


def _without_short_reads(number: int) -> tuple[str, str, str]:
    """Return the change that stops a pass from taking short reads because of a mismatch."""
    return _passes(
        "\n".join(
            f"{name} = tuple(replace(one, shortest_clear=0) if n == {number} else one for n, one in enumerate({name}))"
            for name in ("LATER_PASSES", "LATER_PASSES_ALONE")
        )
    )


_PAIRING, _RESCUE, _VOTES = "align/pairing/cpu.py", "align/rescue/cpu.py", "align/rescue/votes_cpu.py"
_SIMPLE, _JOINING = "align/pairing/mapping_quality_cpu.py", "align/candidates/joining_cpu.py"
_WEIGHTS = "WEIGHT_SUPPORTED if stands_alone(mate_score, _length_of(batch, mate)) else WEIGHT_PROPER"
# Changes (file in the library, text, replacement) that remove each rule.
RULES: dict[str, list[tuple[str, str, str]]] = {
    "nothing": [],
    "second pass": [_without_passes(0, 1)],
    "third pass": [_without_passes(1, 2)],
    "second and third pass": [_without_passes(0, 2)],
    "last pass": [_without_passes(2, 3)],
    "second pass of short reads": [_without_short_reads(0)],
    "third pass of short reads": [_without_short_reads(1)],
    "more hits without a mate": [_passes("LATER_PASSES_ALONE = LATER_PASSES")],
    "fewer hits with a mate": [_passes("LATER_PASSES = LATER_PASSES_ALONE")],
    "rarest seed beside few hits": [
        ("algorithms/seeding/cpu.py", "(used == first or rarest <= RAREST_LIMIT_BESIDE)", "used == first"),
    ],
    "reserved candidate": [
        ("align/candidates/cpu.py", "    part = part_of(best[0], query)\n",
         "    if query.length > 0:\n        return\n    part = part_of(best[0], query)\n"),
    ],
    "joining": [(_JOINING, "            if gap > LARGEST_GAP:\n", "            if gap >= -(1 << 40):\n")],
    "cost of joining": [(_JOINING, "if min(own_covered, other_covered) > cost:", "if own_covered > 0:")],
    "candidates that do not pay": [
        (_JOINING, "        if pays:\n", "        if pays or not pays:\n"),
    ],
    "widest bundle": [("align/candidates/bundles_cpu.py", " or diagonal - bundle.lowest > WIDEST_BUNDLE", "")],
    "crowded reads": [
        ("align/pairing/competition_cpu.py", "last - first >= MOST_CANDIDATES and length < SHORTEST_CERTAIN", "False"),
    ],
    "crowded pairs": [("align/pairing/competition_cpu.py", "return as_good >= MOST_CANDIDATES", "return as_good < 0")],
    "weight alone": [(_PAIRING, "    weight = WEIGHT_ALONE\n", "    weight = 1000\n")],
    "weight supported": [(_PAIRING, _WEIGHTS, "WEIGHT_PROPER")],
    "weight proper": [(_PAIRING, _WEIGHTS, "WEIGHT_SUPPORTED")],
    "simple sequence": [(_SIMPLE, "return different * SIMPLE_SHARE <", "return different < 0 and 0 <")],
    "simple sequence: beside a mate": [(_PAIRING, "selection.proper[read] and 4 * score >= 3 * length", "False")],
    "simple sequence against a pair": [
        (_PAIRING, "    if best <= unpaired and not off_primary:\n",
         "    if best < 0 and best <= unpaired and not off_primary:\n"),
    ],
    "rescue beside a place": [(_RESCUE, "near < MOST_CANDIDATES and _may_have_better(alignments, mate)", "False")],
    "rescue beside a place of few": [(_RESCUE, "near < MOST_CANDIDATES and _may", "_may")],
    "fewest k-mers of a rescue": [("align/parameters.py", "FEWEST_KMERS = 4\n", "FEWEST_KMERS = 1\n")],
    "second place of a rescue": [
        (_VOTES, "    votes[: end - begin] = 0\n", "    votes[: end - begin] = 0\n    second = np.int64(-1)\n"),
    ],
    "rescue nearest the mean": [
        (_VOTES, "        distance = abs(diagonal - target)\n", "        distance = 0 * diagonal\n"),
    ],
    "anchors far below the best": [(_RESCUE, "if score < best - UNPAIRED_COST:", "if score < 0:")],
    "most anchors": [(_RESCUE, "min(last, first + MOST_ANCHORS)", "last")],
}  # fmt: skip


def write_tandem_genome(path: Path) -> Path:
    """Write a FASTA of random sequence alternating with tandem repeats of 40 to 1,500 bases with 1 % changed."""
    generator = random.Random(1)
    parts: list[str] = []
    size = 0

    def letters(count: int) -> str:
        return "".join(generator.choices("ACGT", BASE_WEIGHTS, k=count))

    while size < TANDEM_BASES:
        between = letters(200 + int(generator.expovariate(1 / 1500)))
        unit = letters(generator.choice(UNITS))
        length = int(min(1500, 40 * 2 ** generator.expovariate(1 / 1.3)))
        repeat = (unit * length)[:length]
        parts += [between, "".join(base if generator.random() > 0.01 else generator.choice("ACGT") for base in repeat)]
        size += len(between) + length
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(">tandem\n" + "".join(parts) + "\n")
    return path


def changed_library(rule: str, folder: Path) -> Path:
    """Copy the workflow without one rule, and return the folder of its library.

    Every text of a change must occur exactly once in its file.
    """
    shutil.rmtree(folder / "tree", ignore_errors=True)
    for name in ("workflow", "envs"):
        shutil.copytree(REPOSITORY / name, folder / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "Snakefile", folder / "tree")
    target = folder / "tree" / "workflow" / "scripts"
    for name, old, new in RULES[rule]:
        path = target / "quire" / name
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{rule}: {name} contains {old!r} {text.count(old)} times; correct RULES")
        path.write_text(text.replace(old, new))
    return target


def main() -> None:
    """Map without each rule, and print the changes."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="of each set; single reads are their first mates")
    parser.add_argument("--seed", type=int, default=1, help="of the simulations")
    parser.add_argument("--calls", action="store_true", help="call the demo's variants if its records change")
    parser.add_argument("--rules", nargs="+", choices=RULES, metavar="RULE", default=list(RULES))
    given = parser.parse_args()
    print_setting(())
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    index = inputs.quire_index(fasta)
    demo = inputs.plain("demo", inputs.demo / "hg19.chr20.masked.fa.gz")
    units = {
        name: (index, inputs.simulated(fasta, "20", given.seed, f"--pairs {given.pairs} {options}")[:mates])
        for name, (options, mates) in SETS.items()
    }
    tandem = write_tandem_genome(given.work / "tandem" / "tandem.fa")
    units |= {
        name: (inputs.quire_index(tandem), inputs.simulated(tandem, WHOLE_GENOME, given.seed, options, False))
        for name, options in TANDEM_SETS.items()
    }
    units["demo"] = (inputs.quire_index(demo), tuple(inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)))
    found = {}
    for rule in given.rules:
        found[rule] = _measured(rule, _folder(rule, given), units, given)
    base = found.get("nothing") or _measured("nothing", _folder("nothing", given), units, given)
    header = "without", "MAPQ 20", "MAPQ 60", "right at 20", "demo", "CPU s", "by set (wrong at 20)"
    rows = [(rule, *_difference(result, base)) for rule, result in found.items()]
    if given.calls:
        header += ("calls of the demo",)
        index, _ = units["demo"]
        expected = _calls("nothing", given, inputs, demo, index)
        for number, rule in enumerate(found):
            same = found[rule]["counts"]["demo"] == base["counts"]["demo"]
            same = same or _calls(rule, given, inputs, demo, index) == expected
            rows[number] += ("same" if same else "differ",)
    print_table(header, rows)
    write_measurement()


def _folder(rule: str, given: argparse.Namespace) -> Path:
    return given.work.resolve() / "ablation" / rule.replace(" ", "_").replace(":", "")


def _calls(rule: str, given: argparse.Namespace, inputs: Inputs, fasta: Path, index: Path) -> list[str]:
    """Return the lines of the demo's VCF, without the header's, from the workflow without one rule."""
    folder, mates = _folder(rule, given), tuple(inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2))
    library = changed_library(rule, folder)
    bed = REPOSITORY / "tests" / "data" / "demo" / "region.bed"
    configuration = write_run(folder / "run", fasta, index, mates, bed).resolve()
    where = f"-s {folder}/tree/Snakefile --configfile {configuration} --directory {folder}/run"
    snakemake = python(f"snakemake {where} --quiet all --cores {given.threads}")
    run(f"{snakemake} -- results/rescore/all.vcf.gz", {"PYTHONPATH": f"{library}:{REPOSITORY}"})
    text = gzip.decompress((folder / "run" / "results" / "rescore" / "all.vcf.gz").read_bytes()).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def _measured(rule: str, folder: Path, units: dict, given: argparse.Namespace) -> dict:
    """Return the counts of each set and the digest of the demo, cached in the folder."""
    kept = folder / f"result_{given.seed}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    library = changed_library(rule, folder)
    lines = []
    for number, (index, mates) in enumerate(units.values()):
        files = " ".join(f"--fq{n} {shlex.quote(str(path))}" for n, path in enumerate(mates, start=1))
        lines.append(
            f"align --index {index} {files} --out {folder}/{number}.bam --threads {given.threads} --backend cpu"
        )
    path = f"{library}:{REPOSITORY}"
    before = os.times()
    log = (folder / "log").open("w")
    subprocess.run([sys.executable, "-c", MAP_ALL], input="\n".join(lines), text=True, check=True, stderr=log,
                   env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    seconds = os.times().children_user - before.children_user
    counts = {}
    for number, name in enumerate(units):
        bam = folder / f"{number}.bam"
        if name == "demo":
            counts["demo"] = digest_of_records(bam)
        else:
            counts[name] = _counts(place(bam))
            bam.unlink()
    result = {"seconds": seconds, "counts": counts}
    kept.write_text(json.dumps(result))
    return result


def _counts(placement: Placement) -> list[int]:
    """Return the numbers of reads wrong at MAPQ 20, wrong at MAPQ 60, right at MAPQ 20, and all reads."""
    return [int(placement.wrong[20:].sum()), int(placement.wrong[60:].sum()), int(placement.right[20:].sum()),
            placement.reads]  # fmt: skip


def _difference(result: dict, base: dict) -> tuple:
    """Return a row of the table: pooled counts and changes, and changes by set."""
    names = [name for name in result["counts"] if name != "demo"]
    cells = []
    for column in range(3):
        before = sum(base["counts"][name][column] for name in names)
        after = sum(result["counts"][name][column] for name in names)
        cells.append(f"{after} ({after - before:+d}, {100 * (after - before) / max(1, before):+.2f} %)")
    changed = {name: result["counts"][name][0] - base["counts"][name][0] for name in names}
    by_set = ", ".join(f"{name} {value:+d}" for name, value in changed.items() if value)
    demo = "same" if result["counts"]["demo"] == base["counts"]["demo"] else "differs"
    return *cells, demo, f"{result['seconds']:.0f}", by_set


if __name__ == "__main__":
    main()
