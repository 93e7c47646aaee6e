"""The index of a page: suffix array, occurrence blocks and prefix table, built by one job and memory-mapped."""

from quire.index.construction import SearchInputs, build, open_page

__all__ = ["SearchInputs", "build", "open_page"]
