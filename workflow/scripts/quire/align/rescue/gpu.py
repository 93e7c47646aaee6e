"""Mate rescue on a card: the twin of `quire.align.rescue.cpu`, with the same jobs in the same order."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import JOB_TYPES, ExtensionJobs
from quire.align.alignments.gpu import proper_lengths_on
from quire.align.insert_size import InsertSizes
from quire.align.model import Alignments
from quire.align.parameters import MACROS
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads
from quire.reference.gpu import CardReference
from quire.sequence.packing import BASES_PER_WORD

SOURCE = "quire/align/rescue/rescue.cu"
DEFINES = MACROS
WARP = 32
# Warps in a block, one per task; fewer if the shared memory of a block is too small.
WARPS = 4
# Diagonals whose votes are counted at a time; wider windows take several rounds.
MOST_DIAGONALS = 2048
# Slots of the table per base of the longest mate; enough of them are empty that most searches end at the first slot.
SLOTS_PER_BASE = 3


class _Tasks(NamedTuple):
    """The struct Tasks of rescue.cu; int32[], uint8[], int64[], int64[], int64[], int32[]."""

    mate: CardArray
    strand: CardArray
    begin: CardArray
    end: CardArray
    target: CardArray
    island: CardArray


_TASK_TYPES = (np.int32, np.uint8, np.int64, np.int64, np.int64, np.int32)


def rescue_jobs(
    card: Card, alignments: Alignments, reads: CardReads, reference: CardReference, insert_sizes: InsertSizes
) -> ExtensionJobs:
    """Return the jobs of `quire.align.rescue.cpu.rescue_jobs`, on the card."""
    if not (insert_sizes.are_known and len(reads)):
        return _empty_jobs(card, 0)
    count_tasks, write_tasks, write_jobs = (
        card.kernel(SOURCE, entry, **DEFINES) for entry in ("count_tasks", "write_tasks", "write_jobs")
    )
    lengths = proper_lengths_on(card, insert_sizes)
    counts = card.empty(len(reads), np.int32)
    count_tasks.for_each(len(reads), alignments, reads, lengths, counts)
    offsets, totals = card.offsets_and_totals(counts)
    count = totals.wait()[0]
    tasks = _Tasks(*(card.empty(count, dtype) for dtype in _TASK_TYPES))
    if not count:
        return _empty_jobs(card, 0)
    write_tasks.for_each(len(reads), alignments, reads, reference, lengths, offsets, tasks)
    spread = max(model.high - model.low for model in insert_sizes.models)
    best, found = _scan(card, tasks, count, reads, reference, spread)
    offsets, totals = card.offsets_and_totals(found)
    jobs = _empty_jobs(card, totals.wait()[0])
    write_jobs.for_each(2 * count, tasks, count, reference, best, found, offsets, jobs)
    return jobs


def _scan(
    card: Card, tasks: _Tasks, count: int, reads: CardReads, reference: CardReference, spread: int
) -> tuple[CardArray, CardArray]:
    """Return the best and second diagonal (int64[2 * count]) of each task, and 1 (uint8[2 * count]) if it exists."""
    # A window has at most `spread` (largest range of template lengths of an orientation) bases plus a mate's length.
    longest = reads.longest
    slot_bits = max(SLOTS_PER_BASE * longest, 2).bit_length()
    diagonals = 4 * -(-min(spread + longest, MOST_DIAGONALS) // 4)
    words = (diagonals + longest) // BASES_PER_WORD + 3
    places = 4 * -(-longest // 4)
    others = 8 * words + 2 * diagonals + 2 * places
    # For long mates on a card with little shared memory, use a smaller table that still has an empty slot.
    while (4 << slot_bits) + others > card.shared_bytes and slot_bits > longest.bit_length():
        slot_bits -= 1
    bytes_per_warp = (4 << slot_bits) + others
    warps = max(1, min(WARPS, card.shared_bytes // bytes_per_warp))
    best, found = card.empty(2 * count, np.int64), card.empty(2 * count, np.uint8)
    scan = card.kernel(SOURCE, "scan", **DEFINES)
    scan(-(-count // warps), warps * WARP, tasks, count, reads, reference.text, np.int32(slot_bits), np.int32(words),
         np.int32(diagonals), np.int32(places), best, found, shared_bytes=warps * bytes_per_warp)  # fmt: skip
    return best, found


def _empty_jobs(card: Card, count: int) -> ExtensionJobs:
    return ExtensionJobs(*(card.empty(count, dtype) for dtype in JOB_TYPES))
