"""BED files: intervals, and errors that name the line."""

from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.bed import read_bed

from tests.support.builders import write_text

CONTIGS = {"chr1": 50_000, "chr2": 900, "tracker*1": 30}


@pytest.mark.parametrize("compression", ["plain", "gzip"])
def test_intervals_stand_in_the_order_of_the_file(tmp_path: Path, compression: str) -> None:
    text = (
        "\ufeffbrowser position chr1\n# made by hand\ntrack name=x\ntracker*1\t0\t30\r\n"
        "chr1\t100\t300\tname\nchr1 200 400\nchr2\t5\t5\n\nchr1\t0 \t 1\n"
    )
    bed = write_text(tmp_path / "a.bed", text, compression)
    assert read_bed(bed, CONTIGS) == [("tracker*1", 0, 30), ("chr1", 100, 300), ("chr1", 200, 400), ("chr1", 0, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t1\t2\n1\t5\t9\n", r"line 2: unknown contig '1'; the reference calls it 'chr1'"),
        ("chrX\t5\t9\n", r"line 1: unknown contig 'chrX'; the reference has no such contig"),
        ("chr1\t5\n", r"line 1: expected contig, start and end"),
        ("@HD\tVN:1.6\n@SQ\tSN:chr1\n", r"line 1: this is an interval list .* gatk IntervalListToBed"),
        ("chr1\tx\t9\n", r"line 1: expected contig, start and end"),
        ("chr1\t-5\t9\n", r"line 1: expected contig, start and end"),
        ("chr1\t9\t5\n", r"line 1: the start 9 is after the end 5"),
        ("chr2\t9\t901\n", r"line 1: the end 901 is beyond contig 'chr2' \(900 bases\)"),
        ("", r"holds no intervals"),
        ("# nothing\nchr1\t5\t5\n", r"holds no intervals"),
    ],
)
def test_mistakes_in_a_bed_are_named(tmp_path: Path, text: str, message: str) -> None:
    bed = write_text(tmp_path / "a.bed", text)
    with pytest.raises(InputError, match=message) as error:
        read_bed(bed, CONTIGS)
    assert str(error.value).startswith(str(bed))


def test_missing_and_binary_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.bed: cannot be read"):
        read_bed(tmp_path / "absent.bed", CONTIGS)
    binary = tmp_path / "reads.bam"
    binary.write_bytes(b"BAM\x01\x00\xff\n")
    with pytest.raises(InputError, match=r"reads\.bam: line 1: expected contig, start and end"):
        read_bed(binary, CONTIGS)
