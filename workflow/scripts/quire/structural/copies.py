"""Copy numbers from depth: windows corrected for GC content, segments of equal copy number, and their exact ends."""

import itertools
import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.evidence_cpu import WINDOW, Evidence
from quire.reference import Reference
from quire.rescore.ploidy import PloidyMap
from quire.simd.powers_of_ten import LOG10_OF_E
from quire.structural.content_cpu import Content
from quire.structural.copies_cpu import HIGHEST, LOG_CHANGE, NOISE, likeliest_copies, likelihoods

logger = logging.getLogger("quire.structural")
UNITS = 10, 100  # least and most short windows of a window
LEAST_READS = 50  # usual reads of a window
LEAST_KNOWN, LEAST_MAPPABLE = 0.9, 0.75  # share of a window's bases
LEAST_WINDOWS = 100  # usable ones of a contig
WINDOWS_OF_A_BIN, MOST_BINS = 50, 2000  # of GC content
EXTREMES = 25  # windows of the lowest GC content, and of the highest, that are left out
LEAST_WITHIN = 3  # windows of a span whose copies are told
LAGS = 20  # windows
NEARLY_NONE = 0.1  # of the usual reads
LEAST_USUAL = 0.5  # share of the windows
MOST_DEVIATION = 0.3  # relative, beyond that of counts
ROUNDS = 3  # of fitting to the windows of usual copy number
PHRED = 10 * LOG10_OF_E  # of a natural logarithm
LEAST_CHANGE = -PHRED * LOG_CHANGE  # phred
INTERVAL = 0.95  # probability of the interval of an end


class DepthWindows(NamedTuple):
    """The usable windows of a sample.

    Attributes:
        size: short windows of each window.
        contig: int32[n].
        number: int64[n], the first short window of each.
        reads: int64[n].
        expected: float64[n], reads for one copy.
        ploidy: int64[n].
        variance: relative variance beyond that of counts.
        weight: what a window counts for, as windows beside each other vary together.
    """

    size: int
    contig: NDArray[np.int32]
    number: NDArray[np.int64]
    reads: NDArray[np.int64]
    expected: NDArray[np.float64]
    ploidy: NDArray[np.int64]
    variance: float
    weight: float

    @property
    def text(self) -> str:
        """Describe the windows."""
        usual = float(np.median(self.expected * self.ploidy))
        return (
            f"{len(self.reads)} windows of {self.size * WINDOW} bases with {usual:.0f} reads, deviation "
            f"{self.variance**0.5:.3f} beyond that of counts, each counts {self.weight:.2f}"
        )


class _Windows(NamedTuple):
    """Usable windows: contig (int32[n]), number of the first short window, reads, share of GC, and ploidy."""

    contig: NDArray[np.int32]
    number: NDArray[np.int64]
    reads: NDArray[np.int64]
    gc: NDArray[np.float64]
    ploidy: NDArray[np.int64]


class SegmentEnd(NamedTuple):
    """A position on a contig, and the interval that has it with probability INTERVAL."""

    position: int
    low: int
    high: int


class Segment(NamedTuple):
    """A span of one copy number that is not the ploidy."""

    contig: int
    start: SegmentEnd
    end: SegmentEnd
    copies: int
    ploidy: int

    @property
    def bases(self) -> int:
        """Return its length."""
        return self.end.position - self.start.position

    @property
    def is_gain(self) -> bool:
        """Return True if there are more copies than the ploidy."""
        return self.copies > self.ploidy


class SpanCopies(NamedTuple):
    """Copy number and ploidy of a span, and its lead over the next copy number and over the ploidy, in phred."""

    copies: int
    ploidy: int
    lead: float
    change: float

    def is_changed(self, is_gain: bool) -> bool:
        """Return True if there are more copies than the ploidy, or fewer."""
        return self.copies > self.ploidy if is_gain else self.copies < self.ploidy


class SampleCopies(NamedTuple):
    """The windows of a sample, the first short one of each contig, copy numbers (int64[n]), and unusual segments."""

    depth: DepthWindows
    first_window: NDArray[np.int64]
    copies: NDArray[np.int64]
    segments: list[Segment]


