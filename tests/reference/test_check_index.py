"""A configuration whose index was made of another FASTA, or is damaged, is refused before any job."""

import os
import shutil

import pytest
from quire import reference
from quire.errors import InputError
from quire.run.before_jobs import check_index


@pytest.fixture
def settings(tmp_path):
    fasta = tmp_path / "genome.fa"
    fasta.write_text(">one\n" + "ACGTTGCA" * 40 + "\n")
    reference.build(fasta, tmp_path / "index/reference", 1 << 20)
    return {"reference": {"fasta": str(fasta), "mask": "", "index_directory": str(tmp_path / "index")}}


def test_no_index_and_the_right_index_pass(settings, tmp_path):
    check_index(settings)
    check_index({"reference": {**settings["reference"], "index_directory": str(tmp_path / "none")}})
    os.utime(settings["reference"]["fasta"], (1, 1))  # the same content under another time stamp
    check_index(settings)


def test_unfinished_index_of_another_user_is_refused(settings, tmp_path, monkeypatch):
    """A missing page must be writable; a complete index need not be."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match=r"index/page_0 is not complete and cannot be written; wait for"):
        check_index(settings)
    page = tmp_path / "index/page_0"
    page.mkdir()
    with pytest.raises(InputError, match=r"index/page_0 is not complete"):
        check_index(settings)
    (page / "manifest.json").touch()
    check_index(settings)


def test_changed_fasta_is_refused(settings, tmp_path):
    (tmp_path / "genome.fa").write_text(">one\n" + "ACGTTGCC" * 40 + "\n")
    with pytest.raises(InputError, match=r"genome\.fa: .* was built from other sequences"):
        check_index(settings)


def test_another_mask_is_refused(settings, tmp_path):
    """A mask is another one if its file has other bytes."""
    mask, masked = tmp_path / "mask.bed", {"reference": settings["reference"] | {"mask": str(tmp_path / "mask.bed")}}
    mask.write_text("one\t100\t200\n")
    with pytest.raises(InputError, match=r"reference\.mask: .*/index/reference was built with another mask"):
        check_index(masked)
    shutil.rmtree(tmp_path / "index")
    reference.build(masked["reference"]["fasta"], tmp_path / "index/reference", 1 << 20, mask=mask)
    check_index(masked)
    mask.write_text("one\t100\t201\n")
    for given in (masked, settings):
        with pytest.raises(InputError, match=r"reference\.mask: "):
            check_index(given)


def test_damaged_manifest_is_refused(settings, tmp_path):
    manifest = tmp_path / "index/reference/manifest.json"
    manifest.write_text(manifest.read_text()[:100])
    with pytest.raises(
        InputError, match=r"index/reference/manifest\.json: is not a manifest of Quire; delete .*/index/reference and"
    ):
        check_index(settings)
