"""UMIs from read names and from files: their position, and reads without one."""

import random
from pathlib import Path

import numpy as np
import pytest
from quire.align.umis_cpu import with_umis
from quire.errors import InputError
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.fastq.umis import with_umi_file
from quire.io.first_reads import require_umis_in_names
from quire.io.read_files import ReadFiles
from quire.reads import PairBatch

from tests.support.builders import Read, read_batch
from tests.support.ragged import unpack_bytes

UMIS = {
    "A00296:43:HCLHLDSXX:2:2670:29252:13385:ACGTNACG": b"ACGTNACG",
    "A00296:43:HCLHLDSXX:2:2670:29252:13385:ACGT+TTGA": b"ACGT-TTGA",
    "A00296:43:HCLHLDSXX:2:2670:29252:13385_ACGT": b"ACGT",
    "SRR1.1_T": b"T",
    "x_AC-GT": b"AC-GT",
}


def batch_of(names: list[str]) -> PairBatch:
    reads = read_batch([Read(name, "ACGT", "IIII") for name in names], 40)
    return PairBatch(reads, reads)


def test_umis_of_names() -> None:
    (batch,) = with_umis(iter([batch_of(list(UMIS))]))
    assert batch.umis is not None
    assert batch.umi_offsets is not None
    assert unpack_bytes(batch.umis, batch.umi_offsets) == list(UMIS.values())
    part = batch.part(1, 3)
    assert part.umis is not None
    assert part.umi_offsets is not None
    assert unpack_bytes(part.umis, part.umi_offsets) == list(UMIS.values())[1:3]
    np.testing.assert_array_equal(part.mate1.name_offsets[0], 0)


@pytest.mark.parametrize(
    "name",
    ["A00296:43:HCLHLDSXX:2:2670:29252:13385", "read", "ACGT", "x_", "x_acgt", "x_AC+", "x_+AC", "x_A++C", "x_AU"],
)
def test_names_without_a_umi(name: str) -> None:
    with pytest.raises(InputError, match=r"align.umi: read 42 \(.*\) has no UMI of A, C, G, T and N after the last"):
        list(with_umis(iter([batch_of(["x_AC", name, "read"])])))
    with pytest.raises(InputError, match=r"x, fq1: reads.fq: align.umi: read 2 \(.*\) has no UMI"):
        require_umis_in_names("reads.fq", ["x_AC", name], "x, fq1")


def test_the_look_before_a_run_judges_names_alike() -> None:
    """The check before a run and mapping reject the same names."""
    generator = random.Random(14)
    judged = []
    for _ in range(3000):
        name = "".join(generator.choices("ACGTNacU:_+-/x", k=generator.randint(1, 9)))
        refusals = 0
        for check in (
            lambda name=name: require_umis_in_names("r.fq", [name], "x"),
            lambda name=name: list(with_umis(iter([batch_of([name])]))),
        ):
            try:
                check()
            except InputError:
                refusals += 1
        assert refusals != 1, name
        judged.append(refusals)
    assert 200 < judged.count(0) < 2800


def fastq(path: Path, records: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in records))
    return path


@pytest.mark.parametrize("turn", [False, True])
def test_umis_of_a_file(turn: bool, tmp_path: Path) -> None:
    """UMIs of each read or pair, for any batch size, and from several consecutive files."""
    umis = [f"{'ACGTN'[i % 5] * (4 + i % 3)}" for i in range(11)]
    files: dict[str, list[Path]] = {"fq1": [], "fq2": [], "fq_umi": []}
    for part, chosen in (("a", range(6)), ("b", range(6, 11))):
        for column in files if not turn else ("fq1", "fq_umi"):
            copies = 2 if turn and column == "fq1" else 1
            bases = umis if column == "fq_umi" else ["ACGTACGT" if column == "fq1" else "TTGATTGA"] * len(umis)
            text = [(f"r{i} {column}", bases[i]) for i in chosen for _ in range(copies)]
            files[column].append(fastq(tmp_path / f"{part}_{column}.fq", text))
    reads = ReadFiles(**files, interleaved=turn)
    for size in (1, 4, 100):
        found = []
        for batch in reads.batches(size, RecordCounts(), None, tmp_path, 1):
            assert batch.umis is not None
            assert batch.umi_offsets is not None
            found += unpack_bytes(batch.umis, batch.umi_offsets)
        assert found == [umi.encode() for umi in umis]
    assert set(reads.files) == {path for paths in files.values() for path in paths}


@pytest.mark.parametrize(("records", "sentence"), [
    ([("r0", "AC"), ("x", "AC"), ("r2", "AC")], "umi.fq: record 2 is named x but that of reads.fq is named r1; give"),
    ([("r0", "AC"), ("r1", "AC")], "umi.fq: has fewer records than reads.fq; each read, or pair, needs one UMI"),
    ([(f"r{i}", "AC") for i in range(4)], "reads.fq: has fewer records than .*umi.fq; each read"),
    ([("r0", "AC"), ("r1", ""), ("r2", "AC")], "umi.fq: record 2 "),
])  # fmt: skip
def test_files_of_other_umis(records: list[tuple[str, str]], sentence: str, tmp_path: Path) -> None:
    """Files with other reads are rejected, naming file and record."""
    path = fastq(tmp_path / "umi.fq", records)
    for size in (3, 2):
        batches = [batch_of([f"r{i}" for i in range(3)][first : first + size]) for first in range(0, 3, size)]
        pairs = (batch for batch in batches)
        with pytest.raises(InputError, match=sentence) as failure:
            list(with_umi_file(pairs, Path("reads.fq"), path, size))
        assert failure.traceback  # keeps the frames alive, as in a failed job
        assert pairs.gi_frame is None, "the reads are not closed"
