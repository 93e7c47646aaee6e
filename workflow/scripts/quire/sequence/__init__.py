"""Bases as codes and packed words, CIGAR elements, and the hashes that break ties."""
