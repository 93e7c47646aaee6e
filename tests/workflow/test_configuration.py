"""Mistakes in the configuration or the sheets: each gives one sentence before any job starts."""

import contextlib
import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pysam
import pytest
import yaml
from quire.device.choice import parse_memory
from quire.errors import InputError
from quire.run import config
from quire.run.before_jobs import check_before_jobs, check_first_reads
from quire.run.config_file import read_config_file, refuse_unreadable
from quire.run.contig_names import contig_lengths
from quire.run.exact_tools import fasta_and_region
from quire.run.schema import read_schema
from snakemake.cli import parse_config

from tests.workflow.runs import REPOSITORY, SMALL, Run, errors_of

SCHEMAS = REPOSITORY / "workflow" / "schemas"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a correct run with copies of the files in its own folder; the test makes one mistake in it."""
    for path in SMALL.iterdir():
        shutil.copy(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    unit = {
        "sample": "NA12878",
        "unit": "lane_1",
        "fq1": "NA12878_R1.fastq.gz",
        "fq2": "NA12878_R2.fastq.gz",
        "platform": "ILLUMINA",
        "library": "lib",
    }
    return Run(tmp_path, config={"reference": {"fasta": "genome.fa.gz"}}, units=[unit])


def load(run: Run) -> config.Configuration:
    """Load the configuration from disk, as common.smk does."""
    return config.load(yaml.safe_load((run.folder / "config.yaml").read_text()), SCHEMAS)


def second_unit(run: Run, **changes: str) -> None:
    """Add a second lane with its own copies of the reads."""
    for mate in "12":
        shutil.copy(run.folder / f"NA12878_R{mate}.fastq.gz", run.folder / f"other_R{mate}.fastq.gz")
    other = {"unit": "lane_2", "fq1": "other_R1.fastq.gz", "fq2": "other_R2.fastq.gz"}
    run.units.append({**run.units[0], **other, **changes})


def replace(run: Run, name: str, content: bytes) -> None:
    """Replace a file of the run."""
    (run.folder / name).write_bytes(content)


def link(run: Run, name: str, target: str) -> None:
    """Replace a file of the run by a symbolic link."""
    (run.folder / name).unlink()
    (run.folder / name).symlink_to(target)


def set_key(dotted: str, value: object) -> Callable[[Run], None]:
    """Return a mistake that sets one configuration key, given by its dotted name."""

    def change(run: Run) -> None:
        *blocks, key = dotted.split(".")
        place = run.config
        for block in blocks:
            place = place.setdefault(block, {})
        place[key] = value

    return change


def set_unit(**values: str) -> Callable[[Run], None]:
    """Return a mistake that sets values of the first unit."""
    return lambda run: run.units[0].update(values)


def set_search(tool: str, *names: str, **keys: object) -> Callable[[Run], None]:
    """Return a change that adds searches of an exact tool under these names, all with the same keys."""
    return lambda run: run.config.update({tool: [{"name": name, **keys} for name in names]})


def name_sample(name: str) -> Callable[[Run], None]:
    """Return a mistake that names the sample in both sheets."""
    return lambda run: run.samples[0].update(sample=name) or run.units[0].update(sample=name)


# What shells, Snakemake, htslib, browsers and file systems take for more than a part of a name.
HOSTILE = (
    *("'", '"', "`", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "${HOME}", "$(touch pwned)"),
    *("; touch pwned", "\\", "../../x", "/etc/x", "..", ".x", "a b", "\N{GRINNING FACE}", "ä", "\u202e", "\u200f"),
    *("a" * 81, "a" * 300, "ba" * 20, "{x}", "%s", "{0.__class__}", "=cmd|x!A0", "a:b", "a,b", "*", "~", "&"),
)
CONTROL = ("\n", "\t", "\r", "\0", "\x1b[2J", "\x7f", "\x85", "\u2028", "\udcff")
FILE_KEYS = ("reference.fasta", "reference.mask", "rescore.intervals", "rescore.ploidy_regions", "rescore.alleles",
             "rescore.primers", "annotate.gff3", "report.known_sites", "report.pedigree", "report.truth.vcf",
             "report.truth.bed")  # fmt: skip
FOLDER_KEYS = ("output", "reference.index_directory")

HOSTILE_NAMES: list[tuple[Callable[[Run], object], str]] = [
    *((name_sample(name), "samples.tsv, line 2: ") for name in HOSTILE),
    *((set_unit(unit=name), "units.tsv, line 2: ") for name in HOSTILE),
    *((set_unit(library=name), "units.tsv, line 2: ") for name in HOSTILE if "aa" not in name and "ba" not in name),
    *((set_unit(platform=name), "units.tsv, line 2: platform ") for name in HOSTILE),
    *((set_search("mems", name, queries="genome.fa.gz"), "mems[1].name is ") for name in HOSTILE),
    *((set_search("mems", f"a{name}", queries="genome.fa.gz"), "mems[1].name ") for name in CONTROL),
    *((set_key(key, f"a{name}b"), f"{key} holds a control character") for name in CONTROL
      for key in (*FILE_KEYS, *FOLDER_KEYS, "samples", "units")),
    *((set_key("reference.assembly", f"a{name}"), "reference.assembly ") for name in CONTROL),
    *((set_unit(fq1=f"a{name}b"), "units.tsv, line 2: the row holds a control character") for name in CONTROL
      if name not in "\n\t\r\udcff"),
    *((set_key(key, f"a{name}b"), f"{key}: a{name}b has one of {{}}<> in its name") for name in ("{x}", "<x>")
      for key in (*FILE_KEYS, *FOLDER_KEYS) if key != "report.truth.bed"),
    *((set_key(key, "x" * 256), "with a name of more than 255 bytes; shorten it") for key in FOLDER_KEYS),
    (set_key("reference.assembly", "</script>"), "reference.assembly is '</script>' and may hold no tabs, no < and >"),
    (set_key("reference.fasta", "a##idx##b"), "a##idx##b: has ##idx## in its name"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE_NAMES)))
def test_names_that_are_more_than_text(number: int, run: Run) -> None:
    """A name that a path, a shell, a header or a page could take for something else is refused in one sentence."""
    mistake, expected = HOSTILE_NAMES[number]
    mistake(run)
    with contextlib.suppress(UnicodeEncodeError):
        run.write()
    with pytest.raises(InputError) as caught:
        load(run)
    lines = str(caught.value).split("\n")  # a name that stands in both sheets is wrong in both
    assert expected in lines[0]
    assert all(line.isprintable() and line.endswith(".") for line in lines)


MISTAKES: dict[str, tuple[Callable[[Run], object], str]] = {
    "unknown key": (set_key("threads", 3), "the key threads is unknown"),
    "unknown key in a block": (
        set_key("align.formt", "bam"),
        "reads_per_batch); its nearest is format; config/README.md explains every key.",
    ),
    "unknown key of letters exchanged": (set_key("rescore.gvfc", True), "filters); its nearest is gvcf; config"),
    "unknown key deep down": (set_key("report.truth.vfc", "x"), "the key report.truth.vfc is unknown"),
    "key of another block": (
        set_key("reference.index", "shared"),
        "the key reference.index is unknown (known here: fasta, assembly, mask, index_directory, page_size)",
    ),
    "no reference": (lambda run: run.config.pop("reference"), "the key reference is missing"),
    "no fasta": (set_key("reference", {"page_size": 5000}), "the key reference.fasta is missing"),
    "assembly of two columns": (set_key("reference.assembly", "GRCh38\tx"), "may hold no tabs"),
    "empty fasta": (set_key("reference.fasta", ""), "reference.fasta is empty"),
    "fasta not there": (set_key("reference.fasta", "no.fa"), "no.fa does not exist"),
    "fasta a folder": (set_key("reference.fasta", "."), "is not an ordinary file"),
    "fasta empty": (lambda run: replace(run, "genome.fa.gz", b""), "genome.fa.gz is empty"),
    "fasta text": (lambda run: replace(run, "genome.fa.gz", b"hello\n"), "is not a FASTA"),
    "fasta truncated in its first block": (
        lambda run: replace(run, "genome.fa.gz", (SMALL / "genome.fa.gz").read_bytes()[:12]),
        "damaged gzip",
    ),
    "cram with plain gzip": (set_key("align.format", "cram"), "plain gzip, which CRAM cannot use"),
    "no such error model": (
        set_key("rescore.error_model", "illumina"),
        "rescore.error_model is 'illumina' and must be one of gatk, dragen",
    ),
    "wrong type": (set_key("reference.page_size", "many"), "must be of type integer"),
    "number out of range": (set_key("reference.page_size", 10), "must be at least 1024"),
    "no read at all": (set_key("rescore.minimum_support", 0), "rescore.minimum_support is 0 and must be at least 1"),
    "neither true nor false": (set_key("rescore.long_indels", "maybe"), "must be of type boolean"),
    "depth of zero": (set_key("align.low_depth", 0), "align.low_depth"),
    "optical duplicates that are not marked": (
        set_key("align", {"optical_distance": 100, "mark_duplicates": False}),
        "align.optical_distance is given without align.mark_duplicates",
    ),
    "no distance": (set_key("align.optical_distance", 0), "align.optical_distance is 0 and must be at least 1"),
    "wrong choice": (set_key("align.index_format", "tbi"), "must be one of bai, csi"),
    "block not a block": (set_key("align", "fast"), "must be of type object"),
    "backend unknown": (set_key("device.backend", "tpu"), "must be one of auto, gpu, cpu"),
    **{
        f"memory {value!r}": (
            set_key("device.memory", value),
            f"device.memory is {value!r} and must look like auto or 4GB or 800MB",
        )
        for value in ("4", 4, "4GiB", "4 GB", "0GB", "50MB", "-4GB", "plenty")
    },
    "samples sheet not there": (set_key("samples", "no.tsv"), "no.tsv: the sheet does not exist"),
    "units sheet empty": (
        lambda run: set_key("units", "nothing.tsv")(run) or replace(run, "nothing.tsv", b""),
        "empty",
    ),
    "sample unknown": (set_unit(sample="NA1"), "units.tsv, line 2: sample NA1 is not in samples.tsv"),
    "sample without units": (
        lambda run: run.samples.append({"sample": "NA2", "ploidy": "2"}),
        "samples.tsv, line 3: sample NA2 has no unit",
    ),
    "sample twice": (
        lambda run: run.samples.append({"sample": "NA12878", "ploidy": "1"}),
        "samples.tsv, line 3: sample NA12878 is already in line 2; rename or remove one",
    ),
    "sample badly named": (
        lambda run: run.samples[0].update(sample="NA 12878"),
        "samples.tsv, line 2: sample 'NA 12878' may hold only letters",
    ),
    "units that differ in case": (
        lambda run: second_unit(run, unit="LANE_1"),
        "units.tsv, line 3: unit NA12878.LANE_1 is already in line 2, apart from upper and lower case; give each",
    ),
    "unit badly named": (set_unit(unit="lane.1"), "units.tsv, line 2: unit 'lane.1' may hold only letters"),
    "unit empty": (set_unit(unit=""), "units.tsv, line 2: the column unit is empty"),
    "ploidy zero": (lambda run: run.samples[0].update(ploidy="0"), "ploidy '0' must be a positive whole number"),
    "ploidy a word": (lambda run: run.samples[0].update(ploidy="two"), "ploidy 'two' must be a positive whole number"),
    "sex unheard of": (lambda run: run.samples[0].update(sex="x"), "samples.tsv, line 2: sex 'x' must be male, female"),
    "mask not there": (set_key("reference.mask", "no.bed"), "reference.mask: no.bed does not exist"),
    "ploidy regions not there": (
        set_key("rescore.ploidy_regions", "no.bed"),
        "rescore.ploidy_regions: no.bed does not exist",
    ),
    "ploidy a fraction": (lambda run: run.samples[0].update(ploidy="1.5"), "ploidy '1.5' must be"),
    "platform unknown": (set_unit(platform="NANO"), "platform 'NANO' is not one of"),
    "unit twice": (
        lambda run: second_unit(run, unit="lane_1"),
        "units.tsv, line 3: unit NA12878.lane_1 is already in line 2",
    ),
    "reads not there": (set_unit(fq2="no.fastq.gz"), "units.tsv, line 2, column fq2: no.fastq.gz does not exist"),
    **{
        f"reads of a name with {character}": (
            set_unit(fq1=f"reads{character}1.fastq.gz"),
            f"column fq1: reads{character}1.fastq.gz has one of {{}}<> in its name",
        )
        for character in "{}<>"
    },
    "reads empty": (lambda run: replace(run, "NA12878_R1.fastq.gz", b""), "NA12878_R1.fastq.gz is empty"),
    "reads an empty gzip": (lambda run: replace(run, "NA12878_R1.fastq.gz", gzip.compress(b"")), "holds no reads"),
    "a control that is no FASTQ": (
        lambda run: replace(run, "NA12878_R1.fastq.gz", gzip.compress(b"r")) or set_unit(may_be_empty="yes")(run),
        "NA12878_R1.fastq.gz is not a FASTQ",
    ),
    "reads a BAM": (
        lambda run: replace(run, "NA12878_R1.fastq.gz", gzip.compress(b"BAM\1" + bytes(50))),
        "is a BAM file, not a FASTQ",
    ),
    "reads a CRAM": (lambda run: replace(run, "NA12878_R1.fastq.gz", b"CRAM\3\0"), "CRAM"),
    "reads a bzip2": (lambda run: replace(run, "NA12878_R1.fastq.gz", b"BZh91AY"), "bzip2"),
    "reads a FASTA": (
        lambda run: replace(run, "NA12878_R1.fastq.gz", b">chr1\nACGT\n"),
        "is a FASTA file, not a FASTQ",
    ),
    "reads a text": (
        lambda run: replace(run, "NA12878_R1.fastq.gz", b"hello"),
        "is not a FASTQ: it starts with 'hello'",
    ),
    "same file as both mates": (set_unit(fq2="NA12878_R1.fastq.gz"), "is the same file as fq1 of NA12878.lane_1"),
    "same file by another spelling": (set_unit(fq2="./NA12878_R1.fastq.gz"), "is the same file as fq1"),
    "same file by a link": (
        lambda run: link(run, "NA12878_R2.fastq.gz", "NA12878_R1.fastq.gz"),
        "is the same file as fq1 of NA12878.lane_1",
    ),
    "same file in two lanes": (
        lambda run: second_unit(run, fq1="NA12878_R2.fastq.gz"),
        "units.tsv, line 3: NA12878_R2.fastq.gz is given as fq1 of NA12878.lane_2 but is the same file as fq2",
    ),
    "interleaved with mates of their own": (set_unit(interleaved="yes"), "leave fq2 empty"),
    "umis without the key": (set_unit(fq_umi="UMI.fq"), "line 2: fq_umi is given, and align.umi is not file; set"),
    "no file of umis": (set_key("align.umi", "file"), "line 2: NA12878.lane_1 has no file in fq_umi, and align.umi is"),
    "too few files of umis": (
        lambda run: (set_key("align.umi", "file")(run), set_unit(fq_umi="a.fq,b.fq")(run)),
        "line 2: fq1 names 1 files and fq_umi 2; each file of reads needs a file of UMIs",
    ),
    "a file of umis not there": (
        lambda run: (set_key("align.umi", "file")(run), set_unit(fq_umi="a.fq")(run)),
        "line 2, column fq_umi: a.fq does not exist",
    ),
    "umis of a BAM": (
        set_unit(fq1="", fq2="", fq_umi="a.fq", bam="x.bam"),
        "fq_umi is given, which does not apply to",
    ),
    "reads in both forms": (set_unit(bam="reads.bam"), "line 2: both fq1 and bam name files of NA12878.lane_1"),
    "reads in neither form": (set_unit(fq1="", fq2=""), "line 2: neither fq1 nor bam name files of NA12878.lane_1"),
    "mates of a BAM": (set_unit(fq1="", bam="x.bam"), "line 2: fq2 is given, which does not apply to bam"),
    "a BAM not there": (set_unit(fq1="", fq2="", bam="x.bam"), "line 2, column bam: x.bam does not exist"),
    "a BAM that is FASTQ": (
        set_unit(fq1="", fq2="", bam="NA12878_R1.fastq.gz"),
        "column bam: NA12878_R1.fastq.gz is neither a BAM nor a CRAM file: it starts with '@",
    ),
    "neither yes nor no": (set_unit(interleaved="maybe"), "line 2: interleaved 'maybe' must be yes or no"),
    "qualities of no kind": (set_unit(qualities="phred59"), "qualities 'phred59' must be phred33 or phred64"),
    "more first mates than second ones": (
        lambda run: second_unit(run) or set_unit(fq1="NA12878_R1.fastq.gz,other_R1.fastq.gz")(run),
        "units.tsv, line 2: fq1 names 2 files and fq2 1; each file of first mates needs a file of second mates",
    ),
    "file twice in a row": (
        set_unit(fq1="NA12878_R1.fastq.gz, NA12878_R1.fastq.gz", fq2=""),
        "NA12878_R1.fastq.gz is given as fq1 of NA12878.lane_1 but is the same file as fq1 of NA12878.lane_1",
    ),
    "filter unknown": (
        set_key("rescore.filters", {"snv": {"minimum_DP": 3}}),
        "the key rescore.filters.snv.minimum_DP is unknown",
    ),
    "filter no number": (
        set_key("rescore.filters", {"indel": {"maximum_FS": "high"}}),
        "rescore.filters.indel.maximum_FS is 'high' and must be of type",
    ),
    "emit unknown": (set_key("rescore.emit", "everything"), "rescore.emit is 'everything' and must be one of"),
    "callable without a minimum": (
        set_key("callable.maximum_depth", 60),
        "callable.minimum_depth 0; set a minimum depth",
    ),
    "no sample callable": (set_key("callable.sample_fraction", 0), "callable.sample_fraction: 0 is less than or equal"),
    "bands without gvcf": (
        set_key("rescore.gq_bands", "20,40"),
        "rescore.gq_bands: needs rescore.gvcf: true; give both or neither.",
    ),
    "bands that do not rise": (
        set_key("rescore", {"gvcf": True, "gq_bands": "60,20"}),
        "rescore.gq_bands: is 60,20; give ascending numbers.",
    ),
    "bands that are no text": (set_key("rescore.gq_bands", [20]), "must look like 20,40,60"),
    "pooled support with gvcf": (
        set_key("rescore", {"gvcf": True, "pool_support": True}),
        "rescore.pool_support: does not go with rescore.gvcf: true; leave one of the two out.",
    ),
    "emit without gvcf": (set_key("rescore.emit", "all_sites"), "rescore.emit: needs rescore.gvcf: true; give both"),
    "intervals not there": (set_key("rescore.intervals", "no.bed"), "rescore.intervals: no.bed does not exist"),
    "truth not there": (set_key("report.truth.vcf", "no.vcf.gz"), "report.truth.vcf: no.vcf.gz does not exist"),
    "pedigree not there": (set_key("report.pedigree", "no.fam"), "report.pedigree: no.fam does not exist"),
    "pedigree of others": (
        set_key("report.pedigree", "regions.bed"),
        "regions.bed, line 1: has 3 columns; write family",
    ),
    "alleles not a VCF": (set_key("rescore.alleles", "regions.bed"), "rescore.alleles: regions.bed is not a VCF"),
    "known sites not a VCF": (
        set_key("report.known_sites", "regions.bed"),
        "report.known_sites: regions.bed is not a VCF",
    ),
    "genes not a GFF3": (
        set_key("annotate.gff3", "regions.bed"),
        "annotate.gff3: regions.bed is not a GFF3: its first line of data has 3 columns",
    ),
    "database not there": (
        set_key("annotate", {"program": "snpeff", "database": "GRCh38.105", "database_directory": "there"}),
        "annotate.database: there/GRCh38.105/snpEffectPredictor.bin does not exist (relative to",
    ),
    "cache not there": (
        set_key("annotate", {"program": "vep", "database": "homo_sapiens/105_GRCh38"}),
        "annotate.database: homo_sapiens/105_GRCh38/info.txt does not exist (relative to",
    ),
    "options with an open quote": (
        set_key("annotate", {"program": "vep", "options": "--plugin 'x"}),
        "annotate.options: cannot be split into words",
    ),
    "database of another name": (set_key("annotate.database", "-x"), "is a name such as GRCh38.105 for snpeff or"),
    "genes of no line": (
        lambda run: replace(run, "no.gff3", b"##gff-version 3\n") or set_key("annotate.gff3", "no.gff3")(run),
        "annotate.gff3: no.gff3 is not a GFF3: its first line of data has 0 columns",
    ),
    "truth not a VCF": (set_key("report.truth.vcf", "regions.bed"), "is not a VCF"),
    "truth regions alone": (set_key("report.truth.bed", "regions.bed"), "without report.truth.vcf"),
    "truth of a sample unknown": (
        set_key("report.truth", {"vcf": "truth.vcf.gz", "sample": "NA1"}),
        "report.truth.sample NA1 is not in samples.tsv",
    ),
    "search without a name": (set_key("mems", [{"queries": "genome.fa.gz"}]), "the key mems[1].name is missing"),
    "search without its file": (set_search("complete", "x"), "the key complete[1].reads is missing"),
    "searches no list": (set_key("mems", {"name": "x"}), "mems is {'name': 'x'} and must be of type array"),
    "key of a search unknown": (
        set_search("mems", "x", queries="genome.fa.gz", length=20),
        "the key mems[1].length is unknown (known here: name, queries, min_length, strands, unique)",
    ),
    "search badly named": (
        set_search("mems", "a/b", queries="genome.fa.gz"),
        "mems[1].name is 'a/b' and may hold only letters",
    ),
    "search twice": (
        set_search("mems", "x", "y", "x", queries="genome.fa.gz"),
        "mems: the name x stands twice; give each of its searches a name of its own",
    ),
    "search twice on disks without case": (
        set_search("mems", "x", "X", queries="genome.fa.gz"),
        "mems: the names x and X differ only in upper and lower case",
    ),
    "too many differences": (
        set_search("complete", "x", reads="NA12878_R1.fastq.gz", max_differences=6),
        "complete[1].max_differences is 6 and must be at most 5",
    ),
    "limit of hits below none": (
        set_search("complete", "x", reads="NA12878_R1.fastq.gz", max_hits=-1),
        "complete[1].max_hits is -1 and must be at least 0",
    ),
    "report of a search unknown": (
        set_search("complete", "x", reads="NA12878_R1.fastq.gz", report="some"),
        "complete[1].report is 'some' and must be one of all, best, count",
    ),
    "matches of no base": (
        set_search("mems", "x", queries="genome.fa.gz", min_length=0),
        "mems[1].min_length is 0 and must be at least 1",
    ),
    "strands unknown": (
        set_search("mems", "x", queries="genome.fa.gz", strands="minus"),
        "mems[1].strands is 'minus' and must be one of forward, reverse, both",
    ),
    "reads of a search not there": (
        set_search("complete", "x", reads="no.fq"),
        "complete x, reads: no.fq does not exist",
    ),
    "reads of a search a FASTA": (
        set_search("complete", "x", reads="genome.fa.gz"),
        "complete x, reads: genome.fa.gz is a FASTA file, not a FASTQ",
    ),
    "queries empty": (
        lambda run: set_search("mems", "x", queries="q.fa")(run) or replace(run, "q.fa", b""),
        "mems x, queries: q.fa is empty",
    ),
    "queries a BED": (
        set_search("mems", "x", queries="regions.bed"),
        "mems x, queries: regions.bed is neither a FASTA nor a FASTQ: it starts with 'chr22",
    ),
    "target not there": (
        set_search("pairwise", "x", query="genome.fa.gz", target="no.fa:chr22:1-5"),
        "pairwise x, target: no.fa does not exist",
    ),
    "query a FASTQ": (
        set_search("pairwise", "x", query="NA12878_R1.fastq.gz", target="genome.fa.gz"),
        "pairwise x, query: NA12878_R1.fastq.gz is not a FASTA",
    ),
    "region that ends before it begins": (
        set_search("pairwise", "x", query="genome.fa.gz", target="genome.fa.gz:chr22:9-5"),
        "pairwise x, target: the region chr22:9-5 does not go from a first base to a last one",
    ),
    "region from base zero": (
        set_search("pairwise", "x", query="genome.fa.gz:chr22:0-1,000", target="genome.fa.gz"),
        "pairwise x, query: the region chr22:0-1,000 does not go",
    ),
    "region without a name": (
        set_search("pairwise", "x", query="genome.fa.gz:", target="genome.fa.gz"),
        "pairwise x, query: genome.fa.gz: names no record after the colon",
    ),
    "match that costs": (
        set_search("pairwise", "x", query="genome.fa.gz", target="genome.fa.gz", scores={"match": -1}),
        "pairwise[1].scores.match is -1 and must be at least 1",
    ),
    "one sheet empty": (set_key("units", ""), "units is empty; name the sheet"),
    "no sheets and no search": (
        lambda run: run.config.update(samples="", units=""),
        "samples is empty; name the sheet, or for a run of the exact tools alone leave samples and units both empty",
    ),
    "truth without samples": (
        lambda run: (
            set_search("mems", "x", queries="genome.fa.gz")(run)
            or run.config.update(samples="", units="", report={"truth": {"vcf": "truth.vcf.gz"}})
        ),
        "report.truth.vcf is given without samples",
    ),
    "mems without a reference": (
        lambda run: (
            set_search("mems", "x", queries="genome.fa.gz")(run)
            or [run.config.pop(key) for key in ("reference", "samples", "units")]
        ),
        "the key reference is missing",
    ),
    "index in the folder of a tool": (
        set_key("reference.index_directory", "out/mems/index"),
        "a folder of other outputs",
    ),
    "output a file": (set_key("output", "genome.fa.gz"), "is not a folder"),
    "output below a file": (set_key("output", "genome.fa.gz/results"), "is not a folder"),
    "index in a folder of outputs": (
        set_key("reference.index_directory", "out/align/index"),
        "a folder of other outputs",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_one_sentence(name: str, run: Run) -> None:
    """One mistake in an otherwise correct run raises InputError with the sentence."""
    mistake, expected = MISTAKES[name]
    mistake(run)
    run.write()
    with pytest.raises(InputError) as caught:
        load(run)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_defaults_go_by_the_error_model(run: Run) -> None:
    """With `dragen`, default limits are those of GATK's DRAGEN mode; the user's values override them, in blocks too."""
    run.config["rescore"] = {"error_model": "dragen", "filters": {"snv": {"minimum_QD": 1}}}
    run.write()
    rescore = load(run).settings["rescore"]
    assert (rescore["minimum_quality"], rescore["minimum_mapping_quality"]) == (3, 1)
    assert (rescore["filters"]["snv"]["minimum_QD"], rescore["filters"]["snv"]["maximum_FS"]) == (1, None)
    assert rescore["filters"]["indel"]["minimum_QUAL"] == 10.4139
    run.config["rescore"] = {"error_model": "dragen", "minimum_quality": 20}
    run.write()
    assert load(run).settings["rescore"]["minimum_quality"] == 20


def test_right_run_loads_with_defaults(run: Run) -> None:
    """Defaults come from the schema; the index is below the output folder; library and ploidy have their types."""
    second_unit(run, library="", platform="")
    run.write()
    loaded = load(run)
    assert loaded.settings["reference"]["index_directory"] == os.path.join("out", "index")
    assert loaded.settings["device"] == {"backend": "auto", "memory": "auto"}
    assert loaded.settings["align"]["format"] == "bam"
    assert loaded.samples.to_dict("records") == [{"sample": "NA12878", "ploidy": 2, "sex": "unknown"}]
    assert loaded.units["library"].tolist() == ["lib", "NA12878"]
    assert loaded.units["platform"].tolist() == ["ILLUMINA", "ILLUMINA"]


def test_searches_get_their_defaults(run: Run) -> None:
    """Each entry of a list gets the defaults of its keys; numbers may be text from the command line."""
    set_search("complete", "x", "y", reads="NA12878_R1.fastq.gz", max_differences="3")(run)
    set_search("pairwise", "x", query="genome.fa.gz", target="genome.fa.gz:chr22:1-1,000", scores={"match": 2})(run)
    run.write()
    settings = load(run).settings
    assert [search["name"] for search in settings["complete"]] == ["x", "y"]
    assert settings["complete"][1]["max_differences"] == 3
    assert settings["complete"][1]["report"] == "all"
    assert settings["pairwise"][0]["scores"] == {"match": 2, "mismatch": 4, "gap_open": 6, "gap_extend": 1}
    assert settings["mems"] == []


@pytest.mark.parametrize(
    "left_out",
    [
        {"samples": "", "units": ""},
        {"samples": None, "units": None},  # the keys are absent, and this folder has no config/samples.tsv
    ],
)
def test_exact_tools_need_no_samples(left_out: dict[str, str | None], run: Run) -> None:
    """A run of the exact tools alone has no sheets, and one of pairwise alone no reference either."""
    set_search("mems", "x", queries="genome.fa.gz")(run)
    run.config |= left_out
    run.config = {key: value for key, value in run.config.items() if value is not None}
    run.write()
    loaded = load(run)
    assert (len(loaded.samples), len(loaded.units), loaded.settings["samples"]) == (0, 0, "")
    del run.config["mems"], run.config["reference"]
    set_search("pairwise", "x", query="genome.fa.gz", target="genome.fa.gz")(run)
    run.write()
    assert load(run).settings["reference"]["fasta"] == ""


def test_sheets_that_are_there_by_default_count(run: Run) -> None:
    """Adding a search to a run that relies on the default sheets keeps the run's samples."""
    (run.folder / "config").mkdir()
    for sheet in ("samples.tsv", "units.tsv"):
        shutil.copy(run.folder / sheet, run.folder / "config" / sheet)
    set_search("mems", "x", queries="genome.fa.gz")(run)
    del run.config["samples"], run.config["units"]
    run.write()
    assert load(run).samples["sample"].tolist() == ["NA12878"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("genome.fa.gz", ("genome.fa.gz", None)),
        ("genome.fa.gz:chr22", ("genome.fa.gz", "chr22")),
        ("genome.fa.gz:chr22:5-1,000", ("genome.fa.gz", "chr22:5-1,000")),
        ("genome.fa.gz:HLA:A*01:01:5-10", ("genome.fa.gz", "HLA:A*01:01:5-10")),
        ("with:colon.fa:chr22", ("with:colon.fa", "chr22")),
        ("with:colon.fa", ("with:colon.fa", None)),
        ("none.fa:chr22", ("none.fa", "chr22")),
    ],
)
def test_a_fasta_and_its_region_are_told_apart(text: str, expected: tuple[str, str | None], run: Run) -> None:
    """Paths and contig names may contain colons."""
    shutil.copy(run.folder / "genome.fa.gz", run.folder / "with:colon.fa")
    assert fasta_and_region(text) == expected


