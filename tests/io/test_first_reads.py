"""Checks of the first reads of a FASTQ file: interleaved mates, and qualities of Phred+64."""

import random
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.first_reads import examine, first_name, flowcell_and_lane, require_as_declared

from tests.support.builders import Read, random_read, write_fastq

MALFORMED = Path(__file__).parents[1] / "data" / "malformed" / "biopython_fastq"


def fastq(folder: Path, titles: list[str], lowest: int = 33, highest: int = 74, compression: str = "plain") -> Path:
    """Write a FASTQ of reads with these titles and letters of qualities."""
    generator = random.Random(4)
    reads = [random_read(generator, title, 40) for title in titles]
    letters = [chr(lowest), chr(highest), *(chr(generator.randint(lowest, highest)) for _ in range(38))]
    return write_fastq(
        folder / "reads.fq", [Read(read.name, read.bases, "".join(letters)) for read in reads], compression
    )


IN_TURN = {
    "slashes": ["a/1", "a/2", "b/1", "b/2"],
    "Casava 1.8": ["a 1:N:0:ACGT", "a 2:N:0:ACGT", "b 1:N:0:ACGT", "b 2:N:0:ACGT"],
    "after a tab": ["a\t1:N:0", "a\t2:N:0"],
    "one pair among single reads": ["x/1", "y/1", "a/1", "a/2"],
    "no marks": ["SRR1.1 1 length=40", "SRR1.1 1 length=40", "SRR1.2 2 length=40", "SRR1.2 2 length=40"],
    "no marks and the last read cut off": ["a", "a", "b", "b", "c"],
}
NOT_IN_TURN = {
    "first mates": ["a/1", "b/1", "c/1"],
    "second mates": ["a 2:N:0", "b 2:N:0"],
    "one read": ["a/1"],
    "one name for all": ["read", "read", "read", "read"],
    "a read given twice": ["a", "b", "b", "c"],
    "mates the other way round": ["a/1", "b/2", "b/1", "c/2"],
}


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzip"])
@pytest.mark.parametrize("name", IN_TURN)
def test_mates_in_turn(name: str, compression: str, tmp_path: Path) -> None:
    path = fastq(tmp_path, IN_TURN[name], compression=compression)
    titles = IN_TURN[name]
    record = 3 if name.startswith("one pair") else 1
    first = examine(path)
    assert (first.reads, first.interleaved_at) == (len(titles), record)
    assert first.name == titles[record - 1].split()[0].removesuffix("/1")
    with pytest.raises(InputError, match=rf"records {record} and {record + 1} are the two mates of .* say yes in the"):
        require_as_declared(path, False, "", False)
    with pytest.raises(InputError, match="give this file alone, as fq1, with yes in the column interleaved"):
        require_as_declared(path, False, "", True)
    require_as_declared(path, True, "", False)


@pytest.mark.parametrize("name", NOT_IN_TURN)
def test_reads_that_are_not_in_turn(name: str, tmp_path: Path) -> None:
    path = fastq(tmp_path, NOT_IN_TURN[name])
    assert examine(path).interleaved_at == 0
    require_as_declared(path, False, "", False)


@pytest.mark.parametrize(
    ("lowest", "highest", "phred64"),
    [
        ("!", "J", False),  # Illumina 1.8
        ("F", "F", False),  # NovaSeq: a first read of high quality throughout
        ("#", "S", False),  # AVITI, Q2 to Q50
        ("!", "~", False),  # consensus reads
        ("B", "h", True),  # Illumina 1.5
        ("@", "h", True),  # Illumina 1.3
        (";", "h", True),  # Solexa
    ],
)
def test_qualities(lowest: str, highest: str, phred64: bool, tmp_path: Path) -> None:
    path = fastq(tmp_path, ["a", "b"], ord(lowest), ord(highest))
    assert examine(path).phred64 is phred64
    for said in ("phred33", "phred64"):
        require_as_declared(path, False, said, False)
    if phred64:
        with pytest.raises(
            InputError, match=f"units, fq1: .*go from '{lowest}' to '{highest}', which suggests Phred.64"
        ):
            require_as_declared(path, False, "", False, "units, fq1")
    else:
        require_as_declared(path, False, "", False)


def test_files_that_are_damaged_or_wrong_are_left_to_the_reader(tmp_path: Path) -> None:
    """Reads before the damage are examined."""
    path = fastq(tmp_path, ["a/1", "a/2", "b/1", "b/2"] * 2000, compression="gzip")
    path.write_bytes(path.read_bytes()[:-3000])
    assert examine(path).interleaved_at == 1
    for malformed in MALFORMED.glob("*.fastq"):
        examine(malformed)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A00296:43:HCLHLDSXX:2:2670:29252:13385", "HCLHLDSXX.2"),
        ("M01234:5:000000000-A1B2C:1:1101:15589:1332:ACGTACGT", "000000000-A1B2C.1"),
        ("HWUSI-EAS100R:6:73:941:1973#0", ""),
        ("SRR062634.1", ""),
        ("V350012345L1C001R0010000001", ""),
        ("", ""),
    ],
)
def test_flowcell_and_lane(name: str, expected: str, tmp_path: Path) -> None:
    assert flowcell_and_lane(name) == expected
    if name:
        assert first_name(fastq(tmp_path, [f"{name} 1:N:0:ACGT", "another"], compression="gzip")) == name
