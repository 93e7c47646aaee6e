"""Growth of the exact tools' processor time with their input: one thread of the CPU, whole stages to files.

E. coli K-12 (4.6 Mb) is the reference; reads are drawn from it with one base in a hundred replaced, the queries of
`mems` are parts of the strain DH1, and pairs are parts of both strains. Times exclude indexing.
"""

import gzip
import json
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.index import SearchInputs
from quire.index.construction import ensure_index
from quire.mems.search import MemsOutputs, MemsSettings, find_mems
from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair

from bench.common import arguments, print_setting, print_table, write_measurement

K12, DH1 = "ecoli_K12_MG1655_from_bwa_pac.fa.gz", "ecoli_DH1.fa.gz"
READS, SLOWEST = 10_000, 10.0  # seconds after which a row is not continued
PAGE_SIZE, INDEX = 1 << 30, {"sampling_distance": 64, "sa_sampling": 1}


def main() -> None:
    """Print a table for each tool."""
    given = arguments(__doc__).parse_args()
    print_setting(())
    work = given.work / "exact_growth"
    work.mkdir(parents=True, exist_ok=True)
    genomes = [_letters(given.data / "genomes" / name) for name in (K12, DH1)]
    for measure in (_complete, _mems, _pairwise):
        measure(work, *genomes)
    write_measurement()


def _letters(path: Path) -> str:
    with gzip.open(path, "rt") as stream:
        return "".join(line.strip() for line in stream if not line.startswith(">")).upper()


def _fasta(path: Path, letters: str) -> Path:
    path.write_text(f">{path.stem}\n{letters}\n")
    return path


def _index(work: Path, letters: str) -> tuple[Path, Path, list[Path]]:
    """Build FASTA, packed reference and pages of the first bases of a genome."""
    fasta = _fasta(work / f"reference_{len(letters)}.fa", letters)
    return fasta, *ensure_index(fasta, work / f"index_{len(letters)}", PAGE_SIZE, INDEX, "cpu", "auto")


def _seconds(call: Callable[[], None]) -> float:
    """Return the processor time of the second of two calls, since the first may compile."""
    call()
    began = time.process_time()
    call()
    return time.process_time() - began


def _complete(work: Path, genome: str, _: str) -> None:
    outputs = CompleteOutputs(work / "out.bam", work / "out.tsv", work / "out.json")
    rows: list[tuple[object, ...]] = []
    for bases, length in ((len(genome), 36), (len(genome), 100), (len(genome), 150), (1 << 20, 100)):
        fasta, reference, pages = _index(work, genome[:bases])
        inputs = SearchInputs(reference, pages, fasta, _reads(work / "reads.fq", genome[:bases], length))
        times: list[float] = []
        for k in range(6):
            if times and times[-1] > SLOWEST:
                break
            times.append(_seconds(partial(search_reads, inputs, outputs, CompleteSettings("x", k, backend="cpu"))))
        shown = [f"{seconds / READS * 1e6:,.0f}" for seconds in times]
        rows.append((f"{bases / 1e6:.1f} Mb", length, *shown, *["-"] * (6 - len(shown))))
    print("complete: µs of processor a read")
    print_table(("genome", "bases of a read", *(f"k = {k}" for k in range(6))), rows)


def _reads(path: Path, genome: str, length: int) -> Path:
    """Draw reads from a genome and write them as FASTQ."""
    generator = random.Random(length)
    with path.open("w") as stream:
        for number in range(READS):
            start = generator.randrange(len(genome) - length)
            drawn = genome[start : start + length]
            read = "".join(generator.choice("ACGT") if generator.random() < 0.01 else base for base in drawn)
            stream.write(f"@{number}\n{read}\n+\n{'I' * length}\n")
    return path


def _mems(work: Path, genome: str, other: str) -> None:
    fasta, reference, pages = _index(work, genome)
    outputs = MemsOutputs(work / "out.mems", work / "out.json")
    rows: list[tuple[object, ...]] = []
    for bases in (1 << 17, 1 << 19, 1 << 21, len(other)):
        queries = _fasta(work / "queries.fa", other[:bases])
        row: list[object] = [f"{bases / 1e6:.2f} Mb"]
        for length in (14, 20, 50, 100):
            settings = MemsSettings("x", min_length=length, backend="cpu")
            inputs = SearchInputs(reference, pages, fasta, queries)
            seconds = _seconds(partial(find_mems, inputs, outputs, settings))
            matches = json.loads(outputs.summary.read_text())["counts"]["matches"]
            row.append(f"{seconds:.2f} s, {matches:,}")
        rows.append(tuple(row))
    print("mems: seconds of processor, both strands, and matches")
    print_table(("queries", *(f"l = {length}" for length in (14, 20, 50, 100))), rows)


def _pairwise(work: Path, genome: str, other: str) -> None:
    outputs = PairwiseOutputs(work / "out.paf", work / "out.bam", work / "out.json")
    rows: list[tuple[object, ...]] = []
    for bases in (1000, 3000, 10_000, 30_000, 100_000):
        files = _fasta(work / "query.fa", other[:bases]), _fasta(work / "target.fa", genome[:bases])
        row: list[object] = [f"{bases:,}"]
        for mode, anchors in (("local", "none"), ("global", "none"), ("local", "mems")):
            settings = PairwiseSettings("x", mode=mode, anchors=anchors, backend="cpu")
            seconds = _seconds(partial(align_pair, *map(str, files), outputs, settings))
            row.append(f"{seconds:.2f} s" + (f", {bases**2 / seconds / 1e9:.1f}" if anchors == "none" else ""))
        rows.append(tuple(row))
    print("pairwise: seconds of processor, and billions of cells a second")
    print_table(("bases of both", "local", "global", "local, with anchors"), rows)


if __name__ == "__main__":
    main()
