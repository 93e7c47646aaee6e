"""Fuzzers of BAM files read by region and of their indexes, BAI and CSI, judged by the whole file and by samtools."""

import gzip
import random
import re
import struct
import subprocess
import zlib
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import pysam
from quire.io.bam.regions import IndexedAlignments
from quire.io.bed import Interval

from tests.fuzz.bam import mutate_plain, record_starts, samtools_view
from tests.fuzz.blocks import change
from tests.fuzz.mutations import bgzf, inflated_members, mutate_bytes
from tests.fuzz.target import Refused, Target
from tests.support.builders import random_bases

CONTIGS = {"one": 200_000, "two": 40_000, "empty": 5_000, "three": 20_000}
REGIONS = (
    ("one", 0, 200_000), ("one", 0, 1), ("one", 16_380, 16_390), ("one", 60_000, 90_000), ("one", 170_000, 200_000),
    ("two", 0, 40_000), ("two", 30_000, 30_100), ("empty", 0, 5_000), ("three", 9_000, 9_500), ("three", 0, 20_000),
)  # fmt: skip
STALE = "the index does not have all records"
Record = tuple[str, str, int, int]
Answer = list[tuple[str, int]]


class ByRegion(Target):
    """Records of regions; the answer is name and position of each.

    The judge is the whole file. If Quire finds something else, it is samtools with the same index: both trust it.
    """

    neighbour = "case.bam"
    regions: tuple[Interval, ...] = REGIONS

    def valid(self, folder: Path) -> list[bytes]:
        """Write the BAM file and its indexes, and one of other reads; return their indexes."""
        self._bam, other = folder / "case.bam", folder / "other.bam"
        self._records = write_sorted(self._bam, 1)
        write_sorted(other, 2)
        return [index_of(path, kind) for path in (self._bam, self._bam, self._bam, other) for kind in self.kinds()]

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of indexes to make: those that `samtools index` names."""
        return (self.name,)

    def read(self, path: Path) -> Answer:
        """Return the records of the regions, one region after another."""
        self._found: Answer | None = None
        self._found = self.found(IndexedAlignments(self._bam))
        return self._found

    def found(self, alignments: IndexedAlignments) -> Answer:
        """Return name and position of the records of the regions."""
        found: Answer = []
        self._bytes: list[list[bytes]] = []  # of the records of each region
        for region in self.regions:
            data, starts, fixed = alignments.records(*region)
            ends = starts + 4 + fixed["block_size"]
            records = [data[start:end].tobytes() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
            for record, size, position in zip(
                records, fixed["name_bytes"].tolist(), fixed["position"].tolist(), strict=True
            ):
                found.append((record[36 : 35 + size].decode("latin-1"), position))
            self._bytes.append(records)
        return found

    def judge(self, path: Path) -> Answer:
        """Return the records of the regions, as the whole file has them or as samtools finds them."""
        expected = in_regions(self._records)
        return expected if self._found in (None, expected) else by_samtools(self._bam)


class Bai(ByRegion):
    """The BAI index of a BAM file."""

    name, suffix = "bai", ".bai"

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a number of the index, or any bytes."""
        return change_number(generator, content)


