"""Compile every kernel of the reference, index and complete stages once, by searching a tiny genome."""

import random
import tempfile
from pathlib import Path

from quire import index, reference
from quire.complete.finders import STRATEGIES
from quire.complete.search import CompleteInputs, CompleteOutputs, CompleteSettings, search_reads

_BASES = 6000


def compile_kernels() -> None:
    """Search reads of all kinds, against one page and against several, with each strategy."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES))
    reads = [genome[start : start + 50] for start in range(0, 500, 50)] + ["A" * 30, "N" * 30]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome}{'A' * 100}\n")
        text = "".join(f"@{number}\n{bases}\n+\n{'I' * len(bases)}\n" for number, bases in enumerate(reads))
        (root / "reads.fq").write_text(text)
        for page_size in (1 << 20, 2048):
            run = root / str(page_size)
            reference.build(root / "genome.fa", run / "reference", page_size)
            pages = []
            for page in range(len(reference.Reference.open(run / "reference").pages)):
                pages.append(run / f"page_{page}")
                index.build(run / "reference", page, pages[-1], {"sampling_distance": 64, "sa_sampling": 1})
            inputs = CompleteInputs(run / "reference", pages, None, root / "reads.fq")
            outputs = CompleteOutputs(run / "out.bam", run / "out.tsv", run / "out.json")
            for strategy in STRATEGIES:
                search_reads(inputs, outputs, CompleteSettings("compile", strategy=strategy, backend="cpu"))
