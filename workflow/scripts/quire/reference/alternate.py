"""Alternate contigs: which contigs of a reference are other versions of parts of the primary assembly.

They are listed in a file beside the FASTA, as bwa reads it (bwa's README-alt): SAM lines, of which the first column
counts, or names alone. What an alternate contig is a version of is not read.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError

logger = logging.getLogger("quire.reference")


def read_alternate(path: str | Path, contig_names: Sequence[str]) -> NDArray[np.uint8]:
    """uint8[contigs]: 1 for the alternate ones. Lines of the file that name no contig count for nothing, as for bwa.

    Args:
        path: lines of SAM (those that begin with @ are left out) or names; further columns are not read.
        contig_names: of the reference.

    Raises:
        InputError: the file cannot be read, names no contig of the reference, or names all.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the list of alternate contigs cannot be read ({error}); mend or remove it."
        ) from None
    names = {line.split("\t")[0].strip() for line in lines if not line.startswith("@")} - {""}
    alternate = np.array([name in names for name in contig_names], np.uint8)
    if not alternate.any():
        raise InputError(
            f"{path}: none of its {len(names)} names is a contig of the reference; give the list of this reference's "
            "alternate contigs, or remove the file."
        )
    if alternate.all():
        raise InputError(f"{path}: names all contigs of the reference; leave those of the primary assembly out.")
    logger.info("%s: %d of %d contigs are alternate", path, alternate.sum(), len(alternate))
    return alternate
