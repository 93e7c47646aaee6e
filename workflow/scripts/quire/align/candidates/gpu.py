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
BUNDLE_BYTES, CANDIDATE_BYTES, RANKED_BYTES = 24, 16, 32  # sizes of the structs in candidates.cu
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
    xp, count = card.xp, len(reads)
    hit_counts = offsets[1:] - offsets[:-1]
    scratch_offsets = card.offsets(xp.where(hit_counts > LOCAL_BUNDLES, hit_counts, 0))
    scratch = card.empty(int(scratch_offsets[-1]) * BUNDLE_BYTES // 8, np.int64)
    lists = 1 if reference.alternate is None else 2  # candidates on the primary assembly, and on alternate contigs
    slots = card.offsets(xp.minimum(hit_counts, lists * MOST_CANDIDATES))
    # An upper bound of the sum of the slots, which saves waiting for the sum.
    most = min(len(hits), lists * MOST_CANDIDATES * count)
    staged = card.empty(most * CANDIDATE_BYTES // 8, np.int64)
    counts = card.empty(count, np.int32)
    warps = THREADS // 32
    shared_bytes = warps * (lists * MOST_CANDIDATES * RANKED_BYTES + LOCAL_BUNDLES * BUNDLE_BYTES)
    defines = {"SEED_LENGTH": seeding.seed_length, **DEFINES}
    card.kernel(SOURCE, "cluster", **defines)(
        -(-count // warps), THREADS, offsets, hits, reads, reference, seeding.stride, scratch_offsets, scratch, slots,
        staged, counts, shared_bytes=shared_bytes,
    )  # fmt: skip
    job_offsets = card.offsets(counts)
    total = int(job_offsets[-1])
    jobs = ExtensionJobs(*(card.empty(total, dtype) for dtype in JOB_TYPES))
    card.kernel(SOURCE, "write_jobs", **defines).for_each(
        total, job_offsets, count, total, slots, staged, reference, *jobs
    )
    return jobs
