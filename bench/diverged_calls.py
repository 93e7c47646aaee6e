"""Calls against a diverged reference: reads mapped by Quire and by bwa mem, and called by Quire.

With --divergence, variants are planted at this fraction of the bases of every contig, on both haplotypes; one in ten is
an insertion or a deletion. They are the truth. With --sample, the sample is another strain's real genome, and the truth
is what MUMmer's dnadiff reports: nucmer, the one-to-one alignments, their SNVs and indels outside ambiguous alignments.
Adjacent indels of one base, as show-snps lists them, are joined. Calls are compared as pairs of
haplotypes (`quire.report.truth`), since an indel can be written in several ways.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from quire.report.truth import TruthCounts, Variant, normalise

from bench.calling import MARGIN, call_by_quire, comparer, letters_of, marked, write_truth
from bench.common import (
    Inputs,
    add_figures,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    python,
    quire_command,
    run,
    write_measurement,
)
from bench.simulate import INDEL_SHARE, LONGEST_INDEL, MEAN_INDEL, WHOLE_GENOME

BASES = "ACGT"


def plant(letters: str, contig: str, rate: float, generator: np.random.Generator) -> list[Variant]:
    """Draw variants at a fraction of the bases of a contig, left-aligned, in order, at least two bases apart."""
    places = np.flatnonzero(generator.random(len(letters)) < rate)
    kinds = generator.random(places.size)
    lengths = np.minimum(generator.geometric(1 / MEAN_INDEL, places.size), LONGEST_INDEL)
    found = []
    for place, kind, length in zip(places.tolist(), kinds.tolist(), lengths.tolist(), strict=True):
        here = letters[place]
        if here not in BASES:
            continue
        if kind >= INDEL_SHARE:
            other = BASES[(BASES.index(here) + int(generator.integers(1, 4))) % 4]
            found.append(Variant(place, here, other))
        elif kind < INDEL_SHARE / 2:
            found.append(Variant(place, letters[place : place + length + 1], here))
        else:
            inserted = "".join(BASES[code] for code in generator.integers(0, 4, length))
            found.append(Variant(place, here, here + inserted))
    placed = sorted(normalise(contig, one, lambda _, begin, end: letters[begin:end]) for one in found)
    apart: list[Variant] = []
    for one in placed:
        if one.end < len(letters) and (not apart or one.position > apart[-1].end):
            apart.append(one)
    return apart


def of_strain(fasta: Path, sample: Path, folder: Path, letters: dict[str, str]) -> dict[str, list[Variant]]:
    """Return the variants between two strains' genomes by MUMmer."""
    run(
        f"nucmer -p {folder}/strain {fasta} {sample} 2> {folder}/nucmer.log"
        f" && delta-filter -1 {folder}/strain.delta > {folder}/strain.1delta"
        f" && show-snps -CTrH {folder}/strain.1delta > {folder}/strain.snps"
    )
    found: dict[str, list[Variant]] = {name: [] for name in letters}
    for contig, rows in _rows_of_contigs(folder / "strain.snps"):
        for one in _joined(rows, letters[contig]):
            found[contig].append(normalise(contig, one, lambda name, begin, end: letters[name][begin:end]))
    return {name: sorted(set(variants)) for name, variants in found.items()}


def _rows_of_contigs(path: Path) -> Iterator[tuple[str, list[tuple[int, str, str, int, int]]]]:
    """Yield each contig's rows: 1-based position, reference and sample base (or "."), sample position and strand."""
    rows: dict[str, list[tuple[int, str, str, int, int]]] = {}
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        rows.setdefault(fields[-2], []).append((int(fields[0]), fields[1], fields[2], int(fields[3]), int(fields[-3])))
    yield from rows.items()


def _joined(rows: list[tuple[int, str, str, int, int]], letters: str) -> Iterator[Variant]:
    """Yield SNVs, and runs of deleted or inserted bases as one indel."""
    i = 0
    while i < len(rows):
        position, here, there, at, strand = rows[i]
        j = i + 1
        if here == ".":  # inserted after `position`
            inserted = [there]
            while j < len(rows) and rows[j][:2] == (position, ".") and abs(rows[j][3] - at) == j - i:
                inserted.append(rows[j][2])
                j += 1
            order = inserted if strand > 0 or rows[j - 1][3] < at else inserted[::-1]
            anchor = letters[position - 1]
            yield Variant(position - 1, anchor, anchor + "".join(order))
        elif there == ".":
            while j < len(rows) and rows[j][0] == position + j - i and rows[j][2] == "." and rows[j][3] == at:
                j += 1
            yield Variant(position - 2, letters[position - 2 : position - 2 + j - i + 1], letters[position - 2])
        else:
            yield Variant(position - 1, here, there)
        i = j


