"""The pages of the axis side by side: seeding and all other searches look a query up in every page.

On the CPU all pages are in one table (`cpu.page_table`), and a kernel goes from page to page. On a card all pages stay
resident if memory allows, else some are uploaded in turn (`gpu.CardPages`).
"""

from dataclasses import dataclass

from quire.algorithms.fm_index import FmIndex


@dataclass(frozen=True)
class IndexOfPage(FmIndex):
    """The FM-index of a page (attributes of `FmIndex`), and the place of the page on the axis.

    Positions in the index count from the page's start: axis position = start + position.

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
