"""From hits to candidates on a card: the twin of `quire.align.candidates.cpu`."""

import numpy as np

from quire.algorithms.extension import GAP_EXTEND, GAP_OPEN, JOB_TYPES, MATCH, MISMATCH, ExtensionJobs
from quire.algorithms.seeding import DIAGONAL_BIAS, MAXIMUM_SEEDS, SEED_LENGTHS, SeedingParameters
from quire.align.parameters import MACROS, MOST_CANDIDATES
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads
from quire.reference.gpu import CardReference

SOURCE = "quire/align/candidates/candidates.cu"
# A warp's shared memory holds the bundles of a read with up to this many hits: nine out of ten reads.
LOCAL_BUNDLES = 64
THREADS = 128  # few reads per block, so that one read in a repeat delays few others
BUNDLE_BYTES, CANDIDATE_BYTES, RANKED_BYTES = 24, 16, 32  # sizes of the structs of these names
DEFINES = {
    **MACROS,
    "BUNDLE_BYTES": BUNDLE_BYTES,
    "CANDIDATE_BYTES": CANDIDATE_BYTES,
    "DIAGONAL_BIAS": DIAGONAL_BIAS,
    "GAP_COST": abs(GAP_OPEN),
    "GAP_COST_PER_BASE": abs(GAP_EXTEND),
    "LOCAL_BUNDLES": LOCAL_BUNDLES,
    "MATCH": MATCH,
    "MAXIMUM_SEEDS": MAXIMUM_SEEDS,
    "MISMATCH": MISMATCH,
    "RANKED_BYTES": RANKED_BYTES,
    "THREADS": THREADS,
}
KERNELS = [(SOURCE, {"SEED_LENGTH": length, **DEFINES}) for length in SEED_LENGTHS]


def find_candidates(
    card: Card,
    offsets: CardArray,
    hits: CardArray,
    reads: CardReads,
    reference: CardReference,
    seeding: SeedingParameters,
) -> ExtensionJobs:
    """Cluster hits, as `quire.align.candidates.cpu.find_candidates` does; arrays on the card."""
    count = len(reads)
    lists = 1 if reference.alternate is None else 2  # candidates on the primary assembly, and on alternate contigs
    defines = {"SEED_LENGTH": seeding.seed_length, **DEFINES}
    room = card.empty((2, count), np.int32)
    card.kernel(SOURCE, "plan_room", **defines).for_each(count, offsets, count, lists, room)
    (scratch_offsets, slots), totals = card.offsets_and_totals(room)
    bundles, candidates = totals.wait()
    scratch = card.empty(bundles * BUNDLE_BYTES // 8, np.int64)
    staged = card.empty(candidates * CANDIDATE_BYTES // 8, np.int64)
    counts = card.empty(count, np.int32)
    warps = THREADS // 32
    shared_bytes = warps * (lists * MOST_CANDIDATES * RANKED_BYTES + LOCAL_BUNDLES * BUNDLE_BYTES)
    card.kernel(SOURCE, "cluster", **defines)(
        -(-count // warps), THREADS, offsets, hits, reads, reference, seeding.stride, scratch_offsets, scratch, slots,
        staged, counts, shared_bytes=shared_bytes,
    )  # fmt: skip
    job_offsets, totals = card.offsets_and_totals(counts)
    total = totals.wait()[0]
    jobs = ExtensionJobs(*(card.empty(total, dtype) for dtype in JOB_TYPES))
    write_jobs = card.kernel(SOURCE, "write_jobs", **defines)
    write_jobs.for_each(total, job_offsets, count, total, slots, staged, reference, jobs)
    return jobs
