"""Wider bands on a card: they agree with the oracle, in the order of the alignments."""

import numpy as np
import pytest
from quire.align.wider.gpu import wider_jobs
from quire.reads.gpu import orient
from quire.reference.gpu import CardReference

from tests.support.card_builders import download_all, pack, upload_all
from tests.support.gapped_reads import gapped_reads


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_oracle(card, seed: int) -> None:
    drawn = gapped_reads(seed, 200)
    rounds = [tuple(upload_all(card, item) for item in part) for part in drawn.rounds]
    text, nothing = card.upload(pack(drawn.axis.tolist())), card.empty(0, np.int64)
    reference = CardReference(text, nothing, 0, nothing, nothing, nothing, 0, None)
    jobs, chosen = wider_jobs(card, rounds, card.upload(drawn.best), orient(card, drawn.batch), reference)
    jobs, rows = download_all(card, jobs), [card.download(part) for part in chosen]
    begin = 0
    for (narrow, _), part, expected in zip(drawn.rounds, rows, drawn.expected, strict=True):
        end = begin + len(part)
        found = zip(part, jobs.diagonal_low[begin:end], jobs.diagonal_high[begin:end], strict=True)
        assert [tuple(map(int, row)) for row in found] == expected
        for column in ("read", "strand", "diagonal", "axis_low", "axis_high"):
            ours, theirs = getattr(jobs, column), getattr(narrow, column)
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours[begin:end], theirs[part])
        begin = end
    assert begin == len(jobs)
    assert begin > 20
