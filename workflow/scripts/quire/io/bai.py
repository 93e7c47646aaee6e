"""Sizes of BAI indexes. Imports only the standard library, since the check of the configuration uses it."""

from collections.abc import Sequence

from quire.errors import QuireError

WINDOW_SHIFT = 14  # windows and smallest bins of BAI, and of CSI as htslib writes it, have 16,384 bases
BAI_DEPTH = 5  # levels of bins below the one that holds everything
LARGEST_BAI_CONTIG = 1 << 29  # bases; SAM specification, section 5.1.1


def first_bin(level: int) -> int:
    """Return the number of the first bin of a level; level 0 is the bin that holds everything."""
    return ((1 << 3 * level) - 1) // 7


def require_index_fits(alignment_format: str, index_format: str, names: Sequence[str], lengths: Sequence[int]) -> None:
    """Refuse a BAI index over contigs that are too long for it.

    The formats are those of the configuration; the index of CRAM has no such limit.

    Raises:
        QuireError: names the first contig that is too long and the key to change.
    """
    if (alignment_format, index_format) != ("bam", "bai"):
        return
    for name, length in zip(names, lengths, strict=True):
        if length > LARGEST_BAI_CONTIG:
            raise QuireError(
                f"contig {name} has {length} bases but a BAI index ends at {LARGEST_BAI_CONTIG}; "
                "set align.index_format: csi in the configuration."
            )
