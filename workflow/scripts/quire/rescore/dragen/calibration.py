"""Estimation of a sample's repeat tables from a bounded share of its alignments (GATK's CalibrateDragstrModel).

The called part of the genome is cut into windows at fixed positions. The windows with the smallest hashes are read, up
to MOST_BASES. Hashes also decide which sites count, so the result does not depend on the number of threads or on how
the genome is cut. If there are too few sites for an estimate, GATK's default tables are used.
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bam.regions import IndexedAlignments
from quire.io.bed import Interval
from quire.io.fasta_index import fasta_to_decode
from quire.io.files import write_json_atomic
from quire.processes import in_processes
from quire.reference import Reference
from quire.rescore.dragen.cases_cpu import count_cases, place_hashes, sample_of_cases
from quire.rescore.dragen.estimation_cpu import estimate, too_few
from quire.rescore.dragen.repeats_cpu import END, START, repeats_between
from quire.rescore.dragen.tables import DEFAULT, LONGEST_PERIOD, MOST_REPEATS, write_tables
from quire.rescore.intervals import cut_at_multiples
from quire.sequence.codes import AMBIGUOUS, code_table

log = logging.getLogger("quire.rescore")

WINDOW = 200_000
MOST_BASES = 100_000_000  # most bases of the reference whose reads are used
_REACH = 1000  # bases around a window in which its repeats may start or end
_CODES = code_table({}, AMBIGUOUS)


class CalibrationFiles(NamedTuple):
    """Outputs of a calibration: the tables, and a JSON file with the numbers of bases and sites."""

    tables: str | Path
    ledger: str | Path


def calibrate_sample(
    reference_directory: str | Path,
    sample: str,
    alignment: str | Path,
    intervals: Sequence[Interval],
    outputs: CalibrationFiles,
    fasta: str | Path | None = None,
    threads: int = 1,
) -> None:
    """Write a sample's tables in GATK's text format, and their provenance as JSON."""
    reference = Reference.open(reference_directory)
    windows, bases = chosen_windows(reference, intervals)
    with fasta_to_decode([alignment], fasta, outputs.tables) as decoding:
        source = IndexedAlignments(alignment, decoding if str(alignment).endswith(".cram") else None)
        if not source.contigs:
            raise InputError(f"{alignment}: names no contigs; align the reads again.")
        cases = sample_of_cases(in_processes(partial(window_cases, reference, source), windows, threads))
    counts = np.bincount(cases["class"], minlength=LONGEST_PERIOD * MOST_REPEATS).astype(np.int64)
    sites = counts.reshape(LONGEST_PERIOD, MOST_REPEATS)
    missing = too_few(sites)
    tables = DEFAULT if missing else estimate(cases)
    if missing:
        period, repeats, count = missing[0]
        log.warning(
            "%s: too few sites for tables of its own (%d of period %d with %d repeats, 200 needed; %d classes lack "
            "sites), so GATK's default tables are used",
            sample, count, period, repeats, len(missing),
        )  # fmt: skip
    else:
        log.info("%s: tables estimated from %d sites in %d bases", sample, int(sites.sum()), bases)
    write_tables(tables, sample, outputs.tables)
    entry = {
        "stage": "calibrate",
        "sample": sample,
        "tables": "estimated" if tables.estimated else "defaults",
        "bases": bases,
        "sites": sites.tolist(),
        "too_few": [dict(zip(("period", "repeats", "sites"), one, strict=True)) for one in missing],
    }
    write_json_atomic(outputs.ledger, entry)


def chosen_windows(
    reference: Reference, intervals: Sequence[Interval], most_bases: int = MOST_BASES
) -> tuple[list[list[Interval]], int]:
    """Return the windows of smallest hash with about `most_bases` bases, in genome order, and their exact bases."""
    windows: dict[tuple[str, int], list[Interval]] = {}
    for group in cut_at_multiples(intervals, WINDOW):
        for interval in group:
            windows.setdefault((interval[0], interval[1] // WINDOW), []).append(interval)
    keys = list(windows)
    numbers = np.array([number * WINDOW for _, number in keys], np.int64)
    contigs = np.array([reference.contig_number[contig] for contig, _ in keys], np.int64)
    hashes = place_hashes(numbers, contigs)
    held, chosen = 0, []
    for k in np.argsort(hashes, kind="stable").tolist():
        if held >= most_bases:
            break
        chosen.append(k)
        held += sum(end - start for _, start, end in windows[keys[k]])
    return [windows[keys[k]] for k in sorted(chosen)], held


def window_cases(reference: Reference, source: IndexedAlignments, window: Sequence[Interval]) -> NDArray[np.void]:
    """Return the informative sites of a window; see `count_cases`."""
    found = []
    for contig, start, end in window:
        number = reference.contig_number[contig]
        length = int(reference.contig_lengths[number])
        low, high = max(0, start - _REACH), min(length, end + _REACH)
        codes = _CODES[np.frombuffer(reference.sequence(contig, low, high), np.uint8)]
        sites = repeats_between(codes, start - low, end - low)
        sites[:, [START, END]] += low
        sites = sites[sites[:, START] >= start]  # a site belongs to the window in which it starts
        sites = sites[np.argsort(sites[:, END], kind="stable")]
        found.append(count_cases(source.records(contig, start, end), sites, number, length))
    return np.concatenate(found)
