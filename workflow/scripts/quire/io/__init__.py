"""Files in and out: FASTQ, BAM, VCF, and outputs that appear complete or not at all."""
