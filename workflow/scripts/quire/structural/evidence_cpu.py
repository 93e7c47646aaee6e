"""Evidence of breakpoints in a sample's records, collected in one pass over its file by several threads.

Only what few reads show is kept: a clip takes 22 bytes, an unusual pair 27.
"""

import math
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.finish.counts.sample import FinishedSample, open_sample
from quire.io.bam.decode_cpu import Records, cigar_begin, cigar_element, qualities_begin
from quire.io.bam.layout import FIXED_BYTES
from quire.reference import Reference
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.compiled import compiled, inlined

WINDOW = 100  # bases within which the starts of reads are counted
LEAST_CLIP = 12  # bases
LEAST_GAP = 30  # bases of an insertion or deletion inside an alignment that counts as a clip on both of its sides
LEAST_CLIP_QUALITY = 15  # mean of the clipped bases
LEAST_MAPPING_QUALITY = 10  # of an unusual pair, and of the reads that are counted
FLANKS = 10, 200  # windows on each side of a span whose depth it is compared with
LEAST_BESIDE = 50  # reads there
DEPTH_VARIES = 0.1  # standard deviation of relative depths, beside that of the number of reads
FITTED_PAIRS = 200  # pairs from which the usual distance of mates is fitted
DEVIATIONS = 4.0  # standard deviations beyond which a pair is unusual
USUAL_WITHOUT_PAIRS = 1000
_UNWANTED = sam.FLAG_UNMAPPED | sam.FLAG_SECONDARY | sam.FLAG_DUPLICATE | sam.FLAG_FAILED_QUALITY_CHECK
_CLIPS = 1 << sam.CIGAR_SOFT_CLIP | 1 << sam.CIGAR_HARD_CLIP

CLIP = np.dtype(
    [
        ("contig", np.int32),
        ("position", np.int32),  # of the first clipped base on the right, or of the first aligned one on the left
        ("right", np.uint8),
        ("mapping_quality", np.uint8),
        ("length", np.uint16),
        ("mate", np.uint8),  # which read of a pair
        ("supplementary", np.uint8),
        ("name", np.uint64),  # its hash
    ]
)
"""A clipped end of an alignment."""
PAIR = np.dtype(
    [
        ("contig", np.int32),
        ("position", np.int32),  # of the end of the read that points to its mate: after its last base if forward
        ("right", np.uint8),  # 1 if the mate is expected to the right
        ("mapping_quality", np.uint8),
        ("mate_contig", np.int32),
        ("mate_position", np.int32),
        ("mate_right", np.uint8),
        ("name", np.uint64),
    ]
)
"""A read whose mate is at a wrong distance, in a wrong orientation or on another contig."""


class Evidence(NamedTuple):
    """Evidence of a sample.

    Attributes:
        clips: CLIP[], by contig, side and position.
        pairs: PAIR[], by contig, side and position.
        split: int64[n, 2], numbers of clips of one read that was aligned in two places, both ways round.
        starts: int32[windows], reads that start in each window of the genome.
        first_window: int64[contigs + 1], the first window of each contig.
        usual: most bases of a usual fragment.
    """

    clips: NDArray[np.void]
    pairs: NDArray[np.void]
    split: NDArray[np.int64]
    starts: NDArray[np.int32]
    first_window: NDArray[np.int64]
    usual: int


