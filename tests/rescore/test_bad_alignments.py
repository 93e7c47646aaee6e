"""Foreign alignments that cannot be called: one sentence each, and no output."""

import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.errors import InputError
from quire.rescore.job import Output, open_job

from tests.support.calling import call_gvcf, call_variants
from tests.support.defaults import default_settings
from tests.support.gvcf import REAL

SETTINGS = default_settings("rescore")
INTERVALS = [("chr22_8kb", 0, 8000)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the packed reference, with its plain FASTA next to it."""
    root = tmp_path_factory.mktemp("world")
    reference_stage.build(REAL / "genome.fa.gz", root / "reference", 1 << 20)
    with pysam.BGZFile(str(REAL / "genome.fa.gz"), "rb", None) as stream:
        (root / "genome.fa").write_bytes(b"\n".join(stream) + b"\n")
    return root / "reference"


def rewritten(target: Path, header: Callable[[str], str], order: Callable[[list], list] = list) -> Path:
    """Copy the real BAM with another header and its records in another order, without an index."""
    with pysam.AlignmentFile(str(REAL / "A.bam")) as stream:
        text = header(str(stream.header))
        lines = order([record.to_string() for record in stream.fetch(until_eof=True)])
    parsed = pysam.AlignmentHeader.from_text(text)
    with pysam.AlignmentFile(str(target), "wb", header=parsed) as stream:
        for line in lines:
            stream.write(pysam.AlignedSegment.fromstring(line, parsed))
    return target


def with_lines(replace: Callable[[str], str | None]) -> Callable[[str], str]:
    """Return a function that changes a header line by line; None drops a line."""

    def change(text: str) -> str:
        lines = [replace(line) for line in text.splitlines()]
        return "".join(f"{line}\n" for line in lines if line is not None)

    return change


def groupless(line: str) -> str | None:
    return None if line.startswith("@RG") else line


def two_samples(line: str) -> str:
    return f"{line}\n@RG\tID:other\tSM:B" if line.startswith("@RG") else line


def nameless(line: str) -> str:
    return "@RG\tID:A" if line.startswith("@RG") else line


def other_contig(line: str) -> str:
    return line.replace("LN:8000", "LN:8001")


def by_name(line: str) -> str:
    return line.replace("SO:coordinate", "SO:queryname")


def unsorted(line: str) -> str:
    return line.replace("SO:coordinate", "SO:unsorted")


HEADERS: dict[str, tuple[Callable[[str], str | None], str]] = {
    "no read groups": (groupless, "has no read groups, .*; add one of sample A with samtools addreplacerg"),
    "a second sample": (two_samples, "its read group 'other' is of sample B and not of A"),
    "a group without a sample": (nameless, "its read group 'A' is of no sample and not of A"),
    "another contig": (other_contig, r"its contig 'chr22_8kb' \(8001 bases\) is not in the reference"),
    "sorted by name": (by_name, r"is not sorted by coordinate \(SO:queryname\); run samtools sort"),
}


def refused(reference: Path, bam: Path, sentence: str, fasta: Path | None = None, sample: str = "A") -> None:
    """Assert that both modes refuse it with a sentence that names the file, and write nothing."""
    entry = {"sample": sample, "ploidy": 2, "bam": bam}
    part, ledger = bam.with_suffix(".vcf.gz"), bam.with_suffix(".json")
    for function in (call_variants, call_gvcf):
        with pytest.raises(InputError, match=sentence) as caught:
            function(reference, [entry], INTERVALS, part, SETTINGS, ledger, fasta=fasta)
        assert str(caught.value).startswith(f"{bam}: ")
        assert str(caught.value).count(". ") == 0
        assert not part.exists()
        assert not ledger.exists()


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, reference: Path, tmp_path: Path) -> None:
    change, sentence = HEADERS[name]
    bam = rewritten(tmp_path / "reads.bam", with_lines(change))
    pysam.index(str(bam))
    refused(reference, bam, sentence)


def test_the_row_of_another_sample(reference: Path, tmp_path: Path) -> None:
    shutil.copy(REAL / "A.bam", tmp_path / "A.bam")
    pysam.index(str(tmp_path / "A.bam"))
    refused(reference, tmp_path / "A.bam", "its read group 'A' is of sample A and not of father", sample="father")


def test_unsorted_and_unindexed(reference: Path, tmp_path: Path) -> None:
    backward = rewritten(tmp_path / "backward.bam", with_lines(unsorted), lambda lines: lines[::-1])
    refused(reference, backward, r"is not sorted by coordinate \(SO:unsorted\)")
    bare = rewritten(tmp_path / "bare.bam", str)
    refused(reference, bare, "has no index beside it; run samtools index on it")
    pysam.index(str(bare))
    lying = rewritten(tmp_path / "lying.bam", str, lambda lines: [*lines[50:100], *lines[:50], *lines[100:]])
    shutil.copy(f"{bare}.bai", f"{lying}.bai")
    refused(reference, lying, "its records at chr22_8kb:1-8000 are not sorted, though it has an index; run samtools")


@pytest.mark.parametrize("suffix", ["bam", "cram"])
def test_truncated(suffix: str, reference: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / f"whole.{suffix}", tmp_path / f"cut.{suffix}"
    fasta = reference.with_name("genome.fa")
    pysam.samtools.view("-O", suffix, "-T", str(fasta), "-o", str(whole), str(REAL / "A.bam"), catch_stdout=False)
    index = "crai" if suffix == "cram" else "bai"
    pysam.index("-o", f"{cut}.{index}", str(whole))
    for size in (len(whole.read_bytes()) - 1, len(whole.read_bytes()) // 2, 100):
        cut.write_bytes(whole.read_bytes()[:size])
        refused(reference, cut, "lacks the empty block that closes it; it is truncated, copy it again", fasta)


def test_cram_without_its_reference(reference: Path, tmp_path: Path) -> None:
    cram, fasta = tmp_path / "reads.cram", reference.with_name("genome.fa")
    pysam.samtools.view("-C", "-T", str(fasta), "-o", str(cram), str(REAL / "A.bam"), catch_stdout=False)
    pysam.index(str(cram))
    refused(reference, cram, "is a CRAM, which is read with its reference; give the reference's FASTA too")
    other = tmp_path / "other.fa"
    other.write_text(fasta.read_text().replace("A", "C"))
    refused(reference, cram, "cannot be read at", other)


def test_no_alignment(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "text.bam").write_text("reads")
    refused(reference, tmp_path / "text.bam", "cannot be read as BAM or CRAM")
    refused(reference, tmp_path / "none.bam", "cannot be read as BAM or CRAM")


def test_more_samples_than_the_usual_limit_of_open_files(reference: Path, tmp_path: Path) -> None:
    """A process may open 1,024 files unless it asks for more, and each sample is one."""
    bam = shutil.copy(REAL / "A.bam", tmp_path)
    pysam.index(str(bam))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/proc/self/fd")) + 20, limits[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, few)
        samples = [{"sample": "A", "ploidy": 2, "bam": bam}] * 40
        assert len(open_job(Output.VARIANTS, reference, samples, SETTINGS | {"filters": {}}).samples) == 40
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
