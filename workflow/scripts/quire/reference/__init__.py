"""The first stage, FASTA to pages: contigs checked, long runs of N removed, the rest on one axis of 2-bit bases."""

from quire.reference.construction import build
from quire.reference.opening import Page, Reference

__all__ = ["Page", "Reference", "build"]