def write_variants(
    path: Path,
    lengths: dict[str, int],
    variants: dict[str, list[Variant]],
    genotype: Callable[[], tuple[int, int]] = lambda: (1, 1),
) -> None:
    """Write phased variants, homozygous by default, as indexed VCF."""
    rows = ((name, one.position, one.end, one[1:], genotype()) for name, ones in variants.items() for one in ones)
    write_truth(path, lengths, rows)


def main() -> None:
    """Make the sample, draw its reads, map them twice, call and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--genome", type=Path, required=True, help="FASTA of the reference, gzip or plain")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--sample", type=Path, help="FASTA of another strain")
    kind.add_argument("--divergence", type=float, default=0.03)
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--call", help="contig or contig:first-last to call in; else everything")
    given = parser.parse_args()
    print_setting(("bwa", "samtools", "mummer"))
    inputs = Inputs(given.data, given.work)
    fasta = inputs.genome(given.genome)
    letters = letters_of(fasta)
    lengths = {name: len(bases) for name, bases in letters.items()}
    what = given.sample.name.split(".")[0] if given.sample else f"{given.divergence:g}"
    folder = given.work / f"diverged_{fasta.stem}_{what}_{given.seed}_{given.coverage:g}"
    folder.mkdir(exist_ok=True)
    truth, mates = _sample(given, inputs, fasta, folder, letters)

    interval = _interval(given.call, lengths)
    bed = folder / "inner.bed"
    bed.write_text("".join(f"{name}\t{start + MARGIN}\t{end - MARGIN}\n" for name, start, end in interval))
    packed = inputs.quire_index(fasta) / "reference"
    commands = {
        "quire": quire_command(inputs.quire_index(fasta), mates, Path("{}"), given.threads),
        "bwa": bwa_command(inputs.bwa_index(fasta), mates, Path("{}"), given.threads),
    }
    compare, comparisons = comparer(truth, letters, bed), {}
    for name, command in commands.items():
        bam, vcf = marked(folder / f"{name}.bam", command), folder / f"{name}.vcf.gz"
        call_by_quire(vcf, packed, bam, interval, given.threads, long_indels=False)
        comparisons[name] = compare(vcf).counts
    _print(comparisons)
    write_measurement(f"{fasta.stem}, {what}" + (f", {given.call}" if given.call else ""))


def _sample(
    given: argparse.Namespace, inputs: Inputs, fasta: Path, folder: Path, letters: dict[str, str]
) -> tuple[Path, tuple[Path, Path]]:
    """Return the truth (VCF) and the reads of the sample."""
    truth, prefix = folder / "truth.vcf.gz", folder / "reads"
    lengths = {name: len(bases) for name, bases in letters.items()}
    options = f"--seed {given.seed} --quals {inputs.qualities} --coverage {given.coverage}"
    mates = Path(f"{prefix}_1.fq.gz"), Path(f"{prefix}_2.fq.gz")
    if mates[1].exists():
        return truth, mates
    if given.sample:
        sample = inputs.genome(given.sample)
        write_variants(truth, lengths, of_strain(fasta, sample, folder, letters))
        run(python(f"bench.simulate {sample} none {WHOLE_GENOME} {prefix} {options}"))
    else:
        generator = np.random.default_rng(given.seed)
        planted = {name: plant(bases, name, given.divergence, generator) for name, bases in letters.items()}
        write_variants(truth, lengths, planted)
        run(python(f"bench.simulate {fasta} {truth} {WHOLE_GENOME} {prefix} {options}"))
    return truth, mates


def _interval(region: str | None, lengths: dict[str, int]) -> list[tuple[str, int, int]]:
    """Return the intervals to call: (contig, start, end)."""
    if region is None:
        return [(name, 0, length) for name, length in lengths.items()]
    contig, _, span = region.partition(":")
    start, end = (int(text) for text in span.split("-")) if span else (1, lengths[contig])
    return [(contig, start - 1, end)]


def _print(comparisons: Mapping[str, Mapping[str, TruthCounts]]) -> None:
    """Print the table, and add the differences to the figures."""
    rows = []
    for name, counts in comparisons.items():
        row: list[object] = [name]
        for kind in ("snv", "indel"):
            row += [f"{counts[kind].recall:.5f}", counts[kind].missed, f"{counts[kind].precision:.5f}"]
        rows.append(row)
    header = ["mapped by", "SNV recall", "missed", "precision", "indel recall", "missed", "precision"]
    print_table(header, rows)
    for kind in ("snv", "indel"):
        difference = comparisons["quire"][kind].recall - comparisons["bwa"][kind].recall
        add_figures({f"{kind} recall less that after bwa": round(difference, 5)})


if __name__ == "__main__":
    main()
