"""Figures, checks and plots of one sample in the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.report import figures, summary
from quire.report.contamination import from_called_sites, from_known_sites
from quire.report.counts import CountedSample, VariantCounts, read_known_sites
from quire.report.criteria import LARGEST_PANEL_INTERVAL, Setting
from quire.report.figures import Picture
from quire.report.ledgers import read_duplicates, read_insert_size_models

LISTED_CONTIGS = 30
LARGEST_PANEL_SHARE = 0.1
"""Share of the reference from which on a target is no panel, however short its intervals."""


def describe_sample(
    sample: Mapping[str, Any], counted: CountedSample, variants: VariantCounts, setting: Setting
) -> dict[str, Any]:
    """Return the sample's entry of summary.json, without the parts that depend on other samples."""
    alignments, depth = counted.alignments, counted.depth
    return {
        "sample": sample["sample"],
        "ploidy": int(sample["ploidy"]),
        "reads": summary.summarise_reads(alignments),
        "insert_size": summary.summarise_insert_sizes(alignments.insert_sizes, alignments.read_length),
        "gc_bias": {key: alignments.gc_bias[key] for key in ("at_dropout", "gc_dropout")},
        "coverage": summary.summarise_depth(depth),
        "low_coverage": {key: counted.low_coverage[key] for key in ("below", "regions", "positions")},
        "variants": summary.summarise_variants(variants),
        "allele_balance": summary.summarise_balance(variants),
        "contamination": _contamination(sample.get("known_sites"), variants),
        "sex": summary.summarise_sex(alignments.sex_chromosomes, sample.get("sex") or "", setting.human, setting.panel),
        "libraries": read_duplicates(sample.get("duplicates_table")),
        "insert_size_models": read_insert_size_models(sample.get("insert_size", ())),
    }


def _contamination(known_sites: str | None, variants: VariantCounts) -> dict[str, Any] | None:
    """Summarise the estimate from the known sites if they were counted, else from the called sites."""
    if known_sites:
        return summary.summarise_contamination(from_known_sites(*read_known_sites(known_sites)), "known sites")
    called = [*variants.allele_depths["heterozygous"], *variants.allele_depths["homozygous"]]
    return summary.summarise_contamination(from_called_sites(called), "called sites")


def setting_of(counted: CountedSample, human: str | None) -> Setting:
    """Return the properties that decide how a sample is judged."""
    target = counted.target
    positions, intervals = target["positions"], target.get("intervals") or 1
    known = max(1, sum(counted.alignments.contigs["known"]))
    short = positions < LARGEST_PANEL_INTERVAL * intervals and positions < LARGEST_PANEL_SHARE * known
    return Setting(human, bool(target["bed"]), bool(target["bed"]) and short)


def relatives_of(name: str, relatedness: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the other samples of the same person (`same_person`), or why they are unknown (`reason`)."""
    mine = [pair for pair in relatedness if name in (pair["first"], pair["second"])]
    judged = [pair for pair in mine if pair["kinship"] is not None]
    same = [
        pair["second"] if pair["first"] == name else pair["first"]
        for pair in judged
        if pair["relation"] == "the same person"
    ]
    reason = "" if judged else "there is no other sample" if not mine else "too few heterozygous sites"
    return {"same_person": same, "reason": reason}


def draw_sample(row: Mapping[str, Any], counted: CountedSample, variants: VariantCounts) -> list[Picture]:
    """Draw the plots of a sample."""
    alignments, depth = counted.alignments, counted.depth
    cycles = len(alignments.cycles["mismatches"])
    text = f"median {row['insert_size']['median']} bases" if row["insert_size"] else ""
    pictures = [
        figures.draw_coverage(depth),
        figures.draw_profile(depth, contigs_of_target(counted)),
        figures.draw_breadth(depth),
        figures.draw_gc_bias(alignments.gc_bias),
        *(
            [figures.draw_histogram("Insert size", text, "insert size (bases)", alignments.insert_sizes, "pairs")]
            if row["insert_size"]
            else []
        ),
        figures.draw_mapping_qualities(alignments.mapping_qualities, row["reads"]["mapped"]),
        figures.draw_base_qualities(alignments.cycles),
        figures.draw_mismatches(alignments.cycles),
        figures.draw_adapters(alignments.adapters, row["reads"]["total"], cycles),
        figures.draw_substitutions(variants.substitutions),
        figures.draw_indel_lengths(variants.indel_lengths),
        figures.draw_allele_balance(variants.allele_depths),
        figures.draw_histogram("Depth of variants", _mean(variants.depth), "DP", variants.depth, "variants"),
        figures.draw_histogram(
            "Genotype quality", _mean(variants.genotype_quality), "GQ", variants.genotype_quality, "variants"
        ),
        figures.draw_variant_qualities(variants),
    ]
    return pictures


def contigs_of_target(counted: CountedSample) -> list[tuple[str, int]]:
    """Return the name and the number of target positions of each contig, in the target's order."""
    contigs = counted.alignments.contigs
    on_each = counted.target.get("contigs") or dict(zip(contigs["name"], contigs["known"], strict=True))
    return [(name, size) for name, size in on_each.items() if size]


def contig_rows(counted: CountedSample) -> list[dict[str, Any]]:
    """Return a row for each of the largest contigs, in the reference's order, and one row for all others."""
    contigs = counted.alignments.contigs
    columns = ("name", "known", "mapped", "bases", "covered")
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*(contigs[key] for key in columns), strict=True)]
    rows = [row for row in rows if row["known"]]
    largest = {row["name"] for row in sorted(rows, key=lambda row: -row["known"])[:LISTED_CONTIGS]}
    listed, rest = ([row for row in rows if (row["name"] in largest) is wanted] for wanted in (True, False))
    if rest:
        sums = {key: sum(row[key] for row in rest) for key in columns[1:]}
        listed.append({"name": f"{len(rest)} others", **sums})
    return [
        row | {"mean": row["bases"] / row["known"], "covered_percent": 100 * row["covered"] / row["known"]}
        for row in listed
    ]


def _mean(histogram: Sequence[int]) -> str:
    number = sum(histogram)
    return (
        f"mean {sum(value * count for value, count in enumerate(histogram)) / number:.1f}" if number else "no variants"
    )
