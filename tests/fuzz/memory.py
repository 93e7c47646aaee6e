"""Tells whether htslib's answer to a file depends on memory that it does not own or did not set.

htslib 1.16 and 1.21 look up a substitution in a table of 5 x 4 letters with the byte that a CRAM states, of any size,
and read beyond the end of some blocks. Then the answer changes with the heap and the addresses of a process.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product

# Bytes that fill allocated memory, and settings of glibc's allocator that change which memory is used again.
FILLED = ("0", "1", "85", "170", "255")
TUNABLES = ("", "glibc.malloc.tcache_count=0", "glibc.malloc.mmap_threshold=4096")
# Rounds of all settings. Addresses differ each time, and paths get longer, which moves what is allocated after them.
ROUNDS, ROUNDS_OF_PYSAM = 20, 3
_VIEW = "import sys, pysam; sys.stdout.write(pysam.view(*sys.argv[1:]))"
PYSAM = (sys.executable, "-c", _VIEW)
SAMTOOLS = ("samtools", "view")


def answers_differ(arguments: Sequence[str]) -> bool:
    """Return True if `samtools view` of one version, 1.16 or pysam's, answers these arguments in two ways."""
    return varies([*SAMTOOLS, *arguments], ROUNDS) or varies([*PYSAM, *arguments], ROUNDS_OF_PYSAM)


def varies(command: Sequence[str], rounds: int) -> bool:
    """Return True if a program has another status or output in one of several memories."""
    answers = _answers(command, rounds)
    first = next(answers)
    return any(answer != first for answer in answers)


def _answers(command: Sequence[str], rounds: int) -> Iterator[tuple[int, bytes]]:
    """Yield status and output of a program in each of the memories."""
    for number, filled, tunables in product(range(rounds), FILLED, TUNABLES):
        longer = [f"/{9 * number * './'}{word[1:]}" if word.startswith("/") else word for word in command]
        environment = {**os.environ, "MALLOC_PERTURB_": filled, "GLIBC_TUNABLES": tunables}
        try:
            done = subprocess.run(longer, capture_output=True, check=False, timeout=10, env=environment)
        except subprocess.TimeoutExpired:
            yield -1, b""
        else:
            yield done.returncode, done.stdout
