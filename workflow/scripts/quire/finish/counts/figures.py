"""Figures of counts.json (docs/formats.md) from the counters, under samtools' and Picard's names."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.finish.counts import ADAPTERS, COVERAGE_WINDOW, QUALITIES, Counters, profile_bin
from quire.finish.counts.sample import SampleCounts
from quire.reference.regions import Regions

FORMAT_VERSION = 1
MAIN_BULK = 0.99  # samtools stats -m: share of the pairs, by insert size, that mean and deviation are computed from
SEX_CONTIGS = {"x": ("chrX", "X"), "y": ("chrY", "Y")}
AUTOSOMES = frozenset(f"{prefix}{number}" for prefix in ("chr", "") for number in range(1, 23))
LIBRARY_SIZE_STEPS = 40  # of the bisection, as in Picard
_FLAG = np.arange(1 << 12)


def figures_of(
    sample: str,
    counts: SampleCounts,
    low: Mapping[str, Any],
    lengths: Mapping[str, int],
    known: Mapping[str, int],
    optical_pairs: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the content of a sample's counts.json, from counts with the depth over the islands of the reference.

    `low` summarises the regions of low depth (`LowCoverage.close`). By contig, `lengths` are the lengths and `known`
    the numbers of positions without runs of N; `optical_pairs` are by library, None if they were not searched for.
    """
    counters = counts.counters
    return {
        "format_version": FORMAT_VERSION,
        "sample": sample,
        "target": {"bed": "", "positions": int(counters.depths.sum())},
        "flagstat": {"passed": flagstat(counters, failed=False), "failed": flagstat(counters, failed=True)},
        "stats": stats(counters),
        "insert_size": insert_sizes(counters),
        "mapping_quality": trimmed(counters.mapping_qualities),
        "read_length": dict(zip(("first", "last", "other"), map(trimmed, counters.lengths), strict=True)),
        "adapters": dict(zip(ADAPTERS, map(trimmed, counters.adapters), strict=True)),
        "indel_length": dict(zip(("insertions", "deletions"), map(trimmed, counters.indel_lengths), strict=True)),
        "cycles": cycles(counters),
        "gc_content": dict(zip(("first", "last"), map(trimmed, np.cumsum(counters.gc_steps, axis=1)), strict=True)),
        "gc_bias": gc_bias(counters.gc_reads, counts.gc_windows),
        "libraries": [
            library(name, row, None if optical_pairs is None else optical_pairs[name])
            for name, row in zip(counts.libraries, counters.libraries, strict=True)
        ],
        "depth": depth(counters),
        "low_coverage": low,
        "contigs": contigs(counts, lengths, known),
        "unplaced": int(counters.contigs[-1].sum()),
        "sex_chromosomes": sex_chromosomes(counts, known),
    }


def target_figures(
    sample: str, counts: SampleCounts, low: Mapping[str, Any], target_bed: str, regions: Regions
) -> dict[str, Any]:
    """Return the content of a sample's target.json: depth over the target, and the share of reads and bases on it."""
    counters, on_target_names = counts.counters, [name for name in counts.contigs if name in regions]
    return {
        "format_version": FORMAT_VERSION,
        "sample": sample,
        "target": {
            "bed": target_bed,
            "positions": int(counters.depths.sum()),
            "intervals": sum(map(len, regions.values())),
            "contigs": {name: int((regions[name][:, 1] - regions[name][:, 0]).sum()) for name in on_target_names},
        },
        "depth": depth(counters),
        "low_coverage": low,
        "on_target": on_target(counters),
    }


def depth(counters: Counters) -> dict[str, Any]:
    """Return the depth histogram of the target, the sum of the depth, and the profile along the target."""
    return {
        "histogram": trimmed(counters.depths),
        "bases": int(counters.totals["target_bases"][0]),
        "profile": counters.profile.tolist(),
        "profile_bin": profile_bin(int(counters.depths.sum())),
    }


def trimmed(values: NDArray[np.int64]) -> list[int]:
    """Return the values as a list, without trailing zeros."""
    nonzero = np.flatnonzero(values)
    numbers: list[int] = values[: nonzero[-1] + 1 if len(nonzero) else 0].tolist()
    return numbers


