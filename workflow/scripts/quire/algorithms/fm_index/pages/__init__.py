"""The pages of the axis side by side: seeding and all other searches look a query up in every page."""

from dataclasses import dataclass

from quire.algorithms.fm_index import FmIndex


@dataclass(frozen=True)
class IndexOfPage(FmIndex):
    """The FM-index of a page (attributes of `FmIndex`); axis position = start + position in the index.

    Attributes:
        start: first axis position of the page.
        owned_end: axis position from which on hits belong to the next page.
    """

    start: int
    owned_end: int

    @property
    def owned_length(self) -> int:
        """Position in the page from which on hits belong to the next page."""
        return self.owned_end - self.start
