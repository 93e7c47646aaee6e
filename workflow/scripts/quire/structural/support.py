"""Likelihoods of the reads and pairs at a junction, given the reference or the junction.

Reads that cross an end are scored by PairHMM as those of long indels are. A pair whose mates lie on both sides of a
junction, or of an end on the reference, is an observation too if none of its reads crosses the end.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.evidence_cpu import Evidence
from quire.reference import Reference
from quire.rescore.engines import CallingEngine
from quire.rescore.long_indels import FLANK
from quire.rescore.long_indels.breakpoints_cpu import clips_of
from quire.rescore.long_indels.support import (
    DILUTION_POWER,
    POOREST_LOG10_PER_BASE,
    Crossing,
    crossing_reads,
    read_likelihoods,
)
from quire.rescore.parameters import INFORMATIVE_LOG10, MISMAPPING_LOG10, CallingParameters
from quire.rescore.reads.aligned_cpu import NO_MATE, AlignedReads
from quire.simd.powers_of_ten import log10
from quire.structural.discovery import Sample
from quire.structural.evidence_cpu import depth_of, within
from quire.structural.junctions import End, Junction, away, back, complement

PAIR_LOG10 = -2.0  # likelihood of a pair that contradicts a haplotype
DOUBLE_LOG10 = -DILUTION_POWER * float(log10(np.array([2.0]))[0])  # of a pair that both haplotypes have, one more often
SHARE_OF_USUAL = {"DEL": 1.0, "DUP": 0.5, "INV": 0.5}  # shortest variants that pairs tell, by their usual distance
OVERLAP = 15  # bases by which a read of a pair may reach over an end
LONGEST_READ = 1000
_GAP = bytes([4]) * 10  # N


class Fragments(NamedTuple):
    """Likelihoods of the fragments of all samples at a junction.

    Attributes:
        sample: int64[n].
        reverse, mapping_quality: uint8[n], of the read that counts.
        matrix: float64[n, 2], log10 likelihoods of reference and junction.
        weight: float64[n], what a fragment counts for; the likelihoods have it.
        split: int64[samples], fragments with a read across the junction.
        spanning: int64[samples], pairs around the junction.
        depth: float64[samples, 2], relative depth between the ends and its deviation, see `depth_of`.
    """

    sample: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    mapping_quality: NDArray[np.uint8]
    matrix: NDArray[np.float64]
    weight: NDArray[np.float64]
    split: NDArray[np.int64]
    spanning: NDArray[np.int64]
    depth: NDArray[np.float64]


class _Fragment(NamedTuple):
    """A fragment's likelihoods, strand and mapping quality, and the ends (bits) at which it shows the reference."""

    reference: float
    alternate: float
    reverse: int
    mapping_quality: int
    ends: int


class _Scored(NamedTuple):
    """Reads at an end: all that were fetched, those that cross it, which of them count, and their likelihoods."""

    reads: AlignedReads
    crossing: NDArray[np.int64]
    use: NDArray[np.bool_]
    matrix: NDArray[np.float64]


def haplotypes_at(reference: Reference, junction: Junction, which: int) -> tuple[bytes, bytes]:
    """Return reference and junction around the first (0) or second (1) end, on the strand of the reference."""
    if _has_short_copy(junction):  # a read may cross both copies
        (contig, start, _), end = junction.first, junction.second.position
        left, right = End(contig, start, True), End(contig, end, False)
        unit = back(reference, left._replace(right=False), end - start).tobytes()
        before = complement(known_bases(back(reference, left, FLANK)))
        middle, after = complement(junction.inserted), known_bases(back(reference, right, FLANK))
        own = junction.first if which == 0 else junction.second
        own = own._replace(right=True)
        plain = complement(known_bases(back(reference, own, FLANK))) + known_bases(away(reference, own, FLANK))
        return plain, before + unit + middle + unit + after
    own, other = (junction.first, junction.second) if which == 0 else (junction.second, junction.first)
    inserted = junction.inserted if which == 0 else complement(junction.inserted)
    if junction.ending is not None:
        beyond = junction.inserted if which == 0 else complement(junction.ending)
    else:
        beyond = inserted + known_bases(back(reference, other, FLANK))
    before = complement(known_bases(back(reference, own, FLANK)))
    pair = before + known_bases(away(reference, own, FLANK)), before + beyond[:FLANK]
    return pair if own.right else (complement(pair[0]), complement(pair[1]))


