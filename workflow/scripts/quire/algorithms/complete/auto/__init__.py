"""Each read by the strategy that is likely to take less time: seeds, or the trie.

Both give the same ends, so only time depends on the choice, and it is one for all reads of a length. What seeds cost is
the rows of their k + 1 exact pieces, by far most of which stand there by chance where pieces are short; what the trie
costs are the nodes of the pieces that it would cut the read into. Repeats make both dearer, in about the same measure.
"""

from functools import lru_cache

from quire.algorithms.complete.trie import STEP_COST, cut, estimated_cost, words

ROW_COST = 3.5  # of a row that seeds verify, where a step of the trie costs STEP_COST; by measurement


@lru_cache(maxsize=4096)
def is_for_trie(length: int, differences: int, bases: int) -> bool:
    """Whether reads of a length are walked through the trie.

    Args:
        length: of the read.
        differences: k.
        bases: of the axis.
    """
    if differences == 0:
        return False  # the trie would walk the same path
    rows = sum(bases / words(piece.end - piece.begin) for piece in cut(length, differences, differences + 1))
    steps = min(
        sum(estimated_cost(piece, bases) for piece in cut(length, differences, count))
        for count in range(1, differences + 1)
    )
    return rows * ROW_COST > steps * STEP_COST
