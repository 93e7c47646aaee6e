"""The pages of the axis side by side: a query is asked in every page, by seeding and by whatever else searches.

On the CPU all pages stand in one table (`cpu.page_table`), and a kernel goes from page to page. On a card all pages
stay where memory allows, else some are uploaded in turn (`gpu.CardPages`).
"""

from dataclasses import dataclass

from quire.algorithms.fm_index import FmIndex


@dataclass(frozen=True)
class IndexOfPage(FmIndex):
    """The FM-index of a page (attributes of `FmIndex`), and where the page lies on the axis.

    Positions that the index gives count from the page's start: axis position = start + position.

    Attributes:
        start: first axis position of the page.
        owned_end: hits from here on belong to the next page.
    """

    start: int
    owned_end: int

    @property
    def owned_length(self) -> int:
        """Hits from here on, counted from the page's start, belong to the next page."""
        return self.owned_end - self.start
