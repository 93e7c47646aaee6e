"""The pictures of the report: small SVG drawings, self-contained and the same bytes for the same figures."""

import base64
import io
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from quire.report.counts import AlignmentCounts, Depth, VariantCounts
from quire.report.searches import DotPlot

# Two colours that people with any colour vision tell apart (Okabe and Ito), both dark enough on white.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#6b7280"
SHARE_SHOWN = 0.995
MOST_BARS = 120

STYLE: Any = {  # the keys of matplotlib's rcParams
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "svg.hashsalt": "quire",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "#1f2937",
    "xtick.color": "#374151",
    "ytick.color": "#374151",
}


def draw_coverage(depth: Depth) -> str:
    """Positions by depth, up to the depth that nearly all positions stay below."""
    with pyplot.rc_context(STYLE):
        axes = _new_axes("depth of coverage", "positions")
        _draw_histogram(axes, depth.histogram, BLUE)
        axes.axvline(depth.mean, color=ORANGE, linewidth=1.5)
        axes.annotate(
            f"mean {depth.mean:.1f}",
            (depth.mean, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -10),
            textcoords="offset points",
            color=ORANGE,
        )
        return _finish(axes)


def draw_profile(depth: Depth) -> str:
    """Mean depth along the target, its regions laid end to end."""
    with pyplot.rc_context(STYLE):
        axes = _new_axes("position in the target (Mb)", "mean depth")
        along = (np.arange(depth.profile.size) + 0.5) * depth.positions / max(1, depth.profile.size) / 1e6
        axes.fill_between(along, depth.profile, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(along, depth.profile, color=BLUE, linewidth=1)
        axes.set_ylim(bottom=0)
        return _finish(axes)


def draw_insert_sizes(alignments: AlignmentCounts) -> str:
    """Pairs by insert size."""
    with pyplot.rc_context(STYLE):
        axes = _new_axes("insert size (bases)", "pairs")
        _draw_histogram(axes, alignments.insert_sizes, BLUE)
        return _finish(axes)


def draw_mapping_qualities(alignments: AlignmentCounts) -> str:
    """Share of reads by MAPQ, on a logarithmic scale, since nearly all have the highest."""
    with pyplot.rc_context(STYLE):
        axes = _new_axes("mapping quality", "share of mapped reads (%)")
        counts = alignments.mapping_qualities[:61]
        shares = 100 * counts / max(1, int(alignments.mapping_qualities.sum()))
        axes.bar(np.arange(counts.size), shares, width=0.9, color=BLUE)
        if counts.any():
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        return _finish(axes)


def draw_variant_qualities(variants: VariantCounts) -> str:
    """Carried records by QUAL, SNVs below and others above."""
    with pyplot.rc_context(STYLE):
        axes = _new_axes("variant quality (QUAL)", "variants")
        left, width = variants.quality_edges[:-1], np.diff(variants.quality_edges)
        snvs, others = variants.qualities
        axes.bar(left, snvs, width=width, align="edge", color=BLUE, label="SNVs")
        axes.bar(left, others, width=width, align="edge", bottom=snvs, color=ORANGE, label="indels, other")
        axes.legend(frameon=False, loc="upper left")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        return _finish(axes)


def draw_dots(plot: DotPlot) -> str:
    """The path of an alignment: the target to the right, the query upwards."""
    with pyplot.rc_context(STYLE):
        (query, query_start, query_end), (target, target_start, target_end) = plot.query, plot.target
        axes = _new_axes(f"{target} (bases)", f"{query} (bases)")
        lines = [((a_target, a_query), (b_target, b_query)) for a_query, a_target, b_query, b_target in plot.segments]
        axes.add_collection(LineCollection(lines, colors=BLUE, linewidths=1.2, capstyle="round"))
        axes.set_xlim(target_start, max(target_end, target_start + 1))
        axes.set_ylim(query_start, max(query_end, query_start + 1))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=4, integer=True))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        return _finish(axes)


def _new_axes(x_label: str, y_label: str) -> Axes:
    _, axes = pyplot.subplots(figsize=(4.2, 2.6), layout="constrained")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    return axes


def _draw_histogram(axes: Axes, histogram: np.ndarray, color: str) -> None:
    """Draw counts by integer value, several values in one bar where there are many."""
    if not histogram.any():
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color=GREY)
        return
    cumulated = np.cumsum(histogram)
    shown = int(np.searchsorted(cumulated, SHARE_SHOWN * cumulated[-1])) + 1
    width = -(-shown // MOST_BARS)
    padded = np.zeros(-(-shown // width) * width, dtype=np.int64)
    padded[:shown] = histogram[:shown]
    bars = padded.reshape(-1, width).sum(axis=1)
    axes.bar(np.arange(bars.size) * width, bars, width=width, align="edge", color=color)
    axes.yaxis.set_major_formatter(FuncFormatter(_short_number))


def _short_number(value: float, _: int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _finish(axes: Axes) -> str:
    """Close the figure and return it as a data address for an `img`."""
    stream = io.BytesIO()
    figure = axes.figure
    assert isinstance(figure, Figure)  # and not a part of one: see `_new_axes`
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode()
