"""BAM records, header and BGZF against htslib's."""

import gzip
import random
import struct
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.buckets.cpu import assemble_dealt, deal
from quire.buckets.layout import layout
from quire.errors import QuireError
from quire.io.bam import encode
from quire.io.bam.decode_cpu import records_of
from quire.io.bam.encode import RecordAssembly, RecordBatch, assemble_blocks
from quire.io.bam.writer import ReadGroup, header_text, open_bam
from quire.io.bgzf_cpu import compress_blocks
from quire.reads import PairBatch

from tests.support.builders import Read, Record, random_read, read_batch, record_batch, reverse_complement
from tests.support.examples import examples

CONTIGS = {"chr1": 600_000_000, "HLA-A*01:01:01:01": 5000}
GROUP = ReadGroup("NA12878", "lane1", "lib", "ILLUMINA")


def assemble(records: RecordBatch, batch: PairBatch, read_group: bytes) -> np.ndarray:
    """Return the bytes of records, not compressed."""
    assembly = RecordAssembly(records, batch, read_group)
    out = np.empty(assembly.starts[-1], np.uint8)
    assembly.write(assembly.starts, assembly.starts[0], 0, len(records), out)
    return out


def test_header() -> None:
    text = header_text(list(CONTIGS), list(CONTIGS.values()), [GROUP], "1.0", "quire\talign\nx")
    assert text == (
        "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:chr1\tLN:600000000\n@SQ\tSN:HLA-A*01:01:01:01\tLN:5000\n"
        "@RG\tID:NA12878.lane1\tSM:NA12878\tLB:lib\tPL:ILLUMINA\tPU:lane1\n"
        "@PG\tID:quire.NA12878.lane1\tPN:quire\tVN:1.0\tCL:quire align x\n"
    )
    described = header_text(list(CONTIGS), list(CONTIGS.values()), [GROUP], "1.0", "x", "backend cpu:\tno card.\n")
    assert described.endswith("\tVN:1.0\tDS:backend cpu: no card.\tCL:x\n")


def sam_line(record: Record, records: list[Record], mates: list[list[Read]], paired_end: bool) -> str:
    """Return the record as SAM text, slowly (the oracle)."""
    read = mates[record.mate][record.read]
    bases = read.bases.upper().replace(".", "N").replace("R", "N").replace("U", "T")
    qualities = read.qualities
    if record.flag & 16:
        bases, qualities = reverse_complement(bases), qualities[::-1]
    if record.cigar:
        leading = record.cigar[0][1] if record.cigar[0][0] == 5 else 0
        trailing = record.cigar[-1][1] if record.cigar[-1][0] == 5 and len(record.cigar) > 1 else 0
        bases, qualities = (text[leading : len(text) - trailing] for text in (bases, qualities))
    if record.flag & 0x100:
        bases, qualities = "*", "*"
    names = list(CONTIGS)
    mate_contig = "*" if record.mate_contig < 0 else names[record.mate_contig]
    fields = [
        read.name, record.flag, "*" if record.contig < 0 else names[record.contig], record.position + 1,
        record.mapping_quality, cigar_text(record) or "*",
        "=" if record.mate_contig == record.contig >= 0 else mate_contig, record.mate_position + 1,
        record.template_length, bases or "*", qualities or "*",
    ]  # fmt: skip
    fields += [f"NM:i:{record.edit_distance}"] * (record.edit_distance >= 0) + [f"MD:Z:{record.md}"] * bool(record.md)
    if record.mate_record >= 0 and records[record.mate_record].cigar:
        fields.append(f"MC:Z:{cigar_text(records[record.mate_record])}")
    if paired_end and record.flag & 1:
        other = mates[1 - record.mate][record.read]
        fields.append(f"ms:i:{sum(q for q in (ord(letter) - 33 for letter in other.qualities) if q >= 15)}")
    fields += [f"AS:i:{record.alignment_score}"] * (record.alignment_score >= 0)
    fields += [f"XS:i:{record.suboptimal_score}"] * (record.suboptimal_score >= 0)
    fields += [f"SA:Z:{record.sa}"] * bool(record.sa)
    for tag, value in (("NH", record.hit_count), ("HI", record.hit_index), ("th", record.all_hits)):
        fields += [f"{tag}:i:{value}"] * (value >= 0)
    fields += [f"RG:Z:{GROUP.identifier}"]
    return "\t".join(map(str, fields))


