"""Measuring which policies a card finds matches fastest with, and keeping the answer."""
