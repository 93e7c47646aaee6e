"""Directories of a reference or a page's index: .npy arrays, and a manifest.json with format version and checksums.

A directory is used only after its manifest and every array were compared with the checksums written when it was built.
A process reads each file once for this, as long as its size and time stamp stay the same.
"""

import json
import mmap
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import json_lines

try:
    from isal.isal_zlib import crc32
except ImportError:  # an index is built on a card with NumPy and CuPy alone
    from zlib import crc32

MANIFEST = "manifest.json"
_READ_SIZE = 1 << 20
# A file changed twice within one tick of the clock keeps its time stamp, so younger files are read each time.
_SETTLED_NANOSECONDS = 1_000_000_000
_verified: dict[tuple[str, int, int, int], int] = {}
# NumPy parses the head of a file with `ast`, which in Python 3.11 fails at random in two threads at once (a SystemError
# about the recursion depth, gh-106905).
_one_head_at_a_time = threading.Lock()


def checksum_of_bytes(content: bytes | memoryview | NDArray[Any]) -> str:
    """Return the CRC-32 as eight hexadecimal digits."""
    return f"{crc32(content):08x}"


def checksum_of_file(path: Path) -> str:
    """Return the CRC-32 of a file in hexadecimal; read it again only if its size or time stamp has changed."""
    status = path.stat()
    key = (str(path.resolve()), status.st_ino, status.st_size, status.st_mtime_ns)
    if key in _verified:
        return f"{_verified[key]:08x}"
    checksum = 0
    with path.open("rb") as stream:
        if status.st_size:
            with _in_huge_pages(stream) as content, memoryview(content) as view:
                for begin in range(0, len(view), _READ_SIZE):
                    checksum = crc32(view[begin : begin + _READ_SIZE], checksum)
    if time.time_ns() - status.st_mtime_ns > _SETTLED_NANOSECONDS:
        _verified[key] = checksum
    return f"{checksum:08x}"


def _in_huge_pages(stream: BinaryIO) -> mmap.mmap:
    """Map a file for reading, in pages of 2 MiB if the kernel and the file system support them for files."""
    # The file stays in the page cache in such pages: look-ups in an index go to random places, and with pages of 4 KiB
    # most would also miss the TLB.
    content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without such pages
            content.madvise(mmap.MADV_HUGEPAGE)
    return content


def write_manifest(directory: Path, kind: str, manifest: dict[str, Any]) -> None:
    """Write the manifest of a finished directory: its kind, the given fields, all checksums of arrays and its own."""
    checksums = {path.name: checksum_of_file(path) for path in sorted(directory.glob("*.npy"))}
    content = dict(kind=kind, **manifest, checksums=checksums)
    content["manifest_checksum"] = _manifest_checksum(content)
    (directory / MANIFEST).write_text(json_lines(content))


def read_manifest(directory: Path, kind: str, format_version: int) -> dict[str, Any]:
    """Read the manifest of a directory of a `kind`, "reference" or "index"; raise InputError for any other."""
    path = directory / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        found_kind, version = manifest["kind"], manifest["format_version"]
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); build the {kind} in {directory} again."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is not a manifest of Quire; delete {directory} and build it again.") from error
    if found_kind != kind:
        raise InputError(f"{path}: is the manifest of kind {found_kind!r}, not {kind!r}; give the right folder.")
    if version != format_version:
        raise InputError(
            f"{path}: the {kind} has format version {version}, this program reads version {format_version}; "
            f"delete {directory} and build it again."
        )
    if manifest.get("manifest_checksum") != _manifest_checksum(manifest):
        raise InputError(f"{path}: does not match its own checksum (damaged or edited); build {directory} again.")
    return manifest


def open_array(directory: Path, manifest: dict[str, Any], name: str, verify: bool) -> NDArray[Any]:
    """Memory-map `name`.npy of a directory; with `verify`, raise InputError unless it has the manifest's checksum."""
    path = directory / f"{name}.npy"
    remedy = f"delete {directory} and build it again"
    try:
        if verify and checksum_of_file(path) != manifest["checksums"][path.name]:
            raise InputError(f"{path}: does not match its checksum in {MANIFEST} (damaged or changed); {remedy}.")
        with _one_head_at_a_time:
            return np.asarray(np.load(path, mmap_mode="r"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); {remedy}.") from error
    except ValueError as error:
        raise InputError(f"{path}: is not a whole array file ({error}); {remedy}.") from error


def _manifest_checksum(manifest: dict[str, Any]) -> str:
    """Return the checksum of all entries of a manifest except the checksum itself."""
    content = {key: value for key, value in manifest.items() if key != "manifest_checksum"}
    return checksum_of_bytes(json.dumps(content, sort_keys=True).encode())