def cigar_text(record: Record) -> str:
    return "".join(f"{length}{'MIDNSHP=X'[operation]}" for operation, length in record.cigar)


@st.composite
def drawn_records(draw: st.DrawFn) -> tuple[list[list[Read]], list[Record], bool]:
    """Draw reads of both mates and records of them, with any lengths, Ns, clips, deletions and tags."""
    generator = random.Random(draw(st.integers(0, 2**32)))
    n, paired_end = draw(st.integers(1, 6)), draw(st.booleans())
    lengths = [0, 1, 2, 20, 51, 300]
    mates = [
        [random_read(generator, f"r{i}", generator.choice(lengths), "ACGTNacgt.RU") for i in range(n)] for _ in "12"
    ]
    # As SAM text, a lone quality 9 ('*') would mean that there are no qualities.
    mates = [[Read(read.name, read.bases, read.qualities.replace("*", "+")) for read in reads] for reads in mates]
    count = draw(st.integers(1, 10))
    records = []
    for _ in range(count):
        mate, i = generator.randrange(2) if paired_end else 0, generator.randrange(n)
        length = len(mates[mate][i].bases)
        mapped = generator.random() < 0.8 and length > 0
        flag = generator.getrandbits(12) & ~4 | (0 if mapped else 4)
        mate_contig = generator.randrange(-1, 2)
        # htslib reads a mate on a contig but without a position as unmapped.
        mate_position = generator.randrange(0 if mate_contig >= 0 else -1, 5000)
        number = lambda top: generator.choice([-1, 0, generator.randrange(top)])  # noqa: E731
        records.append(
            Record(
                read=i, mate=mate, flag=flag,
                contig=generator.randrange(2) if mapped else -1,
                position=generator.randrange(1 << generator.randrange(1, 29)) if mapped else -1,
                mapping_quality=generator.randrange(61), cigar=random_cigar(generator, length) if mapped else (),
                mate_contig=mate_contig, mate_position=mate_position,
                template_length=generator.randrange(-900, 900), alignment_score=number(300),
                suboptimal_score=number(70_000), edit_distance=number(300),
                md=generator.choice(["", "101", "10A5^AC6"]), mate_record=generator.randrange(-1, count),
                sa=generator.choice(["", "chr1,5,+,10M10S,60,0;"]),
                hit_count=number(300), hit_index=number(70_000), all_hits=number(300),
            )
        )  # fmt: skip
    return mates, records, paired_end


def random_cigar(generator: random.Random, length: int) -> tuple[tuple[int, int], ...]:
    """Draw a CIGAR that consumes `length` bases, hard clips included."""
    parts = []
    for operation in (5, 4, 0, 1, 0, 2, 7, 8, 0, 3, 0, 4, 5):
        if generator.random() < 0.5:
            if operation in (2, 3):
                parts.append((operation, generator.choice([1, 9, 100_000])))
            elif length > 1:
                taken = generator.randrange(1, length)
                parts.append((operation, taken))
                length -= taken
    middle = next((k for k, part in enumerate(parts) if part[0] not in (4, 5)), None)
    if middle is None:  # only clips
        return ((0, length + sum(size for _, size in parts)),)
    parts.insert(middle, (0, length))
    return tuple(parts)


@given(drawn_records())
@settings(max_examples=examples(150), deadline=None)
def test_records_are_those_of_htslib(tmp_path_factory, drawn) -> None:
    mates, records, paired_end = drawn
    batches = [read_batch(reads) for reads in mates]
    batch = PairBatch(batches[0], batches[1] if paired_end else None)
    ours = assemble(record_batch(records), batch, GROUP.identifier.encode()).tobytes()
    header = pysam.AlignmentHeader.from_text(header_text(list(CONTIGS), list(CONTIGS.values()), [GROUP], "1", "x"))
    path = tmp_path_factory.mktemp("bam") / "x.bam"
    with pysam.AlignmentFile(str(path), "wb", header=header) as stream:
        for record in records:
            stream.write(pysam.AlignedSegment.fromstring(sam_line(record, records, mates, paired_end), header))
    theirs = gzip.decompress(path.read_bytes())
    assert ours == theirs[len(theirs) - len(ours) :]
    assert len(theirs) - len(ours) == 12 + len(str(header)) + sum(9 + len(name) for name in CONTIGS)


