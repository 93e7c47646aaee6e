"""Write the gVCFs of a simulated cohort, as Quire would write them with `rescore.gvcf: true`, and their true genotypes.

    python -m bench.cohort_samples --data FOLDER --haplotypes PANEL.bcf ... --samples 1000 --output FOLDER

Each sample is two shuffled real haplotypes. Everything that a record holds apart from its
alleles is taken from records of Quire on real reads: NA12878 at five depths around 30x (GATK's regression test; 450 kb
of chr20 and chr21). Reference blocks are those of stretches of these gVCFs. A variant gets the values of a real variant
of the same kind and true genotype, which may have been called otherwise or not at all. Records that are not in the
truth come back at places of their own, each in its own share of the samples, and a few stretches have no reads.

The files are GT.vcf.gz (the true genotypes) and SAMPLE.g.vcf.gz. The same options give the same files.

A panel is phased haplotypes of many people at the sites of a short stretch, for example the 503 Europeans of the 1000
Genomes Project at chr20:1.0-4.0 Mb that SHAPEIT4 has as its test data. `laid_out` repeats the stretch over a region:
positions are shifted by whole stretches, REF is read from the reference there, and ALT is the same kind of change, so
that allele frequencies, distances and linkage stay those of the panel. `with_calls` adds the indels and sites with
several alternates of a phased sample (HG001), which panels lack. `shuffled` recombines haplotypes into new ones.
"""

from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pysam
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END
from quire.io.vcf import NON_REFERENCE
from quire.rescore.gvcf.blocks_cpu import BLOCK_CUT

from bench.cohort_templates import (
    DEPTHS,
    REGIONS,
    Entry,
    Places,
    Templates,
    call_templates,
    kind_of,
    read_templates,
    write_lines,
)
from bench.common import arguments

CONTIG, START = "20", 1_000_000
STRETCH = 20  # mean windows of BLOCK_CUT bases that are taken from a template in a row
UNREAD, UNREAD_STRETCH = 0.002, 3  # share of windows without reads, and windows of such a stretch
PHASED_WITHIN = 60  # bases between the records of one phase set
FALSE_SHARES = 0.3, 0.9  # beta distribution of the shares of samples that have a false record
SPANNED = "*"
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


class Site(NamedTuple):
    """A place where false records come back in a share of the samples."""

    start: int
    alleles: tuple[str, str]
    share: float


class Cohort(NamedTuple):
    """All that the samples share."""

    panel: Panel
    templates: Templates
    false: list[Site]
    places: Places
    output: Path
    seed: int


def false_sites(
    templates: Templates, panel: Panel, letters: str, places: Places, rng: np.random.Generator
) -> list[Site]:
    """Choose the places of false records: in all samples as dense as in the templates."""
    bases = sum(end - start for contig, start, end in REGIONS if contig == CONTIG) * len(DEPTHS)
    share = FALSE_SHARES[0] / sum(FALSE_SHARES)
    number = round(len(templates.false) * (places.end - places.start) / bases / share)
    taken, found = set(panel.starts.tolist()), []
    for _ in range(number):
        start = int(rng.integers(places.start, places.end - 100))
        before, after, _entry_of = templates.false[int(rng.integers(len(templates.false)))]
        own = letters[start : start + len(before)]
        if start in taken or not set(own) <= set("ACGT"):
            continue
        taken.add(start)
        if len(before) == len(after) == 1:
            after = "ACGT"[("ACGT".index(own) + 1 + int(rng.integers(3))) % 4]
        else:
            after = own[0] + after[1:]
        found.append(Site(start, (own, after), float(rng.beta(*FALSE_SHARES))))
    return sorted(found)


class Item(NamedTuple):
    """A record to be written; `phase` has the allele of each haplotype, None for a record in no phase set."""

    start: int
    alleles: tuple[str, ...]
    entry: Entry
    phase: tuple[int, int] | None


