"""The index of a page: suffix array, occurrence blocks and prefix table, built by one job and memory-mapped."""

from quire.index.construction import PageIndex, SearchInputs, build

__all__ = ["PageIndex", "SearchInputs", "build"]
