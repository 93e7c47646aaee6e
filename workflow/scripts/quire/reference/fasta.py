"""Reading of FASTA in blocks: records are checked and letters become codes, with no Python code per base.

Names are the first word after `>`; case does not matter; U is T. The IUPAC nucleotide codes are accepted.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.sequence.codes import AMBIGUOUS, IUPAC_BESIDES_N, code_table

BLOCK_SIZE = 1 << 22
_PROTEIN_LETTERS = b"EFIJLOPQXZ*"
_BLANKS = b" \t\r\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# SAM 1.6, section 1.2.1, and the comma, which some references still have in names.
_NAME_PATTERN = re.compile(rb"[0-9A-Za-z!#$%&+./:;?@^_|~,-][0-9A-Za-z!#$%&*+./:;=?@^_|~,-]*")
# A record in which codes for two or three bases have a larger share is protein, not DNA.
_MAX_SHARE_BESIDES_N = 0.5
_MIN_LETTERS_TO_JUDGE = 20
LONGEST_CONTIG = (1 << 31) - 1  # BAM has int32 positions

# Further codes, used only by the checks of this module.
CODE_BESIDES_N = AMBIGUOUS + 1
CODE_INVALID = AMBIGUOUS + 2


_CODES = code_table({b"N": AMBIGUOUS, IUPAC_BESIDES_N: CODE_BESIDES_N}, CODE_INVALID).tobytes()
_UPPER_CASE = np.uint8(0xDF)  # mask that turns a letter to upper case


@dataclass(frozen=True)
class Sequence:
    """A piece of a record: upper-case `letters` (uint8) without blanks, and their `codes` (uint8, 4 = ambiguous)."""

    name: str
    letters: NDArray[np.uint8]
    codes: NDArray[np.uint8]


def read_fasta(path: str | Path) -> Iterator[Sequence]:
    """Read a plain, gzip or bgzip FASTA piece by piece; the pieces of a record, at least one, follow each other.

    InputError is raised for a file that is empty, truncated or no nucleotide FASTA, and for a record without sequence.
    """
    with read_errors(path), open_input(path) as stream:
        if lacks_bgzip_end(path):
            raise InputError(f"{path}: the bgzip stream has no end marker (truncated file); copy it again.")
        reader = _RecordChecker(path)
        for is_header, piece in _pieces(stream, path):
            if is_header:
                reader.start(piece)
            else:
                yield from reader.sequence(piece)
        reader.finish()


def fasta_digest(path: str | Path) -> str:
    """Return the MD5 (hexadecimal) of names and upper-case sequences, independent of wrapping, case and compression."""
    digest = hashlib.md5()
    name = None
    for piece in read_fasta(path):
        if piece.name != name:
            name = piece.name
            digest.update(f">{name}\n".encode())
        digest.update(piece.letters.data)
    return digest.hexdigest()


def lengths_of_contigs(path: str | Path) -> dict[str, int]:
    """Return the length in bases of each record by name, in the order of the file; see `read_fasta`."""
    lengths: dict[str, int] = {}
    for piece in read_fasta(path):
        lengths[piece.name] = lengths.get(piece.name, 0) + len(piece.codes)
    return lengths


def _pieces(stream: BufferedIOBase, path: str | Path) -> Iterator[tuple[bool, bytes]]:
    """Cut a stream into header lines (True, without `>`) and stretches of sequence lines (False)."""
    header: list[bytes] | None = None
    line_start = first = True
    while block := stream.read(BLOCK_SIZE):
        if first:
            text = block.removeprefix(BYTE_ORDER_MARK).lstrip()
            if text and not text.startswith(b">"):
                raise InputError(_not_fasta(path, text))
            yield False, b"\n" * block.count(b"\n", 0, len(block) - len(text))
            block, first = text, not text
        position = 0
        while position < len(block):
            if header is None and line_start and block.startswith(b">", position):
                header, line_start = [], False
                position += 1
                continue
            if header is not None:
                end = block.find(b"\n", position)
                header.append(block[position : end if end >= 0 else len(block)])
                if end < 0:
                    break
                yield True, b"".join(header)
                header, line_start, position = None, True, end + 1
                continue
            end = _next_record(block, position)
            yield False, block[position:end]
            line_start = block[end - 1 : end] == b"\n"
            position = end
    if header is not None:
        yield True, b"".join(header)
    if first:
        raise InputError(f"{path}: the FASTA file is empty; give a file with at least one sequence.")


def _next_record(block: bytes, position: int) -> int:
    """Return the start of the first line after `position` that starts with `>`, or the end of the block."""
    # Searching for one letter is as fast as memory, searching for two letters is not.
    found = block.find(b">", position + 1)
    while found >= 0 and block[found - 1] != ord("\n"):
        found = block.find(b">", found + 1)
    return found if found >= 0 else len(block)


def _not_fasta(path: str | Path, block: bytes) -> str:
    """Return the message for a file that does not start with `>`."""
    found = block[:20].split(b"\n")[0].decode("ascii", "replace").strip()
    guess = " (it looks like FASTQ)" if block.startswith(b"@") else ""
    return f"{path}: is not FASTA{guess}: it starts with {found!r} instead of '>'; give a FASTA file."


class _RecordChecker:
    """A checker of the names, letters and lengths of a file's records, piece by piece."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.names: set[str] = set()
        self.name: str | None = None
        self.line = 0
        self.length = 0
        self.besides_n = 0

    def start(self, header: bytes) -> None:
        """Start a record."""
        self.finish()
        self.line += 1
        words = header.split(maxsplit=1)
        if not words or header[:1].isspace():
            raise InputError(f"{self.path}: line {self.line}: a record has no name; write one right after '>'.")
        self.name = words[0].decode("ascii", "backslashreplace")
        if not _NAME_PATTERN.fullmatch(words[0]):
            raise InputError(
                f"{self.path}: line {self.line}: the name {self.name!r} is not allowed in SAM (it may not start with "
                "'*' or '=' nor hold quotes, brackets, backslashes or other than printable ASCII); rename the record."
            )
        if self.name in self.names:
            raise InputError(
                f"{self.path}: line {self.line}: the name {self.name!r} is used twice; contig names must be unique."
            )
        self.names.add(self.name)
        self.length = self.besides_n = 0

    def sequence(self, piece: bytes) -> Iterator[Sequence]:
        """Turn sequence lines into letters and codes."""
        unwrapped = piece.replace(b"\n", b"")
        # Blanks other than line ends are rare, and deleting several kinds at once takes five times as long.
        has_blanks = any(blank in unwrapped for blank in (b"\r", b" ", b"\t"))
        letters = unwrapped.translate(None, _BLANKS) if has_blanks else unwrapped
        codes = np.frombuffer(letters.translate(_CODES), dtype=np.uint8)
        if codes.size:
            highest = codes.max()
            if highest == CODE_INVALID:
                raise InputError(self._bad_letter(piece))
            if highest == CODE_BESIDES_N:
                self.besides_n += int(np.count_nonzero(codes == CODE_BESIDES_N))
                codes = np.minimum(codes, np.uint8(AMBIGUOUS))
            self.length += codes.size
            if self.length > LONGEST_CONTIG:
                raise InputError(
                    f"{self.path}: the record {self.name!r} has more than {LONGEST_CONTIG} bases, the most that "
                    "BAM can hold; split it."
                )
            yield Sequence(str(self.name), np.frombuffer(letters, np.uint8) & _UPPER_CASE, codes)
        self.line += len(piece) - len(unwrapped)

    def finish(self) -> None:
        """End the record, if there is one, and refuse it unless it has a sequence of nucleotides."""
        if self.name is None:
            return
        if self.length == 0:
            raise InputError(f"{self.path}: the record {self.name!r} has no sequence; remove it or give its bases.")
        if self.length >= _MIN_LETTERS_TO_JUDGE and self.besides_n > _MAX_SHARE_BESIDES_N * self.length:
            raise InputError(
                f"{self.path}: the record {self.name!r} looks like protein ({self.besides_n} of its {self.length} "
                "letters are none of A, C, G, T, N); give a nucleotide FASTA."
            )

    def _bad_letter(self, piece: bytes) -> str:
        """Return the message for a letter that is not a nucleotide code, with its line."""
        wrong = next(byte for byte in piece if _CODES[byte] == CODE_INVALID and byte not in _BLANKS)
        line = self.line + piece.count(b"\n", 0, piece.index(wrong)) + 1
        return f"{self.path}: line {line}: the record {self.name!r} {not_a_nucleotide(wrong)}; give a nucleotide FASTA."


def not_a_nucleotide(letter: int) -> str:
    """Return the words about a record with a letter (ASCII) that is not a nucleotide code."""
    shown = chr(letter) if 32 < letter < 127 else f"\\x{letter:02x}"
    what = "looks like protein" if shown.upper().encode() in _PROTEIN_LETTERS else "is not a nucleotide sequence"
    return f"{what}: '{shown}' is not a nucleotide code (A, C, G, T, N or IUPAC)"
