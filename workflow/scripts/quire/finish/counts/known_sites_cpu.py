"""Reads of both alleles at sites of known allele frequency, for the estimate of contamination.

As in VerifyBamID (Jun et al. 2012), primary reads that are not duplicates count if mapping quality and base quality are
at least 20. If both mates cover a site, both count.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from quire.finish.counts.records_cpu import ALIGNED, NOT_IN_DEPTH
from quire.finish.counts.sample import FinishedSample, open_sample
from quire.io.bam.decode_cpu import bases_begin, cigar_begin, cigar_element, qualities_begin
from quire.io.bam.layout import CODES_OF_BYTE
from quire.io.files import atomic_path, sealed
from quire.io.frequencies import read_known_sites
from quire.reference import Reference
from quire.sam import CIGAR_MASK, CIGAR_SHIFT, CONSUMES_READ, CONSUMES_REFERENCE, FLAG_SUPPLEMENTARY
from quire.simd.compiled import compiled
from quire.simd.search import first_above

FORMAT_VERSION = 1
FREQUENCY_BINS = 20
LEAST_QUALITY = 20  # lowest mapping quality and base quality
DEEPEST = 100  # most reads of a site; greater counts are scaled down


@compiled
def _count_alleles(records, first, positions, reference, alternate, reads):
    """Add the alleles of records to the counts of sites."""
    # `first` is int64[contigs + 1]: sites of contig c are [first[c], first[c + 1]). Of each site, `positions` has the
    # 0-based position, `reference` and `alternate` the codes of the alleles (uint8), `reads` (int64[sites, 2]) the
    # number of reads with each.
    data, starts, fixed = records.data, records.starts, records.fixed
    for r in range(len(starts)):
        fields, start = fixed[r], starts[r]
        if fields.flag & (NOT_IN_DEPTH | FLAG_SUPPLEMENTARY) or fields.mapping_quality < LEAST_QUALITY:
            continue
        contig, position = np.int64(fields.contig), np.int64(fields.position)
        last = first[contig + 1]
        site = first_above(positions, first[contig], last, position - 1)  # the first at or after the record's start
        begin, read = cigar_begin(start, fields), np.int64(0)
        letters, qualities = bases_begin(start, fields), qualities_begin(start, fields)
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            operation, length = np.int64(element & CIGAR_MASK), np.int64(element >> CIGAR_SHIFT)
            if CONSUMES_REFERENCE >> operation & 1:
                while site < last and positions[site] < position + length:
                    base = read + positions[site] - position
                    if ALIGNED >> operation & 1 and data[qualities + base] >= LEAST_QUALITY:
                        code = CODES_OF_BYTE[data[letters + (base >> 1)]] >> (8 * (base & 1)) & 7
                        if code == reference[site]:
                            reads[site, 0] += 1
                        elif code == alternate[site]:
                            reads[site, 1] += 1
                    site += 1
                position += length
            if CONSUMES_READ >> operation & 1:
                read += length


def count_known_sites(sample: FinishedSample, sites_vcf: str | Path, output: Path, threads: int) -> None:
    """Count a finished sample's reads of both alleles at the sites of a VCF with AF in INFO.

    The JSON file (known_sites.json in docs/formats.md) is written atomically. InputError is raised if the VCF cannot be
    used, QuireError if the alignments are damaged or belong to another reference.
    """
    reference = Reference.open(sample.reference)
    sites = read_known_sites(
        sites_vcf, dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    )
    reads = np.zeros((len(sites.positions), 2), np.int64)
    with open_sample(sample, reference, output, threads) as (_, batches):
        for records in batches:
            _count_alleles(records, *sites[:4], reads)
    total = reads.sum(axis=1)
    scale = np.minimum(1.0, DEEPEST / np.maximum(total, 1))
    alternate = np.rint(reads[:, 1] * scale).astype(np.int64)
    shown = np.minimum(total, DEEPEST)
    bins = np.minimum((sites.frequencies * FREQUENCY_BINS).astype(np.int64), FREQUENCY_BINS - 1)
    rows = zip(bins.tolist(), (shown - alternate).tolist(), alternate.tolist(), strict=True)
    cells = Counter(row for row in rows if row[1] + row[2])
    content = {
        "format_version": FORMAT_VERSION,
        "sample": sample.name,
        "sites": len(total),
        "covered": int((total > 0).sum()),
        "frequency_bins": FREQUENCY_BINS,
        "cells": [[*cell, cells[cell]] for cell in sorted(cells)],
    }
    with atomic_path(output) as temporary:
        temporary.write_text(sealed(output, json.dumps(content)))
