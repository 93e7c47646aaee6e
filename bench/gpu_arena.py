"""The arena on a card: the PairHMM of Quire against gpuPairHMM on the same regions, card and host.

Build gpuPairHMM from its source outside this tree, as its own instructions say, for the card's architecture, and name
the folder of its program:

    python -m bench.gpu_arena --regions 1m.in --peers FOLDER

The regions, repeated --times, are scored in whole calls: Quire's from arrays in the host's memory to logarithms there,
gpuPairHMM's as it times its batches after parsing (`Batch processing time`), which includes transfers, and loading its
kernels. The fastest of --repeats processes, or calls, counts. gpuPairHMM computes in float32 alone, so a score may
underflow to minus infinity; Quire computes such scores again in float64. Without a card or the peer nothing is
measured. Needs only NumPy and CuPy.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
from quire.algorithms.pairhmm.gpu import log10_likelihoods

from bench.cards import fastest, first_card
from bench.common import arguments, print_setting, print_table, write_measurement
from bench.pairhmm_regions import cells_of, join_batches, read_regions, repeated

OURS, PEER = "quire", "gpuPairHMM"
VERSION = "3965d2d"  # of github.com/asbschmidt/gpuPairHMM; the program does not print one
TOLERANCE = 0.001  # of a log10 likelihood
TIME = re.compile(r"^Batch processing time: ([0-9.e+-]+)s \(([0-9.e+]+) GCUPS\)$", re.MULTILINE)


def seconds_of(told: str) -> float:
    """Return the seconds that gpuPairHMM says its batches took.

    Raises:
        ValueError: its text has no such line.
    """
    found = TIME.search(told)
    if found is None:
        raise ValueError(f"gpuPairHMM printed no time of its batches:\n{told}")
    return float(found[1])


def scores_of(text: str) -> np.ndarray:
    """Return the scores (float64[tasks]) of gpuPairHMM's output: a line of two counts, a line for each read."""
    lines, scores = iter(text.splitlines()), []
    for header in lines:
        for _ in range(int(header.split()[0])):
            scores += map(float, next(lines).split())
    return np.array(scores)


def differences(ours: np.ndarray, theirs: np.ndarray) -> int:
    """Return how many scores differ by more than TOLERANCE, where both are finite."""
    both = np.isfinite(ours) & np.isfinite(theirs)
    return int((np.abs(ours[both] - theirs[both]) > TOLERANCE).sum())


def run_peer(program: str, regions: Path, output: Path) -> float:
    """Run gpuPairHMM on a file of regions; return the seconds of its batches."""
    command = [program, "--inputfile", str(regions), "--outputfile", str(output)]
    return seconds_of(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Score with both and compare."""
    parser = arguments(__doc__, needs_data=False, threads=min(8, os.cpu_count() or 1))
    parser.add_argument("--peers", type=Path, help="folder of the peer's program; otherwise the one on the PATH")
    parser.add_argument("--regions", type=Path, required=True, help="a file of GATK's PairHMM regions (1m.in)")
    parser.add_argument("--times", type=int, default=128, help="number of repetitions of the regions")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if given.peers:
        os.environ["PATH"] = f"{given.peers.resolve()}:{os.environ['PATH']}"
    program = shutil.which(PEER)
    print_setting({PEER: VERSION})
    with first_card() as card:
        if card is None:
            return
        if program is None:
            print(f"not measured: {PEER} was not found (github.com/asbschmidt/gpuPairHMM, {VERSION})")
            return
        given.work.mkdir(parents=True, exist_ok=True)
        many, output = given.work / "regions.in", given.work / "gpuPairHMM.out"
        many.write_text(given.regions.read_text() * given.times)
        once = join_batches(read_regions(given.regions))
        batch = repeated(once, given.times)
        cells = cells_of(batch)
        seconds = {
            OURS: fastest(card, lambda: log10_likelihoods(card, batch, given.threads), given.repeats),
            PEER: min(run_peer(program, many, output) for _ in range(given.repeats)),
        }
        run_peer(program, given.regions, output)
        scores = {OURS: log10_likelihoods(card, once), PEER: scores_of(output.read_text())}
        differing = differences(*scores.values())
        table = {
            "T cells/s": [f"{cells / taken / 1e12:.3f}" for taken in seconds.values()],
            "s": [f"{taken:.4f}" for taken in seconds.values()],
            "G cells": [round(cells / 1e9, 1)] * 2,
            "scores that are not finite": [int((~np.isfinite(one)).sum()) for one in scores.values()],
            f"finite scores that differ by more than {TOLERANCE}": [differing] * 2,
        }
        print_table(("what", *seconds), [(name, *values) for name, values in table.items()])
        write_measurement(f"pairhmm, {given.times} times")


if __name__ == "__main__":
    main()
