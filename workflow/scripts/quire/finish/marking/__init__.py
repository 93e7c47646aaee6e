"""Which records are duplicates: the rule of `samtools markdup` (its template mode); `optical` has its optical part.

Records that are secondary, supplementary, unmapped or failed a quality check are left alone. All others have the 5' and
3' ends that they would have if nothing of them were clipped. Two records of a library with a mapped mate are the same
fragment if contig and outer end, those of the mate (by its MC tag), the orientation of the pair and which of the two is
leftmost agree. Of the records of a fragment one stays: that with the largest sum of base qualities of at least 15, its
mate's (`ms` tag) included; of equals that with the smallest name. Records without a mapped mate are compared by
contig, strand and 5' end: where a record with a mate has the same, all of them are duplicates; else the one with the
largest sum stays, of equals the first in the order of the file.

Sources: samtools 1.22's bam_markdup.c, whose answers the tests compare with. Records that share a fragment or a 5' end
lie within `SPAN` of each other on the reference (`quire.buckets.layout`).
"""

LEAST_QUALITY = 15  # of a base that counts

# Bits of a record's mark.
DUPLICATE = 1
OPTICAL = 2  # a duplicate that was read close to a better record of its fragment
UNREADABLE_NAME = 4  # a duplicate whose name does not say where it was read
