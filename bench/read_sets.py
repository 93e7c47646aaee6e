"""Sets of simulated reads in addition to 2x150: other lengths, single reads, random errors, diverged samples."""

from dataclasses import dataclass

LENGTHS = (36, 50, 75, 100, 150, 250, 300)
ERRORS = (2, 5, 10)  # percent
DIVERGENCES = (1, 3, 5, 10)
SHORTEST_INSERT, INSERT_OF_LENGTH = 400, 1.7


@dataclass(frozen=True)
class ReadSet:
    """Reads of one kind.

    Attributes:
        length: bases of a read.
        mates: 2, or 1 for single reads (the first mates of the pairs).
        options: further options of bench.simulate.
    """

    length: int
    mates: int
    options: str = ""

    def simulation(self, pairs: int) -> str:
        """Return the options of bench.simulate for this number of pairs."""
        insert = max(SHORTEST_INSERT, int(INSERT_OF_LENGTH * self.length))
        return f"--pairs {pairs} --length {self.length} --insert {insert} {self.options}".rstrip()


def _sets() -> dict[str, ReadSet]:
    sets = {}
    for mates in (2, 1):
        for length in LENGTHS:
            sets[f"{mates}x{length}"] = ReadSet(length, mates)
        for percent in ERRORS:
            sets[f"{mates}x150_errors_{percent}"] = ReadSet(150, mates, f"--errors {percent / 100}")
        for percent in DIVERGENCES:
            sets[f"{mates}x150_diverged_{percent}"] = ReadSet(150, mates, f"--divergence {percent / 100}")
    return sets


SETS = _sets()
"""By name: 2x36, 1x50, 2x150_errors_10, 1x150_diverged_3, ..."""
