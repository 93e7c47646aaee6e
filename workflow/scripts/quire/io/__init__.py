"""Files in and out: FASTQ, BAM, VCF, and outputs that appear whole or not at all."""
