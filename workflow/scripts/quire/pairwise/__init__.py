"""Two sequences to their one optimal alignment: FASTA in, PAF, BAM, a summary and a dot plot out."""
