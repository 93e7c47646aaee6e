"""Quire's BAI and CSI against those of samtools: they find the same records and hold the same counts."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.io.bam.decode_cpu import header_bytes, records_of
from quire.io.bam.index import open_index
from quire.io.bam.indexing_cpu import IndexBuilder, depth_of, entries_of
from quire.io.bam.writer import open_bam
from quire.io.bgzf_cpu import BLOCK_PAYLOAD, compress_blocks

from tests.support.builders import write_bam

CONTIGS = {"one": 3_000_000, "none": 1000, "two": 70_000, "long": 400_000_000}


def awkward_lines(seed: int) -> list[str]:
    """Make clustered reads, some over several windows, unmapped mates with a position, and reads without one."""
    generator = random.Random(seed)
    lines = []
    for i in range(4000):
        contig = generator.choice(("one", "one", "two", "long"))
        start = 1 + min(int(generator.expovariate(8 / CONTIGS[contig])), CONTIGS[contig] - 60_000)
        cigar = f"10M{generator.randrange(1, 50_000)}D10M" if generator.random() < 0.02 else "20M"
        if generator.random() < 0.03:
            lines.append(f"m{i}\t133\t{contig}\t{start}\t0\t*\t=\t{start}\t0\tACGT\tIIII")
        lines.append(f"r{i}\t0\t{contig}\t{start}\t60\t{cigar}\t*\t0\t0\t{'ACGT' * 5}\t{'I' * 20}")
    return lines + [f"u{i}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII" for i in range(30)]


def copy_with_index(source: Path, target: Path, kind: str, stretches: int) -> None:
    """Write the records again, in several stretches, with Quire's index."""
    with pysam.BGZFile(str(source)) as stream:
        content = stream.read()
    with pysam.AlignmentFile(str(source)) as stream:
        text, names, lengths = str(stream.header), list(stream.references), list(stream.lengths)
    records = records_of(np.frombuffer(content, np.uint8)[header_bytes(content) :].copy())
    placed = int((records.fixed["contig"] >= 0).sum())
    borders = np.linspace(0, placed, stretches + 1).astype(int)
    places = np.append(records.starts, len(records.data))[np.append(borders, len(records.starts))]
    builder = IndexBuilder(kind, lengths)
    with open_bam(target, text, names, lengths) as bam:
        for first, last in pairwise(places[:-1]):
            part = records_of(records.data[first:last].copy())
            blocks = compress_blocks(part.data)
            builder.add(entries_of(part, blocks, BLOCK_PAYLOAD, builder.depth), bam.offset)
            bam.write_blocks([blocks])
        bam.write(records.data[places[-2] : places[-1]].copy())
        builder.write(target.with_name(f"{target.name}.{kind}"), len(records.starts) - placed)


@pytest.mark.parametrize(("kind", "stretches"), [("bai", 1), ("bai", 7), ("csi", 5)])
def test_like_samtools(tmp_path: Path, kind: str, stretches: int) -> None:
    ordered = tmp_path / "ordered.bam"
    plain = write_bam(tmp_path / "plain.bam", CONTIGS, awkward_lines(stretches))
    pysam.sort("-o", str(ordered), str(plain), catch_stdout=False)
    pysam.index("-c" if kind == "csi" else "-b", str(ordered), catch_stdout=False)
    own = tmp_path / "own.bam"
    copy_with_index(ordered, own, kind, stretches)
    assert pysam.idxstats(str(own)) == pysam.idxstats(str(ordered))
    generator = random.Random(1)
    found = 0
    with pysam.AlignmentFile(str(own)) as ours, pysam.AlignmentFile(str(ordered)) as theirs:
        for _ in range(400):
            contig = generator.choice(list(CONTIGS))
            start = min(int(generator.expovariate(8 / CONTIGS[contig])), CONTIGS[contig] - 1)
            end = min(start + generator.choice((1, 100, 20_000, 2_000_000)), CONTIGS[contig])
            expected = [record.to_string() for record in theirs.fetch(contig, start, end)]
            assert [record.to_string() for record in ours.fetch(contig, start, end)] == expected
            found += len(expected)
        assert found > 10_000
        assert ours.mapped == theirs.mapped
    # Quire's reader starts no later than allowed, and no earlier than samtools' index lets it.
    mine, other = open_index(own), open_index(ordered)
    assert [mine.first_offset(1, 0), other.first_offset(1, 0)] == [None, None]
    assert mine.first_offset(0, 100_000) is not None


def test_depths() -> None:
    """Depths equal htslib's: each level adds three bits."""
    assert [depth_of("csi", [length]) for length in (100, 1 << 14, 1 << 29, 1 << 30)] == [0, 1, 6, 6]
    assert depth_of("bai", [1 << 29]) == 5
