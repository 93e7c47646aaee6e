"""The text of plain, gzip and bgzip files in chunks, for formats that are parsed by kernels."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from gzip import BadGzipFile
from pathlib import Path

import numpy as np
from isal import igzip_threaded, isal_zlib
from numpy.typing import NDArray

from quire.io.ahead import ahead
from quire.io.bytes_read import CountedFile
from quire.io.files import open_input
from quire.io.gzip_ahead import Unsuited, inflate_gzip
from quire.io.inflate_cpu import DamagedBlock, NoBlock, inflate_ahead
from quire.io.sniff import is_bgzip, is_gzip

STRETCH_BYTES = 1 << 20  # compressed bytes of a task; more than one block
THREADS = 4  # that inflate a bgzip file; one thread inflates plain gzip
GZIP_BYTES = 1 << 22  # bytes of text that the thread inflates between two uses of the interpreter's lock


def text_chunks(path: str | Path, size: int, threads: int = 1) -> Generator[NDArray[np.uint8], None, None]:
    """Yield the text (uint8[]) of a file in order; chunks of plain files, and of gzip by one thread, have `size` bytes.

    Plain gzip members may follow the blocks of a bgzip file. With more than one of `threads`, plain gzip is inflated
    by them, for three times the processor time.

    Raises:
        InputError: the file is missing, a pipe or unreadable.
        BadGzipFile: compressed data are damaged.
        EOFError: the file ends within a block or a gzip member.
    """
    open_input(path).close()
    with CountedFile(path) as file:
        if is_bgzip(path):
            with ThreadPoolExecutor(THREADS, "quire-inflate") as pool:
                try:
                    yield from inflate_ahead(file, pool, STRETCH_BYTES, 2 * THREADS)
                    return
                except NoBlock as error:
                    file.seek(error.offset)
                except DamagedBlock as error:
                    raise BadGzipFile(str(error)) from None
        done, checksum = 0, 0
        if threads > 1 and is_gzip(path) and not is_bgzip(path):
            with (
                ThreadPoolExecutor(threads, "quire-inflate") as pool,
                closing(ahead(lambda: inflate_gzip(file, pool, 2 * threads), 2)) as texts,
                suppress(Unsuited),
            ):
                for text in texts:
                    done, checksum = done + len(text), isal_zlib.crc32(text, checksum)
                    yield text
                return
            file.seek(0)
        with closing(igzip_threaded.open(file, "rb", block_size=GZIP_BYTES) if is_gzip(path) else file) as stream:
            again = 0
            while True:
                chunk = np.empty(min(size, done) or size, np.uint8)
                got = stream.readinto(chunk.data)
                if not got:
                    break
                if done == 0:
                    yield chunk[:got]
                    continue
                again, done = isal_zlib.crc32(chunk[:got], again), done - got
                if done == 0 and again != checksum:
                    raise BadGzipFile("its blocks cannot be inflated from within")
            if done:
                raise EOFError("the file became shorter")
