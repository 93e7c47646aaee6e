"""Compare a joint VCF with a peer's: sites, alleles and genotypes, and why the others differ.

Genotypes are compared as sets of spelled alleles, so that the order of alternates and of phased alleles does not
matter.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import NamedTuple

import pysam

from bench.common import print_table

LOWEST_QUAL, MARGIN = 30.0, 1.0  # a site whose QUAL is this near the limit may be on its other side elsewhere
EXAMPLES = 5


class Site(NamedTuple):
    """A record: alleles, QUAL, and GT of every sample as text."""

    alleles: tuple[str, ...]
    quality: float
    genotypes: list[str]


class Comparison(NamedTuple):
    """Counts of two VCFs.

    Attributes:
        sites: sites of either, by whether they agree or why they do not.
        genotypes: genotypes at sites with the same alleles, likewise.
        whole: sites with the same alleles and all genotypes.
        examples: lines that show the first of each reason.
    """

    sites: Counter[str]
    genotypes: Counter[str]
    whole: int
    examples: list[str]


def sites_of(path: Path) -> Iterator[tuple[int, Site]]:
    """Yield position and site of every record."""
    with pysam.BGZFile(str(path), "rb", None) as stream:
        for line in stream:
            if line.startswith(b"#"):
                continue
            columns = line.decode().split("\t")
            genotypes = [intern(column.split(":", 1)[0]) for column in columns[9:]]
            quality = float(columns[5]) if columns[5] != "." else 0.0
            yield int(columns[1]), Site((columns[3], *columns[4].split(",")), quality, genotypes)


@lru_cache(1 << 16)
def spelled(genotype: str, alleles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the alleles of a genotype, sorted."""
    numbers = genotype.replace("|", "/").split("/")
    return tuple(sorted("." if number == "." else alleles[int(number)] for number in numbers))


def why_missing(site: Site) -> str:
    """Return why a site of one VCF may not be in the other."""
    if site.quality < LOWEST_QUAL + MARGIN:
        return f"QUAL within {MARGIN:g} of the limit"
    if "*" in site.alleles:
        return "has a spanned allele"
    return "other"


def why_unlike(ours: Site, peers: Site) -> str:
    """Return how the alleles of two sites at one position differ."""
    if ours.alleles[0] != peers.alleles[0]:
        return "another REF"
    mine, theirs = set(ours.alleles[1:]), set(peers.alleles[1:])
    if mine - {"*"} == theirs - {"*"}:
        return "only one has *"
    if mine < theirs or theirs < mine:
        return "more alternates in one"
    return "other alternates"


def why_different(ours: tuple[str, ...], peers: tuple[str, ...]) -> str:
    """Return how two genotypes differ."""
    if "." in ours or "." in peers:
        return "no call here" if "." in ours else "no call there"
    return f"{'het' if len(set(ours)) > 1 else 'hom'} here, {'het' if len(set(peers)) > 1 else 'hom'} there"


def compare(ours: dict[int, Site], peers: dict[int, Site]) -> Comparison:
    """Compare two VCFs of the same samples in the same order."""
    sites: Counter[str] = Counter()
    genotypes: Counter[str] = Counter()
    examples: list[str] = []
    whole = 0

    def count(counter: Counter[str], reason: str, text: str) -> None:
        counter[reason] += 1
        if counter[reason] <= EXAMPLES:
            examples.append(f"{reason}: {text}")

    for position in sorted(ours.keys() | peers.keys()):
        mine, theirs = ours.get(position), peers.get(position)
        if mine is None or theirs is None:
            site = mine or theirs
            assert site is not None
            where = "here" if mine is not None else "there"
            count(sites, f"only {where}, {why_missing(site)}", f"{position} {site.alleles} QUAL {site.quality}")
        elif set(mine.alleles) != set(theirs.alleles) or mine.alleles[0] != theirs.alleles[0]:
            count(sites, why_unlike(mine, theirs), f"{position} {mine.alleles} {theirs.alleles}")
        else:
            sites["same alleles"] += 1
            if mine[::2] == theirs[::2]:  # alleles and genotypes
                genotypes["same"] += len(mine.genotypes)
                whole += 1
                continue
            same = True
            for number, (one, other) in enumerate(zip(mine.genotypes, theirs.genotypes, strict=True)):
                if one == other and mine.alleles == theirs.alleles:
                    genotypes["same"] += 1
                    continue
                first, second = spelled(one, mine.alleles), spelled(other, theirs.alleles)
                if first == second:
                    genotypes["same"] += 1
                    genotypes["of these, GT written otherwise"] += one != other
                else:
                    same = False
                    count(genotypes, why_different(first, second), f"{position} {mine.alleles} {number} {one} {other}")
            whole += same
    return Comparison(sites, genotypes, whole, examples)


def true_share(found: dict[int, Site], truth: dict[int, Site]) -> tuple[int, int, int]:
    """Return the numbers of true genotypes with an alternate, of those found, and of homozygous REF called variant.

    True genotypes inside a deletion of the same haplotype are left out.
    """
    variant = right = false = 0
    for position, site in truth.items():
        own = found.get(position)
        for number, genotype in enumerate(site.genotypes):
            if "." in genotype:
                continue
            expected = spelled(genotype, site.alleles)
            is_reference = set(expected) == {site.alleles[0]}
            if own is None:
                variant += not is_reference
                continue
            called = spelled(own.genotypes[number], own.alleles)
            if is_reference:
                false += len(set(called)) > 1 and not {".", "*"} & set(called)
            else:
                variant += 1
                right += same_alleles(called, expected, own.alleles[0], site.alleles[0])
    return variant, right, false


def same_alleles(called: tuple[str, ...], expected: tuple[str, ...], reference: str, short: str) -> bool:
    """Return True for equal genotypes, if the one is spelled with a longer REF; `*` stands for REF."""
    tail = reference[len(short) :] if reference.startswith(short) else ""
    wanted = sorted(allele + tail for allele in expected)
    return wanted == sorted(reference if allele == "*" else allele for allele in called)


def figures(comparison: Comparison) -> dict[str, float]:
    """Return the shares in per cent: sites with the same alleles, sites wholly equal, genotypes equal."""
    sites, genotypes = comparison.sites, comparison.genotypes
    compared = sum(number for reason, number in genotypes.items() if not reason.startswith("of these"))
    total = sites.total() or 1
    return {
        "sites with the same alleles, %": round(100 * sites["same alleles"] / total, 4),
        "sites with the same alleles and genotypes, %": round(100 * comparison.whole / total, 4),
        "genotypes that are equal, %": round(100 * genotypes["same"] / (compared or 1), 4),
    }


def print_comparison(comparison: Comparison, name: str) -> None:
    """Print shares, counts by reason and examples."""
    print_table([name, "measured"], [list(item) for item in figures(comparison).items()], name)
    for title, counter in (("sites", comparison.sites), ("genotypes", comparison.genotypes)):
        print_table([f"{name}: {title}", "number"], [list(item) for item in counter.most_common()], name)
    print("\n".join(comparison.examples))
