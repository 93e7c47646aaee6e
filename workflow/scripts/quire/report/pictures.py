"""Pictures of the report: plots as SVG, drawn from the counts; equal counts give equal bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from quire.report.counts import Depth
from quire.report.drawing import FIRST, SECOND, THIRD, Drawing, Scale, nothing
from quire.report.searches import DotPlot

SHARE_SHOWN = 0.995
MOST_BARS = 120
DEEPEST_BREADTH = 100
LEAST_WINDOWS = 1e-3  # smallest share of the reference's windows for a GC content to be shown
MOST_COPIES = 5, 9  # at the top of the axis, at least and at most
_PERCENT = 100


class Picture(NamedTuple):
    """A plot: its subject, its main figure in words, and its SVG element."""

    title: str
    text: str
    svg: str


def _picture(title: str, text: str, drawing: Drawing | None = None) -> Picture:
    """Return a plot, or a placeholder if there is nothing to show."""
    return Picture(title, text, nothing(title) if drawing is None else drawing.svg(f"{title}: {text}"))


def draw_histogram(
    title: str,
    text: str,
    label: str,
    counts: np.ndarray | Sequence[int],
    unit: str,
    mark: tuple[float, str] | None = None,
) -> Picture:
    """Draw a histogram of integer values, up to the quantile SHARE_SHOWN; a wide range is binned to MOST_BARS bars."""
    counts = np.asarray(counts, np.int64)
    if not counts.any():
        return _picture(title, text)
    cumulated = np.cumsum(counts)
    shown = int(np.searchsorted(cumulated, SHARE_SHOWN * cumulated[-1])) + 1
    width = -(-shown // MOST_BARS)
    bars = np.zeros(-(-shown // width) * width, np.int64)
    bars[:shown] = counts[:shown]
    bars = bars.reshape(-1, width).sum(axis=1)
    drawing = Drawing(Scale(label, 0, bars.size * width), Scale(unit, 0, bars.max()))
    drawing.bars((np.arange(bars.size) * width).tolist(), width, bars.tolist())
    if mark is not None and mark[0] <= bars.size * width:
        drawing.mark(*mark)
    return _picture(title, text, drawing)


def draw_coverage(depth: Depth) -> Picture:
    """Draw the number of positions by depth."""
    text = f"mean {depth.mean:.1f}, median {depth.median}"
    mark = (depth.mean, f"mean {depth.mean:.1f}")
    return draw_histogram("Coverage", text, "depth of coverage", depth.histogram, "positions", mark)


def draw_breadth(depth: Depth) -> Picture:
    """Draw the share of positions that reach each depth, up to DEEPEST_BREADTH."""
    shares = [_PERCENT * depth.breadth(at) for at in range(DEEPEST_BREADTH + 1)]
    drawing = Drawing(
        Scale("minimum depth of coverage", 0, DEEPEST_BREADTH), Scale("positions of the target (%)", 0, _PERCENT)
    )
    drawing.line(range(DEEPEST_BREADTH + 1), shares)
    return _picture("Breadth", f"{shares[10]:.2f} % of the target at depth 10 or more", drawing)


def draw_profile(depth: Depth, contigs: Sequence[tuple[str, int]]) -> Picture:
    """Draw the mean depth along the concatenated regions of the target, labelled with contig names.

    `contigs` has the name and the number of target positions of each contig, in the target's order.
    """
    total = max(1, depth.positions)
    along = (np.arange(depth.profile.size) + 0.5) * total / max(1, depth.profile.size)
    ends = np.cumsum([0, *(size for _, size in contigs)])
    middles = (ends[:-1] + ends[1:]) / 2
    # Contigs too small for their name stay unlabelled.
    names = [
        (float(middle), name if len(name) * 0.018 * total < size or len(contigs) == 1 else "")
        for middle, (name, size) in zip(middles, contigs, strict=True)
    ]
    usual = float(np.quantile(depth.profile, 0.98)) if depth.profile.size else 0.0
    drawing = Drawing(
        Scale("contigs of the target, end to end", 0, total, names=names), Scale("mean depth", 0, 1.5 * usual or 1)
    )
    if len(contigs) <= MOST_BARS:
        drawing.borders([float(end) for end in ends[1:-1]])
    drawing.line(along.tolist(), depth.profile.tolist())
    return _picture("Coverage along the contigs", f"mean {depth.mean:.1f}", drawing)


def draw_mapping_qualities(counts: np.ndarray, mapped: int) -> Picture:
    """Draw the share of reads by MAPQ, on a logarithmic scale because nearly all reads have the highest value."""
    title, text = "Mapping quality", f"{mapped:,} mapped reads"
    shares = _PERCENT * counts[:61] / max(1, int(counts.sum()))
    if not shares.any():
        return _picture(title, text)
    least = min(0.01, float(shares[shares > 0].min()))
    drawing = Drawing(Scale("mapping quality", 0, 61), Scale("share of mapped reads (%)", least, _PERCENT, True))
    drawing.bars(range(61), 1, np.maximum(shares, least).tolist())
    return _picture(title, text, drawing)


def draw_base_qualities(cycles: Mapping[str, Any]) -> Picture:
    """Draw the mean base quality of each cycle, for first and last mates."""
    tables = [cycles[mate]["mean_quality"] for mate in ("first", "last")]
    if not any(tables):
        return _picture("Base quality", "no bases")
    drawing = Drawing(Scale("cycle", 1, max(map(len, tables))), Scale("mean base quality", 0, 42))
    for color, table in zip((FIRST, SECOND), tables, strict=True):
        drawing.line(range(1, len(table) + 1), table, color)
    drawing.legend([(FIRST, "first mates"), (SECOND, "last mates")])
    return _picture("Base quality", f"mean of the first mates {np.mean(tables[0] or [0]):.1f}", drawing)


def draw_mismatches(cycles: Mapping[str, Any]) -> Picture:
    """Draw the mismatches of each cycle as a share of its bases."""
    rates = _PERCENT * mismatch_rates(cycles)
    if not rates.size:
        return _picture("Mismatches", "no bases")
    drawing = Drawing(Scale("cycle", 1, rates.size), Scale("mismatches (% of bases)", 0, max(float(rates.max()), 0.1)))
    drawing.line(range(1, rates.size + 1), rates.tolist())
    return _picture("Mismatches", f"{rates.mean():.2f} % of a cycle's bases", drawing)


def mismatch_rates(cycles: Mapping[str, Any]) -> np.ndarray:
    """Return the mismatches per base of each cycle, up to the last cycle with bases (float64[cycles])."""
    bases = np.zeros(len(cycles["mismatches"]), np.int64)
    for mate in ("first", "last"):
        for counts in cycles[mate]["bases"].values():
            bases[: len(counts)] += np.array(counts, np.int64)
    rates: np.ndarray = np.array(cycles["mismatches"]) / np.maximum(bases, 1)
    return rates[: int(np.count_nonzero(bases))]


def draw_copies(contig: Mapping[str, Any]) -> Picture:
    """Draw the copy numbers along a contig, and the segments of unusual ones as bars."""
    segments, copies = contig["segments"], contig["copies"]
    top = max(MOST_COPIES[0], min(MOST_COPIES[1], 1 + max((number for *_, number in segments), default=0)))
    drawing = Drawing(Scale(f"position on {contig['name']}", 0, contig["length"]), Scale("copy number", 0, top))
    width = contig["length"] / len(copies)
    points = [(at * width, value) for at, value in enumerate(copies) if value is not None]
    bars = [(start, max(end, start + width / 3), number - 0.1, number + 0.1) for start, end, number in segments]
    drawing.separate_bars(bars, SECOND)
    drawing.segments([(left, value, left + width, value) for left, value in points])
    return _picture(f"Copy number of {contig['name']}", f"segments of 10 kb or more: {len(segments)}", drawing)


def draw_gc_bias(bias: Mapping[str, Any]) -> Picture:
    """Draw coverage by GC content relative to the mean, and the reference's distribution of GC content."""
    windows, coverage = np.array(bias["windows"], np.float64), np.array(bias["normalized_coverage"])
    present = windows > LEAST_WINDOWS * max(1.0, windows.sum())
    if not coverage.any() or not present.any():
        return _picture("GC bias", "no read is mapped" if present.any() else "the reference is too short")
    text = f"dropout AT {bias['at_dropout']:.1f}, GC {bias['gc_dropout']:.1f}"
    drawing = Drawing(Scale("GC content of 100 bases (%)", 0, 100), Scale("relative coverage", 0, 2))
    shares = windows / windows.max()
    drawing.bars(range(101), 1, shares.tolist(), THIRD)
    drawing.line(np.flatnonzero(present).tolist(), coverage[present].tolist())
    drawing.legend([(FIRST, "coverage"), (THIRD, "windows of the reference")])
    return _picture("GC bias", text, drawing)


