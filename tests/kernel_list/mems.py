"""Search a tiny genome, which calls all CPU kernels of the stages reference, index and mems."""

import random
import tempfile
from pathlib import Path

from quire.index import SearchInputs
from quire.index.construction import ensure_index
from quire.mems.search import MemsOutputs, MemsSettings, find_mems

_BASES = 6000
_INDEX = {"sampling_distance": 64, "sa_sampling": 1}


def run() -> None:
    """Search reads and sequences in all modes, against one page and against several."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome}\n")
        (root / "queries.fa").write_text(f">whole\n{genome}\n>part\n{genome[:50]}\n")
        (root / "queries.fq").write_text(f"@read\n{genome[:50]}\n+\n{50 * 'I'}\n")
        for page_size in (1 << 20, 2048):
            packed, pages = ensure_index(root / "genome.fa", root / str(page_size), page_size, _INDEX, "cpu", "auto")
            outputs = MemsOutputs(root / "out.mems", root / "out.json")
            for queries in (root / "queries.fa", root / "queries.fq"):
                for unique in ("none", "both"):
                    settings = MemsSettings("compile", unique=unique, backend="cpu")
                    find_mems(SearchInputs(packed, pages, None, queries), outputs, settings)
