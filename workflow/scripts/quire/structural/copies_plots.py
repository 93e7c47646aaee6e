"""The points of the report's plots of copy numbers."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from quire.finish.evidence_cpu import WINDOW
from quire.reference import Reference
from quire.structural.copies import SampleCopies
from quire.structural.copies_records import LEAST_BASES

POINTS = 100  # of a contig


def plots_of(reference: Reference, names: Sequence[str], samples: Sequence[SampleCopies | None]) -> dict[str, Any]:
    """Return the contigs with copy numbers of each sample by name, none for one without copy numbers.

    A contig has its name, its length, `copies`: medians of the reads by those of one copy in POINTS stretches of equal
    length, None for those without windows, and `segments`: start, end and copy number of those of LEAST_BASES or more.
    """
    return {
        name: [_contig(reference, own, contig) for contig in np.unique(own.depth.contig).tolist()] if own else []
        for name, own in zip(names, samples, strict=True)
    }


def _contig(reference: Reference, sample: SampleCopies, contig: int) -> dict[str, Any]:
    own, length = sample.depth.contig == contig, int(reference.contig_lengths[contig])
    copies = sample.depth.reads[own] / sample.depth.expected[own]
    numbers = sample.depth.number[own] - sample.first_window[contig]
    edges = np.searchsorted(numbers * WINDOW, np.linspace(0, length, POINTS + 1))
    stretches = [copies[first:last] for first, last in itertools.pairwise(edges)]
    return {
        "name": reference.contig_names[contig],
        "length": length,
        "copies": [round(float(np.median(some)), 2) if len(some) else None for some in stretches],
        "segments": [
            [one.start.position, one.end.position, one.copies]
            for one in sample.segments
            if one.contig == contig and one.bases >= LEAST_BASES
        ],
    }
