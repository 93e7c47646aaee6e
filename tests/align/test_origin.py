"""Digest of a unit's inputs: a damaged manifest is refused before anything is mapped or taken back."""

import random
from pathlib import Path

import pytest
from quire.align.origin import origin_of
from quire.align.read_ends import Clipping
from quire.align.unit_files import UnitInputs
from quire.errors import InputError
from quire.index import build as build_index
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles
from quire.reference import build as build_reference

from tests.support.builders import random_bases, write_fasta
from tests.support.index_builders import INDEX_PARAMETERS


@pytest.mark.parametrize("damaged", ["reference", "page"])
def test_a_damaged_manifest_is_one_sentence(damaged: str, tmp_path: Path) -> None:
    fasta = write_fasta(tmp_path / "genome.fa", {"one": random_bases(random.Random(1), 500)})
    build_reference(fasta, tmp_path / "reference", 4096)
    build_index(tmp_path / "reference", 0, tmp_path / "page", INDEX_PARAMETERS)
    inputs = UnitInputs(tmp_path / "reference", [tmp_path / "page"], ReadFiles([], []), fasta)
    group = ReadGroup("S", "u", "L", "ILLUMINA")
    assert len(origin_of(inputs, group, Clipping(), "none", "program")) == 64
    manifest = tmp_path / damaged / "manifest.json"
    whole = manifest.read_bytes()
    for at in (0, len(whole) // 2):
        manifest.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match=rf"{damaged}/manifest\.json: .* again\.$"):
            origin_of(inputs, group, Clipping(), "none", "program")
