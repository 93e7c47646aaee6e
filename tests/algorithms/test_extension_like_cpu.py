"""Extension on a card against extension/cpu.py: some thousand jobs of one simulation, all fields."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU's functions are Numba's")

from quire.algorithms.extension import ExtensionJobs, Extensions, cpu
from quire.algorithms.extension.gpu import extend
from quire.reads.cpu import orient

from tests.support.card_builders import card_reads, download_all, make_batch, pack, reverse_complement, upload_all
from tests.support.extension_cases import Case, mutate

FIELDS = ("score", "read_begin", "read_end", "axis_begin", "axis_end", "cigar_length")


def simulate(seed: int, reads: int, length: int, candidates: int) -> Case:
    """Draw reads with a few differences, each with places near its own and elsewhere, as a mapper has them."""
    rng = np.random.default_rng(seed)
    axis = rng.integers(0, 4, 20_000)
    axis[5000:5600] = np.resize(axis[5000:5007], 600)
    axis[8000:8100] = 0
    ambiguous = np.sort(rng.choice(len(axis) // 20, 40, replace=False)) * 20
    ambiguous = np.stack([ambiguous, ambiguous + rng.integers(1, 20, 40)], axis=1)
    sequences, columns = [], []
    for read in range(reads):
        start, strand = int(rng.integers(0, len(axis) - length)), int(rng.integers(0, 2))
        codes = mutate(rng, axis[start : start + length], int(rng.choice([0, 1, 2, 3, 6])))[:length]
        sequences.append(reverse_complement(codes) if strand else codes)
        for _ in range(int(rng.integers(1, candidates + 1))):
            diagonal = start + int(rng.choice([0, 0, 0, 1, -3, 11, 40, 3000]))
            low = diagonal - 15 - int(rng.choice([0, 0, 0, 7, 40]))
            high = diagonal + 15 + int(rng.choice([0, 0, 0, 9, 60]))
            island = int(rng.choice([0, 0, start + 20])), int(rng.choice([len(axis), len(axis), start + length - 5]))
            columns.append((read, strand, diagonal, low, high, *island))
    read, strand, *rest = np.array(columns, np.int64).T
    jobs = ExtensionJobs(read.astype(np.int32), strand.astype(np.uint8), *(np.ascontiguousarray(c) for c in rest))
    return Case(axis, ambiguous, sequences, jobs)


def operations(found: Extensions) -> list[list[int]]:
    ranges = zip(found.cigar_begin.tolist(), found.cigar_length.tolist(), strict=True)
    return [found.cigar[begin : begin + length].tolist() for begin, length in ranges]


@pytest.mark.parametrize(("reads", "length", "candidates"), [(900, 100, 3), (150, 151, 2), (12, 900, 2)])
def test_all_fields_are_those_of_the_cpu(card, reads: int, length: int, candidates: int) -> None:
    case = simulate(reads, reads, length, candidates)
    text = pack(case.axis)
    case.ambiguous.flags.writeable = False  # as in mapped files: one specialisation
    batch = make_batch(case.sequences)
    like = cpu.extend(case.jobs, orient(batch), text, case.ambiguous)
    found = extend(card, upload_all(card, case.jobs), card_reads(card, case.sequences), card.upload(text),
                   card.upload(case.ambiguous))  # fmt: skip
    found = download_all(card, found)
    for name in FIELDS:
        assert getattr(found, name).dtype == getattr(like, name).dtype
        np.testing.assert_array_equal(getattr(found, name), getattr(like, name), name)
    assert operations(found) == operations(like)
    gapped = sum(length > 1 for length in found.cigar_length)
    assert gapped > len(case.jobs.read) // 10
