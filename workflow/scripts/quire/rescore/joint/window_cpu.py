"""Which record of each gVCF counts at a position."""

import numpy as np

from quire.simd.compiled import compiled


@compiled
def pick_records(first, start, end, is_long, positions, picked):
    """Find the record of each file that covers each position: the last to begin, or else the farthest deletion.

    Args:
        first: int64[files + 1], first record of each file.
        start: int32[records], ascending within a file.
        end: int32[records].
        is_long: bool[records], True if the reference allele has several bases.
        positions: int64[n], ascending.
        picked: int32[n, files], receives the record, -1 for none.
    """
    # Quire's gVCFs have no blocks inside long deletions: after a variant there, the deletion counts again. A block that
    # other records interrupt, as no caller should write it, counts after them, so that no answer depends on cuts.
    for f in range(len(first) - 1):
        at, current, deletion = first[f], np.int64(-1), np.int64(-1)
        farthest = np.int64(-1)
        for k in range(len(positions)):
            position = positions[k]
            while at < first[f + 1] and start[at] <= position:
                current = at
                farthest = max(farthest, np.int64(end[at]))
                if is_long[at] and (deletion < 0 or end[deletion] <= end[at]):
                    deletion = at
                at += 1
            if current >= 0 and end[current] > position:
                picked[k, f] = current
            elif deletion >= 0 and end[deletion] > position:
                picked[k, f] = deletion
            else:
                picked[k, f] = -1
                for earlier in range(current - 1, first[f] - 1 if farthest > position else current, -1):
                    if end[earlier] > position:
                        picked[k, f] = earlier
                        break