def flagstat(counters: Counters, failed: bool) -> dict[str, int]:
    """Return `samtools flagstat` of the QC-passed or the QC-failed records."""
    mine = ((_FLAG & sam.FLAG_FAILED_QUALITY_CHECK) != 0) == failed
    secondary = mine & has(sam.FLAG_SECONDARY)
    primary = mine & lacks(sam.FLAG_SECONDARY | sam.FLAG_SUPPLEMENTARY)
    paired = primary & has(sam.FLAG_PAIRED)
    mapped_pair = paired & lacks(sam.FLAG_UNMAPPED | sam.FLAG_MATE_UNMAPPED)
    groups = {
        "total": mine,
        "primary": primary,
        "secondary": secondary,
        "supplementary": mine & has(sam.FLAG_SUPPLEMENTARY) & ~secondary,
        "duplicates": mine & has(sam.FLAG_DUPLICATE),
        "primary duplicates": primary & has(sam.FLAG_DUPLICATE),
        "mapped": mine & lacks(sam.FLAG_UNMAPPED),
        "primary mapped": primary & lacks(sam.FLAG_UNMAPPED),
        "paired in sequencing": paired,
        "read1": paired & has(sam.FLAG_FIRST_OF_PAIR),
        "read2": paired & has(sam.FLAG_SECOND_OF_PAIR),
        "properly paired": paired & has(sam.FLAG_PROPER_PAIR) & lacks(sam.FLAG_UNMAPPED),
        "with itself and mate mapped": mapped_pair,
        "singletons": paired & has(sam.FLAG_MATE_UNMAPPED) & lacks(sam.FLAG_UNMAPPED),
    }
    all_records = counters.libraries.sum(axis=0)
    other, other_sure = counters.other_contig[int(failed)].tolist()
    return {
        **{name: int(all_records[group].sum()) for name, group in groups.items()},
        "with mate mapped to a different chr": other,
        "with mate mapped to a different chr (mapQ >= 5)": other_sure,
    }


def has(bit: int) -> NDArray[np.bool_]:
    """Return a mask of the flags that have a bit set."""
    found: NDArray[np.bool_] = (_FLAG & bit) != 0
    return found


def lacks(bits: int) -> NDArray[np.bool_]:
    """Return a mask of the flags that have none of the bits set."""
    found: NDArray[np.bool_] = (_FLAG & bits) == 0
    return found


def stats(counters: Counters) -> dict[str, int | float]:
    """Return the summary numbers of `samtools stats` by name."""
    all_records, (records, bases) = counters.libraries.sum(axis=0), counters.flags
    totals = counters.totals[0]
    primary, counted = lacks(sam.FLAG_SECONDARY | sam.FLAG_SUPPLEMENTARY), lacks(sam.FLAG_SECONDARY)
    mapped = lacks(sam.FLAG_UNMAPPED)
    mate_mapped = has(sam.FLAG_PAIRED) & lacks(sam.FLAG_UNMAPPED | sam.FLAG_MATE_UNMAPPED)
    first = has(sam.FLAG_FIRST_OF_PAIR) & lacks(sam.FLAG_SECOND_OF_PAIR)
    last = lacks(sam.FLAG_FIRST_OF_PAIR) & has(sam.FLAG_SECOND_OF_PAIR)
    first, last = primary & (lacks(sam.FLAG_PAIRED) | first), primary & has(sam.FLAG_PAIRED) & last
    by_quality = counters.bases.sum(axis=(0, 1, 2))
    length = int(bases[primary].sum())
    aligned = int(totals["aligned_bases"])
    sizes = insert_sizes(counters)
    return {
        "sequences": int(records[primary].sum()),
        "1st fragments": int(records[first].sum()),
        "last fragments": int(records[last].sum()),
        "reads mapped": int(records[primary & mapped].sum()),
        "reads mapped and paired": int(records[primary & mate_mapped].sum()),
        "reads unmapped": int(records[primary & ~mapped].sum()),
        "reads properly paired": int(records[primary & mate_mapped & has(sam.FLAG_PROPER_PAIR)].sum()),
        "reads paired": int(records[primary & has(sam.FLAG_PAIRED)].sum()),
        "reads duplicated": int(records[counted & has(sam.FLAG_DUPLICATE)].sum()),
        "reads MQ0": int(totals["mapping_quality_zero"]),
        "reads QC failed": int(records[primary & has(sam.FLAG_FAILED_QUALITY_CHECK)].sum()),
        "non-primary alignments": int(all_records[has(sam.FLAG_SECONDARY)].sum()),
        "supplementary alignments": int(all_records[has(sam.FLAG_SUPPLEMENTARY) & counted].sum()),
        "total length": length,
        "total first fragment length": int(bases[first].sum()),
        "total last fragment length": int(bases[last].sum()),
        "bases mapped": int(bases[primary & mapped].sum()),
        "bases mapped (cigar)": aligned,
        "bases duplicated": int(bases[counted & has(sam.FLAG_DUPLICATE)].sum()),
        "mismatches": int(totals["edit_distances"]),
        "error rate": int(totals["edit_distances"]) / aligned if aligned else 0.0,
        "average quality": float(by_quality @ np.arange(QUALITIES)) / length if length else 0.0,
        "insert size average": sizes["mean"],
        "insert size standard deviation": sizes["standard_deviation"],
        "inward oriented pairs": sum(sizes["inward"]),
        "outward oriented pairs": sum(sizes["outward"]),
        "pairs with other orientation": sum(sizes["other"]),
        "pairs on different chromosomes": int(totals["mates_on_other_contigs"]) // 2,
    }


