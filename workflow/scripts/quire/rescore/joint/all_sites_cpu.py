"""Depth and quality of the samples at positions without a variant."""

import numpy as np

from quire.rescore.genotyping.allele_frequency_cpu import genotype_count
from quire.rescore.joint.columns import HAS_VARIANT, IS_CALLED
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.joint.merge_cpu import next_genotype
from quire.rescore.parameters import MAXIMUM_GQ
from quire.simd.compiled import compiled, inlined


@compiled
def reference_values(columns, position, picked, keeps_first, keeps):
    """Return values of all samples at a position for a genotype without variant.

    Args:
        columns: `RecordColumns`.
        position: the position.
        picked: `Picked`, with the record and ploidy of each sample.
        keeps_first: int64[spellings + 1], the first allele of each spelling in `keeps`.
        keeps: bool[], True for an allele that leaves the positions after the record's first unchanged.

    Returns:
        int64[samples] ploidy; int64[samples] DP and RGQ, both MISSING for a sample without reads; the depth of all.
    """
    number = len(picked.record)
    ploidies = picked.ploidy.copy()
    depth, quality = np.full(number, MISSING, np.int64), np.full(number, MISSING, np.int64)
    total = np.int64(0)
    for c in range(number):
        record = picked.record[c]
        if record < 0:
            continue
        row = np.int64(columns.first_sample[record]) + picked.sample[c]
        ploidies[c] = columns.ploidy[row]
        first = keeps_first[columns.spelling[record]]
        own = keeps[first : keeps_first[columns.spelling[record] + 1]]
        value = _reference_quality(columns, row, ploidies[c], position > columns.start[record], own)
        if columns.sample_depth[row] > 0 and value != MISSING:
            depth[c], quality[c] = columns.sample_depth[row], value
        if columns.depth[record] < 0:
            total += max(depth[c], 0)
        elif picked.sample[c] == 0:
            total += columns.depth[record]
    return ploidies, depth, quality, total


@inlined
def _reference_quality(columns, row, ploidy, is_after, keeps):
    """Return the phred by which genotypes that keep the position are more likely (at least 0); MISSING without data."""
    count, first = columns.phred_count[row], np.int64(columns.phred_first[row])
    if count == 0:
        has_reference = not columns.flags[row] & HAS_VARIANT and columns.flags[row] & IS_CALLED
        return np.int64(columns.quality[row]) if has_reference or columns.quality[row] < 0 else np.int64(0)
    members = np.zeros(256, np.int64)
    kept, changed = np.int64(1 << 40), np.int64(1 << 40)
    for g in range(genotype_count(ploidy, len(keeps))):
        is_kept = True
        for place in range(ploidy):
            is_kept = is_kept and (keeps[members[place]] if is_after else members[place] == 0)
        if is_kept:
            kept = min(kept, np.int64(columns.phreds[first + g]))
        else:
            changed = min(changed, np.int64(columns.phreds[first + g]))
        next_genotype(members, ploidy, len(keeps))
    return min(max(changed - kept, 0), MAXIMUM_GQ)
