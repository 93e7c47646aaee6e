"""Errors that a user can cause. Each message is one sentence that names the file, the record and the remedy."""

MEMORY = "memory ran out"
"""Part of the message of a job that ran out of memory, and of no other message: such a job is retried."""


class QuireError(Exception):
    """Failure whose message is meant for the user and is shown without a traceback."""

    def __init__(self, message: str) -> None:
        """Show control characters, which names in damaged files may have, as escapes: a message is one line."""
        super().__init__(
            "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in message)
        )


class InputError(QuireError):
    """Unusable input of the user: a FASTQ, FASTA, BED or VCF file, a sheet or a configuration value."""
