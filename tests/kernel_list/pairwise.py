"""Align a pair of sequences in every mode, which calls all CPU kernels of the stage pairwise."""

import random
import tempfile
from pathlib import Path

from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair

_BASES = 200


def run() -> None:
    """Align in every mode that has its own kernels; kernels of 8, 16 and 32 bits are compiled together."""
    generator = random.Random(1)
    bases = "".join(generator.choices("ACGT", k=_BASES))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "query.fa").write_text(f">query\n{bases[: _BASES // 2]}{bases[_BASES // 2 + 5 :]}\n")
        (root / "target.fa").write_text(f">target\n{bases}\n")
        for mode in ("global", "local"):
            align_pair(
                str(root / "query.fa"),
                str(root / "target.fa"),
                PairwiseOutputs(root / "out.paf", root / "out.bam", root / "out.json"),
                PairwiseSettings("compile", mode=mode, backend="cpu"),
            )
