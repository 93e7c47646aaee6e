"""Genotype likelihoods of the called SNVs in Beagle's format, as ANGSD's `-doGlf 2` writes it.

Programs for low depth read it, such as PCAngsd and NGSadmix. A line has the marker (contig_position, 1-based), the
reference's and the other allele (A 0, C 1, G 2, T 3), and of each sample the probability of no, one and two copies of
the other allele if all three are equally likely beforehand: 10^(-PL/10), scaled to a sum of 1.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from quire.io.files import open_input, read_errors
from quire.io.vcf import write_part

_BASES = b"ACGT"
_FIRST_SAMPLE = 9  # column
_UNKNOWN = "\t0.333333" * 3
_PHREDS = 3  # of a diploid genotype at a site of two alleles


def write_beagle(variants: str | Path, output: str | Path) -> int:
    """Write the likelihoods of the SNVs with two alleles of a VCF of Quire (bgzip), and return their number.

    Records that do not pass the filters are left out, and those without PL or where a sample is not diploid.
    """
    with read_errors(variants), open_input(variants) as stream:
        columns = next(line for line in stream if line.startswith(b"#CHROM")).rstrip(b"\n").split(b"\t")
        names = (f"\tInd{number}" * _PHREDS for number in range(len(columns) - _FIRST_SAMPLE))
        return write_part(output, f"marker\tallele1\tallele2{''.join(names)}\n", _lines(stream))


def _lines(stream: Iterator[bytes]) -> Iterator[str]:
    for line in stream:
        contig, position, _, reference, alternate, _, verdict, _, keys, samples = line.rstrip(b"\n").split(b"\t", 9)
        is_snv = all(len(allele) == 1 and allele in _BASES for allele in (reference, alternate))
        if verdict != b"PASS" or not is_snv or b"PL" not in keys.split(b":"):
            continue
        at = keys.split(b":").index(b"PL")
        texts = [_likelihoods((own.split(b":") + [b"."] * at)[at]) for own in samples.split(b"\t")]
        if all(texts):
            alleles = _BASES.index(reference), _BASES.index(alternate)
            yield f"{contig.decode()}_{position.decode()}\t{alleles[0]}\t{alleles[1]}{''.join(texts)}\n"


@lru_cache(1 << 20)
def _likelihoods(phreds: bytes) -> str:
    """Return the columns of a sample from its PL; nothing if it is not diploid."""
    if phreds == b".":
        return _UNKNOWN
    values = [10 ** (-int(phred) / 10) for phred in phreds.split(b",")]
    return "".join(f"\t{value / sum(values):.6f}" for value in values) if len(values) == _PHREDS else ""
