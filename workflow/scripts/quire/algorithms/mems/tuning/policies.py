"""The policies of finding matches on a card, and which of them a card is fastest with, as `tune` measured and kept it.

MUMmerGPU's lesson is that no policy is best for all cards and queries (Trapnell and Schatz 2009, section 5). The
answers are the same. What is kept of a measurement counts for the card that it was made on and for the kernels as they
were then.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from quire.device.measured import digest_of_kernels, keep_measured, measured_path

SOURCES = [f"quire/algorithms/mems/{name}.cu" for name in ("queries", "search", "list_hits", "list_seeds")]
LONGEST_SEED = 1024


class Policy(NamedTuple):
    """How seeds are cut and how their hits are gone through.

    Attributes:
        seed_length: bases of a seed, at most; short seeds lie further apart and have more hits.
        lanes: threads that go through the hits of one seed; 0: each hit has a thread of its own, whatever its seed.
        keep: (lanes = 0) whether what is found out of a hit while matches are counted is kept for writing them.
        threads: of a block.
    """

    seed_length: int
    lanes: int
    keep: bool
    threads: int

    def __str__(self) -> str:
        by_hit = f"a thread a hit, {'kept' if self.keep else 'twice'}"
        listing = f"{self.lanes} threads a seed" if self.lanes else by_hit
        return f"seeds of {self.seed_length}, {listing}, blocks of {self.threads}"

    @property
    def listing(self) -> tuple[str, dict[str, int]]:
        """The source of this policy's print kernel, and its macros."""
        if self.lanes:
            return "quire/algorithms/mems/list_seeds.cu", {"LANES": self.lanes}
        return "quire/algorithms/mems/list_hits.cu", {"KEEP": int(self.keep)}


SHARES = [(0, True), (0, False), (1, False), (8, False), (32, False)]  # lanes, keep
LISTINGS = [Policy(1, lanes, keep, 128).listing for lanes, keep in SHARES]
BLOCKS = (128, 256, 512)
SEED_LENGTHS = (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)


def seed_lengths(min_length: int) -> list[int]:
    """Lengths of seeds that are worth measuring: from a third of a match, and what chance alone makes rare, on."""
    return [length for length in SEED_LENGTHS if max(10, min_length // 3) <= length <= min_length]


def default_policy(min_length: int) -> Policy:
    """The policy of a card that was not tuned.

    Seven tenths of a match: such a seed excludes chance, and in repeats most hits. Between 12 bases, as deep as the
    prefix table, and 40. Close to what an H200 is fastest with (docs/benchmarks/results.md).
    """
    return Policy(min(max(7 * min_length // 10, 12), 40, min_length), 0, True, 128)


@lru_cache
def source_digest() -> str:
    """Digest of the kernels that are measured."""
    return digest_of_kernels(SOURCES)


def keep(result: dict[str, Any]) -> Path:
    """Keep a measurement (see `tune.tune`); returns where."""
    path = measured_path(result["card"], "mems")
    keep_measured(result, path)
    kept.cache_clear()
    return path


@lru_cache
def kept(card_name: str) -> dict[str, Any] | None:
    """The measurement of a card, if there is one that is whole, of this card and of these kernels."""
    try:
        result = json.loads(measured_path(card_name, "mems").read_text())
        best = {int(length): Policy(**policy) for length, policy in result["best"].items()}
        fits = result["card"] == card_name and result["source_digest"] == source_digest() and bool(best)
        fits = fits and all(is_possible(policy) for policy in best.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return {**result, "best": best} if fits else None


def is_possible(policy: Policy) -> bool:
    """Whether kernels can follow a policy."""
    listing = (policy.lanes, policy.keep) in SHARES
    return listing and policy.threads in BLOCKS and 1 <= policy.seed_length <= LONGEST_SEED


def best_policy(card_name: str, min_length: int) -> Policy:
    """The policy that a card finds matches of at least `min_length` with: that of the next smaller length measured."""
    result = kept(card_name)
    measured = [] if result is None else [length for length in result["best"] if length <= min_length]
    if result is None or not measured:
        return default_policy(min_length)
    policy: Policy = result["best"][max(measured)]
    return policy._replace(seed_length=min(policy.seed_length, min_length))
