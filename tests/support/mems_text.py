"""Small references with their indexes, queries, and the oracle's output text, for the tests of `mems`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from quire import index, reference
from quire.algorithms.mems import Queries
from quire.index import SearchInputs
from quire.mems.search import MemsOutputs, MemsSettings, find_mems
from quire.ragged import offsets_from_lengths
from quire.reference import Reference
from quire.sequence.codes import code_table

from tests.oracles import mems as oracle
from tests.support.index_builders import INDEX_PARAMETERS

Record = tuple[str, str]
"""(header without `>` or `@`, letters)."""
CODES = code_table({}, 4)


def codes_of(letters: str) -> np.ndarray:
    """Return uint8 codes: 0..3 for ACGT, and 4 for all other letters."""
    return CODES[np.frombuffer(letters.encode(), np.uint8)]


def write_fasta(path: Path, records: Sequence[Record], width: int = 60) -> Path:
    """Write a FASTA with lines of `width` letters."""
    with path.open("w") as stream:
        for header, letters in records:
            lines = [letters[i : i + width] for i in range(0, len(letters), width)]
            stream.write("\n".join([f">{header}", *lines]) + "\n")
    return path


class Built(NamedTuple):
    """A reference on disk: its FASTA, its directory and the directories of its pages."""

    fasta: Path
    directory: Path
    pages: list[Path]


def build(folder: Path, records: Sequence[Record], page_size: int = 1 << 20) -> Built:
    """Build a reference and its index."""
    folder.mkdir(exist_ok=True)
    fasta = write_fasta(folder / "reference.fa", records)
    reference.build(fasta, folder / "reference", page_size)
    pages = []
    for number in range(len(Reference.open(folder / "reference").pages)):
        pages.append(folder / f"page_{number}")
        index.build(folder / "reference", number, pages[-1], INDEX_PARAMETERS)
    return Built(fasta, folder / "reference", pages)


def find(built: Built, queries: Path, out: Path, **settings) -> bytes:
    """Return the text that the stage writes."""
    outputs = MemsOutputs(out, out.with_suffix(".json"))
    inputs = SearchInputs(built.directory, built.pages, built.fasta, queries)
    find_mems(inputs, outputs, MemsSettings("test", **{"backend": "cpu", **settings}))
    return out.read_bytes()


def expected_text(
    records: Sequence[Record], queries: Sequence[Record], min_length: int, strands: str, unique: str
) -> str:
    """Return the oracle's matches as text."""
    contigs = [codes_of(letters) for _, letters in records]
    names = [header.split()[0] for header, _ in records]
    starts = offsets_from_lengths([len(contig) for contig in contigs])
    lines = []
    for header, letters in queries:
        for reverse in (False, True):
            if strands == ("forward" if reverse else "reverse"):
                continue
            codes = codes_of(letters)
            if reverse:
                codes = np.where(codes > 3, 4, 3 - codes)[::-1].astype(np.uint8)
            query = Queries(codes, np.array([0, len(codes)]))
            matches = oracle.maximal_matches(contigs, query, min_length)
            if unique != "none":
                matches = oracle.unique_in_reference(matches, contigs, query)
            if unique == "both":
                matches = oracle.unique_in_query(matches, query)
            lines.append(f"> {header.split()[0]}{' Reverse' * reverse}")
            for start, axis, length in matches:
                contig = int(np.searchsorted(starts, axis, side="right")) - 1
                column = f"  {names[contig]:<{max(map(len, names))}}  " if len(names) > 1 else ""
                lines.append(f"{column}{axis - starts[contig] + 1:8}  {start + 1:8}  {length:8}")
    return "".join(f"{line}\n" for line in lines)
