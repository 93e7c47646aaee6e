"""Figures and pictures of one sample: its entry of summary.json, every figure under a stable key (docs/formats.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from quire.report import pictures
from quire.report.contamination import from_called_sites, from_known_sites
from quire.report.counts import CountedSample, Depth, median_of_histogram, padded, read_known_sites
from quire.report.criteria import FEMALE, LARGEST_PANEL_INTERVAL, LEAST_DEPTH_FOR_SEX, MALE, UNCLEAR, Setting
from quire.report.ledgers import read_insert_size_models
from quire.report.pictures import Picture

LISTED_CONTIGS = 30
LARGEST_PANEL_SHARE = 0.1
"""Share of the reference from which on a target is no panel, however short its intervals."""
MAPPING_QUALITIES = 256
BREADTH_DEPTHS = (1, 10, 20)
LEAST_BALANCE_DEPTH = 10
LIBRARY_ADAPTERS = ("illumina", "nextera")
# Chromosome lengths of human references (Genome Reference Consortium; T2T Consortium, Nurk et al. 2022).
_LENGTHS = {
    "GRCh37": (
        *(249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022, 141213431, 135534747),
        *(135006516, 133851895, 115169878, 107349540, 102531392, 90354753, 81195210, 78077248, 59128983, 63025520),
        *(48129895, 51304566, 155270560, 59373566),
    ),
    "GRCh38": (
        *(248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422),
        *(135086622, 133275309, 114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167),
        *(46709983, 50818468, 156040895, 57227415),
    ),
    "T2T-CHM13": (
        *(248387328, 242696752, 201105948, 193574945, 182045439, 172126628, 160567428, 146259331, 150617247, 134758134),
        *(135127769, 133324548, 113566686, 101161492, 99753195, 96330374, 84276897, 80542538, 61707364, 66210255),
        *(45090682, 51324926, 154259566, 62460029),
    ),
}
_NAMES = (*map(str, range(1, 23)), "X", "Y")


class Column(NamedTuple):
    """A column of the report's table of samples: a figure by its block and key in a sample's entry of summary.json."""

    title: str
    unit: str
    block: str
    key: str
    digits: int = 0


TABLE_COLUMNS = (
    (
        "reads",
        (
            Column("Reads", "", "reads", "total"),
            Column("Mapped", "%", "reads", "mapped_percent", 2),
            Column("Properly paired", "% of paired", "reads", "properly_paired_percent", 2),
            Column("Duplicates", "% of mapped", "reads", "duplicates_percent", 2),
            Column("Adapters", "% of reads", "reads", "adapter_percent", 2),
        ),
    ),
    ("pairs", (Column("Insert size", "median, bases", "insert_size", "median"),)),
    (
        "coverage",
        (
            Column("Mean", "", "coverage", "mean", 1),
            *(
                Column(
                    f"≥\N{NO-BREAK SPACE}{depth}\N{MULTIPLICATION SIGN}",
                    "% of target",
                    "coverage",
                    f"breadth_{depth}x_percent",
                    2,
                )
                for depth in BREADTH_DEPTHS
            ),
        ),
    ),
    (
        "variants",
        (
            Column("SNVs", "", "variants", "snvs"),
            Column("Indels", "", "variants", "indels"),
            Column("Ti/Tv", "", "variants", "ti_tv", 2),
            Column("Het/hom", "", "variants", "het_hom", 2),
            Column("Foreign", "% of reads", "contamination", "percent", 1),
            Column("Filtered", "records", "variants", "filtered"),
        ),
    ),
)
"""Columns of the table of samples after the links and checks, by group."""


def describe_sample(
    sample: Mapping[str, Any], counted: CountedSample, variants: Mapping[str, Any], setting: Setting
) -> dict[str, Any]:
    """Return the sample's entry of summary.json, without the parts that depend on other samples.

    `sample` is one of `quire.report.page.ReportInputs`, `variants` the sample's entry of variants.json.
    """
    content, counts = counted.content, variants["counts"]
    return {
        "sample": sample["sample"],
        "ploidy": int(sample["ploidy"]),
        "reads": _reads(counted),
        "insert_size": _insert_sizes(counted),
        "gc_bias": {
            key: content["gc_bias"][key] if counted.reads["primary mapped"] else None
            for key in ("at_dropout", "gc_dropout")
        },
        "coverage": _coverage(counted.depth),
        "low_coverage": {key: counted.low_coverage[key] for key in ("below", "regions", "positions")},
        "variants": {
            **counts,
            "ti_tv": _ratio(counts["transitions"], counts["transversions"]),
            "het_hom": _ratio(counts["heterozygous"], counts["homozygous"]),
        },
        "allele_balance": _allele_balance(variants["allele_depths"]["heterozygous"]),
        "mixture": _mixture(variants["allele_depths"]["haploid"]),
        "contamination": _contamination(sample.get("known_sites"), variants["allele_depths"]),
        "sex": summarise_sex(content["sex_chromosomes"], sample.get("sex") or "", setting.human, setting.panel),
        "libraries": [_duplicates(library) for library in content["libraries"]],
        "insert_size_models": read_insert_size_models(sample.get("insert_size", ())),
    }


def _duplicates(library: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the table of duplicates of a library, from counts.json."""
    row = {key: library[key] for key in ("library", "reads", "mapped", "duplicates")}
    row["percent"] = round(100 * row["duplicates"] / row["mapped"], 4) if row["mapped"] else 0.0
    pairs = library["read_pair_optical_duplicates"]
    return row if pairs is None else row | {"optical_duplicates": 2 * pairs}


