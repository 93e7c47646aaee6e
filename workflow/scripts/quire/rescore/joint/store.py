"""The records of a gVCF in a file of Quire, from which many samples are genotyped together.

The genome is cut into windows of WINDOW bases. A window has the records that overlap it, so a record that reaches into
the next window is in both. The file is: MAGIC, the compressed windows, offset and size of each window (int64), JSON
about the gVCF, and a footer: where the offsets and the JSON begin, and the CRC-32 of both.
"""

import json
import struct
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple
from zlib import crc32

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from quire.errors import InputError, QuireError
from quire.io.files import DAMAGE, atomic_path
from quire.ragged import offsets_from_lengths
from quire.reference import Reference
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.job import contigs_of
from quire.rescore.joint.columns import STRANDS, RecordColumns, RecordPart, join, take
from quire.rescore.joint.gvcf import MISSING, read_head
from quire.rescore.joint.parsing import parts_of
from quire.rescore.ploidy import PloidyMap

WINDOW = 20_000
MAGIC = b"QUIREGV1"  # another one whenever `_packed` changes, so that older stores are refused
_FOOTER = struct.Struct("<qqI8s")
_SIZES = "<6i"  # of a window, see `_packed`; before them stands a CRC-32 that begins with the window's number
_LEVEL = 1
_REMEDY = "delete it and import its gVCF again"
_UNREADABLE: tuple[type[Exception], ...] = (OSError, ValueError, struct.error, *DAMAGE)
_PLACE_BYTES = 16  # offset and size of a window


def import_gvcf(reference_directory: str | Path, gvcf: str | Path, store: str | Path) -> Sequence[str]:
    """Write the records of a gVCF to a store and return its samples.

    Raises:
        InputError: the gVCF is damaged, incomplete, of another reference, or was changed meanwhile.
    """
    before = state_of(gvcf)
    reference = Reference.open(reference_directory)
    head = read_head(gvcf, dict(contigs_of(reference)))
    with atomic_path(store) as temporary, temporary.open("wb") as file:
        file.write(MAGIC)
        writer = _Writer(file, reference, len(head.samples))
        for contig, part in parts_of(gvcf, head, reference):
            writer.add(contig, part)
        if state_of(gvcf) != before:
            raise InputError(f"{gvcf}: was changed while it was imported; import it again.")
        places = writer.finish()
        at = file.tell()
        content = json.dumps(
            {
                "gvcf": str(gvcf),
                "state": before,
                "samples": head.samples,
                "ploidy_lines": head.ploidy_lines,
                "reference": digest_of(reference),
            }
        ).encode()
        file.write(content)
        file.write(_FOOTER.pack(at - len(places), at, crc32(places + content), MAGIC))
    return head.samples


def state_of(gvcf: str | Path) -> list[str | int]:
    """Return the absolute path of a file, its size and its modification time (ns)."""
    found = Path(gvcf).stat()
    return [str(Path(gvcf).resolve()), found.st_size, found.st_mtime_ns]


def digest_of(reference: Reference) -> str:
    """Return a digest of the reference's contigs, on which windows and records depend."""
    return sha256(repr((WINDOW, contigs_of(reference), reference.contig_checksums)).encode()).hexdigest()


