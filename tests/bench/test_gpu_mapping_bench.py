"""Run the measurement of mapping on the emulated card with a tiny genome; reads map to their origin."""

import numpy as np
import pytest

from bench import gpu_mapping
from tests.emulator.emulated_card import EmulatedCard
from tests.support.index_builders import INDEX_PARAMETERS

pytestmark = pytest.mark.full


@pytest.fixture
def genome(tmp_path, card: EmulatedCard):
    """Return reference and index of two contigs, made on the card."""
    generator = np.random.default_rng(1)
    contigs = ["".join(generator.choice(list("ACGT"), size)) for size in (9000, 6000)]
    fasta = tmp_path / "genome.fa"
    fasta.write_text("".join(f">c{number}\n{contig}\n" for number, contig in enumerate(contigs)))
    return gpu_mapping.build(card, fasta, tmp_path, 1 << 30, INDEX_PARAMETERS)


def test_reads_are_placed_right(card, genome, capsys: pytest.CaptureFixture[str]) -> None:
    axis, indexes = genome
    row = gpu_mapping.map_resident(card, axis, indexes, pairs=60, repeats=1)
    placed, right = float(row[-2]), float(row[-1])
    assert row[:3] == [15_000, 1, 120]
    assert placed == 1
    assert right > 0.98
    assert "fill_bands" in capsys.readouterr().out


def test_reads_differ_from_the_genome_as_stated(tmp_path, genome) -> None:
    axis, _ = genome
    mates, origins = gpu_mapping.draw_pairs(axis, 2000, seed=5)
    codes = axis.codes(0, axis.axis_length)
    for reads, lefts in zip(mates, origins, strict=True):
        spans = codes[lefts[:, None] + np.arange(gpu_mapping.LENGTH)]
        differing = np.minimum((reads != spans).mean(axis=1), (3 - reads[:, ::-1] != spans).mean(axis=1))
        assert 0.5 * gpu_mapping.SUBSTITUTIONS < np.median(differing) + differing.mean() < 0.02


def test_fastq(tmp_path, genome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_mapping, "PAIRS_A_FILE", 20)
    paths = gpu_mapping.write_fastq(tmp_path / "reference", tmp_path, 50, processes=2)
    for path in paths:
        lines = path.read_text().splitlines()
        assert [line[1:] for line in lines[::4]] == [f"{number:010d}" for number in range(50)]
        assert {len(line) for line in lines[1::4]} == {len(line) for line in lines[3::4]} == {gpu_mapping.LENGTH}
        assert set("".join(lines[1::4])) == set("ACGT")
        assert len(set(lines[1::4])) == 50
