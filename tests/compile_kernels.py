"""Compile all kernels before tests, `python -m tests.compile_kernels`: each function once, with all processors.

Kernels are otherwise compiled when a test first calls them, and each worker of pytest-xdist and each run of the
workflow compiles the functions that several kernels call, and kernels that another compiles at that time.
"""

import os

from quire.kernel_list import all_entries, listed
from quire.kernels import compile_entries, compile_stage
from quire.simd.stamps import are_compiled

from tests.kernel_list.__main__ import RUNS

MOST_PROCESSES = 8  # as a run has


def main() -> None:
    """Compile the kernels of all stages together, unless they are, and write the stamps of the stages."""
    stages = {stage: dict.fromkeys(options, True) for stage, (_, options) in RUNS.items()}
    stamped = [
        are_compiled("-".join([stage, *options]), listed(stage, **options).values())
        for stage, options in stages.items()
    ]
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if not all(stamped):
        compile_entries(all_entries(), processes)
    for stage, options in stages.items():
        compile_stage(stage, processes, **options)


if __name__ == "__main__":
    main()
