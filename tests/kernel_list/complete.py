"""Search a tiny genome, which calls all CPU kernels of the stages reference, index and complete."""

import random
import tempfile
from pathlib import Path

from quire.algorithms.complete.cpu import find_ends
from quire.complete.finders import axis_of
from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.index import SearchInputs, open_page
from quire.index.construction import ensure_index
from quire.io.fastq import read_batches
from quire.reads.cpu import orient
from quire.reference import Reference

from tests.support.complete_cases import cut_into

_BASES = 6000
_INDEX = {"sampling_distance": 64, "sa_sampling": 1}


def run() -> None:
    """Search reads of all kinds, against one page and against several."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES))
    reads = [genome[start : start + 50] for start in range(0, 500, 50)] + ["A" * 30, "N" * 30]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome}{'A' * 100}\n")
        text = "".join(f"@{number}\n{bases}\n+\n{'I' * len(bases)}\n" for number, bases in enumerate(reads))
        (root / "reads.fq").write_text(text)
        for page_size in (1 << 20, 2048):
            packed, pages = ensure_index(root / "genome.fa", root / str(page_size), page_size, _INDEX, "cpu", "auto")
            inputs = SearchInputs(packed, pages, None, root / "reads.fq")
            outputs = CompleteOutputs(root / "out.bam", root / "out.tsv", root / "out.json")
            search_reads(inputs, outputs, CompleteSettings("compile", backend="cpu"))
            _walk(inputs)


def _walk(inputs: SearchInputs) -> None:
    """Search through the trie, which `search_reads` never uses for so small a genome."""
    packed = Reference.open(inputs.reference)
    pages = [open_page(page, packed) for page in inputs.pages]
    for pair in read_batches(inputs.queries, None, 100):
        with cut_into(1):
            for _ in find_ends(pages, orient(pair.mate1), axis_of(packed), max_differences=2, room=100):
                pass
