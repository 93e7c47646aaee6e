"""Fuzzer of GFF3, whose genes `bcftools csq` annotates variants with, judged by the program bcftools."""

import random
import subprocess
from pathlib import Path

import pysam
from quire.errors import InputError
from quire.io.samtools import StepFailed, run_apart
from quire.io.sniff import require_features
from quire.rescore.consequences import annotate_variants
from quire.run.contig_names import _contigs_of_table

from tests.fuzz.forked import forked_children
from tests.fuzz.mutations import bgzf
from tests.fuzz.target import Refused
from tests.fuzz.text import TextTarget, text_of
from tests.fuzz.variants import LENGTHS, SEQUENCES, changed_values, vcf_lines
from tests.support.builders import write_fasta


def _gene(contig: str, name: str, start: int, strand: str) -> str:
    """Return a gene of two coding exons."""
    rows = (
        ("gene", start, start + 399, ".", f"ID=gene:{name};biotype=protein_coding;Name={name};gene_id={name}"),
        ("mRNA", start, start + 399, ".", f"ID=transcript:T{name};Parent=gene:{name};biotype=protein_coding"),
        ("exon", start, start + 149, ".", f"Parent=transcript:T{name}"),
        ("CDS", start, start + 149, "0", f"ID=CDS:P{name};Parent=transcript:T{name};protein_id=P{name}"),
        ("exon", start + 250, start + 399, ".", f"Parent=transcript:T{name}"),
        ("CDS", start + 250, start + 399, "0", f"ID=CDS:P{name};Parent=transcript:T{name};protein_id=P{name}"),
    )  # fmt: skip
    return "".join(
        f"{contig}\te\t{kind}\t{first}\t{last}\t.\t{strand}\t{phase}\t{more}\n"
        for kind, first, last, phase, more in rows
    )


class Gff(TextTarget):
    """Genes and transcripts; the answer is BCSQ of each variant."""

    name, suffix, compressed = "gff", ".gff3", True
    texts = (
        "##gff-version 3\n##sequence-region one 1 3000\n"
        + _gene("one", "A", 100, "+")
        + "###\n"
        + _gene("chrtwo", "B", 120, "-"),
    )

    def valid(self, folder: Path) -> list[bytes]:
        """Write the reference and the variants; return GFF3 files."""
        self._fasta = write_fasta(folder / "genome.fa", SEQUENCES)
        pysam.faidx(str(self._fasta))
        self._variants = folder / "variants.vcf.gz"
        self._variants.write_bytes(bgzf("".join(vcf_lines(1)).encode()))
        pysam.tabix_index(str(self._variants), preset="vcf", force=True)
        return super().valid(folder)

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change values of attributes, or as in other texts."""
        if content[:2] != b"\x1f\x8b" and generator.random() < 0.5:
            return changed_values(generator, content)
        return super().mutate(generator, content)

    def read(self, path: Path) -> object:
        """Return the consequences."""
        self._found: list[bytes] | None = None
        require_features(str(path), "annotate.gff3")
        if not set(LENGTHS) & {name.removeprefix("chr") for name in _contigs_of_table(str(path))}:
            raise InputError(f"{path}: no contig of the reference.")
        output = path.with_name("annotated.vcf.gz")
        counts = path.with_name("counts.json")
        with forked_children():
            annotate_variants(self._variants, path, self._fasta, output, f"{output}.tbi", counts)
        self._found = consequences(text_of(output))
        return self._found

    def judge(self, path: Path) -> object:
        """Return the consequences by the program bcftools, or by pysam's release of it if the two differ."""
        given = ["-f", str(self._fasta), "-g", str(path), "--local-csq", str(self._variants)]
        done = subprocess.run(["bcftools", "csq", *given], capture_output=True, check=False)
        expected = consequences(done.stdout)
        if self._found is not None and (done.returncode or expected != self._found):
            try:
                with forked_children():
                    return consequences(run_apart("bcftools.csq", *given)[0].encode())
            except StepFailed as error:
                raise Refused(str(error)) from None
        if done.returncode:
            raise Refused(done.stderr.decode(errors="replace").strip().replace("\n", " "))
        return expected


def consequences(text: bytes) -> list[bytes]:
    """Return BCSQ of each record of a VCF; empty for none."""
    rows = [line.split(b"\t") for line in text.split(b"\n") if line and not line.startswith(b"#")]
    return [b"".join(field for field in row[7].split(b";") if field.startswith(b"BCSQ=")) for row in rows]
