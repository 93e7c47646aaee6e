"""BAM's bytes to columns, compared with pysam."""

import gzip
import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import InputError
from quire.io.bam.decode_cpu import bases_of, cigars_of, header_bytes, name_hashes, records_of, tags_begin
from quire.io.bam.regions import IndexedAlignments
from quire.sam import CIGAR_MASK, CIGAR_SHIFT

from tests.oracles.ties import hash_name
from tests.support.builders import random_bases, write_bam

CONTIGS = {"chr1": 100_000, "HLA:01,*x": 5000}


def random_line(generator: random.Random, number: int) -> str:
    """Draw a record as SAM text, with or without a position, bases and qualities."""
    length = generator.choice([0, 1, 2, 99, 100, 151])
    bases = "".join(generator.choices("ACGTNR", k=length)) or "*"
    qualities = "".join(chr(generator.randint(33, 126)) for _ in range(length)) if generator.random() < 0.9 else "*"
    flag = generator.choice([0, 4, 16, 83, 99, 147, 1024, 2064])
    cigar = "*"
    if length > 2 and not flag & 4:
        cigar = generator.choice([f"{length}M", f"1S{length - 1}M", f"3H1M5D{length - 1}=", f"1M1I{length - 2}X2P"])
    place = ("*", 0) if flag & 4 else (generator.choice(list(CONTIGS)), generator.randint(1, 4000))
    mate = ("=", generator.randint(1, 4000)) if flag & 1 else ("*", 0)
    name = "".join(generator.choices("abcXYZ019:_", k=generator.choice([1, 20, 254])))
    columns = (name, flag, *place, generator.randint(0, 255), cigar, *mate, generator.randint(-500, 500))
    return "\t".join(map(str, (*columns, bases, qualities, f"RG:Z:{'x' * number}")))


@pytest.mark.parametrize("seed", range(5))
def test_records_are_what_pysam_reads(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    path = write_bam(tmp_path / "x.bam", CONTIGS, [random_line(generator, i) for i in range(60)])
    content = gzip.decompress(path.read_bytes())
    records = records_of(np.frombuffer(content, np.uint8)[header_bytes(content) :])
    with pysam.AlignmentFile(str(path)) as stream:
        expected = list(stream.fetch(until_eof=True))
    assert len(records.starts) == len(expected) == 60
    chosen = np.array(sorted(generator.sample(range(60), 40)))
    cigar_offsets, cigars = cigars_of(records, chosen)
    offsets, bases, qualities = bases_of(records, chosen)
    hashes, tags = name_hashes(records, chosen), tags_begin(records, chosen)
    for i, number in enumerate(chosen.tolist()):
        record, fixed = expected[number], records.fixed[number]
        assert (fixed["contig"], fixed["position"]) == (record.reference_id, record.reference_start)
        assert (fixed["mate_contig"], fixed["mate_position"]) == (record.next_reference_id, record.next_reference_start)
        assert (fixed["flag"], fixed["mapping_quality"]) == (record.flag, record.mapping_quality)
        assert (fixed["template_length"], fixed["bin"]) == (record.template_length, record.bin)
        assert hashes[i] == hash_name(record.query_name.encode())
        assert records.data[tags[i] : tags[i] + 3].tobytes() == b"RGZ"
        elements = cigars[cigar_offsets[i] : cigar_offsets[i + 1]].tolist()
        assert [(e & CIGAR_MASK, e >> CIGAR_SHIFT) for e in elements] == (record.cigartuples or [])
        own = slice(offsets[i], offsets[i + 1])
        text = "".join("ACGTN"[code] for code in bases[own])
        assert text == (record.query_sequence or "").replace("R", "N")
        assert qualities[own].tolist() == list(record.query_qualities or [255] * len(text))


def test_no_records() -> None:
    records = records_of(np.empty(0, np.uint8))
    assert len(records.starts) == len(records.fixed) == 0
    nothing = np.empty(0, np.int64)
    assert [len(column) for column in bases_of(records, nothing)] == [1, 0, 0]
    assert len(name_hashes(records, nothing)) == len(cigars_of(records, nothing)[1]) == 0


def test_regions(tmp_path: Path) -> None:
    generator = random.Random(3)
    bases = random_bases(generator, 50)
    lines = [f"r{i}\t0\tHLA:01,*x\t{1 + 10 * i}\t60\t50M\t*\t0\t0\t{bases}\t{'I' * 50}" for i in range(100)]
    path = write_bam(tmp_path / "x.bam", CONTIGS, lines, order="coordinate")
    with pytest.raises(InputError, match="has no index"):
        IndexedAlignments(path)
    pysam.index(str(path))
    alignments = IndexedAlignments(path)
    assert alignments.contigs == CONTIGS
    found = alignments.records("HLA:01,*x", 200, 300)
    assert found.fixed["position"].tolist() == list(range(160, 300, 10))
    assert len(alignments.records("elsewhere", 0, 100).starts) == 0
    with pytest.raises(InputError, match=r"no\.bam"):
        IndexedAlignments(tmp_path / "no.bam")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="is truncated"):
        alignments.records("HLA:01,*x", 0, 5000)
