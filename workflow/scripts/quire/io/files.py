"""Output files that appear complete or not at all, Quire's own JSON files, and files whose compression is detected."""

import errno
import glob
import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from gzip import BadGzipFile
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Any, cast

from quire.errors import InputError, QuireError
from quire.io.bytes_read import CountedFile
from quire.io.sniff import BGZF_HEADER, CRAM_MAGIC, is_bgzip, is_gzip

DAMAGE: tuple[type[Exception], ...] = (BadGzipFile, zlib.error)
"""Exceptions of reading a damaged gzip file; a truncated one raises EOFError."""
try:
    from isal import isal_zlib
    from isal.igzip import open as open_gzip

    DAMAGE += (cast(type[Exception], isal_zlib.error),)
except ImportError:  # an index can be built on a card with NumPy and CuPy alone
    from gzip import open as open_gzip

BGZF_END = BGZF_HEADER + bytes.fromhex("1b0003000000000000000000")
"""The empty block that closes a bgzip file (SAM specification 4.1.2)."""

# End-of-file containers of CRAM by the first bytes of a file: magic number and major version.
_CRAM_ENDS = {
    CRAM_MAGIC + b"\2": bytes.fromhex("0b000000ffffffff0fe0454f460000000001000001000606010001000100"),
    CRAM_MAGIC + b"\3": bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),
}


_SEAL = re.compile(rb'(?:(?<!{),|(?<={))\n  "checksum": "([0-9a-f]{8})"\n}\n\Z')  # as `sealed` writes it


@contextmanager
def atomic_path(final: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `final`; rename it on success, delete it on any error."""
    final = Path(final)
    temporary = _temporary_name(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _discard_leftovers(final)
        yield temporary
        os.replace(temporary, final)
    except BaseException as error:
        _discard(temporary)
        # An OSError without a number is not from the file system (it may be about a library that cannot be loaded),
        # except NumPy's about an array that was not written completely.
        cut_short = "requested and" in str(error)
        if isinstance(error, OSError) and (error.errno is not None or cut_short):
            reason = os.strerror(errno.ENOSPC) if cut_short else error.strerror or error
            raise QuireError(
                f"{final}: cannot be written ({reason}); check permissions and the free space there."
            ) from error
        raise


@contextmanager
def scratch_directory(parent: str | Path, name: str) -> Iterator[Path]:
    """Yield an empty folder in `parent` and delete it at the end; first delete leftovers of killed jobs."""
    final = Path(parent) / name
    temporary = _temporary_name(final)
    try:
        _discard_leftovers(final)
        temporary.mkdir(parents=True)
        yield temporary
    except OSError as error:
        raise QuireError(
            f"{parent}: temporary files cannot be written ({error.strerror or error}); check permissions and the free "
            "space there."
        ) from error
    finally:
        _discard(temporary)


def _temporary_name(final: Path) -> Path:
    """Return a hidden name beside `final` that contains the machine and the process."""
    return final.with_name(f".{final.name}.{_machine()}.{os.getpid()}.tmp")


def _machine() -> str:
    return "".join(letter for letter in os.uname().nodename if letter.isalnum()) or "local"


def _discard_leftovers(final: Path) -> None:
    """Delete temporary files of `final` whose processes on this machine have ended."""
    prefix = f".{final.name}.{_machine()}."
    for path in final.parent.glob(glob.escape(prefix) + "*.tmp"):
        process = path.name.removeprefix(prefix).removesuffix(".tmp")
        if process.isdecimal() and not Path(f"/proc/{process}").exists() and Path("/proc/self").exists():
            _discard(path)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def atomic_directory(final: str | Path) -> Iterator[Path]:
    """Yield a temporary directory as `atomic_path` does; on success it replaces any file or folder at `final`."""
    final = Path(final)
    with atomic_path(final) as temporary:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        _discard(final)


def write_json_atomic(path: str | Path, content: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write `content` as JSON for `read_json`; the file appears complete or not at all.

    Without `indent` it is one line, which suits 100,000 items: indented they are long and take seconds.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(sealed(path, json.dumps(content, indent=indent)))


def json_lines(content: Mapping[str, Any]) -> str:
    """Return JSON with one line for each key, for values with many items (see `write_json_atomic`)."""
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def sealed(path: str | Path, text: str) -> str:
    """Return the text of a JSON object with the line `checksum` at its end.

    It covers the name of the file, so that a file that takes the place of another is noticed.
    """
    body = text.rstrip().removesuffix("}").rstrip()
    comma = "" if body == "{" else ","
    return f'{body}{comma}\n  "checksum": "{named_checksum(path, body.encode()):08x}"\n}}\n'


def named_checksum(path: str | Path, content: bytes) -> int:
    """Return the CRC-32 of a file's name and content."""
    return zlib.crc32(content, zlib.crc32(Path(path).name.encode()))


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON file that `write_json_atomic` wrote under this name; raise QuireError for any other content."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise QuireError(f"{path}: cannot be read ({error.strerror}); run the workflow again.") from None
    seal = _SEAL.search(text, max(0, len(text) - 40))
    if seal is None or int(seal[1], 16) != named_checksum(path, text[: seal.start()]):
        raise QuireError(
            f"{path}: does not match its checksum (damaged, edited, or of another file or version of Quire); delete it "
            "and run the workflow again."
        )
    content: dict[str, Any] = json.loads(text)
    del content["checksum"]
    return content


def lacks_bgzip_end(path: str | Path) -> bool:
    """Return True if a bgzip file lacks its closing block, without which a truncated file may appear complete."""
    if not is_bgzip(path):
        return False
    with open(path, "rb") as stream:
        stream.seek(-min(os.path.getsize(path), len(BGZF_END)), os.SEEK_END)
        return stream.read() != BGZF_END


def lacks_cram_end(path: str | Path) -> bool:
    """Return True if a CRAM file lacks its end-of-file container (CRAM specification, section 9)."""
    with open(path, "rb") as stream:
        end = _CRAM_ENDS.get(stream.read(len(CRAM_MAGIC) + 1))
        if end is None:
            return False
        stream.seek(-min(os.path.getsize(path), len(end)), os.SEEK_END)
        return stream.read() != end


def open_input(path: str | Path) -> BufferedIOBase:
    """Open a plain, gzip or bgzip file for reading bytes.

    Raises:
        InputError: the file is missing, a pipe or unreadable. A damaged gzip raises EOFError or one of DAMAGE while
            it is read: see `read_errors`.
    """
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise InputError(f"{path}: is a pipe, which cannot be read twice; write it to a file and give that.")
        if is_gzip(path):
            return cast(BufferedIOBase, open_gzip(path, "rb"))
        return BufferedReader(CountedFile(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error


def htslib_path(path: str | Path) -> str:
    """Return an absolute path for htslib, to which `-x` is an option; InputError for `##idx##`, where it cuts names."""
    if "##idx##" in str(path):
        raise InputError(f"{path}: has ##idx## in its name, where htslib ends the name of a file; rename it.")
    return str(Path(path).absolute())


@contextmanager
def read_errors(path: str | Path) -> Iterator[None]:
    """Turn the exceptions of a damaged compressed file into an InputError that names the file."""
    try:
        yield
    except EOFError as error:
        raise InputError(f"{path}: the gzip stream ends too early (truncated file); copy it again.") from error
    except DAMAGE as error:
        raise InputError(f"{path}: the gzip stream is damaged ({error}); copy or download it again.") from error
