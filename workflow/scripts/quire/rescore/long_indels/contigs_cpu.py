"""Assembly of the bases inserted between two breakpoints, from clipped reads and from reads whose mates are nearby.

A walk over the k-mers of the reads starts at the last k-mer before the insertion, continues with the most frequent
successor each time, and ends at the first k-mer after the insertion.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.io.bam.decode_cpu import Records, bases_of, name_hashes, tags_begin
from quire.io.bam.layout import SIZE_BYTES
from quire.ragged import offsets_from_lengths
from quire.rescore.long_indels import LONGEST
from quire.rescore.long_indels.breakpoints_cpu import Breakpoint, Clips
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.source import ReadSource
from quire.sequence.codes import COMPLEMENT
from quire.simd.compiled import compiled

REACH = 600  # bases on either side of an insertion in which mates are searched
FAR = 1000  # a mate farther away is not at its expected position
JOINED = 500  # reads elsewhere within this distance are fetched together
MOST_PLACES = 12  # most places elsewhere; those with most reads are kept
MOST_READS = 2000  # more add nothing
_UNWANTED = sam.FLAG_DUPLICATE | sam.FLAG_FAILED_QUALITY_CHECK | sam.FLAG_SECONDARY
K_MERS = (31, 21)  # lengths, tried in this order; two bits per base must fit into 64 bits
MINIMUM_WEIGHTS = (2, 1)  # least reads with a k-mer, tried in this order
_N = 4

Place = tuple[str, int]  # contig and 0-based position of an alignment


def _with_poor_hidden(bases: NDArray[np.uint8], qualities: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return codes with N in place of bases of poor quality."""
    return np.where(qualities < MINIMUM_BASE_QUALITY, _N, bases).astype(np.uint8)


def _anchors(
    reads: AlignedReads, clips: Clips, right: Breakpoint, left: Breakpoint, k: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]] | None:
    """Return the most frequent k-mers of clipped reads before and after the insertion; None if either is missing."""
    before: Counter[bytes] = Counter()
    after: Counter[bytes] = Counter()
    for i in right.reads.tolist():
        at = int(clips.last[i] - clips.right[i])
        if at - k >= clips.first[i]:
            before[reads.bases[at - k : at].tobytes()] += 1
    for i in left.reads.tolist():
        at = int(clips.first[i] + clips.left[i])
        if at + k <= clips.last[i]:
            after[reads.bases[at : at + k].tobytes()] += 1
    if not before or not after:
        return None
    # Ties go to the smallest k-mer, so that the order of the reads does not matter.
    first, last = (min(own, key=lambda bases: (-own[bases], bases)) for own in (before, after))
    return np.frombuffer(first, np.uint8), np.frombuffer(last, np.uint8)


def bases_between(
    reads: AlignedReads, clips: Clips, pair: tuple[Breakpoint, Breakpoint], source: ReadSource, contig: str
) -> bytes | None:
    """Return the codes between two breakpoints if clipped reads, or else all reads nearby, assemble to them."""
    inserted = _inserted_bases(reads, clips, pair, [])
    if inserted is None:
        before, after = sorted((pair[0].position, pair[1].position))
        inserted = _inserted_bases(reads, clips, pair, _reads_within(source, contig, before, after))
    return inserted


def _inserted_bases(
    reads: AlignedReads,
    clips: Clips,
    pair: tuple[Breakpoint, Breakpoint],
    others: Sequence[NDArray[np.uint8]],
) -> bytes | None:
    """Return the codes between two breakpoints of a sample, clipped on the right and on the left.

    The codes of `others` are those of further reads, on both strands. Return None if the reads do not close the gap.
    """
    spans = [slice(clips.first[i], clips.last[i]) for i in np.concatenate([pair[0].reads, pair[1].reads])]
    sequences = [*(_with_poor_hidden(reads.bases[span], reads.qualities[span]) for span in spans), *others]
    codes, offsets = np.concatenate(sequences), offsets_from_lengths([len(one) for one in sequences])
    for k in K_MERS:
        ends = _anchors(reads, clips, *pair, k)
        if ends is None:
            continue
        k_mers, counts = np.unique(_k_mers(codes, offsets, k), return_counts=True)
        for weight in MINIMUM_WEIGHTS:
            path = _walk(k_mers, counts, *ends, weight, LONGEST + k)
            if len(path) >= k:
                return bytes(path[: len(path) - k].tobytes())
    return None


