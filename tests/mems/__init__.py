"""Tests of the stage that finds maximal exact matches."""