def known_bases(codes: NDArray[np.uint8]) -> bytes:
    """Return the bases before the first gap of the reference or the end of its contig: N fits all reads."""
    return codes.tobytes().partition(_GAP)[0]


def fragments_at(
    reference: Reference,
    samples: Sequence[Sample],
    junction: Junction,
    parameters: CallingParameters,
    engine: CallingEngine,
) -> Fragments:
    """Return the likelihoods of the fragments at a junction."""
    parts, splits, spans = [], [], []
    for number, sample in enumerate(samples):
        usual = sample.evidence.usual
        scored = _scored(reference, sample, junction, parameters, engine)
        rows: dict[int, _Fragment] = {}  # by the hash of the name
        for which, (own, index, use, matrix) in enumerate(scored):
            for i in np.flatnonzero(use).tolist():
                read = int(index[i])
                first, second = matrix[i].tolist()
                told = _Fragment(first, second, int(own.reverse[read]), int(own.mapping_quality[read]), 1 << which)
                _add(rows, int(own.name_hash[read]), told)
        splits.append(sum(one.alternate - one.reference > INFORMATIVE_LOG10 for one in rows.values()))
        spanning: dict[int, int] = {}
        # Pairs around a short variant are not unusual.
        if junction.kind == "BND" or (junction.kind != "INS" and junction.size > usual * SHARE_OF_USUAL[junction.kind]):
            spanning = _pairs_across(sample.evidence, junction)
            for name, quality in spanning.items():
                rows.setdefault(name, _Fragment(PAIR_LOG10, 0.0, 0, quality, 0))
            alternate = DOUBLE_LOG10 if junction.kind == "DUP" else PAIR_LOG10
            for which, end in enumerate((junction.first, junction.second)):
                for name, quality in _pairs_over(scored[which].reads, end.position, usual).items():
                    _add(rows, name, _Fragment(0.0, alternate, 0, quality, 1 << which))
        spans.append(len(spanning))
        parts.append((np.full(len(rows), number, np.int64), np.array([*rows.values()]).reshape(-1, 5), len(scored)))
    table = np.concatenate([own for _, own, _ in parts])
    matrix = np.maximum(table[:, :2], table[:, :2].max(axis=1, initial=-np.inf, keepdims=True) + MISMAPPING_LOG10)
    # A haplotype of the reference has fragments across both ends, one with the junction across that alone.
    ends = np.bitwise_count(table[:, 4].astype(np.uint8)) / parts[0][2]
    weight = np.where(matrix[:, 0] > matrix[:, 1], ends, 1.0)
    matrix[:, 1] = matrix[:, 0] + weight * (matrix[:, 1] - matrix[:, 0])
    columns, sample_of = table[:, 2:4].astype(np.uint8), np.concatenate([own for own, _, _ in parts])
    span = junction.first.contig, junction.first.position, junction.second.position
    is_changed = junction.kind in ("DEL", "DUP")
    depth = [depth_of(sample.evidence, *span) if is_changed else (math.nan, math.inf) for sample in samples]
    reverse, quality = columns.T.copy()
    counts = np.array(splits), np.array(spans)
    return Fragments(sample_of, reverse, quality, matrix, weight, *counts, np.array(depth))


def _add(rows: dict[int, _Fragment], name: int, one: _Fragment) -> None:
    """Add a read or pair to its fragment: mates are one observation, which counts by what tells most."""
    known = rows.get(name)
    if known is not None:
        more = abs(one.alternate - one.reference) > abs(known.alternate - known.reference)
        one = (one if more else known)._replace(ends=one.ends | known.ends)
    rows[name] = one


