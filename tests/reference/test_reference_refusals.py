"""FASTA files and reference directories that must be refused, and the messages."""

import gzip
import json
import os
import random
from pathlib import Path

import pytest
from quire import reference
from quire.errors import InputError, QuireError
from quire.reference import Reference, fasta, storage

from tests.support.builders import random_bases, write_fasta, write_text
from tests.support.open_files import open_files

PROTEIN = "MKVLAAGIVGLCAKAYEHPQRSTWNDFI"
# A protein whose letters all happen to be nucleotide codes.
SNEAKY_PROTEIN = "MKVHSARTDGWYVKSMHDVRKS"
BAD_TEXTS = {
    "": "is empty",
    "\n \n\r\n": "is empty",
    "Dear diary,\n": r"is not FASTA: it starts with 'Dear diary,' instead of '>'",
    "@read\nACGT\n+\nIIII\n": "it looks like FASTQ",
    f">p1\nACGT\n>sp|P1|X\n{PROTEIN}\n": r"line 4: the record 'sp\|P1\|X' looks like protein: 'L'",
    f">p\n{SNEAKY_PROTEIN}\n": "record 'p' looks like protein",
    ">a\nACGT\nAC-GT\n": "line 3: the record 'a' is not a nucleotide sequence: '-'",
    ">a\nAC\x00GT\n": r"'\\x00'",
    ">a\nACGT\n>b\nACGT\n>a extra\nAC\n": "line 5: the name 'a' is used twice",
    ">a\n>b\nACGT\n": "record 'a' has no sequence",
    ">a\nACGT\n>b": "record 'b' has no sequence",
    ">a\n \t\n\n>b\nACGT\n": "record 'a' has no sequence",
    ">\nACGT\n": "line 1: a record has no name",
    "\n \r\n>a\nACGT\nAC-GT\n": "line 5: the record 'a'",
    "\ufeff>a\nAC-GT\n": "line 2: the record 'a'",
    "> a\nACGT\n": "line 1: a record has no name",
    ">*a\nACGT\n": "not allowed in SAM",
    ">=a\nACGT\n": "not allowed in SAM",
    ">a(1)\nACGT\n": "not allowed in SAM",
    '>a"b\nACGT\n': "not allowed in SAM",
    ">caf\u00e9\nACGT\n": "not allowed in SAM",
    ">a\nNNNN\n>b\nNNNNNNNNNNNNNNNNNNNNNNNNNNNNN\n": "holds no A, C, G or T in 2 records",
}


@pytest.mark.parametrize(("text", "message"), BAD_TEXTS.items())
@pytest.mark.parametrize("compression", ["plain", "gzip"])
def test_bad_fasta(tmp_path: Path, text: str, message: str, compression: str) -> None:
    """One sentence that names the file and the record or line, and nothing is left behind."""
    source = write_text(tmp_path / "genome.fa", text, compression)
    with pytest.raises(InputError, match=message) as caught:
        reference.build(source, tmp_path / "out/reference", 4096)
    assert str(source) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path / "out") == []


def test_contig_too_long_for_bam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions of a BAM are int32."""
    monkeypatch.setattr(fasta, "LONGEST_CONTIG", 99)
    source = write_fasta(tmp_path / "genome.fa", {"a": "ACGT" * 24, "b": "ACGT" * 25})
    with pytest.raises(InputError, match="the record 'b' has more than 99 bases"):
        reference.build(source, tmp_path / "reference", 4096)


def test_a_refusal_leaves_no_file_open(tmp_path: Path) -> None:
    source = write_text(tmp_path / "genome.fa", ">a\nACGT\nAC-GT\n")
    with pytest.raises(InputError) as caught:
        reference.build(source, tmp_path / "reference", 4096)
    assert caught.value
    assert not open_files(tmp_path)


def test_missing_fasta_and_a_folder(tmp_path: Path) -> None:
    """The error names a file that cannot be opened."""
    for source in (tmp_path / "missing.fa", tmp_path):
        with pytest.raises(InputError, match=f"{source}: cannot be read"):
            reference.build(source, tmp_path / "reference", 4096)


@pytest.mark.parametrize("compression", ["gzip", "bgzip"])
def test_truncated_gzip_at_any_place(tmp_path: Path, compression: str) -> None:
    """Cut in the middle, in the checksum, and before the empty last block of bgzip."""
    contigs = {"x": random_bases(random.Random(5), 200_000)}
    whole = write_fasta(tmp_path / "whole.fa.gz", contigs, compression=compression).read_bytes()
    source = tmp_path / "cut.fa.gz"
    for kept in (len(whole) // 2, len(whole) - 28, len(whole) - 3, 20, 5):
        source.write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"cut.fa.gz: .*(truncated|damaged|empty)"):
            reference.build(source, tmp_path / "reference", 4096)
        assert not (tmp_path / "reference").exists()


def test_damaged_gzip(tmp_path: Path) -> None:
    """A flipped byte in the compressed stream."""
    content = bytearray(gzip.compress(b">x\n" + random_bases(random.Random(5), 50_000).encode()))
    content[5000] ^= 0xFF
    source = tmp_path / "genome.fa.gz"
    source.write_bytes(content)
    with pytest.raises(InputError, match=r"genome.fa.gz: the gzip stream is damaged"):
        reference.build(source, tmp_path / "reference", 4096)


def test_unwritable_directory(tmp_path: Path) -> None:
    """There is a file in place of the folder."""
    source = write_fasta(tmp_path / "genome.fa", {"x": "ACGT"})
    (tmp_path / "file").write_text("")
    with pytest.raises(QuireError, match="cannot be written"):
        reference.build(source, tmp_path / "file/reference", 4096)


def test_an_older_reference_survives_a_failure(tmp_path: Path) -> None:
    """A bad FASTA does not replace what was built before."""
    reference.build(write_fasta(tmp_path / "good.fa", {"x": "ACGT"}), tmp_path / "reference", 4096)
    with pytest.raises(InputError):
        reference.build(write_text(tmp_path / "bad.fa", "text"), tmp_path / "reference", 4096)
    assert Reference.open(tmp_path / "reference").contig_names == ["x"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Build a small reference directory of tmp_path/genome.fa."""
    source = write_fasta(tmp_path / "genome.fa", {"x": random_bases(random.Random(2), 5000) + "NNACGT"})
    reference.build(source, tmp_path / "reference", 4096)
    return tmp_path / "reference"


