"""Reported alignments on the CPU, taken from all alignments of a batch, against their definition."""

import numpy as np
import pytest
from quire.align.reported.cpu import take_reported

from tests.align.test_reported_gpu import (
    DTYPES,
    in_words,
    random_batch,
    rivals_in_words,
    wanted,
    wanted_rivals,
    with_alternate,
)


@pytest.mark.parametrize("reads", [0, 1, 2, 700])
def test_taken_rows_are_those_chosen(reads: int) -> None:
    alignments, selection = random_batch(reads, reads)
    found = take_reported(alignments, selection)
    assert in_words(found) == wanted(alignments, selection)
    assert found.proper is selection.proper
    assert [column.dtype for column in found._replace(proper=found.proper.view(np.uint8))] == DTYPES


def test_rivals_of_reads_on_alternate_contigs() -> None:
    alignments, selection = random_batch(8, 500)
    alignments, alternate = with_alternate(alignments, 8)
    found = take_reported(alignments, selection, alternate)
    expected = wanted_rivals(alignments, selection, alternate)
    assert rivals_in_words(found, alignments) == expected
    assert sum(len(others) > 0 for _, others in expected) > 50
