"""Parameters of the later passes: reads without a mate may have more hits, since no mate distinguishes copies."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from quire.algorithms.extension import ExtensionJobs
from quire.align.engines.steps import Steps, find_alignments

# Located places per seed in the first and three later passes; in these, shorter reads than SHORTEST always take part.
MATES, ALONE, SHORTEST = [32, 128, 64, 512], [32, 128, 256, 512], [0, 0, 60]


@pytest.mark.parametrize(("paired", "places"), [(True, MATES), (False, ALONE)])
def test_places_and_short_reads(paired: bool, places: list[int]) -> None:
    jobs = ExtensionJobs(*(np.zeros(0, np.int64) for _ in ExtensionJobs._fields))
    steps: dict[str, Any] = {field.name: Mock() for field in fields(Steps)}
    steps |= {
        "flatnonzero": np.flatnonzero,
        "find_hits": Mock(return_value=(None, None)),
        "find_candidates": Mock(return_value=jobs),
        "poorly_aligned": Mock(return_value=np.ones(3, bool)),
    }
    find_alignments(Steps(**steps), Mock(), paired, Mock(), SimpleNamespace(text=None, ambiguous=None))  # type: ignore[arg-type]
    assert [call.args[3].maximum_hits for call in steps["find_hits"].call_args_list] == places
    assert [call.args[4].maximum_hits for call in steps["find_candidates"].call_args_list] == places
    assert [call.args[2].shortest_certain for call in steps["poorly_aligned"].call_args_list] == SHORTEST
