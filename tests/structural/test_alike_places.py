"""Variants whose clipped bases fit more than one place: each is called once, with its own size."""

import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire import reference
from quire.reference import Reference
from quire.rescore.long_indels.breakpoints_cpu import Breakpoint
from quire.structural.caller import StructuralRequest, call_structural
from quire.structural.discovery import _joined
from quire.structural.gaps_cpu import Span

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


AT, LENGTH = 2000, 100  # of a breakpoint and its clipped bases


@pytest.mark.parametrize(
    ("near", "far", "mates", "expected"),
    [
        ({1650: 100, 2060: 100}, 0, 0, ("DEL", 60)),
        ({1300: 100, 2400: 100}, 0, 0, ("DEL", 400)),
        ({2150: 94, 2400: 100}, 0, 0, ("DEL", 400)),
        ({2150: 40}, 0, 0, None),
        ({2150: 94}, 100, 2, ("DEL", 150)),  # no chance
        ({2150: 89}, 94, 2, ("DEL", 150)),
        ({2150: 89}, 95, 2, ("BND", 0)),
        ({2150: 89}, 100, 1, ("DEL", 150)),
        ({}, 100, 2, ("BND", 0)),
        ({}, 0, 2, None),
    ],
)
def test_place_of_clipped_bases(
    tmp_path: Path, near: dict[int, int], far: int, mates: int, expected: tuple[str, int] | None
) -> None:
    """Copies of so many of the bases lie at positions nearby, and one where so many mates point."""
    generator = random.Random(2)
    unit = generator.choices("ACGT", k=LENGTH)
    one, two = generator.choices("ACGT", k=2 * AT), generator.choices("ACGT", k=1000)
    for letters, at, bases in [(one, at, bases) for at, bases in near.items()] + [(two, 500, far)]:
        letters[at : at + LENGTH] = unit[:bases] + ["CGTA"["ACGT".index(letter)] for letter in unit[bases:]]
    (tmp_path / "genome.fa").write_text(f">one\n{''.join(one)}\n>two\n{''.join(two)}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    tail = np.array(["ACGT".index(letter) for letter in unit], np.uint8)
    clipped = Breakpoint(AT, True, np.zeros(0, np.int64), tail)
    found = _joined(Reference.open(tmp_path / "reference"), 0, clipped, [Span(1, -500, 5000, mates)])
    assert (found and (found.kind, found.size)) == expected