def copies_of(reference: Reference, evidence: Evidence, content: Content, ploidies: PloidyMap) -> SampleCopies | None:
    """Return the copy numbers of a sample; None if its reads are too few, too uneven, or in a part of the genome."""
    size = UNITS[0]
    windows = _windows(reference, evidence, content, ploidies, size)
    usual = float(np.median(windows.reads)) if len(windows.reads) else 0.0
    if usual < LEAST_READS:
        size = int(np.ceil(size * LEAST_READS / max(usual, 1e-3)))
        if size > UNITS[1]:
            return None
        windows = _windows(reference, evidence, content, ploidies, size)
    order = np.argsort(windows.gc, kind="stable")  # of the extremes of GC content too little is known
    columns: tuple[NDArray[Any], ...] = windows
    windows = _Windows(*(column[np.sort(order[EXTREMES:-EXTREMES])] for column in columns))
    reads, ploidy = windows.reads, windows.ploidy
    copies = np.where(reads < NEARLY_NONE * np.median(reads), 0, ploidy)  # at first
    for turn in range(ROUNDS):
        is_usual = copies == ploidy
        if is_usual.sum() <= LEAST_USUAL * len(copies):
            return None
        expected = _expected(reads / ploidy, windows.gc, is_usual)
        variance, together = _variation(reads, expected * ploidy, is_usual)
        if variance > MOST_DEVIATION**2:
            return None
        # Those of segments vary together at first. Segments may be shorter than waves of depth, hence the root.
        weight = together**-0.5 if turn else 1.0
        copies = likeliest_copies(reads, expected, windows.contig, variance, weight)
    depth = DepthWindows(size, windows.contig, windows.number, reads, expected, ploidy, variance, weight)
    return SampleCopies(depth, evidence.first_window, copies, _segments(depth, copies, evidence))


