"""Bad input that only a stage can detect: one sentence on the terminal, and no file under a final name."""

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from isal import igzip

from tests.workflow.runs import SMALL, SMALL_UNIT, Run, errors_of

pytestmark = pytest.mark.full

FIRST, SECOND = SMALL / "NA12878_R1.fastq.gz", SMALL / "NA12878_R2.fastq.gz"


def require_one_sentence(run: Run, expected: str, *arguments: str) -> None:
    """Run Snakemake; check that it fails with one sentence from Quire that contains `expected`, without a traceback."""
    result = run.snakemake(*arguments)
    assert result.returncode != 0, result.stdout
    errors = errors_of(result.stdout)
    assert len(errors) == 1, result.stdout
    assert result.stdout.splitlines()[-1] == errors[0]
    assert errors[0].startswith("quire: error: ")
    assert expected in errors[0]
    assert "Traceback" not in result.stdout
    assert "unexpected failure" not in result.stdout


def without_last_record(path: Path) -> bytes:
    """Return the FASTQ without its last record, uncompressed."""
    return b"".join(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:-4])


def renamed(path: Path) -> bytes:
    """Return the FASTQ with another name for record 1000, uncompressed."""
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    lines[4 * 999] = b"@somebody\n"
    return b"".join(lines)


READS: dict[str, tuple[bytes, str]] = {
    "truncated gzip": (SECOND.read_bytes()[:200_000], "truncated"),
    "truncated between gzip and its check": (SECOND.read_bytes()[:-8], "truncated"),
    "damaged gzip": (SECOND.read_bytes()[:100_000] + bytes(100) + SECOND.read_bytes()[100_100:], "damaged"),
    "one read fewer": (without_last_record(SECOND), "ends after record 4948"),
    "other names": (renamed(SECOND), "somebody"),
    "record cut short": (gzip.decompress(SECOND.read_bytes())[:-200], ""),
}


def test_reads(continued: Callable[[], Run]) -> None:
    """A bad second file of mates stops its unit each time; no output of an older run remains as its result."""
    run = continued()
    names = ["NA12878", *(f"S{number}" for number in range(1, len(READS)))]
    run.samples = [{"sample": name, "ploidy": "2"} for name in names]
    run.units = []
    for name, (content, _) in zip(names, READS.values(), strict=True):
        shutil.copy(FIRST, run.folder / f"{name}_R1.fastq.gz")
        (run.folder / f"{name}_R2.fastq").write_bytes(content)
        run.units.append({**SMALL_UNIT, "sample": name, "fq1": f"{name}_R1.fastq.gz", "fq2": f"{name}_R2.fastq"})
    run.write()
    for _ in range(2):
        result = run.snakemake("--keep-going")
        assert result.returncode != 0
        *errors, last = errors_of(result.stdout)
        assert last.startswith("quire: error: failed: NA12878, S1, S2, S3, S4, S5 (6 of 6 samples);")
        assert last == result.stdout.splitlines()[-1]
        assert len(errors) == len(READS), result.stdout
        for name, (_, expected) in zip(names, READS.values(), strict=True):
            (error,) = (one for one in errors if f"{name}_R2.fastq" in one)
            assert expected in error
        assert "Traceback" not in result.stdout
        assert "unexpected failure" not in result.stdout
    assert not list(run.output.glob("align/units/*.buckets"))
    assert not (run.output / "ledger/NA12878.lane_1.json").exists()


FASTAS: dict[str, tuple[bytes, str]] = {
    "protein": (b">p\nMKVLAEFQPLIWERTYHS\n", "genome.fa"),
    "text below a header": (b">chr1\nthis is no sequence!\n", "genome.fa"),
    "header alone": (b">chr1\n", "genome.fa"),
    "duplicate contigs": (b">chr1\nACGTACGT\n>chr1\nACGTTTTT\n", "chr1"),
    "truncated gzip": ((SMALL / "genome.fa.gz").read_bytes()[:6000], "truncated"),
}


@pytest.mark.parametrize("name", FASTAS)
def test_reference(name: str, tmp_path: Path) -> None:
    """An invalid FASTA stops the reference before an index is written."""
    content, expected = FASTAS[name]
    (tmp_path / "genome.fa").write_bytes(content)
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa"}})
    require_one_sentence(run, expected, "reference_index")
    assert not list(run.output.glob("index/*"))


