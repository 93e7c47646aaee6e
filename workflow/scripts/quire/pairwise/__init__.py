"""Optimal alignment of two sequences, from FASTA to PAF, BAM, a summary and a dot plot."""