@given(drawn_records())
@settings(max_examples=examples(150), deadline=None)
def test_records_dealt_out_as_they_are_written(drawn) -> None:
    mates, records, paired_end = drawn
    batches = [read_batch(reads) for reads in mates]
    given_ones = record_batch(records), PairBatch(batches[0], batches[1] if paired_end else None), b"group"
    genome = layout([1 << 29, 1 << 29])
    at_once, afterwards = (
        assemble_dealt(RecordAssembly(*given_ones), genome),
        deal(records_of(assemble(*given_ones)), genome),
    )
    assert np.array_equal(at_once.data, afterwards.data)
    assert np.array_equal(at_once.offsets, afterwards.offsets)
    assert at_once.records == afterwards.records == len(records)


@pytest.mark.parametrize("size", [0, 1, 288, 289, 290, 65279, 65280, 65281, 400_000])
@pytest.mark.parametrize("kind", ["random", "text"])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_blocks(size: int, kind: str, level: int) -> None:
    generator = random.Random(size)
    data = generator.randbytes(size) if kind == "random" else (b"ACGT" * (size // 4 + 1))[:size]
    blocks = compress_blocks(np.frombuffer(data, np.uint8), level).tobytes()
    assert gzip.decompress(blocks) == data if size else blocks == b""
    start = count = 0
    while start < len(blocks):
        assert blocks[start : start + 4] == b"\x1f\x8b\x08\x04"
        start += struct.unpack_from("<H", blocks, start + 16)[0] + 1
        count += 1
    assert start == len(blocks)
    assert count == -(-size // 65280)


@pytest.mark.parametrize("piece", [1, 700, 65_280, 100_000, 1 << 22])
def test_blocks_of_pieces(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(piece)
    mates = read_batch([random_read(generator, f"r{i}", generator.choice([0, 1, 100, 700])) for i in range(900)])
    reads = PairBatch(mates, None)
    records = record_batch([Record(read=i, sa="chr1,5,+,10M10S,60,0;" * (i % 3)) for i in range(900)])
    whole = assemble(records, reads, b"group")
    assert len(whole) > 200_000
    monkeypatch.setattr(encode, "PIECE_BYTES", piece)
    pieces = assemble_blocks(records, reads, b"group")
    assert b"".join(pieces) == compress_blocks(whole).tobytes()
    assert len(pieces) > 1 or piece == 1 << 22
    assert assemble_blocks(record_batch([]), reads, b"group") == []


def written(path: Path, pieces: int) -> list[str]:
    """Write 1,000 unmapped reads in `pieces` and read them with htslib."""
    generator = random.Random(2)
    reads = [random_read(generator, f"r{i}", 100) for i in range(1000)]
    text = header_text(list(CONTIGS), list(CONTIGS.values()), [GROUP], "1", "x")
    with open_bam(path, text, list(CONTIGS), list(CONTIGS.values())) as writer:
        assert not path.exists()
        step = len(reads) // pieces
        for start in range(0, len(reads), step):
            records = record_batch([Record(read=i) for i in range(step)])
            part = assemble(records, PairBatch(read_batch(reads[start : start + step]), None), b"NA12878.lane1")
            if start % (2 * step):
                writer.write_blocks([compress_blocks(part)])
            else:
                writer.write(part)
    pysam.quickcheck("-v", "-u", str(path))
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        assert str(stream.header) == text
        lines = [record.to_string() for record in stream]
    assert [line.split("\t")[0] for line in lines] == [f"r{i}" for i in range(1000)]
    return lines


def test_writer(tmp_path: Path) -> None:
    assert written(tmp_path / "one.bam", 1) == written(tmp_path / "many.bam", 50)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.bam", "one.bam"]


def write_and_fail(path: Path) -> None:
    with open_bam(path, "", [], []) as writer:
        writer.write(b"some bytes")
        raise QuireError("boom")


def test_writer_leaves_nothing_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(QuireError, match="boom"):
        write_and_fail(tmp_path / "x.bam")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(QuireError, match=r"file/x\.bam: cannot be written"),
        open_bam(tmp_path / "file/x.bam", "", [], []),
    ):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("size", [1000, 10_000_000])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("quire.io.bam.writer.open", lambda path, mode: open("/dev/full", mode), raising=False)
    with (
        pytest.raises(QuireError, match=r"x\.bam: cannot be written \(No space left on device\)"),
        open_bam(tmp_path / "x.bam", "", [], []) as writer,
    ):
        writer.write(random.Random(1).randbytes(size))
    assert list(tmp_path.iterdir()) == []
