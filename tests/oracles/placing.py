"""The best stretch of a sequence in a window without gaps, one diagonal and one base at a time."""

from collections.abc import Sequence

Stretch = tuple[int, int, int, int]  # score, start in the window, first and last base of the sequence


def best_stretch(window: Sequence[int], sequence: Sequence[int], shift: int, mismatch: int) -> Stretch:
    """Return the stretch of the highest score on a diagonal: of equal ones the first to end, the shortest."""
    best = (0, 0, 0, 0)
    for last in range(1, len(sequence) + 1):
        for first in range(last):
            span = [i for i in range(first, last) if sequence[i] < 4]
            if first + shift < 0 or last + shift > len(window) or sequence[last - 1] > 3 or not span:
                continue
            score = sum(1 if window[shift + i] == sequence[i] else -mismatch for i in span)
            if score > best[0] or (score == best[0] and last == best[3] and first > best[2]):
                best = score, shift + first, first, last
    return best


def placements(window: Sequence[int], sequence: Sequence[int], word: int, mismatch: int) -> list[Stretch]:
    """Return the best stretch of each diagonal with an exact match of `word` bases: the best first, then by place."""
    found = []
    for shift in range(-len(sequence), len(window)):
        run, has_word = 0, False
        for i in range(len(sequence)):
            inside = 0 <= shift + i < len(window)
            run = run + 1 if inside and sequence[i] < 4 and window[shift + i] == sequence[i] else 0
            has_word |= run >= word
        if has_word:
            found.append(best_stretch(window, sequence, shift, mismatch))
    return sorted(found, key=lambda one: (-one[0], one[1]))