@pytest.mark.parametrize(
    ("key", "content", "expected"),
    [
        ("intervals", b"22\t100\t200\n", "unknown contig '22'; the reference calls it 'chr22'"),
        ("intervals", b"chr22\t100\t200000\n", "beyond contig"),
        ("intervals", b"chr22\t300\t200\n", "line 1"),
        ("intervals", b"# nothing\n", "holds no intervals"),
        ("ploidy_regions", b"22\t100\t200\t1\n", "unknown contig '22'; the reference calls it 'chr22'"),
        ("ploidy_regions", b"chr22\t100\t200\tone\n", "line 1: the ploidy, in the fourth column, is 'one'"),
        ("primers", b"chr22\t100\t200\tone\n", "line 1: the strand of the primer, in the sixth column, is ''"),
        (
            "alleles",
            b"##fileformat=VCFv4.2\n22\t100\t.\tA\tC\n",
            "none of its contigs, such as '22', is in the reference",
        ),
        ("bed", b"22\t100\t200\n", "report.truth.bed: regions.bed: line 1: unknown contig '22'; the reference calls"),
    ],
)
def test_regions(key: str, content: bytes, expected: str, continued: Callable[[], Run]) -> None:
    """Regions outside the reference and malformed rows are refused before any job."""
    run = continued()
    (run.folder / "regions.bed").write_bytes(content)
    truth = {"vcf": str(SMALL / "truth.vcf.gz"), "bed": "regions.bed"}
    run.config |= {"report": {"truth": truth}} if key == "bed" else {"rescore": {key: "regions.bed"}}
    run.write()
    require_one_sentence(run, expected, "--dry-run")


def test_truth_of_another_reference(continued: Callable[[], Run]) -> None:
    """A truth with other contig names is refused before any job."""
    run = continued()
    text = gzip.decompress((SMALL / "truth.vcf.gz").read_bytes()).replace(b"chr22", b"22")
    (run.folder / "truth.vcf").write_bytes(text)
    pysam.tabix_index(str(run.folder / "truth.vcf"), preset="vcf")
    run.config["report"] = {"truth": {"vcf": "truth.vcf.gz"}}
    run.write()
    require_one_sentence(
        run, "none of its contigs, such as '22', is in the reference; the reference calls it", "--dry-run"
    )


LONG = (1 << 29) + 1
TOO_LONG_FOR_BAI = f"contig long has {LONG} bases but a BAI index ends at 536870912; set align.index_format: csi"


def write_long_fasta(folder: Path) -> None:
    """Write a FASTA whose contig `long` is nearly all N; it takes half a megabyte on the disk."""
    with igzip.open(folder / "genome.fa.gz", "wb", compresslevel=1) as stream:
        stream.write(b">short\n" + b"ACGTTGCATTACGGATTCAG" * 10 + b"\n>long\n")
        for _ in range(LONG >> 20):
            stream.write(b"N" * (1 << 20))
        stream.write(b"N\n")


def test_contig_too_long_for_bai_is_refused_when_the_reference_is_packed(tmp_path: Path) -> None:
    """A contig too long for BAI is refused before indexing and mapping; with CSI the reference is packed."""
    write_long_fasta(tmp_path)
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa.gz"}})
    require_one_sentence(run, TOO_LONG_FOR_BAI)
    assert not list(run.output.glob("index/*"))
    run.config["align"] = {"index_format": "csi"}
    run.write()
    result = run.snakemake("--until", "pack_reference")
    assert result.returncode == 0, result.stdout
    assert (run.output / "index/reference/manifest.json").exists()

    # The lengths are now known, so BAI is refused before any job; changing the format alone does not pack again.
    run.config["align"] = {"index_format": "bai"}
    run.write()
    require_one_sentence(run, TOO_LONG_FOR_BAI)
    run.config["align"] = {"index_format": "csi"}
    run.write()
    assert "Nothing to be done" in run.snakemake("--until", "pack_reference", "--dry-run").stdout


