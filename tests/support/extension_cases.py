"""Extension jobs for kernel tests: mutated reads, bands cut by islands and ambiguous bases, ties, poly-A."""

from dataclasses import dataclass

import numpy as np
from quire.algorithms.extension import BAND_STEP, ExtensionJobs, Extensions

from tests.oracles import extension as oracle
from tests.support.card_builders import card_reads, download_all, pack, reverse_complement, twin, upload_all

OPERATIONS = "MID"


@dataclass
class Case:
    """An axis (codes 0..3) with ambiguous spans, reads as sequenced, and jobs on the host."""

    axis: np.ndarray
    ambiguous: np.ndarray
    sequences: list[list[int]]
    jobs: ExtensionJobs


def mutate(rng: np.random.Generator, sequence: np.ndarray, edits: int) -> list[int]:
    """Return a copy with `edits` substitutions, insertions and deletions of up to five bases, and Ns."""
    codes = sequence.tolist()
    for _ in range(edits):
        place, kind = int(rng.integers(0, len(codes) + 1)), rng.integers(0, 8)
        if kind < 3 and place < len(codes):
            codes[place] = int(rng.integers(0, 4))
        elif kind < 5:
            codes[place:place] = rng.integers(0, 4, rng.integers(1, 6)).tolist()
        elif kind < 7:
            del codes[place : place + int(rng.integers(1, 6))]
        elif place < len(codes):
            codes[place] = 4
    return codes


def random_case(seed: int, count: int, longest: int, widths: list[int]) -> Case:
    """Draw jobs of reads of up to `longest` bases in bands of these widths, or slightly narrower."""
    rng = np.random.default_rng(seed)
    letters = int(rng.choice([1, 2, 4, 4]))
    axis = rng.integers(0, letters, 2 * longest + 300)
    if letters > 1 and rng.random() < 0.4:  # a tandem repeat: many equally good paths
        axis = np.resize(axis[: int(rng.integers(1, 12))], len(axis))
    begins = np.sort(rng.choice(len(axis) - 10, 3, replace=False))
    ambiguous = np.array(
        [[b, min(b + rng.integers(1, 10), e)] for b, e in zip(begins, [*begins[1:], len(axis)], strict=True)]
    )
    sequences, columns = [], []
    for _ in range(count):
        length, start = int(rng.integers(0, longest + 1)), int(rng.integers(0, len(axis) - longest))
        sequence = mutate(rng, axis[start : start + length], int(rng.choice([0, 1, 2, 5, 12])))
        if rng.random() < 0.3:  # an end from another place
            sequence = sequence[: len(sequence) // 2] + rng.integers(0, 4, longest // 3).tolist()
        strand, width = int(rng.integers(0, 2)), int(rng.choice(widths)) - int(rng.choice([0, 0, 1, 15]))
        sequences.append(reverse_complement(sequence) if strand else sequence)
        low = start - int(rng.integers(0, width))
        island = 0, len(axis)
        if rng.random() < 0.4:
            ends = np.sort(np.array([start, start + length]) + rng.integers(-20, 20, 2))
            island = tuple(np.clip(ends, 0, len(axis)))
        columns.append((strand, start + int(rng.integers(-1, 2)), low, low + width - 1, *island))
    strands, *rest = np.array(columns, np.int64).reshape(-1, 6).T
    jobs = ExtensionJobs(
        np.arange(count, dtype=np.int32), strands.astype(np.uint8), *(np.ascontiguousarray(c) for c in rest)
    )
    return Case(axis, ambiguous, sequences, jobs)


def extend_case(card, case: Case, **options) -> Extensions:
    """Return the answers of a card or of the CPU, on the host."""
    reads, jobs = card_reads(card, case.sequences), upload_all(card, case.jobs)
    text, ambiguous = pack(case.axis), case.ambiguous.copy()
    ambiguous.flags.writeable = False  # as in mapped files
    extend = twin(card, "quire.algorithms.extension", "extend")
    return download_all(card, extend(jobs, reads, card.upload(text), card.upload(ambiguous), **options))


def alignment(found: Extensions, job: int):
    """Return one result in the oracle's form; None for no alignment."""
    begin, count = found.cigar_begin[job], found.cigar_length[job]
    places = (found.score, found.read_begin, found.read_end, found.axis_begin, found.axis_end)
    cigar = [(OPERATIONS[int(c) & 15], int(c) >> 4) for c in found.cigar[begin : begin + count]]
    numbers = [int(array[job]) for array in places]
    assert cigar or not any(numbers)
    return (*numbers, cigar) if cigar else None


def wanted(case: Case, job: int):
    """Return the oracle's answer for a job."""
    jobs, visible = case.jobs, case.axis.copy()
    for begin, end in case.ambiguous:
        visible[begin:end] = 4
    sequence = case.sequences[jobs.read[job]]
    codes = reverse_complement(sequence) if jobs.strand[job] else sequence
    if not codes:
        return None
    low, high, first = int(jobs.axis_low[job]), int(jobs.axis_high[job]), int(jobs.diagonal_low[job])
    width = -(-(int(jobs.diagonal_high[job]) - first + 1) // BAND_STEP) * BAND_STEP
    text = visible[low:high].tolist()
    return oracle.extend(codes, text, low, int(jobs.diagonal[job]), first, first + width - 1)


def check(case: Case, found: Extensions) -> None:
    """Check that every result is the oracle's."""
    for job in range(len(case.jobs.read)):
        assert alignment(found, job) == wanted(case, job), f"job {job}"
