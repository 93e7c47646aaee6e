"""The folder of a unit's buckets: records are read from the right buckets, and damage is named."""

import random
import re
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from quire.buckets import file as bucket_file
from quire.buckets import layout as bucket_layout
from quire.buckets import pieces_cpu
from quire.buckets.cpu import Dealt, deal, joined
from quire.buckets.file import BucketFile, open_buckets
from quire.buckets.layout import SPAN, layout
from quire.buckets.packing_cpu import SLACK, unpack
from quire.errors import QuireError
from quire.io.bam.decode_cpu import records_of

from tests.support.bucket_builders import buckets_of
from tests.support.builders import paired_lines, write_bam

CONTIGS = {"one": 300_000, "two": 45_000, "three": 100}
WIDTH = 20_000
Opened = Callable[[Path], BucketFile]


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make buckets and stretches small, so that a small genome has many."""
    monkeypatch.setattr(bucket_layout, "LEAST_WIDTH", WIDTH)
    monkeypatch.setattr(bucket_file, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(bucket_file, "LEAST_STRETCH", 1 << 14)
    monkeypatch.setattr(bucket_file, "UNPLACED_BYTES", 3000)


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Return a function that opens buckets until the test ends."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(BucketFile(path))


def unit_folder(folder: Path, pairs: int, batch: int = 100, writers: int = 3) -> Path:
    """Return pairs all over the genome, every fifth without a position."""
    generator = random.Random(5)
    lines = []
    for i in range(pairs):
        contig = generator.choice(["one", "two"])
        first = generator.randrange(1, CONTIGS[contig] - 500)
        if i % 5 == 0:
            lines += [f"u{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:S.a" for flag in (77, 141)]
        else:
            lines += paired_lines(f"r{i}", contig, (first, first + 200), 50, "S.a", "I")
    return buckets_of(write_bam(folder / "unit.bam", CONTIGS, lines, ["@RG\tID:S.a\tSM:S"]), batch, writers)


def names_and_places(file: BucketFile, bucket: int) -> list[tuple[int, int, int]]:
    """Return read number, position and flag of each record of a bucket."""
    records = file.read(file.pieces(bucket))
    rows = []
    for start, fixed in zip(records.starts.tolist(), records.fixed, strict=True):
        name = records.data[start + 36 :][: int(fixed["name_bytes"]) - 1].tobytes().decode()
        place = -1 if fixed["contig"] < 0 else int(file.genome.contig_offsets[fixed["contig"]] + fixed["position"])
        rows.append((int(name[1:]), place, int(fixed["flag"])))
    return rows


def test_every_record_is_where_it_belongs(tmp_path: Path, opened: Opened) -> None:
    """Each bucket has its own records and those nearby, in the order of the reads, and each record belongs to one."""
    file = opened(unit_folder(tmp_path, 1000))
    assert file.records == 2000
    assert (file.genome.width, file.genome.buckets) == (WIDTH, 18)
    everything = [names_and_places(file, bucket) for bucket in range(file.genome.buckets + 1)]
    assert [place for _, place, _ in everything[-1]] == 400 * [-1]
    own = [row for b, rows in enumerate(everything[:-1]) for row in rows if row[1] // WIDTH == b]
    assert len({(read, flag & 0xC0) for read, _, flag in own}) == len(own) == 1600
    for b, rows in enumerate(everything[:-1]):
        assert [read for read, *_ in rows] == sorted(read for read, *_ in rows)
        needed = {row for row in own if b * WIDTH - SPAN <= row[1] < (b + 1) * WIDTH + SPAN}
        assert needed <= set(rows)
        assert all(b * WIDTH - SPAN - 50 <= place < (b + 1) * WIDTH + SPAN + 50 for _, place, _ in rows)


def test_batches_do_not_show(tmp_path: Path, opened: Opened) -> None:
    """Buckets and pieces do not depend on how records are grouped, nor on the number of writing threads."""
    files = [opened(unit_folder(tmp_path, 700, 100, 1))]
    assert [len(list(tmp_path.glob("unit.buckets/*")))] == [3]
    files.append(opened(unit_folder(tmp_path, 700, 7, 5)))
    written = [path.stat().st_size > 0 for path in sorted(tmp_path.glob("unit.buckets/records.*"))]
    assert sum(written[:-1]) > 1, "one thread alone has written"
    for bucket in range(files[0].genome.buckets + 1):
        assert names_and_places(files[0], bucket) == names_and_places(files[1], bucket)
    unplaced = [[piece.size for piece in file.pieces(file.genome.buckets)] for file in files]
    assert unplaced[0] == unplaced[1]
    assert len(unplaced[0]) > 3
    assert max(unplaced[0]) < 3000 + 100


def test_joined_parts_are_dealt_as_one(tmp_path: Path, opened: Opened) -> None:
    file = opened(unit_folder(tmp_path, 60))
    data = np.concatenate([file.read(file.pieces(bucket)).data for bucket in (2, 18, 3)])
    records = records_of(data)
    whole = deal(records, file.genome)
    parts = []
    for border in (0, 11, 12):
        last = {0: 11, 11: 12, 12: len(records.starts)}[border]
        end = records.starts[last] if last < len(records.starts) else len(data)
        parts.append(deal(records_of(data[records.starts[border] : end].copy()), file.genome))
    together = joined(parts)
    assert np.array_equal(together.data, whole.data)
    assert np.array_equal(together.offsets, whole.offsets)
    assert together.records == whole.records


def read_all(path: Path) -> None:
    with BucketFile(path) as file:
        for bucket in range(file.genome.buckets + 1):
            file.read(file.pieces(bucket))


@pytest.mark.parametrize(
    ("file", "place", "why"),
    [
        ("records.0", 0.3, r"the piece at byte \d+ of records\.0 is damaged"),
        ("records.3", 0.3, r"the piece at byte \d+ of records\.3 is damaged"),
        ("contents", -400, "its table of contents is damaged"),
        ("contents", -1, "its table of contents is cut"),
        ("contents", -20, "its table of contents is damaged"),
    ],
)
def test_a_flipped_byte_is_found(tmp_path: Path, file: str, place: float, why: str) -> None:
    """Damage is found in pieces, with and without positions, in the directory and in the trailer."""
    folder = unit_folder(tmp_path, 300)
    content = bytearray((folder / file).read_bytes())
    content[int(place * len(content)) if place > 0 else int(place)] ^= 4
    (folder / file).write_bytes(content)
    with pytest.raises(
        QuireError, match=rf"unit\.buckets: is not a complete folder of buckets \({why}\); delete it and run"
    ):
        read_all(folder)


@pytest.mark.parametrize(
    ("file", "left", "why"),
    [
        ("contents", 0, "its table of contents is cut"),
        ("contents", 1000, "its table of contents is cut"),
        ("contents", -1, "its table of contents is cut"),
        ("records.0", -1, "the sizes of its files have changed"),
        ("records.3", 5, "the sizes of its files have changed"),
    ],
)
def test_a_cut_file_is_refused(tmp_path: Path, file: str, left: int, why: str) -> None:
    folder = unit_folder(tmp_path, 300)
    (folder / file).write_bytes((folder / file).read_bytes()[:left])
    with pytest.raises(QuireError, match=rf"unit\.buckets: is not a complete folder of buckets \({why}\)"):
        BucketFile(folder)


@pytest.mark.parametrize("file", ["contents", "records.1"])
def test_a_lost_file_is_refused(tmp_path: Path, file: str) -> None:
    folder = unit_folder(tmp_path, 300)
    (folder / file).unlink()
    with pytest.raises(
        QuireError, match=r"unit\.buckets: is not a complete folder of buckets \(No such file or directory\)"
    ):
        BucketFile(folder)


def test_what_an_earlier_version_left_is_refused(tmp_path: Path) -> None:
    """A file of an earlier version, which wrote one file, is refused."""
    (tmp_path / "unit.buckets").write_bytes(b"QBUCKETS")
    with pytest.raises(
        QuireError, match=r"unit\.buckets: is not a complete folder of buckets \(Not a directory\); delete"
    ):
        BucketFile(tmp_path / "unit.buckets")


def test_cut_while_it_is_read(tmp_path: Path, opened: Opened) -> None:
    folder = unit_folder(tmp_path, 300, writers=1)
    file = opened(folder)
    with (folder / "records.0").open("r+b") as stream:
        stream.truncate(2000)
    with pytest.raises(QuireError, match=r"the piece at byte \d+ of records\.0 is damaged"):
        file.read(file.pieces(12))


def test_other_records_than_the_contents_say(tmp_path: Path, opened: Opened) -> None:
    """Valid pieces of another size than in a valid table of contents are refused."""
    file = opened(unit_folder(tmp_path, 300))
    wanted = file.pieces(12)
    wanted[-1] = wanted[-1]._replace(size=wanted[-1].size + 1)
    with pytest.raises(QuireError, match=r"\(its pieces do not match its table of contents\); delete it"):
        file.read(wanted)


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unit_folder(tmp_path, 3)
    monkeypatch.setattr(bucket_file, "FORMAT_VERSION", 9)
    with pytest.raises(QuireError, match=re.escape("(format version 4, not 9); delete it and run again")):
        BucketFile(path)


def test_no_records(tmp_path: Path, opened: Opened) -> None:
    with open_buckets(tmp_path / "none.buckets", "@HD\tVN:1.6\n", ["c"], [10]):
        pass
    file = opened(tmp_path / "none.buckets")
    assert (file.records, file.contig_names, file.contig_lengths) == (0, ["c"], [10])
    assert file.pieces(0) == file.pieces(1) == []
    assert [len(part) for part in file.read([])] == [0, 0, 0]


@pytest.mark.parametrize("writers", [1, 4])
def test_a_full_disk_is_one_sentence(tmp_path: Path, opened: Opened, writers: int) -> None:
    """A full disk, here a limit on file sizes, leaves nothing."""
    file = opened(unit_folder(tmp_path, 300))
    dealt = deal(file.read(file.pieces(12)), file.genome)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        with pytest.raises(QuireError, match=r"x\.buckets: cannot be written \(File too large\); check"):
            write_often(tmp_path / "x.buckets", dealt, 200, writers)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [path for path in tmp_path.iterdir() if "x.buckets" in path.name]


def write_often(path: Path, dealt: Dealt, times: int, writers: int) -> None:
    with open_buckets(path, "@HD\tVN:1.6\n", list(CONTIGS), list(CONTIGS.values()), writers) as writer:
        for _ in range(times):
            writer.write(dealt)


def test_layout() -> None:
    """Buckets cover the whole genome, and are not too many."""
    assert layout([100])[1:] == (WIDTH, 1)
    genome = layout([250_000_000] * 13)
    assert genome.buckets <= bucket_layout.MOST_BUCKETS
    assert genome.width * genome.buckets >= 13 * 250_000_000
    assert np.array_equal(genome.contig_offsets, np.arange(14) * 250_000_000)


def test_pieces_are_read_and_checked(tmp_path: Path, opened: Opened) -> None:
    """The kernel refuses a piece that was changed, or is longer than its memory."""
    folder = unit_folder(tmp_path, 300)
    file = opened(folder)
    wanted = [piece for bucket in range(file.genome.buckets + 1) for piece in file.pieces(bucket)]
    table, files = np.array(wanted, np.int64), file._descriptors
    assert (table[:, 2] < table[:, 4]).any()
    by_kernel = np.empty(table[:, 2].sum(), np.uint8)
    assert pieces_cpu.read_pieces(files, table, by_kernel)
    assert not pieces_cpu.read_pieces(files, table, by_kernel[:-1].copy())
    for column, change in ((1, 1), (3, 1), (0, 99)):
        changed = table.copy()
        changed[2, column] = changed[2, column] + change if column else changed[2, 0] ^ 1
        assert not pieces_cpu.read_pieces(files, changed, by_kernel.copy())
    offsets = np.concatenate([[0], np.cumsum(table[:, 2])])
    room = np.concatenate([by_kernel, np.zeros(SLACK, np.uint8)])
    expected = unpack(room, offsets, int(table[:, 4].sum()))
    assert expected is not None
    assert np.array_equal(file.read(wanted).data, expected.data)
    assert np.array_equal(pieces_cpu.checksums(by_kernel, offsets), table[:, 3])


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_files_are_closed(tmp_path: Path) -> None:
    """Files are closed at the end of the block, and when the folder is refused, though the traceback keeps them."""
    folder, before = unit_folder(tmp_path, 300), open_files()
    with BucketFile(folder) as file:
        assert open_files() == before + 4
    assert open_files() == before
    assert file.records == 600
    (folder / "records.3").write_bytes(b"")
    with pytest.raises(QuireError, match="the sizes of its files have changed") as failure:
        BucketFile(folder)
    assert open_files() == before, failure


def test_too_many_open_files_are_no_fault_of_the_buckets(tmp_path: Path) -> None:
    """The message does not say to delete them, since they are complete."""
    folder = unit_folder(tmp_path, 300)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with BucketFile(folder) as file:
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(file._descriptors.max()) + 2, limits[1]))
        try:
            with pytest.raises(QuireError) as failure:
                BucketFile(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    remedy = "allow more open files (`ulimit -n`; a unit takes up to 7) and run again."
    assert str(failure.value) == f"{folder}: cannot be read (Too many open files); {remedy}"
