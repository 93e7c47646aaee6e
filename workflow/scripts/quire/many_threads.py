"""What a process sets for itself whose threads pass large arrays to each other.

Measured on an H200 host (docs/benchmarks/results.md, "What threads cost each other"): a thread that runs kernels needs
the interpreter's lock between two of them for microseconds, and waits for it as long as the switch interval where
another thread works in Python. With Python's 5 ms one such thread halved the rate of a gzip stream; with half a
millisecond it takes a tenth. And memory that goes back to the system with every array comes back page by page, so that
it is kept; but for arrays from 64 MB on, of which a part may never be written: a job that kept these too took half as
much memory again. The processes of calling take the same arrays again and again for one batch after another, and
inherit it.
"""

import ctypes
import sys

SWITCH_SECONDS = 0.0005
# Of glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
_PAD_BYTES = 1 << 26
LEAST_MAPPED = (1 << 26, 1 << 25)  # bytes; the C library takes no more than the second before glibc 2.35
_NEVER = (1 << 31) - 1  # the largest number that mallopt takes: 2 GB on top before any goes back


def prepare() -> None:
    """Set it before the threads begin. Where the C library takes no such threshold, memory stays as it is."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    # Any other option ends glibc's own ways with the threshold, so that it is left alone where this one is refused.
    if any(set_option(_MMAP_THRESHOLD, value) for value in LEAST_MAPPED):
        for option, value in {_ARENA_MAX: 1, _TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD_BYTES}.items():
            set_option(option, value)
