"""Sequences for GATK's aligner, and GKL's answers for real pairs."""

import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from quire.algorithms.scoring import DANGLING_END, HAPLOTYPE_TO_REFERENCE, Scoring
from quire.algorithms.semiglobal import SemiglobalAlignments, SemiglobalBatch
from quire.sam import CIGAR_LETTERS, CIGAR_MASK, CIGAR_SHIFT

from tests.oracles import semiglobal as oracle
from tests.oracles.semiglobal import Overhang

Pair = tuple[bytes, bytes]  # reference, alternate
Answer = tuple[int, str]  # offset, CIGAR
VECTORS = Path(__file__).resolve().parents[1] / "data" / "kernel_vectors"
# GATK's scores that the vectors were made with: NEW_SW_PARAMETERS, ALIGNMENT_TO_BEST_HAPLOTYPE, STANDARD_NGS and
# ORIGINAL_DEFAULT.
SCORINGS = [HAPLOTYPE_TO_REFERENCE, Scoring(10, -15, -30, -5), DANGLING_END, Scoring(3, -1, -4, -3)]


def flat(sequences: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(sequences), np.uint8).copy(), np.cumsum([0, *map(len, sequences)])


def batch_of(pairs: list[Pair]) -> SemiglobalBatch:
    """Return a batch with a task for each pair."""
    tasks = np.repeat(np.arange(len(pairs), dtype=np.int32)[:, None], 2, axis=1)
    return SemiglobalBatch(*flat([pair[0] for pair in pairs]), *flat([pair[1] for pair in pairs]), tasks)


def as_text(answers: SemiglobalAlignments) -> list[Answer]:
    """Return offset and CIGAR text of each task."""
    return [(int(offset), cigar_text(answers.cigar(task))) for task, offset in enumerate(answers.offsets)]


def cigar_text(elements: np.ndarray) -> str:
    """Return CIGAR elements as text, such as "10M1I5M"."""
    return "".join(f"{element >> CIGAR_SHIFT}{CIGAR_LETTERS[element & CIGAR_MASK]}" for element in elements.tolist())


def expected_of(pairs: list[Pair], scoring: Scoring, overhang: Overhang = Overhang.SOFTCLIP) -> list[Answer]:
    """Return the oracle's offset and CIGAR text of each pair."""
    return [_answer(*pair, scoring, overhang) for pair in pairs]


@cache  # every schedule of the emulated card requests the same
def _answer(reference: bytes, alternate: bytes, scoring: Scoring, overhang: Overhang) -> Answer:
    offset, path = oracle.align(reference, alternate, scoring, overhang)
    return offset, "".join(f"{length}{CIGAR_LETTERS[operation]}" for operation, length in path)


def real_pairs() -> dict[tuple[Scoring, Overhang], list[tuple[Pair, Answer]]]:
    """Return GKL's expected alignments of real pairs, by scores and those strategies that Quire has."""
    pairs = {
        number: (reference.encode(), alternate.encode())
        for number, reference, alternate in _rows("sw_sample_pairs.tsv.gz")
    }
    expected = defaultdict(list)
    for number, name, overhang, offset, cigar in _rows("sw_sample_expected.tsv.gz"):
        scoring = Scoring(*map(int, name.split("_")[-4:]))
        if overhang in Overhang.__members__:
            expected[scoring, Overhang[overhang]].append((pairs[number], (int(offset), cigar)))
    return expected


def _rows(name: str) -> list[list[str]]:
    with gzip.open(VECTORS / name, "rt") as lines:
        return [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]


def edited_pairs(
    random: np.random.Generator, count: int, lengths: tuple[int, int], letters: bytes = b"ACGTN", gap: int = 4
) -> list[Pair]:
    """Return references of lengths in [low, high), and alternates: edited copies, some of them cut off."""
    pairs = []
    for _ in range(count):
        reference = random.choice(list(letters), random.integers(*lengths)).tolist()
        alternate = list(reference)
        for _ in range(random.integers(0, 5)):
            at = random.integers(len(alternate) + 1)
            inserted = random.choice(list(letters), random.integers(gap)).tolist()
            alternate[at : at + random.integers(gap)] = inserted
        if random.random() < 0.3:
            alternate = alternate[random.integers(len(alternate) + 1) :]
        pairs.append((bytes(reference), bytes(alternate or reference)))
    return pairs
