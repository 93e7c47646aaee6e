"""Addresses of inputs: where their copies lie, and which addresses are refused."""

from pathlib import Path
from typing import Any

import pytest
from quire.errors import InputError
from quire.run.remote import require_on_server, with_copies
from quire.run.sheets import Row


def settings(fasta: str = "genome.fa") -> dict[str, Any]:
    """Return the settings that decide copies."""
    return {"reference": {"fasta": fasta, "index_directory": "index"}, "align": {"format": "bam"}, "output": "out"}


def row(**files: str) -> Row:
    """Return a row of a sheet of units."""
    values = dict.fromkeys(("fq1", "fq2", "fq_umi", "bam", "interleaved", "may_be_empty", "qualities"), "") | files
    return Row("units.tsv", 2, values, {}, {key: key for key in values})


def test_copies_lie_below_the_output_and_the_index() -> None:
    """Folders that go up, credentials, queries and odd letters are not part of a copy's path."""
    given = settings("https://host:80/../../genome.fa")
    unit = row(fq1="here.fq,https://name:secret@host/a%20b/../c d.fq?key=x", fq2="http://host/e.fq,local.fq")
    remote = with_copies(given, [unit])
    assert given["reference"]["fasta"] == "index/inputs/host_80/genome.fa"
    assert unit.values["fq1"] == "here.fq,out/inputs/host/c_d.fq"
    assert unit.values["fq2"] == "out/inputs/host/e.fq,local.fq"
    assert {Path(copy).name: found.column for copy, found in remote.items()} == {
        "genome.fa": "",
        "c_d.fq": "fq1",
        "e.fq": "fq2",
    }
    assert remote["out/inputs/host/e.fq"].declared == {"interleaved": False, "qualities": "", "has_mates": True}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://../reads.fq", "names no file"),
        ("https:///reads.fq", "names no file"),
        ("s3://bucket", "names no file"),
        ("https://[host/reads.fq", "is no address"),
        ("https://host/{sample}.fq", "write these as %7B"),
    ],
)
def test_addresses_that_cannot_be_used(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        with_copies(settings(), [row(fq1=address)])
    assert str(raised.value).startswith(f"units.tsv, line 2, column fq1: {address} ")


def test_two_files_of_one_copy() -> None:
    with pytest.raises(InputError, match="have the same name"):
        with_copies(settings(), [row(fq1="https://host/a.fq?part=1,https://host/a.fq?part=2")])


def test_a_server_that_cannot_be_reached() -> None:
    remote = with_copies(settings(), [row(bam="https://host/a.bam")])["out/inputs/host/a.bam"]

    def exists() -> bool:
        raise OSError("no route to host")

    with pytest.raises(InputError, match=r"https://host/a.bam cannot be reached \(no route to host\); try again"):
        require_on_server(remote, exists)
    with pytest.raises(InputError, match="does not exist, or may not be read"):
        require_on_server(remote, lambda: False)
