"""Maximal exact matches on a card: the twin of `cpu.py`, with the same matches in the same order.

1. Queries are packed on the card with their *runs* of known bases. A *seed* is searched at every `step`-th base of a
   run, with seed_length + step - 1 <= min_length: each match contains a whole seed (Grabowski and Bieniecki 2018 sample
   in this way; here every base of the reference is indexed, and only queries are sampled).
2. The match kernel (search.cu) finds the rows of each seed of a *window* in a page.
3. The print kernel (listing.cu) locates them, one thread per hit, and compares packed words to both sides. A match is
   reported by its first seed, so that the matches of a seed begin within `step` bases, and windows follow the order of
   matches. Matches are counted, scanned and written; those of a call are sorted by one word each.
4. If only matches unique in the reference are wanted, one warp per match goes through the other hits of its seed.

A hit belongs to the page that contains the seed's first base, and is compared with the text of the whole axis, so that
matches cross pages. A call takes as many seeds as have `limit` hits together; if one seed alone has more matches, the
call ends within them. `seed_length` affects only the speed.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.algorithms.fm_index.gpu import CardPages
from quire.algorithms.mems import Cursor, Matches, PackedText, Queries, WantedMatches
from quire.device.card import Card, CardArray, Kernel
from quire.sequence.packing import BASES_PER_WORD

QUERIES = "quire/algorithms/mems/queries.cu"
SEARCH = "quire/algorithms/mems/search.cu"
LISTING = "quire/algorithms/mems/listing.cu"
ELSEWHERE = "quire/algorithms/mems/elsewhere.cu"
DEFINES = {"LOOK_AHEAD": 512}  # bases beyond min_length that one thread compares; a warp compares longer matches
KERNELS = [
    (QUERIES, DEFINES),
    (ELSEWHERE, DEFINES),
    *((SEARCH, {"WORDS_PER_BLOCK": words_of_distance(distance), **DEFINES}) for distance in SAMPLING_DISTANCES),
    *((LISTING, {"KEEP": keep, **DEFINES}) for keep in (0, 1)),
]
SEEDS_PER_WINDOW = 1 << 22
FEWEST_SEEDS = 1 << 10  # of a window, even if `limit` is less
LISTING_THREADS = 128  # of a block; blocks of 256 and 512 threads were up to 15 % slower on an H200
MOST_STEP = 1 << 16  # bases from seed to seed
KEY_BITS = 63


class CardRuns(NamedTuple):
    """Packed bases on a card and their runs of known bases: the axis, or queries (mems.cuh: Sequence).

    Attributes:
        words: uint64[], at least two words longer than the bases.
        length: number of bases.
        runs: int64[run_count, 2], (start, end), ascending.
    """

    words: CardArray
    length: int
    runs: CardArray
    run_count: int


def kernel(card: Card, entry: str) -> Kernel:
    """Return a kernel of queries.cu."""
    return card.kernel(QUERIES, entry, **DEFINES)


def upload_reference(card: Card, reference: PackedText) -> CardRuns:
    """Copy the axis to a card."""
    length = int(reference.runs[-1, 1]) if len(reference.runs) else 0
    runs = np.asarray(reference.runs, np.int64).reshape(-1, 2)
    return CardRuns(card.upload(np.asarray(reference.words)), length, card.upload(runs), len(runs))


def upload_queries(card: Card, queries: Queries) -> Queries:
    """Copy queries to a card."""
    return Queries(*map(card.upload, queries))


def turn(card: Card, queries: Queries) -> Queries:
    """Return the reverse complement of each query."""
    turned, count = card.empty(len(queries.codes), np.uint8), len(queries.offsets) - 1
    kernel(card, "turn_codes").for_each(len(turned), queries.codes, queries.offsets, count, len(turned), turned)
    return Queries(turned, queries.offsets)


def lay(card: Card, queries: Queries) -> CardRuns:
    """Pack queries and find their runs of known bases, none of which extends beyond its query."""
    length, count = len(queries.codes), len(queries.offsets) - 1
    words = -(-length // BASES_PER_WORD) + 2
    packed, known, borders = card.empty(words, np.uint64), card.empty(words, np.uint32), card.zeros(words, np.uint32)
    kernel(card, "mark_borders").for_each(count, queries.offsets, count, length, borders)
    kernel(card, "pack_codes").for_each(words, queries.codes, length, words, packed, known)
    begins, ends = card.empty(words - 1, np.uint32), card.empty(words - 1, np.uint32)
    kernel(card, "count_runs").for_each(words - 1, known, borders, words - 1, begins, ends)
    begin_places, end_places = card.offsets(begins), card.offsets(ends)
    runs = card.empty((int(begin_places[-1]), 2), np.int64)
    kernel(card, "write_runs").for_each(words - 1, known, borders, words - 1, begin_places, end_places, runs)
    return CardRuns(packed, length, runs, len(runs))


class MemsCardAxis(NamedTuple):
    """An axis on a card.

    Attributes:
        pages: all pages in order, each with the text of a seed beyond the part that it owns; a search iterates over
            them twice, or four times for matches unique in the reference.
        text: the packed axis (`upload_reference`).
    """

    pages: list[FmIndex] | CardPages
    text: CardRuns


class _Seeds(NamedTuple):
    """Seeds of queries (mems.cuh: Seeds); offsets int64[run_count + 1]."""

    offsets: CardArray
    step: int
    length: int
    min_length: int


class _Window(NamedTuple):
    """Seeds that are searched together (mems.cuh: Window); run uint32[number]."""

    first: int
    number: int
    run: CardArray


class _Range(NamedTuple):
    """The matches from one cursor on and before another (mems.cuh: Range)."""

    begin_start: int
    begin_axis: int
    stop_start: int
    stop_axis: int


class _Listed(NamedTuple):
    """Matches before they are sorted (mems.cuh: Listed); keys uint64[m], lengths int64[m], rows uint32[m] or None."""

    keys: CardArray
    lengths: CardArray
    rows: CardArray | None
    axis_bits: int


class _Hits(NamedTuple):
    """The rows of a window's seeds in a page (mems.cuh: Hits): `counts` (uint32) rows from `low` (uint32) on."""

    low: CardArray
    counts: CardArray


