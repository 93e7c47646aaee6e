"""Mate rescue: a mate without a place is looked for beside its read."""