def test_blocks_left_empty_are_blocks_of_defaults(run: Run) -> None:
    """An empty block such as `align:`, left when a user comments out its keys, has all defaults."""
    run.config |= {"align": None, "report": {"truth": None}}
    run.write()
    assert load(run).settings["report"] == {
        "known_sites": "",
        "pedigree": "",
        "truth": {"vcf": "", "bed": "", "sample": ""},
    }


def test_numbers_given_on_the_command_line(run: Run) -> None:
    """Snakemake's `--config` leaves numbers and booleans inside blocks as text; they are converted."""
    given = parse_config(
        [
            "index={sampling_distance: 192}",
            "align={reads_per_batch: 500}",
            "rescore={gvcf: true, interval_size: 5e+6, minimum_quality: 22.5, long_indels: False}",
        ]
    )
    assert given["align"] == {"reads_per_batch": "500"}
    run.config |= given
    run.write()
    settings = load(run).settings
    assert (settings["rescore"]["interval_size"], settings["rescore"]["minimum_quality"]) == (5_000_000, 22.5)
    assert (settings["index"]["sampling_distance"], settings["align"]["reads_per_batch"]) == (192, 500)
    assert all(isinstance(value, int | float) for value in settings["index"].values())
    assert (settings["rescore"]["gvcf"], settings["rescore"]["long_indels"]) == (True, False)
    assert isinstance(settings["rescore"]["interval_size"], int)


