"""Buckets filled from records that Quire did not map."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from quire.buckets.cpu import deal
from quire.buckets.file import open_buckets
from quire.io.bam.decode_cpu import Records, records_of
from quire.io.bam.stream_cpu import BamStream


def buckets_of(bam: Path, records_at_a_time: int = 1000, writers: int = 2) -> Path:
    """Distribute the records of a BAM file, in batches, into buckets in a folder next to it."""
    stream, path = BamStream(bam), bam.with_suffix(".buckets")
    with (
        ThreadPoolExecutor(1) as executor,
        open_buckets(path, stream.header_text, stream.contig_names, stream.contig_lengths, writers) as writer,
    ):
        for stretch in stream.stretches(executor, 1 << 20, 1):
            records = records_of(stretch.bytes())
            borders = [*records.starts[::records_at_a_time].tolist(), len(records.data)]
            for number, (first, last) in enumerate(pairwise(borders)):
                some = slice(number * records_at_a_time, (number + 1) * records_at_a_time)
                part = Records(records.data[first:last], records.starts[some] - first, records.fixed[some])
                writer.write(deal(part, writer.genome))
    return path
