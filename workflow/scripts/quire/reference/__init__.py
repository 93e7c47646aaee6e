"""The first stage: check a FASTA, drop long runs of N, pack the rest as one axis of 2-bit bases, cut it into pages."""

from quire.reference.construction import build
from quire.reference.opening import Page, Reference

__all__ = ["Page", "Reference", "build"]
