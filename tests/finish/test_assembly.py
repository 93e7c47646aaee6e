"""Another name of the assembly in the header of a finished file: as if it was finished with this name."""

import os
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from quire.finish.earlier_cpu import keep_assembly
from quire.finish.sample import SampleFormat, convert_alignments, name_assembly
from quire.io.bam.index import BinIndex, open_index
from quire.io.files import read_json

from tests.finish.test_earlier import finished, taken_back
from tests.finish.test_finish import CONTIGS, finish, random_lines, records
from tests.support.builders import write_fasta

OLD = 1_000_000_000  # a time stamp


def lines_of(pairs: int) -> Callable[[int, str], list[str]]:
    """Return the function that makes a unit's lines for `finished`."""
    return lambda seed, unit: random_lines(seed, unit, pairs)


def offsets(alignments: Path) -> list[object]:
    """Return where records begin by the index, which htslib and Quire write alike; ends of blocks have two forms."""
    index = open_index(alignments)
    return index.bins if isinstance(index, BinIndex) else [windows.tolist() for windows in index.offsets]


@pytest.mark.parametrize("index", ["bai", "csi"])
def test_a_bam_is_that_of_a_new_run(index: str, tmp_path: Path) -> None:
    """A name is added, changed and removed, and the other index written; time stamps stay."""
    units = finished(tmp_path, lines_of(4000), index=index)
    output = tmp_path / "out/S.bam"
    (tmp_path / "new").mkdir()
    for name in ("GRCh38", "another \\1 name", ""):
        os.utime(output, (OLD, OLD))
        name_assembly(output, name, 2)
        assert output.stat().st_mtime == OLD
        with pysam.AlignmentFile(str(output)) as file:
            assert [contig.get("AS", "") for contig in file.header.to_dict()["SQ"]] == [name] * file.nreferences
            assert sum(1 for _ in file.fetch("chr1", 1000, 2000)) > 1000
        new = finish(tmp_path / "new", units, index=index, assembly=name)
        assert output.read_bytes() == new.read_bytes()
        assert offsets(output) == offsets(new)
    other = "csi" if index == "bai" else "bai"
    convert_alignments(output, output, SampleFormat("bam", other, tmp_path), 2)
    finish(tmp_path / "new", units, index=other)
    for alignments in (output, new):
        Path(f"{alignments}.{index}").unlink()
    assert offsets(output) == offsets(new)
    assert not list((tmp_path / "out").glob(".*"))


def test_units_are_taken_back_after_the_change(tmp_path: Path) -> None:
    """The kept units belong to the file with the new header, and keep their time stamp."""
    unit = finished(tmp_path, lines_of(100))[0]
    kept, output = tmp_path / "out/units.json", tmp_path / "out/S.bam"
    os.utime(kept, (OLD, OLD))
    os.utime(output, (OLD, OLD))
    name_assembly(output, "GRCh38", 1)
    assert not taken_back(tmp_path, unit, tmp_path / "back")
    keep_assembly(kept, output, "GRCh38")
    assert (read_json(kept)["assembly"], kept.stat().st_mtime) == ("GRCh38", OLD)
    assert taken_back(tmp_path, unit, tmp_path / "back")


def test_a_cram(tmp_path: Path) -> None:
    """Records, reference and index stay; only the name is added."""
    units = finished(tmp_path, lines_of(400))
    fasta = write_fasta(tmp_path / "genome.fa", {name: "A" * length for name, length in CONTIGS.items()})
    cram = finish(tmp_path, units, fasta, output=tmp_path / "out/S.cram", format="cram")
    before = records(cram, reference_filename=str(fasta))
    name_assembly(cram, "GRCh38", 1)
    assert records(cram, reference_filename=str(fasta)) == before
    with pysam.AlignmentFile(str(cram), reference_filename=str(fasta)) as file:
        contigs = file.header.to_dict()["SQ"]
        first = contigs[0]["SN"]
        assert [(contig["AS"], contig["UR"]) for contig in contigs] == [("GRCh38", str(fasta))] * len(contigs)
        assert sum(1 for _ in file.fetch(first)) == sum(line.split("\t")[2] == first for line in before)