def _reads(counted: CountedSample) -> dict[str, Any]:
    """Return the `reads` of a sample, from primary records only so that each read counts once."""
    counts, adapters = counted.reads, counted.content["adapters"]
    total, mapped, paired = counts["primary"], counts["primary mapped"], counts["paired in sequencing"]
    return {
        "total": total,
        "mapped": mapped,
        "mapped_percent": _percent(mapped, total),
        "unmapped": total - mapped,
        "paired": paired,
        "properly_paired": counts["properly paired"],
        "properly_paired_percent": _percent(counts["properly paired"], paired),
        "duplicates": counts["primary duplicates"],
        "duplicates_percent": _percent(counts["primary duplicates"], mapped),
        "supplementary": counts["supplementary"],
        "mismatches_per_base": round(float(counted.content["stats"]["error rate"]), 6) if mapped else None,
        "adapter_percent": _percent(sum(sum(adapters[name]) for name in LIBRARY_ADAPTERS), total),
        "poly_g_percent": _percent(sum(adapters["poly_g"]), total),
    }


def _insert_sizes(counted: CountedSample) -> dict[str, int | float] | None:
    """Return the `insert_size` of a sample, over pairs with both mates on one contig; None without pairs."""
    # It has the quartiles, the median in mean read lengths, and the interquartile range over the median (`spread`).
    histogram, stats = counted.insert_sizes, counted.content["stats"]
    if not histogram.any():
        return None
    read_length = stats["total length"] / max(1, stats["sequences"])
    cumulated = np.cumsum(histogram)
    lower, upper = (int(np.searchsorted(cumulated, share * cumulated[-1])) for share in (0.25, 0.75))
    median = median_of_histogram(histogram)
    return {
        "pairs": int(cumulated[-1]),
        "lower_quartile": lower,
        "median": median,
        "upper_quartile": upper,
        "read_lengths": round(median / max(1.0, read_length), 4),
        "spread": round((upper - lower) / max(1, median), 4),
    }


def _coverage(depth: Depth) -> dict[str, Any]:
    """Return the `coverage` of a sample over the target."""
    # `fold_80` is Picard's FOLD_80_BASE_PENALTY: the mean depth over the depth that 80 % of positions reach, or None
    # for 0.
    reached = int(np.searchsorted(np.cumsum(depth.histogram), 0.2 * depth.positions))
    return {
        "positions": depth.positions,
        "mean": round(depth.mean, 4),
        "median": depth.median,
        **{f"breadth_{at}x_percent": round(100 * depth.breadth(at), 4) for at in BREADTH_DEPTHS},
        "fold_80": round(depth.mean / reached, 4) if reached else None,
    }


