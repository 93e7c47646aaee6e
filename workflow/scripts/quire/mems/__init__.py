"""Maximal exact matches: queries of any size against the pages of a reference, to MUMmer's text.

Imports downwards: `search` (the stage) stands on `tasks` (what threads do at a time), `engines`, `text` and `queries`.
"""
