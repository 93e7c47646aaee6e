"""Construction of the reference directory in one pass over the FASTA, with a few megabytes in memory at a time."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bed import read_bed
from quire.io.files import atomic_directory
from quire.reference.axis import AxisWriter
from quire.reference.fasta import Sequence, lengths_of_contigs, read_fasta
from quire.reference.storage import write_manifest
from quire.sequence.codes import AMBIGUOUS

FORMAT_VERSION = 1
PAGE_OVERLAP = 1280  # the longest read (1,024 bases) and 256 more
_PROGRESS_EVERY = 1 << 28
_WORTH_A_THREAD = 1 << 16  # bases; a thread that takes over fewer costs more than it saves

logger = logging.getLogger("quire.reference")

Masked = dict[str, list[tuple[int, int]]]
"""Masked regions by contig, 0-based and half-open; they may overlap."""


def build(
    fasta_path: str | Path,
    directory: str | Path,
    page_size: int,
    check_contigs: Callable[[list[str], list[int]], None] | None = None,
    mask: str | Path | None = None,
) -> None:
    """Check a FASTA and write the reference directory (docs/formats.md), which appears whole or not at all.

    A page owns `page_size` bases of the axis, 1,024 to 2^30. `check_contigs` is called with the names and lengths of
    the contigs as soon as they are known; if it raises, no directory is left. Bases in the regions of the BED `mask`
    become N; the contigs' checksums stay those of the FASTA.

    Raises:
        InputError: the FASTA or the mask cannot be used.
    """
    masked: Masked = {}
    for contig, start, end in read_bed(mask, lengths_of_contigs(fasta_path)) if mask else ():
        masked.setdefault(contig, []).append((start, end))
    with atomic_directory(directory) as temporary:
        with (temporary / "text.npy").open("wb") as stream:
            axis = AxisWriter(stream)
            contigs, fasta_md5 = _lay_contigs(fasta_path, axis, masked)
            axis.finish()
        if check_contigs is not None:
            check_contigs([contig["name"] for contig in contigs], [contig["length"] for contig in contigs])
        if axis.axis_length == 0:
            raise InputError(f"{fasta_path}: holds no A, C, G or T in {len(contigs)} records; give a real reference.")
        np.save(temporary / "ambiguous.npy", np.concatenate(axis.ambiguous))
        pages = page_bounds(axis.axis_length, page_size)
        status = Path(fasta_path).stat()
        manifest = {
            "format_version": FORMAT_VERSION,
            "fasta": {
                "path": str(fasta_path),
                "size": status.st_size,
                "modified_ns": status.st_mtime_ns,
                "md5": fasta_md5,
            },
            "mask": _mask_digest(mask),
            "contigs": contigs,
            "islands": [
                {"contig": contig, "start": start, "length": length, "axis_start": axis_start}
                for contig, start, length, axis_start in axis.islands
            ],
            "axis_length": axis.axis_length,
            "page_size": page_size,
            "page_overlap": PAGE_OVERLAP,
            "pages": [{"start": start, "owned_end": owned_end, "end": end} for start, owned_end, end in pages],
        }
        write_manifest(temporary, "reference", manifest)
    logger.info(
        "%s: %d contigs, %d islands, %d bases on the axis, %d pages",
        fasta_path, len(contigs), len(axis.islands), axis.axis_length, len(pages),
    )  # fmt: skip


def require_same_mask(directory: Path, manifest: Mapping[str, Any], mask: str | Path | None) -> None:
    """Raise InputError if a packed reference was built with another mask."""
    if manifest.get("mask", "") != _mask_digest(mask):
        raise InputError(
            f"reference.mask: {directory} was built with another mask, or without one; delete {directory} and the "
            "indexes of its pages and build them again, or choose another index_directory."
        )


def _mask_digest(mask: str | Path | None) -> str:
    """Return the MD5 of a mask's file, empty without one."""
    return hashlib.md5(Path(mask).read_bytes()).hexdigest() if mask else ""


def page_bounds(axis_length: int, page_size: int) -> list[tuple[int, int, int]]:
    """Return (start, owned_end, end) of every page: it owns [start, owned_end), and its text is [start, end)."""
    bounds = []
    for start in range(0, axis_length, page_size):
        owned_end = min(start + page_size, axis_length)
        bounds.append((start, owned_end, min(owned_end + PAGE_OVERLAP, axis_length)))
    return bounds


def _lay_contigs(fasta_path: str | Path, axis: AxisWriter, masked: Masked) -> tuple[list[dict[str, Any]], str]:
    """Add every record to the axis; return the contigs for the manifest and the digest of the whole FASTA."""
    contigs: list[dict[str, Any]] = []
    whole, digest = hashlib.md5(), hashlib.md5()
    bases, next_progress = 0, _PROGRESS_EVERY
    # Digests are half of the work and release the GIL, so two threads compute them, one piece later.
    with ThreadPoolExecutor(2) as threads:
        pending: list[Future[None]] = []
        for piece in read_fasta(fasta_path):
            for update in pending:
                update.result()
            if not contigs or piece.name != contigs[-1]["name"]:
                if contigs:
                    contigs[-1]["md5"] = digest.hexdigest()
                    axis.end_contig()
                contigs.append({"name": piece.name, "length": 0, "md5": ""})
                digest = hashlib.md5()
                whole.update(f">{piece.name}\n".encode())
            if piece.codes.size < _WORTH_A_THREAD:
                pending = []
                digest.update(piece.letters.data)
                whole.update(piece.letters.data)
            else:
                pending = [threads.submit(md5.update, piece.letters.data) for md5 in (digest, whole)]
            axis.add(_without(masked, piece, contigs[-1]["length"]))
            contigs[-1]["length"] += piece.codes.size
            bases += piece.codes.size
            if bases >= next_progress:
                logger.info("%d bases read, now in %s", bases, piece.name)
                next_progress += _PROGRESS_EVERY
    contigs[-1]["md5"] = digest.hexdigest()
    axis.end_contig()
    return contigs, whole.hexdigest()


def _without(masked: Masked, piece: Sequence, start: int) -> NDArray[np.uint8]:
    """Return the codes of a piece, which begins at `start` of its contig, with masked bases ambiguous."""
    end = start + piece.codes.size
    inside = [own for own in masked.get(piece.name, ()) if own[0] < end and own[1] > start]
    codes = piece.codes.copy() if inside else piece.codes
    for first, last in inside:
        codes[max(first - start, 0) : last - start] = AMBIGUOUS
    return codes
