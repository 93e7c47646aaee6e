"""Report of a run: one self-contained HTML page and summary.json.

The page embeds its styles, script and pictures, so that it can be mailed and archived as one file. Its
Content-Security-Policy lets a browser use that style sheet and that script, by their digests, and nothing else.
"""

import base64
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from pysam.version import __samtools_version__ as SAMTOOLS_VERSION

from quire.errors import QuireError
from quire.io.files import atomic_directory, atomic_path, read_json, write_json_atomic
from quire.io.pedigree import read_pedigree
from quire.processes import in_processes
from quire.reference.construction import FORMAT_VERSION as REFERENCE_VERSION
from quire.reference.storage import read_manifest
from quire.report import pictures
from quire.report.cohort import Deviations, deviations, draw_heat_map, outliers, summed, write_samples
from quire.report.contamination import likely_source
from quire.report.counts import CalledVariants, read_copies, read_sample_counts, read_variants
from quire.report.criteria import BY_KEY, NOT_JUDGED, check_sample, count_verdicts
from quire.report.distances import Distances, measure, write_distances
from quire.report.ledgers import read_benchmarks, read_calling_ledger, read_ledgers, summarise_backends
from quire.report.multiqc import write_sample, write_tables
from quire.report.pedigree import compare_pedigree
from quire.report.relatedness import MOST_SAMPLES, Relatedness, relate
from quire.report.samples import (
    LISTED_CONTIGS,
    TABLE_COLUMNS,
    contig_rows,
    describe_sample,
    draw_sample,
    human_assembly,
    setting_of,
)
from quire.report.searches import TITLES, as_ledgers, read_dots, read_searches
from quire.report.terminal import FORMAT_VERSION
from quire.report.warnings import find_warnings, gathered_warnings
from quire.version import VERSION

TEMPLATES = Path(__file__).parents[3] / "report"
PACKAGES = ("numpy", "numba", "pysam", "pandas", "snakemake")
FORBIDDEN = "default-src 'none'; base-uri 'none'; form-action 'none'"  # but for the own style and script
LISTED_PAIRS = 45
LISTED_OUTLIERS, DRAWN_SAMPLES = 100, 24  # of a cohort of more than MOST_SAMPLES
COMPARED = (  # plots that compare the samples: title, unit, block and key of summary.json, criterion
    ("Mean coverage", "mean depth", "coverage", "mean", "coverage"),
    ("Duplicates", "% of mapped reads", "reads", "duplicates_percent", "duplicates"),
    ("Insert size", "median, bases", "insert_size", "median", None),
    ("Mismatches and gaps", "% of aligned bases", "reads", "mismatches_per_base", "mismatches"),
    ("Ti/Tv", "Ti/Tv", "variants", "ti_tv", "ti_tv"),
    ("Het/hom", "het/hom", "variants", "het_hom", "het_hom"),
)


@dataclass(frozen=True)
class ReportOutputs:
    """Files of a report: the page, its figures as JSON (keys in docs/formats.md), and three that may be None.

    They are a folder for MultiQC, a table of the samples and one of the distances between haploid samples.
    """

    page: str | Path
    summary: str | Path
    multiqc: str | Path | None = None
    samples: str | Path | None = None
    distances: str | Path | None = None


