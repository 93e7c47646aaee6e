"""Maximal exact matches: queries of any size against the pages of a reference, to MUMmer's text.

`search` (the stage) imports `tasks` (units of work of threads), `engines`, `text` and `queries`.
"""
