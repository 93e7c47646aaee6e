"""Words and paths of copy numbers, by counting and by trying everything."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def single_words(genome: Mapping[str, str], length: int, window: int) -> dict[str, list[tuple[int, int]]]:
    """Return the words without N that begin in each window, and those of them that occur once on both strands."""
    words: Counter[str] = Counter()
    for letters in genome.values():
        words.update(_canonical(letters[at : at + length]) for at in range(len(letters) - length + 1))
    result = {}
    for name, letters in genome.items():
        counts = [[0, 0] for _ in range(-(-len(letters) // window))]
        for at in range(len(letters) - length + 1):
            word = letters[at : at + length]
            if "N" not in word:
                counts[at // window][0] += 1
                counts[at // window][1] += words[_canonical(word)] == 1
        result[name] = [(own[0], own[1]) for own in counts]
    return result


def _canonical(word: str) -> str:
    return min(word, word.translate(_COMPLEMENT)[::-1])


def log_probability(reads: int, mean: float, variance: float) -> float:
    """Return the logarithm of the negative binomial probability with a variance of mean + variance * mean**2."""
    size = 1 / variance
    share = size / (size + mean)
    choose = math.lgamma(reads + size) - math.lgamma(size) - math.lgamma(reads + 1)
    return choose + size * math.log(share) + reads * math.log(1 - share)


def score_of_path(
    path: Sequence[int], reads: Sequence[int], expected: Sequence[float], variance: float, weight: float,
    noise: float, change: float,
) -> float:  # fmt: skip
    """Return the log likelihood of copy numbers along windows."""
    score = sum(change for one, other in itertools.pairwise(path) if one != other)
    for copies, count, one in zip(path, reads, expected, strict=True):
        score += weight * log_probability(count, one * max(copies, noise), variance)
    return score