def collect(sample: FinishedSample, scratch: Path, threads: int) -> Evidence:
    """Collect the evidence of a sample; a CRAM is decoded beside `scratch`."""
    reference = Reference.open(sample.reference)
    windows = np.concatenate([[0], np.cumsum(-(-reference.contig_lengths // WINDOW))]).astype(np.int64)
    starts = np.zeros(int(windows[-1]), np.int32)
    clips, pairs = [np.empty(0, CLIP)], [np.empty(0, PAIR)]
    usual = 0  # fitted to the first batch
    with (
        open_sample(sample, reference, scratch, threads) as (_, batches),
        ThreadPoolExecutor(threads) as pool,
    ):
        waiting: deque[Future[tuple[NDArray[Any], ...]]] = deque()

        def take() -> None:
            some_clips, some_pairs, some_windows = waiting.popleft().result()
            clips.append(some_clips)
            pairs.append(some_pairs)
            np.add.at(starts, some_windows, 1)

        for batch in batches:
            usual = usual or usual_fragment(batch)
            waiting.append(pool.submit(_scan, batch, windows, usual))
            if len(waiting) > 2 * threads:
                take()
        while waiting:
            take()
    return Evidence(*_sorted(np.concatenate(clips), np.concatenate(pairs)), starts, windows, usual)


def usual_fragment(records: Records) -> int:
    """Return the most bases of a usual fragment: by a robust fit, the median and DEVIATIONS standard deviations."""
    fixed = records.fixed
    proper = fixed["flag"] & (sam.FLAG_PROPER_PAIR | _UNWANTED | sam.FLAG_SUPPLEMENTARY) == sam.FLAG_PROPER_PAIR
    sizes = fixed["template_length"][proper & (fixed["template_length"] > 0)]
    if len(sizes) < FITTED_PAIRS:
        return USUAL_WITHOUT_PAIRS
    low, middle, high = np.percentile(sizes, [25, 50, 75])
    return int(middle + DEVIATIONS * (high - low) / 1.349)


def _sorted(
    clips: NDArray[np.void], pairs: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.int64]]:
    """Sort the evidence, so that its order does not depend on the threads, and join the clips of one read."""
    clips, pairs = (np.sort(own, order=("contig", "right", "position", "name")) for own in (clips, pairs))
    keys = clips["name"] * np.uint64(4) + clips["mate"]
    keys = np.where(clips["name"] == 0, np.arange(len(clips), dtype=np.uint64), keys)  # gaps have no other part
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    split = np.stack([order[again], order[again + 1]], axis=1)
    split = split[clips["supplementary"][split].any(axis=1)]
    split = np.concatenate([split, split[:, ::-1]])
    return clips, pairs, split[np.argsort(split[:, 0], kind="stable")]


def within(rows: NDArray[np.void], contig: int, right: bool, low: int, high: int) -> slice:
    """Return which of some sorted CLIP or PAIR rows are on a side of a contig with positions in [low, high)."""
    first, last = np.searchsorted(rows["contig"], [contig, contig + 1])
    middle = first + int(np.searchsorted(rows["right"][first:last], 1))
    first, last = (middle, last) if right else (first, middle)
    begin, end = np.searchsorted(rows["position"][first:last], [low, high])
    return slice(int(first + begin), int(first + end))


def _scan(records: Records, windows: NDArray[np.int64], usual: int) -> tuple[NDArray[Any], ...]:
    # Two rows for the clips of a record, and two for each four bytes of a CIGAR. Pages that are not written take no
    # memory.
    clips = np.zeros(2 * len(records.starts) + len(records.data) // 2, CLIP)
    pairs = np.zeros(len(records.starts), PAIR)
    used = np.empty(len(records.starts), np.int64)
    counts = _scan_records(records, windows, usual, clips, pairs, used)
    return clips[: counts[0]].copy(), pairs[: counts[1]].copy(), used[: counts[2]].copy()


@compiled
def _scan_records(records, windows, usual, clips, pairs, used):
    """Fill clips, pairs and the windows in which reads start; return how many of each."""
    data, starts, fixed = records.data, records.starts, records.fixed
    n_clips, n_pairs, n_used = 0, 0, 0
    for r in range(len(starts)):
        fields = fixed[r]
        flag, count = np.int64(fields.flag), np.int64(fields.operations)
        if flag & _UNWANTED or count == 0:
            continue
        begin, end = cigar_begin(starts[r], fields), np.int64(fields.position)
        for k in range(count):
            element = cigar_element(data, begin, k)
            operation, length = element & sam.CIGAR_MASK, np.int64(element >> sam.CIGAR_SHIFT)
            is_gap = operation == sam.CIGAR_INSERTION or operation == sam.CIGAR_DELETION
            if is_gap and length >= LEAST_GAP:
                _fill(clips[n_clips], fields, flag, end, 1, length, np.uint64(0))
                n_clips += 1
            if sam.CONSUMES_REFERENCE >> operation & 1:
                end += length
            if is_gap and length >= LEAST_GAP:
                _fill(clips[n_clips], fields, flag, end, 0, length, np.uint64(0))
                n_clips += 1
        sure = fields.mapping_quality >= LEAST_MAPPING_QUALITY
        is_primary = not flag & sam.FLAG_SUPPLEMENTARY
        if sure and is_primary:
            used[n_used] = windows[fields.contig] + np.int64(fields.position) // WINDOW
            n_used += 1
        unusual = is_primary and sure and _is_unusual(fields, flag, usual)
        for right in range(2):
            element = cigar_element(data, begin, count - 1 if right else 0)
            operation, length = element & sam.CIGAR_MASK, np.int64(element >> sam.CIGAR_SHIFT)
            if not _CLIPS >> operation & 1 or length < LEAST_CLIP:
                continue
            if operation == sam.CIGAR_SOFT_CLIP and not _is_good(data, starts[r], fields, right, length):
                continue
            name = hash_of_name(data, starts[r] + FIXED_BYTES, starts[r] + FIXED_BYTES + fields.name_bytes - 1)
            _fill(clips[n_clips], fields, flag, end if right else np.int64(fields.position), right, length, name)
            n_clips += 1
        if unusual:
            pair = pairs[n_pairs]
            forward = not flag & sam.FLAG_REVERSE
            pair.contig, pair.position = fields.contig, np.int32(end if forward else fields.position)
            pair.right, pair.mapping_quality = np.uint8(forward), fields.mapping_quality
            pair.mate_contig, pair.mate_position = fields.mate_contig, fields.mate_position
            pair["mate_right"] = np.uint8(not flag & sam.FLAG_MATE_REVERSE)
            pair.name = hash_of_name(data, starts[r] + FIXED_BYTES, starts[r] + FIXED_BYTES + fields.name_bytes - 1)
            n_pairs += 1
    return n_clips, n_pairs, n_used


@inlined
def _fill(clip, fields, flag, position, right, length, name):
    """Fill a clip."""
    clip.contig, clip.position, clip.right = fields.contig, np.int32(position), np.uint8(right)
    clip.mapping_quality, clip.length = fields.mapping_quality, np.uint16(min(length, 65535))
    clip.mate, clip.supplementary = np.uint8(flag >> 6 & 3), np.uint8(flag & sam.FLAG_SUPPLEMENTARY != 0)
    clip.name = name


@inlined
def _is_unusual(fields, flag, usual):
    """Return True if both mates are mapped, but not towards each other within the usual distance."""
    if not flag & sam.FLAG_PAIRED or flag & sam.FLAG_MATE_UNMAPPED:
        return False
    if fields.contig != fields.mate_contig:
        return True
    is_reverse, mate_is_reverse = flag & sam.FLAG_REVERSE != 0, flag & sam.FLAG_MATE_REVERSE != 0
    if is_reverse == mate_is_reverse:
        return True
    size = np.int64(fields.template_length)
    if is_reverse:
        size = -size
    return size < 0 or size > usual


@inlined
def _is_good(data, start, fields, right, length):
    """Return True if the clipped bases have a good mean quality."""
    begin = qualities_begin(start, fields) + (np.int64(fields.bases) - length if right else np.int64(0))
    total = np.int64(0)
    for k in range(length):
        total += data[begin + k]
    return total >= LEAST_CLIP_QUALITY * length


def pair_clusters(evidence: Evidence, least: int) -> NDArray[np.int64]:
    """Return places that at least `least` pairs show to be deleted: contig, start and end (int64[n, 3]).

    The mates of these pairs point to each other from too far away, and neither their ends nor their mates are farther
    from each other than a usual fragment.
    """
    pairs = evidence.pairs
    facing = (pairs["contig"] == pairs["mate_contig"]) & (pairs["right"] == 1) & (pairs["mate_right"] == 0)
    rows = pairs[facing & (pairs["mate_position"] > pairs["position"])]
    contig, position, mate = (np.ascontiguousarray(rows[name]) for name in ("contig", "position", "mate_position"))
    found: NDArray[np.int64] = _clusters(contig, position, mate, evidence.usual, least)
    return found


@compiled
def _clusters(contig, position, mate, usual, least):
    """Group rows, which are in order, around the first that belongs to no group yet."""
    found = np.empty((len(contig), 3), np.int64)
    taken = np.zeros(len(contig), np.bool_)
    count = 0
    for i in range(len(contig)):
        if taken[i]:
            continue
        size, start, end = 0, np.int64(position[i]), np.int64(mate[i])
        k = i
        while k < len(contig) and contig[k] == contig[i] and position[k] - position[i] <= usual:
            if not taken[k] and abs(mate[k] - mate[i]) <= usual:
                taken[k] = True
                size += 1
                start, end = max(start, np.int64(position[k])), min(end, np.int64(mate[k]))
            k += 1
        if size >= least and start < end:
            found[count, 0], found[count, 1], found[count, 2] = contig[i], start, end
            count += 1
    return found[:count]


def depth_of(evidence: Evidence, contig: int, start: int, end: int) -> tuple[float, float]:
    """Return the depth of a span relative to its flanks, and the standard deviation of that by the number of reads.

    The flanks are as long as the span, within FLANKS. NaN and infinity if there are too few reads.
    """
    first, last = (int(windows) for windows in evidence.first_window[contig : contig + 2])
    low, high = first + -(-start // WINDOW), first + end // WINDOW
    size = min(max(high - low, FLANKS[0]), FLANKS[1])
    before, after = evidence.starts[max(first, low - 1 - size) : max(first, low - 1)], evidence.starts[high + 1 : last]
    beside = np.concatenate([before, after[:size]])
    reads, others = int(evidence.starts[low:high].sum()), int(beside.sum())
    if high <= low or others < LEAST_BESIDE:
        return math.nan, math.inf
    ratio = reads / (high - low) / (others / len(beside))
    return ratio, math.hypot(DEPTH_VARIES, ratio / math.sqrt(max(reads, 1)), ratio / math.sqrt(others))
