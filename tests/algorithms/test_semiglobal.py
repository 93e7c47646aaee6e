"""Tests of GATK's aligner against GKL's alignments of real pairs, the oracle, and parasail's scores."""

import re

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.scoring import HAPLOTYPE_TO_REFERENCE, Scoring
from quire.algorithms.semiglobal.cpu import align, align_one

from tests.oracles.semiglobal import Overhang
from tests.support.examples import examples
from tests.support.semiglobal_cases import SCORINGS, as_text, batch_of, cigar_text, expected_of, real_pairs


def align_pairs(pairs: list[tuple[bytes, bytes]], scoring: Scoring, overhang: Overhang) -> list[tuple[int, str]]:
    """Align (reference, alternate) pairs, in one batch if overhangs are clipped; return offset and CIGAR text."""
    if overhang == Overhang.SOFTCLIP:
        return as_text(align(batch_of(pairs), scoring))
    every = [[np.frombuffer(sequence, np.uint8).copy() for sequence in pair] for pair in pairs]
    return [(0, cigar_text(align_one(*codes, scoring))) for codes in every]


def test_real_pairs() -> None:
    """Alignments equal GKL's for every parameter set and overhang."""
    expected = real_pairs()
    assert {scoring for scoring, _ in expected} == set(SCORINGS)
    for (scoring, overhang), cases in expected.items():
        assert align_pairs([pair for pair, _ in cases], scoring, overhang) == [answer for _, answer in cases]


@st.composite
def related_pairs(draw, alphabet: bytes = b"ACGTN") -> list[tuple[bytes, bytes]]:
    """Draw references of 1 to 24 letters of a part of the alphabet, and alternates: edited copies or unrelated."""
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
    st.sampled_from(SCORINGS),
    st.builds(Scoring, st.integers(1, 9), st.integers(-9, 0), st.integers(-12, -1), st.integers(-4, -1)),
)


@settings(max_examples=examples(120), deadline=None)
@given(related_pairs(), score_sets, st.sampled_from(Overhang))
def test_matches_oracle(pairs, scoring: Scoring, overhang: Overhang) -> None:
    assert align_pairs(pairs, scoring, overhang) == expected_of(pairs, scoring, overhang)


@st.composite
def rearranged_pairs(draw) -> list[tuple[bytes, bytes]]:
    """Draw longer pairs whose alternate has a moved, lost, copied or foreign piece: paths may leave the band."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    letters = list(b"ACGT"[: draw(st.integers(1, 4))])
    pairs = []
    for _ in range(draw(st.integers(1, 20))):
        reference = random.choice(letters, random.integers(30, 110)).tolist()
        alternate = list(reference)
        if random.random() < 0.5:
            a, b = sorted(random.integers(0, len(alternate) + 1, 2))
            piece = alternate[a:b]
            if random.random() < 0.5:
                del alternate[a:b]
            at = random.integers(len(alternate) + 1)
            alternate[at:at] = [[], piece, random.choice(letters, b - a).tolist()][random.integers(3)]
        for _ in range(random.integers(0, 4)):
            at = random.integers(len(alternate) + 1)
            alternate[at : at + random.integers(4)] = random.choice(letters, random.integers(4)).tolist()
        pairs.append((bytes(reference), bytes(alternate or reference)))
    return pairs


@pytest.mark.full
@settings(max_examples=examples(40), deadline=None)
@given(rearranged_pairs(), score_sets, st.sampled_from(Overhang))
def test_rearranged_pairs_match_oracle(pairs, scoring: Scoring, overhang: Overhang) -> None:
    """Some are aligned in a band around the corners' diagonals, others again in the whole matrix."""
    assert align_pairs(pairs, scoring, overhang) == expected_of(pairs, scoring, overhang)


def path_score(reference: bytes, alternate: bytes, scoring: Scoring, offset: int, cigar: str) -> int:
    """Return the score of an alignment; insertions and deletions cost, soft clips do not."""
    score, row, column = 0, offset, 0
    for digits, operation in re.findall(r"(\d+)(\D)", cigar):
        length = int(digits)
        if operation == "M":
            equal = sum(reference[row + k] == alternate[column + k] for k in range(length))
            score += equal * scoring.match + (length - equal) * scoring.mismatch
        elif operation in "ID":
            score += scoring.gap_open + (length - 1) * scoring.gap_extend
        row += length if operation in "MD" else 0
        column += length if operation in "MIS" else 0
    return score


PARASAIL = {
    Overhang.LEADING_INDEL: parasail.sg_de,  # the end of the reference is free
    Overhang.SOFTCLIP: parasail.sg,  # all ends are free
}


@settings(max_examples=examples(60), deadline=None)
@given(related_pairs(b"ACGT"), st.sampled_from(SCORINGS), st.sampled_from(list(PARASAIL)))
def test_scores_are_parasails(pairs, scoring: Scoring, overhang: Overhang) -> None:
    matrix = parasail.matrix_create("ACGT", scoring.match, scoring.mismatch)
    for reference, alternate in pairs:
        [(offset, cigar)] = align_pairs([(reference, alternate)], scoring, overhang)
        witness = PARASAIL[overhang](
            alternate.decode(), reference.decode(), -scoring.gap_open, -scoring.gap_extend, matrix
        )
        if witness.score > 0 or overhang != Overhang.SOFTCLIP:  # sg also offers the empty alignment, GATK does not
            assert path_score(reference, alternate, scoring, offset, cigar) == witness.score


def test_refuses_empty_sequences() -> None:
    with pytest.raises(ValueError, match="empty sequence"):
        align_pairs([(b"ACGT", b"")], HAPLOTYPE_TO_REFERENCE, Overhang.SOFTCLIP)
