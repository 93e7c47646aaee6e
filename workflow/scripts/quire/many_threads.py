"""Settings of a process whose threads pass large arrays to each other.

- Switch interval. A thread that runs kernels needs the interpreter's lock for microseconds between two kernels, and
  waits for it up to one switch interval while another thread runs Python code. With Python's 5 ms one such thread
  halved the rate of a gzip stream; with 0.5 ms it costs a tenth
  (docs/decisions/0005-keep-the-lock-out-of-the-hot-path.md).
- Memory. Arrays whose memory is returned to the system cost a page fault per page at their next use, so memory is kept.
  Arrays of 64 MB and more are not kept, since parts of them may never be written: keeping them raised memory use by
  half. The processes of calling use the same arrays for one batch after another, and inherit the setting.
"""

import ctypes
import sys

SWITCH_SECONDS = 0.0005
# Constants of glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
_PAD_BYTES = 1 << 26
LEAST_MAPPED = (1 << 26, 1 << 25)  # bytes; before glibc 2.35 the C library accepts at most the second
# The largest number that mallopt accepts: memory is returned only above 2 GB of free memory at the top of the heap.
_NEVER = (1 << 31) - 1


def prepare() -> None:
    """Apply the settings before threads start; leave memory unchanged if the C library refuses the threshold."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    # Setting any other option stops glibc from adapting the threshold, so they are set only if this one is accepted.
    if any(set_option(_MMAP_THRESHOLD, value) for value in LEAST_MAPPED):
        for option, value in {_ARENA_MAX: 1, _TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD_BYTES}.items():
            set_option(option, value)
