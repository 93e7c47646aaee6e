"""The reported alignments of a batch as rows, from which records are made."""
