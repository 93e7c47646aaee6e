"""Measuring which design of exact search a card is fastest with, and keeping the answer."""
