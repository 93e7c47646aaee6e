"""From alignments to what is reported: pairs, mapping qualities, supplementary alignments, template lengths."""
