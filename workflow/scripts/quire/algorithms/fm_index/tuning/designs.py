"""The designs of search on a card, and which of them a card is fastest with, as `tune` measured and kept it.

Chacón et al. (2015) compare three: one thread per query ("task"); threads of a warp that load blocks together
("memory"); threads that share both the load and the count by shuffles ("full"). Their answers are the same. What is
kept of a measurement counts for the card that it was made on and for the kernels as they were then.
"""

import json
import logging
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from quire.algorithms.fm_index import SAMPLING_DISTANCES, words_of_distance
from quire.device.card import THREADS, Card, Kernel
from quire.device.measured import digest_of_kernels, keep_measured, measured_path

SOURCE = "quire/algorithms/fm_index/search.cu"
logger = logging.getLogger("quire.index")


class Design(NamedTuple):
    """How threads share a search.

    Attributes:
        kind: "task", "memory" or "full".
        lanes: threads that load a block together; 1 for "task".
        stream: whether blocks go past the multiprocessor's own cache.
    """

    kind: str
    lanes: int
    stream: bool

    def __str__(self) -> str:
        return f"{self.kind}, {self.lanes} lanes, {'streamed' if self.stream else 'cached'}"

    @property
    def lanes_per_query(self) -> int:
        """Threads that take the steps of one query."""
        return self.lanes if self.kind == "full" else 1

    def shared_bytes(self, words_per_block: int) -> int:
        """Shared memory of a block of threads: see search.cu, SLOT."""
        return THREADS * (words_per_block // 2 + 1) * 16 if self.kind == "memory" else 0

    def kernel(self, card: Card, entry: str, words_per_block: int) -> Kernel:
        """A kernel of search.cu in this design."""
        return card.kernel(SOURCE, entry, **self.defines(words_per_block))

    def defines(self, words_per_block: int) -> dict[str, int]:
        """What makes search.cu this design."""
        return {
            "WORDS_PER_BLOCK": words_per_block, "SHARE_LOAD": int(self.kind != "task"), "LANES": self.lanes,
            "SHARE_COUNT": int(self.kind == "full"), "STREAM": int(self.stream), "THREADS": THREADS,
        }  # fmt: skip


def designs(words_per_block: int) -> list[Design]:
    """The designs that are worth measuring for a block size; a lane that shares the count takes 16 or 32 bytes."""
    units = words_per_block // 2
    lanes = [count for count in (2, 4, 8) if count <= units <= 2 * count]
    shared = [Design("full", count, stream) for count in lanes for stream in (False, True)]
    return [Design("task", 1, False), Design("memory", min(units, 8), True), *shared]


KERNELS = [
    (SOURCE, design.defines(words)) for words in map(words_of_distance, SAMPLING_DISTANCES) for design in designs(words)
]


def default_design(words_per_block: int) -> Design:
    """The design of a card that was not tuned: four lanes per query, two (small blocks) or eight (the largest).

    Reasoned from the instructions of a visit (search.cu) and the whole sectors of a load; on an H200 it is the fastest.
    """
    return Design("full", {4: 2, 8: 4, 16: 4, 32: 8}[words_per_block], False)


@lru_cache
def source_digest() -> str:
    """Digest of the kernels that are measured."""
    return digest_of_kernels([SOURCE])


def keep(result: dict[str, Any]) -> Path:
    """Keep a measurement (see `tune.tune`); returns where."""
    path = measured_path(result["card"])
    keep_measured(result, path)
    return path


def kept(card_name: str) -> dict[str, Any] | None:
    """The measurement of a card, if there is one that is whole, of this card and of these kernels."""
    try:
        result = json.loads(measured_path(card_name).read_text())
        best = {int(distance): Design(**design) for distance, design in result["best"].items()}
        fits = result["card"] == card_name and result["source_digest"] == source_digest()
        fits = fits and all(design in designs(words_of_distance(distance)) for distance, design in best.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return {**result, "best": best} if fits else None


def best_design(card: Card, words_per_block: int) -> Design:
    """The design that a card searches indexes of this block size with."""
    measured = (kept(card.name) or {"best": {}})["best"]
    return measured.get(32 * words_per_block - 64) or default_design(words_per_block)


@lru_cache
def advise(card_name: str, words_per_block: int) -> None:
    """Say once in the log if the card was measured to search another sampling distance faster; the index stays."""
    distance, result = 32 * words_per_block - 64, kept(card_name)
    if result is None or distance not in result["best"] or distance == result["best_distance"]:
        return
    speeds: dict[int, float] = {}
    for row in result["figures"]:
        speeds[row["distance"]] = max(row["queries_per_second"], speeds.get(row["distance"], 0.0))
    best = result["best_distance"]
    logger.info(
        "%s searches an index of sampling_distance %d %.2f times as fast as this one of %d (tuned on %s); to change "
        "it, set index.sampling_distance and build the index anew.",
        card_name, best, speeds[best] / speeds[distance], distance, result["date"],
    )  # fmt: skip
