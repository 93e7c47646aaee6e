"""The hashes that decide ties, in every run and on every backend alike.

A read's name has a hash, which its mate shares. Of equally good places of a read the one comes first whose hash of
name and axis position is smallest; of too many reads at one place those stay whose names have the smallest hashes.
"""
