"""Compile every kernel of counting once, by counting a few records; jobs that run side by side find them compiled."""

import random
import tempfile
from pathlib import Path

import pysam

from quire import reference
from quire.finish.counts.outputs import CountsOutputs, write_counts

_BASES, _LENGTH = 2000, 50


def compile_kernels() -> None:
    """Count the records of a tiny BAM."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome}\n")
        reference.build(root / "genome.fa", root / "reference", 1 << 20)
        header = pysam.AlignmentHeader.from_references(["compiling"], [_BASES])
        with pysam.AlignmentFile(str(root / "in.bam"), "wb", header=header) as stream:
            record = pysam.AlignedSegment(header)
            record.query_name, record.flag, record.reference_id, record.reference_start = "read", 0, 0, 100
            record.cigartuples, record.query_sequence = [(0, _LENGTH)], genome[100 : 100 + _LENGTH]
            stream.write(record)
        outputs = CountsOutputs(root / "counts.json", root / "windows.bed.gz", root / "low.bed.gz")
        write_counts("compiling", root / "in.bam", reference.Reference.open(root / "reference"), 1, outputs)
