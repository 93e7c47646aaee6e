"""The reference directory, opened for use: contigs, islands, the packed axis and its pages."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.reference.alternate import Lifts, read_alternate
from quire.reference.construction import FORMAT_VERSION
from quire.reference.fasta import fasta_digest
from quire.reference.storage import open_array, read_manifest
from quire.sequence.codes import AMBIGUOUS, LETTERS
from quire.sequence.packing import unpack


@dataclass(frozen=True)
class Page:
    """A span of the axis: the page owns the hits in [start, owned_end), and its text is [start, end)."""

    start: int
    owned_end: int
    end: int


def file_address(path: str | Path) -> str:
    """Return the URL of a file, with which headers of BAM and VCF name the reference."""
    return f"file://{Path(path).absolute()}"


@dataclass(frozen=True)
class Reference:
    """A reference on one axis. Coordinates are 0-based and half-open; arrays are read-only.

    Attributes:
        directory: directory of its files.
        manifest: the manifest as written (docs/formats.md).
        contig_names: names in FASTA order.
        contig_lengths: int64[contigs].
        island_contig: int32[islands], the contig of each island; islands are ordered along the contigs.
        island_start: int64[islands], start of each island on the contig.
        island_axis: int64[islands + 1], start of each island on the axis, then the length of the axis.
        text: uint64[ceil(axis_length / 32) + 2], the packed axis (`quire.sequence.packing`).
        ambiguous: int64[m, 2], runs on the axis whose codes in `text` only stand in for ambiguous bases.
        pages: the pages in axis order.
        axis_length: bases on the axis.
        alternate: uint8[contigs], 1 for alternate contigs; empty if none are known.
        lifts: alignments of these to other contigs; None if unknown.
    """

    directory: Path
    manifest: dict[str, Any]
    contig_names: list[str]
    contig_lengths: NDArray[np.int64]
    island_contig: NDArray[np.int32]
    island_start: NDArray[np.int64]
    island_axis: NDArray[np.int64]
    text: NDArray[np.uint64]
    ambiguous: NDArray[np.int64]
    pages: list[Page]
    axis_length: int
    alternate: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    lifts: Lifts | None = None

    @classmethod
    def open(cls, directory: str | Path, fasta: str | Path | None = None, verify: bool = True) -> "Reference":
        """Open the directory that `build` wrote, from `fasta` if given; `verify` compares checksums, once a process.

        InputError is raised for another format version, a damaged file, or another FASTA.
        """
        directory = Path(directory)
        manifest = read_manifest(directory, "reference", FORMAT_VERSION)
        if fasta is not None:
            _check_fasta(directory, manifest, fasta)
        islands = manifest["islands"]
        return cls(
            directory=directory,
            manifest=manifest,
            contig_names=[contig["name"] for contig in manifest["contigs"]],
            contig_lengths=np.array([contig["length"] for contig in manifest["contigs"]], dtype=np.int64),
            island_contig=np.array([island["contig"] for island in islands], dtype=np.int32),
            island_start=np.array([island["start"] for island in islands], dtype=np.int64),
            island_axis=np.array(
                [island["axis_start"] for island in islands] + [manifest["axis_length"]], dtype=np.int64
            ),
            text=open_array(directory, manifest, "text", verify),
            ambiguous=open_array(directory, manifest, "ambiguous", verify),
            pages=[Page(**page) for page in manifest["pages"]],
            axis_length=manifest["axis_length"],
        )

    def with_alternate(self, path: str | Path | None) -> "Reference":
        """Return this reference with the alternate contigs that a file lists; unchanged if `path` is None."""
        if path is None:
            return self
        alternate, lifts = read_alternate(path, self.contig_names, self.contig_lengths)
        return replace(self, alternate=alternate, lifts=lifts)

    @cached_property
    def contig_number(self) -> dict[str, int]:
        """Index of each contig by name."""
        return {name: number for number, name in enumerate(self.contig_names)}

    @property
    def contig_checksums(self) -> list[str]:
        """MD5 of each contig's upper-case sequence, as in SAM's M5."""
        return [contig["md5"] for contig in self.manifest["contigs"]]

    def sam_tags(self, fasta: str | Path | None) -> list[str]:
        """Return M5, UR (if a FASTA is given) and AH (alternate) of each contig's @SQ."""
        address = "" if fasta is None else f"\tUR:{file_address(fasta)}"
        tags = [f"M5:{checksum}{address}" for checksum in self.contig_checksums]
        alternate = self.alternate if len(self.alternate) else np.zeros(len(tags), np.uint8)
        return [f"{tag}\tAH:*" if other else tag for tag, other in zip(tags, alternate, strict=True)]

    def axis_to_contig(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return contig (int32) and position on the contig (int64) of axis positions in [0, axis_length)."""
        positions = np.asarray(positions, dtype=np.int64)
        island = np.searchsorted(self.island_axis, positions, side="right") - 1
        return self.island_contig[island], self.island_start[island] + positions - self.island_axis[island]

    def sequence(self, contig: str | int, start: int, end: int) -> bytes:
        """Return the letters of [start, end) of a contig (name or index): A, C, G, T, and N for all others."""
        return LETTERS[self.contig_codes(contig, start, end)].tobytes()

    def contig_codes(self, contig: str | int, start: int, end: int) -> NDArray[np.uint8]:
        """Return the codes (uint8, 4 for letters other than A, C, G, T) of [start, end) of a contig (name or index)."""
        index = self.contig_number.get(contig, -1) if isinstance(contig, str) else contig
        if index < 0:
            raise ValueError(f"{contig!r} is not a contig of {self.directory}")
        if not 0 <= start <= end <= self.contig_lengths[index]:
            raise ValueError(f"{self.contig_names[index]}:{start}-{end} is not within the contig")
        codes = np.full(end - start, AMBIGUOUS, dtype=np.uint8)
        # Of the array's type: NumPy would convert all islands for another one.
        first, last = np.searchsorted(self.island_contig, np.array([index, index + 1], self.island_contig.dtype))
        lengths = np.diff(self.island_axis[first : last + 1])
        near = slice(
            first + np.searchsorted(self.island_start[first:last] + lengths, start, side="right"),
            first + np.searchsorted(self.island_start[first:last], end),
        )
        for island in range(near.start, near.stop):
            to_axis = int(self.island_axis[island] - self.island_start[island])
            island_end = int(self.island_axis[island + 1]) - to_axis
            low, high = max(start, int(self.island_start[island])), min(end, island_end)
            codes[low - start : high - start] = self.codes(low + to_axis, high + to_axis)
        return codes

    def codes(self, axis_start: int, axis_end: int) -> NDArray[np.uint8]:
        """Return codes of the axis (uint8): 0..3 for A, C, G, T and 4 for an ambiguous base."""
        codes = unpack(self.text, axis_start, axis_end)
        first = np.searchsorted(self.ambiguous[:, 1], axis_start, side="right")
        last = np.searchsorted(self.ambiguous[:, 0], axis_end)
        for run_start, run_end in self.ambiguous[first:last]:
            codes[max(run_start - axis_start, 0) : run_end - axis_start] = AMBIGUOUS
        return codes

    def page_codes(self, page_number: int) -> NDArray[np.uint8]:
        """Return the codes 0..3 (uint8) from which a page's index is built, with stand-ins for ambiguous bases."""
        page = self.pages[page_number]
        return unpack(self.text, page.start, page.end)


def _check_fasta(directory: Path, manifest: dict[str, Any], fasta: str | Path) -> None:
    """Refuse a FASTA from which the reference was not built; equal size and time stamp are proof enough."""
    try:
        status = Path(fasta).stat()
    except OSError as error:
        raise InputError(f"{fasta}: cannot be read ({error.strerror}); check the path and its permissions.") from error
    built_from = manifest["fasta"]
    if (status.st_size, status.st_mtime_ns) == (built_from["size"], built_from["modified_ns"]):
        return
    if fasta_digest(fasta) != built_from["md5"]:
        raise InputError(
            f"{fasta}: {directory} was built from other sequences (was the file changed after indexing?); "
            f"delete {directory} and the indexes of its pages and build them again."
        )
