"""Candidates: places where a read may lie, found from its hits; each is extended once."""
