"""Reading of queries: FASTA or FASTQ in batches of whole queries, with one-sentence errors.

A FASTA is read as MUMmer reads it: a name is the first word after `>`, names may be repeated, a record may be empty,
and case does not matter. Unlike in MUMmer, U is T, and letters that are not nucleotide codes, and records without a
name, are refused. A FASTQ is read as everywhere in Quire (`quire.io.fastq`): names lose a trailing /1 or /2.
"""

from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple

import numpy as np

import quire.mems.fasta_parser as parser
from quire.algorithms.mems import Queries
from quire.errors import InputError
from quire.io import sniff
from quire.io.fastq import read_batches
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.reference.fasta import PROTEIN_LETTERS
from quire.simd.compiled import compiled

BATCH_BASES = 1 << 22  # a batch ends with the query that reaches this number of bases
CHUNK_BYTES = 1 << 22
FEWEST_READS, MOST_READS = 16, 1 << 16  # reads in a batch of FASTQ
_SNIFFED_BYTES = 1 << 16
_LONGEST_READ = 1 << 31


class QueryBatch(NamedTuple):
    """Consecutive queries of a file.

    Attributes:
        names: uint8[], flat.
        name_offsets: int64[n + 1], where each name begins in `names`.
        queries: the queries, on the strand of the file.
    """

    names: np.ndarray
    name_offsets: np.ndarray
    queries: Queries

    def __len__(self) -> int:
        return len(self.name_offsets) - 1


