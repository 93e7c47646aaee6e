"""Mate rescue: the search for a mate at proper distances from the alignments of its read."""
