"""Reads in columns, from BAM records: adaptor and soft clips are determined once for all regions.

If the fragment's size is known, soft clips are reverted to aligned bases (AssemblyBasedCallerUtils.finalizeRegion), and
the bases beyond the mate, which are adaptor, are outside [keep_from, keep_to) (ReadUtils.getAdaptorBoundary). So are
those of the primers at the fragment's ends, which GATK does not know.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.io.bam.decode_cpu import Records, bases_of, cigars_of
from quire.io.primers import FAR, Primers
from quire.sequence.cigar_cpu import element_of, length_of, operation_of
from quire.simd.compiled import compiled, inlined

HIGH_QUALITY_CLIP = 28  # ReferenceConfidenceModel.HQ_BASE_QUALITY_SOFTCLIP_THRESHOLD
NO_MATE = -1


class AlignedReads(NamedTuple):
    """Reads of one sample in coordinate order; positions are 0-based, spans half-open.

    Attributes:
        aligned_start, aligned_end: int64[n], span of the alignment in the BAM.
        start, end: int64[n], span with reverted soft clips.
        keep_from, keep_to: int64[n], bases at reference positions outside this span are adaptor or primer.
        mate_start: int64[n], NO_MATE if the mate is absent, unmapped or on another contig.
        usable: uint8[n], 0 for reads that are assembled but not genotyped (mate on another contig).
        reverse, mapping_quality: uint8[n].
        soft_clips: int32[n], bases of quality > 28 in soft clips.
        name_hash: uint64[n].
        base_offsets: int64[n + 1] into bases (uint8 codes A0 C1 G2 T3 N4) and qualities (uint8 phred).
        cigar_offsets: int64[n + 1] into cigar (uint32, as in BAM, = and X as M).
        effective_offsets: int64[n + 1] into effective (uint32, M, I and D only, from query base effective_first[i] on).
        effective_first: int32[n].
    """

    aligned_start: NDArray[np.int64]
    aligned_end: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    keep_from: NDArray[np.int64]
    keep_to: NDArray[np.int64]
    mate_start: NDArray[np.int64]
    usable: NDArray[np.uint8]
    reverse: NDArray[np.uint8]
    mapping_quality: NDArray[np.uint8]
    soft_clips: NDArray[np.int32]
    name_hash: NDArray[np.uint64]
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    cigar_offsets: NDArray[np.int64]
    cigar: NDArray[np.uint32]
    effective_offsets: NDArray[np.int64]
    effective: NDArray[np.uint32]
    effective_first: NDArray[np.int32]


def aligned_reads(
    records: Records, chosen: NDArray[np.int64], name_hash: NDArray[np.uint64], primers: Primers | None = None
) -> AlignedReads:
    """Return the columns of the records `chosen` (int64[], in order), given the hashes of their names (uint64[])."""
    flag, mapping_quality = records.fixed["flag"][chosen], records.fixed["mapping_quality"][chosen]
    names = ("position", "mate_position", "template_length")
    start, mate, template_length = (records.fixed[name][chosen].astype(np.int64) for name in names)
    same_contig = records.fixed["mate_contig"][chosen] == records.fixed["contig"][chosen]
    mate_mapped = flag & (sam.FLAG_PAIRED | sam.FLAG_MATE_UNMAPPED) == sam.FLAG_PAIRED
    reverse = flag & sam.FLAG_REVERSE != 0
    cigar_offsets, cigar = cigars_of(records, chosen)
    cigar = _with_plain_matches(cigar)
    end = start + _aligned_lengths(cigar, cigar_offsets)
    base_offsets, bases, qualities = bases_of(records, chosen)
    known = fragment_is_known(flag, start, end, mate, template_length)
    reverted = _revert_clips(cigar, cigar_offsets, known, start)
    reverted_start, reverted_end, effective_offsets, effective, effective_first = reverted
    keep_from = np.where(known & reverse, mate, -FAR)
    keep_to = np.where(known & ~reverse, start + np.abs(template_length), FAR)
    if primers:
        # Without a mate that tells the fragment's end, it is that of the read.
        keep_from = np.maximum(keep_from, primers.inner_starts(np.where(known & reverse, mate, start)))
        keep_to = np.minimum(keep_to, primers.inner_ends(np.where(known & ~reverse, keep_to, end)))
    return AlignedReads(
        aligned_start=start,
        aligned_end=end,
        start=reverted_start,
        end=reverted_end,
        keep_from=keep_from,
        keep_to=keep_to,
        mate_start=np.where(mate_mapped & same_contig, mate, NO_MATE),
        usable=(same_contig | ~mate_mapped).astype(np.uint8),
        reverse=reverse.astype(np.uint8),
        mapping_quality=mapping_quality,
        soft_clips=_high_quality_clips(cigar, cigar_offsets, qualities, base_offsets),
        name_hash=name_hash,
        base_offsets=base_offsets,
        bases=bases,
        qualities=qualities,
        cigar_offsets=cigar_offsets,
        cigar=cigar,
        effective_offsets=effective_offsets,
        effective=effective,
        effective_first=effective_first,
    )


def fragment_is_known(
    flag: NDArray[np.uint16],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    mate: NDArray[np.int64],
    template_length: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return bool[n]: True if a read and its mate give the fragment's ends (ReadUtils.hasWellDefinedFragmentSize)."""
    reverse, mate_reverse = flag & sam.FLAG_REVERSE != 0, flag & sam.FLAG_MATE_REVERSE != 0
    both_mapped = flag & (sam.FLAG_PAIRED | sam.FLAG_MATE_UNMAPPED) == sam.FLAG_PAIRED
    towards_each_other = np.where(reverse, end > mate + 1, start <= mate + template_length)
    known: NDArray[np.bool_] = (template_length != 0) & both_mapped & (reverse != mate_reverse) & towards_each_other
    return known


