"""The list of alternate contigs: as bwa takes it, and what is refused."""

import numpy as np
import pytest
from quire.errors import InputError
from quire.reference.alternate import read_alternate

CONTIGS = ["chr1", "chr6", "chr6_GL000250v2_alt", "HLA-A*01:01:01:01", "decoy"]
SAM = "@SQ\tSN:chr6\tLN:9\nchr6_GL000250v2_alt\t0\tchr6\t28691470\t60\t9M\t*\t0\t0\t*\t*\tNM:i:0\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (SAM + "HLA-A*01:01:01:01\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n", [0, 0, 1, 1, 0]),
        ("HLA-A*01:01:01:01\r\n\nnot_in_this_reference\n", [0, 0, 0, 1, 0]),
        ("chr6_GL000250v2_alt", [0, 0, 1, 0, 0]),
    ],
    ids=["SAM", "names", "one name"],
)
def test_first_columns_name_alternate_contigs(tmp_path, text, wanted):
    path = tmp_path / "genome.fa.alt"
    path.write_bytes(text.encode())
    alternate = read_alternate(path, CONTIGS)
    assert alternate.dtype == np.uint8
    assert alternate.tolist() == wanted


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"chr7_alt\nchr8_alt\n", "none of its 2 names is a contig of the reference; give the list of"),
        (b"", "none of its 0 names"),
        ("\n".join(CONTIGS).encode(), "names all contigs of the reference; leave those of the primary assembly out."),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(tmp_path, content, sentence):
    path = tmp_path / "genome.fa.alt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_alternate(path, CONTIGS)
    assert str(refused.value).startswith(f"{path}: ")
    assert sentence in str(refused.value)