class Csi(ByRegion):
    """The CSI index of a BAM file."""

    name, suffix = "csi", ".csi"

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a number of the index, or any bytes, below or above the compression."""
        if generator.random() < 0.15:
            return mutate_bytes(generator, content)
        return bgzf(change_number(generator, b"".join(inflated_members(content))))


class Regions(ByRegion):
    """A BAM file that differs from that of its index."""

    name, suffix = "regions", ".bam"

    def valid(self, folder: Path) -> list[bytes]:
        """Write a BAM file and its index; return the file."""
        super().valid(folder)
        (folder / "case.bam.bai").write_bytes(index_of(self._bam, "bai"))
        plain = b"".join(inflated_members(self._bam.read_bytes()))
        self._header = plain[: record_starts(plain)[0]]
        return [self._bam.read_bytes()]

    def kinds(self) -> tuple[str, ...]:
        """See `ByRegion`."""
        return ("bai",)

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change records, blocks or bytes, and keep the places of most blocks."""
        if generator.random() < 0.3:
            return mutate_bytes(generator, content)
        plain = b"".join(inflated_members(content))
        changed = mutate_plain(generator, plain)
        return as_blocks(changed)

    def judge(self, path: Path) -> Answer:
        """Return the records of the regions by samtools, from the whole file or, if it refuses that, with the index."""
        try:
            expected = in_regions([record_of(line) for line in samtools_view(path)])
        except Refused as error:
            expected = by_samtools(self._bam)
            if self._found in (None, expected):
                return expected
            raise Refused(f"other records by region; of the whole file: {error}") from None
        if self._found is not None and not Counter(self._found) - Counter(expected) and self._found != expected:
            raise Refused(STALE)
        return expected

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept records that an index of other blocks does not have, and wrong records that are in no region.

        samtools reads them, and fails or ends there. It must not find a record that Quire does not find, and must read
        what Quire finds as the same records.
        """
        if reason == STALE:
            return True
        alone = path.with_suffix(".alone.bam")
        alone.write_bytes(bgzf(self._header + b"".join(record for records in self._bytes for record in records)))
        try:
            lines = iter(samtools_view(alone))
            for region, records in zip(self.regions, self._bytes, strict=True):
                expected = in_regions([record_of(line) for line in islice(lines, len(records))], (region,))
                if len(expected) < len(records) or Counter(by_samtools(self._bam, (region,), False)) - Counter(
                    expected
                ):
                    return False
        except Refused:
            return False
        return True


def record_of(line: str) -> Record:
    """Return contig, name, start and end of a SAM line; a record without aligned bases has one base, as in htslib."""
    name, flag, contig, position, _, cigar, *_ = [*line.split("\t"), *[""] * 6]
    if not (flag.isdigit() and position.isdigit()):
        raise Refused(f"a name has a tab or an end of line: {line!r:.80}")
    aligned = (
        0 if int(flag) & 4 else sum(int(size) for size, kind in re.findall(r"(\d+)([A-Z=])", cigar) if kind in "MDN=X")
    )
    return contig, name, int(position) - 1, int(position) - 1 + max(aligned, 1)


def in_regions(records: list[Record], regions: tuple[Interval, ...] = REGIONS) -> Answer:
    """Return name and start of the records in the regions, one region after another."""
    return [
        (name, start)
        for wanted, first, last in regions
        for contig, name, start, end in records
        if contig == wanted and start < last and end > first
    ]


def by_samtools(
    bam: Path, given: tuple[Interval, ...] = REGIONS, must_end_well: bool = True, options: tuple[str, ...] = ()
) -> Answer:
    """Return the records of the regions by `samtools view` with the index.

    Raises:
        Refused: it does not end; or it fails, if `must_end_well`.
    """
    regions = [f"{contig}:{first + 1}-{last}" for contig, first, last in given]
    command = ["samtools", "view", "-u", "--no-PG", *options, str(bam), *regions]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=2)
    except subprocess.TimeoutExpired:
        raise Refused("samtools does not end") from None
    if must_end_well and (done.returncode or b"[E::" in done.stderr):
        raise Refused(done.stderr.decode(errors="replace").strip().replace("\n", " "))
    try:
        plain = b"".join(inflated_members(done.stdout))
        # Not as SAM: qualities above 93 may be ends of lines there.
        records = [plain[start:end] for start, end in pairwise(record_starts(plain))]
    except (zlib.error, EOFError, struct.error) as error:
        raise Refused(f"samtools writes no whole BAM: {error}") from None
    return [
        (record[36 : 35 + record[12]].decode("latin-1"), int.from_bytes(record[8:12], "little")) for record in records
    ]


def change_number(generator: random.Random, content: bytes) -> bytes:
    """Change numbers of 4 bytes, or the halves of numbers of 8 bytes; or any bytes."""
    if generator.random() < 0.2:
        return mutate_bytes(generator, content)
    data = bytearray(content)
    for _ in range(generator.choice((1, 1, 2, 5))):
        # Most numbers that state counts are near the beginning or follow a zero or one.
        at = generator.randrange(min(len(data), 60 if generator.random() < 0.3 else len(data)) // 4) * 4
        size = generator.choice((1, 2, 4, 4, 8))
        if generator.random() < 0.2:
            source = generator.randrange(len(data) // 4) * 4
            data[at : at + size] = data[source : source + size]
        else:
            change(generator, data, at, size)
    return bytes(data)


def index_of(bam: Path, kind: str) -> bytes:
    """Return the index of a BAM file."""
    path = bam.with_suffix(f".{kind}.made")
    pysam.index("-c" if kind == "csi" else "-b", "-o", str(path), str(bam))
    content = path.read_bytes()
    path.unlink()
    return content


def as_blocks(plain: bytes) -> bytes:
    """Return the blocks of a BAM file, of sizes that do not depend on its content."""
    return bgzf(plain, random.Random(4))


def write_sorted(path: Path, seed: int) -> list[Record]:
    """Write a sorted BAM file in small blocks; return contig, name, start and end of its records."""
    generator = random.Random(seed)
    found = []
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": size} for n, size in CONTIGS.items()]}
    with pysam.AlignmentFile(str(path), "wbu", header=header) as out:
        for number, (contig, size) in enumerate(CONTIGS.items()):
            places = () if contig == "empty" else sorted(generator.randrange(size - 9000) for _ in range(size // 1000))
            for place in places:
                record = pysam.AlignedSegment(out.header)
                record.query_name, record.reference_id, record.reference_start = f"r{len(found)}", number, place
                record.cigarstring = generator.choice(("40M", "5S30M10D5M", "20M8000N20M", "40I"))
                record.query_sequence = random_bases(generator, 40)
                record.mapping_quality = 60
                out.write(record)
                found.append((contig, str(record.query_name), place, max(record.reference_end or 0, place + 1)))
        for _ in range(5):
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = "nowhere", 4, "ACGT"
            out.write(record)
    path.write_bytes(as_blocks(gzip.decompress(path.read_bytes())))
    return found
