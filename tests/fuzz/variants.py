"""Fuzzers of VCF files that are read with an index: a truth, gVCFs, and the index itself.

The judges are bcftools, tabix and a parser in plain Python. Each changed VCF is compressed and indexed again.
"""

import random
import re
import struct
import subprocess
import zlib
from collections import Counter
from itertools import dropwhile
from pathlib import Path

import numpy as np
import pysam
from quire import reference as reference_stage
from quire.errors import InputError
from quire.reference import Reference
from quire.report.known_variants import _read_genotypes, choose_sample, compare_files
from quire.rescore.joint import JointRequest, genotype_interval
from quire.rescore.joint.store import import_gvcf
from quire.rescore.joint.window import Cohort
from quire.run.contig_names import _contigs_of_table

from tests.fuzz.indexed import STALE, change_number
from tests.fuzz.mutations import bgzf, mutate_bytes, mutate_field, mutate_lines
from tests.fuzz.target import Refused, Target
from tests.fuzz.text import text_of
from tests.support.builders import random_bases, write_fasta

LENGTHS = {"one": 3000, "two": 600}
SEQUENCES = {name: random_bases(random.Random(size), size) for name, size in LENGTHS.items()}
REGIONS = {name: np.array([[0, size]]) for name, size in LENGTHS.items()}
ALTERNATES = r"([A-Za-z]+|\*|<NON_REF>)(,([A-Za-z]+|\*|<NON_REF>))*"
EVERYWHERE = 1 << 29
BLOCK_HEADER = 18  # bytes of a BGZF block before its deflate data
GENOTYPED = 200  # bases, since each record is genotyped twice


def sequence(contig: str, start: int, end: int) -> str:
    """Return bases of the reference."""
    return SEQUENCES[contig][max(start, 0) : end]


class IndexedVcf(Target):
    """A VCF file that is compressed and indexed after it was changed."""

    suffix = ".vcf.gz"
    lines: tuple[str, ...]

    def valid(self, folder: Path) -> list[bytes]:
        """Return the text of the file."""
        return ["".join(self.lines).encode()]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change lines, values within fields, or bytes."""
        drawn = generator.random()
        if drawn < 0.5:
            return bgzf(changed_values(generator, content))
        if drawn < 0.97:
            return bgzf(mutate_lines(generator, content))
        return mutate_bytes(generator, bgzf(content))

    def index(self, path: Path) -> None:
        """Index the file.

        Raises:
            InputError: htslib cannot.
        """
        for suffix in (".tbi", ".csi"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        pysam.set_verbosity(0)
        try:
            pysam.tabix_index(str(path), preset="vcf", force=True)
        except (OSError, ValueError):
            raise InputError(f"{path}: cannot be indexed.") from None


class Truth(IndexedVcf):
    """The VCF of a truth; the answer is the alleles of the first sample and their copies."""

    name = "truth"

    def valid(self, folder: Path) -> list[bytes]:
        """Write the calls; return a truth."""
        self.lines = tuple(vcf_lines(1))
        self._calls = folder / "calls.vcf.gz"
        self._calls.write_bytes(bgzf("".join(vcf_lines(2)).encode()))
        pysam.tabix_index(str(self._calls), preset="vcf", force=True)
        return super().valid(folder)

    def read(self, path: Path) -> object:
        """Return the counts of the comparison with calls, and with the file itself."""
        self.index(path)
        list(_contigs_of_table(str(path)))
        choose_sample(["a"], {"vcf": str(path)})
        compare_files(path, self._calls, "a", REGIONS, LENGTHS, sequence)
        found = []
        for counts in compare_files(self._calls, path, "a", REGIONS, LENGTHS, sequence).counts.values():
            found.append((counts.truth_found, counts.missed, counts.calls_right, counts.false_calls))
        return found

    def judge(self, path: Path) -> object:
        """Return the counts for the file as bcftools reads it."""
        if not Path(f"{path}.tbi").exists():
            raise Refused("no index")
        command = ["bcftools", "view", "--no-version"]
        done = subprocess.run([*command, path], capture_output=True, check=False)
        if done.returncode:  # it takes a line of the header between records for a record, and tabix for a comment
            done = subprocess.run(command, input=without_comments(text_of(path)), capture_output=True, check=False)
        if done.returncode:
            raise Refused(done.stderr.decode(errors="replace").strip().replace("\n", " "))
        copy = path.with_name("judged.vcf.gz")
        copy.write_bytes(bgzf(done.stdout))
        try:
            pysam.tabix_index(str(copy), preset="vcf", force=True)
            found = compare_files(self._calls, copy, "a", REGIONS, LENGTHS, sequence).counts.values()
        except (InputError, OSError) as error:
            raise Refused(str(error)) from None
        return [(one.truth_found, one.missed, one.calls_right, one.false_calls) for one in found]


def without_comments(text: bytes) -> bytes:
    """Return a VCF without the lines with # behind its header."""
    head, names, records = text.partition(b"\n#CHROM")
    return head + names + b"\n".join(line for line in records.split(b"\n") if not line.startswith(b"#"))


