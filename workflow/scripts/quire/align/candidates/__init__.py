"""Candidates: places where a read may align, found from its hits; each is extended once."""
