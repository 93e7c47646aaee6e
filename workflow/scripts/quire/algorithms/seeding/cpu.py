"""Seeding with Numba over the FM-index of each page: one page in one pass, several in counts, choice and location."""

import numpy as np

from quire.algorithms.seeding import MAXIMUM_SEEDS, RAREST_LIMIT
from quire.algorithms.seeding.cpu_one_page import hits_of_one_page
from quire.algorithms.seeding.cpu_pages import choose_depths, count_seeds, finish_merge, hits_of_choice
from quire.algorithms.seeding.cpu_steps import DEPTH_COUNT, PageArrays, ReadArrays, seed_count
from quire.batch import offsets_from_lengths

READS_AT_A_TIME = 32768  # with several pages: their counts of seeds take at most 120 MB


def page_arrays(fm_index, page) -> PageArrays:
    """The kernels' view of a page: `fm_index` an `FmIndex`, `page` with start and owned_end on the axis."""

    def frozen(array):
        # Memory-mapped arrays are read-only; marking all so keeps one compiled kernel for both kinds.
        view = np.asarray(array).view(np.ndarray)
        view.flags.writeable = False
        return view

    return PageArrays(
        frozen(fm_index.blocks), int(fm_index.words_per_block), frozen(fm_index.C), int(fm_index.primary),
        frozen(fm_index.prefix_table.reshape(-1)), int(fm_index.prefix_length), frozen(fm_index.suffix_array),
        int(fm_index.sa_sampling), frozen(fm_index.sampled_rows), frozen(fm_index.unowned_rows),
        int(page.start), int(page.owned_end - page.start),
    )  # fmt: skip


def find_hits(pages, reads, text, parameters):
    """See `quire.algorithms.seeding.find_hits`; `pages` are `PageArrays`."""
    batch = ReadArrays(reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, reads.name_hash,
                       parameters.stride, parameters.maximum_hits)  # fmt: skip
    if len(pages) == 1:
        return _collect(hits_of_one_page, pages[0], batch, text)
    if len(reads) > READS_AT_A_TIME:
        return _find_in_slices(pages, reads, text, parameters)
    most = max((seed_count(length, parameters.stride) for length in np.unique(np.diff(reads.offsets))), default=0)
    counts = np.zeros((len(reads), 2, most, DEPTH_COUNT), np.int32)
    for page in pages:
        count_seeds(page, batch, text, counts)
    choice = choose_depths(counts, batch)
    del counts
    parts = [_collect(hits_of_choice, page, batch, text, choice) for page in pages]
    return _merge_pages(parts, batch, choice)


def _find_in_slices(pages, reads, text, parameters):
    """Hits of a large batch, a slice of reads after another: the counts of seeds take memory by the read."""
    slices = [
        np.arange(begin, min(begin + READS_AT_A_TIME, len(reads))) for begin in range(0, len(reads), READS_AT_A_TIME)
    ]
    parts = [find_hits(pages, reads.subset(chosen), text, parameters) for chosen in slices]
    lengths = np.concatenate([np.diff(offsets) for offsets, _ in parts])
    return offsets_from_lengths(lengths), np.concatenate([hits for _, hits in parts])


def _collect(kernel, page, batch, text, *more):
    """Run a kernel that appends hits read by read; grow its array and go on where it stopped for want of room."""
    count = len(batch.offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    hits = np.empty(64 * count + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT, np.uint64)
    begin = kernel(page, batch, text, *more, 0, offsets, hits)
    while begin < count:
        hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
        begin = kernel(page, batch, text, *more, begin, offsets, hits)
    return offsets, hits[: offsets[-1]]


def _merge_pages(parts, batch, choice):
    """Hits of all pages by read, sorted; of a rarest seed again only those of smallest hash."""
    count = len(batch.offsets) - 1
    per_page = [np.diff(offsets) for offsets, _ in parts]
    owners = np.concatenate([np.repeat(np.arange(count), numbers) for numbers in per_page])
    hits = np.concatenate([part for _, part in parts])[np.argsort(owners, kind="stable")]
    offsets = offsets_from_lengths(sum(per_page))
    kept = np.zeros(count + 1, np.int64)
    finish_merge(offsets, hits, batch, choice, kept)
    return kept, hits[: kept[-1]]
