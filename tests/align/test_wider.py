"""Wider bands: they agree with the oracle, and reads next to long gaps are placed correctly, not on another copy."""

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU's functions are compiled by Numba")

from quire.align.engines import cpu as engine_cpu
from quire.align.wider.cpu import wider_jobs
from quire.reads.cpu import orient

from tests.support.builders import write_fasta, write_fastq
from tests.support.gapped_genomes import gapped_genome
from tests.support.gapped_reads import ROUNDS, gapped_reads
from tests.support.read_builders import build_index, map_files, pack

READS = 40


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_oracle(seed: int) -> None:
    drawn = gapped_reads(seed, 400)
    reference = SimpleNamespace(text=pack(drawn.axis))
    jobs, chosen = wider_jobs(drawn.rounds, drawn.best, orient(drawn.batch), reference)  # type: ignore[arg-type]
    assert len(chosen) == ROUNDS
    begin = 0
    for (narrow, _), rows, expected in zip(drawn.rounds, chosen, drawn.expected, strict=True):
        end = begin + len(rows)
        found = zip(rows, jobs.diagonal_low[begin:end], jobs.diagonal_high[begin:end], strict=True)
        assert [tuple(map(int, row)) for row in found] == expected
        for column in ("read", "strand", "diagonal", "axis_low", "axis_high"):
            assert np.array_equal(getattr(jobs, column)[begin:end], getattr(narrow, column)[rows])
        begin = end
    assert begin == len(jobs)
    sides = np.array([
        (low < narrow.diagonal_low[i], high > narrow.diagonal_high[i])
        for (narrow, _), rows in zip(drawn.rounds, drawn.expected, strict=True)
        for i, low, high in rows
    ])  # fmt: skip
    assert (sides.sum(axis=0) > 15).all()
    assert sides.all(axis=1).any()


def test_reads_lie_across_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genome, planted = gapped_genome(random.Random(5), READS)
    indexed = build_index(tmp_path, write_fasta(tmp_path / "genome.fa", genome))
    mates = [write_fastq(tmp_path / "reads.fq", [one.read for one in planted])]
    records = map_files(tmp_path, indexed, mates).records()
    for one, record in zip(planted, records, strict=True):
        assert (record.query_name, record.cigarstring) == (one.read.name, one.cigar)
        assert (record.reference_start, record.is_reverse) == (one.position, one.reverse)
    steps = vars(engine_cpu.STEPS) | {"wider_jobs": lambda rounds, *_: ([], [])}
    monkeypatch.setattr(engine_cpu, "STEPS", SimpleNamespace(**steps))
    without = map_files(tmp_path, indexed, mates).records()
    wrong = sum(record.reference_start != one.position for one, record in zip(planted, without, strict=True))
    assert wrong > READS * 3 // 4
