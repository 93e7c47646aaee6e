"""Records of short contigs, which are decoded together from a CRAM, and one by one from a BAM."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.io.bam import regions
from quire.io.bam.regions import IndexedAlignments
from quire.run.job import describe

NAMES = ["a", "#b", "HLA-A*01:01:01", "track", "c,d", "e", "long", "f", "empty", "g"]
LENGTHS = {name: 2000 if name == "long" else 300 for name in NAMES}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Write reads of all contigs but one to a BAM and a CRAM, and their FASTA."""
    generator = np.random.default_rng(1)
    letters = {name: "".join(generator.choice(list("ACGT"), length)) for name, length in LENGTHS.items()}
    fasta, bam, cram = (tmp_path / f"reads.{suffix}" for suffix in ("fa", "bam", "cram"))
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in letters.items()))
    lengths = [{"SN": name, "LN": length} for name, length in LENGTHS.items()]
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": lengths})
    with pysam.AlignmentFile(str(bam), "wb", header=header) as out:
        for number, (name, bases) in enumerate(letters.items()):
            for start in range(0, 0 if name == "empty" else len(bases) - 50, 7):
                read = pysam.AlignedSegment(header)
                read.query_name, read.query_sequence, read.cigartuples = (
                    f"{name}_{start}",
                    bases[start:][:50],
                    [(0, 50)],
                )
                read.reference_id, read.reference_start, read.mapping_quality = number, start, 60
                out.write(read)
    pysam.samtools.view("-C", "-T", str(fasta), "-o", str(cram), str(bam), catch_stdout=False)
    for path in (bam, cram):
        pysam.index(str(path))
    return bam, cram, fasta


@pytest.mark.parametrize("together", [1, 700, 1_000_000])
def test_contigs_decoded_together(
    files: tuple[Path, Path, Path], together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bam, cram, fasta = files
    monkeypatch.setattr(regions, "_BASES_TOGETHER", together)
    monkeypatch.setattr(regions, "_BYTES_TOGETHER", 1 << 40)
    calls = []

    def view(_: str, *words: object) -> None:
        calls.append(words)
        pysam.samtools.view(*map(str, words), catch_stdout=False)

    monkeypatch.setattr(regions, "run_apart", view)
    expected, found = IndexedAlignments(bam), IndexedAlignments(cram, fasta)
    for name in [*NAMES, "a", "e"]:
        for start, end in ((0, LENGTHS[name]), (100, 150)):
            wanted, got = (source.records(name, start, end).fixed for source in (expected, found))
            assert len(wanted) == len(got)
            assert (wanted["position"] == got["position"]).all()
            assert (wanted["contig"] == got["contig"]).all()
    whole = len(calls) - 12  # of each part of a contig
    assert whole < 12 if together > 1 else whole == 12


def test_full_temporary_folder(
    files: tuple[Path, Path, Path], small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the temporary folder, its free space, and the variable that sets another one."""
    _, cram, fasta = files
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    (small_disk / "filling").write_bytes(bytes(shutil.disk_usage(small_disk).free - 8_000))
    with pytest.raises(OSError, match="No space left on device") as caught:
        IndexedAlignments(cram, fasta).records("long", 0, LENGTHS["long"])
    assert f"temporary folder {small_disk} (0.0 MB free; the variable TMPDIR names another)" in describe(caught.value)
    assert [path.name for path in small_disk.iterdir()] == ["filling"]
