"""Checks of a run that read files, once before any job: its index, names of contigs, and first reads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quire.errors import InputError, Mistakes
from quire.io import samtools
from quire.io.bai import require_index_fits
from quire.io.bed import require_names
from quire.io.first_reads import (
    examine,
    first_names,
    first_records,
    require_as_declared,
    require_mates,
    require_umis_in_names,
    require_umis_of_reads,
)
from quire.reference import Reference
from quire.reference.construction import require_same_mask
from quire.reference.storage import MANIFEST
from quire.run.config import Configuration
from quire.run.contig_names import check_contig_names, known_contigs
from quire.run.inputs import require_temporary_space
from quire.run.remote import absent
from quire.sam import FLAG_SECOND_OF_PAIR, FLAG_SECONDARY, FLAG_SUPPLEMENTARY

_FIRST_RECORDS = 1000  # records of a BAM or CRAM file whose names are checked
_OTHERS = FLAG_SECOND_OF_PAIR | FLAG_SECONDARY | FLAG_SUPPLEMENTARY


def check_before_jobs(run: Configuration) -> None:
    """Check, once per run and before any job, what requires reading files; raise InputError for all mistakes."""
    require_temporary_space()
    with Mistakes() as mistakes:
        if absent(run.remote, fasta := run.settings["reference"]["fasta"]):
            directory = Path(run.settings["reference"]["index_directory"])
            if (directory / "reference" / MANIFEST).exists():
                mistakes.add(
                    f"reference.fasta: {directory} holds an index, but no copy of {run.remote[fasta].address}, from "
                    "which it would have been made; choose another index_directory, or remove that folder."
                )
        else:
            mistakes.check(_check_reference, run.settings)
        mistakes.check(check_first_reads, run)


def _check_reference(settings: Mapping[str, Any]) -> None:
    check_index(settings)
    check_contigs(settings)
    check_contig_names(settings)


def check_index(settings: Mapping[str, Any]) -> None:
    """Check that an existing packed reference is intact, of this FASTA and masked alike; it would be overwritten.

    Pages that are missing must be writable.
    """
    directory = Path(settings["reference"]["index_directory"]) / "reference"
    if settings["reference"]["fasta"] and (directory / MANIFEST).exists():
        packed = Reference.open(directory, settings["reference"]["fasta"], verify=False)
        require_same_mask(directory, packed.manifest, settings["reference"]["mask"])
        for page in (directory.parent / f"page_{number}" for number in range(len(packed.pages))):
            if not (page / MANIFEST).exists() and not os.access(page if page.exists() else page.parent, os.W_OK):
                raise InputError(
                    f"reference.index_directory: {page} is not complete and cannot be written; wait for the run that "
                    "builds it, let the folder's owner run `quire run reference_index` again, or choose another folder."
                )


def check_contigs(settings: Mapping[str, Any]) -> None:
    """Check that all steps can handle the contigs' names and lengths, if known before the reference is packed."""
    if not settings["samples"]:
        return
    contigs = known_contigs(settings)
    require_names(contigs)
    align = settings["align"]
    require_index_fits(align["format"], align["index_format"], list(contigs), list(contigs.values()))


def check_first_reads(run: Configuration) -> None:
    """Check that the first reads of every file match their declaration, and are those of one unit of a sample."""
    seen = dict[Any, str]()
    units_of = run.units["sample"].value_counts()
    with Mistakes() as mistakes:
        for unit in run.units.to_dict("records"):
            if not absent(run.remote, *unit["fq1"], *unit["fq2"], *unit["fq_umi"], *unit["bam"]):
                mistakes.check(_check_unit, unit, int(units_of[unit["sample"]]), run.settings, seen)
        for search in run.settings["complete"]:
            if examine(search["reads"]).phred64:
                mistakes.add(
                    f"complete {search['name']}, reads: {search['reads']} has Phred+64 qualities; "
                    "convert it with `seqtk seq -Q64 -V` and give that."
                )


def _check_unit(unit: Mapping[str, Any], units: int, settings: Mapping[str, Any], seen: dict[Any, str]) -> None:
    """Check the first reads of a unit, whose sample has so many `units`; `seen` has the first reads of those before."""
    umis_in_names = settings["align"]["umi"] == "name"
    what = f"{settings['units']}, {unit['sample']}.{unit['unit']}, column"
    for column in ("fq1", "fq2", "bam"):
        for path in unit[column]:
            if column == "bam":  # takes half a second
                own = _first_of_alignments(path) if max(units, len(unit["bam"])) > 1 else []
            else:
                declared = unit["interleaved"], unit["qualities"], bool(unit["fq2"]), f"{what} {column}"
                require_as_declared(path, *declared)
                own = [(name.decode("latin-1"), bases.decode("latin-1")) for name, _, bases in first_records(path)]
            place = f"{path} of {unit['sample']}.{unit['unit']}"
            records = unit["sample"], tuple(own)
            if own and (other := seen.setdefault(records, place)) != place:
                raise InputError(
                    f"{what} {column}: {place} begins with the same reads as {other}, by their names and bases; "
                    "give each read once, or all but one copy would be duplicates."
                )
    for first, second in zip(unit["fq1"], unit["fq2"], strict=False):
        require_mates(first, second, f"{what} fq1")
    for path in unit["fq1"] if umis_in_names else ():
        require_umis_in_names(path, first_names(path)[:: 1 + unit["interleaved"]], f"{what} fq1")
    for path in unit["bam"] if umis_in_names else ():
        names = [row[0] for row in samtools.first_rows(Path(path), _FIRST_RECORDS)]
        require_umis_in_names(path, names, f"{what} bam")
    for reads, path in zip(unit["fq1"], unit["fq_umi"], strict=False):
        require_umis_of_reads(path, reads, unit["interleaved"], f"{what} fq_umi")


def _first_of_alignments(path: str) -> list[tuple[str, str]]:
    """Return names and bases of the first reads as `first_records` does, without second mates; empty if unreadable."""
    rows = [row for row in samtools.first_rows(Path(path), 40, "0x203") if not int(row[1]) & _OTHERS]
    return [(row[0], row[9]) for row in rows[:10] if row[9].strip("N*")]