def copies_within(sample: SampleCopies, contig: int, start: int, end: int) -> SpanCopies | None:
    """Return the copy number of a span; None if fewer than LEAST_WITHIN windows are in it."""
    depth = sample.depth
    first, last = (int(number) for number in sample.first_window[contig : contig + 2])
    low, high = first - (-start // WINDOW), min(first + end // WINDOW, last) - depth.size
    windows = slice(int(np.searchsorted(depth.number, low)), int(np.searchsorted(depth.number, high, "right")))
    if windows.stop - windows.start < LEAST_WITHIN:
        return None
    reads, expected, ploidy = depth.reads[windows], depth.expected[windows], int(depth.ploidy[windows.start])
    phreds = PHRED * likelihoods(reads, expected, depth.variance, depth.weight)
    copies = int(phreds.argmax())
    lead, change = float(phreds[copies] - np.delete(phreds, copies).max()), float(phreds[copies] - phreds[ploidy])
    if copies == HIGHEST:
        copies = max(copies, round(float(reads.sum() / expected.sum())))
    return SpanCopies(copies, ploidy, lead, change)


def _windows(reference: Reference, evidence: Evidence, content: Content, ploidies: PloidyMap, size: int) -> _Windows:
    """Return the usable windows of `size` short ones."""
    parts = []
    for contig, name in enumerate(reference.contig_names):
        first, last = (int(window) for window in evidence.first_window[contig : contig + 2])
        count = (last - first) // size
        own = slice(first, first + count * size)
        known, gc, words, single, reads = (
            values[own].reshape(count, size).sum(axis=1, dtype=np.int64) for values in (*content, evidence.starts)
        )
        number = np.arange(first, first + count * size, size)
        borders, values = np.array(ploidies.borders.get(name, [0])), ploidies.ploidies.get(name, [ploidies.usual])
        middles = (number - first) * WINDOW + size * WINDOW // 2
        ploidy = np.array(values)[np.searchsorted(borders, middles, side="right") - 1]
        usable = (
            (known >= LEAST_KNOWN * size * WINDOW) & (single >= LEAST_MAPPABLE * words) & (words > 0) & (ploidy > 0)
        )
        if usable.sum() >= LEAST_WINDOWS:
            columns = np.full(count, contig, np.int32), number, reads, gc / np.maximum(known, 1), ploidy
            parts.append(_Windows(*(column[usable] for column in columns)))
    if not parts:
        return _Windows(np.empty(0, np.int32), *(np.empty(0, np.int64),) * 2, np.empty(0), np.empty(0, np.int64))
    return _Windows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _expected(reads: NDArray[np.float64], gc: NDArray[np.float64], usual: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the reads of one copy expected by GC content: medians of windows of about the same, joined by lines."""
    order = np.flatnonzero(usual)[np.argsort(gc[usual], kind="stable")]
    bins = np.array_split(order, max(1, min(MOST_BINS, len(order) // WINDOWS_OF_A_BIN)))
    middles, medians = (np.array([function(values[own]) for own in bins])
                        for function, values in ((np.mean, gc), (np.median, reads)))  # fmt: skip
    expected: NDArray[np.float64] = np.maximum(np.interp(gc, middles, medians), 0.01 * np.median(reads[usual]))
    return expected


def _variation(
    reads: NDArray[np.int64], expected: NDArray[np.float64], usual: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the variance beyond that of counts, and how many windows tell as much as one."""
    rest = (reads / expected - 1)[usual]
    deviation = max(1.4826 * float(np.median(np.abs(rest))), 1e-6)
    variance = max(deviation**2 - 1 / float(np.median(expected[usual])), 1e-6)
    rest = np.where(np.abs(rest) > 3 * deviation, 0, rest)  # also of segments that are not found yet
    together = 1.0
    for lag in range(1, min(LAGS, len(rest) // 2) + 1):
        correlation = float(np.mean(rest[lag:] * rest[:-lag]) / np.mean(rest**2))
        if correlation < 2 / np.sqrt(len(rest)):
            break
        together += 2 * correlation
    return variance, together


def _segments(depth: DepthWindows, copies: NDArray[np.int64], evidence: Evidence) -> list[Segment]:
    """Return the segments of a window or more whose copy number is not the ploidy, with ends to the short window.

    Segments of one copy number with less than a window between them are one.
    """
    together = np.stack([copies, depth.ploidy, depth.contig])
    changes = np.flatnonzero((together[:, 1:] != together[:, :-1]).any(axis=0)) + 1
    edges = [0, *changes.tolist(), len(copies)]
    found, least = list[Segment](), depth.size * WINDOW
    for first, last in itertools.pairwise(edges):
        if copies[first] != depth.ploidy[first]:
            contig = int(depth.contig[first])
            start, end = (_end(depth, copies, evidence, contig, window) for window in (first, last))
            own = Segment(contig, start, end, int(copies[first]), int(depth.ploidy[first]))
            if own.bases < least:
                continue  # as a few misplaced reads in a span that is lost
            if found and _continues(found[-1], own, least):
                own = own._replace(start=found.pop().start)
            found.append(own)
    return found


def _continues(one: Segment, other: Segment, apart: int) -> bool:
    """Return True if less than `apart` bases are between two segments of one copy number."""
    alike = (one.contig, one.copies, one.ploidy) == (other.contig, other.copies, other.ploidy)
    return alike and other.start.position - one.end.position < apart


def _end(depth: DepthWindows, copies: NDArray[np.int64], evidence: Evidence, contig: int, window: int) -> SegmentEnd:
    """Return where the copy number changes before a window, by the short windows of that window and the one before.

    The median of the distribution of this place is taken. The reads of unusable windows between tell nothing.
    """
    first, last = (int(number) for number in evidence.first_window[contig : contig + 2])
    if window == 0 or depth.contig[window - 1] != contig:
        at = int(depth.number[window]) - first
        return SegmentEnd(at * WINDOW, 0, at * WINDOW)
    low = int(depth.number[window - 1])
    if window == len(copies) or depth.contig[window] != contig:
        at = low + depth.size - first
        return SegmentEnd(at * WINDOW, at * WINDOW, (last - first) * WINDOW)
    between = int(depth.number[window]) - low - depth.size
    lengths = [depth.size, between, depth.size]
    reads = evidence.starts[low : low + sum(lengths)] * np.repeat([1, 0, 1], lengths)
    own = np.repeat([depth.expected[window - 1], 0, depth.expected[window]], lengths) / depth.size
    before, after = np.maximum(copies[window - 1 : window + 1], NOISE)
    ratios = reads * np.log(before / after) - own * (before - after)
    likelihood = np.concatenate([[0.0], np.cumsum(ratios)])
    shares = np.cumsum(np.exp(likelihood - likelihood.max()))
    middle, least, most = np.searchsorted(shares, shares[-1] * np.array([0.5, (1 - INTERVAL) / 2, (1 + INTERVAL) / 2]))
    return SegmentEnd(*((low - first + np.array([middle, least - 1, most + 1])) * WINDOW).tolist())
