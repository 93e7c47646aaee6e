"""The align stage: maps the reads of one unit to BAM records in the order of the reads.

`unit.map_unit` maps a unit. Nothing is imported here, so that the modules for cards need neither Numba nor pysam.
"""
