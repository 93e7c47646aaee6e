"""The FM-indexes of the axis' pages on a card: all resident if memory allows, else some of them uploaded in turn.

Kernels search them with the functions of fm_index.cuh.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.device.card import Card, CardArray, Upload
from quire.errors import QuireError

log = logging.getLogger("quire.align")
Text = TypeVar("Text")


def arrays_of(index: FmIndex) -> list[np.ndarray]:
    """Return the arrays of an index, in the order in which `page_on_card` takes them."""
    return [member for member in index if isinstance(member, np.ndarray)]


def upload_page(card: Card, index: FmIndex) -> FmIndex:
    """Copy an index to a card."""
    return page_on_card(index, [card.upload(array) for array in arrays_of(index)])


def page_on_card(index: FmIndex, arrays: list[CardArray]) -> FmIndex:
    """Return an index whose arrays are already on the card (fm_index.cuh: Page)."""
    uploaded = iter(arrays)
    return FmIndex._make(next(uploaded) if isinstance(member, np.ndarray) else member for member in index)


def page_table(pages: list[FmIndex], most: int) -> tuple[CardArray | int, ...]:
    """Return pages that are all on the card as one argument of a kernel: a struct of an array of `most` pages."""
    members = [member for page in pages for member in page]
    return tuple(members + [0] * (most * len(FmIndex._fields) - len(members)))


class CardPages:
    """The pages of an axis; iterating yields each once, in order, usable until the next one is requested.

    Launch the work on a page before the next is requested: its memory is reused in stream order only.

    Attributes:
        resident: the first pages, which stay on the card.
        cycled: indexes of the others, which are uploaded at each iteration.
    """

    def __init__(self, card: Card, indexes: Sequence[FmIndex], room: int) -> None:
        """Upload the pages that stay within `room` bytes; raise QuireError if not even one page fits."""
        sizes = [sum(array.nbytes for array in arrays_of(index)) for index in indexes]
        if max(sizes, default=0) > room:
            raise QuireError(
                f"a page of the index takes {max(sizes) / 1e9:.2f} GB and the card has {room / 1e9:.2f} GB for pages; "
                "build the index with a smaller reference.page_size, increase device.memory, or use device.backend: "
                "cpu."
            )
        self.card = card
        if sum(sizes) <= room:
            stay = len(indexes)
        else:
            # One page is searched while the next one arrives. If only one fits, uploads wait.
            under_way = min(2 * max(sizes), room)
            stay = 0
            while sum(sizes[: stay + 1]) + under_way <= room:
                stay += 1
        self.resident = [upload_page(card, index) for index in indexes[:stay]]
        self.cycled = indexes[stay:]
        self._ahead = bool(self.cycled) and sum(sizes[:stay]) + 2 * max(sizes[stay:]) <= room
        if self.cycled:
            log.info(
                "%d of %d pages of the index stay on the card, the others are uploaded for every batch%s",
                stay, len(indexes), ", each while the one before it is searched" if self._ahead else "",
            )  # fmt: skip

    def __len__(self) -> int:
        return len(self.resident) + len(self.cycled)

    def __iter__(self) -> Iterator[FmIndex]:
        yield from self.resident
        uploads: list[Upload] = []
        for index, following in zip_longest(self.cycled, self.cycled[1:]):
            uploads = uploads or self._begin(index, self.card.mark())
            arrays = [upload.array() for upload in uploads]
            page, arrays, uploads = page_on_card(index, arrays), [], []
            # Launches before this mark use older pages only, whose memory the next upload may take.
            mark = self.card.mark()
            yield page
            if following is not None and self._ahead:
                uploads = self._begin(following, mark)
            del page

    def _begin(self, index: FmIndex, mark: object) -> list[Upload]:
        return [self.card.upload_ahead(array, mark) for array in arrays_of(index)]


def upload_index(
    card: Card, upload_text: Callable[[], Text], indexes: Sequence[FmIndex], share: float
) -> tuple[Text, list[FmIndex] | CardPages]:
    """Upload the text of an axis, then the indexes of its pages to at most a share of the memory that is left.

    Return both, the pages as a list if all stay on the card. Raise QuireError if they do not fit.
    """
    try:
        text = upload_text()
        pages = CardPages(card, indexes, int(card.free_bytes() * share))
    except MemoryError as error:
        bases = indexes[-1].start + indexes[-1].owned_length
        raise QuireError(
            f"{card.name}: the text of {bases} bases and its index do not fit ({error}); increase device.memory, use "
            "another card, or use device.backend: cpu."
        ) from None
    return text, pages if pages.cycled else pages.resident
