"""Call the variants of a few reads on a tiny genome, which calls all CPU kernels of the stage rescore."""

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from quire import reference
from quire.io import vcf
from quire.io.vcf_index_cpu import LineIndex
from quire.io.vcf_parts import join
from quire.rescore.caller import LEVEL
from quire.rescore.dragen.calibration import CalibrationFiles, calibrate_sample
from quire.rescore.dragen.cases_cpu import CASE
from quire.rescore.dragen.estimation_cpu import estimate
from quire.rescore.gvcf.records import header_lines
from quire.rescore.job import Output, contigs_of, open_job
from quire.rescore.parameters import BANDS
from quire.rescore.units import FIELDS_OF, call_unit

# Kernels depend on the types of settings, not on their values: these are no defaults. The schema is not read here,
# since the environments of calling lack the packages for it.
_SETTINGS: dict[str, Any] = {
    "minimum_quality": 20.0,
    "minimum_mapping_quality": 10,
    "maximum_reads_per_start": 40,
    "minimum_support": 2,
    "long_indels": True,
    "error_model": "gatk",
}
_BASES, _READS, _LENGTH = 2000, 60, 100
_SNV, _DELETION = 900, 1100  # positions; every other read carries both
# Too many variants in a region; the first has a third allele.
_CLUSTER = tuple(range(1300, 1385, 17))
_LONG_DELETION, _LONG_INSERTION, _LONG = (300, 500), 1600, 100  # reads are clipped at the ends


def run(gvcf: bool, dragen: bool) -> None:
    """Call SNVs, a deletion and two long indels of one sample; optionally by gVCF, and with DRAGEN's error models."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{genome}\n")
        reference.build(root / "genome.fa", root / "reference", 1 << 20)
        bam = root / "reads.bam"
        _write_reads(bam, genome, generator)
        pysam.index(str(bam))
        sample: dict[str, Any] = {"sample": "warm", "ploidy": 2, "bam": str(bam)}
        piece = [("compiling", 0, _BASES)]
        settings = _SETTINGS
        if dragen:
            repeats = root / "repeats.txt"
            calibrate_sample(root / "reference", "warm", bam, piece, CalibrationFiles(repeats, root / "ledger.json"))
            estimate(np.array([(1, 0, 20, 1)], CASE))
            settings, sample = settings | {"error_model": "dragen"}, sample | {"repeats": repeats}
        job = open_job(Output.GVCF if gvcf else Output.VARIANTS, root / "reference", [sample], settings)
        extras = header_lines(BANDS) if gvcf else []
        head = vcf.header(contigs_of(job.reference), ["warm"], FIELDS_OF[job.output], extras)
        part, called = root / "part.vcf.gz", call_unit(job, piece)
        blocks, _ = LineIndex(head.splitlines(), "part.tbi").packed(called.text, LEVEL)
        vcf.write_part_of_blocks(part, head, [(called.variants, blocks)])
        join([part], root / "warm.vcf.gz", root / "warm.vcf.gz.tbi")


def _write_reads(path: Path, genome: str, generator: random.Random) -> None:
    """Write sorted reads over all variants."""
    other = genome[:_SNV] + ("A" if genome[_SNV] != "A" else "C") + genome[_SNV + 1 :]
    drawn = (generator.randrange(_SNV - _LENGTH + 5, _DELETION - 5) for _ in range(_READS))
    reads = [(start, *_small(genome, other, start, number)) for number, start in enumerate(sorted(drawn))]
    reads += [_clustered(genome, start, number) for number, start in enumerate(range(1240, 1360, 2))]
    start, end = _LONG_DELETION
    reads += _clipped(genome[:start] + genome[end:], start, start, None) * 2
    reads += _clipped(genome[:start] + genome[end:], start, None, end) * 2
    inserted = "".join(generator.choices("ACGT", k=_LONG))
    spelled = genome[:_LONG_INSERTION] + inserted + genome[_LONG_INSERTION:]
    reads += _clipped(spelled, _LONG_INSERTION, _LONG_INSERTION, None) * 2
    reads += _clipped(spelled, _LONG_INSERTION + _LONG, None, _LONG_INSERTION) * 2
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": "compiling", "LN": _BASES}],
        "RG": [{"ID": "warm", "SM": "warm"}],
    }
    with pysam.AlignmentFile(str(path), "wb", header=header) as bam:
        for number, (start, bases, cigar) in enumerate(sorted(reads)):
            record = pysam.AlignedSegment(bam.header)
            record.query_sequence, record.cigarstring = bases, cigar
            record.query_name, record.reference_id, record.reference_start = f"read{number}", 0, start
            record.mapping_quality, record.flag = 60, 16 * (number // 2 % 2)
            record.query_qualities = pysam.qualitystring_to_array("I" * len(bases))
            record.set_tag("RG", "warm")
            bam.write(record)


def _small(genome: str, other: str, start: int, number: int) -> tuple[str, str]:
    """Return bases and CIGAR of a read over the small variants."""
    before = _DELETION - start
    if number % 2 and 5 < before < _LENGTH - 5:
        bases = other[start:_DELETION] + other[_DELETION + 3 : start + _LENGTH + 3]
        return bases, f"{before}M3D{_LENGTH - before}M"
    return (other if number % 2 else genome)[start : start + _LENGTH], f"{_LENGTH}M"


def _clustered(genome: str, start: int, number: int) -> tuple[int, str, str]:
    """Return a read over many SNVs: of three reads, two have different SNVs, and one has none."""
    bases = list(genome[start : start + _LENGTH])
    for place, position in enumerate(_CLUSTER):
        if number % 3 and (place == 0 or place % 2 == number % 2) and start <= position < start + _LENGTH:
            others = "ACGT".replace(genome[position], "")
            bases[position - start] = others[number % 3 - 1]
    return start, "".join(bases), f"{_LENGTH}M"


def _clipped(spelled: str, at: int, end: int | None, start: int | None) -> list[tuple[int, str, str]]:
    """Return reads over a breakpoint of a haplotype, aligned on one side of it: up to `end` or from `start` on."""
    reads = []
    for before in range(10, _LENGTH - 5, 5):
        bases = spelled[at - before : at - before + _LENGTH]
        if end is not None:
            reads.append((end - before, bases, f"{before}M{_LENGTH - before}S"))
        elif start is not None:
            reads.append((start, bases, f"{before}S{_LENGTH - before}M"))
    return reads
