"""Folder for MultiQC: counts in formats of samtools, bcftools, Picard and mosdepth, and the checks as custom content.

All numbers come from earlier stages. Text files with a head state there that Quire wrote them in another
program's format. Fields of that program that Quire does not count are left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quire.report.counts import CountedSample, padded
from quire.report.criteria import CRITERIA, FAIL, LOOK, PASS
from quire.version import VERSION

_WRITTEN = f"counted by Quire {VERSION}, in the same format"
_SHARE_OF = {  # lines that end in a percentage, with the line that is its whole
    "mapped": "total",
    "primary mapped": "primary",
    "properly paired": "paired in sequencing",
    "singletons": "paired in sequencing",
}
_DUPLICATION = {
    "UNPAIRED_READS_EXAMINED": "unpaired_reads_examined",
    "READ_PAIRS_EXAMINED": "read_pairs_examined",
    "SECONDARY_OR_SUPPLEMENTARY_RDS": "secondary_or_supplementary",
    "UNMAPPED_READS": "unmapped_reads",
    "UNPAIRED_READ_DUPLICATES": "unpaired_read_duplicates",
    "READ_PAIR_DUPLICATES": "read_pair_duplicates",
    "READ_PAIR_OPTICAL_DUPLICATES": "read_pair_optical_duplicates",
    "PERCENT_DUPLICATION": "fraction_duplication",
    "ESTIMATED_LIBRARY_SIZE": "estimated_library_size",
}
_OPTICAL = list(_DUPLICATION).index("READ_PAIR_OPTICAL_DUPLICATES")


def write_sample(folder: Path, name: str, counted: CountedSample, variants: Mapping[str, Any], target: bool) -> None:
    """Write the files of a sample into a folder for MultiQC.

    `variants` is its entry of variants.json; with a target, its depth has a file too.
    """
    counts = counted.content
    files = {
        "stats.txt": samtools_stats(counts),
        "flagstat": flagstat(counts),
        "idxstats": idxstats(counts),
        "markdup_metrics.txt": duplication_metrics(name, counts),
        "gc_bias_metrics.txt": gc_bias_metrics(name, counts),
        "bcftools_stats.txt": bcftools_stats(name, variants),
        "mosdepth.global.dist.txt": depth_distribution(counts["depth"]["histogram"]),
    }
    if target:
        files["mosdepth.region.dist.txt"] = depth_distribution(counted.depth.histogram.tolist())
    for ending, lines in files.items():
        (folder / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def write_tables(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the checks and the figures of all samples, which are those of summary.json, into a folder for MultiQC."""
    if rows:
        (folder / "quire_checks_mqc.json").write_text(json.dumps(checks_table(rows), indent=1))
        (folder / "quire_figures_mqc.json").write_text(json.dumps(general_figures(rows), indent=1))


