"""Fuzzers of text files: FASTA, BED, ploidies, known sites, alternate contigs, sheets and configurations."""

import csv
import gzip
import io
import json
import random
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import yaml
from quire.errors import QuireError
from quire.io.bed import read_bed
from quire.io.fasta_index import indexed_fasta
from quire.io.frequencies import RAREST, read_known_sites
from quire.io.ploidy import LARGEST_PLOIDY, SEXES, UNKNOWN, read_ploidy_regions
from quire.io.primers import TOLERANCE, read_primers
from quire.reference.alternate import read_alternate
from quire.reference.fasta import lengths_of_contigs, read_fasta
from quire.run.config import load
from quire.run.config_file import read_config_file
from quire.run.schema import complete_settings, read_schema
from quire.run.sheets import read_sheet

from tests.fuzz.mutations import bgzf, inflated_members, mutate_bytes, mutate_lines
from tests.fuzz.target import Refused, Target
from tests.support.builders import random_bases

SCHEMAS = Path(__file__).resolve().parents[2] / "workflow" / "schemas"
LENGTHS = {"one": 3000, "chr2": 500, "X": 900}
IUPAC = frozenset("ACGTUNRYSWKMBDHV")


class TextTarget(Target):
    """A text that may be compressed; mutations change lines, fields or bytes.

    Attributes:
        texts: the valid files.
        compressed: also as gzip and bgzip.
        separator: of fields.
    """

    texts: tuple[str, ...]
    compressed = False
    separator = b"\t"

    def valid(self, folder: Path) -> list[bytes]:
        """Return the texts, and compressed copies."""
        plain = [text.encode() for text in self.texts]
        more = [pack(text) for text in plain for pack in (gzip.compress, bgzf)] if self.compressed else []
        return [*plain, *plain, *more]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change the text, or the compressed file."""
        if content[:2] != b"\x1f\x8b":
            return mutate_lines(generator, content, self.separator)
        if generator.random() < 0.3:
            return mutate_bytes(generator, content)
        text = mutate_lines(generator, b"".join(inflated_members(content)), self.separator)
        return bgzf(text, generator) if generator.random() < 0.5 else gzip.compress(text)


def text_of(path: Path) -> bytes:
    """Return the content of a file, decompressed.

    Raises:
        Refused: the compressed file is damaged.
    """
    content = path.read_bytes()
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return b"".join(inflated_members(content))
    except (zlib.error, EOFError) as error:
        raise Refused(f"gzip: {error}") from None


def rows_of(path: Path) -> Iterator[list[str]]:
    """Yield the fields of the lines of a BED file that are not empty, comments or headings."""
    text = text_of(path).decode(errors="replace")
    for line in text.split("\n"):
        line = line.removeprefix("\ufeff").strip()
        words = line.split()
        if words and not line.startswith("#") and words[0] not in ("track", "browser"):
            yield [field.strip() for field in line.split("\t")] if "\t" in line else words


def interval_of(row: list[str]) -> tuple[str, int, int]:
    """Return the interval of a row.

    Raises:
        Refused: it is none on the contigs of LENGTHS.
    """
    if len(row) < 3 or not all(text.isascii() and text.isdigit() for text in row[1:3]):
        raise Refused("not contig, start and end")
    contig, start, end = row[0], int(row[1]), int(row[2])
    if not 0 <= start <= end <= LENGTHS.get(contig, -1):
        raise Refused("not on the reference")
    return contig, start, end


class Fasta(TextTarget):
    """Contigs of a FASTA; the answer is names and upper-case sequences."""

    name, suffix, compressed, separator = "fasta", ".fa", True, b" "
    texts = (
        ">one first\nACGTN\nACGRY\nacgtn\n>chr2\n" + "ACGTT\n" * 30 + ">X;y\nU\n",
        "\n>one\r\nACGT\r\nAC\r\n>two x\r\nNNNN\r\nAC",
    )

    def read(self, path: Path) -> object:
        """Return the contigs of the file."""
        found: dict[str, str] = {}
        for piece in read_fasta(path):
            found[piece.name] = found.get(piece.name, "") + piece.letters.tobytes().decode()
        assert lengths_of_contigs(path) == {name: len(bases) for name, bases in found.items()}
        return list(found.items())

    def judge(self, path: Path) -> object:
        """Return the contigs by plain Python."""
        found: dict[str, str] = {}
        name = None
        for line in text_of(path).decode("latin-1").lstrip().split("\n"):
            if line.startswith(">"):
                words = line[1:].split(maxsplit=1)
                if not words or line[1:2].isspace() or words[0] in found:
                    raise Refused("no name, or a name twice")
                name = words[0]
                found[name] = ""
            elif name is None:
                raise Refused("no title")
            else:
                found[name] += line.translate({ord(blank): None for blank in " \t\r"}).upper()
        if not found or not all(bases and IUPAC.issuperset(bases) for bases in found.values()):
            raise Refused("no bases, or other letters")
        return list(found.items())


class FastaIndex(TextTarget):
    """The .fai of another program next to a FASTA; the answer is the sequence of a region that htslib reads with it."""

    name, suffix, always_same = "fai", ".fa.fai", True
    texts = ("one\t100\t5\t50\t51\nchr2\t70\t113\t50\t51\n",)

    def read(self, path: Path) -> object:
        """Return the contigs, read with the index that Quire uses for it."""
        fasta = path.with_suffix("")
        generator = random.Random(5)
        contigs = {name: random_bases(generator, int(size)) for name, size in (("one", 100), ("chr2", 70))}
        fasta.write_text("".join(f">{n}\n{b[:50]}\n{b[50:]}\n" for n, b in contigs.items()))
        with (
            tempfile.TemporaryDirectory(dir=path.parent) as scratch,
            pysam.FastaFile(str(indexed_fasta(fasta, Path(scratch)))) as stream,
        ):
            return {name: stream.fetch(name) for name in stream.references} == contigs

    def judge(self, path: Path) -> object:
        """Accept the FASTA, whose sequences do not depend on the index."""
        return True


class Bed(TextTarget):
    """Intervals of a BED file."""

    name, suffix, compressed = "bed", ".bed", True
    texts = (
        "one\t10\t20\tname\nchr2\t0\t500\n# comment\nX\t5\t5\none\t3\t2999\n",
        'browser position\ntrack name="a"\none 1 2\nX 0 900 x y z\n',
    )

    def read(self, path: Path) -> object:
        """Return the intervals of the file."""
        return read_bed(path, LENGTHS)

    def judge(self, path: Path) -> object:
        """Return the intervals by plain Python."""
        found = [interval for interval in map(interval_of, rows_of(path)) if interval[1] < interval[2]]
        if not found:
            raise Refused("no intervals")
        return found


class Ploidy(TextTarget):
    """Ploidies by region."""

    name, suffix = "ploidy", ".bed"
    texts = ("X\t0\t900\t1\tmale\nX\t0\t900\t2\tfemale\none\t5\t6\t0\nchr2\t0\t500\t4\t1\n",)

    def read(self, path: Path) -> object:
        """Return the regions of the file."""
        return [
            (region.contig, region.start, region.end, region.ploidy, region.sex)
            for region in read_ploidy_regions(path, LENGTHS)
        ]

    def judge(self, path: Path) -> object:
        """Return the regions by plain Python."""
        found = []
        for row in rows_of(path):
            interval, text = interval_of(row), (*row[3:], "")[0]
            if not (text.isascii() and text.isdigit() and int(text) <= LARGEST_PLOIDY):
                raise Refused("ploidy")
            sex = SEXES.get(row[4].lower()) if len(row) > 4 else UNKNOWN
            if sex is None:
                raise Refused("sex")
            found.append((*interval, int(text), sex))
        if not found:
            raise Refused("no regions")
        return found


class PrimerFile(TextTarget):
    """Primers of amplicons."""

    name, suffix = "primers", ".bed"
    texts = ("X\t0\t30\ta\t1\t+\nX\t35\t44\tb\t1\t+\nX\t400\t430\tc\t2\t-\nchr2 0 30 d 1 + ACGT\n",)

    def read(self, path: Path) -> object:
        """Return the primers of the file."""
        found = read_primers(path, LENGTHS)
        return {contig: [own.forward.tolist(), own.reverse.tolist()] for contig, own in found.items()}

    def judge(self, path: Path) -> object:
        """Return the primers by the positions that they cover."""
        found: dict[str, list[list[list[int]]]] = {}
        covered: dict[str, list[set[int]]] = {}
        for row in rows_of(path):
            contig, start, end = interval_of(row)
            if len(row) < 6 or row[5] not in ("+", "-"):
                raise Refused("strand")
            if start < end:
                covered.setdefault(contig, [set(), set()])[row[5] == "-"].update(range(start, end))
        for contig, strands in covered.items():
            found[contig] = [[], []]
            for joined, positions in zip(found[contig], strands, strict=True):
                for position in sorted(positions):
                    if joined and position <= joined[-1][1] + TOLERANCE:
                        joined[-1][1] = position + 1
                    else:
                        joined.append([position, position + 1])
        if not found:
            raise Refused("no primers")
        return found


class KnownSites(TextTarget):
    """Frequencies of known sites in a VCF."""

    name, suffix, compressed = "known_sites", ".vcf", True
    texts = (
        "##fileformat=VCFv4.2\n##contig=<ID=one>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        "one\t10\trs1\tA\tC\t.\tPASS\tDP=3;AF=0.5\none\t20\t.\tA\tC,G\t.\t.\tAF=0.1,0.2\n"
        "chr2\t7\t.\tg\tt\t5\t.\tAF=0.07\nX\t1\t.\tA\tC\t.\t.\tAF=0.5\nother\t1\t.\tA\tC\t.\t.\tAF=0.5\n"
        "one\t5\t.\tAC\tC\t.\t.\tAF=0.4\none\t3000\t.\tT\tC\t.\t.\tAF=0.949\n",
    )

    def read(self, path: Path) -> object:
        """Return the sites of the file."""
        sites = read_known_sites(path, LENGTHS)
        contigs = np.repeat(np.arange(len(LENGTHS)), np.diff(sites.first))
        return [
            tuple(row)
            for row in zip(
                contigs.tolist(), sites.positions.tolist(), sites.reference.tolist(), sites.alternate.tolist(),
                sites.frequencies.tolist(), strict=True,
            )
        ]  # fmt: skip

    def judge(self, path: Path) -> object:
        """Return the sites by plain Python."""
        lines = text_of(path).split(b"\n")
        if not lines[0].startswith(b"##fileformat=VCF"):
            raise Refused("no VCF")
        found: dict[tuple[int, int], tuple[int, int, int, int, float]] = {}
        for line in lines[1:]:
            if line.startswith(b"#") or not line:
                continue
            fields = line.decode("latin-1").rstrip("\r").split("\t")
            if len(fields) < 8:
                raise Refused("fields")
            contig, alleles = fields[0], (fields[3].upper(), fields[4].upper())
            if contig not in ("one", "chr2") or not all(len(one) == 1 and one in "ACGT" for one in alleles):
                continue
            try:
                given = [field[3:] for field in fields[7].split(";") if field.startswith("AF=")]
                frequency = 0.0 if given in ([], ["."]) else float(given[0].split(",")[0])
                if not RAREST <= frequency <= 1 - RAREST:
                    continue
                position = int(fields[1])
            except ValueError:
                raise Refused("numbers") from None
            if 0 < position <= LENGTHS[contig]:
                place = list(LENGTHS).index(contig), position - 1
                found.setdefault(place, (*place, *("ACGT".index(one) for one in alleles), frequency))
        if not found:
            raise Refused("no sites")
        return [found[place] for place in sorted(found)]


class Alternate(TextTarget):
    """A list of alternate contigs; the answer is which contigs are alternate."""

    name, suffix = "alt", ".fa.alt"
    texts = (
        "@SQ\tSN:one\tLN:3000\nchr2\t0\tone\t101\t60\t10S400M5D80M10S\t*\t0\t0\t*\t*\tNM:i:0\nX\t16\tone\t11\t0\t900M\t*\t0\t0\t*\t*\n",
        "chr2\nX\n",
    )

    def read(self, path: Path) -> object:
        """Return 1 for each alternate contig of LENGTHS."""
        return read_alternate(path, list(LENGTHS), np.array(list(LENGTHS.values())))[0].tolist()

    def judge(self, path: Path) -> object:
        """Return the contigs named in the first column."""
        try:
            lines = path.read_bytes().decode()
        except UnicodeDecodeError:
            raise Refused("text") from None
        names = {line.split("\t")[0].strip() for line in lines.splitlines() if not line.startswith("@")} - {""}
        if not names <= set(LENGTHS) or not names or names == set(LENGTHS):
            raise Refused("names")
        return [int(name in names) for name in LENGTHS]


class Sheet(TextTarget):
    """The sheet of units; the answer is the text of its columns."""

    name, suffix = "sheet", ".tsv"
    texts = (
        "sample\tunit\tfq1\tfq2\tplatform\nA\t1\ta_1.fq\ta_2.fq\tILLUMINA\n# comment\nB\tx\tb.fq\t\t\n",
        "sample\tunit\tbam\tmine\nA\tL1\ta.bam\tfree text\n",
        'sample,unit,fq1\nA,1,"a.fq, b.fq"\n"B.2",x,b.fq\n',
        "patient,sex,status,sample,lane,fastq_1,fastq_2,bam,cram\np,XX,0,A.1,L1,a_1.fq,a_2.fq,,\np,XX,0,B,,,,,b.cram\n",
        "RGID,RGSM,RGLB,Lane,Read1File,Read2File\nAC.GT.1,A,UnknownLibrary,1,a_1.fq,a_2.fq\n",
    )
    forms = (
        {"sample": "sample", "unit": "unit", "fq1": "fq1", "bam": "bam"},
        {"sample": "sample", "unit": "lane", "fq1": "fastq_1", "bam": "bam", "cram": "cram"},
        {"sample": "RGSM", "unit": "RGID", "fq1": "Read1File"},
    )

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change the text, by the separator of its fields."""
        return mutate_lines(generator, content, b"\t" if b"\t" in content else b",")

    def read(self, path: Path) -> object:
        """Return the columns that a sheet of units has, as text."""
        rows = read_sheet(str(path), read_schema(SCHEMAS / "units.schema.yaml"))
        return [(row.values["sample"], row.values["unit"], row.values["fq1"], row.values["bam"]) for row in rows]

    def judge(self, path: Path) -> object:
        """Return the columns by the csv module."""
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refused("text") from None
        lines = [line.rstrip() for line in io.StringIO(text, newline=None)]
        kept = [line for line in lines if line.strip(", ") and not re.match("#(?!sample[\t,])", line)]
        if any("\x00" in line for line in kept):
            raise Refused("NUL")
        tabs = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        how = tabs if kept and ("\t" in kept[0] or "," not in kept[0]) else {"skipinitialspace": True, "strict": True}
        try:
            rows = [re.sub("\0+$", "", "\0".join(map(str.strip, row))).split("\0") for row in csv.reader(kept, **how)]
        except csv.Error as error:
            raise Refused(f"CSV: {error}") from None
        if len(rows) < 2:
            raise Refused("rows")
        header = [name.removeprefix("#").strip() for name in rows[0]]
        sizes = [len({*header} & {*form.values()}) for form in self.forms]
        form = self.forms[0 if {"unit", "fq1"} & {*header} else sizes.index(max(sizes))]
        if len(set(header)) < len(header) or not {form["sample"], form["unit"]} - {"lane"} <= set(header):
            raise Refused("header")
        if len(rows[0]) < max(map(len, rows)):
            raise Refused("fields")
        found = [row for row in (dict(zip(header, row, strict=False)) for row in rows[1:]) if any(row.values())]
        return [self._values(found[: number + 1], form) for number in range(len(found))]

    def _values(self, rows: list[dict[str, str]], form: dict[str, str]) -> tuple[str, ...]:
        """Return the values of the last row as units have them."""
        sample, unit, fq1, bam, cram = (
            rows[-1].get(form.get(name, ""), "") for name in ("sample", "unit", "fq1", "bam", "cram")
        )
        if form is not self.forms[0]:
            unit = re.sub(r"[^\w-]", "_", unit, flags=re.ASCII)
        if form is self.forms[1]:
            unit = unit or str(sum(row.get("sample", "") == sample for row in rows))
            if rows[-1].get("status", "0") not in ("0", "") or (bam and cram):
                raise Refused("status, or two files")
        return sample, unit, fq1, bam or cram


