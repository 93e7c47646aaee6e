"""Copies that tandem repeats gain: they are counted if reads are long enough, and else the record fails."""

import random
from pathlib import Path

import pysam
import pytest
from quire import reference
from quire.rescore.job import Output, open_job
from quire.structural.caller import PARAMETERS, StructuralRequest, call_structural
from quire.structural.junctions import End, normalised
from quire.structural.repeats import with_copies

from tests.support.rearranged import Chromosome, Piece, write_bam

SIZE, DEPTH, UNITS = 12_000, 40, 7
DIFFERING = 5  # bases from one difference of a unit to the next
COUNTED, SHORT, UNTOLD = (2500, 26, 2), (5000, 26, 1), (7500, 60, 1)  # start, unit and gained copies of repeats


def _genome() -> dict[str, str]:
    generator = random.Random(7)
    letters = generator.choices("ACGT", k=SIZE)
    for start, size, _ in (COUNTED, SHORT, UNTOLD):
        unit = generator.choices("ACGT", k=size)
        for number in range(UNITS):
            copy = unit.copy()
            copy[number % DIFFERING :: 4 * DIFFERING] = generator.choices("ACGT", k=len(copy[number % 5 :: 20]))
            letters[start + number * size : start + (number + 1) * size] = copy
    return {"one": "".join(letters)}


def _gained() -> Chromosome:
    """Return a chromosome in which the second unit of each repeat occurs more often."""
    pieces, at = list[Piece](), 0
    for start, size, copies in (COUNTED, SHORT, UNTOLD):
        first, last = start + size, start + 2 * size
        pieces += [Piece("one", at, last), *[Piece("one", first, last)] * (copies - 1)]
        at = first
    return [*pieces, Piece("one", at, SIZE)]


def _unsure(source: Path, path: Path) -> Path:
    """Let reads that lie within the counted repeat have mapping quality 0."""
    start, end = COUNTED[0], COUNTED[0] + UNITS * COUNTED[1]
    with pysam.AlignmentFile(str(source)) as reads, pysam.AlignmentFile(str(path), "wb", template=reads) as out:
        for record in reads.fetch(until_eof=True):
            if not record.is_unmapped and start <= record.reference_start and (record.reference_end or 0) <= end:
                record.mapping_quality = 0
            out.write(record)
    pysam.index(str(path))
    return path


@pytest.mark.parametrize("homozygous", [False, True])
def test_copies_are_counted(tmp_path: Path, homozygous: bool) -> None:
    """An insertion of two copies passes, that of one copy is too short, and of a long unit the number is not known."""
    genome = _genome()
    (tmp_path / "genome.fa").write_text(f">one\n{genome['one']}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    other: Chromosome = _gained() if homozygous else [Piece("one", 0, SIZE)]
    write_bam(tmp_path / "sure.bam", genome, [[_gained()], [other]], DEPTH)
    bam = _unsure(tmp_path / "sure.bam", tmp_path / "reads.bam")
    samples = [{"sample": "rearranged", "ploidy": 2, "bam": str(bam)}]
    job = open_job(Output.VARIANTS, tmp_path / "reference", samples, PARAMETERS, None, None)
    for start, size, copies in (COUNTED, SHORT, UNTOLD):
        one, other_end = End(0, start + size, False), End(0, start + 2 * size, True)
        junction = normalised(job.reference, one, other_end, b"")
        found = with_copies(job.reference, job.samples[0].source, junction, job.parameters, job.engine)
        expected = ("DUP", size) if (start, size, copies) == UNTOLD else ("INS", size * copies)
        assert (found.kind, found.size) == expected
    files = tmp_path / "calls.vcf.gz", tmp_path / "calls.vcf.gz.tbi", tmp_path / "genome.fa"
    call_structural(StructuralRequest(tmp_path / "reference", samples, *files, 1))
    with pysam.VariantFile(str(files[0])) as records:
        (counted,) = (one for one in records if one.pos < UNTOLD[0])
    start, size, copies = COUNTED
    assert ([*counted.filter], sorted(counted.samples[0]["GT"])) == (["PASS"], [int(homozygous), 1])
    assert counted.alts == (f"{counted.ref}{genome['one'][counted.pos : counted.pos + size] * copies}",)
    assert start <= counted.pos <= start + size