def samtools_stats(counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sections SN and IS of `samtools stats`."""
    stats, sizes = counts["stats"], counts["insert_size"]
    yield f"# This file was produced by samtools stats, or rather {_WRITTEN}."
    yield f"SN\traw total sequences:\t{stats['sequences']}"
    yield "SN\tfiltered sequences:\t0"
    yield "SN\tis sorted:\t1"
    for name, value in stats.items():
        style = "d" if isinstance(value, int) else "e" if name == "error rate" else ".1f"
        yield f"SN\t{name}:\t{value:{style}}"
    columns = [
        padded(sizes[orientation], sizes["main_bulk"]).tolist() for orientation in ("inward", "outward", "other")
    ]
    for size, (inward, outward, other) in enumerate(zip(*columns, strict=True)):
        yield f"IS\t{size}\t{inward + outward + other}\t{inward}\t{outward}\t{other}"


def flagstat(counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the complete output of `samtools flagstat`."""
    passed, failed = counts["flagstat"]["passed"], counts["flagstat"]["failed"]
    yield f"{passed['total']} + {failed['total']} in total (QC-passed reads + QC-failed reads)"
    for name in list(passed)[1:]:
        line = f"{passed[name]} + {failed[name]} {name.replace('mapQ >= 5', 'mapQ>=5')}"
        if name in _SHARE_OF:
            whole = _SHARE_OF[name]
            shares = (f"{100 * part[name] / part[whole]:.2f}%" if part[whole] else "N/A" for part in (passed, failed))
            line += f" ({' : '.join(shares)})"
        yield line


def idxstats(counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the complete output of `samtools idxstats`."""
    contigs = counts["contigs"]
    for row in zip(*(contigs[key] for key in ("name", "length", "mapped", "unmapped")), strict=True):
        yield "\t".join(map(str, row))
    yield f"*\t0\t0\t{counts['unplaced']}"


def _head_of_picard(command: str, kind: str) -> tuple[str, ...]:
    return (
        "## htsjdk.samtools.metrics.StringHeader",
        f"# {command} ({_WRITTEN})",
        "",
        f"## METRICS CLASS\tpicard.{kind}",
    )


def duplication_metrics(sample: str, counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield Picard's DuplicationMetrics; without `align.optical_distance`, optical duplicates are 0."""
    yield from _head_of_picard(f"MarkDuplicates INPUT={sample}.bam", "sam.DuplicationMetrics")
    yield "\t".join(("LIBRARY", *_DUPLICATION))
    for library in counts["libraries"]:
        values = [library[key] for key in _DUPLICATION.values()]
        values[_OPTICAL] = values[_OPTICAL] or 0
        yield "\t".join((library["library"], *("" if value is None else str(value) for value in values)))
    yield ""


def gc_bias_metrics(sample: str, counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield Picard's GcBiasDetailMetrics: windows, reads and relative coverage by GC content."""
    bias = counts["gc_bias"]
    yield from _head_of_picard(f"CollectGcBiasMetrics INPUT={sample}.bam", "analysis.GcBiasDetailMetrics")
    yield "\t".join(("ACCUMULATION_LEVEL", "GC", "WINDOWS", "READ_STARTS", "NORMALIZED_COVERAGE"))
    columns = zip(bias["windows"], bias["read_starts"], bias["normalized_coverage"], strict=True)
    for percent, row in enumerate(columns):
        yield "\t".join(("All Reads", str(percent), *map(str, row)))
    yield ""


def depth_distribution(histogram: Sequence[int]) -> Iterator[str]:
    """Yield mosdepth's distribution of all contigs together: the share of positions of at least each depth."""
    deeper, positions = 0, max(1, sum(histogram))
    for depth in reversed(range(len(histogram))):
        deeper += histogram[depth]
        if deeper:
            yield f"total\t{depth}\t{deeper / positions:.4f}"


def bcftools_stats(sample: str, variants: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sections SN, TSTV, IDD and ST of `bcftools stats`, for the alleles that a sample carries."""
    counts = variants["counts"]
    yield f"# This file was produced by bcftools stats, or rather {_WRITTEN}."
    yield f"ID\t0\t{sample}.vcf.gz"
    summary = {
        "samples": 1,
        "records": counts["heterozygous"] + counts["homozygous"],
        "SNPs": counts["snvs"],
        "indels": counts["indels"],
        "others": counts["other"],
    }
    for name, number in summary.items():
        yield f"SN\t0\tnumber of {name}:\t{number}"
    transitions, transversions = counts["transitions"], counts["transversions"]
    ratio = f"{transitions / transversions if transversions else 0:.2f}"
    yield "\t".join(map(str, ("TSTV", 0, *(transitions, transversions, ratio) * 2)))
    for length, number in variants["indel_lengths"]:
        yield f"IDD\t0\t{length}\t{number}"
    for change, number in variants["substitutions"].items():
        yield f"ST\t0\t{change}\t{number}"


def checks_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return custom content with the verdicts of all samples."""
    return {
        "id": "quire_checks",
        "section_name": "Quire: checks",
        "description": "The report of the run has the usual ranges and their sources (docs/verdicts.md).",
        "plot_type": "table",
        "pconfig": {"id": "quire_checks_table", "title": "Quire: checks", "namespace": "Quire", "scale": False},
        "headers": {
            criterion.key: {
                "title": criterion.title,
                "description": f"usual: {criterion.usual}",
                "cond_formatting_rules": {
                    "pass": [{"s_eq": PASS}],
                    "warn": [{"s_eq": LOOK}],
                    "fail": [{"s_eq": FAIL}],
                },
            }
            for criterion in CRITERIA
        },
        "data": {row["sample"]: {check["criterion"]: check["verdict"] for check in row["checks"]} for row in rows},
    }


def general_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return custom content for MultiQC's general statistics, with the columns that no other file provides."""
    columns = {
        "coverage": ("Coverage", "mean depth of the target", lambda row: row["coverage"]["mean"]),
        "breadth_10x": ("≥ 10X", "% of the target", lambda row: row["coverage"]["breadth_10x_percent"]),
        "adapters": ("Adapters", "% of reads", lambda row: row["reads"]["adapter_percent"]),
        "contamination": (
            "Foreign",
            "% of reads of another person",
            lambda row: (row["contamination"] or {}).get("percent"),
        ),
        "passed": ("Checks", "checks passed", lambda row: row["verdicts"][PASS]),
    }
    figures = {
        row["sample"]: {key: value for key, (_, _, of) in columns.items() if (value := of(row)) is not None}
        for row in rows
    }
    return {
        "id": "quire_figures",
        "plot_type": "generalstats",
        "pconfig": [
            {key: {"title": title, "description": words, "namespace": "Quire", "min": 0}}
            for key, (title, words, _) in columns.items()
        ],
        "data": figures,
    }
