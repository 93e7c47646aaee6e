"""Counting of an existing BAM file with the code that counts while a BAM is written."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quire.finish.counts.outputs import CountsOutputs, CountsWriter
from quire.finish.counts.sample import STRETCH_BYTES
from quire.io.bam.decode_cpu import records_of
from quire.io.bam.stream_cpu import BamStream
from quire.reference import Reference


def count_file(sample: str, bam: Path, reference: Reference, threads: int, outputs: CountsOutputs) -> dict:
    """Write the counts of a file and return the content of counts.json."""
    stream = BamStream(bam)
    with (
        ThreadPoolExecutor(1) as executor,
        CountsWriter(sample, stream.header_text, reference, threads, outputs) as counting,
    ):
        for stretch in stream.stretches(executor, STRETCH_BYTES, 1):
            counting.take(counting.prepare(records_of(stretch.bytes())))
        return counting.write(outputs.counts)