def items_of(cohort: Cohort, carried: np.ndarray, rng: np.random.Generator) -> Iterator[Item]:
    """Yield the records of the panel's sites, and set alleles inside a deletion of their haplotype to 255.

    `carried` is uint8[2, sites].
    """
    panel, pools = cohort.panel, cohort.templates.entries
    chosen = np.flatnonzero(carried.any(axis=0))
    draws = rng.integers(1 << 30, size=chosen.size)
    gone, last = [0, 0], -1
    for site, draw in zip(chosen.tolist(), draws.tolist(), strict=True):
        start, spelt = int(panel.starts[site]), panel.alleles[site]
        alleles, spanned = [], []
        for haplotype in (0, 1):
            allele = int(carried[haplotype, site])
            if start < gone[haplotype] or (allele and start == last):
                carried[haplotype, site] = 255 if allele else allele
                allele = 0
            spanned.append(start < gone[haplotype])
            if allele:
                gone[haplotype] = start + len(spelt[0])
            alleles.append(allele)
        if not any(alleles):
            continue
        last = start
        named = [
            spelt[allele] if allele else SPANNED if gap else "" for allele, gap in zip(alleles, spanned, strict=True)
        ]
        alternates = tuple(dict.fromkeys(name for name in named if name))
        number = 3 if len(alternates) == 2 else sum(map(bool, alleles))
        pool = pools.get((kind_of([spelt[0], *alternates]), number)) or pools["indel", number]
        entry = pool[draw % len(pool)]
        if entry is not None:
            called = (0, 1) if number == 1 else (1, 1)
            is_phased = number < 3 and entry.genotype == "/".join(map(str, called))
            phase = (int(alleles[0] > 0), int(alleles[1] > 0)) if is_phased else None
            yield Item(start, (spelt[0], *alternates), entry, phase)


def record_texts(items: list[Item]) -> list[str]:
    """Return the lines of records, with phase sets."""
    texts = []
    opening: Item | None = None  # of the current phase set
    for number, item in enumerate(items):
        before = items[number - 1] if number else None
        after = items[number + 1] if number + 1 < len(items) else None
        if item.phase is None:
            opening = None
        elif opening is None or before is None or item.start - before.start > PHASED_WITHIN:
            near = after is not None and after.phase is not None and after.start - item.start <= PHASED_WITHIN
            opening = item if near else None
        keys, genotype, phase = "GT:AD:DP:GQ:PL:SB", item.entry.genotype, ""
        if opening is not None and opening.phase is not None and item.phase is not None:
            turned = opening.phase == (1, 0)  # the first record of a set is 0|1
            one, other = item.phase[::-1] if turned else item.phase
            keys, genotype = "GT:AD:DP:GQ:PL:PGT:PID:PS:SB", f"{one}|{other}"
            group = "0|1" if other else "1|0"
            place = opening.start + 1
            phase = f":{group}:{place}_{opening.alleles[0]}_{opening.alleles[1]}:{place}"
        alleles = f"{item.alleles[0]}\t{','.join(item.alleles[1:])},{NON_REFERENCE}"
        values = f"{genotype}:{item.entry.values}{phase}:{item.entry.strands}"
        texts.append(f"{CONTIG}\t{item.start + 1}\t.\t{alleles}\t{item.entry.info}\t{keys}\t{values}\n")
    return texts


def window_templates(cohort: Cohort, rng: np.random.Generator) -> np.ndarray:
    """Return int64[windows], the template's window that each window of a sample takes its blocks from."""
    first = cohort.templates.first
    template = int(rng.integers(len(first) - 1))
    low, high = first[template], first[template + 1]
    count = (cohort.places.end - cohort.places.start) // BLOCK_CUT
    jumps = rng.random(count) < 1 / STRETCH
    jumps[0] = True
    run_of = np.cumsum(jumps) - 1
    begins = rng.integers(high - low, size=int(jumps.sum()))[run_of]
    chosen = low + (begins + np.arange(count) - np.flatnonzero(jumps)[run_of]) % (high - low)
    for window in np.flatnonzero(rng.random(count) < UNREAD / UNREAD_STRETCH):
        chosen[window : window + UNREAD_STRETCH] = first[-1]
    return chosen


