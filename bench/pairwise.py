"""Speed of one large alignment on one core, score and path, against the fastest score of parasail's functions.

Up to 20 kb parasail's functions with traceback are timed too. The pairs are random sequences, and a part of chr20 with
a copy that has 1 % edits.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import parasail
from quire.algorithms.pairwise import Mode, Pair, pair_of
from quire.algorithms.pairwise.cpu import align
from quire.algorithms.scoring import BWA_MEM
from quire.reference.fasta import read_fasta
from quire.sequence.codes import AMBIGUOUS

from bench.common import add_figures, arguments, print_setting, print_table, write_measurement

SIZES = (10_000, 20_000, 50_000, 100_000)
LARGE = 10_000  # bases from which on the bar applies
LONGEST_TRACE = 20_000  # bases: parasail keeps more than a byte per cell
WIDTHS = ("8", "16", "32", "sat")
NAMES = {Mode.LOCAL: "sw", Mode.GLOBAL: "nw", Mode.GLOCAL: "sg_dx"}
_LEAST_SECONDS = 0.05  # shorter calls are repeated
_ENOUGH_SECONDS = 1.0  # longer calls of parasail's functions are made once


def main() -> None:
    """Time both programs in turn, in one thread."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bases of both sequences")
    parser.add_argument("--modes", nargs="+", choices=[mode.name.lower() for mode in Mode], default=["local"])
    parser.add_argument("--passes", type=int, default=3, help="the fastest counts")
    given = parser.parse_args()
    print_setting(())
    print(f"# parasail {parasail.__version__}, AVX2 {parasail.can_use_avx2()}; scores of bwa mem", flush=True)
    rows = []
    for size in given.sizes:
        for kind, (query, target) in _pairs(given.data, size).items():
            for mode in given.modes:
                rows.append(_measure(kind, pair_of(query, target, BWA_MEM, Mode[mode.upper()]), given.passes))
                print("#", *rows[-1], flush=True)
    print_table(
        ("pair", "bases", "mode", "score", "Quire, GCUPS", "parasail, score", "by", "parasail, traceback", "by",
         "Quire / parasail, score", "Quire / parasail, traceback"), rows,
    )  # fmt: skip
    large = [float(str(row[-2])) for row in rows if int(str(row[1]).replace(",", "")) >= LARGE]
    if large:
        add_figures({"Quire over parasail's score, lowest from 10 kb on": min(large)})
    write_measurement(os.environ.get("NUMBA_CPU_NAME", ""))


def _pairs(data: Path, size: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return pairs of about this size, by kind."""
    random = np.random.default_rng(size)
    one, other = (random.integers(0, 4, size).astype(np.uint8) for _ in range(2))
    fasta = data / "na12878_chr20_100kb" / "hg19.chr20.masked.fa.gz"
    chromosome = np.concatenate([piece.codes for piece in read_fasta(fasta)])
    known = chromosome[chromosome < AMBIGUOUS][:size]
    return {"random": (one, other), "chr20, 1 % edits": (_edited(known, random, 0.01), known)}


def _edited(codes: np.ndarray, random: np.random.Generator, share: float) -> np.ndarray:
    """Return a copy in which a share of the bases is substituted, deleted, or followed by an inserted base."""
    kinds = np.where(random.random(len(codes)) < share, random.integers(1, 4, len(codes)), 0)
    changed = np.where(kinds == 1, (codes + 1) % 4, codes).astype(np.uint8)
    return np.repeat(changed, np.array([1, 1, 0, 2])[kinds])


def _measure(kind: str, pair: Pair, passes: int) -> tuple[object, ...]:
    """Return a row of the table.

    Raises:
        SystemExit: parasail finds another score.
    """
    cells = len(pair.query) * len(pair.target)
    alignment = align(pair)
    rate = _rate(lambda: align(pair), cells, passes)
    small = len(pair.target) <= LONGEST_TRACE
    score, by_score = _best_of_parasail(pair, "", alignment.score, passes)
    trace, by_trace = _best_of_parasail(pair, "_trace", alignment.score, 1) if small else (0.0, "-")
    return (
        *(kind, f"{len(pair.target):,}", pair.mode.name.lower(), alignment.score, f"{rate:.2f}"),
        *(f"{score:.2f}", by_score, f"{trace:.2f}" if small else "-", by_trace),
        *(f"{rate / score:.2f}", f"{rate / trace:.2f}" if small else "-"),
    )


def _best_of_parasail(pair: Pair, what: str, expected: int, passes: int) -> tuple[float, str]:
    """Return GCUPS and name of parasail's fastest function with the right score; functions of few bits may be wrong."""
    query, target = ("".join("ACGTNX"[code] for code in codes) for codes in (pair.query, pair.target))
    matrix = parasail.matrix_create("ACGTNX", pair.scoring.match, pair.scoring.mismatch)
    for letter in (4, 5):  # an ambiguous base does not match itself
        matrix[letter, letter] = pair.scoring.mismatch
    cells = len(query) * len(target)
    gaps = -pair.scoring.gap_open, -pair.scoring.gap_extend
    found = []
    for way in ("striped", "scan", "diag"):
        for width in WIDTHS:
            name = f"{NAMES[pair.mode]}{what}_{way}_{width}"
            function = getattr(parasail, name)
            start = time.process_time()
            answer = function(query, target, *gaps, matrix)
            seconds = time.process_time() - start
            if not answer.saturated and answer.score == expected:
                rate = cells / seconds / 1e9
                if seconds < _ENOUGH_SECONDS:
                    rate = max(rate, _rate(partial(function, query, target, *gaps, matrix), cells, passes))
                found.append((rate, name))
    if not found:
        raise SystemExit(f"{pair.mode.name}: no function of parasail gives the score {expected}")
    return max(found)


def _rate(function: Callable[[], object], cells: int, passes: int) -> float:
    """Return billions of cells per second of processor time, in the fastest pass."""
    fastest = float("inf")
    for _ in range(passes):
        calls, start = 0, time.process_time()
        while calls == 0 or time.process_time() - start < _LEAST_SECONDS:
            function()
            calls += 1
        fastest = min(fastest, (time.process_time() - start) / calls)
    return cells / fastest / 1e9


if __name__ == "__main__":
    main()