@dataclass(frozen=True)
class ReportInputs:
    """Results of the earlier stages that a report shows.

    Attributes:
        samples: for each sample, `sample` (its name), `ploidy`, `bam` (path of the BAM or CRAM), `counts` (path of
            counts.json), `ledgers` (paths), and optionally `sex` (from the sheet), `target` (path of target.json),
            `known_sites` (path), `insert_size` (paths) and `beds` (paths of the BED files
            of coverage).
        vcf: path of the calls of all samples; None without samples.
        variants: path of variants.json, the counts of the calls; None without samples.
        searches: for each search of an exact tool, `summary` (path of its JSON), `results` (paths of its files), and
            `dots` (path of the dot plot of a pair, or None).
        comparison: JSON written by `quire.report.known_variants`; None without a truth set.
        consequences: counts written by `quire.rescore.consequences`; None without genes.
        copies: JSON of the plots of copy numbers (`quire.structural.copies_plots`); None without structural variants.
        structural: JSON of the numbers of structural variants (`quire.structural.counts`), beside their VCF, or None.
        pedigree: path of a .fam file; None without one.
        calling_ledger: ledger written by `quire.rescore.ledgers.gather_ledgers`; None without samples.
        benchmarks_directory: folder of Snakemake's benchmark tables.
        identity: optionally `command` (as typed), `configuration` (all keys), `reference` (path of the packed
            reference's manifest) and `repository` (folder of the workflow, to look up its commit).
        metadata: columns of the sheets (`samples`, `units`) that Quire does not use, as in `Configuration`.
    """

    samples: Sequence[Mapping[str, Any]] = ()
    vcf: str | Path | None = None
    variants: str | Path | None = None
    searches: Sequence[Mapping[str, Any]] = ()
    comparison: str | Path | None = None
    consequences: str | Path | None = None
    copies: str | Path | None = None
    structural: str | Path | None = None
    pedigree: str | Path | None = None
    calling_ledger: str | Path | None = None
    benchmarks_directory: str | Path | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=lambda: {"samples": [], "units": []})


def write_report(outputs: ReportOutputs, inputs: ReportInputs, processes: int = 1) -> None:
    """Write the page and the summary of a run from the counts of earlier stages; no BAM or VCF is read.

    `processes` share the samples of a large cohort.
    """
    called = read_variants(inputs.variants) if inputs.variants else CalledVariants({}, [], None, {}, {}, [])
    for sample in inputs.samples:
        if sample["sample"] not in called.samples:
            raise QuireError(
                f"{inputs.vcf}: sample {sample['sample']} of the sheet is missing; delete the VCF and run again."
            )
    reference = _describe_reference(inputs.identity.get("reference"))
    relatedness = relate(list(called.samples), called.pairs)
    ploidies = {sample["sample"]: sample["ploidy"] for sample in inputs.samples}
    distances = measure(list(called.samples), ploidies, called.haploid_pairs)
    with atomic_directory(outputs.multiqc) if outputs.multiqc is not None else nullcontext() as multiqc:
        rows, target, human = _describe_samples(
            inputs, called, relatedness, multiqc, processes if len(inputs.samples) > MOST_SAMPLES else 1
        )
        if multiqc:
            write_tables(multiqc, rows)
        found = deviations(rows)
        described = reference | {"human": human} if reference and rows else reference
        content = _summarise(outputs, inputs, called) | {
            **{"reference": described, "target": target, "samples": rows},
            **{"relatedness": _not_haploid(relatedness, distances), "distances": _listed(distances)},
        }
        content["warnings"] = find_warnings(content)
        if outputs.samples is not None:
            write_samples(outputs.samples, rows, found, inputs.metadata["samples"])
        if outputs.distances is not None:
            write_distances(outputs.distances, distances)
        with atomic_path(outputs.page) as temporary:
            text = _render(content, relatedness, found, _draw_details(inputs, called, rows, found), inputs)
            temporary.write_text(text, encoding="utf-8")
        write_json_atomic(outputs.summary, content, indent=2 if len(rows) <= MOST_SAMPLES else None)


def _not_haploid(relatedness: Relatedness, distances: Distances) -> list[dict[str, Any]]:
    """Return the relations of pairs that are not both haploid."""
    haploid = set(distances.names)
    return [row for row in relatedness.rows if not haploid.issuperset((row["first"], row["second"]))]


def _listed(distances: Distances) -> list[dict[str, Any]]:
    """Return the pairs of haploid samples, the closest first; of a large cohort, the closest alone."""
    return distances.rows()[: None if len(distances.names) <= MOST_SAMPLES else LISTED_PAIRS]