def _allele_balance(heterozygous: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Count heterozygous SNVs with at least 10 reads, and those with an alternate fraction outside 0.2 to 0.8."""
    sites, outside = 0, 0
    for reference, alternate, number in heterozygous:
        reads = reference + alternate
        if reads >= LEAST_BALANCE_DEPTH:
            sites += number
            outside += number if not 0.2 * reads <= alternate <= 0.8 * reads else 0
    return {"sites": sites, "outside_percent": _percent(outside, sites)}


def _mixture(haploid: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Count haploid SNVs with at least 10 reads, and those with 2 or more reads, and 5 %, of the reference."""
    judged = [row for row in haploid if row[0] + row[1] >= LEAST_BALANCE_DEPTH]
    mixed = sum(number for reference, alternate, number in judged if reference >= max(2, (reference + alternate) / 20))
    sites = sum(number for _, _, number in judged)
    return {"sites": sites, "mixed_percent": _percent(mixed, sites)}


def _contamination(known_sites: str | None, allele_depths: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the estimate and its 95 % interval in percent, from the known sites if they were counted."""
    if known_sites:
        source, found = "known sites", from_known_sites(*read_known_sites(known_sites))
    else:
        source = "called sites"
        found = from_called_sites([*allele_depths["heterozygous"], *allele_depths["homozygous"]])
    if found is None:
        return None
    shares = {"percent": found.share, "low_percent": found.low, "high_percent": found.high}
    return {"from": source, "sites": found.sites, **{name: round(100 * share, 2) for name, share in shares.items()}}


def summarise_sex(ratios: Mapping[str, float | None], sheet: str, human: str | None, panel: bool) -> dict[str, Any]:
    """Return the sex inferred from the depth of X and Y and the sex in the sheet, or why it cannot be inferred."""
    depth, x_ratio, y_ratio = (ratios[key] for key in ("autosomal_depth", "x_ratio", "y_ratio"))
    told = {"x_ratio": x_ratio, "y_ratio": y_ratio, "seen": None, "sheet": sheet}
    if human is None:
        return told | {"reason": "the reference is not a known human assembly"}
    if depth is None or x_ratio is None or y_ratio is None:
        return told | {"reason": "the reference has no autosomes, or no X and Y"}
    if panel or depth < LEAST_DEPTH_FOR_SEX:
        return told | {"reason": "the target is only a part of the genome" if panel else "too few reads"}
    has_y = y_ratio > 0.25
    seen = MALE if x_ratio < 0.75 and has_y else FEMALE if x_ratio >= 0.75 and not has_y else UNCLEAR
    return told | {"seen": seen, "reason": ""}


def human_assembly(contigs: Iterable[tuple[str, int]]) -> str | None:
    """Return the human assembly that has one of these contigs (name with or without chr, length), or None."""
    known = {
        (name, length): assembly
        for assembly, lengths in _LENGTHS.items()
        for name, length in zip(_NAMES, lengths, strict=True)
    }
    found = (known.get((name.removeprefix("chr"), length)) for name, length in contigs)
    return next((assembly for assembly in found if assembly), None)


def setting_of(counted: CountedSample, human: str | None, configuration: Mapping[str, Any], samples: int) -> Setting:
    """Return the properties that decide how one of these samples is judged."""
    target = counted.target
    positions, intervals = target["positions"], target.get("intervals") or 1
    known = max(1, sum(counted.content["contigs"]["known"]))
    short = positions < LARGEST_PANEL_INTERVAL * intervals and positions < LARGEST_PANEL_SHARE * known
    marked = configuration.get("align", {}).get("mark_duplicates", True)
    together = samples > 1 and not configuration.get("rescore", {}).get("gvcf")
    return Setting(human, bool(target["bed"]), bool(target["bed"]) and short, marked, together)


def draw_sample(
    row: Mapping[str, Any], counted: CountedSample, variants: Mapping[str, Any], quality_edges: Sequence[float]
) -> list[Picture]:
    """Draw the plots of a sample; `row` is its entry of summary.json, the rest as in variants.json."""
    content, depth, cycles = counted.content, counted.depth, counted.content["cycles"]
    depths, qualities = variants["depth"], variants["genotype_quality"]
    insert_sizes = []
    if row["insert_size"]:
        text, sizes = f"median {row['insert_size']['median']} bases", counted.insert_sizes
        insert_sizes.append(pictures.draw_histogram("Insert size", text, "insert size (bases)", sizes, "pairs"))
    return [
        pictures.draw_coverage(depth),
        pictures.draw_profile(depth, _contigs_of_target(counted)),
        pictures.draw_breadth(depth),
        pictures.draw_gc_bias(content["gc_bias"]),
        *insert_sizes,
        pictures.draw_mapping_qualities(padded(content["mapping_quality"], MAPPING_QUALITIES), row["reads"]["mapped"]),
        pictures.draw_base_qualities(cycles),
        pictures.draw_mismatches(cycles),
        pictures.draw_adapters(content["adapters"], row["reads"]["total"], len(cycles["mismatches"])),
        pictures.draw_substitutions(variants["substitutions"]),
        pictures.draw_indel_lengths(variants["indel_lengths"]),
        pictures.draw_allele_balance(variants["allele_depths"]),
        pictures.draw_histogram("Depth of variants", _mean(depths), "DP", depths, "variants"),
        pictures.draw_histogram("Genotype quality", _mean(qualities), "GQ", qualities, "variants"),
        pictures.draw_variant_qualities(variants, quality_edges),
    ]


def _contigs_of_target(counted: CountedSample) -> list[tuple[str, int]]:
    """Return the name and the number of target positions of each contig, in the target's order."""
    contigs = counted.content["contigs"]
    on_each = counted.target.get("contigs") or dict(zip(contigs["name"], contigs["known"], strict=True))
    return [(name, size) for name, size in on_each.items() if size]


def contig_rows(counted: CountedSample) -> list[dict[str, Any]]:
    """Return a row for each of the largest contigs, in the reference's order, and one row for all others."""
    contigs = counted.content["contigs"]
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


def _percent(part: int, whole: int) -> float | None:
    """Return a share in percent, or None if the whole is 0."""
    return round(100 * part / whole, 4) if whole else None


def _ratio(above: int, below: int) -> float | None:
    """Return a ratio, or None if it has no denominator."""
    return round(above / below, 4) if below else None
