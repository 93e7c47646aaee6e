"""Writers of small BAM and VCF files for the tests of the report, and of the counts that earlier stages make."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pysam
from quire.finish.counts.outputs import CountsOutputs
from quire.io.files import read_json, write_json_atomic
from quire.io.vcf import read_head
from quire.reference import Reference
from quire.rescore.variant_counts import VariantCounter

from tests.support.count_files import count_file

READ_LENGTH = 50
CONTIGS = {"one": 3000, "two*:x": 1000}


@dataclass(frozen=True)
class Run:
    """Paths of a small run's files; `sequences` are the contigs' bases, the last two fields the counts."""

    folder: Path
    sequences: dict[str, str]
    reference: Path
    bam: Path
    vcf: Path
    counts: Path
    variants: Path


def write_vcf(path: Path, records: list[tuple], samples: list[str], index: bool = True) -> Path:
    """Write records of (contig, 0-based position, reference, alternates, quality, genotypes) as bgzip, indexed."""
    header = pysam.VariantHeader()
    for name in dict.fromkeys([*CONTIGS, *(record[0] for record in records)]):
        header.contigs.add(name, length=CONTIGS.get(name, 10_000))
    header.add_line("##quireBackend=cpu: calling has none.")
    header.formats.add("GT", 1, "String", "Genotype")
    header.filters.add("LowQual", None, None, "Low quality")
    for sample in samples:
        header.add_sample(sample)
    with pysam.VariantFile(str(path), "wz", header=header) as stream:
        for contig, position, before, alternates, quality, *genotypes in records:
            filters = "LowQual" if quality is not None and quality < 10 else "PASS"
            record = stream.new_record(
                contig=contig, start=position, alleles=(before, *alternates), qual=quality, filter=filters
            )
            for sample, genotype in zip(samples, genotypes, strict=True):
                record.samples[sample]["GT"] = genotype
            stream.write(record)
    if index:
        pysam.tabix_index(str(path), preset="vcf", force=True)
    return path


def write_bam(path: Path, starts: list[tuple[str, int, int]], unmapped: int = 0) -> Path:
    """Write pairs of (contig, start, flags to add), each an insert of 120 bases, and unmapped pairs; index the file."""
    header = pysam.AlignmentHeader.from_references(list(CONTIGS), list(CONTIGS.values()))
    records = []
    for number, (contig, start, flags) in enumerate(starts):
        for mate, position, size in ((0, start, 120), (1, start + 70, -120)):
            record = pysam.AlignedSegment(header)
            record.query_name = f"pair{number}"
            record.query_sequence = "A" * READ_LENGTH
            record.query_qualities = pysam.qualitystring_to_array("I" * READ_LENGTH)
            record.flag = (99, 147)[mate] | flags
            record.reference_name, record.reference_start = contig, position
            record.next_reference_name, record.next_reference_start = contig, start + 70 - 70 * mate
            record.template_length, record.mapping_quality = size, 60 if number else 7
            record.cigartuples = [(0, READ_LENGTH)]
            record.set_tag("NM", 0)
            records.append(record)
    records.sort(key=lambda record: (record.reference_id, record.reference_start))
    for number in range(unmapped):
        for flag in (77, 141):
            record = pysam.AlignedSegment(header)
            record.query_name, record.flag = f"unmapped{number}", flag
            record.query_sequence = "C" * READ_LENGTH
            record.query_qualities = pysam.qualitystring_to_array("I" * READ_LENGTH)
            records.append(record)
    with pysam.AlignmentFile(str(path), "wb", header=header) as stream:
        for record in records:
            stream.write(record)
    pysam.index(str(path))
    return path


def count_bam(folder: Path, bam: Path, reference: Path) -> Path:
    """Count the alignments as finishing a sample does; return the path of the JSON."""
    folder.mkdir(exist_ok=True)
    outputs = CountsOutputs(folder / "counts.json", folder / "windows.bed.gz", folder / "low.bed.gz", 10)
    count_file("sample", bam, Reference.open(reference), 1, outputs)
    return outputs.counts


def count_vcf(path: Path, vcf: Path) -> Path:
    """Count a VCF as gathering does; return the path of the JSON, which is `path`."""
    head = read_head(vcf)
    counter = VariantCounter(head)
    with pysam.BGZFile(str(vcf), "rb") as stream:
        for line in list(stream)[len(head) :]:
            counter.add(line)
    write_json_atomic(path, counter.content())
    return path


def write_pairs_of_cohort(path: Path, variants: Path, names: Sequence[str]) -> None:
    """Write the counts of a cohort whose samples are all that of `variants`; its first two are one person."""
    content = read_json(variants)
    (one,) = content["samples"].values()
    pairs = len(names) * (len(names) - 1) // 2
    counts = {"sites": 4000, "same": 1500, "opposite_homozygous": 300, "both_heterozygous": 600}
    content["samples"] = dict.fromkeys(names, one)
    content["pairs"] = {name: [counts.get(name, 1200)] * pairs for name in content["pairs"]}
    for name, value in {"same": 3990, "opposite_homozygous": 0, "both_heterozygous": 1190}.items():
        content["pairs"][name][0] = value
    write_json_atomic(path, content)
