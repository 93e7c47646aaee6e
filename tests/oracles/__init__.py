"""Slow, obviously right implementations that the tests compare the library with."""
