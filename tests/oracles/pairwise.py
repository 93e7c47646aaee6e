"""The three matrices cell by cell in plain Python, and the path by the rules of the package's docstring."""

from quire.algorithms.pairwise import Mode, Pair
from quire.algorithms.scoring import Scoring

from tests.oracles.extension import Operations, run_lengths

NEVER = -(10**12)
Answer = tuple[int, int, int, int, int, Operations]
Matrix = list[list[int]]


def align(pair: Pair, at_corner: bool = False) -> Answer:
    """Return (score, query_begin, query_end, target_begin, target_end, [(operation, length), ...]).

    Args:
        pair: the sequences.
        at_corner: whether the alignment must end at (m, n) in every mode.
    """
    best, insertion, deletion = matrices(pair)
    i, j = _end(best, Mode.GLOBAL if at_corner else pair.mode)
    score = best[i][j]
    if pair.mode == Mode.LOCAL and score == 0:
        return 0, 0, 0, 0, 0, []
    query_end, target_end = i, j
    operations: list[str] = []
    state = "M"
    while not _stops(best, pair.mode, i, j, state):
        if state == "M":
            state = _best_state(pair, best, insertion, deletion, i, j)
        operations.append(state)
        if state == "M":
            i, j = i - 1, j - 1
        elif state == "I":
            opened = best[i - 1][j] + pair.scoring.gap_open == insertion[i][j]
            i, state = i - 1, "M" if opened else "I"
        else:
            opened = best[i][j - 1] + pair.scoring.gap_open == deletion[i][j]
            j, state = j - 1, "M" if opened else "D"
    return score, i, query_end, j, target_end, run_lengths(operations[::-1])


def matrices(pair: Pair) -> tuple[Matrix, Matrix, Matrix]:
    """Return H, I and D, each of m + 1 rows and n + 1 columns."""
    query, target, scoring = pair.query.tolist(), pair.target.tolist(), pair.scoring
    rows, columns = len(query) + 1, len(target) + 1
    best = [[0] * columns for _ in range(rows)]
    insertion = [[NEVER] * columns for _ in range(rows)]
    deletion = [[NEVER] * columns for _ in range(rows)]
    if pair.mode != Mode.LOCAL:
        for i in range(1, rows):
            best[i][0] = insertion[i][0] = gap(i, scoring)
    if pair.mode == Mode.GLOBAL:
        for j in range(1, columns):
            best[0][j] = deletion[0][j] = gap(j, scoring)
    for i in range(1, rows):
        for j in range(1, columns):
            insertion[i][j] = max(best[i - 1][j] + scoring.gap_open, insertion[i - 1][j] + scoring.gap_extend)
            deletion[i][j] = max(best[i][j - 1] + scoring.gap_open, deletion[i][j - 1] + scoring.gap_extend)
            paired = best[i - 1][j - 1] + substitution(query[i - 1], target[j - 1], scoring)
            best[i][j] = max(paired, insertion[i][j], deletion[i][j])
            if pair.mode == Mode.LOCAL:
                best[i][j] = max(best[i][j], 0)
    return best, insertion, deletion


def substitution(query: int, target: int, scoring: Scoring) -> int:
    """Return the score of two paired bases."""
    return scoring.match if query == target and query < 4 else scoring.mismatch


def gap(length: int, scoring: Scoring) -> int:
    """Return the score of a gap."""
    return scoring.gap_open + (length - 1) * scoring.gap_extend


def _end(best: Matrix, mode: Mode) -> tuple[int, int]:
    """Return the cell where the alignment ends."""
    last_row, last_column = len(best) - 1, len(best[0]) - 1
    if mode == Mode.GLOBAL:
        return last_row, last_column
    rows = range(last_row + 1) if mode == Mode.LOCAL else [last_row]
    _, j, i = min((-best[i][j], j, i) for i in rows for j in range(last_column + 1))
    return i, j


def _stops(best: Matrix, mode: Mode, i: int, j: int, state: str) -> bool:
    """Return True if the path begins at this cell."""
    if mode == Mode.LOCAL:
        return state == "M" and best[i][j] == 0
    return i == 0 and (j == 0 or mode == Mode.GLOCAL)


def _best_state(pair: Pair, best: Matrix, insertion: Matrix, deletion: Matrix, i: int, j: int) -> str:
    """Return the operation that leads to H(i, j)."""
    if i > 0 and j > 0:
        paired = best[i - 1][j - 1] + substitution(int(pair.query[i - 1]), int(pair.target[j - 1]), pair.scoring)
        if best[i][j] == paired:
            return "M"
    return "I" if best[i][j] == insertion[i][j] else "D"