class _Chosen(NamedTuple):
    """The first seeds of a window that are taken together: their number, and that of their hits.

    All their matches start before the base `stop`, and the matches of all later seeds at or after it.
    """

    seeds: int
    hits: int
    stop: int


def find(
    card: Card, axis: MemsCardAxis, queries: CardRuns, wanted: WantedMatches, begin: Cursor, end: int, limit: int
) -> tuple[Matches, Cursor]:
    """Find the next matches on a card that holds `axis` and `queries`; see the package for the arguments.

    Returns:
        `Matches` of arrays on the card, and the cursor from which to continue.

    Raises:
        OutOfDeviceMemory: a smaller limit may fit.
    """
    if begin.start < end and queries.run_count and axis.text.run_count:
        seeds = _lay_seeds(card, queries, wanted.min_length)
        bounds = card.empty(2, np.int64)
        kernel(card, "bound_seeds")(1, 32, queries, seeds, begin.start, end, bounds)
        first, last = (int(bound) for bound in card.download(bounds))
        if first < last:
            return _Search(card, axis, queries, seeds, wanted.unique).next_matches(first, last, begin, end, limit)
    return _no_matches(card), Cursor(end, 0)


def bytes_per_match(pages: int) -> int:
    """Return the bytes on a card that one match of `limit` takes, with its hits and seeds.

    A seed takes its run, its rows in each page, and its offset. A hit takes its reach and its share of a block's count.
    A match takes key, length and row; keys and order twice while they are sorted; and start, axis and length twice,
    since the matches of the previous call are still being copied to the host.
    """
    return (4 + 8 * pages + 3 * 8) + (8 + 1) + (8 + 8 + 4 + 4 * 8) + 2 * 3 * 8


def _no_matches(card: Card) -> Matches:
    return Matches(*(card.empty(0, np.int64) for _ in range(3)))