def with_right_sizes(content: bytes) -> bytes:
    """Return the blocks of a BGZF file with the sizes of their content in the last 4 bytes."""
    mended = b""
    while content:
        block = zlib.decompressobj(-15)
        size = len(block.decompress(content[BLOCK_HEADER:]))
        used = len(content) - len(block.unused_data) + 4
        mended += content[:used] + struct.pack("<I", size)
        content = content[used + 4 :]
    return mended


class GvcfInput(IndexedVcf):
    """A gVCF for joint genotyping; the answer is its records, which are genotyped with those of another file."""

    name, suffix, neighbour = "gvcf", ".g.vcf.gz", "other.vcf.gz"

    def valid(self, folder: Path) -> list[bytes]:
        """Write the reference and another gVCF; return one."""
        self.lines = tuple(gvcf_lines("a", 1, GENOTYPED))
        fasta = write_fasta(folder / "genome.fa", SEQUENCES)
        reference_stage.build(fasta, folder / "reference", 1 << 20)
        self._packed, self._stores = folder / "reference", [folder / f"{name}.records" for name in "ab"]
        other = folder / self.neighbour
        other.write_bytes(bgzf("".join(gvcf_lines("b", 2, GENOTYPED)).encode()))
        import_gvcf(self._packed, other, self._stores[1])
        return super().valid(folder)

    def read(self, path: Path) -> object:
        """Return the records, after joint genotyping with and without all positions."""
        import_gvcf(self._packed, path, self._stores[0])
        pieces = [(name, 0, size) for name, size in LENGTHS.items()]
        for all_sites in (False, True):
            output = path.with_name("joint.vcf.gz")
            genotype_interval(JointRequest(self._packed, self._stores, pieces, output, 10.0, all_sites=all_sites))
        cohort = Cohort(self._stores[:1], Reference.open(self._packed))
        found = []
        for contig, size in LENGTHS.items():
            window = cohort.window(contig, 0, size)
            columns = window.columns
            for row, spelling in enumerate(columns.spelling.tolist()):
                first, count = columns.phred_first[row], columns.phred_count[row]
                phreds = columns.phreds[first : first + count].tolist()
                reference, _, alternates = window.spellings[spelling].partition("\t")
                place = contig, int(columns.start[row]), int(columns.end[row])
                found.append((*place, reference, tuple(alternates.split(",")), tuple(phreds)))
        return found

    def judge(self, path: Path) -> object:
        """Return the records by plain Python."""
        lines = text_of(path).decode(errors="surrogateescape").removesuffix("\n").split("\n")
        found = []
        for fields in (line.split("\t") for line in dropwhile(lambda line: line.startswith("#"), lines)):
            if fields[0] not in LENGTHS or len(fields) != 10 or not fields[1].isdigit():
                raise Refused("contig, fields or position")
            if not (re.fullmatch("[A-Za-z]+", fields[3]) and re.fullmatch(ALTERNATES, fields[4])):
                raise Refused("alleles")
            start = int(fields[1]) - 1
            values = dict(zip(fields[8].split(":"), fields[9].removesuffix("\r").split(":"), strict=False))
            phreds = values.get("PL", ".")
            try:
                ends = [int(item[4:]) for item in fields[7].split(";") if item.startswith("END=")]
                numbers = () if "." in phreds or not phreds.strip(",/|") else tuple(map(int, phreds.split(",")))
            except ValueError as error:
                raise Refused(str(error)) from None
            # Letters of alleles may have either case, which changes nothing (VCF 4.3, 1.6.1).
            alternates = tuple(fields[4].upper().split(","))
            found.append(
                (fields[0], start, ends[-1] if ends else start + len(fields[3]), fields[3].upper(), alternates, numbers)
            )
        if [one[:2] for one in found] != sorted(
            (one[:2] for one in found), key=lambda at: (at[0] != found[0][0], at[1])
        ):
            raise Refused("order")
        return sorted(found, key=lambda one: list(LENGTHS).index(one[0]))

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept a wrong number of bytes after a block with a right checksum; htslib does not read the number."""
        if "incorrect length check" not in reason:
            return False
        path.write_bytes(with_right_sizes(path.read_bytes()))
        return self.judge(path) == answer


class Tbi(Target):
    """The index of a VCF file; the answer is the records of regions, by all readers of such files."""

    name, suffix, neighbour = "tbi", ".tbi", "case.vcf.gz"

    def valid(self, folder: Path) -> list[bytes]:
        """Write a gVCF with an index; return the index."""
        self._vcf = folder / "case.vcf.gz"
        self._vcf.write_bytes(bgzf("".join(gvcf_lines("a", 1)).encode(), random.Random(3)))
        pysam.tabix_index(str(self._vcf), preset="vcf", force=True)
        self._index = Path(f"{self._vcf}.tbi")
        self._expected = self._found = self._records()
        return [text_of(self._index)]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a number of the index, its names, or any bytes."""
        if generator.random() < 0.1:
            return mutate_bytes(generator, bgzf(content))
        if generator.random() < 0.2:
            return bgzf(mutate_bytes(generator, content[:60]) + content[60:])
        return bgzf(change_number(generator, content))

    def _records(self) -> list[tuple[object, ...]]:
        genotypes = _read_genotypes(self._vcf, None, REGIONS, LENGTHS, sequence)
        found: list[tuple[object, ...]] = [(contig, *item) for contig in LENGTHS for item in genotypes[contig].items()]
        return [*found, tuple(_contigs_of_table(str(self._vcf)))]

    def read(self, path: Path) -> object:
        """Return the genotypes, the records of regions, and the contigs."""
        path.replace(self._index)
        self._found = self._expected
        self._found = self._records()
        return self._found

    def judge(self, path: Path) -> object:
        """Return the answer with the unchanged index.

        Raises:
            Refused: records are missing. An index with right checksums that hides records is believed, as by htslib.
        """
        if self._found != self._expected and not Counter(self._found) - Counter(self._expected):
            raise Refused(STALE)
        return self._expected

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept an answer without the records that the index hides."""
        return True


def changed_values(generator: random.Random, content: bytes) -> bytes:
    """Change one value within a record's fields: between ':', ';', ',', '=' or '/'."""
    lines = content.split(b"\n")
    at = generator.randrange(len(lines))
    fields = lines[at].split(b"\t")
    field = generator.randrange(len(fields))
    mark = generator.choice((b":", b";", b",", b"=", b"/"))
    values = fields[field].split(mark)
    value = generator.randrange(len(values))
    values[value] = mutate_field(generator, values[value])
    if generator.random() < 0.2:
        del values[value]
    fields[field] = mark.join(values)
    lines[at] = b"\t".join(fields)
    return b"\n".join(lines)


