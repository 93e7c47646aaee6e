"""Buckets, ranges and the index of a sorted file, with sizes small enough to need many of each."""

import random
import threading
from pathlib import Path

import pysam
import pytest
from quire.buckets import file as bucket_file
from quire.buckets import layout as buckets
from quire.buckets.file import BucketFile
from quire.buckets.layout import SPAN
from quire.errors import QuireError
from quire.finish import ranges_cpu, sorting
from quire.finish.marking import Marking
from quire.finish.sorting import FINISHED, Effort, SortedFile, sort_and_mark, sorted_header
from quire.version import VERSION

from tests.support.bucket_builders import buckets_of
from tests.support.builders import paired_lines, write_bam
from tests.support.no_counting import NoCounting

CONTIGS = {"chr1": 300_000, "chr2": 40_000, "empty": 1000, "chr3": 70_000}


def crowded_pairs(seed: int, count: int, contigs: dict[str, int]) -> list[str]:
    """Return pairs at a few hundred places across the genome, some of them unmapped."""
    generator = random.Random(seed)
    names = [name for name, length in contigs.items() if length > 2000]
    places = [(name := generator.choice(names), generator.randrange(1, contigs[name] - 700)) for _ in range(200)]
    lines = []
    for i in range(count):
        contig, first = generator.choice(places)
        starts = first, first + 30 * generator.randrange(10)
        if generator.random() < 0.04:
            lines += [f"u{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:S.a" for flag in (77, 141)]
        else:
            lines += paired_lines(f"r{i}", contig, starts, 50, "S.a", generator.choice("5FI"))
    return lines


def unsorted_file(folder: Path, name: str, lines: list[str], contigs: dict[str, int] = CONTIGS) -> Path:
    plain = write_bam(folder / "plain.bam", contigs, lines, ["@RG\tID:S.a\tSM:S"])
    pysam.fixmate("--no-PG", "-m", str(plain), str(folder / name), catch_stdout=False)
    return folder / name


def run(
    folder: Path, unit: Path, threads: int = 2, memory_mb: int = 100, kind: str = "bai"
) -> tuple[Path, sorting.Sorted]:
    output, units = folder / "out.bam", [(BucketFile(buckets_of(unit)), 0)]
    file, effort = SortedFile(output, folder / f"out.bam.{kind}", kind), Effort(threads, memory_mb)
    done = sort_and_mark("S", units, file, effort, NoCounting(), Marking())
    return output, done


def samtools_answer(folder: Path, unit: Path) -> Path:
    ordered, marked = str(folder / "ordered.bam"), str(folder / "marked.bam")
    pysam.sort("-o", ordered, str(unit), catch_stdout=False)
    pysam.markdup("-l", "1000", ordered, marked, catch_stdout=False)
    pysam.index(marked, catch_stdout=False)
    return Path(marked)


def lines_of(path: Path) -> list[str]:
    with pysam.AlignmentFile(str(path)) as stream:
        return [record.to_string() for record in stream]


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make buckets, stretches and ranges so small that a small genome has many."""
    monkeypatch.setattr(buckets, "LEAST_WIDTH", 5000)
    monkeypatch.setattr(ranges_cpu.ranges, "__defaults__", (40_000,))
    monkeypatch.setattr(bucket_file, "LEAST_STRETCH", 1 << 16)
    monkeypatch.setattr(bucket_file, "LARGEST_STRETCH", 1 << 16)
    monkeypatch.setattr(bucket_file, "UNPLACED_BYTES", 5000)


@pytest.mark.usefixtures("small_buckets")
def test_like_samtools(tmp_path: Path) -> None:
    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(1, 6000, CONTIGS))
    output, done = run(tmp_path, unit)
    marked = samtools_answer(tmp_path, unit)
    expected = lines_of(marked)
    assert lines_of(output) == expected
    duplicates = sum(int(line.split("\t")[1]) & 1024 != 0 for line in expected)
    mapped = 12_000 - sum("\t*\t0\t0\t*\t" in line for line in expected)
    assert done.counts.tolist() == [[12_000, mapped, duplicates, 0, 0]]
    assert duplicates > 2000
    pysam.quickcheck(str(output))
    assert pysam.idxstats(str(output)) == pysam.idxstats(str(marked))


@pytest.mark.usefixtures("small_buckets")
def test_one_answer(tmp_path: Path) -> None:
    """The file's bytes do not depend on threads, memory, or the batches in which records were written."""
    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(2, 4000, CONTIGS))
    expected = run(tmp_path, unit, 1, 1)[0].read_bytes()
    assert run(tmp_path, unit, 3, 500)[0].read_bytes() == expected
    other_batches = BucketFile(buckets_of(unit, 37))
    output = tmp_path / "other.bam"
    sort_and_mark("S", [(other_batches, 0)], SortedFile(output, None), Effort(2, 100), NoCounting(), Marking())
    assert output.read_bytes() == expected


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report one sentence although another thread writes, and leave no file under the final name."""
    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(6, 3000, CONTIGS))
    run(tmp_path, unit)
    (tmp_path / "out.bam").unlink()
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr("quire.io.bam.writer.open", lambda path, mode: open("/dev/full", mode), raising=False)
    with pytest.raises(QuireError, match=r"out\.bam: cannot be written \(No space left on device\)"):
        run(tmp_path, unit)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.usefixtures("small_buckets")
def test_a_counter_that_fails_ends_it(tmp_path: Path) -> None:
    """Raise the counter's error, after the writing thread has ended and the file is removed."""

    class Failing:
        def prepare(self, records):
            return []

        def take(self, batches):
            raise QuireError("no more")

    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(7, 3000, CONTIGS))
    units = [(BucketFile(buckets_of(unit)), 0)]
    with pytest.raises(QuireError, match="no more"):
        sort_and_mark("S", units, SortedFile(tmp_path / "out.bam", None), Effort(2, 100), Failing(), Marking())
    assert not [path for path in tmp_path.iterdir() if "out.bam" in path.name]
    assert not [thread for thread in threading.enumerate() if thread.name == "quire-ahead"]