def draw_adapters(adapters: Mapping[str, Sequence[int]], reads: int, cycles: int) -> Picture:
    """Draw the share of reads in which an adapter has begun by each cycle."""
    shares = {
        name: _PERCENT * np.cumsum([*places, *[0] * (cycles - len(places))]) / max(1, reads)
        for name, places in adapters.items()
    }
    highest = max((float(share[-1]) for share in shares.values() if share.size), default=0.0)
    drawing = Drawing(Scale("cycle", 1, max(2, cycles)), Scale("reads with an adapter (%)", 0, max(highest, 1.0)))
    for color, share in zip((FIRST, SECOND, THIRD), shares.values(), strict=False):
        drawing.line(range(1, share.size + 1), share.tolist(), color)
    drawing.legend(
        [(color, name.replace("_", "-")) for color, name in zip((FIRST, SECOND, THIRD), shares, strict=False)]
    )
    return _picture("Adapters", f"in {highest:.2f} % of the reads", drawing)


def draw_variant_qualities(variants: Mapping[str, Any], edges: Sequence[float]) -> Picture:
    """Draw carried records by QUAL, in bins with these edges, with others stacked on SNVs."""
    snvs, others = variants["qualities"]["snvs"], variants["qualities"]["others"]
    both = [low + high for low, high in zip(snvs, others, strict=True)]
    title, text = "Variant quality", f"{variants['counts']['snvs']:,} SNVs"
    if not any(both):
        return _picture(title, text)
    drawing = Drawing(Scale("QUAL", edges[0], edges[-1], True), Scale("variants", 0, max(both)))
    bars = list(zip(edges[:-1], edges[1:], snvs, both, strict=True))
    drawing.separate_bars([(left, right, 0, low) for left, right, low, _ in bars if low])
    drawing.separate_bars([(left, right, low, high) for left, right, low, high in bars if high > low], SECOND)
    drawing.legend([(FIRST, "SNVs"), (SECOND, "indels and others")])
    return _picture(title, text, drawing)


