"""Devices that run kernels: the choice between CPU and card, the lease of a card, and the compiler of its kernels."""
