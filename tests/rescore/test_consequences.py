"""Consequences of variants: the most severe of a record, and the counts."""

from pathlib import Path

import pysam
import pytest
from quire.errors import InputError
from quire.rescore.consequences import OUTSIDE, Consequence, ConsequenceCounts, annotate_variants, most_severe


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ("DP=4", Consequence(OUTSIDE)),
        ("BCSQ=intron|ONE||protein_coding;DP=4", Consequence("intron", "ONE")),
        (
            "DP=4;BCSQ=synonymous|ONE|T1|protein_coding|+|422F|3266T>C,missense|TWO|T2|protein_coding|+|4F>4S|3266T>C",
            Consequence("missense", "TWO", "T2", "4F>4S"),
        ),
        (
            "BCSQ=missense|ONE|T1|protein_coding|+|4F>4S|6T>C,missense|TWO|T2|protein_coding|+|5F>5S|6T>C",
            Consequence("missense", "ONE", "T1", "4F>4S"),
        ),
        (
            "BCSQ=splice_region&stop_gained|ONE|T1|protein_coding|+|4F>4*|6T>C",
            Consequence("stop_gained", "ONE", "T1", "4F>4*"),
        ),
        ("BCSQ=*missense|ONE|T1|protein_coding|+|4F>4S|6T>C", Consequence("missense", "ONE", "T1", "4F>4S")),
        ("BCSQ=@3266", Consequence(OUTSIDE)),
    ],
)
def test_the_most_severe_counts(info: str, expected: Consequence) -> None:
    assert most_severe(info) == expected


def test_counts() -> None:
    """Count records that pass, for each sample that carries an alternate; grave ones are listed."""
    counts = ConsequenceCounts(["a", "b", "c"])
    stop = "BCSQ=stop_gained|ONE|T1|protein_coding|+|4F>4*|6T>C"
    for line in (
        f"chr1\t6\t.\tT\tC\t50\tPASS\t{stop}\tGT:DP\t0/1:3\t./.:0\t0|0:9",
        "chr1\t9\t.\tT\tC\t50\t.\tBCSQ=intron|ONE||protein_coding\tGT:DP\t1:3\t0/2:0\t0|0:9",
        "chr1\t10\t.\tT\tC\t50\tPASS\tDP=12\tGT\t0/0\t0/0\t1/1",
        "chr1\t12\t.\tT\t.\t50\tPASS\tDP=12\tGT\t0/0\t0/0\t0/0",
        "chr1\t13\t.\tT\t*\t50\tPASS\tDP=12\tGT\t0/0\t0/1\t1/1",
        f"chr1\t11\t.\tT\tC\t50\tSNV_QD\t{stop}\tGT\t1/1\t1/1\t1/1",
    ):
        counts.add(line.encode())
    assert counts.to_json() == {
        "variants": {"stop_gained": 1, "intron": 1, OUTSIDE: 1},
        "samples": {
            "a": {"stop_gained": 1, "intron": 1, OUTSIDE: 0},
            "b": {"stop_gained": 0, "intron": 1, OUTSIDE: 0},
            "c": {"stop_gained": 0, "intron": 0, OUTSIDE: 1},
        },
        "all_grave": 1,
        "grave": [
            {
                "variant": "chr1:6 T>C",
                "kind": "stop_gained",
                "gene": "ONE",
                "transcript": "T1",
                "amino_acids": "4F>4*",
                "samples": ["a"],
            }
        ],
    }


GENES = """##gff-version 3
one\ttest\tgene\t1\t60\t.\t+\t.\tID=gene:G1;Name=ONE;biotype=protein_coding
one\ttest\tmRNA\t1\t60\t.\t+\t.\tID=transcript:T1;Parent=gene:G1;Name=a,b;biotype=protein_coding
one\ttest\texon\t1\t60\t.\t+\t.\tID=a,b;Parent=transcript:T1
one\ttest\tCDS\t1\t60\t.\t+\t0\tID=CDS:a|b;Parent=transcript:T1
"""
FORGED = "ONE,stop_gained|X|T9|protein_coding|+|1A>1B|1G>T"


def annotated(folder: Path, genes: bytes) -> list[str]:
    """Annotate one missense variant; return the values of BCSQ."""
    (folder / "genome.fa").write_text(f">one\n{'ATGGCC' + 'GCT' * 17 + 'TAA'}\n")
    (folder / "genes.gff3").write_bytes(genes)
    with pysam.BGZFile(str(folder / "calls.vcf.gz"), "wb", None) as stream:
        stream.write(b'##fileformat=VCFv4.2\n##FILTER=<ID=PASS,Description="x">\n##contig=<ID=one,length=60>\n')
        stream.write(b'##FORMAT=<ID=GT,Number=1,Type=String,Description="x">\n')
        stream.write(
            b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\none\t5\t.\tC\tA\t9\tPASS\t.\tGT\t0/1\n"
        )
    outputs = folder / "x.vcf.gz", folder / "x.vcf.gz.tbi", folder / "counts.json"
    annotate_variants(folder / "calls.vcf.gz", folder / "genes.gff3", folder / "genome.fa", *outputs)
    (line,) = [line for line in pysam.BGZFile(str(outputs[0]), "rb") if not line.startswith(b"#")]
    return line.decode().split("\t")[7].removeprefix("BCSQ=").split(",")


