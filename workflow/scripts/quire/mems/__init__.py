"""Maximal exact matches of queries of any size in the pages of a reference, written as MUMmer's text.

`search` (the stage) uses `queries` (reading), `tasks` (units of work of threads), `engines`, `text` and `writing`.
"""
