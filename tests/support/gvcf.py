"""gVCFs for tests: written from lines, compressed and indexed, and read again for comparisons."""

import shutil
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pysam
from quire import reference as reference_stage

from tests.support.builders import write_fasta

REAL = Path(__file__).resolve().parents[1] / "data" / "gvcf_chr22_8kb"
BANDS = [*range(61), 70, 80, 90, 99]


def real_samples(root: Path) -> Path:
    """Make the packed reference and the indexed reads of three real samples, A to C, in a folder."""
    reference_stage.build(REAL / "genome.fa.gz", root / "reference", 1 << 20)
    for sample in "ABC":
        (root / f"{sample}.bam").symlink_to(REAL / f"{sample}.bam")
        pysam.index(str(root / f"{sample}.bam"))
    return root


def real_gvcfs(root: Path, small: Mapping[str, str]) -> Path:
    """Make the packed references of three real samples and of a small genome, and GATK's indexed gVCFs of the three."""
    reference_stage.build(REAL / "genome.fa.gz", root / "reference", 1 << 20)
    reference_stage.build(write_fasta(root / "small.fa", small), root / "small", 1 << 20)
    for sample in "ABC":
        shutil.copy(REAL / f"{sample}.g.vcf.gz", root)
        pysam.tabix_index(str(root / f"{sample}.g.vcf.gz"), preset="vcf")
    return root


def write_gvcf(path: Path, samples: Sequence[str], contigs: Mapping[str, int], lines: Sequence[str]) -> Path:
    """Write a gVCF of these lines (fields separated by blanks) as bgzip with a .tbi."""
    head = ["##fileformat=VCFv4.2", '##ALT=<ID=NON_REF,Description="Any other">']
    head += [f"##contig=<ID={name},length={length}>" for name, length in contigs.items()]
    head.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    text = "\n".join([*head, *("\t".join(line.split()) for line in lines)]) + "\n"
    plain = path.with_suffix("")
    plain.write_text(text)
    pysam.tabix_index(str(plain), preset="vcf", force=True, keep_original=True)
    Path(f"{plain}.gz").rename(path)
    Path(f"{plain}.gz.tbi").rename(f"{path}.tbi")
    return path


def lines_of(path: Path) -> list[list[str]]:
    """Return the fields of the records of a VCF, compressed or not."""
    with pysam.BGZFile(str(path), "rb", None) as stream:
        return [line.decode().split("\t") for line in stream if line and not line.startswith(b"#")]


def sample_of(fields: Sequence[str], column: int = 0) -> dict[str, str]:
    """Return a sample's FORMAT values by key."""
    return dict(zip(fields[8].split(":"), fields[9 + column].split(":"), strict=False))


def info_of(fields: Sequence[str]) -> dict[str, str]:
    """Return INFO values by key."""
    return dict(item.partition("=")[::2] for item in fields[7].split(";"))


def states(path: Path) -> dict[int, Any]:
    """Return "variant" or the block's band of GQ for each position (1-based); a variant covers its reference allele."""
    found: dict[int, Any] = {}
    for fields in lines_of(path):
        start = int(fields[1])
        if fields[4] == "<NON_REF>":
            band = bisect_right(BANDS, int(sample_of(fields)["GQ"])) - 1
            for position in range(start, int(info_of(fields)["END"]) + 1):
                assert position not in found or found[position] == "variant", f"{position} is in two blocks"
                found[position] = band
        else:
            for position in range(start, start + len(fields[3])):
                found.setdefault(position, "variant")
            found[start] = "variant"
    return found