def draw_indel_lengths(lengths: Sequence[Sequence[int]]) -> Picture:
    """Draw indel alleles by length, deletions to the left."""
    title, text = "Lengths of indels", f"{sum(number for _, number in lengths):,} indels"
    if not lengths:
        return _picture(title, text)
    reach = max(10, *(abs(length) for length, _ in lengths))
    drawing = Drawing(
        Scale("bases deleted (below 0) or inserted", -reach - 0.5, reach + 0.5),
        Scale("alleles", 0, max(n for _, n in lengths)),
    )
    for color, sign in ((SECOND, -1), (FIRST, 1)):
        drawing.separate_bars([(at - 0.5, at + 0.5, 0, number) for at, number in lengths if at * sign > 0], color)
    return _picture(title, text, drawing)


def draw_substitutions(substitutions: Mapping[str, int]) -> Picture:
    """Draw SNVs by substitution, transitions first; complementary substitutions are added."""
    complement = str.maketrans("ACGT", "TGCA")
    changes = ("A>G", "C>T", "A>C", "A>T", "C>A", "C>G")
    sums = [substitutions[change] + substitutions[change.translate(complement)] for change in changes]
    title, text = "Substitutions", f"{sum(sums[:2]):,} transitions, {sum(sums[2:]):,} transversions"
    if not any(sums):
        return _picture(title, text)
    names = [(number + 0.5, change) for number, change in enumerate(changes)]
    drawing = Drawing(Scale("change, on either strand", 0, 6, names=names), Scale("SNVs", 0, max(sums)))
    drawing.separate_bars([(at + 0.15, at + 0.85, 0, number) for at, number in enumerate(sums[:2])])
    drawing.separate_bars([(at + 0.15, at + 0.85, 0, number) for at, number in enumerate(sums[2:], 2)], SECOND)
    return _picture(title, text, drawing)


