"""Comparison of a sample's counts.json with the counts of samtools and Picard for the same BAM file."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pysam
import pysam.bcftools

Figures = dict[str, Any]
GC_STEPS = 200  # bins of samtools stats
MEAN_OF_SPLIT = 1.0  # tolerance of a mean over records against a mean over records split by allele
ROUNDED = 0.0501  # tolerance of a figure with one decimal against the unrounded number


def samtools_differences(figures: Figures, bam: Path, fasta: Path) -> list[str]:
    """Return the differences from samtools stats, flagstat, idxstats and coverage as texts; empty for none.

    Args:
        figures: content of counts.json.
        bam: BAM file with its index.
        fasta: plain or bgzip reference with its index.
    """
    lines = str(pysam.samtools.stats("-r", str(fasta), str(bam))).splitlines()
    pairs = [*_summary(figures, lines), *_histograms(figures, lines), *_cycles(figures, lines)]
    pairs += [*_flagstat(figures, bam), *_contigs(figures, bam)]
    return [f"{name}: {mine} is not {theirs}" for name, mine, theirs in pairs if mine != theirs]


def _section(lines: list[str], name: str) -> list[list[str]]:
    return [line.split("\t")[1:] for line in lines if line.startswith(name + "\t")]


def _summary(figures: Figures, lines: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the figures of the section SN; decimal figures are equal if they round to samtools' text."""
    theirs = {row[0].rstrip(":"): row[1] for row in _section(lines, "SN")}
    for name, value in figures["stats"].items():
        if isinstance(value, int):
            yield name, value, int(theirs[name])
        elif name == "error rate":
            yield name, abs(value - float(theirs[name])) <= 1e-6 * value, True
        else:
            yield f"{name} {value} {theirs[name]}", abs(value - float(theirs[name])) < ROUNDED, True


def _padded(values: list[int], size: int) -> list[int]:
    return values + [0] * (size - len(values))


def _table(rows: list[list[str]], column: int = 1, first: int = 0) -> list[int]:
    """Return a column's numbers, placed by the number in column `first`, without trailing zeros."""
    found = {int(row[0]) - first: int(row[column]) for row in rows}
    values = [found.get(key, 0) for key in range(max(found, default=-1) + 1)]
    while values and not values[-1]:
        values.pop()
    return values


def _histograms(figures: Figures, lines: list[str]) -> Iterator[tuple[str, Any, Any]]:
    yield "MAPQ", figures["mapping_quality"], _table(_section(lines, "MAPQ"))
    for name, mate in (("FRL", "first"), ("LRL", "last")):
        yield name, figures["read_length"][mate], _table(_section(lines, name))
    for column, kind in ((1, "insertions"), (2, "deletions")):
        yield f"ID {kind}", figures["indel_length"][kind], _table(_section(lines, "ID"), column, first=1)
    sizes, rows = figures["insert_size"], _section(lines, "IS")
    yield "main bulk", sizes["main_bulk"], len(rows)
    for column, orientation in ((2, "inward"), (3, "outward"), (4, "other")):
        mine = _padded(sizes[orientation], len(rows))[: len(rows)]
        yield f"IS {orientation}", mine, [int(row[column]) for row in rows]
    for name, mate in (("GCF", "first"), ("GCL", "last")):
        yield name, _gc_lines(_padded(figures["gc_content"][mate], GC_STEPS)), _section(lines, name)


def _gc_lines(values: list[int]) -> list[list[str]]:
    """Return GC content as samtools prints it: one line for neighbouring bins with the same number."""
    rows, before = [], 0
    for step in range(GC_STEPS):
        if values[step] != values[before]:
            rows.append([f"{(step + before) * 0.5 * 100 / (GC_STEPS - 1):.2f}", str(values[before])])
            before = step
    return rows


