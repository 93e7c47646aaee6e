"""What each special rule of mapping is worth: wrong placements of pooled simulated reads without it, and real records.

Each rule is removed by a textual change of a copy of the library. The copy maps all simulated sets of chr20 and the
real reads. The bar (docs/decisions/mapping-rules.md): a rule stays if its removal changes the wrong placements at
MAPQ 20 or at MAPQ 60 by 2 % of the pool or more for the worse, or if it changes calls on real reads.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from bench.common import LIBRARY, REPOSITORY, Inputs, arguments, print_setting, print_table
from bench.one_answer import digest_of_records
from bench.place import Placement, place

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
# Maps one command line of `python -m quire.align` after another, read from standard input.
MAP_ALL = """
import shlex, sys
from quire.align.__main__ import main
for line in sys.stdin:
    sys.argv = shlex.split(line)
    main()
"""
_LOOKS = "Rounds: TypeAlias = "


def _looks(change: str) -> tuple[str, str, str]:
    """Change LATER_LOOKS and LATER_LOOKS_ALONE by Python statements at the head of the engine's steps."""
    return "align/engines/steps.py", _LOOKS, f"{change}\n{_LOOKS}"


def _each(field: str, value: object, number: int) -> tuple[str, str, str]:
    """Set a field of one later look, with and without mates."""
    lines = [
        f"{name} = tuple(replace(look, {field}={value}) if n == {number} else look for n, look in enumerate({name}))"
        for name in ("LATER_LOOKS", "LATER_LOOKS_ALONE")
    ]
    return _looks("\n".join(lines))


def _each_seeding(field: str, value: object, number: int) -> tuple[str, str, str]:
    return _each("seeding", f"replace(look.seeding, {field}={value})", number)


# Name of the rule: changes (file in the library, text, text in its place) that take it away.
RULES: dict[str, list[tuple[str, str, str]]] = {
    "nothing": [],
    "look 2": [_looks("LATER_LOOKS, LATER_LOOKS_ALONE = LATER_LOOKS[1:], LATER_LOOKS_ALONE[1:]")],
    "look 3": [_looks("LATER_LOOKS, LATER_LOOKS_ALONE = LATER_LOOKS[::2], LATER_LOOKS_ALONE[::2]")],
    "look 4": [_looks("LATER_LOOKS, LATER_LOOKS_ALONE = LATER_LOOKS[:2], LATER_LOOKS_ALONE[:2]")],
    "look 2: short reads with a mismatch": [_each("shortest_clear", 0, 0)],
    "look 3: short reads with a mismatch": [_each("shortest_clear", 0, 1)],
    "look 3: 64 hits (128)": [_each_seeding("maximum_hits", 128, 1)],
    "look 3: 64 hits (32)": [_each_seeding("maximum_hits", 32, 1)],
    "look 3: own hits without a mate": [_looks(
        "LATER_LOOKS_ALONE = (LATER_LOOKS[0], LATER_LOOKS[1], LATER_LOOKS_ALONE[2])"
    )],
    "look 3: stride 4 (5)": [_each_seeding("stride", 5, 1)],
    "look 3: 7 tenths (9)": [_each("numerator", 9, 1)],
    "own length of short reads without a mate": [
        _looks("LATER_LOOKS_ALONE = (*LATER_LOOKS_ALONE[:2], LATER_LOOKS[2])"),
        ("align/pairing/cpu.py", "SHORTEST_CERTAIN if paired else SHORTEST_CERTAIN_ALONE", "SHORTEST_CERTAIN"),
    ],
    "reserved candidate": [
        ("align/candidates/cpu.py", "    part = part_of(best[0], length, lying)\n",
         "    if length > 0:\n        return\n    part = part_of(best[0], length, lying)\n"),
    ],
    "join: stays a candidate": [
        ("align/candidates/joining.py", "        if pays:\n", "        if pays or not pays:\n"),
    ],
    "join: cost of the gap counts": [
        ("align/candidates/joining.py", "                if min(own_covered, other_covered) > cost:\n",
         "                if cost > 0:\n"),
    ],
    "widest bundle": [
        ("align/candidates/bundles.py", " or diagonal - bundle.lowest > WIDEST_BUNDLE", ""),
    ],
    "wider bands": [("align/engines/steps.py", "    if len(jobs):\n        wider", "    if False:\n        wider")],
    "wider bands: narrower ones left out": [
        ("align/engines/steps.py", "        _leave_out_narrower(rounds, chosen, wider)\n", ""),
    ],
    "crowded reads": [
        ("align/pairing/crowded.py", "last - first >= MOST_CANDIDATES and length < shortest_certain", "False"),
    ],
    "crowded pairs": [("align/pairing/crowded.py", "return as_good >= MOST_CANDIDATES", "return as_good < 0")],
    "weights": [("align/pairing/cpu.py", "        if weighted < length:", "        if weighted < 0:")],
    "weight alone": [("align/pairing/cpu.py", "        weight = WEIGHT_ALONE\n", "        weight = 1000\n")],
    "weight supported": [
        ("align/pairing/cpu.py", "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_PROPER",
         "1000 if stands_alone(mate_score, mate_length) else WEIGHT_PROPER"),
    ],
    "weight supported (as proper)": [
        ("align/pairing/cpu.py", "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_PROPER",
         "WEIGHT_PROPER if stands_alone(mate_score, mate_length) else WEIGHT_PROPER"),
    ],
    "weight proper (as supported)": [
        ("align/pairing/cpu.py", "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_PROPER",
         "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_SUPPORTED"),
    ],
    "weight proper (as alone)": [
        ("align/pairing/cpu.py", "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_PROPER",
         "WEIGHT_SUPPORTED if stands_alone(mate_score, mate_length) else WEIGHT_ALONE"),
    ],
    "simple sequence": [
        ("align/pairing/simple_sequence.py", "    if score >= SIMPLE_SCORE:", "    if score >= 0:"),
    ],
    "simple sequence: share of short": [
        ("align/pairing/simple_sequence.py", "SIMPLE_SHARE_OF_SHORT if", "SIMPLE_SHARE if"),
    ],
    "simple sequence: beside a mate": [
        ("align/pairing/cpu.py", "selection.proper[read] and 4 * score >= 3 * length", "False"),
    ],
    "simple sequence: highest score": [
        ("align/pairing/simple_sequence.py", "    if score >= SIMPLE_SCORE:", "    if score >= 10000:"),
    ],
    "simple sequence against a pair": [
        ("align/pairing/cpu.py", "    if best <= unpaired and not off_primary:\n",
         "    if best < 0 and best <= unpaired and not off_primary:\n"),
    ],
    "rescue: beside a place": [
        ("align/rescue/cpu.py", "near < MOST_CANDIDATES and _may_have_better(alignments, mate)", "False"),
    ],
    "rescue: fewer than 16 near": [("align/rescue/cpu.py", "near < MOST_CANDIDATES and _may", "_may")],
    "rescue: mate's best not the only one": [("align/rescue/cpu.py", "    return number > 1\n", "    return False\n")],
    "rescue: second place": [
        ("align/rescue/votes.py", "    votes[: end - begin] = 0\n",
         "    votes[: end - begin] = 0\n    second = np.int64(-1)\n"),
    ],
    "rescue: nearest the mean": [
        ("align/rescue/votes.py", "        distance = abs(diagonal - target)\n", "        distance = 0 * diagonal\n"),
    ],
    "rescue: anchors by chance": [
        ("align/rescue/cpu.py", "                if 2 * score < length and not stands_alone(score, length):\n",
         "                if score < 0:\n"),
    ],
    "rescue: most anchors": [("align/rescue/cpu.py", "min(last, first + MOST_ANCHORS)", "last")],
    "seeding: rarest seed beside few hits": [
        ("algorithms/seeding/cpu.py", "(used == first or rarest <= RAREST_LIMIT_BESIDE)", "used == first"),
    ],
    "seeding: rarest seed of a read without hits": [
        ("algorithms/seeding/cpu.py", "(used == first or rarest <= RAREST_LIMIT_BESIDE)",
         "used > first and rarest <= RAREST_LIMIT_BESIDE"),
    ],
    "rescue: compare": [("align/rescue/votes.py", "    if count < 0:\n", "    if count < -5:\n"),
                        ("align/rescue/votes.py", "if most < 0:\n", "if most < -(1 << 60):\n")],
}  # fmt: skip


