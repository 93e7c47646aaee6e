"""A stand-in for the counter of a sample's records, for tests and measurements of sorting alone."""

from collections.abc import Sequence
from typing import Any


class NoCounting:
    """A counter that counts nothing."""

    def prepare(self, records: Any) -> list[Any]:
        """Return no batches."""
        return []

    def take(self, batches: Sequence[Any]) -> None:
        """Ignore the batches."""