def _cycles(figures: Figures, lines: list[str]) -> Iterator[tuple[str, Any, Any]]:
    cycles = figures["cycles"]
    for name, bases, mate in (("FFQ", "FBC", "first"), ("LFQ", "LBC", "last")):
        rows = [[int(number) for number in row[1:]] for row in _section(lines, name)]
        means = [sum(quality * number for quality, number in enumerate(row)) / max(1, sum(row)) for row in rows]
        theirs = [round(mean, 3) for mean, row in zip(means, rows, strict=True) if sum(row)]
        yield name, cycles[mate]["mean_quality"], theirs
        sums = [sum(column) for column in zip(*rows, strict=True)]
        yield f"{name} sums", _padded(cycles[mate]["quality"], len(sums)), sums
        table = cycles[mate]["bases"]
        for row in _section(lines, bases):
            column = [_padded(table[letter], int(row[0]))[int(row[0]) - 1] for letter in "ACGTN"]
            known = sum(column[:4])
            yield f"{bases} {row[0]}", [f"{100 * number / known:.2f}" for number in column], row[1:6]
    rows = _section(lines, "IC")
    for column, (kind, mate) in enumerate(
        (("insertions", "first"), ("insertions", "last"), ("deletions", "first"), ("deletions", "last")), 1
    ):
        mine = cycles[kind][mate]
        yield f"IC {kind} {mate}", mine, _padded(_table(rows, column, first=1), len(mine))
    rows = [[int(number) for number in row[1:]] for row in _section(lines, "MPC")]
    longest = len(cycles["unknown"])
    yield "MPC N", cycles["unknown"], _padded([row[0] for row in rows], longest)[:longest]
    yield "MPC", cycles["mismatches"], _padded([sum(row[1:]) for row in rows], longest)[:longest]
    sums = [sum(column) for column in zip(*rows, strict=True)][1:]
    yield "MPC qualities", _padded(cycles["mismatches_by_quality"], len(sums)), sums


def _flagstat(figures: Figures, bam: Path) -> Iterator[tuple[str, Any, Any]]:
    theirs = json.loads(str(pysam.samtools.flagstat("-O", "json", str(bam))))
    for mine, name in (("passed", "QC-passed reads"), ("failed", "QC-failed reads")):
        counts = {key: value for key, value in theirs[name].items() if not key.endswith("%")}
        yield f"flagstat {mine}", figures["flagstat"][mine], counts


def _contigs(figures: Figures, bam: Path) -> Iterator[tuple[str, Any, Any]]:
    mine = figures["contigs"]
    *rows, unplaced = [line.split("\t") for line in str(pysam.samtools.idxstats(str(bam))).splitlines()]
    yield (
        "idxstats",
        list(zip(mine["name"], mine["mapped"], mine["unmapped"], strict=True)),
        [(row[0], int(row[2]), int(row[3])) for row in rows],
    )
    yield "idxstats *", figures["unplaced"], int(unplaced[3])
    covered = {}
    for line in str(pysam.samtools.coverage("--excl-flags", "UNMAP,SECONDARY,QCFAIL,DUP", str(bam))).splitlines()[1:]:
        row = line.split("\t")
        covered[row[0]] = int(row[4])
    yield "coverage", dict(zip(mine["name"], mine["covered"], strict=True)), covered


def depths(bam: Path, contigs: dict[str, int]) -> dict[str, list[int]]:
    """Return `samtools depth -aa` of a small file, by contig."""
    found: dict[str, list[int]] = {name: [] for name in contigs}
    for line in str(pysam.samtools.depth("-aa", str(bam))).splitlines():
        contig, _, depth = line.split("\t")
        found[contig].append(int(depth))
    return found


def picard() -> str | None:
    """Return the path of Picard, or None if it is not installed."""
    return shutil.which("PicardCommandLine") or shutil.which("picard")


def picard_metrics(
    folder: Path, tool: str, outputs: Callable[[Path], list[str]], *options: str
) -> list[dict[str, str]]:
    """Return the rows of the metrics that a Picard tool writes to `folder`/metrics.txt.

    Tools that draw a chart require an Rscript, which the figures do not need: a stand-in does nothing.
    """
    program = picard()
    assert program is not None
    stand_in = folder / "no_chart"
    stand_in.mkdir(exist_ok=True)
    (stand_in / "Rscript").write_text("#!/bin/sh\nexit 0\n")
    (stand_in / "Rscript").chmod(0o755)
    metrics = folder / "metrics.txt"
    command = [program, tool, *outputs(metrics), *options, "VALIDATION_STRINGENCY=SILENT", "QUIET=true"]
    environment = os.environ | {"PATH": f"{stand_in}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    table = metrics.read_text().split("## METRICS CLASS")[1].split("\n\n")[0].splitlines()[1:]
    names = table[0].split("\t")
    return [dict(zip(names, row.split("\t"), strict=False)) for row in table[1:]]


def picard_gc_bias_differences(figures: Figures, bam: Path, fasta: Path, folder: Path) -> list[str]:
    """Return the differences from CollectGcBiasMetrics as texts."""
    rows = picard_metrics(
        folder,
        "CollectGcBiasMetrics",
        lambda metrics: [f"O={metrics}", f"S={folder / 'summary.txt'}", f"CHART={folder / 'chart.pdf'}"],
        f"I={bam}",
        f"R={fasta}",
    )
    mine = figures["gc_bias"]
    pairs = [
        ("WINDOWS", mine["windows"], [int(row["WINDOWS"]) for row in rows]),
        ("READ_STARTS", mine["read_starts"], [int(row["READ_STARTS"]) for row in rows]),
    ]
    for number, row in enumerate(rows):
        near = abs(mine["normalized_coverage"][number] - float(row["NORMALIZED_COVERAGE"])) < 2e-6
        pairs.append((f"NORMALIZED_COVERAGE {number}", near, True))
    lines = (folder / "summary.txt").read_text().split("## METRICS CLASS")[1].splitlines()
    summary = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=False))
    for name in ("AT_DROPOUT", "GC_DROPOUT"):
        pairs.append((name, abs(mine[name.lower()] - float(summary[name])) < 2e-6, True))
    return [f"{name}: {left} is not {right}" for name, left, right in pairs if left != right]


