"""The report: every figure gathered, one self-contained HTML page and summary.json written.

The page stands alone (styles and pictures inside), since it is what people mail and archive. It is drawn with jinja2
and matplotlib and not with MultiQC, whose dependencies take about 1 GB of the environment for one page.
"""

import importlib.metadata
import logging
import platform
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from pysam.version import __samtools_version__ as SAMTOOLS_VERSION

from quire.errors import InputError, QuireError
from quire.io.fasta_index import indexed_fasta
from quire.io.files import atomic_path, write_json_atomic
from quire.reference import Reference
from quire.report import figures, summary
from quire.report.backends import summarise_backends
from quire.report.known_variants import compare_files, first_sample, require_known_contigs
from quire.report.ledgers import read_calling_ledger, read_duplicates, read_insert_size_models, read_ledgers
from quire.report.reads import count_alignments, measure_depth
from quire.report.regions import Regions, islands_of, read_regions, total_length, write_bed
from quire.report.resources import read_benchmarks
from quire.report.terminal import FORMAT_VERSION
from quire.report.variants import count_variants, read_calling_backend, samples_of
from quire.report.warnings import find_warnings
from quire.version import VERSION

logger = logging.getLogger("quire.report")

TEMPLATES = Path(__file__).parents[3] / "report"
PACKAGES = ("numpy", "numba", "pysam", "pandas", "matplotlib", "snakemake")


def write_report(
    output_html: str | Path,
    summary_json: str | Path,
    *,
    samples: Sequence[Mapping[str, Any]],
    vcf: str | Path,
    reference_directory: str | Path,
    fasta: str | Path | None = None,
    intervals_bed: str | Path | None = None,
    truth: Mapping[str, str] | None = None,
    benchmarks_directory: str | Path | None = None,
    calling_ledger: str | Path | None = None,
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write the page and the summary of a run.

    Args:
        output_html: the page.
        summary_json: the same figures; keys in docs/formats.md.
        samples: for each `sample`, `ploidy`, `bam` (or CRAM, sorted and indexed), `ledgers` (paths), and optionally
            `duplicates_table` (path) and `insert_size` (paths).
        vcf: calls of all samples, bgzip-compressed and indexed.
        reference_directory: what `quire.reference.build` wrote.
        fasta: the reference as FASTA, which only CRAM files need; by default the one that the directory was built of.
        intervals_bed: the target; None or empty takes the islands of the reference.
        truth: `vcf`, optionally `bed` (where the truth is complete; the target if empty) and `sample` (whose calls are
            compared). None, or an empty `vcf`, leaves the comparison out.
        benchmarks_directory: Snakemake's benchmark tables.
        calling_ledger: what `quire.rescore.gather_ledgers` wrote.
        run: what else the head of the page shows: any text by name.

    Raises:
        InputError: the truth or a BED cannot be used; the sentence names the file and the contig.
        QuireError: a BAM or the VCF cannot be read, or the VCF lacks a sample.
    """
    reference = Reference.open(reference_directory)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    target = read_regions(intervals_bed, lengths) if intervals_bed else islands_of(reference)
    _require_samples(vcf, samples)
    compared = _compare(samples, vcf, reference, lengths, target, truth) if truth and truth.get("vcf") else None

    rows, pictures = [], {}
    with tempfile.TemporaryDirectory(prefix="quire-") as folder:
        bed = Path(folder, "target.bed")
        write_bed(bed, target)
        letters = _letters_for_cram(samples, fasta or reference.manifest["fasta"]["path"], Path(folder))
        for sample in samples:
            row, pictures[sample["sample"]] = _describe_sample(sample, vcf, letters, target, bed)
            rows.append(row)
    ledger = [
        *(line for sample in samples for line in read_ledgers(sample["sample"], sample["ledgers"])),
        *read_calling_ledger(calling_ledger, read_calling_backend(vcf)),
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
        "target": {"bed": str(intervals_bed or ""), "positions": total_length(target)},
        "samples": rows,
        "truth": compared,
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


def _letters_for_cram(samples: Sequence[Mapping[str, Any]], fasta: str | Path, scratch: Path) -> Path | None:
    """The FASTA with an index that CRAM needs, or None where no file is a CRAM."""
    if not any(str(sample["bam"]).endswith(".cram") for sample in samples):
        return None
    return indexed_fasta(fasta, scratch)


def _describe_sample(
    sample: Mapping[str, Any], vcf: str | Path, fasta: Path | None, target: Regions, bed: Path
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The figures and the pictures of one sample."""
    name, bam = sample["sample"], sample["bam"]
    logger.info("%s: counting reads of %s", name, bam)
    alignments = count_alignments(bam, fasta)
    logger.info("%s: measuring coverage of %d positions", name, total_length(target))
    depth = measure_depth(bam, fasta, target, bed)
    logger.info("%s: counting variants of %s", name, vcf)
    variants = count_variants(vcf, name)
    row = {
        "sample": name,
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


def _compare(
    samples: Sequence[Mapping[str, Any]],
    vcf: str | Path,
    reference: Reference,
    lengths: Mapping[str, int],
    target: Regions,
    truth: Mapping[str, str],
) -> dict[str, Any]:
    """The truth comparison of the summary."""
    require_known_contigs(truth["vcf"], lengths)
    regions = read_regions(truth["bed"], lengths) if truth.get("bed") else target
    sample = choose_sample([sample["sample"] for sample in samples], truth)
    logger.info("%s: comparing calls with %s", sample, truth["vcf"])

    def sequence(contig: str, start: int, end: int) -> str:
        return reference.sequence(contig, max(0, start), min(end, lengths[contig])).decode()

    comparison = compare_files(truth["vcf"], vcf, sample, regions, lengths, sequence)
    return {
        "sample": sample,
        "vcf": str(truth["vcf"]),
        "bed": str(truth.get("bed") or ""),
        "positions": total_length(regions),
        **summary.summarise_truth(comparison),
    }


def choose_sample(names: Sequence[str], truth: Mapping[str, str]) -> str:
    """The sample whose calls are compared: the one that is configured, else that named in the truth, else the only one.

    Raises:
        InputError: none of these.
    """
    wanted = truth.get("sample") or first_sample(truth["vcf"])
    if wanted in names:
        return str(wanted)
    if len(names) == 1 and not truth.get("sample"):
        return names[0]
    raise InputError(
        f"{truth['vcf']}: the truth is of sample {wanted}, which is none of {', '.join(names[:5])}; "
        "name the truth's sample as in the sheet (bcftools reheader -s)."
    )


def _require_samples(vcf: str | Path, samples: Sequence[Mapping[str, Any]]) -> None:
    called = set(samples_of(vcf))
    for sample in samples:
        if sample["sample"] not in called:
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
