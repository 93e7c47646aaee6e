"""Ploidy by region and sex.

GATK's `--ploidy-regions` gives a whole active region the largest ploidy of the rows that it touches
(HaplotypeCallerEngine.getLocalGenotypingEngine). Here a variant has the ploidies of the position at which it starts:
`units` cuts the genome where the ploidy of a sample changes, and calls each part as if its ploidies applied everywhere.
So the answer does not depend on where active regions, tiles or pieces lie. If rows overlap, the largest ploidy counts,
as in GATK.

A sample of ploidy 0 is absent from the part: its reads are counted in the ledger and not used.
"""

import logging
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quire.io.ploidy import SEXES, UNKNOWN, PloidyRegion, read_ploidy_regions
from quire.reference import Reference

logger = logging.getLogger("quire.rescore")
HEADER_KEY = "quirePloidy"


@dataclass(frozen=True)
class PloidyMap:
    """The ploidies of one sample along the genome: the usual one outside all rows, and others by contig.

    The ploidy may change at `borders` (ascending, the first 0); `ploidies` has it from each border on.
    """

    usual: int
    borders: Mapping[str, Sequence[int]]
    ploidies: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, usual: int, rows: Sequence[PloidyRegion]) -> "PloidyMap":
        """Make the map from the rows for the sample; if several overlap, the largest ploidy counts."""
        borders: dict[str, list[int]] = {}
        ploidies: dict[str, list[int]] = {}
        for contig in dict.fromkeys(row.contig for row in rows):
            own = [row for row in rows if row.contig == contig and row.end > row.start]
            at = np.unique([0, *(row.start for row in own), *(row.end for row in own)])
            most = np.full(len(at), -1)
            for row in own:
                first, last = np.searchsorted(at, [row.start, row.end])
                most[first:last] = np.maximum(most[first:last], row.ploidy)
            most[most < 0] = usual
            changes = np.flatnonzero(np.diff(most, prepend=-1))
            borders[contig], ploidies[contig] = at[changes].tolist(), most[changes].tolist()
        return cls(usual, borders, ploidies)

    def at(self, contig: str, position: int) -> int:
        """Return the ploidy at a position."""
        if contig not in self.borders:
            return self.usual
        return self.ploidies[contig][bisect_right(self.borders[contig], position) - 1]

    def header_lines(self) -> list[str]:
        """Return header lines for a gVCF: the usual ploidy, and spans of others (1-based, inclusive; end 0 is open)."""
        lines = [f"##{HEADER_KEY}=<Ploidy={self.usual}>"]
        for contig, borders in self.borders.items():
            for start, end, ploidy in zip(borders, [*borders[1:], 0], self.ploidies[contig], strict=True):
                if ploidy != self.usual:
                    lines.append(f"##{HEADER_KEY}=<Ploidy={ploidy},Start={start + 1},End={end},Contig={contig}>")
        return lines

    @classmethod
    def from_header(cls, lines: Sequence[str]) -> "PloidyMap":
        """Read the map from the header of a gVCF; a header without one means ploidy 2 everywhere."""
        usual, rows = 2, []
        for line in lines:
            if line.startswith(f"##{HEADER_KEY}=<"):
                # The contig's name comes last, since it may hold anything.
                fields = dict(item.split("=", 1) for item in line.partition("=<")[2].removesuffix(">").split(",", 3))
                ploidy = int(fields["Ploidy"])
                if "Contig" in fields:
                    end = int(fields["End"]) or 1 << 31
                    rows.append(PloidyRegion(fields["Contig"], int(fields["Start"]) - 1, end, ploidy, UNKNOWN))
                else:
                    usual = ploidy
        return cls.of(usual, rows)


def ploidy_of_sample(name: str, usual: int, sex: str, rows: Sequence[PloidyRegion]) -> PloidyMap:
    """Return the ploidies of a sample of a sex, as in the sheet of samples, from the rows of all samples."""
    sex = SEXES[sex.lower()]
    if sex == UNKNOWN and any(row.sex != UNKNOWN for row in rows):
        logger.warning("sample %s has no sex in the sheet: ploidy regions of one sex are ignored for it", name)
    return PloidyMap.of(usual, [row for row in rows if row.sex in (UNKNOWN, sex)])


def ploidies_of_samples(
    samples: Mapping[str, Mapping[str, Any]], path: str | Path | None, reference: Reference
) -> dict[str, PloidyMap]:
    """Return the ploidies of samples by name, given ploidy and sex of each; nothing without a file of regions."""
    if path is None:
        return {}
    lengths = zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True)
    rows = read_ploidy_regions(path, dict(lengths))
    return {name: ploidy_of_sample(name, int(one["ploidy"]), one["sex"], rows) for name, one in samples.items()}