def test_words_of_the_configuration_in_any_case(run: Run) -> None:
    """Enumerated values are taken whatever their case, and defaults that go by them too."""
    run.config |= {
        "device": {"backend": "CPU", "memory": "Auto"},
        "align": {"format": "BAM", "umi": "NONE", "reads_per_batch": "AUTO"},
        "rescore": {"error_model": "DRAGEN"},
    }
    set_search("mems", "x", queries="genome.fa.gz", strands="Both", unique="REFERENCE")(run)
    run.write()
    settings = load(run).settings
    assert settings["device"] == {"backend": "cpu", "memory": "auto"}
    assert [settings["align"][key] for key in ("format", "umi", "reads_per_batch")] == ["bam", "none", "auto"]
    assert (settings["rescore"]["error_model"], settings["rescore"]["minimum_quality"]) == ("dragen", 3)
    assert [settings["mems"][0][key] for key in ("strands", "unique")] == ["both", "reference"]


@pytest.mark.parametrize("memory", ["4GB", "1.5GB", "800MB", "auto"])
def test_memory_that_loads_can_be_read(memory: str, run: Run) -> None:
    """Every memory size that the schema accepts can be parsed by the jobs."""
    run.config |= {"device": {"backend": "gpu", "memory": memory}}
    run.write()
    assert (parse_memory(load(run).settings["device"]["memory"]) is None) is (memory == "auto")