def insert_sizes(counters: Counters) -> dict[str, Any]:
    """Return pairs by insert size and orientation, with mean and deviation over the main bulk as in samtools stats."""
    pairs = counters.insert_sizes // 2
    both = pairs.sum(axis=0)
    cumulated = np.cumsum(both)
    # The smallest number of sizes, from 0 on, that contain more than MAIN_BULK of all pairs.
    end = int(np.argmax(cumulated / cumulated[-1] > MAIN_BULK)) + 1 if cumulated[-1] else 0
    bulk, sizes = both[:end], np.arange(end)
    number = max(1, int(bulk.sum()))
    mean = float(bulk @ sizes) / number
    deviation = float(np.sqrt(float(bulk[1:] @ (sizes[1:] - mean) ** 2) / number))
    return {
        **dict(zip(("inward", "outward", "other"), map(trimmed, pairs), strict=True)),
        "main_bulk": end,
        "mean": mean,
        "standard_deviation": deviation,
    }


def cycles(counters: Counters) -> dict[str, Any]:
    """Return by cycle the bases and qualities of first and last mates, indels, Ns and mismatches."""
    longest = max((len(trimmed(row)) for row in counters.lengths), default=1) - 1
    insertions_and_deletions = [row[: max(longest, 0)].tolist() for row in counters.indels]
    mismatches = counters.mismatches[: max(longest, 0)]
    return {
        **{
            mate: {
                "bases": {letter: trimmed(table[:, code].sum(axis=1)) for code, letter in enumerate("ACGTN")},
                "mean_quality": _mean_qualities(table.sum(axis=1)),
                "quality": trimmed(table.sum(axis=(0, 1))),
            }
            for mate, table in zip(("first", "last"), counters.bases, strict=True)
        },
        "insertions": dict(zip(("first", "last"), insertions_and_deletions[:2], strict=True)),
        "deletions": dict(zip(("first", "last"), insertions_and_deletions[2:], strict=True)),
        "unknown": mismatches[:, 0].tolist(),
        "mismatches": mismatches[:, 1:].sum(axis=1).tolist(),
        "mismatches_by_quality": trimmed(mismatches[:, 1:].sum(axis=0)),
    }


def _mean_qualities(table: NDArray[np.int64]) -> list[float]:
    """Return the mean quality of each cycle (from int64[cycles, QUALITIES]), up to the last cycle with bases."""
    reads = table.sum(axis=1)
    used = len(trimmed(reads))
    means = (table[:used] @ np.arange(QUALITIES)) / np.maximum(reads[:used], 1)
    return [round(float(mean), 3) for mean in means]


def gc_bias(reads: NDArray[np.int64], windows: NDArray[np.int64]) -> dict[str, Any]:
    """Return READ_STARTS, WINDOWS and NORMALIZED_COVERAGE of Picard's GcBiasDetailMetrics, and both dropouts."""
    all_reads, all_windows = int(reads.sum()), int(windows.sum())
    expected = all_reads / all_windows if all_windows else 0.0
    present = (windows > 0) & (expected > 0)
    normalized = np.where(present, reads / np.maximum(windows, 1) / (expected or 1.0), 0.0)
    dropout = 100 * np.maximum(windows / max(all_windows, 1) - reads / max(all_reads, 1), 0)
    return {
        "windows": windows.tolist(),
        "read_starts": reads.tolist(),
        "normalized_coverage": [round(float(value), 6) for value in normalized],
        "at_dropout": round(float(dropout[:51].sum()), 6),
        "gc_dropout": round(float(dropout[51:].sum()), 6),
    }


def library(name: str, records: NDArray[np.int64], optical_pairs: int | None) -> dict[str, Any]:
    """Return Picard's DuplicationMetrics of a library, and the counts of the table of duplicates.

    `records` (int64[FLAGS]) has the library's records by FLAG. Optical duplicate pairs, None if unknown, are excluded
    from the estimate of the library size.
    """
    primary = lacks(sam.FLAG_SECONDARY | sam.FLAG_SUPPLEMENTARY)
    mapped, duplicate = lacks(sam.FLAG_UNMAPPED), has(sam.FLAG_DUPLICATE)
    in_pair = has(sam.FLAG_PAIRED) & lacks(sam.FLAG_MATE_UNMAPPED)

    def number(group: NDArray[np.bool_]) -> int:
        return int(records[group].sum())

    alone, paired = primary & mapped & ~in_pair, primary & mapped & in_pair
    unpaired, unpaired_duplicates = number(alone), number(alone & duplicate)
    pairs, pair_duplicates = number(paired) // 2, number(paired & duplicate) // 2
    examined = unpaired + 2 * pairs
    duplicates = unpaired_duplicates + 2 * pair_duplicates
    return {
        "library": name,
        "reads": number(primary),
        "mapped": number(primary & mapped),
        "duplicates": number(primary & duplicate),
        "unpaired_reads_examined": unpaired,
        "read_pairs_examined": pairs,
        "secondary_or_supplementary": number(mapped & ~primary),
        "unmapped_reads": number(~mapped),
        "unpaired_read_duplicates": unpaired_duplicates,
        "read_pair_duplicates": pair_duplicates,
        "read_pair_optical_duplicates": optical_pairs,
        "fraction_duplication": round(duplicates / examined, 6) if examined else 0.0,
        "estimated_library_size": estimate_library_size(pairs - (optical_pairs or 0), pairs - pair_duplicates),
    }


