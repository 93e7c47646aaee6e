"""gVCFs with wrong values, lines, columns or indexes are refused by one sentence that names file and record."""

from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.errors import InputError
from quire.reference import Reference
from quire.rescore.joint import genotype_span
from quire.rescore.joint.inputs import Gvcf
from quire.rescore.ploidy import HEADER_KEY

from tests.fuzz.mutations import bgzf
from tests.fuzz.variants import LENGTHS, SEQUENCES, gvcf_lines
from tests.support.builders import write_fasta


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    root = tmp_path_factory.mktemp("reference")
    reference_stage.build(write_fasta(root / "genome.fa", SEQUENCES), root / "reference", 1 << 20)
    return Reference.open(root / "reference")


def genotype(path: Path, text: str, reference: Reference) -> int:
    """Write a gVCF and genotype it at every position; return the number of items."""
    path.write_bytes(bgzf(text.encode()))
    pysam.tabix_index(str(path), preset="vcf", force=True)
    gvcf = Gvcf(path, LENGTHS)
    gvcf.require_letters(reference.sequence)
    return sum(
        1 for name, size in LENGTHS.items() for _ in genotype_span([gvcf], name, (0, size), 1.0, reference.sequence)
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("GT:AD:", "XX:AD:", "at position 20 has a wrong value .*'GT'"),
        (":99:", ":9U:", "at position 20 has a wrong value .*'9U'"),
        (":600,", ":6x,", "at position 20 has a wrong value .*'6x'"),
        (":600,", f":{'9' * 40},", "at position 20 has a wrong value"),
        ("MIN_DP:PL\t0/0:20:50:18:", "MIN_DP:PL\t0/0:20:50:1-8:", "at position 1 has a wrong value .*'1-8'"),
        ("RAW_MQandDP=", "RAW_MQandDP=7,", "at position 20 has a wrong value"),
        ("ReadPosRankSum=0", "ReadPosRankSum=zero", "at position 20 has a wrong value .*'zero"),
        (",<NON_REF>\t600", "\u00e4,<NON_REF>\t600", "at position 20 has the allele '[ACGT]\u00e4', which is no bases"),
        (",<NON_REF>\t600", "|,<NON_REF>\t600", r"at position 20 has the allele '[ACGT]\|', which is no bases"),
        ("DP=", "DP=?", "at position 20 has a wrong value"),
        ("END=", "END=x", "at position 1 has a wrong value"),
        ("0,50,700\n", "0,50,700\0", "cannot be read at one:1-"),
        ("two\t1\t", "two\t+1\t", "cannot be read at two:1-"),
        ("0,50,700\n", "0,50,700\t0/0\n", "at position 1 does not have the columns of the header"),
        ("##ALT=", f"##{HEADER_KEY}=<Ploidy=two>\n##ALT=", "its header has a wrong line"),
    ],
)
def test_a_wrong_value_is_one_sentence(old: str, new: str, words: str, tmp_path: Path, reference: Reference) -> None:
    text = "".join(gvcf_lines("a", 1))
    assert genotype(tmp_path / "good.g.vcf.gz", text, reference) > 100
    assert old in text
    with pytest.raises(InputError, match=rf"x\.g\.vcf\.gz: .*{words}"):
        genotype(tmp_path / "x.g.vcf.gz", text.replace(old, new, 1), reference)


def test_an_index_of_another_file(tmp_path: Path) -> None:
    path = tmp_path / "x.g.vcf.gz"
    path.write_bytes(bgzf("".join(gvcf_lines("a", 1)).encode()))
    pysam.tabix_index(str(path), preset="vcf", force=True)
    index = Path(f"{path}.tbi")
    plain = pysam.BGZFile(str(index), "rb", None).read()
    for changed, words in (
        (plain.replace(b"two\0", b"twx\0"), "its index has the contig 'twx'"),
        (plain.replace(b"two\0", b"two2"), "is not a whole TBI or CSI index"),
        (plain[:8] + b"\3" + plain[9:], "is not a whole TBI or CSI index"),
        (plain[:50], "is not a whole TBI or CSI index; run bcftools index --tbi on"),
        (b"TBI\1" + b"\xff" * 40, "is not a whole TBI or CSI index"),
    ):
        index.write_bytes(bgzf(changed))
        with pytest.raises(InputError, match=words):
            Gvcf(path, LENGTHS)


@pytest.mark.parametrize("cut", ["two", "two\t"])
def test_a_last_line_without_a_position_is_one_sentence(cut: str, tmp_path: Path, reference: Reference) -> None:
    """Htslib leaves such a line out of the index."""
    with pytest.raises(InputError, match=r"x\.g\.vcf\.gz: has a line with fewer than 8 columns at its end \(b'two"):
        genotype(tmp_path / "x.g.vcf.gz", "".join(gvcf_lines("a", 1)) + cut, reference)
