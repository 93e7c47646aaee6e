"""Call structural variants of a few reads on a tiny genome, which calls all kernels of the stage structural."""

import random
import tempfile
from pathlib import Path

import numpy as np
from quire import reference
from quire.structural.caller import StructuralRequest, call_structural
from quire.structural.copies_cpu import likeliest_copies, likelihoods

from tests.support.rearranged import Piece, write_bam

_BASES = 6000


def run() -> None:
    """Call a deletion, an inversion, a duplication and an insertion of one sample."""
    generator = random.Random(1)
    genome = {"compiling": "".join(generator.choices("ACGT", k=_BASES))}
    inserted = "".join(generator.choices("ACGT", k=150))
    edges = ((0, 1000, False), (1300, 2000, False), (2000, 2600, True), (2600, 3600, False), (3300, 4500, False))
    pieces = [Piece("compiling", *edge) for edge in edges]
    chromosome = [*pieces, inserted, Piece("compiling", 4500, _BASES)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome['compiling']}\n")
        reference.build(root / "genome.fa", root / "reference", 1 << 20)
        write_bam(root / "reads.bam", genome, [[chromosome]], 30)
        sample = {"sample": "rearranged", "ploidy": 2, "bam": str(root / "reads.bam")}
        outputs = root / "variants.vcf.gz", root / "variants.vcf.gz.tbi"
        call_structural(StructuralRequest(root / "reference", [sample], *outputs, root / "genome.fa", 1))
    reads, expected, contigs = np.full(100, 50), np.full(100, 25.0), np.zeros(100, np.int32)  # of more windows
    likeliest_copies(reads, expected, contigs, 0.01, 1.0)
    likelihoods(reads, expected, 0.01, 1.0)
