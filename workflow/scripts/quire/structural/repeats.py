"""Whole copies of a unit that a tandem repeat gains, counted by the reads.

Clipped bases show that a unit of a repeat occurs once more, but not how often: the repeat is longer than a read. Its
units differ, though, and reads of a gained copy have the differences of that copy only. Haplotypes with no, one, two
and more further copies are scored by PairHMM. A read inside the repeat may fit several places of it, so that it counts
by the mapping quality of its mate, if that is better.
"""

from dataclasses import replace

import numpy as np

from quire.reference import Reference
from quire.rescore.engines import CallingEngine
from quire.rescore.long_indels import FLANK
from quire.rescore.long_indels.breakpoints_cpu import clips_of
from quire.rescore.long_indels.support import POOREST_LOG10_PER_BASE, crossing_reads, read_likelihoods
from quire.rescore.parameters import MISMAPPING_LOG10, CallingParameters
from quire.rescore.reads.source import ReadSource
from quire.simd.powers_of_ten import log10, power_of_ten
from quire.structural.junctions import Junction, away, back, complement

SHORTEST_UNIT, LONGEST_REPEAT = 10, 1000  # bases
REPEATED = 0.7  # share of equal bases of two copies
REACH = 600  # bases on either side in which the mates of reads may be
LEAST_LEAD = 3.0  # log10, over any other number of copies


def is_repeat(reference: Reference, junction: Junction) -> bool:
    """Return True for a short duplication of bases that occur once more beside them."""
    size = junction.size
    if junction.kind != "DUP" or not SHORTEST_UNIT <= size <= LONGEST_REPEAT:
        return False
    unit = away(reference, junction.first._replace(right=True), size)
    beside = away(reference, junction.second, size), away(reference, junction.first, size)
    copies = beside[0], np.frombuffer(complement(beside[1]), np.uint8)
    return max(float((unit == copy).mean()) for copy in copies) >= REPEATED


def with_copies(
    reference: Reference, source: ReadSource, junction: Junction, parameters: CallingParameters, engine: CallingEngine
) -> Junction:
    """Return the insertion of as many copies of its unit as a duplication in a tandem repeat has.

    Return the duplication itself if the reads do not tell.
    """
    left, end, size = junction.first._replace(right=True), junction.second.position, junction.size
    low, high = max(0, left.position - REACH), min(end + REACH, int(reference.contig_lengths[left.contig]))
    every = replace(parameters, minimum_mapping_quality=0)
    reads, _ = source.fetch(reference.contig_names[left.contig], low, high, np.array([[low, high]]), every)
    _, fragment = np.unique(reads.name_hash, return_inverse=True)
    surest = np.zeros(len(fragment), np.uint8)
    np.maximum.at(surest, fragment, reads.mapping_quality)
    reads, clips = reads._replace(mapping_quality=surest[fragment]), clips_of(reads)
    before, after = complement(back(reference, left, FLANK)), away(reference, left, 2 * FLANK + size).tobytes()
    crossing = crossing_reads(reads, clips, (left.position, end, end + size))
    most = int((crossing.last - crossing.first).max(initial=0)) // size + 1  # no read tells these from more
    haplotypes = [before + after[:size] * copies + after for copies in range(most + 1)]
    values = read_likelihoods([(reads, clips)], [[crossing]], [haplotypes], engine)[0]
    values = values[values.max(axis=1) >= POOREST_LOG10_PER_BASE * (crossing.last - crossing.first)]
    values = values + log10(np.array([*map(len, haplotypes)], np.float64))  # a read begins at each base by chance
    values = np.maximum(values, values.max(axis=1, initial=-np.inf, keepdims=True) + MISMAPPING_LOG10)
    of_half = values[:, :1] + log10((1 + power_of_ten(values - values[:, :1])) / 2)
    totals = np.maximum(values.sum(axis=0), of_half.sum(axis=0))
    copies = int(totals.argmax())
    if copies == most or totals[copies] - np.delete(totals, copies).max() < LEAST_LEAD:
        return junction
    return Junction(left, left._replace(right=False), after[:size] * copies)
