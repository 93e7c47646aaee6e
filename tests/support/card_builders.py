"""Inputs of kernel tests, made with NumPy alone: the GPU machine then needs neither Numba nor pysam."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module

import numpy as np
from quire.device.card import Card
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reads import ReadBatch
from quire.reads.gpu import CardReads
from quire.sequence.packing import BASES_PER_WORD


class Host:
    """The CPU in place of a card: arrays stay where they are, and functions are those of `cpu.py`, which need Numba."""

    def upload(self, array: np.ndarray) -> np.ndarray:
        """Return the array."""
        return array

    download = upload


def twin(card: Card | Host, package: str, name: str) -> Callable:
    """Return a function of a package for a card, without its first argument, or the CPU's of the same name."""
    if isinstance(card, Host):
        return getattr(import_module(f"{package}.cpu"), name)
    return partial(getattr(import_module(f"{package}.gpu"), name), card)


def make_batch(sequences: Sequence[Sequence[int]]) -> ReadBatch:
    """Return reads with these codes (0..3, 4 for N), named r00000, r00001, ..."""
    names, name_offsets = pack_bytes([b"r%05d" % i for i in range(len(sequences))])
    bases = np.concatenate([*(np.asarray(s, np.uint8) for s in sequences), np.empty(0, np.uint8)])
    offsets = offsets_from_lengths([len(s) for s in sequences])
    return ReadBatch(names, name_offsets, bases, np.full(len(bases), 30, np.uint8), offsets, 0)


def card_reads(card: Card | Host, sequences, mates=None) -> CardReads:
    """Return oriented reads with these codes on a card; with `mates`, pairs."""
    return twin(card, "quire.reads", "orient")(make_batch(sequences), None if mates is None else make_batch(mates))


def upload_all(card: Card, value):
    """Copy the arrays of a named tuple or dataclass to the card; other fields are unchanged."""
    return _map_members(value, lambda item: card.upload(item) if isinstance(item, np.ndarray) else item)


def download_all(card: Card, value):
    """Copy the arrays of a named tuple or dataclass to the host; other fields are unchanged."""
    return _map_members(value, lambda item: card.download(item) if hasattr(item, "dtype") and item.ndim else item)


def _map_members(value, function):
    members = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else value
    return type(value)(*map(function, members))


def pack(codes: Sequence[int]) -> np.ndarray:
    """Pack codes 0..3 into words as an axis has them; read-only like a reference's (else Numba compiles twice)."""
    words = np.zeros(len(codes) // BASES_PER_WORD + 3, np.uint64)
    for i, code in enumerate(codes):
        words[i // BASES_PER_WORD] |= np.uint64(int(code) & 3) << np.uint64(2 * (i % BASES_PER_WORD))
    words.flags.writeable = False
    return words


def reverse_complement(codes: Sequence[int]) -> list[int]:
    """Return the reverse complement of codes 0..3, 4 for N."""
    return [4 if code > 3 else 3 - int(code) for code in reversed(list(codes))]
