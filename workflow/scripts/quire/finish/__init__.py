"""Merge the units of a sample into one alignment file: sorted, with duplicates marked, indexed and counted."""