SHEETS = {
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "no last line end": lambda text: text.rstrip("\n"),
    "spaces around values": lambda text: text.replace("\t", " \t "),
    "empty lines": lambda text: text.replace("\n", "\n\n \t\t\t\t\t\t\t\n", 1) + "\n\n",
    "trailing tabs": lambda text: text.replace("\n", "\t\t\n"),
    "comments": lambda text: "# who: me\n\n" + text.replace("\n", "\n#NA1\tgone\n", 1) + "  \n# the end\n",
    "a header as in PED files": lambda text: "#" + text,
    "byte order mark": lambda text: "\ufeff" + text,
    "quotes of R and of spreadsheets": lambda text: re.sub(r"[^\t\n]+", r'"\g<0>"', text),
}


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_as_people_save_them(name: str, run: Run) -> None:
    """Line ends, spaces, empty lines and a byte order mark do not change a sheet's content."""
    expected = load(run)
    for sheet in ("samples.tsv", "units.tsv"):
        changed = SHEETS[name]((run.folder / sheet).read_text())
        (run.folder / sheet).write_bytes(changed.encode())
    loaded = load(run)
    assert loaded.units.equals(expected.units)
    assert loaded.samples.equals(expected.samples)


def test_lines_are_counted_with_comments(run: Run) -> None:
    """A mistake after comments is reported with the line number that an editor shows."""
    replace(run, "samples.tsv", b"# a comment\n\nsample\tploidy\n# another\nNA12878\tmany\n")
    with pytest.raises(InputError, match=r"samples.tsv, line 5: ploidy 'many' must be"):
        load(run)
    replace(run, "samples.tsv", b"# a comment\n\nsample\tploidy\n# another\nNA12878\t2\tmore\n")
    with pytest.raises(InputError, match=r"samples.tsv, line 5: the row has more fields than the header"):
        load(run)


