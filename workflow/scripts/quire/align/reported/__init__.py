"""The reported alignments of a batch as rows, which are all that records are made of."""
