"""Finish a sample of two records, which calls all CPU kernels of the stage finish."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from quire.buckets.cpu import deal
from quire.buckets.file import BucketFile, open_buckets
from quire.finish.counts.outputs import TargetOutputs, count_target
from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import EvidenceCollector
from quire.finish.marking import Marking
from quire.finish.ranges_cpu import finish_range, ranges
from quire.finish.sorting import Effort, SortedFile, sort_and_mark
from quire.io.bam.decode_cpu import records_of
from quire.io.bam.layout import FIXED_FIELDS
from quire.reference import Reference, build
from quire.sam import FLAG_FIRST_OF_PAIR, FLAG_PAIRED, FLAG_SECOND_OF_PAIR

from tests.support.no_counting import NoCounting

_BASES = 250  # more than a window of GC content
_CONTIGS = ["contig"], [_BASES]


def run(optical: bool, umis: bool) -> None:
    """Sort, mark, index and count a pair of one-base reads, with optical duplicates and UMIs if requested."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        fasta, bed, packed, unit, ordered, index = (
            Path(folder) / name
            for name in ("contig.fa", "contig.bed", "reference", "unit.buckets", "sorted.bam", "sorted.bai")
        )
        with open_buckets(unit, f"@HD\tVN:1.6\n@SQ\tSN:contig\tLN:{_BASES}\n", *_CONTIGS) as buckets:
            for flag in (FLAG_FIRST_OF_PAIR, FLAG_SECOND_OF_PAIR):
                record = np.frombuffer(bytearray(_record(flag)), np.uint8)  # writable, as in production
                buckets.write(deal(records_of(record), buckets.genome))
        units, marking = [(stack.enter_context(BucketFile(unit)), 0)], Marking(100 if optical else None, umis)
        fasta.write_text(f">contig\n{('ACGT' * _BASES)[:_BASES]}\n")
        build(fasta, packed, 1 << 20)
        evidence = EvidenceCollector(Reference.open(packed), 1000)
        sort_and_mark("compiling", units, SortedFile(ordered, index), Effort(1, 50), NoCounting(), marking, evidence)
        genome = units[0][0].genome
        for part in ranges(units, genome, 0):  # the kernels for a deep bucket, which is split
            finish_range(part, genome, 1, 0, marking)
        bed.write_text(f"contig\t0\t{_BASES}\n")
        outputs = TargetOutputs(Path(folder) / "target.json", Path(folder) / "low.bed.gz", 1)
        count_target(FinishedSample("compiling", ordered, packed, fasta), bed, outputs, 1)


def _record(flag: int) -> bytes:
    """Return a BAM record of one base whose mate has the same position."""
    fixed = np.zeros(1, FIXED_FIELDS)
    behind = b"r\0" + (1 << 4).to_bytes(4, "little") + b"\x10\x1e" + b"MCZ1M\0" + b"msC\x1e"
    fixed["name_bytes"], fixed["operations"], fixed["bases"] = 2, 1, 1
    fixed["flag"], fixed["mapping_quality"] = FLAG_PAIRED | flag, 60
    fixed["block_size"] = FIXED_FIELDS.itemsize - 4 + len(behind)
    return fixed.tobytes() + behind
