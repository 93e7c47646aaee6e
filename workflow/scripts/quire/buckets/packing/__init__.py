"""Records packed for the disk, a piece at a time: less than half of their bytes, in a fraction of what zlib takes.

A piece is whole records of a bucket in the order of the reads, so that mates mostly stand side by side. A byte comes
first: the highest quality among the first records. The packed records follow end to end. Each begins with four bytes:
24 bits that say how its parts are stored (`stored`, in the order of the parts), and its mapping quality.
Then, as far as those bits ask for it:

- flag (2 bytes);
- contig, position, and those of the mate, and template length: nothing where they are those of the record before seen
  from its mate; position, the mate's distance and the template length (4 + 2 + 2) where all lie on the contig of the
  record before; else all (20);
- bin (2) and number of bases (4), where they are not those of the record before;
- name: how many letters are those of the record before, how many others follow (1 + 1), and these; nothing where it is
  the same name;
- CIGAR: operations (2) and the elements as BAM has them; nothing where all bases are under one M;
- bases: two bits each, four in a byte, where all are A, C, G or T; else as BAM has them;
- qualities: 32 at a time. Each is subtracted from the piece's highest, modulo 256, so that most are small. The bits of
  one weight of 32 values make a *plane*, a bit a value. A byte says which weights have planes that are not empty, and
  these follow, the highest weight first; the planes of the last values only have the bytes that they need;
- the tags that Quire writes, where they stand in its order and have its types: NM (1; nothing where 0), MD and MC
  (length in a byte, text; nothing where MD is the number of bases, MC that number of M), ms, AS and XS (1 or 2);
- the other tags: their bytes (2), and as BAM has them; but RG, where it is the last and that of the first record, is a
  bit alone.

A record is stored whole, behind four bytes with one bit set, if it is the first or cannot be taken apart: a name
without its NUL, parts longer than the whole, more than 65,535 bytes of tags. The one that the next is compared with is
always the last that can be taken apart, which both sides have at hand as it was: nothing else need be remembered.

Words of eight bytes are read and written wherever a part ends, so that arrays are longer by SLACK than what they hold.
"""