def _with_plain_matches(cigar: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Replace = and X by M."""
    operation = cigar & sam.CIGAR_MASK
    other = (operation == sam.CIGAR_EQUAL) | (operation == sam.CIGAR_DIFFERENT)
    return np.where(other, cigar - operation + sam.CIGAR_MATCH, cigar).astype(np.uint32)


@compiled
def _aligned_lengths(cigar, offsets):
    """Return int64[n]: the reference bases that each alignment covers."""
    lengths = np.zeros(len(offsets) - 1, np.int64)
    for i in range(len(lengths)):
        for c in range(offsets[i], offsets[i + 1]):
            if operation_of(cigar[c]) in (sam.CIGAR_MATCH, sam.CIGAR_DELETION):
                lengths[i] += length_of(cigar[c])
    return lengths


@compiled
def _high_quality_clips(cigar, cigar_offsets, qualities, base_offsets):
    """Count the bases of high quality in the soft clips of each read (AlignmentUtils.countHighQualitySoftClips)."""
    counts = np.zeros(len(cigar_offsets) - 1, np.int32)
    for i in range(len(counts)):
        base = base_offsets[i]
        for c in range(cigar_offsets[i], cigar_offsets[i + 1]):
            operation, length = operation_of(cigar[c]), length_of(cigar[c])
            if operation == sam.CIGAR_SOFT_CLIP:
                for k in range(length):
                    counts[i] += qualities[base + k] > HIGH_QUALITY_CLIP
            base += length * (sam.CONSUMES_READ >> operation & 1)
    return counts


@compiled
def _revert_clips(cigar, offsets, revert, aligned_start):
    """Revert the soft clips of reads with `revert` to M and remove all others and hard clips."""
    # Return the columns of `AlignedReads` that depend on it: start, end, effective_offsets, effective, effective_first.
    count = len(offsets) - 1
    start, end = np.empty(count, np.int64), np.empty(count, np.int64)
    effective_offsets, effective = np.zeros(count + 1, np.int64), np.empty(len(cigar), np.uint32)
    effective_first = np.empty(count, np.int32)
    for i in range(count):
        begin = effective_offsets[i]
        start[i], effective_first[i], last = _effective_cigar(
            cigar, offsets[i], offsets[i + 1], revert[i], aligned_start[i], effective, begin
        )
        end[i] = start[i]
        for c in range(begin, last):
            if operation_of(effective[c]) != sam.CIGAR_INSERTION:
                end[i] += length_of(effective[c])
        effective_offsets[i + 1] = last
    return start, end, effective_offsets, effective[: effective_offsets[-1]], effective_first


@inlined
def _effective_cigar(cigar, first, last, revert, start, effective, begin):
    """Write one read's elements from `begin` on; return its start, its first query base and the end of the elements."""
    query_first = np.int64(0)
    at = begin
    for c in range(first, last):
        operation, length = operation_of(cigar[c]), length_of(cigar[c])
        if operation == sam.CIGAR_HARD_CLIP:
            continue
        if operation == sam.CIGAR_SOFT_CLIP:
            leading = at == begin
            if not revert:
                query_first += length if leading else 0
                continue
            if leading:
                start -= length
                if start < 0:  # the contig begins inside the clip
                    length += start
                    query_first -= start
                    start = np.int64(0)
                    if length == 0:
                        continue
            operation = sam.CIGAR_MATCH
        if at > begin and operation_of(effective[at - 1]) == operation:
            effective[at - 1] += element_of(length, 0)
        else:
            effective[at] = element_of(length, operation)
            at += 1
    return start, query_first, at
