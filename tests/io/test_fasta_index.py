"""A .fai that does not describe its FASTA is ignored; htslib would read other bases with it, or crash."""

from pathlib import Path

import pysam
import pytest
from quire.io.fasta_index import indexed_fasta

FASTA = ">one x\nACGTA\nACG\n>two\nAC\n"
RIGHT = "one\t8\t7\t5\t6\ntwo\t2\t22\t2\t3\n"
WRONG = {
    "empty": "",
    "one contig less": "one\t8\t7\t5\t6\n",
    "another length": RIGHT.replace("two\t2", "two\t3"),
    "another name": RIGHT.replace("two", "too"),
    "longer lines": RIGHT.replace("5\t6", "8\t10"),
    "begins before its title": RIGHT.replace("8\t7", "8\t0"),
    "beyond the file": RIGHT.replace("8\t7", "8\t100000000000000"),
    "beyond 64 bits": RIGHT.replace("8\t7", "8\t" + 40 * "9"),
    "negative lines": RIGHT.replace("5\t6", "-5\t-4"),
    "lines of no bases": RIGHT.replace("5\t6", "0\t1"),
    "no numbers": "one two\n",
}


def indexed(folder: Path, index: str) -> Path:
    """Return the FASTA that is used, given this .fai, after its bases were compared."""
    fasta, scratch = folder / "genome.fa", folder / "scratch"
    fasta.write_text(FASTA)
    Path(f"{fasta}.fai").write_text(index)
    scratch.mkdir()
    used = indexed_fasta(fasta, scratch)
    with pysam.FastaFile(str(used)) as stream:
        assert {name: stream.fetch(name) for name in stream.references} == {"one": "ACGTAACG", "two": "AC"}
    return used


def test_a_right_index_is_used(tmp_path: Path) -> None:
    assert indexed(tmp_path, RIGHT).parent == tmp_path


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_index_is_ignored(fault: str, tmp_path: Path) -> None:
    assert indexed(tmp_path, WRONG[fault]).parent == tmp_path / "scratch"