def draw_allele_balance(allele_depths: Mapping[str, Sequence[Sequence[int]]]) -> Picture:
    """Draw SNVs by the share of reads with the alternate allele."""
    bins = {}
    for kind in ("heterozygous", "homozygous"):
        bins[kind] = [0] * 41
        for reference, alternate, sites in allele_depths[kind]:
            if reference + alternate:
                bins[kind][round(40 * alternate / (reference + alternate))] += sites
    title, text = "Allele balance", f"{sum(bins['heterozygous']):,} heterozygous SNVs"
    highest = max(*bins["heterozygous"], *bins["homozygous"])
    if not highest:
        return _picture(title, text)
    drawing = Drawing(Scale("share of reads with the alternate allele (%)", -1.25, 101.25), Scale("SNVs", 0, highest))
    starts = [2.5 * number - 1.25 for number in range(41)]
    drawing.bars(starts, 2.5, bins["homozygous"], SECOND)
    drawing.bars(starts, 2.5, bins["heterozygous"])
    drawing.legend([(FIRST, "heterozygous"), (SECOND, "homozygous")])
    return _picture(title, text, drawing)


def draw_dots(plot: DotPlot) -> Picture:
    """Draw the path of an alignment: target on the x axis, query on the y axis."""
    (query, query_start, query_end), (target, target_start, target_end) = plot.query, plot.target
    drawing = Drawing(
        Scale(f"{target} (bases)", target_start, max(target_end, target_start + 1)),
        Scale(f"{query} (bases)", query_start, max(query_end, query_start + 1)),
    )
    drawing.segments([(at, aq, bt, bq) for aq, at, bq, bt in plot.segments])
    return _picture(plot.name, plot.text, drawing)


def draw_comparison(
    title: str, unit: str, values: Sequence[tuple[str, float | None]], usual: tuple[float | None, float | None]
) -> Picture:
    """Draw one figure of all samples, in the order of the sheet, and its usual range as a band."""
    known = [(number, name, value) for number, (name, value) in enumerate(values) if value is not None]
    if not known:
        return _picture(title, "no data")
    numbers = [value for _, _, value in known]
    highest = max(*numbers, usual[1] or 0) * 1.08 or 1.0
    few = len(values) <= 12
    names = [(number + 0.5, name[:8] if few else "") for number, (name, _) in enumerate(values)]
    drawing = Drawing(
        Scale("samples" if few else "samples, as in the sheet", 0, len(values), names=names), Scale(unit, 0, highest)
    )
    if usual != (None, None):
        drawing.band(usual[0] or 0.0, highest if usual[1] is None else usual[1])
    drawing.points([(number + 0.5, value, f"{name}: {value:,.4g}") for number, name, value in known])
    return _picture(title, f"{min(numbers):,.4g} to {max(numbers):,.4g}", drawing)
