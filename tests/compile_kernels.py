"""Compile all kernels before tests, `python -m tests.compile_kernels`: each function once, with all processors.

Kernels are otherwise compiled when a test first calls them, and each worker of pytest-xdist and each run of the
workflow compiles the functions that several kernels call, and kernels that another compiles at that time.
"""

import os

from quire.kernel_list import Entry, all_entries, listed
from quire.kernels import compile_entries, compile_stage
from quire.simd.stamps import are_compiled

from tests.kernel_list.__main__ import RUNS

MOST_PROCESSES = 8  # as a run has
# Functions that jobs call in kernels alone, and tests also from Python.
CALLED_BY_TESTS = {
    "quire.algorithms.semiglobal.cpu": ["align_one"],
    "quire.align.lift_over.places_cpu": ["place_of"],
    "quire.align.pairing.mapping_quality_cpu": ["count_cost", "lowered", "raw_quality", "single_quality"],
    "quire.finish.counts.gc_cpu": ["window_bin"],
    "quire.rescore.assembly": ["assemble_graph"],
    "quire.rescore.assembly.dangling_cpu": ["align_branch"],
    "quire.rescore.assembly.graph_cpu": ["build", "has_cycle"],
    "quire.rescore.assembly.k_mers_cpu": ["number_k_mers"],
    "quire.rescore.assembly.paths_cpu": ["best_paths"],
    "quire.rescore.dragen.repeats_cpu": ["repeats_in_read"],
    "quire.rescore.genotyping.annotations_cpu": ["fisher_exact"],
    "quire.rescore.genotyping.rank_sums_cpu": ["index_at", "mann_whitney", "site_values"],
    "quire.rescore.haplotypes.likelihoods_cpu": ["cap_and_drop"],
    "quire.rescore.haplotypes.repeats_cpu": ["count_repeats"],
    "quire.rescore.reads.clipping_cpu": ["bases_within"],
    "quire.rescore.reference_confidence.realignment_cpu": ["best_haplotypes"],
    "quire.sequence.ties.cpu": ["tie_hash"],
}


def main() -> None:
    """Compile the kernels of all stages together, unless they are, and write the stamps of the stages."""
    stages = {stage: dict.fromkeys(options, True) for stage, (_, options) in RUNS.items()}
    stamped = [
        are_compiled("-".join([stage, *options]), listed(stage, **options).values())
        for stage, options in stages.items()
    ]
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if not all(stamped):
        compile_entries(with_kernels_of_tests(all_entries()), processes)
    for stage, options in stages.items():
        compile_stage(stage, processes, **options)


def with_kernels_of_tests(entries: dict[int, Entry]) -> dict[int, Entry]:
    """Return the entries, and those of the functions that tests call from Python."""
    called = {f"{module}:{name}" for module, names in CALLED_BY_TESTS.items() for name in names}
    chosen = [entry._replace(part=False) for entry in entries.values() if entry.part and entry.function in called]
    return entries | dict(enumerate(chosen, len(entries)))


if __name__ == "__main__":
    main()
