"""Mate rescue: search for a mate beside the places of its read."""
