"""The first stage: checks a FASTA, removes long runs of N, and cuts the rest, one axis of 2-bit bases, into pages."""

from quire.reference.construction import build
from quire.reference.opening import Page, Reference

__all__ = ["Page", "Reference", "build"]