class Config(TextTarget):
    """A configuration; the answer is its content as PyYAML reads it. Its meaning is checked too."""

    name, suffix, separator = "config", ".yaml", b": "
    texts = (
        "reference:\n  fasta: /nowhere/a.fa\n  index: ''\nsamples: s.tsv\nunits: u.tsv\nalign:\n  umis: false\n"
        "rescore:\n  gvcf: true\n  intervals: a.bed\n  interval_size: 1000000\noutput: results\n",
        '{"reference": {"fasta": "a.fa"}, "mems": [], "threads": 3}\n',
        "reference: {fasta: a.fa}\nalign: {format: CRAM, umi: None}\nrescore: {error_model: Dragen, emit: VARIANTS}\n",
    )

    def read(self, path: Path) -> object:
        """Return the content of the file, after the schema and the checks of its meaning ran on it."""
        content = read_config_file(path)
        load_quietly(content)
        return json.dumps(content, default=str, sort_keys=False)

    def judge(self, path: Path) -> object:
        """Return the content by the json module or by PyYAML, in Snakemake's order: only JSON may hold tabs."""
        try:
            text = path.read_bytes().decode()
            try:
                content = json.loads(text)
            except ValueError:
                content = yaml.safe_load(text)
            if not isinstance(content, dict):
                raise Refused("no keys")
            return json.dumps(content, default=str, sort_keys=False)
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError) as error:
            raise Refused(type(error).__name__) from None


def load_quietly(content: dict[str, Any]) -> None:
    """Check a configuration; it names files that do not exist, so that a refusal is right.

    Raises:
        AssertionError: the schema accepts a word and does not read it as the same in lower case.
    """
    with suppress(QuireError):
        settings = complete_settings(content, read_schema(SCHEMAS / "config.schema.yaml"))
        for block, key in (("align", "format"), ("align", "umi"), ("rescore", "error_model"), ("rescore", "emit")):
            given = (content.get(block) or {}).get(key)
            assert given is None or settings[block][key] == given.lower()
    with suppress(QuireError):
        load(content, SCHEMAS)
