"""Maximal exact matches of queries of any size in the pages of a reference, written as MUMmer's text.

`search` (the stage) uses `queries` (reading), `tasks` (units of work, and writing), `engines` and `text`.
"""

import numpy as np

from quire.algorithms.mems import PackedText
from quire.reference import Reference


def reference_text(reference: Reference) -> PackedText:
    """Return the axis of a reference with its runs of known bases: islands, cut at their ambiguous bases."""
    # A run starts at the start of an island or the end of an ambiguous run, and ends at the end of an island or the
    # start of an ambiguous run.
    starts = np.concatenate((reference.island_axis[:-1], reference.ambiguous[:, 1]))
    ends = np.concatenate((reference.island_axis[1:], reference.ambiguous[:, 0]))
    runs = np.stack((np.sort(starts), np.sort(ends)), axis=1)
    return PackedText(reference.text, runs[runs[:, 0] < runs[:, 1]])
