"""Counts of unusual records, compared with samtools and Picard; no result depends on batches or threads."""

import gzip
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import QuireError
from quire.finish.counts import ADAPTERS, GC_WINDOW, add_counters
from quire.finish.counts.figures import estimate_library_size
from quire.finish.counts.gc_cpu import count_windows, pieces_of, window_bin, windows_of
from quire.finish.counts.low_coverage import LowCoverage
from quire.finish.counts.outputs import CountsOutputs, TargetOutputs, count_target, list_low_coverage
from quire.finish.counts.sample import Counting, FinishedSample, genome_of, open_sample
from quire.io.files import read_json
from quire.reference import Reference, build
from quire.reference.regions import islands_of, read_regions

from tests.support import peer_counts
from tests.support.builders import random_bases, write_bam, write_fasta
from tests.support.count_files import count_file
from tests.support.peer_counts import (
    depths,
    duplication_differences,
    picard_gc_bias_differences,
    picard_mark_duplicates,
    samtools_differences,
)

CONTIGS = {"chr1": 30_000, "chrX": 9_000, "empty": 500, "chrY": 2_000}
GROUPS = {"a": "first library", "b": "second library", "c": "first library"}
LOW = 8
needs_picard = pytest.mark.skipif(peer_counts.picard() is None, reason="Picard is not installed")


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Write a FASTA with long and short runs of N and homopolymers, and its packed reference."""
    folder = tmp_path_factory.mktemp("genome")
    generator = random.Random(3)
    contigs = {name: random_bases(generator, length) for name, length in CONTIGS.items()}
    first = contigs["chr1"]
    first = first[:4000] + "N" * 700 + first[4700:9000] + "GC" * 400 + first[9800:12_000] + "NNN" + first[12_003:]
    contigs["chr1"] = first[:20_000] + "N" * 25 + first[20_025:20_060] + "N" * 40 + first[20_100:]
    contigs["chrX"] = "N" * 30 + contigs["chrX"][30:]
    fasta = write_fasta(folder / "genome.fa", contigs)
    pysam.faidx(str(fasta))
    build(fasta, folder / "reference", 1 << 20)
    return fasta, contigs


def random_cigar(generator: random.Random, bases: int, gaps: str) -> str:
    """Return a random CIGAR of a read of this length, mostly with few elements; `gaps` are the allowed gaps."""
    parts, left = [], bases
    if generator.random() < 0.3:
        clip = generator.randrange(1, 8)
        kind = generator.choice("SH")
        parts.append(f"{clip}{kind}")
        left -= clip if kind == "S" else 0
    if generator.random() < 0.4:
        first = generator.randrange(1, left - 10)
        gap = generator.randrange(1, 8)
        kind = generator.choice(gaps)
        length = generator.randrange(200, 400) if generator.random() < 0.1 and kind != "I" else gap
        parts += [f"{first}{generator.choice('M=X')}", f"{length}{kind}"]
        left -= first + (length if kind == "I" else 0)
    end = generator.randrange(1, 6) if generator.random() < 0.3 else 0
    parts.append(f"{left - end}M")
    if end:
        parts.append(f"{end}S")
    return "".join(parts)


def random_record(generator: random.Random, number: int, contigs: dict[str, str], gaps: str) -> str:
    """Return a SAM line without NM and MD, with the reference's bases and errors under M."""
    flag = generator.choice((0, 16, 99, 147, 83, 163, 65, 129, 113, 177, 73, 97, 145, 193, 4, 77, 141, 69, 133))
    for extra, share in ((1024, 0.2), (512, 0.1), (256, 0.05), (2048, 0.05)):
        flag |= extra if generator.random() < share else 0
    contig = generator.choice(["chr1", "chr1", "chr1", "chrX", "chrY"])
    bases = generator.choice((50, 100, 100, 151))
    # Uneven depth: many reads start at few places, and some regions have none.
    position = generator.choice((generator.randrange(200, 1500), generator.randrange(len(contigs[contig]) - 700)))
    if contig == "chrX" and generator.random() < 0.3:
        position = len(contigs[contig]) - 700
    cigar = random_cigar(generator, bases, gaps)
    letters = list(contigs[contig][position : position + bases].ljust(bases, "A"))
    for at in range(bases):
        if generator.random() < 0.03:
            letters[at] = generator.choice("ACGTN")
    sequence = "".join(letter if letter != "N" or generator.random() < 0.5 else "A" for letter in letters)
    quality = "".join(chr(33 + generator.choice((2, 11, 25, 37, 40, 93))) for _ in range(bases))
    place = [contig, str(position + 1), str(generator.choice((0, 0, 3, 5, 60)))]
    if flag & 4:
        cigar = "*"
        place = place if generator.random() < 0.5 else ["*", "0", "0"]
    mate, size = "*\t0", 0
    if flag & 1:
        kind = generator.random()
        near = max(1, position + generator.randrange(-400, 400))
        mate = f"{'=' if place[0] != '*' else '*'}\t{near}" if kind < 0.8 else f"chrY\t{near % 1500 + 1}"
        size = generator.choice((0, 1, 300, -300, 8100, -450, generator.randrange(1, 600)))
        if place[0] == "*" and kind < 0.8:
            mate = "*\t0"
    if generator.random() < 0.02 and flag & 256:
        sequence = quality = "*"
    tags = f"RG:Z:{generator.choice('abc')}\tXB:B:s,1,-2,3\tXA:A:c"
    return f"read{number}\t{flag}\t{chr(9).join(place)}\t{cigar}\t{mate}\t{size}\t{sequence}\t{quality}\t{tags}"