def _describe_samples(
    inputs: ReportInputs, called: CalledVariants, relatedness: Relatedness, multiqc: Path | None, processes: int
) -> tuple[list[dict[str, Any]], dict[str, Any], str | None]:
    """Return the samples of summary.json, the target and the human assembly; write the samples' files for MultiQC."""
    numbers = {name: number for number, name in enumerate(called.samples)}
    people = read_pedigree(inputs.pedigree) if inputs.pedigree else []
    pedigree = compare_pedigree(people, called.trios, relatedness)

    def describe(sample: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        name, counted = sample["sample"], read_sample_counts(sample["counts"], sample.get("target"))
        contigs = counted.content["contigs"]
        human = human_assembly(zip(contigs["name"], contigs["length"], strict=True))
        setting = setting_of(counted, human, inputs.identity.get("configuration", {}), len(inputs.samples))
        row = describe_sample(sample, counted, called.samples[name], setting)
        row["relatives"] = relatedness.of(numbers[name])
        row["pedigree"] = pedigree.get(name)
        if row["contamination"]:
            row["contamination"]["source"] = likely_source(called.samples[name]["foreign"])
        row["checks"] = check_sample(row, setting)
        row["verdicts"] = count_verdicts(row["checks"])
        if multiqc:
            write_sample(multiqc, name, counted, called.samples[name], bool(sample.get("target")))
        return row, counted.target, human

    described = list(in_processes(describe, inputs.samples, processes))
    target, human = described[-1][1:] if described else ({"bed": "", "positions": 0}, None)
    return [row for row, _, _ in described], target, human


def _draw_details(
    inputs: ReportInputs, called: CalledVariants, rows: Sequence[Mapping[str, Any]], found: Deviations
) -> dict[str, Any]:
    """Return `pictures`, `contigs`, `copies`, `low` depth of samples by name; of a large cohort, of the farthest."""
    details, copies = {}, read_copies(inputs.copies) if inputs.copies else {}
    shown = range(len(rows)) if len(rows) <= MOST_SAMPLES else found.order[:DRAWN_SAMPLES]
    for number in shown:
        sample, row = inputs.samples[number], rows[number]
        counted, variants = read_sample_counts(sample["counts"], sample.get("target")), called.samples[row["sample"]]
        details[row["sample"]] = {
            "pictures": draw_sample(row, counted, variants, called.quality_edges),
            "contigs": contig_rows(counted),
            "copies": [pictures.draw_copies(contig) for contig in copies.get(row["sample"], [])[:LISTED_CONTIGS]],
            "low": counted.low_coverage["longest"],
        }
    return details


def _summarise(outputs: ReportOutputs, inputs: ReportInputs, called: CalledVariants) -> dict[str, Any]:
    """Return summary.json with None for what the caller knows."""
    ledger = [
        *(line for sample in inputs.samples for line in read_ledgers(sample["sample"], sample["ledgers"])),
        *read_calling_ledger(inputs.calling_ledger, called.backend),
    ]
    searches = read_searches(inputs.searches)
    return {
        "format_version": FORMAT_VERSION,
        "run": {
            "version": VERSION,
            "backend": summarise_backends([*ledger, *as_ledgers(searches)]),
            "command": inputs.identity.get("command"),
            "commit": _commit(inputs.identity.get("repository")),
            "configuration": inputs.identity.get("configuration"),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "packages": _versions(),
        },
        "reference": None,
        "files": {
            "report": str(outputs.page),
            "variants": str(inputs.vcf) if inputs.vcf else None,
            "structural": str(Path(inputs.structural).with_suffix(".vcf.gz")) if inputs.structural else None,
            "alignments": {sample["sample"]: str(sample["bam"]) for sample in inputs.samples},
            "beds": [str(path) for sample in inputs.samples for path in sample.get("beds", ())],
        },
        **{"target": None, "samples": None},
        "metadata": inputs.metadata,
        **{"relatedness": None, "distances": None},
        "structural": read_json(inputs.structural) if inputs.structural else None,
        "consequences": read_json(inputs.consequences) if inputs.consequences else None,
        "truth": read_json(inputs.comparison) if inputs.comparison else None,
        "rules": read_benchmarks(inputs.benchmarks_directory),
        "ledger": ledger,
        "searches": searches,
    }


def _render(
    content: Mapping[str, Any],
    relatedness: Relatedness,
    found: Deviations,
    details: Mapping[str, Any],
    inputs: ReportInputs,
) -> str:
    """Render the page from summary.json and the rest of what the functions above return."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".jinja"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["figure"] = lambda value, digits=0: "\N{EN DASH}" if value is None else f"{value:,.{digits}f}"
    # Units from FASTQ and from BAM have different counts.
    environment.filters["counted"] = lambda lines: list({name: None for line in lines for name in line["counts"]})
    environment.filters["pretty"] = lambda value: json.dumps(value, indent=2)
    samples, many = content["samples"], len(content["samples"]) > MOST_SAMPLES
    by_name = {sample["sample"]: sample for sample in samples}
    ran = [line for line in [*content["ledger"], *as_ledgers(content["searches"])] if "backend" in line]
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    pairs = sorted(content["relatedness"], key=lambda pair: -(pair["kinship"] if pair["kinship"] is not None else -9))
    return environment.get_template("page.html.jinja").render(
        **content,
        policy=f"{FORBIDDEN}; style-src {_source(style)}; script-src {_source(script)}",
        style=style,
        script=script,
        details=details,
        many=many,
        shown=[by_name[name] for name in details],
        outliers=outliers(samples, found)[:LISTED_OUTLIERS] if many else [],
        heat_map=draw_heat_map(samples, found) if many else None,
        ledgers=summed(content["ledger"]) if many else content["ledger"],
        relations=relatedness.counts(),
        dot_plots=[pictures.draw_dots(read_dots(search["dots"])) for search in inputs.searches if search["dots"]],
        tools=TITLES,
        ran=summed(ran) if many else ran,
        criteria=BY_KEY,
        table_columns=TABLE_COLUMNS,
        comparisons=_compare(content["samples"]),
        gathered=gathered_warnings(content),
        closest=pairs[:LISTED_PAIRS],
        nearest=content["distances"][:LISTED_PAIRS],
        links=_links(content),
    )


def _source(text: str) -> str:
    """Return the expression that allows one style sheet or script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _compare(samples: Sequence[Mapping[str, Any]]) -> list[pictures.Picture]:
    """Draw the plots that compare all samples; none for a single sample."""
    if len(samples) < 2:
        return []
    drawn = []
    for title, unit, block, key, criterion in COMPARED:
        scale = 100 if key.endswith("_per_base") else 1
        found = [(sample["sample"], (sample[block] or {}).get(key)) for sample in samples]
        values = [(name, None if value is None else scale * value) for name, value in found]
        verdicts = {
            check["verdict"] for sample in samples for check in sample["checks"] if check["criterion"] == criterion
        }
        usual = (
            (BY_KEY[criterion].low, BY_KEY[criterion].high) if criterion and verdicts - {NOT_JUDGED} else (None, None)
        )
        drawn.append(pictures.draw_comparison(title, unit, values, usual))
    return drawn


def _links(content: Mapping[str, Any]) -> dict[str, str]:
    """Return links to the files that the page names, relative to it so that the folder can be moved or served."""
    files = content["files"]
    paths = [*files["alignments"].values(), *files["beds"], *filter(None, (files["variants"], files["structural"]))]
    paths += [path for search in content["searches"] for path in search["results"]]
    folder = os.path.dirname(files["report"]) or "."
    return {path: quote(os.path.relpath(path, folder)) for path in paths}


def _describe_reference(manifest: str | Path | None) -> dict[str, Any] | None:
    """Describe the reference for the page, from the manifest of the packed reference."""
    if manifest is None:
        return None
    content = read_manifest(Path(manifest).parent, "reference", REFERENCE_VERSION)
    fasta = content["fasta"]
    return {
        "name": Path(fasta["path"]).name,
        "path": fasta["path"],
        "md5": fasta["md5"],
        "contigs": len(content["contigs"]),
        "bases": sum(contig["length"] for contig in content["contigs"]),
        "human": human_assembly((contig["name"], contig["length"]) for contig in content["contigs"]),
    }


def _commit(repository: str | Path | None) -> str | None:
    """Return the commit of the workflow, marked if files were modified; None without git or a repository."""
    if repository is None:
        return None
    try:
        command = ["git", "-C", str(repository), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def _versions() -> dict[str, str]:
    """Return the versions of Python, samtools and the installed ones among PACKAGES."""
    versions = {"Python": platform.python_version(), "samtools": SAMTOOLS_VERSION}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
