"""Short reads to variants, with one package per stage (reference, index, align, finish, rescore, report)."""