@pytest.mark.parametrize("with_index", [True, False])
def test_names_that_no_later_step_can_carry(with_index: bool, tmp_path: Path) -> None:
    """Names that later steps cannot use are refused before any job if a FASTA index exists, else when it is packed."""
    (tmp_path / "genome.fa").write_text(">#hash\nACGTTGCATTACGGATTCAG\n")
    if with_index:
        (tmp_path / "genome.fa.fai").write_text("#hash\t20\t7\t20\t21\n")
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa"}})
    require_one_sentence(run, "contig #hash: readers of BED", *(["--dry-run"] if with_index else []))
    assert not list(run.output.glob("index/*"))


def test_contig_too_long_for_bai_is_refused_by_the_index_of_the_fasta(tmp_path: Path) -> None:
    """A FASTA's index gives the contig lengths before any job; an index older than its FASTA is ignored."""
    fasta, index = tmp_path / "genome.fa", tmp_path / "genome.fa.fai"
    fasta.write_text(">long\nACGTTGCATTACGGATTCAG\n")
    index.write_text(f"long\t{LONG}\t6\t20\t21\n")
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa"}})
    require_one_sentence(run, TOO_LONG_FOR_BAI, "--dry-run")
    os.utime(index, (1, 1))
    assert run.snakemake("--dry-run").returncode == 0


def test_index_of_another_fasta(finished: Run, tmp_path: Path) -> None:
    """A shared index is refused if it was made from another FASTA, even if that FASTA has an older time stamp."""
    sequence = gzip.decompress((SMALL / "genome.fa.gz").read_bytes())
    (tmp_path / "genome.fa").write_bytes(sequence.replace(b"ACTCAAGATA", b"ACTCAAGATT", 1))
    os.utime(tmp_path / "genome.fa", (1, 1))
    index = tmp_path / "index"
    shutil.copytree(finished.output / "index", index)
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa", "index_directory": str(index)}})
    require_one_sentence(run, "genome.fa")
    assert not list(run.output.glob("align/*.bam"))


@pytest.mark.parametrize("array", ["page_0/blocks.npy", "page_0/suffix_array.npy", "reference/text.npy"])
def test_damaged_index(array: str, continued: Callable[[], Run]) -> None:
    """One flipped bit in an array of the index is detected, and the file is named."""
    run = continued()
    path = run.output / "index" / array
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (run.output / "ledger/NA12878.lane_1.json").unlink()
    require_one_sentence(run, Path(array).name.removesuffix(".npy"), "--forcerun", "map_unit")
    assert not (run.output / "ledger/NA12878.lane_1.json").exists()


def test_disk_full(small_disk: Path, finished: Run, tmp_path: Path) -> None:
    """A full disk gives one sentence, and no partial file has a final name."""
    run = Run(
        tmp_path / "run",
        config={
            "reference": {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(finished.output / "index")},
            "output": str(small_disk / "out"),
        },
    )
    require_one_sentence(run, "No space left on device")
    assert not list((small_disk / "out").glob("align/**/*.bam"))


@pytest.mark.parametrize(("bytes_left", "job"), [(8_000, "reference:"), (100_000, "page_0")])
def test_disk_full_of_the_index(bytes_left: int, job: str, small_disk: Path, tmp_path: Path) -> None:
    """A full disk is reported while the reference is packed and while a page is indexed."""
    fill(small_disk, bytes_left)
    index = {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(small_disk)}
    run = Run(tmp_path / "run", config={"reference": index})
    require_one_sentence(run, "No space left on device", "reference_index")
    assert not (small_disk / "page_0").exists()
    assert job in errors_of(run.snakemake("reference_index").stdout)[0]


def test_folder_of_kernels_full(small_disk: Path, tmp_path: Path) -> None:
    fill(small_disk, 20_000)
    run = Run(tmp_path / "run")
    result = run.snakemake("out/.compiled/align.done", NUMBA_CACHE_DIR=str(small_disk))
    (error,) = errors_of(result.stdout)
    assert f"{small_disk}: compiled kernels cannot be kept there (No space left on device); free some" in error
    assert "XDG_CACHE_HOME" in error


def fill(disk: Path, bytes_left: int) -> None:
    """Fill a disk up to `bytes_left` free bytes."""
    (disk / "filling").write_bytes(bytes(shutil.disk_usage(disk).free - bytes_left))