def test_other_columns_are_metadata(run: Run) -> None:
    """Columns that Quire does not use are kept unchanged for the report."""
    assert load(run).metadata == {"samples": [], "units": []}
    run.samples = [{"sample": "NA12878", "tissue": "blood", "collected": "2026-11-02"}]
    run.units[0] |= {"library": "", "machine": "A00296"}
    run.write()
    assert load(run).metadata == {
        "samples": [{"sample": "NA12878", "tissue": "blood", "collected": "2026-11-02"}],
        "units": [{"sample": "NA12878", "unit": "lane_1", "machine": "A00296"}],
    }


@pytest.mark.parametrize(("sheet", "column", "written", "read"), [
    ("units", "platform", "Illumina", "ILLUMINA"),
    ("units", "platform", "pacbio", "PACBIO"),
    ("units", "qualities", "Phred64", "phred64"),
    ("samples", "sex", "XX", "female"),
    ("samples", "sex", "m", "male"),
    ("samples", "sex", "2", "female"),
    ("samples", "sex", "-9", "unknown"),
    ("samples", "sex", "NA", "unknown"),
])  # fmt: skip
def test_words_in_any_case(sheet: str, column: str, written: str, read: str, run: Run) -> None:
    getattr(run, sheet)[0][column] = written
    run.write()
    assert getattr(load(run), sheet).loc[0, column] == read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"sample;unit;fq1\na;b;c\n", "not separated by tabs"),
        (b"sample  unit  fq1\na  b  c\n", "not separated by tabs"),
        (b"sample\tunit\tR1\tR2\na\tb\tc\td\n", "the column R1 is unknown; did you mean fq1\\?"),
        (b"sample\tunit\tfq1\tfastq_2\na\tb\tc\td\n", "the column fastq_2 is unknown; did you mean fq2\\?"),
        (b"sample\tunit\tfq1\tfq3\na\tb\tc\td\n", "the column fq3 is unknown; correct it to fq2, or"),
        (b"sample\tfq1\na\tb\n", "the column unit is missing"),
        (b"Sample\tunit\tfq1\na\tb\tc\n", "the column Sample is unknown; correct it to sample"),
        (b"sample\tunit\tfq1\tplatfrom\na\tb\tc\td\n", "the column platfrom is unknown; correct it to platform"),
        (b"sample\tunit\tfq1\t\tx\na\tb\tc\td\te\n", "a column has no name"),
        (b"# only a comment\n", "the sheet is empty"),
        (b"sample\tunit\tfq1\tfq1\na\tb\tc\td\n", "the column fq1 occurs twice in the header"),
        (b"sample\tunit\tfq1\n", "a header and no rows"),
        (b"sample\tunit\tfq1\na\tb\tc\td\n", "more fields than the header"),
        (b"sample\tunit\tfq1\na\tb\t\xff\xfe\n", "is not text"),
        (b"PK\x03\x04\xf4\xf5", "is not text"),
        (
            b'sample,unit,fq1\na,"b,c\n',
            r"units.tsv, line 2: the row is not CSV \(unexpected end of data\); check its",
        ),
        (b"sample,unit,fq1\na,b,c,d\n", "line 2: the row has more fields than the header; remove the extra one"),
        (b"patient,sample,lane,fastq1,fastq_2\na,a,1,b,c\n", "the column fastq1 is unknown; correct it to fastq_1, or"),
        (b"patient,sample,laen,fastq_1\na,a,1,b\n", "the column laen is unknown; correct it to lane, or"),
        (b"RGID,RGSM,RGLB,Lane,Read1,Read2File\na,a,b,1,b,c\n", "column Read1 is unknown; correct it to Read1File"),
        (b"RGID,RGLB,Lane,Read1File\na,b,1,c\n", "the column RGSM is missing"),
        (b"RGID,RGSM,Read1File\n,b,c\n", "line 2: the column RGID is empty"),
        (b"patient,sample,lane,fastq_1\na,b,1,\n", "line 2: neither fastq_1 nor bam name files of b.1"),
        (b"patient,sample,lane,fastq_1\na,b,1,no.fq\n", "line 2, column fastq_1: no.fq does not exist"),
        (b"patient,sample,status,lane,fastq_1\na,b,0,1,c\na,t,1,1,d\n", "line 3: status 1 is a tumour sample, and"),
        (b"patient,sample,lane,bam,cram\na,b,1,c,d\n", "line 2: both bam and cram name files"),
        (b"patient,sex,sample,lane,bam\na,XX,b,1,c\na,XY,b,2,d\n", "line 3: sample b has another sex or patient than"),
        (b"patient,sex,sample,lane,bam\na,both,b,1,c\n", "line 2: sex 'both' must be male, female or unknown"),
    ],
)
def test_sheet_of_another_shape(content: bytes, expected: str, run: Run) -> None:
    """A sheet that is not a table with the right columns is refused by name."""
    replace(run, "units.tsv", content)
    run.config["samples"] = "samples.tsv" if b"\tunit" in content or b"unit," in content else ""
    (run.folder / "config.yaml").write_text(yaml.safe_dump(run.config))
    with pytest.raises(InputError, match=expected) as caught:
        load(run)
    assert "units.tsv" in str(caught.value)


SAREK = """patient,sex,status,sample,lane,fastq_1,fastq_2,bam,bai,cram
p.1,XX,0,p1.blood,L001,NA12878_R1.fastq.gz,NA12878_R2.fastq.gz,,,
p.1,XX,0,p1.blood,L.2,other_R1.fastq.gz,other_R2.fastq.gz,,,
p2,NA,,p2,,,,x.bam,x.bam.bai,
p2,NA,,p2,,,,,,x.cram
"""
FASTQ_LIST = """RGID,RGSM,RGLB,Lane,Read1File,Read2File
ACGT.TTGA.1,p1.blood,UnknownLibrary,1,NA12878_R1.fastq.gz,NA12878_R2.fastq.gz
ACGT.TTGA.2,p1.blood,UnknownLibrary,2,other_R1.fastq.gz,
"""


@pytest.mark.parametrize("given", [{}, {"samples": ""}, {"samples": "units.tsv"}])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_the_sheet_of_sarek(separator: str, given: dict[str, str], run: Run) -> None:
    """It names samples and units; rows without a lane are numbered, and dots of lanes become _."""
    second_unit(run)
    replace(run, "x.bam", gzip.compress(b"BAM\1" + bytes(50)))
    replace(run, "x.cram", b"CRAM\3\0" + bytes(50))
    replace(run, "units.tsv", SAREK.replace(",", separator).encode())
    replace(
        run,
        "config.yaml",
        yaml.safe_dump({"reference": run.config["reference"], "units": "units.tsv"} | given).encode(),
    )
    loaded = load(run)
    assert loaded.settings["samples"] == "units.tsv"
    assert loaded.samples.to_dict("records") == [
        {"sample": "p1.blood", "ploidy": 2, "sex": "female"},
        {"sample": "p2", "ploidy": 2, "sex": "unknown"},
    ]
    columns = ["sample", "unit", "fq1", "fq2", "bam", "platform", "library"]
    assert [[*row.values()] for row in loaded.units[columns].to_dict("records")] == [
        ["p1.blood", "L001", ["NA12878_R1.fastq.gz"], ["NA12878_R2.fastq.gz"], [], "ILLUMINA", "p1.blood"],
        ["p1.blood", "L_2", ["other_R1.fastq.gz"], ["other_R2.fastq.gz"], [], "ILLUMINA", "p1.blood"],
        ["p2", "1", [], [], ["x.bam"], "ILLUMINA", "p2"],
        ["p2", "2", [], [], ["x.cram"], "ILLUMINA", "p2"],
    ]
    assert loaded.metadata["samples"] == [{"sample": "p1.blood", "patient": "p.1"}, {"sample": "p2", "patient": "p2"}]
    assert [row["bai"] for row in loaded.metadata["units"]] == ["", "", "x.bam.bai", ""]


def test_a_fastq_list(run: Run) -> None:
    """Sample, library and files come from its columns; RGID names the unit; a sheet of samples may say more."""
    second_unit(run)
    replace(run, "units.tsv", FASTQ_LIST.encode())
    run.config["samples"] = ""
    (run.folder / "config.yaml").write_text(yaml.safe_dump(run.config))
    loaded = load(run)
    assert loaded.samples.to_dict("records") == [{"sample": "p1.blood", "ploidy": 2, "sex": "unknown"}]
    assert loaded.units["unit"].tolist() == ["ACGT_TTGA_1", "ACGT_TTGA_2"]
    assert loaded.units["library"].tolist() == ["UnknownLibrary"] * 2
    assert loaded.units["fq2"].tolist() == [["NA12878_R2.fastq.gz"], []]
    assert [row["Lane"] for row in loaded.metadata["units"]] == ["1", "2"]
    replace(run, "samples.csv", b'"sample","ploidy"\n"p1.blood","1"\n')
    run.config["samples"] = "samples.csv"
    (run.folder / "config.yaml").write_text(yaml.safe_dump(run.config))
    assert load(run).samples["ploidy"].tolist() == [1]


