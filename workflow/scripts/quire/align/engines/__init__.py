"""Engines that map batches on the CPU or on a card.

Nothing is imported here, so that the steps on a card need neither Numba nor pysam.
"""
