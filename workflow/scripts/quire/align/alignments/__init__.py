"""From extensions to the alignments of a batch, by read and best first."""
