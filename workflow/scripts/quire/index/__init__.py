"""The index of a page: suffix array, occurrence blocks and prefix table, built by one job and memory-mapped."""

from quire.index.construction import build
from quire.index.opening import PageIndex

__all__ = ["PageIndex", "build"]