def test_ranges_are_as_large_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Split a deep bucket between positions; only the records of a single position may exceed the limit."""
    monkeypatch.setattr(buckets, "LEAST_WIDTH", 1 << 20)
    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(3, 5000, CONTIGS))
    monkeypatch.setattr(ranges_cpu.ranges, "__defaults__", (30_000,))
    sizes = []
    finish_range = sorting.finish_range

    def noted(*arguments):
        done = finish_range(*arguments)
        sizes.append(done.records)
        return done

    monkeypatch.setattr(sorting, "finish_range", noted)
    output, _ = run(tmp_path, unit)
    assert len(sizes) > 40
    assert lines_of(output) == lines_of(samtools_answer(tmp_path, unit))


def test_parts_of_a_deep_contig_are_priced_at_what_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Price a part with its neighbours, limited to the span of the reads, without changing the bytes."""
    contigs = {"deep": 30_000}
    unit = unsorted_file(tmp_path, "a.bam", crowded_pairs(7, 4000, contigs), contigs)
    monkeypatch.setattr(ranges_cpu.ranges, "__defaults__", (40_000,))
    file = BucketFile(buckets_of(unit))
    parts = [part for part in ranges_cpu.ranges([(file, 0)], file.genome) if part.span is not None]
    assert len(parts) > 20
    assert {part.span for part in parts} == {50}
    for part in parts:
        held = sum(len(ranges_cpu._records_of_unit(unit, part, file.genome).data) for unit in part.units)
        assert held <= part.bytes <= 1.1 * held
        assert held < 4 * 40_000
    expected = run(tmp_path, unit)[0].read_bytes()

    def wider(*arguments):
        return (part._replace(span=part.span and SPAN) for part in ranges_cpu.ranges(*arguments))

    monkeypatch.setattr(sorting, "ranges", wider)
    assert run(tmp_path, unit)[0].read_bytes() == expected


def test_an_alignment_longer_than_buckets_allow(tmp_path: Path) -> None:
    lines = [f"far\t0\tchr1\t1000\t60\t10M30000D10M\t*\t0\t0\t{'A' * 20}\t{'I' * 20}\tRG:Z:S.a"]
    with pytest.raises(QuireError, match="record far spans more than 4096 bases of the reference"):
        run(tmp_path, unsorted_file(tmp_path, "a.bam", lines))
    assert not (tmp_path / "out.bam").exists()


@pytest.mark.parametrize(
    ("contigs", "pairs"), [(CONTIGS, 0), ({f"contig{i}": 300 + i % 7 for i in range(10_000)}, 3000)]
)
def test_no_reads_and_many_contigs(tmp_path: Path, contigs: dict[str, int], pairs: int) -> None:
    generator = random.Random(6)
    lines: list[str] = []
    for i in range(pairs):
        lines += paired_lines(
            f"r{i}", generator.choice(list(contigs)), (generator.randrange(1, 100), 150), 50, "S.a", "I"
        )
    unit = unsorted_file(tmp_path, "a.bam", lines, contigs)
    output, done = run(tmp_path, unit)
    assert done.records_in == done.records_out == 2 * pairs
    marked = samtools_answer(tmp_path, unit)
    assert lines_of(output) == lines_of(marked)
    assert pysam.idxstats(str(output)) == pysam.idxstats(str(marked))


def test_all_reads_unmapped(tmp_path: Path) -> None:
    lines = [f"u{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:S.a" for i in range(700) for flag in (77, 141)]
    output, done = run(tmp_path, unsorted_file(tmp_path, "a.bam", lines))
    assert done.counts.tolist() == [[1400, 0, 0, 0, 0]]
    assert [line.split("\t")[0] for line in lines_of(output)] == [f"u{i // 2}" for i in range(1400)]
    assert pysam.idxstats(str(output)).split("\n")[-2] == "*\t0\t0\t1400"


def test_headers_are_joined() -> None:
    units = ["@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:a\tLN:5\n@RG\tID:S.1\n@PG\tID:quire.S.1\n"]
    units.append(units[0].replace("S.1", "S.2"))
    assert sorted_header(units).splitlines() == [
        "@HD\tVN:1.6\tSO:coordinate", "@SQ\tSN:a\tLN:5", "@RG\tID:S.1", "@RG\tID:S.2", "@PG\tID:quire.S.1",
        "@PG\tID:quire.S.2",
        *(f"@PG\tID:finish.quire.S.{i}\tPN:quire\tPP:quire.S.{i}\tVN:{VERSION}\tDS:{FINISHED}" for i in "12"),
    ]  # fmt: skip