def edit_manifest(directory: Path, key: str, value: object, sign: bool) -> None:
    """Change one entry of a manifest, with or without a fitting checksum."""
    path = directory / storage.MANIFEST
    manifest = json.loads(path.read_text())
    manifest[key] = value
    if sign:
        manifest["manifest_checksum"] = storage._manifest_checksum(manifest)
    path.write_text(json.dumps(manifest))


def test_wrong_format_version(directory: Path) -> None:
    """Another version is refused by name."""
    edit_manifest(directory, "format_version", 99, sign=True)
    with pytest.raises(InputError, match="format version 99, this program reads version 1"):
        Reference.open(directory)


def test_edited_and_missing_manifest(directory: Path) -> None:
    """The manifest has a checksum of its own."""
    edit_manifest(directory, "page_size", 8192, sign=False)
    with pytest.raises(InputError, match=r"manifest.json: does not match its own checksum"):
        Reference.open(directory)
    (directory / storage.MANIFEST).write_text("{")
    with pytest.raises(InputError, match=r"manifest.json: is not a manifest of Quire"):
        Reference.open(directory)
    (directory / storage.MANIFEST).unlink()
    with pytest.raises(InputError, match=r"manifest.json: cannot be read"):
        Reference.open(directory)


@pytest.mark.parametrize("name", ["text", "ambiguous"])
def test_one_flipped_byte(directory: Path, name: str) -> None:
    """A damaged array is refused by name, even when it was read whole before in this process."""
    path = directory / f"{name}.npy"
    os.utime(path, ns=(10**18, 10**18))
    Reference.open(directory)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}.npy: does not match its checksum"):
        Reference.open(directory)


def test_arrays_are_read_once_a_process(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second opening of settled files costs no reading; a change of the time stamp does."""
    path = directory / "text.npy"
    os.utime(path, ns=(10**18, 10**18))
    first = storage.checksum_of_file(path)
    monkeypatch.setattr(storage, "_READ_SIZE", None)
    assert storage.checksum_of_file(path) == first
    os.utime(path, ns=(10**18, 10**18 + 1))
    monkeypatch.setattr(storage, "_READ_SIZE", 4)
    assert storage.checksum_of_file(path) == first


def test_cut_and_missing_arrays(directory: Path) -> None:
    """Found without checksums too."""
    path = directory / "text.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"text.npy: is not a whole array file"):
        Reference.open(directory, verify=False)
    path.unlink()
    with pytest.raises(InputError, match=r"text.npy: cannot be read"):
        Reference.open(directory)


def test_fasta_changed_after_building(directory: Path, tmp_path: Path) -> None:
    """Other wrapping, case, compression and place are the same reference; one other base or name is not."""
    source = tmp_path / "genome.fa"
    text = source.read_text()
    Reference.open(directory, fasta=source)
    same = write_text(tmp_path / "same.fa.gz", text.lower().replace(">x", ">x again"), "gzip")
    Reference.open(directory, fasta=same)
    for changed in (text[:-2] + "A\n", text.replace(">x", ">y"), text + "A\n"):
        source.write_text(changed)
        with pytest.raises(InputError, match=r"genome.fa: .* was built from other sequences"):
            Reference.open(directory, fasta=source)
    with pytest.raises(InputError, match=r"missing.fa: cannot be read"):
        Reference.open(directory, fasta=tmp_path / "missing.fa")