def read_queries(
    path: str | Path, batch_bases: int = BATCH_BASES, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[QueryBatch]:
    """Read FASTA or FASTQ, plain, gzip or bgzip, in batches of whole queries.

    Args:
        path: the file.
        batch_bases: a batch ends with the query that reaches this number of bases.
        chunk_bytes: bytes of a FASTA that are read at a time.

    Raises:
        InputError: the file is not FASTA or FASTQ, or is damaged or empty; the message names file, record and remedy.
    """
    with read_errors(path), open_input(path) as stream:
        start = stream.read(_SNIFFED_BYTES)
    letters = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n \t")
    if not letters:
        raise InputError(f"{path}: contains no sequence; check how the file was made.")
    other = sniff.file_type(start, (*sniff.COMPRESSIONS, *(kind for kind in sniff.FORMATS if kind.magic != b">")))
    if other is not None:
        raise InputError(f"{path}: is {other.description}; give FASTA or FASTQ of the queries.")
    bases = 0
    for batch in (
        _read_fastq(path, start, batch_bases)
        if letters.startswith(b"@")
        else _read_fasta(path, batch_bases, chunk_bytes)
    ):
        bases += len(batch.queries.codes)
        yield batch
    if not bases:
        raise InputError(f"{path}: contains no bases, only names; check how the file was made.")


def _read_fastq(path: str | Path, start: bytes, batch_bases: int) -> Iterator[QueryBatch]:
    """Yield batches of reads, each of about `batch_bases` bases if all reads are as long as the first ones."""
    bytes_per_read = 4 * len(start) // max(start.count(b"\n"), 1)  # half of them are bases
    count = min(max(2 * batch_bases // max(bytes_per_read, 1), FEWEST_READS), MOST_READS)
    for pair in read_batches(path, None, count, _LONGEST_READ):
        reads = pair.mate1
        yield QueryBatch(reads.names, reads.name_offsets, Queries(reads.bases, reads.offsets))


def _read_fasta(path: str | Path, batch_bases: int, chunk_bytes: int) -> Iterator[QueryBatch]:
    with read_errors(path), open_input(path) as stream:
        if lacks_bgzip_end(path):
            raise InputError(f"{path}: the bgzip stream has no end marker (truncated file); copy it again.")
        yield from _FastaReader(path, stream, batch_bases, chunk_bytes).batches()


class _FastaReader:
    """A reader of FASTA in batches of records."""

    def __init__(self, path: str | Path, stream: BufferedIOBase, batch_bases: int, chunk_bytes: int) -> None:
        self.path, self.stream = path, stream
        self.batch_bases, self.chunk_bytes = batch_bases, chunk_bytes
        self.state = parser.new_state()
        self.given = 0  # records of earlier batches
        self.codes, self.names = np.empty(0, np.uint8), np.empty(0, np.uint8)
        self.offsets, self.name_offsets = np.empty(0, np.int64), np.empty(0, np.int64)

    def batches(self) -> Iterator[QueryBatch]:
        """Yield all batches."""
        first = True
        while chunk := self.stream.read(self.chunk_bytes):
            if first:
                chunk, first = chunk.removeprefix(b"\xef\xbb\xbf"), False
            self._parse(chunk)
            if self.state[parser.CODES] >= self.batch_bases and self.state[parser.RECORDS] > 1:
                yield self._take(int(self.state[parser.RECORDS]) - 1)
        self._require(parser.finish(self.state, self.offsets, self.name_offsets))
        self.offsets, self.name_offsets = _with_room(self.offsets, 1), _with_room(self.name_offsets, 1)
        yield self._take(int(self.state[parser.RECORDS]))

    def _parse(self, chunk: bytes) -> None:
        text = np.frombuffer(chunk, np.uint8)
        used, letters, records = (int(self.state[field]) for field in (parser.CODES, parser.NAMES, parser.RECORDS))
        begun = chunk.count(b">") + 1
        self.codes, self.names = _with_room(self.codes, len(text), used), _with_room(self.names, len(text), letters)
        self.offsets = _with_room(self.offsets, begun, records)
        self.name_offsets = _with_room(self.name_offsets, begun, records)
        self._require(parser.parse(text, self.state, self.codes, self.offsets, self.names, self.name_offsets))

    def _take(self, count: int) -> QueryBatch:
        """Remove and return the first `count` records."""
        used, letters, records = (int(self.state[field]) for field in (parser.CODES, parser.NAMES, parser.RECORDS))
        self.offsets[records], self.name_offsets[records] = used, letters
        offsets, name_offsets = self.offsets[: count + 1], self.name_offsets[: count + 1]
        end, name_end = int(offsets[-1]), int(name_offsets[-1])
        batch = QueryBatch(self.names[:name_end], name_offsets, Queries(self.codes[:end], offsets))
        self.codes, self.names = self.codes[end:used].copy(), self.names[name_end:letters].copy()
        self.offsets, self.name_offsets = self.offsets[count:records] - end, self.name_offsets[count:records] - name_end
        self.state[parser.CODES], self.state[parser.NAMES] = used - end, letters - name_end
        self.state[parser.RECORDS] = records - count
        self.given += count
        return batch

    def _require(self, status: int) -> None:
        """Raise an InputError for a status other than FINE."""
        if status == parser.FINE:
            return
        line, record = int(self.state[parser.LINE]), int(self.state[parser.RECORDS])
        if status == parser.NOT_FASTA and not self.given:
            raise InputError(f"{self.path}: is neither FASTA nor FASTQ: it starts with neither '>' nor '@'.")
        if status == parser.NO_NAME:
            raise InputError(f"{self.path}: line {line}: a record has no name; write one right after '>'.")
        first = int(self.name_offsets[record - 1])
        name = self.names[first : int(self.state[parser.NAMES])].tobytes().decode("ascii", "backslashreplace")
        here = f"{self.path}: line {line}: the record {name!r} ({self.given + record})"
        if status == parser.PROTEIN:
            raise InputError(
                f"{here} looks like protein (most of its letters are none of A, C, G, T, N); give nucleotide sequences."
            )
        letter = int(self.state[parser.LETTER])
        shown = chr(letter) if 32 < letter < 127 else f"\\x{letter:02x}"
        what = "looks like protein" if shown.upper().encode() in PROTEIN_LETTERS else "is not a nucleotide sequence"
        raise InputError(
            f"{here} {what}: '{shown}' is not a nucleotide code (A, C, G, T, N or IUPAC); give nucleotide sequences."
        )


def _with_room(array: np.ndarray, more: int, used: int | None = None) -> np.ndarray:
    """Return an array with room for `more` items after the first `used` ones (None: after all)."""
    used = len(array) if used is None else used
    if used + more <= len(array):
        return array
    larger = np.empty(max(used + more, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger


def turned(queries: Queries) -> Queries:
    """Return the reverse complement of each query."""
    codes = np.empty_like(queries.codes)
    _turn(queries.codes, queries.offsets, codes)
    return Queries(codes, queries.offsets)


@compiled
def _turn(codes, offsets, turned_codes):
    for query in range(len(offsets) - 1):
        first, last = offsets[query], offsets[query + 1] - 1
        for item in range(last - first + 1):
            code = codes[last - item]
            turned_codes[first + item] = code if code > 3 else np.uint8(3) - code
