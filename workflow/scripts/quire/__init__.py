"""Short reads to variants, with one package per stage (reference, index, align, finish, rescore, report)."""

from quire import start as start  # a job imports quickly from here on
