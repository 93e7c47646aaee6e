"""Readers and writers of FASTQ, BAM and VCF, and output files that appear complete or not at all."""
