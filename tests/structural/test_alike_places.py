"""Variants whose clipped bases fit more than one place: each is called once, with its own size."""

import random
from pathlib import Path

import pysam
from quire import reference
from quire.structural.caller import StructuralRequest, call_structural

from tests.support.rearranged import Chromosome, Piece, write_bam

SIZE, DEPTH = 20_000, 60
DUPLICATION = 3000, 3055  # shorter than a read; the bases after it begin like it
EXTENDED = 2  # bases by which an aligner goes on into the copy
NEARER = 6000, 6155  # a deletion; the bases before it occur 600 bases earlier too
ALIKE = 10_000, 15_000  # a deletion; bases like those after it lie 900 bases into it
LIKE_ENOUGH = 15  # bases from one difference to the next


def _genome() -> str:
    generator = random.Random(3)
    letters = generator.choices("ACGT", k=SIZE)
    letters[DUPLICATION[1] : DUPLICATION[1] + EXTENDED] = letters[DUPLICATION[0] : DUPLICATION[0] + EXTENDED]
    letters[NEARER[0] - 700 : NEARER[0] - 600] = letters[NEARER[0] - 100 : NEARER[0]]
    copy = letters[ALIKE[1] : ALIKE[1] + 100]
    copy[5::LIKE_ENOUGH] = ["CGTA"["ACGT".index(letter)] for letter in copy[5::LIKE_ENOUGH]]
    letters[ALIKE[0] + 900 : ALIKE[0] + 1000] = copy
    return "".join(letters)


def _extended(source: Path, path: Path) -> Path:
    """Let reads that are clipped at the end of the duplication be aligned EXTENDED bases farther."""
    with pysam.AlignmentFile(str(source)) as reads, pysam.AlignmentFile(str(path), "wb", template=reads) as out:
        for record in reads.fetch(until_eof=True):
            shape = record.cigartuples or []
            if record.reference_end == DUPLICATION[1] and shape[-1][0] == pysam.CSOFT_CLIP:
                aligned, (_, clipped) = shape[-2][1], shape[-1]
                ends = [(pysam.CMATCH, aligned + EXTENDED), (pysam.CSOFT_CLIP, clipped - EXTENDED)]
                record.cigartuples = [*shape[:-2], *ends]
            out.write(record)
    pysam.index(str(path))
    return path


def test_each_is_called_once(tmp_path: Path) -> None:
    """A duplication is no insertion of twice its size, and a deletion ends at a near or the best place."""
    genome = {"one": _genome()}
    (tmp_path / "genome.fa").write_text(f">one\n{genome['one']}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    spans = [(0, DUPLICATION[1]), (DUPLICATION[0], NEARER[0]), (NEARER[1], ALIKE[0]), (ALIKE[1], SIZE)]
    changed: Chromosome = [Piece("one", start, end) for start, end in spans]
    write_bam(tmp_path / "exact.bam", genome, [[changed], [changed]], DEPTH)
    bam = _extended(tmp_path / "exact.bam", tmp_path / "reads.bam")
    samples = [{"sample": "rearranged", "ploidy": 2, "bam": str(bam)}]
    files = tmp_path / "calls.vcf.gz", tmp_path / "calls.vcf.gz.tbi", tmp_path / "genome.fa"
    call_structural(StructuralRequest(tmp_path / "reference", samples, *files, 2))
    with pysam.VariantFile(str(files[0])) as records:
        found = [(one.info["SVTYPE"], one.info["SVLEN"][0], one.samples[0]["GT"]) for one in records]
    assert found == [("DUP", 55, (1, 1)), ("DEL", 155, (1, 1)), ("DEL", 5000, (1, 1))]