@compiled
def _k_mers(codes, offsets, k):
    """Return every k-mer without N of every sequence (uint64[]), two bits per base."""
    found = np.empty(len(codes), np.uint64)
    mask = (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    n = 0
    for s in range(len(offsets) - 1):
        value, size = np.uint64(0), 0
        for b in range(offsets[s], offsets[s + 1]):
            if codes[b] > 3:
                size = 0
                continue
            value = (value << np.uint64(2) | np.uint64(codes[b])) & mask
            size += 1
            if size >= k:
                found[n] = value
                n += 1
    return found[:n]


@compiled
def _walk(k_mers, counts, first, last, weight, longest):
    """Return the bases after the k-mer `first` up to the end of the k-mer `last` (codes); none if it is not reached."""
    # `k_mers` are ascending, a k-mer to continue with has a count of at least `weight`, and `longest` limits the walk.
    nothing = np.empty(0, np.uint8)
    k = len(first)
    mask = (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    at, target = np.uint64(0), np.uint64(0)
    for i in range(k):
        if first[i] > 3 or last[i] > 3:
            return nothing
        at = at << np.uint64(2) | np.uint64(first[i])
        target = target << np.uint64(2) | np.uint64(last[i])
    path = np.empty(longest, np.uint8)
    used = np.zeros(len(k_mers), np.bool_)
    for step in range(longest):
        best, next_one, base = np.int64(weight - 1), -1, 0
        for code in range(4):
            following = (at << np.uint64(2) | np.uint64(code)) & mask
            place = np.searchsorted(k_mers, following)
            if place < len(k_mers) and k_mers[place] == following and counts[place] > best:
                best, next_one, base = counts[place], place, code
        if next_one < 0 or used[next_one]:
            return nothing
        used[next_one] = True
        path[step] = base
        at = k_mers[next_one]
        if at == target:
            return path[: step + 1]
    return nothing


def _reads_within(source: ReadSource, contig: str, start: int, end: int) -> list[NDArray[np.uint8]]:
    """Return codes, on both strands, of reads from inside an insertion between `start` and `end`.

    These are unmapped reads with mates nearby, and reads that were mapped to a copy elsewhere.
    """
    low = max(0, start - REACH)
    records = source.records(contig, low, end + REACH)
    usable = np.flatnonzero(records.fixed["flag"] & _UNWANTED == 0)
    flag = records.fixed["flag"][usable]
    unmapped = usable[flag & (sam.FLAG_UNMAPPED | sam.FLAG_MATE_UNMAPPED) == sam.FLAG_UNMAPPED][:MOST_READS]
    sequences = _sequences(records, unmapped)
    contigs = list(source.contigs)
    wanted = _mates_elsewhere(records, usable, (start, end), contigs) + _primaries(records, usable)
    names = np.unique(name_hashes(records, usable))
    for place, first, last in _places(wanted):
        there = source.records(place, max(0, first - 1), last + 1)
        position = there.fixed["position"]
        inside = (
            (there.fixed["flag"] & (_UNWANTED | sam.FLAG_SUPPLEMENTARY) == 0) & (first <= position) & (position <= last)
        )
        chosen = np.flatnonzero(inside)
        chosen = chosen[np.isin(name_hashes(there, chosen), names)][:MOST_READS]
        sequences += _sequences(there, chosen)
    return [*sequences, *(np.ascontiguousarray(COMPLEMENT[sequence[::-1]]) for sequence in sequences)]


def _sequences(records: Records, chosen: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    offsets, bases, qualities = bases_of(records, chosen)
    hidden = _with_poor_hidden(bases, qualities)
    return [hidden[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def _mates_elsewhere(
    records: Records, usable: NDArray[np.int64], place: tuple[int, int], contigs: Sequence[str]
) -> list[Place]:
    """Return the positions of mates that, judging by the reads here, belong at `place` but are mapped elsewhere."""
    fixed = records.fixed[usable]
    flag, position = fixed["flag"], fixed["position"].astype(np.int64)
    paired = flag & (sam.FLAG_PAIRED | sam.FLAG_UNMAPPED | sam.FLAG_MATE_UNMAPPED) == sam.FLAG_PAIRED
    far = (fixed["mate_contig"] != fixed["contig"]) | (np.abs(fixed["mate_position"] - position) > FAR)
    towards = np.where(flag & sam.FLAG_REVERSE != 0, position > place[0] - FAR, position < place[1])
    chosen = np.flatnonzero(paired & far & towards)
    return [
        (contigs[contig], at)
        for contig, at in zip(
            fixed["mate_contig"][chosen].tolist(), fixed["mate_position"][chosen].tolist(), strict=True
        )
    ]


def _primaries(records: Records, usable: NDArray[np.int64]) -> list[Place]:
    """Return the positions of the primary alignments of reads with a supplementary one here (tag SA)."""
    chosen = usable[records.fixed["flag"][usable] & sam.FLAG_SUPPLEMENTARY != 0]
    places = []
    ends = records.starts[chosen] + SIZE_BYTES + records.fixed["block_size"][chosen]
    for tags, end in zip(tags_begin(records, chosen).tolist(), ends.tolist(), strict=True):
        text = records.data[tags:end].tobytes()
        _, found, rest = text.partition(b"SAZ")
        if found:
            contig, position = rest.split(b",", 2)[:2]
            places.append((contig.decode(), int(position) - 1))
    return places


def _places(wanted: Sequence[Place]) -> list[tuple[str, int, int]]:
    """Return spans (contig, first and last position) of neighbouring reads: the spans with most reads, in order."""
    spans: list[tuple[str, int, int]] = []
    sizes: list[int] = []
    for contig, position in sorted(wanted):
        if spans and spans[-1][0] == contig and position - spans[-1][2] <= JOINED:
            spans[-1] = contig, spans[-1][1], position
            sizes[-1] += 1
        else:
            spans.append((contig, position, position))
            sizes.append(1)
    order = sorted(range(len(spans)), key=lambda s: (-sizes[s], spans[s]))[:MOST_PLACES]
    return sorted(spans[s] for s in order)
