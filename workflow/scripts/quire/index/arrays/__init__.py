"""The arrays of a page's index, written on the CPU or on a card, and the choice between them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from quire.device.card import Card
from quire.reference import Reference

# Takes (reference, page_number, directory, parameters); returns entries of the manifest, and the checksums of files, by
# name, that were computed while writing. Raises MemoryError (a card: OutOfDeviceMemory) if the page is too large.
WriteArrays: TypeAlias = Callable[[Reference, int, Path, Mapping[str, int]], tuple[dict[str, Any], dict[str, str]]]


class IndexEngine(NamedTuple):
    """An engine that builds the index of a page.

    Attributes:
        name: name for messages.
        write_arrays: `cpu.write_arrays`, or `gpu.write_arrays` on a card.
    """

    name: str
    write_arrays: WriteArrays


def index_engines(card: Card | None = None, requested: str = "auto") -> list[IndexEngine]:
    """Return the engines that may build the index of a page, in the order in which they are tried.

    Args:
        card: the job's card, if it has one.
        requested: the configuration's device.backend. With "gpu" the CPU is not tried, so that a card with too little
            memory is an error.
    """
    engines = []
    if card is not None:
        from quire.index.arrays import gpu

        engines.append(IndexEngine(card.name, partial(gpu.write_arrays, card)))
    if card is None or requested != "gpu":
        engines.append(IndexEngine("the CPU", _write_arrays_on_cpu))
    return engines


def _write_arrays_on_cpu(
    reference: Reference, page_number: int, directory: Path, parameters: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, str]]:
    from quire.index.arrays import cpu  # imported here, since a machine with a card needs no Numba

    return cpu.write_arrays(reference, page_number, directory, parameters)
