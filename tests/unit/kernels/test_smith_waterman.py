"""Smith-Waterman against GKL's alignments of real pairs, the oracle, and parasail's scores."""

import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.smith_waterman import (
    ALIGNMENT_TO_BEST_HAPLOTYPE,
    NEW_SW_PARAMETERS,
    ORIGINAL_DEFAULT,
    STANDARD_NGS,
    Parameters,
    Strategy,
    align,
    align_batch,
    cigar_string,
    oracle,
)
from quire.algorithms.smith_waterman.model import OPERATIONS

VECTORS = Path(__file__).parents[2] / "data" / "kernel_vectors"
PARAMETER_SETS = [NEW_SW_PARAMETERS, ALIGNMENT_TO_BEST_HAPLOTYPE, STANDARD_NGS, ORIGINAL_DEFAULT]


def flat(sequences: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(sequences), np.uint8), np.cumsum([0, *map(len, sequences)])


def align_pairs(pairs: list[tuple[bytes, bytes]], parameters: Parameters, strategy: Strategy) -> list[tuple[int, str]]:
    """Offset and CIGAR text of each (reference, alternate) pair, in one batch."""
    tasks = np.repeat(np.arange(len(pairs), dtype=np.int32)[:, None], 2, axis=1)
    references, alternates = flat([pair[0] for pair in pairs]), flat([pair[1] for pair in pairs])
    answers = align_batch(*references, *alternates, tasks, parameters, strategy)
    return [(int(answers.offsets[t]), cigar_string(answers.cigar(t))) for t in range(len(pairs))]


def rows(name: str) -> list[list[str]]:
    with gzip.open(VECTORS / name, "rt") as lines:
        return [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]


def test_real_pairs() -> None:
    """Every parameter set and strategy of GKL's expected alignments."""
    pairs = {
        number: (reference.encode(), alternate.encode())
        for number, reference, alternate in rows("sw_sample_pairs.tsv.gz")
    }
    expected = defaultdict(list)
    for number, name, strategy, offset, cigar in rows("sw_sample_expected.tsv.gz"):
        parameters = Parameters(*map(int, name.split("_")[-4:]))
        expected[parameters, Strategy[strategy]].append((number, int(offset), cigar))
    assert {parameters for parameters, _ in expected} == set(PARAMETER_SETS)
    for (parameters, strategy), cases in expected.items():
        answers = align_pairs([pairs[number] for number, _, _ in cases], parameters, strategy)
        assert answers == [(offset, cigar) for _, offset, cigar in cases]


@st.composite
def related_pairs(draw, alphabet: bytes = b"ACGTN") -> list[tuple[bytes, bytes]]:
    """References of 1 to 24 letters of a drawn part of the alphabet; alternates are edited copies or unrelated."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    letters = alphabet[: draw(st.integers(1, len(alphabet)))]
    pairs = []
    for _ in range(draw(st.integers(1, 20))):
        reference = random.choice(list(letters), random.integers(1, 25)).tolist()
        alternate = list(reference)
        for _ in range(random.integers(0, 5)):
            at = random.integers(len(alternate) + 1)
            alternate[at : at + random.integers(4)] = random.choice(list(letters), random.integers(4)).tolist()
        pairs.append((bytes(reference), bytes(alternate or reference)))
    return pairs


score_sets = st.one_of(
    st.sampled_from(PARAMETER_SETS),
    st.builds(Parameters, st.integers(1, 9), st.integers(-9, 0), st.integers(-12, -1), st.integers(-4, -1)),
)


@settings(max_examples=120, deadline=None)
@given(related_pairs(), score_sets, st.sampled_from(Strategy))
def test_matches_oracle(pairs, parameters: Parameters, strategy: Strategy) -> None:
    expected = []
    for reference, alternate in pairs:
        offset, path = oracle.align(reference, alternate, parameters, strategy)
        expected.append((offset, "".join(f"{length}{OPERATIONS[operation]}" for operation, length in path)))
    assert align_pairs(pairs, parameters, strategy) == expected


@settings(max_examples=30, deadline=None)
@given(related_pairs(), st.sampled_from(Strategy), st.randoms(use_true_random=False))
def test_answers_do_not_depend_on_the_batch(pairs, strategy: Strategy, random) -> None:
    answers = dict(zip(pairs, align_pairs(pairs, NEW_SW_PARAMETERS, strategy), strict=True))
    random.shuffle(pairs)
    assert align_pairs(pairs, NEW_SW_PARAMETERS, strategy) == [answers[pair] for pair in pairs]
    offset, cigar = align(*pairs[0], NEW_SW_PARAMETERS, strategy)
    assert (offset, cigar_string(cigar)) == answers[pairs[0]]


def path_score(reference: bytes, alternate: bytes, parameters: Parameters, offset: int, cigar: np.ndarray) -> int:
    """The score of an alignment; every insertion and deletion pays, soft clips do not."""
    score, row, column = 0, offset, 0
    for element in cigar:
        length, operation = int(element) >> 4, OPERATIONS[int(element) & 15]
        if operation == "M":
            equal = sum(reference[row + k] == alternate[column + k] for k in range(length))
            score += equal * parameters.match + (length - equal) * parameters.mismatch
        elif operation in "ID":
            score += parameters.gap_open + (length - 1) * parameters.gap_extend
        row += length if operation in "MD" else 0
        column += length if operation in "MIS" else 0
    return score


PARASAIL = {
    Strategy.INDEL: parasail.nw,  # global
    Strategy.LEADING_INDEL: parasail.sg_de,  # the end of the reference is free
    Strategy.SOFTCLIP: parasail.sg,  # all ends are free
}


@settings(max_examples=60, deadline=None)
@given(related_pairs(b"ACGT"), st.sampled_from(PARAMETER_SETS), st.sampled_from(list(PARASAIL)))
def test_scores_are_parasails(pairs, parameters: Parameters, strategy: Strategy) -> None:
    matrix = parasail.matrix_create("ACGT", parameters.match, parameters.mismatch)
    for reference, alternate in pairs:
        offset, cigar = align(reference, alternate, parameters, strategy)
        witness = PARASAIL[strategy](
            alternate.decode(), reference.decode(), -parameters.gap_open, -parameters.gap_extend, matrix
        )
        if witness.score > 0 or strategy != Strategy.SOFTCLIP:  # sg also offers the empty alignment, GATK does not
            assert path_score(reference, alternate, parameters, offset, cigar) == witness.score


def test_last_exact_occurrence_wins() -> None:
    assert align_pairs([(b"ACGTTACGT", b"ACGT")], NEW_SW_PARAMETERS, Strategy.SOFTCLIP) == [(5, "4M")]


def test_refuses_empty_sequences() -> None:
    with pytest.raises(ValueError, match="empty alternate"):
        align(b"ACGT", b"", NEW_SW_PARAMETERS, Strategy.SOFTCLIP)
    with pytest.raises(ValueError, match="no backend"):
        align(b"ACGT", b"A", NEW_SW_PARAMETERS, Strategy.SOFTCLIP, device="abacus")


def test_no_tasks() -> None:
    sequences = flat([b"ACGT"])
    answers = align_batch(*sequences, *sequences, np.empty((0, 2), np.int32), NEW_SW_PARAMETERS, Strategy.INDEL)
    assert len(answers.offsets) == 0
    assert len(answers.cigars) == 0
    assert answers.cigar_offsets.tolist() == [0]
