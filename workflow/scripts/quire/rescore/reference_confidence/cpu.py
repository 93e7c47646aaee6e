"""Reference confidence of whole spans on the CPU, visiting each read once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.reference_confidence.model import (
    DELETED,
    DELETION_QUALITY,
    LONGEST_INDEL,
    MINIMUM_BASE_QUALITY,
    MOST_INDEL_READS,
)
from quire.simd.compiled import compiled, inlined
from quire.simd.powers_of_ten.cpu import log10

_N = 4


class _ReadOverSpan(NamedTuple):
    """The columns of a read over a span, as in `ReadColumns`.

    Attributes:
        begin, stop: the columns within the span.
        shift: index of column 0 in the reference of the padded span.
        first: index of column 0 in the span.
    """

    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    before_indel: NDArray[np.uint8]
    begin: int
    stop: int
    query_length: int
    shift: int
    first: int


@compiled
def span_confidence(reads, spans, padded, reference, low, table, indels):
    """Return the fields of `Confidence`; arguments as in `reference_confidence`, and its two tables."""
    ploidy = table.shape[2] - 1
    n = len(spans)
    offsets = np.zeros(n + 1, np.int64)
    for s in range(n):
        offsets[s + 1] = offsets[s] + spans[s, 1] - spans[s, 0]
    depth = np.zeros(offsets[n], np.int32)
    phreds = np.zeros((offsets[n], ploidy + 1), np.int32)
    longest = 1
    for i in range(len(reads.start)):
        longest = max(longest, reads.column_offsets[i + 1] - reads.column_offsets[i])
    plausible = np.empty(longest, np.bool_)
    baseline = np.empty(longest + 1, np.int64)
    for s in range(n):
        size = spans[s, 1] - spans[s, 0]
        near = reference[padded[s, 0] - low : padded[s, 1] - low]
        likelihoods = np.zeros((size, ploidy + 1))
        informative = np.zeros(size, np.int64)
        own_depth = depth[offsets[s] : offsets[s + 1]]
        for i in range(reads.span_offsets[s], reads.span_offsets[s + 1]):
            first, end = reads.column_offsets[i], reads.column_offsets[i + 1]
            read = _ReadOverSpan(
                reads.bases[first:end],
                reads.qualities[first:end],
                reads.before_indel[first:end],
                max(0, spans[s, 0] - reads.start[i]),
                min(end - first, spans[s, 1] - reads.start[i]),
                reads.query_length[i],
                reads.start[i] - padded[s, 0],
                reads.start[i] - spans[s, 0],
            )
            _add_bases(read, near, table, likelihoods, own_depth)
            _add_informative(read, near, plausible, baseline, informative)
        _finish(
            likelihoods, own_depth, informative, indels, log10(np.float64(ploidy)), phreds[offsets[s] : offsets[s + 1]]
        )
    return depth, phreds


@inlined
def _add_bases(read, near, table, likelihoods, depth):
    """Add the bases of a read within the span to the likelihoods of the span's positions."""
    bases, qualities, shift, first = read.bases, read.qualities, read.shift, read.first
    for c in range(read.begin, read.stop):
        deleted = bases[c] == DELETED
        quality = DELETION_QUALITY if deleted else qualities[c]
        if quality <= MINIMUM_BASE_QUALITY:
            continue
        differs = 1 if deleted or bases[c] != near[shift + c] else 0
        for g in range(likelihoods.shape[1]):
            likelihoods[first + c, g] += table[quality, differs, g]
        depth[first + c] += 1


@compiled
def _add_informative(read, near, plausible, baseline, informative):
    """Count the read at every position where it excludes an indel that starts there."""
    # Costs are summed from the read's end, so one pass per indel covers all columns. A pass ends once its cost exceeds
    # that of the whole alignment, since then the indel cannot explain any earlier column as well.
    bases, qualities, before_indel = read.bases, read.qualities, read.before_indel
    begin, shift = read.begin, read.shift
    columns, room = len(bases), len(near) - shift
    last = columns - LONGEST_INDEL if columns <= room else room - LONGEST_INDEL + 1
    query_last = read.query_length - LONGEST_INDEL
    limit = query_last + 1
    if last <= query_last:
        limit = last - 1 if columns > room else last
    stop = min(read.stop, limit)
    if begin >= stop:
        return
    total = 0
    for c in range(min(columns, room) - 1, begin - 1, -1):
        if _mismatch(bases[c], near[shift + c]):
            total += qualities[c]
        baseline[c] = total
    plausible[begin:stop] = False
    for size in range(1, LONGEST_INDEL + 1):
        _pass(read, near, stop, size, 0, baseline, plausible)
        _pass(read, near, stop, 0, size, baseline, plausible)
    for c in range(begin, stop):
        if not plausible[c] and not before_indel[c] and bases[c] != DELETED:
            informative[read.first + c] += 1


@inlined
def _mismatch(base, other):
    return base < _N and other < _N and base != other


@inlined
def _pass(read, near, stop, read_ahead, reference_ahead, baseline, plausible):
    """Mark the columns before `stop` at which this indel explains the read as well as its alignment does."""
    bases, qualities, begin, shift = read.bases, read.qualities, read.begin, read.shift
    cost = 0
    for c in range(min(len(bases) - read_ahead, len(near) - shift - reference_ahead) - 1, begin - 1, -1):
        if _mismatch(bases[c + read_ahead], near[shift + c + reference_ahead]):
            cost += qualities[c + read_ahead]
            if cost > baseline[begin]:
                return
        if c < stop and cost <= baseline[c]:
            plausible[c] = True


@compiled
def _finish(likelihoods, depth, informative, indels, log10_ploidy, phreds):
    """Write the PLs of a span: of substitutions or of indels, whichever are less confident in the reference."""
    genotypes = likelihoods.shape[1]
    chosen = np.empty(genotypes)
    for p in range(len(depth)):
        for g in range(genotypes):
            likelihoods[p, g] -= depth[p] * log10_ploidy
        best_other = -np.inf
        for g in range(genotypes):
            chosen[g] = min(likelihoods[p, g], likelihoods[p, 0])
            if g > 0:
                best_other = max(best_other, chosen[g])
        indel = indels[min(informative[p], MOST_INDEL_READS)]
        best_indel = indel[1:].max()
        if indel[0] - best_indel < chosen[0] - best_other:
            chosen[:] = indel
        top = chosen.max()
        for g in range(genotypes):
            phreds[p, g] = np.int32(np.floor(-10.0 * (chosen[g] - top) + 0.5))