@pytest.fixture(scope="module")
def awkward(genome: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write random records without N in CIGARs, which samtools stats ignores when it counts mismatches."""
    return random_bam(tmp_path_factory.mktemp("awkward"), genome, "IDD")


@pytest.fixture(scope="module")
def with_skips(genome: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write random records with N in CIGARs."""
    return random_bam(tmp_path_factory.mktemp("skips"), genome, "IDDN")


def random_bam(folder: Path, genome: tuple[Path, dict[str, str]], gaps: str) -> Path:
    """Write a sorted and indexed BAM of random records, with NM and MD from samtools calmd."""
    fasta, contigs = genome
    generator = random.Random(11)
    lines = [random_record(generator, number, contigs, gaps) for number in range(6000)]
    groups = [f"@RG\tID:{name}\tSM:S\tLB:{library}" for name, library in GROUPS.items()]
    plain = write_bam(folder / "plain.bam", CONTIGS, lines, groups)
    marked = folder / "calmd.sam"  # as text: with -b, samtools in pysam 0.23 overwrites its input
    marked.write_text(pysam.samtools.calmd(str(plain), str(fasta)))
    path = folder / "awkward.bam"
    pysam.sort("-o", str(path), str(marked))
    pysam.index(str(path))
    return path


def count(folder: Path, bam: Path, fasta: Path, intervals: Path | None = None, threads: int = 1) -> dict:
    """Count a BAM, over a target if one is given, with output files in `folder`."""
    outputs = CountsOutputs(folder / "counts.json", folder / "windows.bed.gz", folder / "low.bed.gz", LOW)
    reference = Reference.open(fasta.parent / "reference")
    figures = count_file("S", bam, reference, threads, outputs)
    if intervals:
        target = TargetOutputs(folder / "target.json", outputs.low_coverage, LOW)
        count_target(FinishedSample("S", bam, fasta.parent / "reference", fasta), intervals, target, threads)
        return figures | json.loads((folder / "target.json").read_text())
    return json.loads(outputs.counts.read_text())


def test_like_samtools(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    figures = count(tmp_path, awkward, genome[0])
    assert samtools_differences(figures, awkward, genome[0]) == []
    # The records cover the unusual cases.
    assert figures["flagstat"]["failed"]["total"] > 100
    assert figures["stats"]["supplementary alignments"] > 100
    assert sum(figures["cycles"]["deletions"]["last"]) > 100
    assert sum(figures["cycles"]["unknown"]) > 10
    assert figures["cycles"]["mismatches"][0] > 10


def test_a_changed_record_is_seen(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The comparison with samtools fails if a record is missing or has another mismatch."""
    figures = count(tmp_path, awkward, genome[0])
    figures["cycles"]["mismatches"][5] += 1
    figures["flagstat"]["passed"]["read1"] -= 1
    assert len(samtools_differences(figures, awkward, genome[0])) == 2


@pytest.mark.parametrize("records", [100, 1 << 20])
def test_threads_and_batches_change_nothing(
    awkward: Path,
    genome: tuple[Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: int,
) -> None:
    expected = count(tmp_path, awkward, genome[0])
    files = [gzip.decompress((tmp_path / name).read_bytes()) for name in ("windows.bed.gz", "low.bed.gz")]
    monkeypatch.setattr("quire.finish.counts.sample.BATCH_RECORDS", records)
    (tmp_path / "again").mkdir()
    assert count(tmp_path / "again", awkward, genome[0], threads=3) == expected
    assert files == [
        gzip.decompress((tmp_path / "again" / name).read_bytes()) for name in ("windows.bed.gz", "low.bed.gz")
    ]


@pytest.mark.parametrize("bed", ["islands", "intervals"])
def test_depth_like_samtools(
    with_skips: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bed: str
) -> None:
    """Histogram, profile, windows and low-depth positions follow from `samtools depth` of every position."""
    monkeypatch.setattr("quire.finish.counts.sample.BATCH_RECORDS", 100)
    reference = Reference.open(genome[0].parent / "reference")
    intervals = None
    regions = islands_of(reference)
    if bed == "intervals":
        intervals = tmp_path / "target.bed"
        intervals.write_text("chr1\t250\t1300\nchr1\t1300\t1301\nchr1\t29000\t30000\nchrX\t0\t9000\nempty\t3\t5\n")
        regions = read_regions(intervals, CONTIGS)
    figures = count(tmp_path, with_skips, genome[0], intervals, threads=2)
    truth = depths(with_skips, CONTIGS)
    along = [
        depth for name, rows in regions.items() for start, end in rows.tolist() for depth in truth[name][start:end]
    ]
    assert figures["target"]["positions"] == len(along)
    assert figures["depth"]["histogram"] == np.bincount(along).tolist()
    assert figures["depth"]["bases"] == sum(along)
    size = figures["depth"]["profile_bin"]
    assert figures["depth"]["profile"] == [sum(along[at : at + size]) for at in range(0, len(along), size)]
    low = [
        (name, at)
        for name, rows in regions.items()
        for start, end in rows.tolist()
        for at in range(start, end)
        if truth[name][at] < LOW
    ]
    rows = [line.split("\t") for line in gzip.decompress((tmp_path / "low.bed.gz").read_bytes()).decode().splitlines()]
    assert [(name, at) for name, start, end in rows for at in range(int(start), int(end))] == low
    touching = [(a[0], a[2]) for a, b in itertools.pairwise(rows) if a[0] == b[0] and a[2] == b[1]]
    assert touching == []
    told = figures["low_coverage"]
    assert (told["below"], told["regions"], told["positions"]) == (LOW, len(rows), len(low))
    by_length = sorted(rows, key=lambda row: int(row[1]) - int(row[2]))
    assert told["longest"] == [[name, int(start), int(end)] for name, start, end in by_length[:20]]
    windows = [
        line.split("\t") for line in gzip.decompress((tmp_path / "windows.bed.gz").read_bytes()).decode().split("\n")
    ]
    for name, start, end, mean in windows[:-1]:
        inside = truth[name][int(start) : int(end)]
        assert mean == f"{sum(inside) / len(inside):.2f}"
    assert [int(row[1]) for row in windows[:-1] if row[0] == "chr1"] == [0, 10_000, 20_000]
    if intervals:
        target = figures["on_target"]
        all_reads, on_target = (
            int(pysam.samtools.view("-c", "-F", "3844", *options, str(with_skips)))
            for options in ([], ["-L", str(intervals)])
        )
        supplementary = [
            int(pysam.samtools.view("-c", "-f", "2048", "-F", "1796", *o, str(with_skips)))
            for o in ([], ["-L", str(intervals)])
        ]
        assert (target["reads"], target["reads_on_target"]) == (
            all_reads + supplementary[0],
            on_target + supplementary[1],
        )
        assert target["bases"] == sum(map(sum, truth.values()))
        assert target["bases_on_target"] == sum(along)
    else:
        assert "on_target" not in figures


def test_sex_chromosomes(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    figures = count(tmp_path, awkward, genome[0])
    truth = depths(awkward, CONTIGS)
    known = {name: sum(base != "N" for base in bases) for name, bases in genome[1].items()}
    known["chr1"] += 3  # a short run of Ns does not separate islands
    mean = {name: sum(truth[name]) / known[name] for name in CONTIGS}
    ratios = figures["sex_chromosomes"]
    assert ratios["autosomal_depth"] == pytest.approx(mean["chr1"], abs=1e-4)
    assert ratios["x_ratio"] == pytest.approx(mean["chrX"] / mean["chr1"], abs=1e-4)
    assert ratios["y_ratio"] == pytest.approx(mean["chrY"] / mean["chr1"], abs=1e-4)


@pytest.mark.full
@needs_picard
def test_gc_bias_like_picard(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    fasta, _ = genome
    pysam.samtools.dict("-o", str(fasta.with_suffix(".dict")), str(fasta))
    figures = count(tmp_path, awkward, fasta)
    assert sum(figures["gc_bias"]["read_starts"]) > 1000
    assert picard_gc_bias_differences(figures, awkward, fasta, tmp_path) == []


def test_windows_of_the_reference(genome: tuple[Path, dict[str, str]]) -> None:
    """The rolling count of windows and the lookup of single windows agree."""
    reference = Reference.open(genome[0].parent / "reference")
    tables = genome_of(reference)
    naive = np.zeros(101, np.int64)
    for contig, length in enumerate(CONTIGS.values()):
        for start in range(1, length - GC_WINDOW):
            letters = list(genome[1].values())[contig][start : start + GC_WINDOW]
            expected = -1 if letters.count("N") > 4 else (letters.count("G") + letters.count("C")) * 100 // GC_WINDOW
            assert window_bin(tables, contig, start) == expected
            if expected >= 0:
                naive[expected] += 1
    assert sum(windows_of(reference, piece) for piece in pieces_of(reference)).tolist() == naive.tolist()
    none = np.zeros(101, np.int64)
    count_windows(np.zeros(GC_WINDOW - 1, np.uint8), none)
    assert not none.any()


@pytest.mark.full
@needs_picard
def test_duplication_like_picard(genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """Pairs, single reads and reads with an unmapped mate, from two libraries, are counted as by Picard."""
    generator = random.Random(7)
    lines = []
    for number in range(1500):
        first, size = generator.randrange(1, 40) * 7, 100 + generator.randrange(6)
        name, group = f"pair{number}", generator.choice("abc")
        tail = f"{'A' * 50}\t{generator.choice('5FI') * 50}\tRG:Z:{group}"
        kind = generator.random()
        if kind < 0.7:
            other = first + size
            lines.append(f"{name}\t99\tchr1\t{first}\t60\t50M\t=\t{other}\t{size + 50}\t{tail}\tMC:Z:50M")
            lines.append(f"{name}\t147\tchr1\t{other}\t60\t50M\t=\t{first}\t{-size - 50}\t{tail}\tMC:Z:50M")
        elif kind < 0.8:
            lines.append(f"{name}\t73\tchr1\t{first}\t60\t50M\t=\t{first}\t0\t{tail}")
            lines.append(f"{name}\t133\tchr1\t{first}\t0\t*\t=\t{first}\t0\t{tail}")
        elif kind < 0.9:
            lines.append(f"{name}\t0\tchr1\t{first}\t60\t50M\t*\t0\t0\t{tail}")
        else:
            lines += [f"{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{tail}" for flag in (77, 141)]
    groups = [f"@RG\tID:{name}\tSM:S\tLB:{library}\tPL:ILLUMINA" for name, library in GROUPS.items()]
    plain = write_bam(tmp_path / "plain.bam", CONTIGS, lines, groups)
    ordered = tmp_path / "sorted.bam"
    pysam.sort("-o", str(ordered), str(plain))
    marked, rows = picard_mark_duplicates(ordered, tmp_path)
    assert {row["LIBRARY"] for row in rows} == set(GROUPS.values())
    assert all(int(row["READ_PAIR_DUPLICATES"]) > 50 for row in rows)
    assert duplication_differences(count(tmp_path, marked, genome[0]), rows) == []


def test_low_depth_counted_again(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """Files of another limit, from the alignments and the figures of the first, are those of a first count."""
    count(tmp_path, awkward, genome[0], threads=2)
    figures = {**read_json(tmp_path / "counts.json"), "low_coverage": {"below": 1}}
    sample = FinishedSample("S", awkward, genome[0].parent / "reference", genome[0])
    outputs = TargetOutputs(tmp_path / "again/counts.json", tmp_path / "again/low.bed.gz", LOW)
    list_low_coverage(sample, figures, outputs, 2)
    for name in ("counts.json", "low.bed.gz"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_library_size_without_duplicates() -> None:
    assert estimate_library_size(0, 0) is None
    assert estimate_library_size(100, 100) is None
    assert estimate_library_size(100, 50) == 62  # the solution of X (1 - exp(-100 / X)) = 50 is 62.75


def test_sums_of_reads_of_different_length(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    reference = Reference.open(genome[0].parent / "reference")
    sample = FinishedSample("S", awkward, genome[0].parent / "reference", genome[0])
    low = LowCoverage(tmp_path / "low.bed.gz", list(CONTIGS), LOW)
    with (
        open_sample(sample, reference, tmp_path / "counts.json", 1) as (header, batches),
        Counting(header, reference, islands_of(reference), 1, low) as counting,
    ):
        for records in batches:
            counting.take(counting.prepare(records))
        counters = counting.finish().counters
    shorter = counters._replace(bases=counters.bases[:, :60], indels=counters.indels[:, :61])
    both = add_counters(shorter, counters)
    assert both.bases.shape == counters.bases.shape
    assert both.bases[:, :60].sum() == 2 * counters.bases[:, :60].sum()
    assert both.bases[:, 60:].sum() == counters.bases[:, 60:].sum()
    assert both.libraries.sum() == 2 * counters.libraries.sum()
    assert both.totals["aligned_bases"][0] == 2 * counters.totals["aligned_bases"][0]


def test_files_that_cannot_be_counted(awkward: Path, genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    intervals = tmp_path / "target.bed"
    intervals.write_text("chr1\t0\t30000\n")
    target = TargetOutputs(tmp_path / "target.json", tmp_path / "low.bed.gz", LOW)

    def count_it(bam: Path) -> None:
        count_target(FinishedSample("S", bam, genome[0].parent / "reference", genome[0]), intervals, target, 2)

    content = awkward.read_bytes()
    damaged = tmp_path / "damaged.bam"
    damaged.write_bytes(content[:200_000] + bytes(100) + content[200_100:])
    with pytest.raises(
        QuireError, match=r"damaged\.bam: is not a complete BAM file \(the block at byte \d+ is damaged"
    ):
        count_it(damaged)
    damaged.write_bytes(content[: len(content) - 5000])
    with pytest.raises(QuireError, match=r"damaged\.bam: is not a complete BAM file \(its closing block is missing"):
        count_it(damaged)
    unsorted = tmp_path / "unsorted.bam"
    pysam.sort("-n", "-o", str(unsorted), str(awkward))
    with pytest.raises(QuireError, match=r"unsorted\.bam: is not sorted by coordinate"):
        count_it(unsorted)
    other = write_bam(tmp_path / "other.bam", {"elsewhere": 100}, [])
    with pytest.raises(QuireError, match=r"other\.bam: its contigs are not those of"):
        count_it(other)


def test_a_file_without_records(genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    empty = write_bam(tmp_path / "empty.bam", CONTIGS, [])
    figures = count(tmp_path, empty, genome[0])
    assert figures["stats"]["sequences"] == 0
    assert figures["depth"]["histogram"] == [figures["target"]["positions"]]
    assert figures["libraries"][0]["library"] == "unknown"
    low = gzip.decompress((tmp_path / "low.bed.gz").read_bytes()).decode().splitlines()
    assert low[0] == "chr1\t0\t4000"


def test_adapters_are_where_a_search_finds_them(genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The first cycle of each adapter equals a text search, on both strands and for odd lengths."""
    generator = random.Random(4)
    to_other_strand = str.maketrans("ACGTN", "TGCAN")
    words, lines, expected = [*ADAPTERS.values()], [], {name: [0] * 101 for name in ADAPTERS}
    for number in range(800):
        length = generator.choice((99, 100))
        sequenced = random_bases(generator, length)
        for _ in range(generator.randrange(3)):
            word, at = generator.choice(words), generator.choice((0, length - 12, generator.randrange(length - 11)))
            broken = generator.random() < 0.2
            sequenced = sequenced[:at] + (word.replace(word[5], "N") if broken else word) + sequenced[at + len(word) :]
        flag = generator.choice((0, 16, 4, 256))
        shown = sequenced[::-1].translate(to_other_strand) if flag == 16 else sequenced
        place = "*\t0\t0\t*" if flag == 4 else f"chr1\t{10 + number}\t60\t{length}M"
        lines.append(f"read{number}\t{flag}\t{place}\t*\t0\t0\t{shown}\t{'F' * length}\tNM:i:0\tMD:Z:{length}")
        for name, word in ADAPTERS.items():
            if word in sequenced and flag != 256:
                expected[name][sequenced.index(word)] += 1
    plain = write_bam(tmp_path / "plain.bam", CONTIGS, lines)
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(plain))
    found = count(tmp_path, tmp_path / "sorted.bam", genome[0])["adapters"]
    assert {name: places + [0] * (101 - len(places)) for name, places in found.items()} == expected
    assert all(sum(places) > 60 for places in expected.values())
