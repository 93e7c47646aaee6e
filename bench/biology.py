"""Whole runs on biology at its worst: one pair 20,000 times, poly-A, all N, 300,000 contigs, an amplicon at 50,000x.

Each case makes its genome and reads from a seed and runs the workflow on them, FASTQ to report, with kernels that are
compiled already. It prints one line of JSON: seconds, processor seconds, the largest memory of a job of each rule with
what the rule asks for (both MB, `bench.watching`), and what came out. `--scale 2` doubles the input: time that more
than doubles is not linear. Inputs that are refused, or hard at any size, are in tests (docs/bad-biology.md).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pysam

from bench.common import add_figures, arguments, print_setting, write_measurement
from bench.watching import watched
from bench.workflow import Units, configure, run_workflow

BASES = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
LENGTH = 150
INSERT, DEVIATION = 350, 40
QUALITY = "I"
HEADER = ("input", "s", "processor s", "tightest job", "its memory", "what came out")

Texts = tuple[str, ...]
"""A unit's reads: FASTQ text of the single reads, or of both mates."""


class Case(NamedTuple):
    """Input of a run: letters of each contig by name, and FASTQ texts of both mates of each sample."""

    contigs: Mapping[str, str]
    reads: Mapping[str, Texts]


@dataclass(frozen=True)
class Place:
    """The factor of a case's size, and its random numbers."""

    scale: int
    random: np.random.Generator

    def genome(self, bases: int) -> str:
        """Return random letters."""
        return BASES[self.random.integers(0, 4, bases)].tobytes().decode()

    def pairs(self, genome: str, count: int, length: int = LENGTH) -> Texts:
        """Return FASTQ texts of pairs without errors from random places of a sequence."""
        inserts = np.clip(self.random.normal(INSERT, DEVIATION, count).astype(int), length, len(genome))
        starts = (self.random.random(count) * (len(genome) - inserts + 1)).astype(int)
        turned = self.random.random(count) < 0.5
        texts: tuple[list[str], list[str]] = ([], [])
        for number, (start, insert) in enumerate(zip(starts, inserts, strict=True)):
            left = genome[start : start + length]
            mates = left, reverse_complement(genome[start + insert - length : start + insert])
            for text, mate in zip(texts, mates[:: -1 if turned[number] else 1], strict=True):
                text.append(record(f"p{number}", mate))
        return "".join(texts[0]), "".join(texts[1])


def record(name: str, letters: str, quality: str = QUALITY) -> str:
    """Return a FASTQ record with one quality throughout."""
    return f"@{name}\n{letters}\n+\n{quality * len(letters)}\n"


def reverse_complement(letters: str) -> str:
    """Return the reverse complement."""
    return letters.encode().translate(COMPLEMENT)[::-1].decode()


def copies(mates: Sequence[str], count: int, quality: str = QUALITY) -> Texts:
    """Return FASTQ texts of `count` fragments with the same letters."""
    return tuple("".join(record(f"c{number}", mate, quality) for number in range(count)) for mate in mates)


def joined(*texts: Texts) -> Texts:
    """Return FASTQ texts one after another, with names that stay different."""
    parts = zip(*([text.replace("@", f"@{n}_") for text in pair] for n, pair in enumerate(texts)), strict=True)
    return tuple("".join(part) for part in parts)


def one_pair(place: Place) -> Case:
    """Copy one pair 20,000 times."""
    genome = place.genome(200_000)
    mates = genome[1000:1150], reverse_complement(genome[1200:1350])
    return Case({"c": genome}, {"s": copies(mates, 20_000 * place.scale)})


def poly_a(place: Place) -> Case:
    """20,000 pairs of A alone, and as many from a genome with 5,000 A in its middle."""
    count = 20_000 * place.scale
    genome = place.genome(100_000) + "A" * 5000 + place.genome(100_000)
    return Case({"c": genome}, {"s": joined(copies(["A" * LENGTH, "T" * LENGTH], count), place.pairs(genome, count))})


def all_n(place: Place) -> Case:
    """20,000 pairs of N alone, and a contig of N beside another one."""
    genome = place.genome(200_000)
    count = 20_000 * place.scale
    reads = joined(copies(["N" * LENGTH, "N" * LENGTH], count, "#"), place.pairs(genome, 1000))
    return Case({"n": "N" * 50_000, "c": genome}, {"s": reads})


def short_contigs(place: Place) -> Case:
    """Contigs of 1, 20 and 100 bases; 10,000 reads of 150 bases reach beyond their ends, 1,000 pairs lie elsewhere."""
    genome = place.genome(200_000)
    contigs = {"one": "G", "twenty": place.genome(20), "hundred": place.genome(100), "c": genome}
    flanks = [place.genome(25), place.genome(65)]
    around = [flanks[0] + contigs["hundred"] + flanks[0], flanks[1] + contigs["twenty"] + flanks[1]]
    count = 5000 * place.scale
    mates = [(letters, reverse_complement(letters)) for letters in around]
    return Case(contigs, {"s": joined(*(copies(pair, count) for pair in mates), place.pairs(genome, 1000))})


def tandem(place: Place) -> Case:
    """Repeat 300 bases 1,000 times, and draw 20,000 pairs from them."""
    genome = place.genome(300) * 1000 * place.scale
    return Case({"c": genome}, {"s": place.pairs(genome, 20_000 * place.scale)})


def contigs_of(count: int) -> Callable[[Place], Case]:
    """Return a case of so many contigs."""

    def case(place: Place) -> Case:
        genome = place.genome(300 * count * place.scale)
        contigs = {f"contig_{n}": genome[300 * n : 300 * (n + 1)] for n in range(count * place.scale)}
        pairs = [place.pairs(contigs[f"contig_{n}"], 1) for n in place.random.integers(0, len(contigs), 20_000)]
        return Case(contigs, {"s": joined(*pairs)})

    case.__doc__ = f"{count:,} contigs of 300 bases and 20,000 pairs."
    return case


