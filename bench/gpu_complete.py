"""The stage `complete` from FASTQ to BAM on a card and on the CPU, in one run: reads per second, and equal records.

--index is a folder with `reference` and the pages of its index; missing pages are built, on the card if there is one.
Reads are drawn as `bench.complete_search` draws them. Each backend first searches a few reads, which compiles its
kernels; the timed part is a call of `search_reads`, including all files that it opens. Bars on an H200 at 100 bases and
k = 3 are those of `bench.complete_search`, which are for the search alone. Needs NumPy and Numba, and CuPy for a card.
"""

import argparse
import gzip
import hashlib
import time
from pathlib import Path

import numpy as np
from quire import index
from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.index import SearchInputs
from quire.reads import ReadBatch
from quire.reference import Reference

from bench.cards import first_card
from bench.common import print_setting, print_table, write_measurement
from bench.complete_search import PARAMETERS, draw_reads

FEW = 2000  # number of reads for a first run, which compiles kernels
LETTERS = np.frombuffer(b"ACGTN", np.uint8)
HEADER = ("bases", "k", "backend", "s", "processor s", "reads/s", "BAM, MB", "records")


def write_fastq(path: Path, reads: ReadBatch, length: int) -> None:
    """Write a FASTQ of reads of one length, named by their numbers; each record is a row of a matrix."""
    count = len(reads)
    names = np.char.zfill(np.arange(count).astype(np.bytes_), 9).view(np.uint8).reshape(count, 9)
    parts = (b"@", names, b"\n", LETTERS[reads.bases.reshape(count, length)], b"\n+\n", b"I" * length, b"\n")
    columns = [
        np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part))) if isinstance(part, bytes) else part
        for part in parts
    ]
    np.concatenate(columns, axis=1).tofile(path)


def records_digest(bam: Path) -> str:
    """Return a digest of all records, without the header, which names the backend."""
    with gzip.open(bam) as stream:
        stream.seek(4)
        stream.read(int.from_bytes(stream.read(4), "little"))
        for _ in range(int.from_bytes(stream.read(4), "little")):
            stream.read(int.from_bytes(stream.read(4), "little") + 4)
        digest = hashlib.sha256()
        while data := stream.read(1 << 24):
            digest.update(data)
    return digest.hexdigest()[:12]


def measure(given: argparse.Namespace, backends: list[str], length: int, k: int) -> list[tuple[object, ...]]:
    """Return a row of HEADER for each backend."""
    axis = Reference.open(given.index / "reference", verify=False)
    pages = [given.index / f"page_{number}" for number in range(len(axis.pages))]
    fastq, few = given.work / f"{length}.fq", given.work / f"{length}.few.fq"
    reads = draw_reads(axis, given.reads, length)
    write_fastq(fastq, reads, length)
    write_fastq(few, reads.part(0, FEW), length)
    rows: list[tuple[object, ...]] = []
    digests = set()
    for backend in backends:
        bam = given.work / f"{backend}.bam"
        outputs = CompleteOutputs(bam, bam.with_suffix(".tsv"), bam.with_suffix(".json"))
        settings = CompleteSettings(backend, k, backend=backend, threads=given.threads)
        search_reads(SearchInputs(given.index / "reference", pages, None, few), outputs, settings)
        start, processor = time.perf_counter(), time.process_time()
        search_reads(SearchInputs(given.index / "reference", pages, None, fastq), outputs, settings)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        digests.add((records_digest(bam), hashlib.sha256(outputs.counts.read_bytes()).hexdigest()[:12]))
        rows.append((length, k, backend, f"{seconds:.2f}", f"{processor:.1f}", f"{given.reads / seconds:,.0f}",
                     f"{bam.stat().st_size / 1e6:.0f}", min(digests)[0]))  # fmt: skip
    assert len(digests) == 1, "the backends' answers differ"
    return rows


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("results/bench"), help="folder for reads and answers")
    parser.add_argument("--backends", default="gpu,cpu")
    parser.add_argument("--lengths", default="100")
    parser.add_argument("--differences", default="3")
    parser.add_argument("--reads", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=16)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    print_setting([])
    backends = given.backends.split(",")
    axis = Reference.open(given.index / "reference", verify=False)
    with first_card() as card:
        if card is None:
            backends = [backend for backend in backends if backend != "gpu"]
        for number in range(len(axis.pages)):
            page = given.index / f"page_{number}"
            if not page.exists():
                index.build(axis, number, page, PARAMETERS, card)
    rows = [
        row
        for length in map(int, given.lengths.split(","))
        for k in map(int, given.differences.split(","))
        for row in measure(given, backends, length, k)
    ]
    print_table(HEADER, rows)
    write_measurement()


if __name__ == "__main__":
    main()