def test_csv_is_read_like_tabs(run: Run) -> None:
    """Quoted fields may hold commas; a sheet with Quire's columns is one, whatever others it has."""
    second_unit(run)
    row = 'NA12878,1,"NA12878_R1.fastq.gz, other_R1.fastq.gz",p,,1,2,,,,'
    replace(run, "units.tsv", f'sample,unit,"fq1",patient,sex,status,lane\n{row}\n'.encode())
    loaded = load(run)
    assert loaded.units.loc[0, "fq1"] == ["NA12878_R1.fastq.gz", "other_R1.fastq.gz"]
    assert loaded.metadata["units"][0] == {
        "sample": "NA12878", "unit": "1", "patient": "p", "sex": "", "status": "1", "lane": "2",
    }  # fmt: skip


def test_quotes_between_tabs(run: Run) -> None:
    """A field in quotes, as Excel writes one with a comma, is read without them; other quotes belong to names."""
    second_unit(run)
    for name in ('a "b".fq.gz', '"c" d.fq.gz'):
        shutil.copyfile(run.folder / "other_R1.fastq.gz", run.folder / name)
    rows = (
        b'NA12878\t1\t"NA12878_R1.fastq.gz,other_R1.fastq.gz"\nNA12878\t2\t"a ""b"".fq.gz"\nNA12878\t3\t"c" d.fq.gz\n'
    )
    replace(run, "units.tsv", b"sample\tunit\tfq1\n" + rows)
    expected = [["NA12878_R1.fastq.gz", "other_R1.fastq.gz"], ['a "b".fq.gz'], ['"c" d.fq.gz']]
    assert load(run).units["fq1"].tolist() == expected


@pytest.mark.parametrize("other", ["NA12878.lane_1", "NA12878.target"])
def test_samples_whose_files_would_be_those_of_others(other: str, run: Run) -> None:
    """Names may hold dots, but not so that two results have one path."""
    second_unit(run, sample=other)
    run.samples.append({"sample": other, "ploidy": "2"})
    run.write()
    with pytest.raises(InputError, match=rf"samples.tsv, line 3: files of sample {other} would have the names of"):
        load(run)


def test_single_end_row_may_leave_out_trailing_fields(run: Run) -> None:
    """A single-end row may stop after fq1."""
    replace(run, "units.tsv", b"sample\tunit\tfq1\tfq2\tplatform\nNA12878\tlane_1\tNA12878_R1.fastq.gz\n")
    units = load(run).units
    assert units.loc[0, "fq2"] == []
    assert units.loc[0, "platform"] == "ILLUMINA"


def test_every_key_has_a_description_and_a_line_in_the_handbook() -> None:
    """config/README.md explains every key of the schema, and every optional key has a default."""
    handbook = (REPOSITORY / "config" / "README.md").read_text()

    def keys(schema: dict, prefix: str) -> None:
        for key, part in schema["properties"].items():
            name = f"{prefix}{key}"
            assert part["description"], name
            assert "default" in part or key in schema.get("required", []), name
            if "properties" in part:
                keys(part, f"{name}.")
            elif "properties" in part.get("items", {}):
                keys(part["items"], f"{name}.")
            else:
                assert f"`{name}`" in handbook, f"{name} is not explained in config/README.md"

    keys(read_schema(SCHEMAS / "config.schema.yaml"), "")
    for sheet in ("samples", "units"):
        for column in read_schema(SCHEMAS / f"{sheet}.schema.yaml")["properties"]:
            assert f"`{column}`" in handbook, f"column {column} is not explained in config/README.md"


def test_snakemake_shows_the_sentence_alone(tmp_path: Path) -> None:
    """Snakemake prints only the sentence and exits with status 1: no traceback, no output."""
    run = Run(tmp_path / "run", config={"reference": {"fasta": "no.fa"}})
    result = run.snakemake()
    assert result.returncode == 1
    assert errors_of(result.stdout) == [
        f"quire: error: reference.fasta: no.fa does not exist (relative to {run.folder})."
    ]
    assert "Traceback" not in result.stdout
    assert not run.output.exists()


@pytest.mark.full
def test_a_control_may_be_empty(run: Run) -> None:
    """Files that hold no reads are accepted with yes in may_be_empty, and those of 0 bytes are not."""
    set_unit(may_be_empty="yes")(run)
    for mate in "12":
        replace(run, f"NA12878_R{mate}.fastq.gz", gzip.compress(b""))
    run.write()
    loaded = load(run)
    check_first_reads(loaded)
    assert loaded.units["may_be_empty"].tolist() == [True]
    replace(run, "NA12878_R1.fastq.gz", b"")
    with pytest.raises(InputError, match="is empty; copy it again"):
        load(run)


def test_unedited_template_says_what_to_edit(tmp_path: Path) -> None:
    """In a fresh clone, the default command names everything to edit."""
    shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    run = Run(tmp_path)
    command = [part for part in run.command("-n") if part not in ("--configfile", str(tmp_path / "config.yaml"))]
    run.command = lambda *arguments: command
    result = run.snakemake()
    assert result.returncode == 1
    assert errors_of(result.stdout) == [
        f"quire: error: {key}: path/to/{name} does not exist (relative to {tmp_path})."
        for key, name in (
            ("reference.fasta", "reference.fa.gz"),
            ("config/units.tsv, line 2, column fq1", "lane_1_R1.fastq.gz"),
            ("config/units.tsv, line 2, column fq2", "lane_1_R2.fastq.gz"),
        )
    ]


@pytest.mark.parametrize(("text", "sentence"), [
    (b"reference:\n  fasta: x\n bad: [1\n", "line 3: is not YAML (expected <block end>"),
    (b"reference:\n\tfasta: x\n", "line 2: is not YAML: the line begins with a tab; indent it with spaces."),
    (b"reference: {fasta: 'x}\n", "line 2: is not YAML (found unexpected end of stream while scanning a"),
    (b"align:\n  umi: name\n  umi: none\n", "line 3: the key umi is already in line 2; remove one of the two."),
    (b"a: [{b: 1,\n b: 2}]\n", "line 2: the key b is already in line 1; remove one of the two."),
    (b"a: {<<: &x {k: 1}, k: 2,\n  <<: *x}\n", "line 2: the key << is already in line 1; remove one of the two."),
    (b'{"align": {"umi": "name",\n"umi": "none"}}', ", line 2: the key umi is already in line 1"),
    (b"", "holds no keys"),
    (b"- reference\n", "holds no keys"),
    (b"\xff\xfe", "is not text"),
    (b"a: \0", "is not YAML (unacceptable character"),
    (None, "the configuration does not exist (relative to "),
])  # fmt: skip
def test_a_file_that_is_no_configuration(text: bytes | None, sentence: str, run: Run) -> None:
    """An invalid configuration file gives one sentence with the line."""
    if text is not None:
        replace(run, "bad.yaml", text)
    with pytest.raises(InputError) as caught:
        read_config_file(Path("bad.yaml"))
    said = str(caught.value)
    assert said.startswith("bad.yaml")
    assert sentence in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.full
@pytest.mark.parametrize("profile", ["default", "slurm"])
def test_a_named_file_that_is_no_configuration(profile: str, run: Run) -> None:
    """With Quire's profiles, an invalid file, which Snakemake reads before the workflow, gives one sentence."""
    replace(run, "bad.yaml", b"reference:\n\tfasta: x\n")
    chosen = ["--workflow-profile", str(REPOSITORY / "profiles" / profile)]
    for name, sentence in (
        ("none.yaml", "none.yaml: the configuration does not exist (relative to "),
        ("bad.yaml", "bad.yaml, line 2: is not YAML: the line begins with a tab; indent it with spaces."),
    ):
        result = run.snakemake("-n", *chosen, "--configfile", name)
        assert result.returncode == 1
        assert errors_of(result.stdout) == [result.stdout.splitlines()[-1]]
        assert result.stdout.splitlines()[-1].startswith(f"quire: error: {sentence}")
        assert len(result.stdout.splitlines()) <= 2


@pytest.mark.full
def test_what_snakemake_says_of_a_named_file(run: Run) -> None:
    """Without Quire's profiles the message is the one in config/README.md, and `make check` prints the sentence."""
    shown = " ".join((REPOSITORY / "config/README.md").read_text().split())
    replace(run, "bad.yaml", b"reference:\n\tfasta: x\n")
    for name, said in (
        ("none.yaml", "FileNotFoundError: [Errno 2] No such file or directory: 'none.yaml'"),
        ("bad.yaml", "Config file is not valid JSON or YAML."),
    ):
        result = run.snakemake("-n", "--workflow-profile", "none", "--configfile", name)
        assert result.returncode == 1
        assert said in result.stdout
        assert said.replace("none.yaml", "my.yaml") in shown
        with pytest.raises(InputError, match=rf"{name}.*: "):
            read_config_file(Path(name))


@pytest.mark.parametrize("arguments", [
    ["--configfile", "a.yaml", "none.yaml", "--cores", "1"],
    ["-n", "--configfiles", "none.yaml"],
    ["--configfile=none.yaml", "a.yaml"],
    ["--configfile", "a.yaml", "--configfile", "none.yaml"],
])  # fmt: skip
def test_named_files_are_found_on_a_command_line(arguments: list[str], run: Run) -> None:
    (run.folder / "a.yaml").write_text("reference: {}\n")
    with pytest.raises(SystemExit, match=r"quire: error: none.yaml: the configuration does not exist"):
        refuse_unreadable(arguments)
    refuse_unreadable([argument.replace("none", "a") for argument in arguments])
    refuse_unreadable(["--configfile", "a.yaml", "--", "none.yaml"])


