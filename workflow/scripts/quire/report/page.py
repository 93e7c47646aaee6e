"""The report: every figure gathered, one self-contained HTML page and summary.json written.

The page stands alone (styles and pictures inside), since it is what people mail and archive. It is drawn with jinja2
and matplotlib and not with MultiQC, whose dependencies take about 1 GB of the environment for one page.
"""

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from pysam.version import __samtools_version__ as SAMTOOLS_VERSION

from quire.errors import QuireError
from quire.io.files import atomic_path, write_json_atomic
from quire.report import figures, summary
from quire.report.backends import summarise_backends
from quire.report.counts import CalledVariants, CountedSample, VariantCounts, read_sample_counts, read_variants
from quire.report.ledgers import (
    read_calling_ledger,
    read_duplicates,
    read_insert_size_models,
    read_json,
    read_ledgers,
)
from quire.report.resources import read_benchmarks
from quire.report.terminal import FORMAT_VERSION
from quire.report.warnings import find_warnings
from quire.version import VERSION

TEMPLATES = Path(__file__).parents[3] / "report"
PACKAGES = ("numpy", "numba", "pysam", "pandas", "matplotlib", "snakemake")


def write_report(
    output_html: str | Path,
    summary_json: str | Path,
    *,
    samples: Sequence[Mapping[str, Any]],
    vcf: str | Path,
    variants: str | Path,
    comparison: str | Path | None = None,
    benchmarks_directory: str | Path | None = None,
    calling_ledger: str | Path | None = None,
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write the page and the summary of a run, from what the earlier stages counted; no BAM and no VCF is read.

    Args:
        output_html: the page.
        summary_json: the same figures; keys in docs/formats.md.
        samples: for each `sample`, `ploidy`, `bam` (BAM or CRAM), `counts` (path of counts.json), `ledgers` (paths),
            and optionally `target` (path of target.json), `duplicates_table` (path) and `insert_size` (paths).
        vcf: calls of all samples.
        variants: their counts (variants.json).
        comparison: what `quire.report.comparison` wrote; None leaves the comparison with a truth set out.
        benchmarks_directory: Snakemake's benchmark tables.
        calling_ledger: what `quire.rescore.ledgers.gather_ledgers` wrote.
        run: what else the head of the page shows: any text by name.

    Raises:
        QuireError: a file cannot be read or is of another version, or the VCF lacks a sample.
    """
    called = read_variants(variants)
    _require_samples(vcf, called, samples)
    rows, pictures, target = [], {}, {"bed": "", "positions": 0}
    for sample in samples:
        counted = read_sample_counts(sample["counts"], sample.get("target"))
        target = counted.target
        row, pictures[sample["sample"]] = _describe_sample(sample, counted, called.samples[sample["sample"]])
        rows.append(row)
    ledger = [
        *(line for sample in samples for line in read_ledgers(sample["sample"], sample["ledgers"])),
        *read_calling_ledger(calling_ledger, called.backend),
    ]
    content = {
        "format_version": FORMAT_VERSION,
        "run": {
            "version": VERSION,
            "backend": summarise_backends(ledger),
            **(run or {}),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "packages": _versions(),
        },
        "files": {
            "report": str(output_html),
            "variants": str(vcf),
            "alignments": {sample["sample"]: str(sample["bam"]) for sample in samples},
        },
        "target": target,
        "samples": rows,
        "truth": read_json(comparison) if comparison else None,
        "rules": summary.summarise_rules(read_benchmarks(benchmarks_directory)),
        "ledger": ledger,
    }
    content["warnings"] = find_warnings(content)
    with atomic_path(output_html) as temporary:
        temporary.write_text(render(content, pictures), encoding="utf-8")
    write_json_atomic(summary_json, content)


def render(content: Mapping[str, Any], pictures: Mapping[str, list[dict[str, str]]]) -> str:
    """Fill the page's template.

    Args:
        content: what summary.json holds.
        pictures: for each sample, drawings as `title`, `address` and `text` (for people who do not see them).
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["figure"] = _figure
    return environment.get_template("page.html.jinja").render(**content, pictures=pictures)


def _figure(value: float | None, digits: int = 0) -> str:
    """A number with separators between thousands; a dash where there is none."""
    return "\N{EN DASH}" if value is None else f"{value:,.{digits}f}"


def _describe_sample(
    sample: Mapping[str, Any], counted: CountedSample, variants: VariantCounts
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The figures and the pictures of one sample."""
    alignments, depth = counted.alignments, counted.depth
    row = {
        "sample": sample["sample"],
        "ploidy": int(sample["ploidy"]),
        "reads": summary.summarise_reads(alignments),
        "insert_size": summary.summarise_insert_sizes(alignments.insert_sizes),
        "coverage": summary.summarise_depth(depth),
        "variants": summary.summarise_variants(variants),
        "libraries": read_duplicates(sample.get("duplicates_table")),
        "insert_size_models": read_insert_size_models(sample.get("insert_size", ())),
    }
    drawings = [
        ("Coverage", figures.draw_coverage(depth), f"mean {depth.mean:.1f}, median {depth.median}"),
        ("Coverage along the target", figures.draw_profile(depth), f"mean {depth.mean:.1f}"),
        ("Mapping quality", figures.draw_mapping_qualities(alignments), f"{row['reads']['mapped']:,} mapped reads"),
        ("Variant quality", figures.draw_variant_qualities(variants), f"{variants.counts['snvs']:,} SNVs"),
    ]
    if row["insert_size"]:
        text = f"median {row['insert_size']['median']} bases"
        drawings.insert(2, ("Insert size", figures.draw_insert_sizes(alignments), text))
    return row, [{"title": title, "address": address, "text": text} for title, address, text in drawings]


def _require_samples(vcf: str | Path, called: CalledVariants, samples: Sequence[Mapping[str, Any]]) -> None:
    for sample in samples:
        if sample["sample"] not in called.samples:
            raise QuireError(f"{vcf}: sample {sample['sample']} of the sheet is missing; delete the VCF and run again.")


def _versions() -> dict[str, str]:
    """Versions of what the environment holds; packages that this rule's environment lacks are left out."""
    versions = {"Python": platform.python_version(), "samtools": SAMTOOLS_VERSION}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
