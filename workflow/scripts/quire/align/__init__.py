"""The align stage: FASTQ of one unit and the pages of a reference become BAM records; then samples are finished.

`unit.map_unit` maps a unit, `finish` finishes a sample, `warm_up` compiles the kernels. Nothing is imported here, so
that the GPU's modules need neither Numba nor pysam.
"""
