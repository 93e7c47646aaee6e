"""Choice of the reported alignments: pairs, mapping qualities, supplementary alignments, template lengths."""
