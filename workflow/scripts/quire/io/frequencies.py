"""Sites with known allele frequencies in a population, from a VCF with AF in INFO."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import open_input, read_errors

RAREST = 0.05
"""Least frequency of the rarer allele. The many sites with a rarer one say little about mixtures of samples."""
NOT_AUTOSOMES = frozenset(f"{prefix}{name}" for prefix in ("chr", "") for name in ("X", "Y", "M", "MT"))
_BASES = "ACGT"


class KnownSites(NamedTuple):
    """Biallelic SNV sites in the order of the reference.

    Attributes:
        first: int64[contigs + 1], sites of contig c are [first[c], first[c + 1]).
        positions: int64[sites], 0-based.
        reference, alternate: uint8[sites], codes (A 0, C 1, G 2, T 3).
        frequencies: float64[sites], frequencies of the alternate allele.
    """

    first: NDArray[np.int64]
    positions: NDArray[np.int64]
    reference: NDArray[np.uint8]
    alternate: NDArray[np.uint8]
    frequencies: NDArray[np.float64]


def read_known_sites(path: str | Path, lengths: Mapping[str, int]) -> KnownSites:
    """Read biallelic SNVs of a VCF, on autosomes, with both alleles as frequent as RAREST; InputError for none."""
    numbers = {name: number for number, name in enumerate(lengths)}
    sites: dict[tuple[int, int], tuple[int, int, float]] = {}
    line_number = 1
    try:
        with read_errors(path), open_input(path) as stream:
            if not stream.readline().startswith(b"##fileformat=VCF"):
                raise InputError(f"{path}: is not a VCF; name one with AF in INFO as report.known_sites.")
            for line in stream:
                line_number += 1
                if line.startswith(b"#"):
                    continue
                columns = line.decode(errors="replace").rstrip("\r\n").split("\t", 8)
                contig, reference, alternate, info = columns[0], columns[3].upper(), columns[4].upper(), columns[7]
                if reference not in _BASES or alternate not in _BASES or len(reference) * len(alternate) != 1:
                    continue
                if contig not in numbers or contig in NOT_AUTOSOMES:
                    continue
                given = next((field for field in info.split(";") if field.startswith("AF=")), "AF=.")[3:]
                frequency = 0.0 if given == "." else float(given.split(",")[0])
                if RAREST <= frequency <= 1 - RAREST and 0 < int(columns[1]) <= lengths[contig]:
                    place = numbers[contig], int(columns[1]) - 1
                    sites.setdefault(place, (_BASES.index(reference), _BASES.index(alternate), frequency))
    except (IndexError, ValueError):
        raise InputError(f"{path}: line {line_number} is not a VCF record with a number as AF; correct it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a VCF ({error}); check that it is complete.") from None
    if not sites:
        raise InputError(
            f"{path}: has no SNV with AF from {RAREST} to {1 - RAREST} on an autosome of the reference; "
            "are the names of its contigs those of the FASTA?"
        )
    places = np.array(sorted(sites), np.int64).reshape(-1, 2)
    values = [sites[contig, position] for contig, position in places.tolist()]
    return KnownSites(
        np.searchsorted(places[:, 0], np.arange(len(lengths) + 1)).astype(np.int64),
        np.ascontiguousarray(places[:, 1]),
        np.array([value[0] for value in values], np.uint8),
        np.array([value[1] for value in values], np.uint8),
        np.array([value[2] for value in values]),
    )
