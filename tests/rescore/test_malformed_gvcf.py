"""gVCFs with wrong values, lines or columns are refused by one sentence that names file and record."""

from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.errors import InputError, QuireError
from quire.rescore.joint import JointRequest, genotype_interval
from quire.rescore.joint.store import MAGIC, import_gvcf
from quire.rescore.ploidy import HEADER_KEY

from tests.fuzz.mutations import bgzf
from tests.fuzz.variants import LENGTHS, SEQUENCES, gvcf_lines
from tests.support.builders import write_fasta
from tests.support.calling import genotype_gvcfs


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reference")
    reference_stage.build(write_fasta(root / "genome.fa", SEQUENCES), root / "reference", 1 << 20)
    return root / "reference"


def genotype(path: Path, text: str, packed: Path) -> int:
    """Write a gVCF and genotype it at every position; return the number of records."""
    path.write_bytes(bgzf(text.encode()))
    pieces = [(name, 0, size) for name, size in LENGTHS.items()]
    return genotype_gvcfs(packed, [path], pieces, path.with_name("joint.vcf.gz"), 1.0, all_sites=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("GT:AD:", "XX:AD:", "at position 20 has no GT in FORMAT"),
        (":99:", ":9U:", "at position 20 has a wrong value .*'9U'"),
        (":600,", ":6x,", "at position 20 has a wrong value .*6x"),
        (":600,", f":{'9' * 40},", "at position 20 has a wrong value"),
        ("MIN_DP:PL\t0/0:20:50:18:", "MIN_DP:PL\t0/0:20:50:1-8:", "at position 1 has a wrong value .*'1-8'"),
        ("RAW_MQandDP=", "RAW_MQandDP=7,", "at position 20 has a wrong value"),
        ("ReadPosRankSum=0", "ReadPosRankSum=zero", "at position 20 has a wrong value .*'zero"),
        (",<NON_REF>\t600", "\u00e4,<NON_REF>\t600", "at position 20 has the allele '[ACGT]\u00e4', which is no bases"),
        (",<NON_REF>\t600", "|,<NON_REF>\t600", r"at position 20 has the allele '[ACGT]\|', which is no bases"),
        ("DP=", "DP=?", "at position 20 has a wrong value"),
        ("END=", "END=x", "at position 1 has a wrong value"),
        ("END=", "END=;DP=", "at position 1 has a wrong value"),
        (":PL:PS:SB", ":PL:PS:SB:PL", "at position 20 has no GT in FORMAT, or a key twice"),
        ("0,50,700\n", "0,50,700\0\n", "at position 1 has a wrong value .*700"),
        ("two\t1\t", "two\t+1\t", r"has a record at position '\+1'"),
        ("0,50,700\n", "0,50,700\t0/0\n", "at position 1 does not have the columns of the header"),
        ("0|1:", f"{'0|' * 255}1:", r"at position 20 has a wrong value .*0\|0"),
        ("##ALT=", f"##{HEADER_KEY}=<Ploidy=two>\n##ALT=", "its header has a wrong line"),
    ],
)
def test_a_wrong_value_is_one_sentence(old: str, new: str, words: str, tmp_path: Path, reference: Path) -> None:
    text = "".join(gvcf_lines("a", 1))
    assert genotype(tmp_path / "good.g.vcf.gz", text, reference) > 100
    assert old in text
    with pytest.raises(InputError, match=rf"x\.g\.vcf\.gz: .*{words}"):
        genotype(tmp_path / "x.g.vcf.gz", text.replace(old, new, 1), reference)


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ("two", "its last line has no end"),
        ("two\n", "has a line without columns"),
        ("two\t\n", "has a record at position ''"),
        ("one\t5\n", "the records of one are not together"),
        (f"two\t{'9' * 5000}\n", "has a record at position '999"),
        ("two\t5\n", "at position 5 does not have the columns"),
        ("three\t5\n", "has a record on 'three', which is not in the reference"),
        ("#two\t5\n", "has a record on '#two', which is not in the reference"),
    ],
)
def test_a_wrong_last_line_is_one_sentence(tail: str, words: str, tmp_path: Path, reference: Path) -> None:
    with pytest.raises(InputError, match=rf"x\.g\.vcf\.gz: {words}|x\.g\.vcf\.gz: the record {words}"):
        genotype(tmp_path / "x.g.vcf.gz", "".join(gvcf_lines("a", 1)) + tail, reference)


def test_records_out_of_order_are_one_sentence(tmp_path: Path, reference: Path) -> None:
    *head, last = gvcf_lines("a", 1)
    contig, position, rest = last.split("\t", 2)
    moved = f"{contig}\t{int(position) - 300}\t{rest}"
    with pytest.raises(InputError, match=r"x\.g\.vcf\.gz: the record at position \d+ of two is out of order"):
        genotype(tmp_path / "x.g.vcf.gz", "".join([*head, moved]), reference)


def test_every_damaged_byte_of_a_store_is_noticed(tmp_path: Path, reference: Path) -> None:
    gvcf, store = tmp_path / "x.g.vcf.gz", tmp_path / "x.records"
    gvcf.write_bytes(bgzf("".join(gvcf_lines("a", 1)).encode()))
    import_gvcf(reference, gvcf, store)
    content = store.read_bytes()
    pieces = [(name, 0, size) for name, size in LENGTHS.items()]
    request = JointRequest(reference, [store], pieces, tmp_path / "joint.vcf.gz", 1.0)
    for at in range(len(MAGIC), len(content)):
        store.write_bytes(content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :])
        with pytest.raises(QuireError, match=r"x\.records: (cannot be read|is of another)"):
            genotype_interval(request)


def test_a_store_of_another_reference_is_refused(tmp_path: Path, reference: Path) -> None:
    gvcf, store = tmp_path / "x.g.vcf.gz", tmp_path / "x.records"
    gvcf.write_bytes(bgzf("".join(gvcf_lines("a", 1)).encode()))
    import_gvcf(reference, gvcf, store)
    other = {"one": dict.fromkeys(LENGTHS, "ACGT" * 600), "two": {n: "A" * size for n, size in LENGTHS.items()}}
    for folder, sequences in other.items():
        reference_stage.build(write_fasta(tmp_path / f"{folder}.fa", sequences), tmp_path / folder, 1 << 20)
        request = JointRequest(tmp_path / folder, [store], [("one", 0, 9)], tmp_path / "joint.vcf.gz", 1.0)
        with pytest.raises(QuireError, match=r"x\.records: is of another reference"):
            genotype_interval(request)
