"""Duplicate marking by the rule of `samtools markdup` (template mode); `optical` finds optical duplicates.

Secondary, supplementary, unmapped and QC-failed records are ignored. Positions are unclipped: 5' and 3' ends are
computed as if nothing were clipped.

- Records with a mapped mate belong to the same fragment if they agree in library, contig and outer end, contig and
  outer end of the mate (from its MC tag), orientation of the pair, and which of the two is leftmost. The record with
  the largest score is kept; among equal scores, the one with the smallest name. The score is the sum of base qualities
  of at least 15, plus that of the mate (`ms` tag).
- Records without a mapped mate are compared by library, contig, strand and 5' end. If a record with a mapped mate has
  the same, all of them are duplicates; else the one with the largest score is kept, among equal scores the first in
  the file.

With UMIs, records with different RX are never duplicates, as if they came from different libraries (`samtools markdup
--barcode-tag RX`, Picard's BARCODE_TAG: UMIs match if all their letters do).

Source: bam_markdup.c of samtools 1.22, with whose results the tests compare. Records that share a fragment or a 5' end
lie within `SPAN` of each other on the reference (`quire.buckets.layout`).
"""

from typing import NamedTuple

LEAST_QUALITY = 15  # lowest base quality that counts in a score

# Bits of a record's mark.
DUPLICATE = 1
OPTICAL = 2  # a duplicate that was read close to a better record of its fragment
UNREADABLE_NAME = 4  # a duplicate whose name has no tile and coordinates


class Marking(NamedTuple):
    """Settings of duplicate marking.

    Attributes:
        optical_distance: most pixels in x and in y between optical duplicates; None to not count them.
        umis: True if duplicates must have the same UMI (RX).
        is_wanted: False to mark nothing.
    """

    optical_distance: int | None = None
    umis: bool = False
    is_wanted: bool = True