def write_sample(cohort: Cohort, number: int) -> np.ndarray:
    """Write a gVCF and its index; return uint8[2, sites], the true alleles (255: inside a deletion)."""
    rng = np.random.default_rng([cohort.seed, number])
    carried = np.stack([shuffled(cohort.panel, rng) for _ in range(2)])
    windows = window_templates(cohort, rng)
    items = list(items_of(cohort, carried, rng))
    shown = rng.random(len(cohort.false)) < [site.share for site in cohort.false]
    for index in np.flatnonzero(shown).tolist():
        site = cohort.false[index]
        choices = cohort.templates.false
        entry = choices[int(rng.integers(len(choices)))][2]
        items.append(Item(site.start, site.alleles, entry, None))
    is_read = windows != cohort.templates.first[-1]
    items = sorted(item for item in items if is_read[(item.start - cohort.places.start) // BLOCK_CUT])
    starts = np.array([item.start for item in items], np.int64)
    ends = np.array([item.start + len(item.alleles[0]) for item in items], np.int64)
    text = write_lines(cohort.places, windows, cohort.templates.blocks, starts, ends, record_texts(items))
    name = f"sample_{number:04d}"
    columns = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", name)
    path = cohort.output / f"{name}.g.vcf.gz"
    with path.open("wb") as out:
        out.write(compress_blocks("\n".join([*cohort.templates.head, "\t".join(columns), ""]).encode()))
        out.write(compress_blocks(text))
        out.write(BGZF_END)
    pysam.tabix_index(str(path), preset="vcf", force=True)
    return carried


def write_truth(cohort: Cohort, carried: list[np.ndarray]) -> None:
    """Write the true genotypes of all samples."""
    kept = [line for line in cohort.templates.head if line.startswith(("##fileformat", "##contig"))]
    names = [f"sample_{number:04d}" for number in range(len(carried))]
    columns = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *names)
    letters = np.full(256, ord("."), np.uint8)
    letters[:10] = np.arange(ord("0"), ord("9") + 1)
    genotypes = np.stack(carried)
    path = cohort.output / "GT.vcf.gz"
    with pysam.BGZFile(str(path), "wb", None) as stream:
        definition = '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">'
        stream.write("\n".join([*kept, definition, "\t".join(columns), ""]).encode())
        row = np.full((len(carried), 4), ord("\t"), np.uint8)
        row[:, 1] = ord("|")
        row[-1, 3] = ord("\n")
        for site, (start, spelt) in enumerate(zip(cohort.panel.starts.tolist(), cohort.panel.alleles, strict=True)):
            for haplotype in (0, 1):
                row[:, 2 * haplotype] = letters[genotypes[:, haplotype, site]]
            stream.write(f"{CONTIG}\t{start + 1}\t.\t{spelt[0]}\t{','.join(spelt[1:])}\t.\t.\t.\tGT\t".encode())
            stream.write(row.tobytes())
    pysam.tabix_index(str(path), preset="vcf", force=True)


_shared: Any = None


def _write(number: int) -> np.ndarray:
    return write_sample(_shared, number)


def make(
    data: Path, work: Path, haplotypes: list[Path], output: Path, samples: int, bases: int, seed: int, threads: int
) -> None:
    """Make a cohort; see the module."""
    global _shared
    output.mkdir(parents=True, exist_ok=True)
    folder = data / "gatk_haplotypecaller"
    truth = folder / "HG001_giab_v3.3.2_chr20.vcf.gz"
    templates = read_templates(call_templates(data, work), truth)
    letters = pysam.FastaFile(str(folder / "human_g1k_v37.20.21.fasta.gz")).fetch(CONTIG).upper()
    places = Places.of(CONTIG, START, START + bases, letters)
    rng = np.random.default_rng(seed)
    panel = laid_out(read_panel(haplotypes), letters, places.start, places.end, rng)
    panel = with_calls(panel, truth, CONTIG, places.start, places.end)
    false = false_sites(templates, panel, letters, places, rng)
    pools = {
        " ".join(map(str, key)): f"{len(pool)} ({pool.count(None)} missed)" for key, pool in templates.entries.items()
    }
    print(
        f"# {len(panel.starts)} sites, {len(panel.carried)} haplotypes, {len(false)} places of false records; {pools}"
    )
    _shared = Cohort(panel, templates, false, places, output, seed)
    with get_context("fork").Pool(threads) as pool:
        carried = list(pool.imap(_write, range(samples)))
    write_truth(_shared, carried)


def main() -> None:
    """Read the command line and make the cohort."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--haplotypes", type=Path, nargs="+", required=True, help="phased VCFs or BCFs of chr20, GRCh37"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder of the gVCFs")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument(
        "--bases", type=int, default=10_000_000, help=f"bases from {CONTIG}:{START + 1}, whole thousands"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    make(
        given.data, given.work / "cohort_templates", given.haplotypes, given.output, given.samples, given.bases,
        given.seed, given.threads,
    )  # fmt: skip


if __name__ == "__main__":
    main()
