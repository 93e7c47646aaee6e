"""Packing of records for the disk, a piece at a time, to less than half their size, much faster than zlib.

A piece is whole records of a bucket in the order of the reads, so that mates are mostly adjacent. Its first byte is the
highest quality of the first records. The packed records follow end to end. Each begins with four bytes: 24 bits that
say how its parts are stored (`stored`, in the order of the parts), and its mapping quality. Then follow, as these bits
require:

- flag (2 bytes);
- contig and position of the record and of its mate, and template length: nothing if they mirror the previous record, as
  mates do; position, distance to the mate and template length (4 + 2 + 2) if record and mate are on the contig of the
  previous record; otherwise all (20);
- bin (2) and number of bases (4), if they differ from the previous record;
- name: the number of letters shared with the previous record, the number of further letters (1 + 1), and these letters;
  nothing if the names are equal;
- CIGAR: number of operations (2) and the elements as in BAM; nothing if one M holds all bases;
- bases: two bits each, four per byte, if all are A, C, G or T; otherwise as in BAM;
- qualities: 32 at a time, each subtracted from the piece's highest, modulo 256, so that most are small. The bits of one
  weight of the 32 values are a *plane*. A byte says which weights have a plane that is not empty; these planes follow,
  the highest weight first. The planes of the last values have only the bytes that these fill;
- the tags that Quire writes, if they have its order and types: NM (1; nothing if 0), MD and MC (length in a byte, and
  text; nothing if MD is the number of bases, and MC that number and M), ms, AS and XS (1 or 2);
- the other tags: their size (2), and as in BAM. RG, if it is the last tag and equal to that of the first record, is one
  bit.

A record is stored whole, after four bytes with one bit set, if it is the first or cannot be parsed: a name without its
NUL, parts longer than the record, or more than 65,535 bytes of tags. The previous record is the last one that could be
parsed. Packing and unpacking both have it in full, and need no other state.

Words of eight bytes are also read and written at the end of a part, so arrays have SLACK bytes after their content.
"""