def samples_of(count: int) -> Callable[[Place], Case]:
    """Return a case of so many samples."""

    def case(place: Place) -> Case:
        genome = place.genome(200_000)
        return Case({"c": genome}, {f"s{n:03}": place.pairs(genome, 500) for n in range(count * place.scale)})

    case.__doc__ = f"{count} samples of 1,000 reads."
    return case


def amplicon(place: Place) -> Case:
    """Draw 250,000 pairs of an amplicon of 1.5 kb, 50,000x, half of them with a variant."""
    genome = place.genome(200_000)
    start = 100_000
    region = genome[start : start + 1500]
    other = region[:750] + {"A": "C", "C": "G", "G": "T", "T": "A"}[region[750]] + region[751:]
    half = 125_000 * place.scale
    return Case({"c": genome}, {"s": joined(place.pairs(region, half), place.pairs(other, half))})


def other_mates(place: Place) -> Case:
    """20,000 pairs whose mates lie on random, unrelated places."""
    genome = place.genome(200_000)
    one, two = (place.pairs(genome, 20_000 * place.scale)[0] for _ in range(2))
    return Case({"c": genome}, {"s": (one, two)})


CASES: dict[str, Callable[[Place], Case]] = {
    "one_pair": one_pair,
    "poly_a": poly_a,
    "all_n": all_n,
    "short_contigs": short_contigs,
    "tandem": tandem,
    "contigs_10k": contigs_of(10_000),
    "contigs_300k": contigs_of(300_000),
    "samples_100": samples_of(100),
    "samples_500": samples_of(500),
    "amplicon": amplicon,
    "other_mates": other_mates,
}


def write(case: Case, folder: Path) -> Path:
    """Write the files of a run, and return its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "genome.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in case.contigs.items()))
    units: dict[str, Units] = {}
    for sample, texts in case.reads.items():
        units[sample] = [(folder / f"{sample}_1.fq", folder / f"{sample}_2.fq")]
        for path, text in zip(units[sample][0], texts, strict=True):
            path.write_text(text)
    return configure(folder.with_name(f"{folder.name}_run"), folder / "genome.fa", units, "cpu")


def answer(folder: Path) -> dict[str, int]:
    """Return the counts of the records of all samples and the lines of the VCF."""
    counts = {"records": 0, "mapped": 0, "proper": 0, "duplicates": 0, "MAPQ >= 20": 0}
    for path in (folder / "results/align").glob("*.bam"):
        with pysam.AlignmentFile(str(path)) as stream:
            for one in stream.fetch(until_eof=True):
                counts["records"] += 1
                counts["mapped"] += not one.is_unmapped
                counts["proper"] += one.is_proper_pair
                counts["duplicates"] += one.is_duplicate
                counts["MAPQ >= 20"] += one.mapping_quality >= 20
    with pysam.VariantFile(str(folder / "results/rescore/all.vcf.gz")) as calls:
        counts["calls"] = sum(1 for _ in calls)
    return counts


def measure(name: str, work: Path, scale: int, threads: int, seed: int) -> dict[str, Any]:
    """Run a case and return its line."""
    inputs = work / "biology" / f"{name}_{scale}"
    configuration = write(CASES[name](Place(scale, np.random.default_rng(seed))), inputs)
    folder = configuration.parent
    with watched(folder) as watch:
        timing = run_workflow(configuration, threads)
    takes: dict[str, float] = {}
    asks: dict[str, int] = {}
    for job in watch.jobs.values():
        takes[job.rule] = max(takes.get(job.rule, 0.0), job.memory)
        asks[job.rule] = max(asks.get(job.rule, 0), job.asked["mem_mb"])
    return {
        "case": name,
        "scale": scale,
        "seconds": round(timing.seconds, 1),
        "processor seconds": round(timing.cpu_seconds, 1),
        "jobs": len(list((folder / "results/benchmarks").rglob("*.tsv"))),
        "MB": {rule: round(most) for rule, most in sorted(takes.items())},
        "asks MB": asks,
        "more than asked": [rule for rule, most in takes.items() if most > asks[rule]],
        "answer": answer(folder),
    }


def row(line: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    """Return the cells of a case: input, seconds, processor seconds, the tightest job, its memory, what came out."""
    shares = {rule: most / line["asks MB"][rule] for rule, most in line["MB"].items() if line["asks MB"][rule]}
    tightest = max(shares, key=lambda rule: shares[rule], default="")
    memory = f"{line['MB'][tightest]:,} of {line['asks MB'][tightest]:,} MB" if tightest else ""
    found = ", ".join(f"{count:,} {name}" for name, count in line["answer"].items())
    what = str(CASES[line["case"]].__doc__)
    seconds = f"{line['seconds']:.0f}", f"{line['processor seconds']:.0f}"
    return f"`{line['case']}`: {what}", *seconds, tightest, memory, found


def main() -> None:
    """Run the chosen cases; print their lines, then a table."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--scale", type=int, default=1, help="how many times larger than stated")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print_setting(())
    measure("one_pair", given.work, 1, given.threads, given.seed)  # compiles the kernels
    lines = []
    for name in given.cases:
        lines.append(measure(name, given.work, given.scale, given.threads, given.seed))
        print(json.dumps(lines[-1]), flush=True)
        add_figures({f"{name}: {key}": lines[-1][key] for key in ("seconds", "processor seconds")})
    for cells in (HEADER, ["---"] * len(HEADER), *map(row, lines)):
        print("| " + " | ".join(cells) + " |")
    write_measurement(f"scale {given.scale}")


if __name__ == "__main__":
    main()
