"""Write a synthetic genome with human-like repeats as FASTA, for measurements at the size of a human genome.

Composition after the human genome (Lander et al. 2001; de Koning et al. 2011): isochores of differing GC content,
copies of interspersed repeat families at many ages, segmental duplications, tandem satellites, short tandem repeats,
and runs of N. Contigs have the proportions of human chromosomes and are made independently, so that any number of
processes gives the same bytes.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Megabases of the human chromosomes 1 to 22 and X: the contigs share the genome in these proportions.
PROPORTIONS = (249, 243, 198, 191, 181, 171, 159, 146, 141, 136, 135, 134, 115, 107, 103, 90, 81, 78, 59, 63, 48, 51,
               155)  # fmt: skip
LINE = 60
LETTERS = np.frombuffer(b"ACGT", np.uint8)
N = ord("N")


@dataclass(frozen=True)
class Families:
    """Repeat families of one kind.

    Attributes:
        share: share of the genome that their copies cover.
        count: number of families.
        length: bases of their consensus.
        mean_copy: mean length of a copy, which ends at the consensus's end; None for whole copies.
        youngest, oldest: share of a copy's bases that differ from the consensus.
    """

    share: float
    count: int
    length: int
    mean_copy: int | None
    youngest: float
    oldest: float


INTERSPERSED = (
    Families(0.105, 20, 300, None, 0.02, 0.18),  # like Alu
    Families(0.170, 15, 6000, 900, 0.02, 0.25),  # like L1, mostly cut short
    Families(0.085, 60, 1500, 400, 0.05, 0.28),  # like LTR elements
    Families(0.060, 120, 400, 200, 0.10, 0.30),  # like L2, MIR and DNA transposons
)
ISOCHORE = 150_000
DUPLICATED_SHARE, SHORTEST_DUPLICATION, LONGEST_DUPLICATION = 0.05, 10_000, 150_000
SATELLITE_SHARE, MONOMER, MONOMERS_OF_A_UNIT = 0.025, 171, 12
SHORT_TANDEM_SHARE = 0.01


def _random_bases(generator: np.random.Generator, length: int, gc: float) -> np.ndarray:
    strong = generator.random(length, np.float32) < gc
    codes = generator.integers(0, 2, length, np.uint8)
    return np.where(strong, codes + 1, codes * 3).astype(np.uint8)  # C, G or A, T


def _mutated(generator: np.random.Generator, codes: np.ndarray, divergence: float) -> np.ndarray:
    """Return a copy with substitutions at this rate, and a tenth as many short deletions."""
    codes = np.where(
        generator.random(codes.size) < divergence, codes + generator.integers(1, 4, codes.size, np.uint8) & 3, codes
    )
    for place in generator.integers(0, codes.size, generator.poisson(codes.size * divergence / 10)):
        codes = np.delete(codes, slice(place, place + generator.geometric(0.5)))
    return codes


def contig(length: int, seed: int, number: int) -> np.ndarray:
    """Return the letters (uint8[length]) of one contig."""
    shared = np.random.default_rng([seed, 0])
    consensuses = [[_random_bases(shared, kind.length, 0.5) for _ in range(kind.count)] for kind in INTERSPERSED]
    generator = np.random.default_rng([seed, 1, number])
    codes = np.concatenate(
        [
            _random_bases(generator, min(ISOCHORE, length - begin), generator.uniform(0.35, 0.5))
            for begin in range(0, length, ISOCHORE)
        ]
    )
    _scatter_families(generator, codes, consensuses)
    _scatter_short_tandem_repeats(generator, codes)
    _duplicate(generator, codes)
    _lay_satellite(generator, codes, shared)
    letters = LETTERS[codes]
    ends = min(10_000, length // 100)
    letters[:ends] = letters[length - ends :] = N
    middle = length // 3
    letters[middle : middle + length // 50] = N  # as at a centromere
    return letters


def _scatter_families(generator: np.random.Generator, codes: np.ndarray, consensuses: list[list[np.ndarray]]) -> None:
    for kind, members in zip(INTERSPERSED, consensuses, strict=True):
        ages = np.linspace(kind.youngest, kind.oldest, kind.count)
        copies = int(codes.size * kind.share / (kind.mean_copy or kind.length))
        for place, family in zip(
            generator.integers(0, codes.size, copies), generator.integers(0, kind.count, copies), strict=True
        ):
            copy = members[family]
            if kind.mean_copy:
                copy = copy[-min(int(generator.exponential(kind.mean_copy)) + 30, kind.length) :]
            copy = _mutated(generator, copy, ages[family])
            if generator.random() < 0.5:
                copy = 3 - copy[::-1]
            copy = copy[: codes.size - place]
            codes[place : place + copy.size] = copy


def _scatter_short_tandem_repeats(generator: np.random.Generator, codes: np.ndarray) -> None:
    for place in generator.integers(0, codes.size, int(codes.size * SHORT_TANDEM_SHARE / 40)):
        unit = generator.integers(0, 4, generator.integers(1, 7), np.uint8)
        repeat = np.tile(unit, 80)[: generator.integers(20, 61)][: codes.size - place]
        codes[place : place + repeat.size] = repeat


def _duplicate(generator: np.random.Generator, codes: np.ndarray) -> None:
    done = 0
    while done < codes.size * DUPLICATED_SHARE:
        length = min(int(generator.integers(SHORTEST_DUPLICATION, LONGEST_DUPLICATION)), codes.size // 10)
        source, target = generator.integers(0, codes.size - length, 2)
        copy = _mutated(generator, codes[source : source + length].copy(), generator.uniform(0.002, 0.06))
        codes[target : target + copy.size] = copy
        done += length


def _lay_satellite(generator: np.random.Generator, codes: np.ndarray, shared: np.random.Generator) -> None:
    """Fill `codes` with nearly identical copies of a unit of diverged monomers, as at a human centromere."""
    monomer = _random_bases(shared, MONOMER, 0.4)
    unit = np.concatenate([_mutated(generator, monomer, 0.25) for _ in range(MONOMERS_OF_A_UNIT)])
    place = codes.size // 3 + codes.size // 50
    end = place + int(codes.size * SATELLITE_SHARE)
    while place < end:
        copy = _mutated(generator, unit, 0.015)[: end - place]
        codes[place : place + copy.size] = copy
        place += copy.size


def _record(task: tuple[int, int, int]) -> bytes:
    length, seed, number = task
    letters = contig(length, seed, number)
    lines = np.full((-(-length // LINE), LINE + 1), ord("\n"), np.uint8)
    flat = np.full(lines.shape[0] * LINE, ord("\n"), np.uint8)
    flat[:length] = letters
    lines[:, :LINE] = flat.reshape(-1, LINE)
    text = lines.tobytes()
    used = length + length // LINE + (length % LINE > 0)
    return f">chr{number + 1}\n".encode() + text[:used]


def write_genome(path: Path, bases: int, seed: int, processes: int) -> None:
    """Write the genome.

    Args:
        path: FASTA to write.
        bases: length of the whole genome.
        seed: seed of the genome; the same seed gives the same genome.
        processes: number of processes that make contigs.
    """
    tasks = [(int(bases * part / sum(PROPORTIONS)), seed, number) for number, part in enumerate(PROPORTIONS)]
    with path.open("wb") as stream, ProcessPoolExecutor(processes) as pool:
        for record in pool.map(_record, tasks):
            stream.write(record)
