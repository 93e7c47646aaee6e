"""Evidence of breakpoints that finishing collects, against the pass over the finished file."""

from pathlib import Path

import numpy as np
import pysam
import pytest
from quire import reference
from quire.buckets import layout as buckets
from quire.buckets.file import BucketFile
from quire.errors import QuireError
from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import EvidenceCollector, read_evidence, usual_of_units, write_evidence
from quire.finish.marking import Marking
from quire.finish.sorting import Effort, SortedFile, sort_and_mark
from quire.io.files import write_json_atomic
from quire.reference import Reference
from quire.structural.evidence_cpu import collect

from tests.support.bucket_builders import buckets_of
from tests.support.no_counting import NoCounting
from tests.support.rearranged import write_bam
from tests.support.rearranged_genome import RearrangedGenome

USUAL = 437


@pytest.mark.parametrize("threads", [1, 3])
def test_finishing_collects_what_a_pass_over_its_file_does(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clips, pairs, parts of split reads and starts are equal, from many ranges and from several units."""
    monkeypatch.setattr(buckets, "LEAST_WIDTH", 5000)
    made, units = RearrangedGenome(), []
    made.write_fasta(tmp_path / "genome.fa")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    for number in range(2):
        aligned, named, bam = (tmp_path / f"{name}{number}.bam" for name in ("aligned", "named", "unit"))
        write_bam(aligned, made.genome, [made.rearranged], 15, "sample", number)
        pysam.sort("-n", "-o", str(named), str(aligned), catch_stdout=False)
        pysam.fixmate("--no-PG", "-m", str(named), str(bam), catch_stdout=False)
        units.append((BucketFile(buckets_of(bam)), number))
    packed, path = Reference.open(tmp_path / "reference"), tmp_path / "evidence.npz"
    collector, finished = EvidenceCollector(packed, USUAL), tmp_path / "finished.bam"
    sort_and_mark("sample", units, SortedFile(finished, None), Effort(threads, 100), NoCounting(), Marking(), collector)
    write_evidence(path, USUAL, collector)
    usual, found = read_evidence(path, packed)
    sample = FinishedSample("sample", finished, tmp_path / "reference", tmp_path / "genome.fa")
    expected = collect(sample, tmp_path / "scratch", threads, USUAL)
    assert usual == USUAL
    assert found is not None
    assert min(len(found.clips), len(found.pairs), len(found.split), found.starts.sum()) > 100
    for name in expected._fields:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_unwanted_evidence_leaves_the_usual_fragment(tmp_path: Path) -> None:
    """The largest of several units counts; one without pairs has the default."""
    model = {"pairs": 1000, "percentile_25": 300, "median": 400, "percentile_75": 500}
    for name, changed in (("one", {}), ("wide", {"percentile_75": 600}), ("single", {"pairs": 0})):
        write_json_atomic(tmp_path / f"{name}.json", {"FR": model | changed})
    assert usual_of_units([tmp_path / "one.json"]) == 400 + int(4 * 200 / 1.349)
    usual = usual_of_units([tmp_path / "one.json", tmp_path / "wide.json"])
    assert usual == 400 + int(4 * 300 / 1.349)
    assert usual_of_units([tmp_path / "single.json"]) == 1000
    (tmp_path / "genome.fa").write_text(f">one\n{'ACGT' * 100}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    packed, path = Reference.open(tmp_path / "reference"), tmp_path / "evidence.npz"
    write_evidence(path, usual, None)
    assert read_evidence(path, packed) == (usual, None)
    write_evidence(path, usual, EvidenceCollector(packed, usual))
    whole = path.read_bytes()
    (tmp_path / "genome.fa").write_text(f">one\n{'ACGT' * 100}\n>two\n{'ACGT' * 100}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "longer", 1 << 20)
    with pytest.raises(QuireError, match=r"evidence\.npz: cannot be used \(it is of another reference or version"):
        read_evidence(path, Reference.open(tmp_path / "longer"))
    for damaged in (whole[:-30], whole[:200] + b"damage" + whole[206:], b""):
        path.write_bytes(damaged)
        with pytest.raises(QuireError, match=r"evidence\.npz: cannot be used .*; delete it and run the workflow again"):
            read_evidence(path, packed)
