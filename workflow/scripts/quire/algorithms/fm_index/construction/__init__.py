"""Building the arrays of an FM-index from a text and its suffix array, on the CPU or on a card."""
