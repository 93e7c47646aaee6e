"""Hashes that break ties, equal in every run and on every backend.

Mates share a name and thus its hash. Equally good places of a read are ordered by the hash of name and axis position,
smallest first. If too many reads are at one place, the reads whose names have the smallest hashes are kept.
"""
