"""Control bits of a packed record, in its first four bytes; see `quire.buckets.packing`.

Each tag has two bits: one for its usual value, or a number of one byte, and one for any other value. If neither is set,
the tag is missing or among the other tags.
"""

import numpy as np

WHOLE = np.uint64(1 << 0)
MIRRORED, NEAR = np.uint64(1 << 1), np.uint64(1 << 2)
SAME_BIN, SAME_BASES, SAME_NAME = np.uint64(1 << 3), np.uint64(1 << 4), np.uint64(1 << 5)
ONE_MATCH, TWO_BITS = np.uint64(1 << 6), np.uint64(1 << 7)
NM_ZERO, NM = np.uint64(1 << 8), np.uint64(1 << 9)
MD_MATCHES, MD = np.uint64(1 << 10), np.uint64(1 << 11)
MC_MATCHES, MC = np.uint64(1 << 12), np.uint64(1 << 13)
MS_SHORT, MS = np.uint64(1 << 14), np.uint64(1 << 15)
AS_SHORT, AS = np.uint64(1 << 16), np.uint64(1 << 17)
XS_SHORT, XS = np.uint64(1 << 18), np.uint64(1 << 19)
OTHERS, GROUP = np.uint64(1 << 20), np.uint64(1 << 21)
CONTROL_BITS = np.uint64(24)  # the mapping quality follows
