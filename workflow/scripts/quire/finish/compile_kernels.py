"""Compile the kernels of the finish stage once, by finishing a sample of two records."""

import tempfile
from pathlib import Path

import numpy as np

from quire.finish.counts.sample import count_sample
from quire.finish.sorting import Effort, sort_and_mark
from quire.io.bam.layout import FIXED_FIELDS
from quire.io.bam.writer import BamWriter
from quire.reference import Reference, build
from quire.reference.regions import islands_of
from quire.sam import FLAG_FIRST_OF_PAIR, FLAG_PAIRED, FLAG_SECOND_OF_PAIR

_CONTIGS = ["contig"], [100]


def compile_kernels() -> None:
    """Sort, mark, index and count a pair of one base each."""
    with tempfile.TemporaryDirectory() as folder:
        unit, ordered = Path(folder) / "unit.bam", Path(folder) / "sorted.bam"
        with BamWriter(unit, "@HD\tVN:1.6\n@SQ\tSN:contig\tLN:100\n", *_CONTIGS) as bam:
            bam.write(_record(FLAG_FIRST_OF_PAIR) + _record(FLAG_SECOND_OF_PAIR))
        sort_and_mark("compiling", [(unit, 0)], ordered, Path(f"{ordered}.bai"), "bai", Effort(1, 50, Path(folder)))
        (Path(folder) / "contig.fa").write_text(f">contig\n{'ACGT' * 25}\n")
        build(Path(folder) / "contig.fa", Path(folder) / "reference", 1 << 20)
        reference = Reference.open(Path(folder) / "reference")
        count_sample(ordered, reference, islands_of(reference), 1, lambda _: None)


def _record(flag: int) -> bytes:
    """A read of one base, whose mate lies at the same place."""
    fixed = np.zeros(1, FIXED_FIELDS)
    behind = b"r\0" + (1 << 4).to_bytes(4, "little") + b"\x10\x1e" + b"MCZ1M\0" + b"msC\x1e"
    fixed["name_bytes"], fixed["operations"], fixed["bases"] = 2, 1, 1
    fixed["flag"], fixed["mapping_quality"] = FLAG_PAIRED | flag, 60
    fixed["bytes_behind"] = FIXED_FIELDS.itemsize - 4 + len(behind)
    return fixed.tobytes() + behind
