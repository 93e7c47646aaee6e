"""Quire: short reads to variants, one stage a package (reference, index, align, finish, rescore, report)."""
