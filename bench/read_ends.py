"""Read-through into adapters: Quire's clipping by the overlap of the mates, fastp's, and the truth.

Inserts of 35 to 250 bases are drawn from a genome and read from both ends with 2 x 100 bases, with TruSeq adapters
after the insert and substitutions. `fastp` (on the PATH) trims by its overlap rule alone, without filters and poly-G.
"""

import json
import random
import subprocess
import time
from pathlib import Path

import numpy as np
from quire.align.read_ends import ClippedCounts, Clipping
from quire.align.read_ends.cpu import clip_ends
from quire.io.fastq import read_batches

from bench.common import arguments, print_setting, print_table, write_measurement

PAIRS, LENGTH, SHORTEST, LONGEST = 50_000, 100, 35, 250
ERRORS = (0.005, 0.05)  # substitutions per base
ADAPTERS = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTA"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def write_pairs(folder: Path, genome: str, errors: float) -> tuple[list[Path], np.ndarray]:
    """Write FASTQ of both mates; return the length of each insert (int64[PAIRS])."""
    generator = random.Random(17)
    paths, inserts = [folder / f"short_{mate}.fq" for mate in "12"], np.empty(PAIRS, np.int64)
    with paths[0].open("w") as first, paths[1].open("w") as second:
        for number in range(PAIRS):
            inserts[number] = generator.randrange(SHORTEST, LONGEST)
            start = generator.randrange(len(genome) - LONGEST)
            insert = genome[start : start + inserts[number]]
            for mate, (stream, bases) in enumerate(((first, insert), (second, insert.translate(COMPLEMENT)[::-1]))):
                tail = ADAPTERS[mate] + "".join(generator.choices("ACGT", k=LENGTH))
                read = list((bases + tail)[:LENGTH])
                for place in range(LENGTH):
                    if generator.random() < errors:
                        read[place] = generator.choice("ACGT")
                stream.write(f"@r{number}\n{''.join(read)}\n+\n{'I' * LENGTH}\n")
    return paths, inserts


def by_quire(paths: list[Path]) -> tuple[np.ndarray, float]:
    """Return the kept bases of the first mates, and the microseconds of processor time per pair."""
    kept = []
    for _ in range(2):  # the first run compiles
        batches = list(read_batches(*paths, 8192))
        start = time.process_time()
        kept = [
            np.diff(batch.mate1.offsets) for batch in clip_ends(iter(batches), ClippedCounts(Clipping(adapters=True)))
        ]
        seconds = time.process_time() - start
    return np.concatenate(kept), 1e6 * seconds / PAIRS


def by_fastp(paths: list[Path], folder: Path) -> np.ndarray:
    """Return fastp's kept bases and microseconds per pair."""
    out = [folder / f"trimmed_{mate}.fq" for mate in "12"]
    files = ["-i", paths[0], "-I", paths[1], "-o", out[0], "-O", out[1], "-j", folder / "fastp.json", "-h", "/dev/null"]
    command = ["fastp", "-w", "1", "-Q", "-L", "-G", *map(str, files)]
    subprocess.run(command, check=True, capture_output=True)
    print("fastp", json.loads((folder / "fastp.json").read_text())["summary"].get("fastp_version", "?"))
    lines = out[0].read_text().splitlines()
    kept = np.zeros(PAIRS, np.int64)
    for title, bases in zip(lines[::4], lines[1::4], strict=True):
        kept[int(title[2:])] = len(bases)
    return kept


def main() -> None:
    """Draw, clip and compare."""
    options = arguments(__doc__, needs_data=False).parse_args()
    folder = options.work / "read_ends"
    folder.mkdir(parents=True, exist_ok=True)
    print_setting()
    generator = random.Random(3)
    genome, rows = "".join(generator.choices("ACGT", k=1_000_000)), []
    for errors in ERRORS:
        paths, inserts = write_pairs(folder, genome, errors)
        truth = np.minimum(inserts, LENGTH)
        ours, microseconds = by_quire(paths)
        theirs = by_fastp(paths, folder)
        for name, chosen in (("shorter", truth < LENGTH), ("longer", truth == LENGTH)):
            shares = [kept[chosen] == truth[chosen] for kept in (ours, theirs)] + [ours[chosen] == theirs[chosen]]
            counts = [f"{int(chosen.sum()):,}", *(f"{100 * share.mean():.3f} %" for share in shares)]
            rows.append([f"{100 * errors} %", name, *counts])
    print_table(["errors", "insert", "pairs", "Quire right", "fastp right", "both the same"], rows)
    print(f"Quire: {microseconds:.2f} microseconds of the processor for a pair, on one thread")
    write_measurement()


if __name__ == "__main__":
    main()
