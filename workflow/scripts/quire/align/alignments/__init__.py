"""The alignments of a batch, collected from its extensions."""
