"""Alignment between anchors: maximal exact matches are kept, and only the parts between them are aligned.

1. Find matches of ANCHOR_BASES or more that are unique in both sequences (`quire.algorithms.mems`); cut their ends.
2. Choose the chain of them with the most bases (`best_chain`); its matches are the anchors.
3. Align the parts. The part between two anchors is aligned in mode GLOBAL. In modes GLOBAL and GLOCAL the parts before
   the first and after the last anchor are aligned by the mode's rules. In mode LOCAL the run of anchors with the best
   score, including the parts between them, is extended at both ends by at most LONGEST_END bases.

Each part is optimal; the whole need not be, since the best path may avoid an anchor.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire import index, reference
from quire.algorithms import mems
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, joined, nothing
from quire.algorithms.pairwise.recount import Stretches
from quire.algorithms.scoring import Scoring
from quire.index import open_page
from quire.mems import reference_text
from quire.pairwise.aligners import PairAligner
from quire.reference import Reference
from quire.sam import CIGAR_MATCH, CIGAR_SHIFT
from quire.sequence.codes import AMBIGUOUS, LETTERS

ANCHOR_BASES = 20
LONGEST_END = 20_000
_MOST_MATCHES = 1 << 16  # matches found at a time
_INDEX = {"sampling_distance": 64, "sa_sampling": 4}
SHORTENED = 10  # bases at each end of a match
SHORTENED_SHARE = 4  # at most a quarter of a match at each end


def align_between_anchors(pair: Pair, engine: PairAligner) -> tuple[PairwiseAlignment, int]:
    """Align a pair between anchors (if there are none, by its whole matrix); return also their number."""
    anchors = find_anchors(pair.query, pair.target)
    if len(anchors.length) == 0:
        return engine.align_many([pair])[0], 0
    query_end, target_end = anchors.query + anchors.length, anchors.target + anchors.length
    between = [
        _part(
            pair,
            slice(int(query_end[k]), int(anchors.query[k + 1])),
            slice(int(target_end[k]), int(anchors.target[k + 1])),
        )
        for k in range(len(anchors.length) - 1)
    ]
    gaps = engine.align_many(between)
    first, last = 0, len(anchors.length) - 1
    if pair.mode == Mode.LOCAL:
        first, last = _best_run(anchors.length * pair.scoring.match, np.array([gap.score for gap in gaps], np.int64))
    before = _before(pair, int(anchors.query[first]), int(anchors.target[first]), engine)
    turned = Pair(pair.query[::-1].copy(), pair.target[::-1].copy(), pair.scoring, pair.mode)
    rows, columns = len(pair.query), len(pair.target)
    after = _before(turned, rows - int(query_end[last]), columns - int(target_end[last]), engine)
    parts = [before.cigar]
    score = before.score + after.score
    for k in range(first, last + 1):
        length = int(anchors.length[k])
        parts.append(np.array([length << CIGAR_SHIFT | CIGAR_MATCH], np.uint32))
        score += length * pair.scoring.match
        if k < last:
            parts.append(gaps[k].cigar)
            score += gaps[k].score
    parts.append(after.cigar[::-1])
    alignment = PairwiseAlignment(
        score,
        int(anchors.query[first]) - (before.query_end - before.query_begin),
        int(query_end[last]) + after.query_end - after.query_begin,
        int(anchors.target[first]) - (before.target_end - before.target_begin),
        int(target_end[last]) + after.target_end - after.target_begin,
        joined(parts),
    )
    return alignment, last - first + 1


def find_anchors(query: NDArray[np.uint8], target: NDArray[np.uint8]) -> Stretches:
    """Find the best chain of shortened matches that are unique in both sequences (uint8 codes; above 3: ambiguous)."""
    if len(query) < ANCHOR_BASES or np.count_nonzero(target < AMBIGUOUS) < ANCHOR_BASES:
        return Stretches(*(np.empty(0, np.int64) for _ in range(3)))
    with tempfile.TemporaryDirectory(prefix="quire_pairwise_") as folder:
        root = Path(folder)
        letters = LETTERS[np.minimum(target, np.uint8(AMBIGUOUS))].tobytes()
        (root / "target.fa").write_bytes(b">target\n" + letters + b"\n")
        reference.build(root / "target.fa", root / "reference", 1 << 30)
        opened = Reference.open(root / "reference")
        pages = []
        for number in range(len(opened.pages)):
            index.build(opened, number, root / f"page_{number}", _INDEX)
            pages.append(open_page(root / f"page_{number}", opened))
        matches = _unique_matches(opened, pages, np.minimum(query, np.uint8(AMBIGUOUS)))
        island = np.searchsorted(opened.island_axis, matches.axis, side="right") - 1
        on_target = matches.axis - opened.island_axis[island] + opened.island_start[island]
    return best_chain(shortened(Stretches(matches.start, on_target.astype(np.int64), matches.length)))


def shortened(matches: Stretches) -> Stretches:
    """Return the matches without their ends, which may match by chance; matches around a gap often overlap there."""
    cut = np.minimum(SHORTENED, matches.length // SHORTENED_SHARE)
    return Stretches(matches.query + cut, matches.target + cut, matches.length - 2 * cut)


def best_chain(matches: Stretches) -> Stretches:
    """Return the matches of a chain with the most bases in order; of several always the same one.

    In a chain each match begins at or after the end of the match before, on both sequences. One sweep over the query
    finds it, with a tree of maxima over the target (Abouelhoda and Ohlebusch 2005, J. Discrete Algorithms 3, without
    costs of gaps).
    """
    count = len(matches.length)
    query_end, target_end = matches.query + matches.length, matches.target + matches.length
    # Ranks of the matches' ends on the target. A match can follow all matches that end at or before its begin.
    ends = np.unique(target_end)
    rank_of_end = np.searchsorted(ends, target_end).tolist()
    reachable = np.searchsorted(ends, matches.target, side="right").tolist()
    lengths = matches.length.tolist()
    # At one position of the query ends come before starts.
    places = np.concatenate([query_end, matches.query])
    is_begin = np.repeat([False, True], count)
    number = np.tile(np.arange(count), 2)
    tree: list[tuple[int, int]] = [(0, -1)] * (len(ends) + 1)
    bases, before = [0] * count, [-1] * count
    for event in np.lexsort((number, is_begin, places)).tolist():
        match = int(number[event])
        if is_begin[event]:
            best, before[match] = _largest(tree, reachable[match])
            bases[match] = best + lengths[match]
        else:
            rank, entry = rank_of_end[match] + 1, (bases[match], match)
            while rank < len(tree):
                tree[rank] = max(tree[rank], entry)
                rank += rank & -rank
    chain = []
    match = max(range(count), key=lambda one: (bases[one], -one), default=-1)
    while match >= 0:
        chain.append(match)
        match = before[match]
    return Stretches(*(array[chain[::-1]] for array in matches))


def _largest(tree: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """Return the largest entry of the first `count` ranks (Fenwick 1994)."""
    best = (0, -1)
    while count > 0:
        best = max(best, tree[count])
        count &= count - 1
    return best


def _unique_matches(opened: Reference, pages: list[FmIndex], query: NDArray[np.uint8]) -> mems.Matches:
    """Find maximal exact matches that are unique in the query and in the reference."""
    from quire.algorithms.mems import cpu

    offsets = np.array([0, len(query)], np.int64)
    axis, wanted = cpu.prepare_axis(pages, reference_text(opened)), mems.WantedMatches(ANCHOR_BASES, True)
    queries = cpu.prepare_queries(mems.Queries(query, offsets))
    cursor, found = mems.Cursor(0, 0), []
    while cursor.start < len(query):
        matches, cursor = cpu.find(axis, queries, wanted, cursor, len(query), _MOST_MATCHES)
        found.append(matches)
    together = mems.Matches(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
    return cpu.unique_in_query(together, offsets)


def _part(pair: Pair, rows: slice, columns: slice, mode: Mode = Mode.GLOBAL) -> Pair:
    """Return a part of a pair, with its scores."""
    return Pair(pair.query[rows], pair.target[columns], pair.scoring, mode)


def _best_run(anchors: NDArray[np.int64], gaps: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first and last anchor of the run with the best score: of equal runs the first, then the longest."""
    # A run from i to j scores sums[j] - before[i].
    sums = np.cumsum(anchors) + np.append(0, np.cumsum(gaps))
    before = sums - anchors
    lowest = np.minimum.accumulate(before)
    last = int(np.argmax(sums - lowest))
    return int(np.argmin(before[: last + 1])), last


def _before(pair: Pair, rows: int, columns: int, engine: PairAligner) -> PairwiseAlignment:
    """Align the part before an anchor that begins after `rows` query bases and `columns` target bases."""
    if pair.mode == Mode.GLOBAL:
        return engine.align_many([_part(pair, slice(0, rows), slice(0, columns))])[0]
    within = LONGEST_END if pair.mode == Mode.LOCAL else rows
    height = min(rows, within)
    width = min(columns, within if pair.mode == Mode.LOCAL else _farthest(rows, pair.scoring))
    if pair.mode == Mode.LOCAL and min(height, width) == 0:
        return nothing()
    return engine.align_to_corner(_part(pair, slice(rows - height, rows), slice(columns - width, columns), pair.mode))


def _farthest(rows: int, scoring: Scoring) -> int:
    """Return the number of target bases beyond which one insertion of the `rows` query bases would score better."""
    gain = rows * (scoring.match - scoring.gap_extend) - scoring.gap_open
    return rows + gain // -scoring.gap_extend + 1