def _scored(
    reference: Reference, sample: Sample, junction: Junction, parameters: CallingParameters, engine: CallingEngine
) -> list[_Scored]:
    """Return a sample's reads at each end of a junction; both ends of an insertion are one place."""
    haplotypes: list[tuple[bytes, ...]] = [haplotypes_at(reference, junction, which) for which in (0, 1)]
    if junction.both:
        # Reads of the other junction are no evidence for the reference.
        other = replace(junction, first=_turned(junction.first), second=_turned(junction.second))
        haplotypes = [(*haplotypes[which], *haplotypes_at(reference, other, which)) for which in (0, 1)]
    homology, answers = junction.homology, []
    places = [(junction.first, homology), (junction.second, homology * junction.second_shift)]
    if junction.kind == "INS":
        places = [(junction.first, junction.second.position - junction.first.position)]
        haplotypes = [(*haplotypes[0], *haplotypes[1])]
    for which, ((contig, position, _), shift) in enumerate(places):
        low, high = sorted((position, position + shift))
        start, stop = max(0, low - sample.evidence.usual), min(int(reference.contig_lengths[contig]), high + FLANK)
        owned = np.array([[start, stop]])
        reads, _ = sample.source.fetch(reference.contig_names[contig], start, stop, owned, parameters)
        clips = clips_of(reads)
        crossing = crossing_reads(reads, clips, (low, low, high))
        if junction.imprecise:  # reads across the end cannot be scored
            crossing = Crossing(*(column[:0] for column in vars(crossing).values()))
        values = read_likelihoods([(reads, clips)], [[crossing]], [list(haplotypes[which])], engine)[0]
        matrix = np.stack([values[:, 0::2].max(axis=1), values[:, 1::2].max(axis=1)], axis=1)
        length, difference = crossing.last - crossing.first, matrix[:, 1] - matrix[:, 0]
        use = matrix.max(axis=1) >= POOREST_LOG10_PER_BASE * length
        answers.append(_Scored(reads, crossing.index, use, _diluted(junction, matrix, difference, length)))
    return answers


def _has_short_copy(junction: Junction) -> bool:
    return junction.kind == "DUP" and junction.size <= FLANK


def _turned(end: End) -> End:
    return end._replace(right=not end.right)


def _diluted(
    junction: Junction, scored: NDArray[np.float64], difference: NDArray[np.float64], length: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the likelihoods, corrected for the number of places at which each haplotype yields such reads."""
    scored = scored.copy()
    if junction.kind == "DUP":
        # The duplicated haplotype also has the reference around each end.
        share = DILUTION_POWER * log10((length + np.minimum(junction.size, length)) / length)
        fitting = scored[:, 1] if _has_short_copy(junction) else np.maximum(scored[:, 1], scored[:, 0])
        scored[:, 1] = np.where(difference > 0, scored[:, 1], fitting - share)
    if junction.kind == "INS":
        # An insertion has two ends, the reference one.
        known = len(junction.inserted) + (LONGEST_READ if junction.ending is not None else 0)
        weight = 1 / (1 + np.minimum(known, length) / length)
        scored[:, 0] = np.where(difference > 0, scored[:, 1] - weight * difference, scored[:, 0])
    return scored


def _pairs_across(evidence: Evidence, junction: Junction) -> dict[int, int]:
    """Return the mapping qualities of the unusual pairs around a junction, by the hash of the name."""
    found: dict[int, int] = {}
    usual = evidence.usual
    slack = OVERLAP + junction.homology
    for one, other in ((junction.first, junction.second), (junction.second, junction.first)):
        before, after = (usual, slack) if one.right else (slack, usual)
        low, high = one.position - before, one.position + after
        rows = evidence.pairs[within(evidence.pairs, one.contig, one.right, low, high + 1)]
        rows = rows[(rows["mate_contig"] == other.contig) & (rows["mate_right"] == other.right)]
        own = np.abs(rows["position"].astype(np.int64) - one.position)
        # A forward mate begins up to a read's length before the end.
        inside = (other.position - rows["mate_position"].astype(np.int64)) * (1 if other.right else -1)
        fits = (inside >= -slack) & (own + inside <= usual)
        for name, quality in zip(rows["name"][fits].tolist(), rows["mapping_quality"][fits].tolist(), strict=True):
            found[name] = max(quality, found.get(name, 0))
    return found


def _pairs_over(reads: AlignedReads, position: int, usual: int) -> dict[int, int]:
    """Return the mapping qualities of the usual pairs whose mates lie on both sides of a position."""
    fits = (reads.reverse == 0) & (reads.mate_start != NO_MATE) & (reads.aligned_end <= position)
    fits &= (reads.mate_start >= position) & (reads.mate_start - reads.aligned_start < usual)
    chosen = np.flatnonzero(fits)
    return dict(zip(reads.name_hash[chosen].tolist(), reads.mapping_quality[chosen].tolist(), strict=True))