def changed_library(rule: str, folder: Path) -> Path:
    """Copy the library without one rule; every text must stand in its file exactly once."""
    target = folder / "scripts"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(LIBRARY / "quire", target / "quire", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in RULES[rule]:
        path = target / "quire" / name
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{rule}: {name} holds {text.count(old)} times {old!r}; correct RULES")
        path.write_text(text.replace(old, new))
    return target


def main() -> None:
    """Map with each rule taken away, and print what changed."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="of each set; single reads are their first mates")
    parser.add_argument("--rules", nargs="+", choices=RULES, metavar="RULE", default=list(RULES))
    given = parser.parse_args()
    print_setting(())
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    index = inputs.quire_index(fasta)
    demo = inputs.plain("demo", inputs.demo / "hg19.chr20.masked.fa.gz")
    units = {
        name: (index, inputs.simulated(fasta, "20", 1, f"--pairs {given.pairs} {options}")[:mates])
        for name, (options, mates) in SETS.items()
    }
    units["demo"] = (inputs.quire_index(demo), tuple(inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)))
    found = {}
    for rule in given.rules:
        folder = given.work / "ablation" / rule.replace(" ", "_").replace(":", "")
        found[rule] = _measured(rule, folder, units, given.threads)
    base = found.get("nothing") or _measured("nothing", given.work / "ablation" / "nothing", units, given.threads)
    rows = [(rule, *_difference(result, base)) for rule, result in found.items()]
    print_table(("without", "MAPQ 20", "MAPQ 60", "right at 20", "demo", "CPU s", "by set (wrong at 20)"), rows)


def _measured(rule: str, folder: Path, units: dict, threads: int) -> dict:
    """Counts of each set and the digest of the demo; kept in the folder and used again."""
    kept = folder / "result.json"
    if kept.exists():
        return json.loads(kept.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    library = changed_library(rule, folder)
    lines = []
    for number, (index, mates) in enumerate(units.values()):
        files = " ".join(f"--fq{n} {shlex.quote(str(path))}" for n, path in enumerate(mates, start=1))
        lines.append(f"align --index {index} {files} --out {folder}/{number}.bam --threads {threads} --backend cpu")
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
    """Wrong at MAPQ 20 and 60, right at 20, reads."""
    return [int(placement.wrong[20:].sum()), int(placement.wrong[60:].sum()), int(placement.right[20:].sum()),
            placement.reads]  # fmt: skip


def _difference(result: dict, base: dict) -> tuple:
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