def test_a_key_without_a_value_is_one_left_out(run: Run) -> None:
    """`umi:` and `umi: null` mean the default, except where null is a value; unknown keys are reported."""
    run.config |= {"align": {"umi": None, "low_depth": None}, "rescore": None, "device": {"memory": None}}
    run.config["report"] = {"known_sites": None}
    run.write()
    settings = load(run).settings
    assert (settings["align"]["umi"], settings["align"]["low_depth"]) == ("none", 10)
    assert (settings["device"]["memory"], settings["report"]["known_sites"]) == ("auto", "")
    run.config["rescore"] = {"filters": {"snv": {"minimum_QD": None}}}
    run.write()
    assert load(run).settings["rescore"]["filters"]["snv"]["minimum_QD"] is None
    for wrong, sentence in (
        ({"align": {"ummi": None}}, "align.ummi is unknown"),
        ({"reference": None}, "reference is missing"),
    ):
        changed = Run(run.folder, config=run.config | wrong, units=run.units)
        with pytest.raises(InputError, match=sentence):
            load(changed)


def test_json_is_a_configuration(run: Run) -> None:
    """A JSON file is accepted, even with tabs, which YAML forbids."""
    replace(run, "config.json", b'{\n\t"reference": {"fasta": "x"}\n}')
    assert read_config_file(Path("config.json")) == {"reference": {"fasta": "x"}}


def test_anchors_and_merge_keys_are_no_keys_that_stand_twice(run: Run) -> None:
    """Anchors and merge keys are not duplicate keys, however nested; nor are the keys 1 and "1"."""
    text = b"a: {inner: &x {<<: &y {k: 1}, k: 2, l: [*y, *y]}}\nb: {<<: *x, m: 3}\nc: &z {k: 4, d: *x}\n1: a\n'1': b\n"
    replace(run, "config.yaml", text)
    inner = {"k": 2, "l": [{"k": 1}, {"k": 1}]}
    content = {"a": {"inner": inner}, "b": {**inner, "m": 3}, "c": {"k": 4, "d": inner}, 1: "a", "1": "b"}
    assert read_config_file(Path("config.yaml")) == content
    replace(run, "config.yaml", b"a: &a {b: 1, c: *a}\n")  # contains itself
    assert read_config_file(Path("config.yaml"))["a"]["b"] == 1


def test_advice_for_a_plate(run: Run) -> None:
    """Haploid samples that are called at once have a line that names rescore.gvcf; all others have none."""
    rows = [{"sample": "NA12878", "ploidy": "1"}, {"sample": "other", "ploidy": "1"}]
    second_unit(run, sample="other")
    advised = {}
    for rescore in ({}, {"gvcf": True}, {"pool_support": True}):
        for ploidy in "12":
            run.samples = [rows[0], {**rows[1], "ploidy": ploidy}]
            run.config["rescore"] = rescore
            run.write()
            advised[*rescore, ploidy] = config.advice_lines(load(run))
    said = {key: lines for key, lines in advised.items() if lines}
    assert [*said] == [("1",)]
    assert "the 2 haploid samples are called at once; rescore.gvcf: true" in said["1",][0]


def test_without_a_run(run: Run) -> None:
    """`quire check` prints the messages of a run and writes nothing."""

    def said() -> tuple[int, str]:
        command = [sys.executable, "-m", "quire", "check", "--configfile", "config.yaml"]
        variables = os.environ | {"PYTHONPATH": str(SCHEMAS.parent / "scripts")}
        result = subprocess.run(command, cwd=run.folder, capture_output=True, text=True, check=False, env=variables)
        return result.returncode, result.stdout + result.stderr

    assert said() == (0, "config.yaml: the configuration and its sheets are valid (samples: 1, units: 1).\n")
    run.config["align"] = {"formt": "bam"}
    run.write()
    status, sentence = said()
    assert status == 1
    assert sentence.startswith("quire: error: configuration: the key align.formt is unknown")
    assert not run.output.exists()


@pytest.mark.full
def test_the_file_that_is_read_by_default(tmp_path: Path) -> None:
    """If the default file is missing or not YAML, Snakemake's last line is the sentence, printed once."""
    run = Run(tmp_path)
    command = [part for part in run.command("-n") if part not in ("--configfile", str(tmp_path / "config.yaml"))]
    run.command = lambda *arguments: command
    for line, sentence in (("", "does not exist"), ("reference: [\n", "config/config.yaml, line 2: is not YAML")):
        if line:
            (tmp_path / "config").mkdir()
            (tmp_path / "config/config.yaml").write_text(line)
        result = run.snakemake()
        assert result.returncode == 1
        assert errors_of(result.stdout) == result.stdout.splitlines()[-1:]
        assert sentence in result.stdout


def test_gvcfs_need_calling_by_gvcf(run: Run) -> None:
    """Other runs' gVCFs are refused if samples are called together, or if a file is missing."""
    (run.folder / "other.g.vcf.gz").write_bytes(b"x")
    run.config["rescore"] = {"more_gvcfs": ["other.g.vcf.gz"]}
    run.write()
    with pytest.raises(InputError, match=r"rescore.more_gvcfs: needs rescore.gvcf: true; give both"):
        load(run)
    run.config["rescore"] = {"gvcf": True, "more_gvcfs": ["other.g.vcf.gz", "none.g.vcf.gz"]}
    run.write()
    with pytest.raises(InputError, match=r"rescore.more_gvcfs: none.g.vcf.gz does not exist"):
        load(run)


NAMING = {
    "reference.mask": ("x.bed", b"{other}\t0\t100\n", "line 1: unknown contig {other!r}"),
    "rescore.intervals": ("x.bed", b"# target\n{known}\t0\t100\n{other}\t0\t100\n", "line 3: unknown contig {other!r}"),
    "rescore.ploidy_regions": ("x.bed", b"{other} 0 100 1\n", "line 1: unknown contig {other!r}"),
    "rescore.primers": ("x.bed", b"{other}\t0\t100\tone\t1\t-\n", "line 1: unknown contig {other!r}"),
    "rescore.alleles": ("x.vcf", b"##fileformat=VCFv4.2\n{other}\t9\t.\tA\tC\t.\t.\t.\n", "such as {other!r}"),
    "annotate.gff3": ("x.gff3", b"##gff-version 3\n{other}\te\tgene\t1\t9\t.\t+\t.\tID=g\n", "such as {other!r}"),
    "report.known_sites": ("x.vcf", b"##fileformat=VCFv4.2\n{other}\t9\t.\tA\tC\t.\t.\tAF=0.4\n", "such as {other!r}"),
}


@pytest.mark.parametrize("key", NAMING)
@pytest.mark.parametrize("source", ["fasta", "index", "gzip"])
def test_contigs_are_held_against_the_reference(key: str, source: str, run: Run) -> None:
    """Contigs are checked before any job, with or without a FASTA index; the message names the reference's contig."""
    fasta = run.folder / "genome.fa"
    fasta.write_bytes(b">first one\n" + b"A" * 104 + b"\n>chr22\tx\n" + b"ACGT\n" * 30 + b">last\n" + b"A" * 107)
    if source == "index":
        pysam.faidx(str(fasta))
    if source == "gzip":
        Path(f"{fasta}.gz").write_bytes(gzip.compress(fasta.read_bytes()))
        fasta = Path(f"{fasta}.gz")
    known = {"first": 104, "chr22": 120, "last": 107}
    assert contig_lengths({"reference": {"fasta": str(fasta), "index_directory": "none"}}) == known
    set_key("reference.fasta", str(fasta))(run)
    name, text, sentence = NAMING[key]
    set_key(key, name)(run)
    run.write()
    hints = {"22": "the reference calls it 'chr22'", "chr7": "the reference has no such contig"}
    for other, hint in hints.items() if key != "annotate.gff3" else [("chr7", hints["chr7"])]:
        replace(run, name, text.replace(b"{other}", other.encode()).replace(b"{known}", b"last"))
        with pytest.raises(InputError) as caught:
            check_before_jobs(load(run))
        said = str(caught.value)
        assert said.startswith(f"{key}: {name}: ")
        assert sentence.format(other=other) in said
        assert said.endswith(f"{hint}.")
    # A table may also list other contigs, in any position.
    more = text.replace(b"{known}", b"first").replace(b"{other}", b"last")
    lines = more if key not in ("annotate.gff3", "report.known_sites") else more + more.splitlines()[-1][4:] + b"\n"
    replace(run, name, lines)
    check_before_jobs(load(run))