def estimate_library_size(pairs: int, unique_pairs: int) -> int | None:
    """Estimate the number of molecules in a library from its pairs; None if no pair is a duplicate.

    This is Picard's DuplicationMetrics.estimateLibrarySize: N draws from X molecules give C = X (1 - exp(-N / X))
    different ones (Lander and Waterman), solved for X by bisection in multiples of C.
    """
    if not 0 < unique_pairs < pairs:
        return None

    def excess(molecules: float) -> float:
        """Return the difference of the two sides, which decreases with `molecules` and is 0 at the solution."""
        return unique_pairs / molecules - 1 + math.exp(-pairs / molecules)

    low, high = 1.0, 100.0
    while excess(high * unique_pairs) > 0:
        high *= 10
    for _ in range(LIBRARY_SIZE_STEPS):
        middle = (low + high) / 2
        rest = excess(middle * unique_pairs)
        low, high = middle if rest >= 0 else low, middle if rest <= 0 else high
    return int(unique_pairs * (low + high) / 2)


def on_target(counters: Counters) -> dict[str, Any]:
    """Return the reads and bases that count in the depth, and how many of them are on the target."""
    totals = counters.totals[0]
    reads, reads_on = int(totals["depth_reads"]), int(totals["depth_reads_on_target"])
    bases, bases_on = int(counters.coverage[:, 0].sum()), int(totals["target_bases"])
    return {
        "reads": reads,
        "reads_on_target": reads_on,
        "reads_percent": round(100 * reads_on / reads, 4) if reads else None,
        "bases": bases,
        "bases_on_target": bases_on,
        "bases_percent": round(100 * bases_on / bases, 4) if bases else None,
    }


def contigs(counts: SampleCounts, lengths: Mapping[str, int], known: Mapping[str, int]) -> dict[str, list[Any]]:
    """Return by contig `samtools idxstats` and the depth over the whole contig (`samtools coverage`)."""
    counters = counts.counters
    mapped, unmapped = counters.contigs[:-1].T
    return {
        "name": counts.contigs,
        "length": [lengths[name] for name in counts.contigs],
        "known": [known.get(name, 0) for name in counts.contigs],
        "mapped": mapped.tolist(),
        "unmapped": unmapped.tolist(),
        "bases": counters.coverage[:, 0].tolist(),
        "covered": counters.coverage[:, 1].tolist(),
    }


def sex_chromosomes(counts: SampleCounts, known: Mapping[str, int]) -> dict[str, float | None]:
    """Return the mean depth of the autosomes (1 to 22) and the ratios of X and Y to it; None for missing contigs."""
    bases = dict(zip(counts.contigs, counts.counters.coverage[:, 0].tolist(), strict=True))

    def mean(names: list[str]) -> float | None:
        positions = sum(known.get(name, 0) for name in names)
        return sum(bases[name] for name in names) / positions if positions else None

    autosomes = mean([name for name in counts.contigs if name in AUTOSOMES])
    found: dict[str, float | None] = {"autosomal_depth": None if autosomes is None else round(autosomes, 4)}
    for letter, names in SEX_CONTIGS.items():
        its_mean = mean([name for name in counts.contigs if name in names])
        found[f"{letter}_ratio"] = round(its_mean / autosomes, 4) if its_mean is not None and autosomes else None
    return found


def window_rows(counts: SampleCounts, lengths: Mapping[str, int]) -> list[str]:
    """Return the BED lines of all windows: contig, start, end, mean depth with two decimals."""
    rows, number = [], 0
    windows = counts.counters.windows.tolist()
    for name in counts.contigs:
        for start in range(0, lengths[name], COVERAGE_WINDOW):
            end = min(start + COVERAGE_WINDOW, lengths[name])
            rows.append(f"{name}\t{start}\t{end}\t{windows[number] / (end - start):.2f}\n")
            number += 1
    return rows
