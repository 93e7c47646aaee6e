"""Copies of inputs on servers (`quire.run.remote`), and their checks when they are made."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from quire.errors import InputError
from quire.io.first_reads import require_as_declared
from quire.io.sniff import holds_nothing, require_alignments, require_fasta, require_fastq
from quire.run.inputs import require_file


class Remote(NamedTuple):
    """A remote input.

    Attributes:
        address: where it is.
        what: where the user named it, for messages.
        column: of the sheet of units; empty for the reference.
        declared: interleaved (bool), qualities, and has_mates (bool) of a FASTQ, as `require_as_declared` takes them.
        random_access: True for a reference that CRAM needs.
        may_be_empty: True for a FASTQ that may hold no reads.
    """

    address: str
    what: str
    column: str = ""
    declared: Mapping[str, Any] = {}
    random_access: bool = False
    may_be_empty: bool = False


def require_usable(copy: str, remote: Remote) -> None:
    """Raise InputError for a copy that is empty, of another kind, or not as its unit is described."""
    try:
        require_file(copy, remote.what)
        if not remote.column:
            require_fasta(copy, remote.what, remote.random_access)
        elif remote.column == "bam":
            require_alignments(copy, remote.what)
        elif not (remote.may_be_empty and holds_nothing(copy)):
            require_fastq(copy, remote.what)
            if remote.column != "fq_umi":
                require_as_declared(copy, **remote.declared, what=remote.what)
    except InputError as error:
        raise InputError(str(error).replace(copy, remote.address)) from None
