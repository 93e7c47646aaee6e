"""Each read by the strategy that is likely to take less time for it: seeds, or the trie.

Both give the same ends, so only time depends on the choice. What seeds cost is known after one look-up of the read's
k + 1 pieces: the rows that have to be verified. What the trie costs hardly depends on the read. So a read whose pieces
occur too often, because they are short or because the read is of a repeat, is walked through the trie, and all others
are left to the seeds.
"""

from quire.algorithms.complete.trie import STEP_COST, cut, estimated_cost

# Of a row that seeds verify, where a step of the trie costs STEP_COST; by measurement.
ROW_COST_CPU, ROW_COST_CARD = 16.0, 2.0


def most_rows(length: int, differences: int, bases: int, row_cost: float) -> int:
    """Rows of a read's pieces up to which seeds are likely to take less time than the trie.

    Args:
        length: of the read.
        differences: k.
        bases: of the axis.
        row_cost: ROW_COST_CPU or ROW_COST_CARD.
    """
    if differences == 0:
        return 1 << 62  # the trie would walk the same path
    costs = [
        sum(estimated_cost(piece, bases) for piece in cut(length, differences, count))
        for count in range(1, differences + 1)
    ]
    return int(min(costs) / (row_cost / STEP_COST))
