"""The alignments that are reported, taken from all of a batch on the CPU, against the same in words."""

import numpy as np
import pytest
from quire.align.reported.cpu import take_reported

from tests.align.test_reported_gpu import DTYPES, in_words, random_batch, wanted


@pytest.mark.parametrize("reads", [0, 1, 2, 700])
def test_taken_rows_are_those_chosen(reads: int) -> None:
    alignments, selection = random_batch(reads, reads)
    found = take_reported(alignments, selection)
    assert in_words(found) == wanted(alignments, selection)
    assert found.proper is selection.proper
    assert [column.dtype for column in found._replace(proper=found.proper.view(np.uint8))] == DTYPES