DUPLICATION = {
    "UNPAIRED_READS_EXAMINED": "unpaired_reads_examined",
    "READ_PAIRS_EXAMINED": "read_pairs_examined",
    "SECONDARY_OR_SUPPLEMENTARY_RDS": "secondary_or_supplementary",
    "UNMAPPED_READS": "unmapped_reads",
    "UNPAIRED_READ_DUPLICATES": "unpaired_read_duplicates",
    "READ_PAIR_DUPLICATES": "read_pair_duplicates",
    "PERCENT_DUPLICATION": "fraction_duplication",
    "ESTIMATED_LIBRARY_SIZE": "estimated_library_size",
}
"""Picard's DuplicationMetrics, and their keys in counts.json."""


def picard_mark_duplicates(bam: Path, folder: Path) -> tuple[Path, list[dict[str, str]]]:
    """Mark duplicates with Picard, none of them optical; return the marked file and the metrics of each library."""
    marked = folder / "picard.bam"
    rows = picard_metrics(
        folder, "MarkDuplicates", lambda metrics: [f"M={metrics}"], f"I={bam}", f"O={marked}", "READ_NAME_REGEX=null"
    )
    return marked, rows


def duplication_differences(figures: Figures, rows: list[dict[str, str]]) -> list[str]:
    """Return the differences from Picard's DuplicationMetrics as texts."""
    theirs = {row["LIBRARY"]: {key: _number(row.get(name)) for name, key in DUPLICATION.items()} for row in rows}
    mine = {row["library"]: {key: row[key] for key in DUPLICATION.values()} for row in figures["libraries"]}
    return [f"{name}: {mine.get(name)} is not {row}" for name, row in theirs.items() if mine.get(name) != row]


def bcftools_differences(variants: Figures, vcf: Path, folder: Path) -> list[str]:
    """Return the differences from `bcftools stats`, by sample, over records split to two alleles each.

    Sections without samples (ST, IDD) are compared only for VCFs with one sample, which then carries all alleles.

    Args:
        variants: content of variants.json of a VCF whose records pass.
        vcf: the VCF.
        folder: folder for the split VCF.
    """
    split = folder / "split.vcf.gz"
    pysam.bcftools.norm("-m", "-any", "-Oz", "-o", str(split), str(vcf), catch_stdout=False)
    lines = str(pysam.bcftools.stats("-s", "-", str(split))).splitlines()
    found = _of_all_sites(variants, lines)
    for row in _section(lines, "PSC"):
        mine = variants["samples"][row[1]]["counts"]
        theirs = {
            "transitions": int(row[5]),
            "transversions": int(row[6]),
            "snvs": int(row[5]) + int(row[6]),
            "indels": int(row[7]),
        }
        found += [
            f"{row[1]} {name}: {mine[name]} is not {value}" for name, value in theirs.items() if mine[name] != value
        ]
    return found


def _of_all_sites(variants: Figures, lines: list[str]) -> list[str]:
    """Return the differences in substitutions, lengths of indels and mean depth as texts."""
    if len(variants["samples"]) != 1:
        return []
    (mine,) = variants["samples"].values()
    depths = mine["depth"]
    mean = sum(depth * records for depth, records in enumerate(depths)) / max(1, sum(depths))
    theirs = {row[1]: int(row[2]) for row in _section(lines, "ST")}
    lengths = [[int(row[1]), int(row[2])] for row in _section(lines, "IDD")]
    pairs = [
        ("substitutions", mine["substitutions"], theirs),
        ("indel lengths", mine["indel_lengths"], lengths),
        ("mean depth", abs(mean - float(_section(lines, "PSC")[0][8])) < MEAN_OF_SPLIT, True),
    ]
    return [f"{name}: {left} is not {right}" for name, left, right in pairs if left != right]


def _number(text: str | None) -> int | float | None:
    if not text:
        return None
    return float(text) if "." in text else int(text)
