"""The arrays of a page's index, written on the CPU or on a card."""
