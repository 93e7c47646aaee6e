"""Consequences of variants for genes, by `bcftools csq` (Danecek & McCarthy 2017, doi:10.1093/bioinformatics/btx100).

Each record is annotated independently (`--local-csq`), since most genotypes are not phased. The output is the same VCF
with BCSQ in INFO, and counts by the most severe consequence of each record.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quire.errors import InputError, QuireError
from quire.io.fasta_index import indexed_fasta
from quire.io.files import scratch_directory, write_json_atomic
from quire.io.samtools import StepFailed, run_apart
from quire.io.vcf import contig_ranks, read_head
from quire.io.vcf_parts import join
from quire.rescore.genes import require_sound_genes

# As Ensembl ranks them (https://www.ensembl.org/info/genome/variation/prediction/predicted_data.html), by csq's names.
SEVERITY = (
    *("splice_acceptor", "splice_donor", "stop_gained", "frameshift", "stop_lost", "start_lost"),
    *("inframe_altering", "inframe_insertion", "inframe_deletion", "missense", "splice_region"),
    *("start_retained", "stop_retained", "synonymous", "coding_sequence"),
    *("5_prime_utr", "3_prime_utr", "non_coding", "intron"),
)
OUTSIDE = "outside of genes"
GRAVE = SEVERITY[:6]
LISTED = 100
_COLUMNS = 9  # columns before the samples
_NO_VARIANT = (".", "*")


class Consequence(NamedTuple):
    """A consequence: its type, gene, transcript and change of the protein, as csq writes them."""

    kind: str
    gene: str = ""
    transcript: str = ""
    amino_acids: str = ""


def annotate_variants(
    variants: str | Path, gff3: str | Path, fasta: str | Path, output: str | Path, index: str | Path, counts: str | Path
) -> None:
    """Write the variants (bgzip VCF) with their consequences and an index, and counts as JSON (docs/formats.md).

    The GFF3 has genes and transcripts as Ensembl writes them, plain, gzip or bgzip.

    Raises:
        InputError: a GFF3 that csq cannot read, of other contigs, or with names that forge fields.
    """
    head = read_head(variants)
    require_sound_genes(gff3, list(contig_ranks(head)))
    counted = ConsequenceCounts(head[-1].rstrip("\n").split("\t")[_COLUMNS:])
    with scratch_directory(Path(output).parent, f"{Path(output).name}.annotating") as scratch:
        annotated = scratch / "annotated.vcf.gz"
        files = ["-f", indexed_fasta(fasta, scratch), "-g", Path(gff3), "-o", annotated, Path(variants)]
        try:
            run_apart("bcftools.csq", "--local-csq", "--no-version", "-O", "z", *files)
            join([annotated], output, index, counted.add)
        # A ValueError: bytes that are no text.
        except (StepFailed, QuireError, ValueError) as error:
            if isinstance(error, QuireError) and str(annotated) not in str(error):
                raise
            why = error if isinstance(error, StepFailed) else "the lines that it writes break"
            raise InputError(
                f"{gff3}: bcftools csq cannot use it ({why}); give a GFF3 file as Ensembl writes it for this assembly."
            ) from None
    write_json_atomic(counts, {"format_version": 1, "gff3": str(gff3), **counted.to_json()})


class ConsequenceCounts:
    """Counts of consequences over the records of an annotated VCF that pass the filters."""

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples = list(samples)
        self._records: Counter[str] = Counter()
        self._carried: dict[str, Counter[str]] = {sample: Counter() for sample in samples}
        self._grave: list[dict[str, Any]] = []

    def add(self, lines: bytes) -> None:
        """Count whole lines of records."""
        for line in lines.splitlines():
            self._add_record(line)

    def _add_record(self, line: bytes) -> None:
        """Count a record; positions without a variant, as in a VCF of all sites, are ignored."""
        columns = line.decode().split("\t")
        if columns[4] in _NO_VARIANT or columns[6] not in ("PASS", "."):
            return
        found = most_severe(columns[7])
        carriers = [
            sample
            for sample, values in zip(self._samples, columns[_COLUMNS:], strict=True)
            if set(values.split(":", 1)[0]) & set("123456789")
        ]
        self._records[found.kind] += 1
        for sample in carriers:
            self._carried[sample][found.kind] += 1
        if found.kind in GRAVE and len(self._grave) < LISTED:
            place = f"{columns[0]}:{columns[1]} {columns[3]}>{columns[4]}"
            self._grave.append({"variant": place, **found._asdict(), "samples": carriers})

    def to_json(self) -> dict[str, Any]:
        """Return counts by consequence, the most severe first (`variants`, `samples`), and the first grave ones."""
        kinds = (*SEVERITY, *sorted(set(self._records) - set(SEVERITY) - {OUTSIDE}), OUTSIDE)
        seen = [kind for kind in kinds if self._records[kind]]
        return {
            "variants": {kind: self._records[kind] for kind in seen},
            "samples": {name: {kind: counts[kind] for kind in seen} for name, counts in self._carried.items()},
            "all_grave": sum(self._records[kind] for kind in GRAVE),
            "grave": self._grave,
        }


def most_severe(info: str) -> Consequence:
    """Return the most severe consequence in a record's INFO, the first of equally severe ones."""
    found = [_consequence(text) for text in _values(info)]
    rank = {kind: number for number, kind in enumerate(SEVERITY)}
    return min(found, key=lambda one: rank.get(one.kind, len(rank)), default=Consequence(OUTSIDE))


def _values(info: str) -> list[str]:
    field = next((field for field in info.split(";") if field.startswith("BCSQ=")), "BCSQ=")
    return [value for value in field.removeprefix("BCSQ=").split(",") if value and not value.startswith("@")]


def _consequence(text: str) -> Consequence:
    """Parse `missense&splice_region|gene|transcript|biotype|strand|amino acids|change`, keeping the most severe."""
    kinds, gene, transcript, _, _, amino_acids = [*text.split("|"), *[""] * 6][:6]
    parts = kinds.lstrip("*").split("&")
    kind = min(parts, key=lambda part: SEVERITY.index(part) if part in SEVERITY else len(SEVERITY))
    return Consequence(kind, gene, transcript, amino_acids)
