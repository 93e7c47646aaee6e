"""Merge of a sample's units into one alignment file: sorted, with duplicates marked, indexed and counted."""