def seed_length(min_length: int) -> int:
    """Choose the length of seeds; it affects only the speed.

    A seed has seven tenths of the bases of a match, which excludes hits by chance, and in repeats most hits; but at
    least 12, as deep as the prefix table, and at most 40. On an H200 this takes at most a fifth more time than the best
    length (docs/decisions/0008-constants-for-cards.md).
    """
    return min(max(7 * min_length // 10, 12), 40, min_length)


def _lay_seeds(card: Card, queries: CardRuns, min_length: int) -> _Seeds:
    length = seed_length(min_length)
    step = min(min_length - length + 1, MOST_STEP)
    counts = card.empty(queries.run_count, np.int64)
    kernel(card, "count_seeds").for_each(len(counts), queries.runs, len(counts), step, min_length, counts)
    return _Seeds(card.offsets(counts), step, length, min_length)


class _Search:
    """The next matches of one call of `find`."""

    def __init__(self, card: Card, axis: MemsCardAxis, queries: CardRuns, seeds: _Seeds, unique: bool) -> None:
        self.card, self.pages, self.reference = card, axis.pages, axis.text
        self.queries, self.seeds, self.unique = queries, seeds, unique
        self.axis_bits = max(1, self.reference.length.bit_length())

    def next_matches(self, first: int, last: int, begin: Cursor, end: int, limit: int) -> tuple[Matches, Cursor]:
        """Return the matches from `begin` on of seeds [first, last), at most `limit`, and where to continue."""
        card = self.card
        # The matches of a window are sorted by one word, which bounds the bases of a window.
        most = max(1, (1 << KEY_BITS - self.axis_bits) // self.seeds.step)
        count = min(last - first, SEEDS_PER_WINDOW, max(limit, FEWEST_SEEDS), most)
        run = card.empty(count, np.uint32)
        kernel(card, "own_seeds").for_each(count, self.queries, self.seeds, first, count, run)
        self.window = _Window(first, count, run)
        self.pages_hits: list[_Hits] = []
        for page in self.pages:
            self.pages_hits.append(self._search(page))
            del page  # before the next one is made
        chosen = self._choose(limit)
        all_of_them = first + chosen.seeds == last or chosen.stop >= end
        stop = Cursor(end, 0) if all_of_them else Cursor(chosen.stop, 0)
        while True:
            listed, total = self._list(chosen, _Range(*begin, *stop), limit)
            if total <= limit:
                break
            stop = self._earlier(begin, stop, chosen.stop, limit / total)
        return self._give(listed, total), stop

    def _search(self, page: FmIndex) -> _Hits:
        card, count = self.card, self.window.number
        low, counts = card.empty(count, np.uint32), card.empty(count, np.uint32)
        search = card.kernel(SEARCH, "search_seeds", WORDS_PER_BLOCK=page.words_per_block, **DEFINES)
        hits = _Hits(low, counts)
        search.for_each(count, page, self.queries, self.seeds, self.window, hits)
        return hits

    def _choose(self, most: int) -> _Chosen:
        """Choose as many seeds as have at most `most` hits, but at least one."""
        card = self.card
        self.offsets = card.offsets(self.pages_hits[0].counts)
        for hits in self.pages_hits[1:]:
            self.offsets += card.offsets(hits.counts)
        chosen = card.empty(3, np.int64)
        kernel(card, "choose_seeds")(1, 32, self.queries, self.seeds, self.window, self.offsets, most, chosen)
        return _Chosen(*(int(value) for value in card.download(chosen)))

    def _earlier(self, begin: Cursor, stop: Cursor, end: int, share: float) -> Cursor:
        """Return an earlier stop if one seed has too many matches; they start in the `step` bases before `end`."""
        axis = self.reference.length
        low = max(begin.start * axis + begin.axis, (end - self.seeds.step) * axis)
        high = min(stop.start * axis + stop.axis, end * axis)
        start, place = divmod(low + max(1, int((high - low) * min(share, 0.5))), axis)
        return Cursor(start, place)

    def _list(self, chosen: _Chosen, wanted: _Range, limit: int) -> tuple[list[_Listed], int]:
        """Return the matches of the chosen seeds in a range, page by page, and their number."""
        # If the number is more than `limit`, no matches are returned.
        listed, total, hits = [], 0, iter(self.pages_hits)
        for page in self.pages:
            found, count = self._list_page(page, next(hits), chosen, wanted, limit - total)
            del page  # before the next one is made
            total += count
            if total > limit:
                return [], total
            if found is not None:
                listed.append(found)
        return listed, total

    def _list_page(
        self, page: FmIndex, held: _Hits, chosen: _Chosen, wanted: _Range, room: int
    ) -> tuple[_Listed | None, int]:
        """Return the matches of a page, and their number; None if there are none or more than `room`."""
        card, number, hits, offsets = self.card, chosen.seeds, chosen.hits, self.offsets
        if len(self.pages) > 1:
            offsets = card.offsets(held.counts[:number])
            hits = int(offsets[-1])
        if not hits:
            return None, 0
        keep = hits <= room
        kept = card.empty(hits if keep else 0, np.uint64)
        blocks = -(-hits // LISTING_THREADS)
        counts = card.empty(blocks, np.uint32)
        shared_bytes = 16 + LISTING_THREADS // 8  # for the seeds of a block, and the matches of its warps
        given = (page, self.queries, self.reference, self.seeds, self.window, wanted, held.low, offsets, number)
        count, write = (
            card.kernel(LISTING, name, KEEP=int(keep), **DEFINES) for name in ("count_matches", "write_matches")
        )
        count(blocks, LISTING_THREADS, *given, counts, kept, shared_bytes=shared_bytes)
        places = card.offsets(counts)
        total = int(places[-1])
        if not 0 < total <= room:
            return None, total
        rows = card.empty(total, np.uint32) if self.unique else None
        listed = _Listed(card.empty(total, np.uint64), card.empty(total, np.int64), rows, self.axis_bits)
        write(blocks, LISTING_THREADS, *given, places, kept, listed, shared_bytes=shared_bytes)
        return listed, total

    def _give(self, pieces: list[_Listed], total: int) -> Matches:
        """Complete the listed matches and sort them."""
        card = self.card
        if not total:
            return _no_matches(card)
        keys, lengths = (self._joined([getattr(piece, name) for piece in pieces]) for name in ("keys", "lengths"))
        rows = self._joined([piece.rows for piece in pieces]) if self.unique else None
        listed = _Listed(keys, lengths, rows, self.axis_bits)
        lengthen = kernel(card, "lengthen_matches")
        lengthen.for_each(total, self.queries, self.reference, self.seeds, self.window, listed, total)
        if self.unique:
            listed = self._only_unique(listed)
            total = len(listed.keys)
        order = card.xp.argsort(listed.keys)
        matches = Matches(*(card.empty(total, np.int64) for _ in range(3)))
        give = kernel(card, "give_matches")
        give.for_each(total, self.queries, self.seeds, self.window, listed, order, total, matches)
        return matches

    def _joined(self, parts: list[CardArray]) -> CardArray:
        return self.card.xp.concatenate(parts) if len(parts) > 1 else parts[0]

    def _only_unique(self, listed: _Listed) -> _Listed:
        """Return the matches whose letters occur nowhere else in any page, without their rows."""
        card, total = self.card, len(listed.keys)
        elsewhere = card.zeros(total, np.uint8)
        look = card.kernel(ELSEWHERE, "find_elsewhere", **DEFINES)
        # First in their own page: the rows next to a match decide most matches at once.
        for of_page in (1, 0) if len(self.pages) > 1 else (1,):
            hits = iter(self.pages_hits)
            for page in self.pages:
                look.for_each(
                    32 * total, page, self.reference, self.seeds, next(hits), listed, total, of_page, elsewhere
                )
                del page
        kept = card.xp.flatnonzero(elsewhere == 0)
        return _Listed(listed.keys[kept], listed.lengths[kept], None, self.axis_bits)
