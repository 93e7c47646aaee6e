"""Reads as the caller sees them.

`source` fetches the reads of a span, `filters` decides which are used, `aligned` determines adaptor and soft clips
once, and `clipping` cuts reads to each active region.
"""