@pytest.mark.parametrize("key", [key for key, (name, _, _) in NAMING.items() if name.endswith(".bed")])
@pytest.mark.parametrize(("row", "sentence"), [
    (b"chr22 80 70 2", "line 2: the start 80 is after the end 70; correct the line"),
    (b"chr22 80 121 2", "line 2: the end 121 is beyond contig 'chr22' (120 bases); correct the line"),
    (b"chr22 80 x 2", "line 2: expected contig, start and end (whole numbers)"),
])  # fmt: skip
def test_rows_of_a_bed_are_checked_before_any_job(key: str, row: bytes, sentence: str, run: Run) -> None:
    (run.folder / "genome.fa").write_bytes(b">chr22\n" + b"ACGT\r\n" * 30)
    set_key("reference.fasta", "genome.fa")(run)
    set_key(key, "x.bed")(run)
    run.write()
    (run.folder / "x.bed").write_bytes(b"chr22 0 120 2 1 +\n")
    check_before_jobs(load(run))
    (run.folder / "x.bed").write_bytes(b"chr22 0 120 2 1 +\n" + row + b"\n")
    with pytest.raises(InputError, match=re.escape(f"{key}: x.bed: {sentence}")):
        check_before_jobs(load(run))


UMI_TEXT = "@r{0}:AC\nACGT\n+\nIIII\n"


@pytest.mark.parametrize("turn", ["", "yes"])
def test_umis_are_looked_at_before_any_job(turn: str, run: Run) -> None:
    """UMIs are checked before any job: in the first read names of FASTQ and BAM, and in UMI files."""
    twice = 2 if turn else 1
    set_key("align.umi", "name")(run)
    run.units = [{**run.units[0], "fq1": "r.fq", "fq2": "", "interleaved": turn}]
    run.write()
    right = [UMI_TEXT.format(i) for i in range(3) for _ in range(twice)]
    (run.folder / "r.fq").write_text("".join(right))
    check_before_jobs(load(run))
    (run.folder / "r.fq").write_text("".join(right).replace("r1:AC", "r1:XC"))
    with pytest.raises(
        InputError, match=r"column fq1: r.fq: align.umi: read 2 \(r1:XC\) has no UMI of A, C, G, T and N"
    ):
        check_before_jobs(load(run))

    set_key("align.umi", "file")(run)
    run.units = [{**run.units[0], "fq_umi": "u.fq"}]
    run.write()
    umis = "".join(UMI_TEXT.format(i) for i in range(3)).replace("r1:AC", "r1:XC")
    (run.folder / "u.fq").write_text(umis)
    check_before_jobs(load(run))
    for wrong, sentence in (
        (umis.replace("r2:AC", "r7:AC"), "record 3 is named r7:AC but that of r.fq is named r2:AC"),
        (umis.replace("ACGT\n+\nIIII", "\n+\n", 1), "record 1 has no bases"),
    ):
        (run.folder / "u.fq").write_text(wrong)
        with pytest.raises(InputError, match=f"column fq_umi: u.fq: {sentence}"):
            check_before_jobs(load(run))


def renamed_reads(run: Run, name: str, change: Callable[[int, bytes], bytes]) -> None:
    """Replace the lines of a FASTQ.gz, given with their numbers in the record."""
    lines = gzip.decompress((run.folder / name).read_bytes()).splitlines(keepends=True)
    replace(run, name, gzip.compress(b"".join(change(number % 4, line) for number, line in enumerate(lines))))


def test_the_same_reads_in_two_lanes(run: Run) -> None:
    """Copies of a lane's files under other names, packed anew or cut, are found before any job; other reads are not."""
    second_unit(run)
    run.write()
    renamed_reads(run, "other_R1.fastq.gz", lambda number, line: line)
    place = "units.tsv, NA12878.lane_2, column fq1: other_R1.fastq.gz of NA12878.lane_2 begins with the same reads as"
    with pytest.raises(InputError, match=f"{place} NA12878_R1.fastq.gz of NA12878.lane_1, by their names and bases"):
        check_first_reads(load(run))
    for mate in "12":  # the names of a simulator in both lanes
        renamed_reads(
            run, f"other_R{mate}.fastq.gz", lambda number, line: line[::-1].strip() + b"\n" if number == 1 else line
        )
    check_first_reads(load(run))


def test_the_same_reads_in_two_alignments(run: Run) -> None:
    """Lanes of BAM files, or a BAM made from the FASTQ of another lane; reads of other names are not refused."""
    with pysam.FastxFile(str(run.folder / "NA12878_R1.fastq.gz")) as stream:
        reads = [(one.name, one.sequence, one.quality) for one in islice(stream, 50)]
    with pysam.FastxFile(str(run.folder / "NA12878_R2.fastq.gz")) as stream:
        mates = [(one.name, one.sequence, one.quality) for one in islice(stream, 50)]
    header = {"HD": {"VN": "1.6", "SO": "unsorted"}, "RG": [{"ID": "x", "SM": "NA12878"}]}
    for name, prefix in (("a.bam", ""), ("b.bam", ""), ("other.bam", "other_")):
        with pysam.AlignmentFile(str(run.folder / name), "wb", header=header) as out:
            for pair in zip(reads, mates, strict=True):
                for flag, (title, bases, qualities) in zip((77, 141), pair, strict=True):
                    record = pysam.AlignedSegment(out.header)
                    record.query_name, record.flag, record.query_sequence = prefix + title, flag, bases
                    record.query_qualities = pysam.qualitystring_to_array(qualities)
                    out.write(record)
    none = {"fq1": "", "fq2": ""}
    first = {**run.units[0], "bam": ""}
    for units, other in (
        ([{**first, **none, "bam": "a.bam"}, {**first, **none, "unit": "lane_2", "bam": "b.bam"}], "a.bam"),
        ([first, {**first, **none, "unit": "lane_2", "bam": "b.bam"}], "NA12878_R1.fastq.gz"),
    ):
        run.units = units
        run.write()
        expected = (
            f"lane_2, column bam: b.bam of NA12878.lane_2 begins with the same reads as {other} of NA12878.lane_1"
        )
        with pytest.raises(InputError, match=expected):
            check_first_reads(load(run))
        run.units[1]["bam"] = "other.bam"
        run.write()
        check_first_reads(load(run))


@pytest.mark.parametrize("marks", [(b"/1", b"/2"), (b" 1:N:0:ACGT", b" 2:N:0:ACGT")])
def test_mates_in_exchanged_columns(marks: tuple[bytes, bytes], run: Run) -> None:
    """Names that mark the mates tell that fq1 and fq2 are exchanged."""
    for mate, mark in zip("12", marks, strict=True):
        renamed_reads(
            run,
            f"NA12878_R{mate}.fastq.gz",
            lambda number, line, mark=mark: line if number else line.split()[0] + mark + b"\n",
        )
    check_first_reads(load(run))
    set_unit(fq1="NA12878_R2.fastq.gz", fq2="NA12878_R1.fastq.gz")(run)
    run.write()
    with pytest.raises(
        InputError,
        match=r"fq1: by their names the reads of NA12878_R2.fastq\.gz are second.*first mates; exchange fq1 and fq2",
    ):
        check_first_reads(load(run))


def test_mates_of_another_run(run: Run) -> None:
    """A file of second mates whose first read has another name is found before any job."""
    renamed_reads(run, "NA12878_R2.fastq.gz", lambda number, line: line if number else b"@other/2\n")
    with pytest.raises(
        InputError, match=r"lane_1, column fq1: the first read of .* and that of \S+ other; give the two"
    ):
        check_first_reads(load(run))


def test_umis_of_a_bam_are_looked_at_before_any_job(run: Run) -> None:
    set_key("align.umi", "name")(run)
    run.units = [{**run.units[0], "fq1": "", "fq2": "", "bam": "r.bam"}]
    run.write()
    for names in (["r1:AC", "r2_ACG+T"], ["r1:AC", "r2"]):
        with pysam.AlignmentFile(str(run.folder / "r.bam"), "wb", header={"HD": {"VN": "1.6"}}) as stream:
            for name in names:
                record = pysam.AlignedSegment(stream.header)
                record.query_name, record.query_sequence, record.flag = name, "ACGT", 4
                stream.write(record)
        if names[1] != "r2":
            check_before_jobs(load(run))
    with pytest.raises(InputError, match=r"column bam: r.bam: align.umi: read 2 \(r2\) has no UMI"):
        check_before_jobs(load(run))


def test_an_indexed_table_is_not_read(run: Run) -> None:
    """An indexed table is not read, because its index names its contigs."""
    for name in ("truth.vcf.gz", "truth.vcf.gz.tbi"):
        if (SMALL / name).exists():
            shutil.copy(SMALL / name, run.folder / name)
    if not (run.folder / "truth.vcf.gz.tbi").exists():
        pysam.tabix_index(str(run.folder / "truth.vcf.gz"), preset="vcf", force=True)
    (run.folder / "genome.fa").write_text(">22\nACGT\n")
    set_key("reference.fasta", "genome.fa")(run)
    set_key("report.truth.vcf", "truth.vcf.gz")(run)
    run.write()
    with pytest.raises(InputError, match="none of its contigs, such as 'chr22', is in the reference"):
        check_before_jobs(load(run))
