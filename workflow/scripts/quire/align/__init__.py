"""The align stage: FASTQ of one unit and the pages of a reference become BAM records in the order of the reads.

`unit.map_unit` maps a unit, `compile_kernels` compiles the kernels. Nothing is imported here, so that the card's
modules need neither Numba nor pysam.
"""
