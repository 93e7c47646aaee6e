"""Draw plain paired reads of 150 bases from a FASTA (errors at 0.5 %, no variants): python -m bench.plain_reads."""

import argparse
from pathlib import Path

import numpy as np
import pysam

LENGTH = 150
INSERT, DEVIATION = 400, 60
ERROR_RATE = 0.005
BASES = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


def main() -> None:
    """Parse the command line and write OUT_1.fq and OUT_2.fq."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path)
    parser.add_argument("out", help="prefix of the two files")
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    with pysam.FastxFile(str(given.fasta)) as stream:
        contigs = {record.name: record.sequence.upper().encode() for record in stream}
    lengths = np.array([len(bases) for bases in contigs.values()], dtype=float)
    which = generator.choice(len(contigs), given.pairs, p=lengths / lengths.sum())
    names = list(contigs)
    with open(f"{given.out}_1.fq", "wb") as one, open(f"{given.out}_2.fq", "wb") as two:
        for number, contig in enumerate(which):
            bases = contigs[names[contig]]
            size = int(np.clip(generator.normal(INSERT, DEVIATION), LENGTH + 1, len(bases)))
            start = int(generator.integers(0, len(bases) - size + 1))
            fragment = bases[start : start + size]
            mates = [fragment[:LENGTH], fragment.translate(COMPLEMENT)[::-1][:LENGTH]]
            if generator.random() < 0.5:
                mates.reverse()
            for stream, mate in zip((one, two), mates, strict=True):
                stream.write(b"@r%d\n%s\n+\n%s\n" % (number, _with_errors(mate, generator), b"I" * LENGTH))


def _with_errors(letters: bytes, generator: np.random.Generator) -> bytes:
    changed = np.frombuffer(letters, np.uint8).copy()
    where = np.flatnonzero(generator.random(changed.size) < ERROR_RATE)
    changed[where] = BASES[generator.integers(0, 4, where.size)]
    return changed.tobytes()


if __name__ == "__main__":
    main()
