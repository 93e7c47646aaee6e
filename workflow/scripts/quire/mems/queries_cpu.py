"""Reading of queries: FASTA or FASTQ in batches of whole queries, with one-sentence errors.

A FASTA is read as MUMmer reads it: a name is the first word after `>`, names may be repeated, a record may be empty,
and case does not matter. Unlike in MUMmer, U is T, and letters that are not nucleotide codes, and records without a
name, are refused. A FASTQ is read as everywhere in Quire (`quire.io.fastq`): names lose a trailing /1 or /2.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quire.algorithms.mems import Queries
from quire.errors import InputError
from quire.io import sniff
from quire.io.fastq import read_batches
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reference.fasta import not_a_nucleotide
from quire.sequence.codes import AMBIGUOUS, IUPAC_BESIDES_N, code_table
from quire.simd.compiled import compiled

BATCH_BASES = 1 << 22  # about this number of bases are in a batch, or a single query
CHUNK_BYTES = 1 << 22
FEWEST_READS, MOST_READS = 16, 1 << 16  # reads in a batch of FASTQ
_SNIFFED_BYTES = 1 << 16
_LONGEST_READ = 1 << 31
_LETTERS_TO_JUDGE = 20  # shorter records are not judged to be protein
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BESIDES_N, _INVALID = AMBIGUOUS + 1, AMBIGUOUS + 2  # codes of letters for two or three bases, and of other bytes
_CODES = code_table({b"N": AMBIGUOUS, IUPAC_BESIDES_N: _BESIDES_N}, _INVALID).tobytes()


class QueryBatch(NamedTuple):
    """Consecutive queries of a file.

    Attributes:
        names, name_offsets: uint8[] flat, and int64[n + 1].
        queries: the queries, on the strand of the file.
    """

    names: np.ndarray
    name_offsets: np.ndarray
    queries: Queries

    def __len__(self) -> int:
        return len(self.name_offsets) - 1


def read_queries(path: str | Path) -> Iterator[QueryBatch]:
    """Read FASTA or FASTQ in batches of whole queries of about BATCH_BASES bases; raise InputError if it is wrong."""
    with read_errors(path), open_input(path) as stream:
        start = stream.read(_SNIFFED_BYTES)
    letters = start.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n \t")
    if not letters:
        raise InputError(f"{path}: contains no sequence; check how the file was made.")
    other = sniff.file_type(start, (*sniff.COMPRESSIONS, *(kind for kind in sniff.FORMATS if kind.magic != b">")))
    if other is not None:
        raise InputError(f"{path}: is {other.description}; give FASTA or FASTQ of the queries.")
    bases = 0
    for batch in _read_fastq(path, start) if letters.startswith(b"@") else _read_fasta(path):
        bases += len(batch.queries.codes)
        yield batch
    if not bases:
        raise InputError(f"{path}: contains no bases, only names; check how the file was made.")


def _read_fastq(path: str | Path, start: bytes) -> Iterator[QueryBatch]:
    """Yield batches of reads, each of about BATCH_BASES bases if all reads are as long as the first ones."""
    bytes_per_read = 4 * len(start) // max(start.count(b"\n"), 1)  # half of them are bases
    count = min(max(2 * BATCH_BASES // max(bytes_per_read, 1), FEWEST_READS), MOST_READS)
    for pair in read_batches(path, None, count, _LONGEST_READ):
        reads = pair.mate1
        yield QueryBatch(reads.names, reads.name_offsets, Queries(reads.bases, reads.offsets))


def _read_fasta(path: str | Path) -> Iterator[QueryBatch]:
    with read_errors(path), open_input(path) as stream:
        if lacks_bgzip_end(path):
            raise InputError(f"{path}: the bgzip stream has no end marker (truncated file); copy it again.")
        reader, held = _FastaReader(path), [stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)]
        while chunk := stream.read(CHUNK_BYTES) + stream.readline():
            cut = chunk.rfind(b"\n>") + 1  # what is before belongs to whole records
            text = b"".join((*held, chunk[:cut])) if cut or chunk.startswith(b">") else b""
            if len(text) >= BATCH_BASES and not text.isspace():
                yield reader.parse(text)
                held = [chunk[cut:]]
            else:
                held.append(chunk)
        yield reader.parse(b"".join(held))


class _FastaReader:
    """Converter of the text of whole records to queries, batch after batch."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.lines = self.records = 0  # of the batches before

    def parse(self, text: bytes) -> QueryBatch:
        """Return the records of a text; raise an InputError for a wrong one."""
        letters = np.frombuffer(text, np.uint8)
        starts = np.flatnonzero(letters == ord(">"))
        starts = starts[(starts == 0) | (letters[starts - 1] == ord("\n"))].tolist()
        if text[: starts[0] if starts else None].strip():
            raise InputError(f"{self.path}: is neither FASTA nor FASTQ: it starts with neither '>' nor '@'.")
        names, bodies = [], []
        for start, end in pairwise([*starts, len(text)]):
            header_end = text.find(b"\n", start, end)
            header = text[start + 1 : header_end if header_end >= 0 else end]
            if not header or header[:1].isspace():
                line = self._line(text, start)
                raise InputError(f"{self.path}: line {line}: a record has no name; write one right after '>'.")
            names.append(header.split(maxsplit=1)[0])
            bodies.append(b"".join(text[start + 1 + len(header) : end].split()).translate(_CODES))
        codes = np.frombuffer(b"".join(bodies), np.uint8)
        queries = Queries(codes, offsets_from_lengths(list(map(len, bodies))))
        if (codes > AMBIGUOUS).any():
            self._check(text, starts, names, queries)
            queries = queries._replace(codes=np.minimum(codes, np.uint8(AMBIGUOUS)))
        self.lines += text.count(b"\n")
        self.records += len(names)
        return QueryBatch(*pack_bytes(names), queries)

    def _line(self, text: bytes, place: int) -> int:
        return self.lines + text.count(b"\n", 0, place) + 1

    def _check(self, text: bytes, starts: list[int], names: list[bytes], queries: Queries) -> None:
        """Raise an InputError for a letter that is no code of nucleotides, or for protein."""
        for record, start in enumerate(starts):
            codes = queries.codes[queries.offsets[record] : queries.offsets[record + 1]]
            if (codes == _INVALID).any():
                place = text.find(b"\n", start)
                while text[place : place + 1].isspace() or _CODES[text[place]] != _INVALID:
                    place += 1
                words = not_a_nucleotide(text[place])
            elif len(codes) >= _LETTERS_TO_JUDGE and 2 * np.count_nonzero(codes == _BESIDES_N) > len(codes):
                place = start
                words = "looks like protein (most of its letters are none of A, C, G, T, N)"
            else:
                continue
            name = names[record].decode("ascii", "backslashreplace")
            here = f"{self.path}: line {self._line(text, place)}: the record {name!r} ({self.records + record + 1})"
            raise InputError(f"{here} {words}; give nucleotide sequences.")


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