def first_windows(reference: Reference) -> NDArray[np.int64]:
    """Return the number of the first window of each contig, and the number of all (int64[contigs + 1])."""
    return offsets_from_lengths(-(-reference.contig_lengths // WINDOW))


class _Writer:
    """Writes the windows of a genome in order."""

    def __init__(self, file: IO[bytes], reference: Reference, samples: int) -> None:
        self._file, self._samples = file, samples
        self._first = first_windows(reference)
        self._written: dict[int, tuple[int, int]] = {}  # offset and size by window
        self._contig, self._window = -1, 0
        self._waiting: list[RecordPart] = []

    def add(self, contig: int, part: RecordPart) -> None:
        """Add records of a contig that begin after those added before."""
        if contig != self._contig:
            self._flush()
            self._contig, self._window = contig, int(self._first[contig])
        self._waiting.append(part)
        window = int(self._first[contig]) + int(part.columns.start[-1]) // WINDOW
        if window > self._window:
            self._write_before(window)

    def finish(self) -> bytes:
        """Write what waits, then the offsets and sizes of all windows, and return these."""
        self._flush()
        offsets = np.zeros((int(self._first[-1]), 2), np.int64)
        for window, place in self._written.items():
            offsets[window] = place
        places = offsets.tobytes()
        self._file.write(places)
        return places

    def _flush(self) -> None:
        if self._contig >= 0:
            self._write_before(int(self._first[self._contig + 1]))

    def _write_before(self, window: int) -> None:
        """Write the windows before one, and keep the records that reach into it or begin later."""
        if not self._waiting:
            return
        part = self._waiting[0] if len(self._waiting) == 1 else join(self._waiting)
        start, end = part.columns.start, part.columns.end
        base = int(self._first[self._contig])
        lows = np.arange(self._window - base, window - base) * WINDOW
        first = np.searchsorted(np.maximum.accumulate(end), lows, "right")  # no record before it reaches the window
        after = np.searchsorted(start, lows + WINDOW)
        for number in np.flatnonzero(first < after).tolist():
            rows = first[number] + np.flatnonzero(end[first[number] : after[number]] > lows[number])
            at = self._file.tell()
            self._file.write(_packed(take(part, rows), self._window + number))
            self._written[self._window + number] = at, self._file.tell() - at
        kept = np.flatnonzero(end > (window - base) * WINDOW)
        self._waiting = [take(part, kept)] if len(kept) else []
        self._window = window


def _packed(part: RecordPart, window: int) -> bytes:
    """Return a window as bytes. Row numbers are left out, since they follow from the counts."""
    columns, texts = part.columns, ("\n".join(part.spellings).encode(), "\n".join(part.phases).encode())
    sizes = len(columns.start), len(columns.phreds), len(columns.squares), len(columns.depths), *map(len, texts)
    arrays = (
        np.diff(columns.start, prepend=np.int32(0)),
        columns.end - columns.start,
        columns.spelling,
        columns.depth,
        columns.details != MISSING,
        columns.ploidy,
        columns.flags,
        columns.quality,
        columns.sample_depth,
        columns.phred_count,
        columns.phreds,
        columns.squares,
        columns.rank_sums,
        columns.strands,
        columns.phase,
        columns.depth_count,
        columns.depths,
    )
    data = isal_zlib.compress(b"".join([*(array.tobytes() for array in arrays), *texts]), _LEVEL)
    packed = struct.pack(_SIZES, *sizes) + data
    return struct.pack("<I", crc32(packed, window)) + packed


def _unpacked(packed: bytes, samples: int, window: int) -> RecordPart:
    """Return the window that `_packed` packed; raise ValueError if it is damaged."""
    if crc32(packed[4:], window) != struct.unpack_from("<I", packed)[0]:
        raise ValueError("a checksum is wrong")
    n, phreds, e, depths, *texts = struct.unpack_from(_SIZES, packed, 4)
    content = isal_zlib.decompress(packed[4 + struct.calcsize(_SIZES) :])
    at = 0

    def numbers(kind: type[np.generic], count: int) -> NDArray[Any]:
        nonlocal at
        found: NDArray[Any] = np.frombuffer(content, kind, count, at)
        at += found.nbytes
        return found

    def text(size: int) -> list[str]:
        nonlocal at
        at += size
        return content[at - size : at].decode().split("\n") if size else []

    s, d = n * samples, e * samples
    start = np.cumsum(numbers(np.int32, n), dtype=np.int32)
    end = start + numbers(np.int32, n)
    spelling, depth = numbers(np.int32, n), numbers(np.int32, n)
    has_details = numbers(np.bool_, n)
    ploidy, flags = numbers(np.uint8, s), numbers(np.uint8, s)
    quality, sample_depth, phred_count = (numbers(np.int32, s) for _ in range(3))
    columns = RecordColumns(
        start,
        end,
        spelling,
        depth,
        np.arange(0, s, samples, dtype=np.int32),
        np.where(has_details, np.cumsum(has_details) - 1, MISSING).astype(np.int32),
        ploidy,
        flags,
        quality,
        sample_depth,
        _firsts(phred_count),
        phred_count,
        numbers(np.int32, phreds),
        numbers(np.int64, 2 * e).reshape(e, 2),
        numbers(np.float64, len(RANK_SUMS) * e).reshape(e, len(RANK_SUMS)),
        np.arange(0, d, samples, dtype=np.int32),
        numbers(np.int32, STRANDS * d).reshape(d, STRANDS),
        numbers(np.int32, d),
        _firsts(depth_count := numbers(np.int32, d)),
        depth_count,
        numbers(np.int32, depths),
    )
    return RecordPart(columns, text(texts[0]), text(texts[1]))


def _firsts(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    return offsets_from_lengths(counts)[:-1].astype(np.int32)


class Store(NamedTuple):
    """An opened store: its path, and what its header says. No file is held open, so there may be thousands."""

    path: Path
    gvcf: str
    samples: list[str]
    ploidies: PloidyMap
    state: list[str | int]
    offsets_at: int

    @classmethod
    def open(cls, path: str | Path, reference: Reference) -> "Store":
        """Open a store; raise QuireError for a damaged file, or one of another reference."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                file.seek(-_FOOTER.size, 2)
                end = file.tell()
                offsets_at, at, checksum, magic = _FOOTER.unpack(file.read())
                file.seek(offsets_at)
                content = file.read(max(end - offsets_at, 0))
            if magic != MAGIC or crc32(content) != checksum or at < offsets_at:
                raise ValueError("its end is not that of a store")
            known = json.loads(content[at - offsets_at :])
        except _UNREADABLE as error:
            raise QuireError(f"{path}: cannot be read ({error}); {_REMEDY}.") from error
        if known["reference"] != digest_of(reference):
            raise QuireError(f"{path}: is of another reference or version of Quire; {_REMEDY}.")
        ploidies = PloidyMap.from_header(known["ploidy_lines"])
        return cls(path, known["gvcf"], known["samples"], ploidies, known["state"], offsets_at)

    def windows(self, before: int, first: int, last: int) -> list[tuple[int, RecordPart]]:
        """Return the records of some windows of a contig with the windows' numbers; a window without any is left out.

        Args:
            before: number of the contig's first window.
            first: number of the first window, counted in the contig.
            last: number of the last.

        Raises:
            QuireError: the file is damaged.
        """
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self.offsets_at + _PLACE_BYTES * (before + first))
                places = np.frombuffer(file.read(_PLACE_BYTES * (last - first + 1)), np.int64).reshape(-1, 2)
                found = []
                for number, (at, size) in enumerate(places.tolist(), first):
                    if size:
                        file.seek(at)
                        found.append((number, _unpacked(file.read(size), len(self.samples), before + number)))
        except _UNREADABLE as error:
            raise QuireError(f"{self.path}: cannot be read ({error}); {_REMEDY}.") from error
        return found


def overlapping(windows: Sequence[tuple[int, RecordPart]], start: int, end: int) -> list[RecordPart]:
    """Return the records that overlap a span of a contig, each once, and some more from the same windows.

    Args:
        windows: those that the span overlaps, see `Store.windows`.
        start: first position of the span, 0-based.
        end: position after the last.
    """
    first, parts = start // WINDOW, []
    for number, part in windows:
        if number > first or end - start < WINDOW:
            low = number * WINDOW if number > first else 0
            has_part = (part.columns.start >= low) & (part.columns.start < end)
            part = take(part, np.flatnonzero(has_part & (part.columns.end > start)))
        parts.append(part)
    return parts
