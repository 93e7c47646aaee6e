"""The runs of a reference that matches lie in, for the CPU and a card."""

import numpy as np

from quire.algorithms.mems import ReferenceText
from quire.reference import Reference


def reference_text(reference: Reference) -> ReferenceText:
    """The axis of a reference with its runs: islands, cut at their ambiguous bases."""
    # Borders in turn of what is known: each island's start and end, and each ambiguous run's start and end within one.
    starts = np.concatenate((reference.island_axis[:-1], reference.ambiguous[:, 1]))
    ends = np.concatenate((reference.island_axis[1:], reference.ambiguous[:, 0]))
    runs = np.stack((np.sort(starts), np.sort(ends)), axis=1)
    return ReferenceText(reference.text, runs[runs[:, 0] < runs[:, 1]])
