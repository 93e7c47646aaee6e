"""Suffix arrays: the order of all suffixes of a text of codes; a suffix precedes the longer ones that begin with it.

The suffix array of a text of n codes is uint32[n + 1]: the start positions of its suffixes in order. The first is n,
the empty (sentinel) suffix, which is less than all others. `cpu.suffix_array(codes)` takes uint8[n] with n < 2^31;
`gpu.suffix_array(card, text)` takes a text of codes 0..3 packed on a card (`gpu.upload_text`), n < 2^32 - 1.
"""
