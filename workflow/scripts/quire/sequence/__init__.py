"""Bases as numbers: letters to codes, packed words, and the hashes that break ties."""
