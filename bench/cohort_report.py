"""Time and size of the report of a large cohort, whose counts are those of one finished run with noise.

Genotypes of unrelated people, of children with both parents and of samples under two names are drawn, and the library
counts pairs of samples, reads and Mendelian errors from them as it does while a VCF is gathered. Each sample's counts
are those of the run's first sample with other numbers of reads. One sample in fifty is far from the others.
"""

import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from quire.io.files import read_json, write_json_atomic
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.rescore.cohort_counts import PairCounter

from bench.common import arguments, print_setting, print_table, write_measurement

SITES = 4096
READS = 30  # mean depth of the SNVs in the counts of allele depths
HETEROZYGOUS, HOMOZYGOUS = 100_000, 60_000  # SNVs of a sample
FAMILIES, TWICE = 0.1, 0.01  # children with both parents, and samples under two names, per sample
STRANGE = 50  # one sample in this many has a third of the reads and three times the duplicates


def genotypes(samples: int, generator: np.random.Generator) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """Return codes of genotypes (int8[samples, SITES]) and the trios (child, father, mother); mothers are unique."""
    frequency = generator.uniform(0.05, 0.95, SITES)
    haplotypes = generator.random((samples, 2, SITES)) < frequency
    trios = [(samples - 1 - n, 2 * n, 2 * n + 1) for n in range(int(FAMILIES * samples))]
    for child, *parents in trios:
        for side, parent in enumerate(parents):
            chosen = generator.integers(2, size=SITES)
            haplotypes[child, side] = haplotypes[parent, chosen, np.arange(SITES)]
    codes = 1 + haplotypes.sum(axis=1, dtype=np.int8)
    for n in range(int(TWICE * samples)):
        codes[samples // 2 + n] = codes[samples // 4 + n]
    codes[generator.random(codes.shape) < 0.002] = 0
    return codes, trios


def allele_depths(generator: np.random.Generator) -> dict[str, list[list[int]]]:
    """Return the read counts of a sample's SNVs, as variants.json has them."""
    found = {}
    for kind, number, share in (("heterozygous", HETEROZYGOUS, 0.5), ("homozygous", HOMOZYGOUS, 0.998)):
        depth = generator.poisson(READS, number)
        alternate = generator.binomial(depth, share)
        cells, counts = np.unique(np.stack([depth - alternate, alternate], axis=1), axis=0, return_counts=True)
        found[kind] = [[*cell, count] for cell, count in zip(cells.tolist(), counts.tolist(), strict=True)]
    return found


def scaled(values: Any, factor: float) -> Any:
    """Return counts, in lists and dictionaries of any depth, times a factor."""
    if isinstance(values, dict):
        return {key: scaled(value, factor) for key, value in values.items()}
    if isinstance(values, list):
        return [scaled(value, factor) for value in values]
    return round(values * factor) if isinstance(values, int) else values


def write_inputs(run: Path, folder: Path, samples: int) -> ReportInputs:
    """Write the counts and ledgers of a cohort, made from those of a finished run."""
    generator = np.random.default_rng(1)
    (folder / "align").mkdir(parents=True, exist_ok=True)
    counts_path = next((run / "align").glob("*.counts.json"))
    name = counts_path.name.removesuffix(".counts.json")
    counts, called, ledger = read_json(counts_path), read_json(run / "rescore/variants.json"), {}
    for stage in ("align", "sort"):
        path = next(p for p in (run / "ledger").glob("*.json") if read_json(p)["stage"] == stage)
        ledger[stage] = read_json(path)
    of_sample = called["samples"][name]
    names = [f"{name}_{number:04}" for number in range(samples)]
    codes, trios = genotypes(samples, generator)
    pairs = PairCounter(samples, trios)
    for site in codes.T:
        pairs.add(site.tolist(), [(2, 30) if code == 3 else (0, 0) for code in site.tolist()])
    rows, variants = [], {}
    for number, sample in enumerate(names):
        strange = number % STRANGE == STRANGE - 1
        factor = float(generator.lognormal(0, 0.05)) / (3 if strange else 1)
        own = deepcopy(counts) | {"sample": sample}
        for key in ("flagstat", "stats", "insert_size", "cycles"):
            own[key] = scaled(own[key], factor)
        own["insert_size"]["main_bulk"] = counts["insert_size"]["main_bulk"]
        for library in own["libraries"]:
            library |= scaled({key: library[key] for key in ("reads", "mapped")}, factor)
        if strange:
            own["flagstat"]["passed"]["primary duplicates"] *= 3
        own["depth"]["bases"] = round(own["depth"]["bases"] * factor)
        write_json_atomic(folder / f"align/{sample}.counts.json", own)
        for stage, content in ledger.items():
            line = content | {"unit": sample, "counts": scaled(content["counts"], factor)}
            write_json_atomic(folder / f"align/{sample}.{stage}.json", line)
        others = zip(names, pairs.foreign(number), strict=True)
        variants[sample] = scaled(of_sample, float(generator.lognormal(0, 0.03))) | {
            "allele_depths": allele_depths(generator),
            "foreign": {other: row for other, row in others if other != sample},
        }
        rows.append(
            {
                "sample": sample,
                "ploidy": 2,
                "sex": "",
                "bam": folder / f"align/{sample}.bam",
                "counts": folder / f"align/{sample}.counts.json",
                "ledgers": [folder / f"align/{sample}.{stage}.json" for stage in ledger],
                "beds": [folder / f"align/{sample}.{kind}.bed.gz" for kind in ("coverage", "low_coverage")],
            }
        )
    members = [dict(zip(("child", "father", "mother"), (names[n] for n in trio), strict=True)) for trio in trios]
    counted = zip(members, pairs.trios(), strict=True)
    content = {
        "samples": variants,
        "pairs": pairs.counts(),
        "trios": [{**names_of, "sites": sites, "errors": errors} for names_of, (sites, errors) in counted],
    }
    write_json_atomic(folder / "variants.json", called | content, indent=None)
    lines = (f"family {one['child']} {one['father']} {one['mother']} 0 0\n" for one in members)
    (folder / "pedigree.fam").write_text("".join(lines))
    files = {"variants": folder / "variants.json", "pedigree": folder / "pedigree.fam"}
    return ReportInputs(samples=rows, vcf=folder / "all.vcf.gz", **files)


def main() -> None:
    """Write the report and print its time and size."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--run", type=Path, default=Path("results/demo"), help="output of a finished run (make demo)")
    parser.add_argument("--samples", type=int, default=1000, help="samples of the cohort")
    given = parser.parse_args()
    print_setting(())
    folder = given.work / "cohort_report"
    inputs = write_inputs(given.run, folder, given.samples)
    outputs = ReportOutputs(folder / "report.html", folder / "summary.json", folder / "multiqc", folder / "samples.tsv")
    begin = time.perf_counter()
    write_report(outputs, inputs, given.threads)
    seconds = time.perf_counter() - begin
    sizes = [Path(path).stat().st_size / 1e6 for path in (outputs.page, outputs.summary)]
    print_table(
        ("report", "seconds", "MB of the page", "MB of summary.json"),
        [(f"{given.samples} samples", round(seconds, 2), *(round(size, 2) for size in sizes))],
    )
    write_measurement(f"{given.samples} samples")


if __name__ == "__main__":
    main()
