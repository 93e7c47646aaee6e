"""Records of positions without a variant, for a VCF of every position.

As in GenotypeGVCFs with --include-non-variant-sites, except for RGQ: here it is the phred by which the reference is
more likely than anything else, from the likelihoods of all alleles. GATK writes the quality of the dropped genotype,
whatever that genotype was.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import NON_REFERENCE, Field
from quire.ragged import offsets_from_lengths
from quire.rescore.joint.all_sites_cpu import reference_values
from quire.rescore.joint.merge_cpu import Picked
from quire.rescore.joint.text_cpu import write_references
from quire.rescore.joint.window import CohortWindow

LOW_QUALITY = "LowQual"
LOW_QUALITY_LINE = f'##FILTER=<ID={LOW_QUALITY},Description="QUAL below rescore.minimum_quality">'
REFERENCE_QUALITY = Field("RGQ", "1", "Integer", "Phred probability that a genotype without variant is wrong")
_RUNS = 500  # whose records are held at a time


class ReferenceRun(NamedTuple):
    """Consecutive positions of which all samples have the same values.

    Attributes:
        start, end: 0-based, half-open.
        picked: int32[files], the record of each file, -1 for none.
        is_deleted: True if a record from before `start` may delete the positions.
    """

    start: int
    end: int
    picked: NDArray[np.int32]
    is_deleted: bool


class ReferenceGenotypes(NamedTuple):
    """Values of all samples: int64[samples] each; DP and RGQ are MISSING without reads."""

    ploidies: NDArray[np.int64]
    depth: NDArray[np.int64]
    quality: NDArray[np.int64]


def reference_runs(window: CohortWindow, start: int, end: int, alone: Sequence[int]) -> Iterator[ReferenceRun]:
    """Yield the runs of [start, end) in order; a run in which a deletion may reach, or at `alone`, has one position."""
    columns = window.columns
    is_plain = np.array([alleles[1:] == [NON_REFERENCE] for alleles in window.alleles], np.bool_)[columns.spelling]
    borders = [columns.start, columns.end, columns.start[~is_plain] + 1, window.cohort.ploidy_borders(window.contig)]
    borders += [np.array(alone, np.int64) + after for after in (0, 1)]
    every = np.unique(np.concatenate([*borders, [start, end]])).astype(np.int64)
    every = every[(every >= start) & (every <= end)]
    for at in range(0, len(every) - 1, _RUNS):
        own = every[at : at + _RUNS + 1]
        picked = window.pick(own[:-1])
        for number, (first, after) in enumerate(pairwise(own.tolist())):
            records = picked[number][picked[number] >= 0]
            if (window.deletes[records] & (columns.start[records] < first)).any():
                for position in range(first, after):
                    yield ReferenceRun(position, position + 1, picked[number], True)
            else:
                yield ReferenceRun(first, after, picked[number], False)


class ReferenceLines:
    """Writes the lines of positions without a variant of a window."""

    def __init__(self, window: CohortWindow) -> None:
        """Note which alleles leave the positions after their first unchanged."""
        self._window = window
        keeps = [
            [a == 0 or (allele != NON_REFERENCE and len(allele) >= len(own[0])) for a, allele in enumerate(own)]
            for own in window.alleles
        ]
        self._keeps_first = offsets_from_lengths([len(own) for own in keeps])
        self._keeps = np.array([kept for own in keeps for kept in own], np.bool_)

    def lines(self, run: ReferenceRun, letters: bytes) -> bytes:
        """Return a line for each position of a run; `letters` are the reference's."""
        window, cohort = self._window, self._window.cohort
        nothing = np.empty((0, 0), np.int64)
        ways = np.empty(0, np.int32)
        picked = Picked(
            run.picked[cohort.file_of_sample],
            cohort.number_in_file,
            cohort.ploidies(window.contig, run.start),
            ways,
            nothing,
            nothing,
            -1,
        )
        *values, depth = reference_values(window.columns, run.start, picked, self._keeps_first, self._keeps)
        genotypes = ReferenceGenotypes(*values)
        keys = "GT:DP:RGQ" if (genotypes.depth >= 0).any() else "GT"
        rest = f"\t.\t.\tPASS\t{f'DP={depth}' if depth else '.'}\t{keys}".encode()
        rest += write_references(genotypes).tobytes() + b"\n"
        contig, places = window.contig.encode(), enumerate(letters, run.start + 1)
        return b"".join(b"%b\t%d\t.\t%c%b" % (contig, position, letter, rest) for position, letter in places)
