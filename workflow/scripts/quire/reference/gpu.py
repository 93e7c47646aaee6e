"""The axis on a card: its packed text, its islands and their places on the contigs."""

from typing import NamedTuple

import numpy as np

from quire.device.card import Card, CardArray
from quire.reference.opening import Reference


class CardReference(NamedTuple):
    """The arrays of a `quire.reference.Reference` that kernels read (reference.cuh: Reference)."""

    text: CardArray
    ambiguous: CardArray
    ambiguous_count: int
    island_axis: CardArray
    island_contig: CardArray
    island_start: CardArray
    islands: int
    alternate: CardArray | None  # None: no contig is alternate


def upload_reference(card: Card, reference: Reference) -> CardReference:
    """Copy the arrays of a reference that kernels read to a card."""
    text, ambiguous, island_axis, island_contig, island_start = (
        card.upload(np.asarray(array))
        for array in (reference.text, reference.ambiguous, reference.island_axis, reference.island_contig,
                      reference.island_start)
    )  # fmt: skip
    alternate = card.upload(reference.alternate) if len(reference.alternate) else None
    return CardReference(text, ambiguous, len(reference.ambiguous), island_axis, island_contig, island_start,
                         len(reference.island_contig), alternate)  # fmt: skip
