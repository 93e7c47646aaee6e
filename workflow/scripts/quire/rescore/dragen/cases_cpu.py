"""Counts of spanning reads and of reads with indels at repeats of the reference.

Follows DragstrLocusCase of CalibrateDragstrModel. Primary and supplementary alignments that passed the machine's
quality checks count, duplicates included. A site with a supplementary or poorly mapped read is not informative.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.io.bam.decode_cpu import Records, cigar_begin, cigar_element
from quire.rescore.dragen.repeats_cpu import END, PERIOD, START
from quire.rescore.dragen.tables import LONGEST_PERIOD, MOST_REPEATS
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import compiled

MINIMUM_DEPTH = 10  # reads over a site
MINIMUM_MAPPING_QUALITY = 20  # of each of these reads
_FLANK = 5  # bases on both sides of a repeat that a read must cover
_IGNORED = sam.FLAG_UNMAPPED | sam.FLAG_SECONDARY | sam.FLAG_FAILED_QUALITY_CHECK
MOST_CASES = 4096  # for each pair of period and number of repeats

CASE = np.dtype([("hash", np.uint64), ("class", np.int32), ("depth", np.int32), ("indels", np.int32)])
"""An informative site: hash of its position, class (`class_of`), spanning reads, and reads with an indel."""


def count_cases(records: Records, sites: NDArray[np.int64], contig_number: int, contig_length: int) -> NDArray[np.void]:
    """Return the informative sites (CASE[m]).

    `records` are all that overlap the sites. Sites are int64[n, 3], columns START and END (0-based, half-open, on the
    contig) and PERIOD, by ascending end. The contig's number is part of the hash.
    """
    depth, indels, fit = _count(records.data, records.starts, records.fixed, sites, contig_length)
    chosen = np.flatnonzero(fit & (depth >= MINIMUM_DEPTH))
    cases = np.empty(len(chosen), CASE)
    cases["hash"] = place_hashes(sites[chosen, START], contig_number)
    cases["class"] = class_of(
        sites[chosen, PERIOD], (sites[chosen, END] - sites[chosen, START]) // sites[chosen, PERIOD]
    )
    cases["depth"], cases["indels"] = depth[chosen], indels[chosen]
    return cases


def class_of(periods: NDArray[np.int64], repeats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class (int64[n]) of repeats: the row-major index of their cell in the tables."""
    classes: NDArray[np.int64] = (periods - 1) * MOST_REPEATS + np.minimum(repeats, MOST_REPEATS) - 1
    return classes


def sample_of_cases(parts: Iterable[NDArray[np.void]], most: int = MOST_CASES) -> NDArray[np.void]:
    """Return at most `most` cases of each class, those with the smallest hashes, ordered by class and hash.

    The result depends neither on how the cases are divided into parts nor on the order of the parts.
    """
    kept = np.empty(0, CASE)
    for part in parts:
        kept = np.concatenate([kept, part])
        kept = kept[np.lexsort((kept["hash"], kept["class"]))]
        first = np.searchsorted(kept["class"], np.arange(LONGEST_PERIOD * MOST_REPEATS))
        kept = kept[np.arange(len(kept)) - first[kept["class"]] < most]
    return kept


def place_hashes(starts: NDArray[np.int64], contig_numbers: NDArray[np.int64] | int) -> NDArray[np.uint64]:
    """Return a unique hash (uint64[n]) of each position of the reference (the finaliser of MurmurHash3)."""
    keys = starts.astype(np.uint64) ^ (np.asarray(contig_numbers).astype(np.uint64) << np.uint64(32))
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(factor)
    hashes: NDArray[np.uint64] = keys ^ (keys >> np.uint64(33))
    return hashes


@compiled
def _count(data, starts, fixed, sites, contig_length):
    """Count reads over each site and their indels; also return which sites have primary, well-mapped reads only."""
    n = len(sites)
    depth, indels = np.zeros(n, np.int32), np.zeros(n, np.int32)
    fit = np.ones(n, np.bool_)
    ends = sites[:, END].copy()
    for r in range(len(starts)):
        fields = fixed[r]
        if fields.flag & _IGNORED:
            continue
        cigar = cigar_begin(starts[r], fields)
        begin = np.int64(fields.position)
        end = begin
        for k in range(fields.operations):
            element = cigar_element(data, cigar, k)
            end += length_of(element) * (sam.CONSUMES_REFERENCE >> operation_of(element) & 1)
        first = np.searchsorted(ends, begin)
        last = first
        while last < n and min(ends[last] + _FLANK, contig_length) <= end:
            if max(sites[last, START] - _FLANK, 0) >= begin:
                depth[last] += 1
                if fields.flag & sam.FLAG_SUPPLEMENTARY or fields.mapping_quality < MINIMUM_MAPPING_QUALITY:
                    fit[last] = False
            last += 1
        position = begin
        for k in range(fields.operations):
            element = cigar_element(data, cigar, k)
            operation, length = operation_of(element), length_of(element)
            if operation in (sam.CIGAR_INSERTION, sam.CIGAR_DELETION):
                reach = length if operation == sam.CIGAR_DELETION else 0
                for s in range(np.searchsorted(ends, position), last):
                    covered = max(sites[s, START] - _FLANK, 0) >= begin
                    before_end = position <= ends[s] if reach == 0 else position < ends[s]
                    if covered and before_end and position + max(reach, 1) > sites[s, START]:
                        indels[s] += 1
            position += length * (sam.CONSUMES_REFERENCE >> operation & 1)
    return depth, indels, fit
