"""Reading of ploidies by region: BED with a ploidy as fourth column, as for GATK's `--ploidy-regions`, and a sex."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError
from quire.io.bed import read_rows

MALE, FEMALE, UNKNOWN = "male", "female", "unknown"
SEXES = {
    **dict.fromkeys(("1", "m", "xy", MALE), MALE),
    **dict.fromkeys(("2", "f", "xx", FEMALE), FEMALE),
    **dict.fromkeys(("0", "-9", "na", "", UNKNOWN), UNKNOWN),
}
"""Accepted spellings of a sex in lower case (words, PED's numbers, sarek's chromosomes), and their meaning."""
LARGEST_PLOIDY = 99


class PloidyRegion(NamedTuple):
    """A region with its ploidy.

    Attributes:
        contig: name of the contig.
        start, end: 0-based, half-open.
        ploidy: number of copies; 0 if the chromosome is absent.
        sex: MALE or FEMALE if the row applies to samples of one sex; UNKNOWN for all samples.
    """

    contig: str
    start: int
    end: int
    ploidy: int
    sex: str


def read_ploidy_regions(path: str | Path, lengths: Mapping[str, int]) -> list[PloidyRegion]:
    """Read ploidies by region.

    The BED file, plain or gzip, has contig, start, end, ploidy, and male or female (or 1 or 2, as in PED) for rows
    about one sex.

    Returns:
        The rows in the order of the file; they may overlap.

    Raises:
        InputError: a line is wrong, or there is no row.
    """
    regions = []
    for where, (contig, start, end), further in read_rows(path, lengths):
        text = further[0] if further else ""
        if not (text.isascii() and text.isdecimal() and int(text) <= LARGEST_PLOIDY):
            raise InputError(
                f"{where}: the ploidy, in the fourth column, is {text!r}; give a whole number up to {LARGEST_PLOIDY}."
            )
        sex = SEXES.get(further[1].lower()) if len(further) > 1 else UNKNOWN
        if sex is None:
            raise InputError(
                f"{where}: the sex, in the fifth column, is {further[1]!r}; give male or female, or leave it empty."
            )
        regions.append(PloidyRegion(contig, start, end, int(text), sex))
    if not regions:
        raise InputError(f"{path}: holds no regions; add some, or leave its key in the configuration empty.")
    return regions
