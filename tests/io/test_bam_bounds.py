"""Records and headers of BAM files that lie about their sizes are refused by one sentence."""

import random
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import InputError
from quire.io.alignment_reads import read_alignments
from quire.io.bam.bounds_cpu import WrongRecord, checked_records
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.bam.regions import IndexedAlignments
from quire.io.bam.stream_cpu import BamStream

from tests.support.raw_bam import NAME, RawRecord, raw_bam

FAULTS = {
    "l_seq_negative": (RawRecord(bases_field=-100), "exceed its size"),
    "l_seq_larger": (RawRecord(bases_field=400), "exceed its size"),
    "l_seq_smaller": (RawRecord(bases_field=9), "CIGAR"),
    "l_seq_huge": (RawRecord(bases_field=2**31 - 1), "exceed its size"),
    "n_cigar_op_larger": (RawRecord(operations_field=60000), "exceed its size"),
    "n_cigar_op_smaller": (RawRecord(operations_field=0), "tag|CIGAR"),
    "cigar_operation": (RawRecord(cigar=(20 << 4 | 9,)), "CIGAR"),
    "cigar_length": (RawRecord(cigar=(19 << 4,)), "CIGAR"),
    "l_read_name_zero": (RawRecord(name_bytes_field=0), "exceed its size"),
    "l_read_name_larger": (RawRecord(name_bytes_field=len(NAME) + 3, tags=b"NMC\1"), "name without end"),
    "name_with_tab": (RawRecord(name=b"a\tb"), "character that SAM does not allow"),
    "contig": (RawRecord(contig=2), "contig"),
    "mate_contig": (RawRecord(mate_contig=7), "contig"),
    "contig_negative": (RawRecord(contig=-2), "contig"),
    "position": (RawRecord(position=-2), "position"),
    "mate_position": (RawRecord(mate_position=-9), "position"),
    "tag_type": (RawRecord(tags=b"XX?abcd"), "tag"),
    "tag_cut": (RawRecord(tags=b"NMi\1\0"), "tag"),
    "tag_letters": (RawRecord(tags=b"NM"), "tag"),
    "text_without_end": (RawRecord(tags=b"MDZ20"), "tag"),
    "array_cut": (RawRecord(tags=b"XXBi" + struct.pack("<i", 5) + bytes(16)), "tag"),
    "array_huge": (RawRecord(tags=b"XXBi" + struct.pack("<I", 2**32 - 1)), "tag"),
    "array_type": (RawRecord(tags=b"XXBZ" + struct.pack("<i", 0)), "tag"),
    "array_of_letters": (RawRecord(tags=b"XXBA" + struct.pack("<i", 3) + b"abc"), "tag"),
}
GOOD = RawRecord(tags=b"NMC\1MDZ20\0XXBs\2\0\0\0abcdXAA!XFf1234")


def stream_records(path: Path) -> list[bytes]:
    with ThreadPoolExecutor(1) as pool:
        return [stretch.records().data.tobytes() for stretch in BamStream(path, InputError).stretches(pool, 1 << 20, 1)]


def reads_of(path: Path, folder: Path) -> int:
    return sum(len(batch) for batch in read_alignments(path, 10, RecordCounts(), None, folder, 1))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_record_is_one_sentence(fault: str, tmp_path: Path) -> None:
    record, words = FAULTS[fault]
    path = raw_bam(tmp_path / "x.bam", [GOOD, GOOD, record, GOOD])
    for read in (lambda: stream_records(path), lambda: reads_of(path, tmp_path)):
        with pytest.raises(InputError, match=rf"x\.bam: record 3 .*({words})") as refused:
            read()
        assert str(refused.value).count("\n") == 0
        if record.name == NAME and "size" not in words:
            assert NAME.decode() in str(refused.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_record_of_an_indexed_file(fault: str, tmp_path: Path) -> None:
    path = raw_bam(tmp_path / "x.bam", [GOOD, GOOD, GOOD], sorted_by_coordinate=True)
    pysam.index(str(path))
    assert len(IndexedAlignments(path).records("one", 0, 1000).starts) == 3
    raw_bam(path, [GOOD, GOOD, FAULTS[fault][0]], sorted_by_coordinate=True)
    with pytest.raises(InputError, match=r"x\.bam: (no record begins|record 3 .*of those at one:1-1000)"):
        IndexedAlignments(path).records("one", 0, 1000)


def test_right_records_are_read(tmp_path: Path) -> None:
    path = raw_bam(tmp_path / "x.bam", [GOOD] * 5)
    assert b"".join(stream_records(path)) == GOOD.encoded() * 5
    assert reads_of(path, tmp_path) == 5
    unmapped = RawRecord(flag=4, contig=-1, position=-1, cigar=())
    assert b"".join(stream_records(raw_bam(path, [unmapped]))) == unmapped.encoded()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"text": b"HD\tVN:1.6\n"}, "a line without '@'|header cannot be read"),
        ({"text": b"@HD\tVN:1.6\n\xff\xfe\n"}, "not text|header cannot be read"),
        ({"text_bytes": -5}, "impossible number|header cannot be read"),
        ({"contig_count": -1}, "impossible number|header cannot be read"),
        ({"name_bytes": 0}, "impossible number|header cannot be read"),
        ({"name_bytes": -1}, "impossible number|header cannot be read"),
        ({"name_bytes": 5}, "name without end|header cannot be read"),
        ({"contig_bytes": -7}, "negative length|header cannot be read"),
        ({"contig": b"o\te\0"}, "control character|header cannot be read"),
        ({"contig": b"on\n\0"}, "control character|header cannot be read"),
        ({"text_bytes": 2**31 - 1}, "ends in its header|header cannot be read"),
        ({"contig_count": 2**31 - 1}, "header"),
    ],
)
def test_a_wrong_header_is_one_sentence(tmp_path: Path, header: dict, words: str) -> None:
    path = raw_bam(tmp_path / "x.bam", [GOOD], **header)
    with pytest.raises(InputError, match=rf"x\.bam: .*({words})"):
        stream_records(path)
    with pytest.raises(InputError, match=rf"x\.bam: .*({words})"):
        reads_of(path, tmp_path)


def test_no_change_of_a_byte_reads_beyond_the_records() -> None:
    """Records with random bytes are either refused, or every part of them is within its record."""
    generator, refused = random.Random(1), 0
    whole = GOOD.encoded() * 3
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(generator.choice([1, 1, 4])):
            data[generator.randrange(len(data))] = generator.randrange(256)
        try:
            records = checked_records(np.frombuffer(data, np.uint8), 1)
        except WrongRecord:
            refused += 1
            continue
        fixed = records.fixed
        used = (
            36 + fixed["name_bytes"].astype(int) + 4 * fixed["operations"] + (fixed["bases"] + 1) // 2 + fixed["bases"]
        )
        assert (used <= fixed["block_size"] + 4).all()
        assert int(fixed["block_size"].sum()) + 4 * len(fixed) == len(data)
    assert 800 < refused < 2500
