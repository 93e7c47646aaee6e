"""References with repeats, indexed on a card, and queries of them: what policies are measured on.

The shapes of MUMmerGPU's four sets of queries (Trapnell and Schatz 2009, table 2: short reads of 36 and 29 bases,
longer ones of 120, Sanger reads of 700), and one long query. A quarter of each reference are copies of a few units that
differ from them by up to twenty bases in a hundred, as in a genome; queries differ from it by one base in a hundred.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.fm_index import prefix_length_of, words_of_distance
from quire.algorithms.fm_index.construction import gpu as construction
from quire.algorithms.fm_index.gpu import CardPage
from quire.algorithms.mems import Queries, ReferenceText
from quire.algorithms.suffix_array.gpu import suffix_array, upload_text
from quire.device.card import Card
from quire.ragged import offsets_from_lengths
from quire.sequence.packing import BASES_PER_WORD, pack


class Workload(NamedTuple):
    """A reference and queries of it.

    Attributes:
        min_length: of matches.
        reference_bases: of the reference.
        query_length: bases of a query.
        queries: how many.
    """

    min_length: int
    reference_bases: int
    query_length: int
    queries: int

    def __str__(self) -> str:
        length = f"{self.query_length / 1e6:.0f} Mb" if self.query_length >= 1 << 20 else f"{self.query_length} bases"
        return f"matches of {self.min_length}, {self.queries} queries of {length}, {self.reference_bases / 1e6:.0f} Mb"


WORKLOADS = [
    Workload(10, 2_000_000, 36, 1 << 20),
    Workload(14, 16_000_000, 29, 1 << 21),
    Workload(20, 3_000_000, 120, 1 << 20),
    Workload(50, 64_000_000, 32_000_000, 1),
    Workload(100, 13_000_000, 700, 1 << 17),
]
UNITS = (300, 300, 1500, 6000)  # bases of what is repeated
REPEATED = 0.25
LARGEST_CHANGE, QUERY_CHANGE = 0.2, 0.01


def repetitive_text(rng: np.random.Generator, bases: int) -> NDArray[np.uint8]:
    """Codes (uint8[bases]) of a reference with repeats."""
    text = rng.integers(0, 4, bases).astype(np.uint8)
    units = [rng.integers(0, 4, size).astype(np.uint8) for size in UNITS]
    for unit in units:
        for start in rng.integers(0, max(1, bases - len(unit)), int(REPEATED * bases / len(UNITS) / len(unit))):
            copy = _changed(rng, unit, rng.random() * LARGEST_CHANGE)
            text[start : start + len(copy)] = copy[: bases - start]
    return text


def sample(rng: np.random.Generator, text: NDArray[np.uint8], length: int, count: int) -> Queries:
    """Queries of one length from random places of a text, with changes."""
    length = min(length, len(text))
    starts = rng.integers(0, len(text) - length + 1, count)
    codes = text[(starts[:, None] + np.arange(length)).reshape(-1)] if count > 1 else text[starts[0] :][:length]
    return Queries(_changed(rng, codes, QUERY_CHANGE), offsets_from_lengths(np.full(count, length)))


def _changed(rng: np.random.Generator, codes: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    codes = codes.copy()
    where = rng.integers(0, max(1, len(codes)), int(share * len(codes)))
    codes[where] = rng.integers(0, 4, len(where))
    return codes


def reference_of(text: NDArray[np.uint8]) -> ReferenceText:
    """One island of known bases."""
    padding = np.zeros(-len(text) % BASES_PER_WORD + 2 * BASES_PER_WORD, np.uint8)
    return ReferenceText(pack(np.concatenate((text, padding))), np.array([[0, len(text)]], np.int64))


def page_of(card: Card, words: NDArray[np.uint64], length: int, sampling_distance: int = 64) -> CardPage:
    """The index of a whole axis (packed, with padding) as one page, built on the card."""
    text = upload_text(card, words, 0, length)
    rows = suffix_array(card, text)
    words_per_block, prefix_length = words_of_distance(sampling_distance), prefix_length_of(length)
    blocks, counts, primary = construction.occurrence_blocks(card, text, rows, words_per_block)
    table = construction.prefix_intervals(card, text, rows, prefix_length).reshape(-1)
    unowned = construction.rows_from(card, rows, length)
    return CardPage(
        blocks, words_per_block, card.upload(construction.first_rows(counts)), primary, table, prefix_length, rows, 1,
        card.empty(0, np.uint64), unowned, len(unowned), 0, length,
    )  # fmt: skip