HEAD = (
    "##fileformat=VCFv4.2\n",
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n',
    '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">\n',
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">\n',
    *(f"##contig=<ID={name},length={size}>\n" for name, size in LENGTHS.items()),
)
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"


def vcf_lines(seed: int) -> list[str]:
    """Return a VCF of SNVs and indels."""
    generator = random.Random(seed)
    found = [*HEAD, COLUMNS + "a\n"]
    for contig, bases in SEQUENCES.items():
        for place in range(10, len(bases) - 50, 170):
            place += generator.randrange(3)
            reference = bases[place - 1 : place + generator.randrange(3)]
            alternate = ",".join(sorted({random_bases(generator, generator.choice((1, 1, 3))), "ACGT"} - {reference}))
            genotype = generator.choice(("0/1", "1/1", "0|1", "1", "./.", "0/0"))
            found.append(f"{contig}\t{place}\t.\t{reference}\t{alternate}\t50\tPASS\tAF=0.5\tGT:DP\t{genotype}:20\n")
    return found


def gvcf_lines(sample: str, seed: int, most: int = EVERYWHERE) -> list[str]:
    """Return a gVCF of blocks, SNVs and deletions, also spanned ones, in the first `most` bases of each contig."""
    generator = random.Random(seed)
    alt = '##ALT=<ID=NON_REF,Description="Any other">\n'
    found = [HEAD[0], alt, *HEAD[1:], COLUMNS + sample + "\n"]
    for contig, bases in SEQUENCES.items():
        place = 1
        while place < min(most, len(bases) - 200):
            end = place + generator.randrange(1, 90)
            row = (contig, place, ".", bases[place - 1], "<NON_REF>", ".", ".", f"END={end}")
            found.append("\t".join(map(str, row)) + "\tGT:DP:GQ:MIN_DP:PL\t0/0:20:50:18:0,50,700\n")
            place = end + 1
            size = generator.choice((1, 1, 4))
            reference = bases[place - 1 : place - 1 + size]
            other = bases[place - 1] if size > 1 else next(one for one in "ACGT" if one != reference)
            half = generator.randrange(3, 20)
            info = f"DP={4 * half};ExcessHet=0.0;RAW_MQandDP={14400 * half},{4 * half};ReadPosRankSum=0.5"
            values = (
                f"0|1:{2 * half},{2 * half},0:{4 * half}:99:0|1:{place}_A_C:600,0,700,650,750,1400:{place}:"
                f"{half},{half},{half},{half}\n"
            )
            row = (contig, place, ".", reference, f"{other},<NON_REF>", "600", ".", info)
            found.append("\t".join((*map(str, row), "GT:AD:DP:GQ:PGT:PID:PL:PS:SB", values)))
            place += size
    return found
