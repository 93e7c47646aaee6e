"""Reads as the caller sees them.

`source` fetches those of a stretch of genome, `filters` says which are used, `aligned` works out adaptor and soft clips
once, `clipping` cuts them to each active region.
"""
