"""What a BAI index can hold. It needs nothing but Python, since the configuration is checked with it too."""

from collections.abc import Sequence

from quire.errors import QuireError

LARGEST_BAI_CONTIG = 1 << 29  # bases; the BAI format ends there, SAM specification section 5.1.1


def require_index_fits(alignment_format: str, index_format: str, names: Sequence[str], lengths: Sequence[int]) -> None:
    """Refuse a BAI index over contigs that are too long for it.

    Args:
        alignment_format: the configuration's align.format; CRAM has an index of its own, which has no such limit.
        index_format: its align.index_format.
        names, lengths: of the contigs, in bases.

    Raises:
        QuireError: naming the first contig that is too long and the key to change.
    """
    if (alignment_format, index_format) != ("bam", "bai"):
        return
    for name, length in zip(names, lengths, strict=True):
        if length > LARGEST_BAI_CONTIG:
            raise QuireError(
                f"contig {name} has {length} bases but a BAI index ends at {LARGEST_BAI_CONTIG}; "
                "set align.index_format: csi in the configuration."
            )
