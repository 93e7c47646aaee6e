"""Errors that a user can cause: each is one sentence that names the file, the record and the remedy."""

MEMORY = "memory ran out"
"""Stands in the sentence of a job that lacked memory, and in no other: such a job is tried again."""


class QuireError(Exception):
    """A failure whose message is meant for the user and is shown without a traceback."""


class InputError(QuireError):
    """Something the user supplied (a FASTQ, FASTA, BED, VCF, sheet or configuration value) cannot be used."""
