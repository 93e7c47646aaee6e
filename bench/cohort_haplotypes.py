"""Real phased haplotypes as the source of simulated cohorts: read, laid over a longer region, and shuffled.

A panel is phased haplotypes of many people at the sites of a short stretch, for example the 503 Europeans of the 1000
Genomes Project at chr20:1.0-4.0 Mb that SHAPEIT4 has as its test data. `laid_out` repeats the stretch over a region:
positions are shifted by whole stretches, REF is read from the reference there, and ALT is the same kind of change, so
that allele frequencies, distances and linkage stay those of the panel. `with_calls` adds the indels and sites with
several alternates of a phased sample (HG001), which panels lack. `shuffled` recombines haplotypes into new ones.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

Alleles = tuple[str, ...]  # REF and all ALT
PIECE = 500_000  # mean bases between two recombinations of a shuffled haplotype
COMMON = 0.1  # least frequency of the rarer allele at the sites that added indels are in linkage with
TRANSITION = dict(zip("ACGT", "GTAC", strict=True))
TRANSVERSIONS = {"A": "CT", "C": "AG", "G": "CT", "T": "AG"}


class Panel(NamedTuple):
    """Haplotypes at sites.

    Attributes:
        starts: int64[sites], 0-based, ascending.
        alleles: REF and ALT of each site.
        carried: uint8[haplotypes, sites], number of the allele that a haplotype has.
    """

    starts: np.ndarray
    alleles: Sequence[Alleles]
    carried: np.ndarray


def read_panel(paths: Sequence[Path]) -> Panel:
    """Read VCFs or BCFs of different people at the same biallelic sites; missing alleles count as REF."""
    sites: dict[tuple[int, Alleles], list[np.ndarray]] = {}
    for path in paths:
        with pysam.VariantFile(str(path)) as file:
            for record in file:
                if record.alleles is None or len(record.alleles) != 2:
                    continue
                genotypes = [column[:3] for column in str(record).split("\t")[9:]]
                letters = np.frombuffer("".join(genotypes).encode(), np.uint8).reshape(len(genotypes), 3)
                numbers = (letters[:, ::2] == ord("1")).astype(np.uint8).ravel()
                sites.setdefault((record.start, record.alleles), []).append(numbers)
    kept = sorted(site for site, parts in sites.items() if len(parts) == len(paths))
    carried = np.stack([np.concatenate(sites[site]) for site in kept], axis=1)
    return Panel(np.array([start for start, _ in kept]), [alleles for _, alleles in kept], carried)


def laid_out(panel: Panel, letters: str, start: int, end: int, rng: np.random.Generator) -> Panel:
    """Repeat a panel over [start, end) of a contig with these letters; where it lies itself, it stays as it is."""
    first, last = int(panel.starts[0]), int(panel.starts[-1])
    stretch = -(-(last - first) // 1_000_000) * 1_000_000
    places, alleles, columns = [], [], []
    for copy in range(-(-(start - first) // stretch) - 1, -(-(end - first) // stretch)):
        for column, (own, spelt) in enumerate(zip(panel.starts.tolist(), panel.alleles, strict=True)):
            place = own + copy * stretch
            reference = letters[place : place + len(spelt[0])]
            if not (start <= place < end - len(spelt[0]) and set(reference) <= set("ACGT")):
                continue
            places.append(place)
            alleles.append((reference, _changed(reference, spelt, rng)))
            columns.append(column)
    return Panel(np.array(places), alleles, panel.carried[:, columns])


def _changed(reference: str, spelt: Alleles, rng: np.random.Generator) -> str:
    """Return the alternate of the same kind as in `spelt` for other letters of the reference."""
    before, after = spelt
    if reference == before:
        return after
    if len(before) == len(after) == 1:
        if TRANSITION[before] == after:
            return TRANSITION[reference]
        return TRANSVERSIONS[reference][int(rng.integers(2))]
    return reference[0] + after[1:]


def with_calls(panel: Panel, calls: Path, contig: str, start: int, end: int) -> Panel:
    """Add a sample's indels and sites of several alternates to a panel that lacks them.

    The first alternate is on the haplotypes with the rarer allele of the nearest common site, and the second, if the
    sample has one, on those of the others that have the rarer allele of the next one.
    """
    frequencies = panel.carried.mean(axis=0)
    common = np.flatnonzero((frequencies >= COMMON) & (frequencies <= 1 - COMMON))
    rarer = (frequencies < 0.5).astype(np.uint8)
    taken = set(panel.starts.tolist())
    places, alleles, columns = panel.starts.tolist(), list(panel.alleles), []
    with pysam.VariantFile(str(calls)) as file:
        for record in file.fetch(contig, start, end):
            spelt = record.alleles
            if spelt is None or record.start in taken or max(map(len, spelt)) == 1 or record.start < start:
                continue
            nearest = np.searchsorted(panel.starts[common], record.start)
            one, other = common[min(nearest, common.size - 2)], common[min(nearest + 1, common.size - 1)]
            column = (panel.carried[:, one] == rarer[one]).astype(np.uint8)
            if len(spelt) > 2:
                column[(column == 0) & (panel.carried[:, other] == rarer[other])] = 2
            places.append(record.start)
            alleles.append(spelt[:3])
            columns.append(column)
    order = np.argsort(places, kind="stable")
    carried = np.concatenate([panel.carried, np.stack(columns, axis=1)], axis=1) if columns else panel.carried
    return Panel(np.array(places)[order], [alleles[index] for index in order], np.ascontiguousarray(carried[:, order]))


def shuffled(panel: Panel, rng: np.random.Generator) -> np.ndarray:
    """Return uint8[sites] of a new haplotype that changes from one of the panel's to another at random places."""
    place, end = int(panel.starts[0]), int(panel.starts[-1]) + 1
    found = np.empty(len(panel.starts), np.uint8)
    while place < end:
        stop = place + 1 + int(rng.exponential(PIECE))
        sites = slice(*np.searchsorted(panel.starts, (place, stop)))
        found[sites] = panel.carried[int(rng.integers(len(panel.carried))), sites]
        place = stop
    return found