@pytest.mark.parametrize(
    "name", ["ONE", "Käse \N{GRINNING FACE}", "<script>alert(1)</script>", "%2C", "$(x)", "x" * 300]
)
def test_genes_of_any_name(name: str, tmp_path: Path) -> None:
    """Names that csq does not write, of exons, coding sequences and transcripts, may hold anything."""
    (value,) = annotated(tmp_path, GENES.replace("ONE", name).replace("\n", "\r\n").encode())
    assert value.startswith(f"missense|{name}|T1|protein_coding|+|2A>2D")


@pytest.mark.parametrize("name", [FORGED, "a,b", "a|b", "a\rb", "a\x1b[2J", "K\udce4se"])
@pytest.mark.parametrize("place", ["ONE", "T1"])
def test_genes_that_forge_consequences(name: str, place: str, tmp_path: Path) -> None:
    """A gene's name of more than one value would make any variant a stop."""
    line = 2 if place == "ONE" else 3
    with pytest.raises(InputError, match=rf"genes\.gff3: line {line}: an ID or Name holds a comma, a vertical bar or"):
        annotated(tmp_path, GENES.replace(place, name, 1).encode(errors="surrogateescape"))
    assert not (tmp_path / "x.vcf.gz").exists()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("CDS\t1\t60", "CDS\t1\t61", 3),
        ("exon\t1\t60", "exon\t1\t61", 3),
        ("mRNA\t1\t60", "mRNA\t2\t60", 3),
        ("mRNA\t1\t60", "mRNA\t1\t6", 3),
        ("one\ttest\tCDS", "two\ttest\tCDS", 3),
        ("one\ttest\tmRNA", "two\ttest\tmRNA", 3),
        ("CDS\t1\t60", "CDS\t+1\t60", 5),
        ("CDS\t1\t60", "CDS\t1\t6w", 5),
        ("CDS\t1\t60", "CDS\t0\t60", 5),
        ("mRNA\t1\t60", "mRNA\t60\t1", 3),
        ("\t+\t0\tID=CDS", "\t++\t0\tID=CDS", 5),
        ("\tID=CDS:a|b;Parent=transcript:T1", "", 5),
        ("one\ttest\texon", "one\ttest\tmRNA\t1\t9\t.\t+\t.\tID=T1;Parent=gene:G1\none\ttest\texon", 3),
    ],
)  # fmt: skip
def test_a_transcript_holds_its_parts(old: str, new: str, line: int, tmp_path: Path) -> None:
    """Csq reads beyond the bases of a transcript that does not, and writes bytes of its memory (docs/fuzzing.md)."""
    assert old in GENES
    with pytest.raises(InputError, match=rf"genes\.gff3: line {line}: .*; give a GFF3 file as Ensembl writes it"):
        annotated(tmp_path, GENES.replace(old, new, 1).encode())
    assert not (tmp_path / "x.vcf.gz").exists()


def test_a_part_of_a_gene_is_not_named_as_a_gene(tmp_path: Path) -> None:
    """Csq takes any line with the ID of a gene for a gene, and writes its name."""
    with pytest.raises(InputError, match=r"genes\.gff3: line 4: an ID or Name holds a comma"):
        annotated(tmp_path, GENES.replace("ID=a,b;", f"ID=gene:G1;Name={FORGED};").encode())


@pytest.mark.parametrize("memory", [b"\t", b"\xff"])
def test_bytes_of_memory_in_a_consequence(memory: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For some GFF3 files csq reads beyond a transcript, and writes what it finds there (see docs/fuzzing.md)."""

    def csq(*arguments: object) -> None:
        output, variants = arguments[arguments.index("-o") + 1], arguments[-1]
        with pysam.BGZFile(str(variants), "rb") as stream, pysam.BGZFile(str(output), "wb", None) as annotated:
            for line in stream:
                damaged = line.replace(b"\tPASS\t.", b"\tPASS\tBCSQ=missense|ONE|T1|x|+|2A" + memory + b">2D")
                annotated.write(damaged + b"\n")
                annotated.flush()  # as csq does, so that records share no block with the header

    monkeypatch.setattr("quire.rescore.consequences.run_apart", csq)
    with pytest.raises(InputError, match=r"genes\.gff3: bcftools csq cannot use it \(the lines that it writes break\)"):
        annotated(tmp_path, GENES.encode())
    assert not (tmp_path / "x.vcf.gz").exists()
