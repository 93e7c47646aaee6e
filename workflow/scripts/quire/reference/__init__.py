"""FASTA to pages: contigs checked, long runs of N cut out, the rest laid on one axis of 2-bit bases (first stage)."""

from quire.reference.construction import build
from quire.reference.opening import Page, Reference

__all__ = ["Page", "Reference", "build"]
