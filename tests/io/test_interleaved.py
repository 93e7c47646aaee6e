"""Interleaved mates, several files and qualities of Phred+64, compared with two plain files."""

import random
from pathlib import Path

import numpy as np
import pytest
from quire.errors import InputError
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.fastq import read_batches
from quire.io.read_files import ReadFiles
from quire.reads import PairBatch, ReadBatch

from tests.support.builders import Read, random_read, write_fastq


def some_pairs(count: int, seed: int = 8) -> list[tuple[Read, Read]]:
    """Return pairs of mates of any length, one of them empty."""
    generator = random.Random(seed)
    lengths = [(generator.randrange(0, 60), generator.randrange(0, 60)) for _ in range(count)]
    return [
        (random_read(generator, f"r{i}/1", first), random_read(generator, f"r{i}/2", second))
        for i, (first, second) in enumerate(lengths)
    ]


def in_turn(pairs: list[tuple[Read, Read]]) -> list[Read]:
    """Return the mates interleaved."""
    return [read for pair in pairs for read in pair]


def assert_same(actual: list[PairBatch], expected: list[PairBatch]) -> None:
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        for mate, other_mate in ((one.mate1, other.mate1), (one.mate2, other.mate2)):
            assert isinstance(mate, ReadBatch)
            for field, value in vars(other_mate).items():
                np.testing.assert_array_equal(getattr(mate, field), value, err_msg=field)


@pytest.mark.parametrize("batch", [1, 3, 7, 100])
def test_interleaved_is_as_two_files(batch: int, tmp_path: Path) -> None:
    pairs = some_pairs(21)
    mates = [write_fastq(tmp_path / f"{mate}.fq", [pair[mate] for pair in pairs]) for mate in (0, 1)]
    both = write_fastq(tmp_path / "both.fq.gz", in_turn(pairs), "gzip")
    assert_same(list(read_batches(both, None, batch, interleaved=True)), list(read_batches(*mates, batch)))


def test_interleaved_without_a_mate(tmp_path: Path) -> None:
    reads = in_turn(some_pairs(5))
    with pytest.raises(InputError, match=r"ends after record 9 \(r4\), whose mate is missing"):
        list(read_batches(write_fastq(tmp_path / "cut.fq", reads[:-1]), None, 2, interleaved=True))
    del reads[3]
    with pytest.raises(InputError, match="records 3 and 4 are named r1 and r2"):
        list(read_batches(write_fastq(tmp_path / "lost.fq", reads), None, 2, interleaved=True))


def test_phred64(tmp_path: Path) -> None:
    """Qualities of Phred+64 are read like those of the same reads in Phred+33."""
    pairs = some_pairs(12)
    plain = [write_fastq(tmp_path / f"{mate}.fq", [pair[mate] for pair in pairs]) for mate in (0, 1)]
    shifted = [
        write_fastq(
            tmp_path / f"{mate}.64.fq",
            [
                Read(pair[mate].name, pair[mate].bases, "".join(chr(ord(c) + 31) for c in pair[mate].qualities))
                for pair in pairs
            ],
        )
        for mate in (0, 1)
    ]
    assert_same(list(read_batches(*shifted, 5, phred64=True)), list(read_batches(*plain, 5)))
    with pytest.raises(InputError, match=r"0.fq: record \d+ \(r\d+\) has '.' among its qualities, but Phred"):
        list(read_batches(plain[0], None, 5, phred64=True))


def test_files_that_follow_each_other(tmp_path: Path) -> None:
    """Several files give the reads of the file that they were cut from."""
    pairs = some_pairs(20)
    cuts = ((0, 7), (7, 8), (8, 20))
    files = [
        [write_fastq(tmp_path / f"{begin}_{mate}.fq", [pair[mate] for pair in pairs[begin:end]]) for begin, end in cuts]
        for mate in (0, 1)
    ]
    reads = ReadFiles(*files)
    assert reads.files == [path for pair in zip(*files, strict=True) for path in pair]
    rest = RecordCounts(), None, tmp_path, 1
    names = [batch.mate1.name(i) for batch in reads.batches(4, *rest) for i in range(len(batch))]
    assert names == [f"r{i}" for i in range(20)]
    with pytest.raises(InputError, match=r"0_1.fq: record 1 is named r0 but its mate in .*7_0.fq is named r7"):
        list(ReadFiles(files[0][1:], files[1]).batches(4, *rest))
