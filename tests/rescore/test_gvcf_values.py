"""Values of gVCFs parsed by kernels, compared with Python's own parsers."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire.reference import Reference, build
from quire.rescore.joint.columns import HAS_VARIANT, IS_CALLED, RecordPart
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.joint.store import Store, import_gvcf
from quire.rescore.joint.values_cpu import parse_number, parse_numbers, parse_real

from tests.support.builders import write_fasta

HEAD = (
    '##fileformat=VCFv4.2\n##ALT=<ID=NON_REF,Description="Any other">\n##contig=<ID=c,length=300>\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\n"
)
RECORDS = (
    f"{HEAD}c\t1\t.\tA\t<NON_REF>\t.\t.\tEND=49\tGT:DP:GQ:MIN_DP:PL\t0/0:30:75:25:0,75,1000\n"
    "c\t50\t.\tC\tT,<NON_REF>\t500\t.\tDP=20;RAW_MQandDP=7200,20\tGT:AD:DP:GQ:PL\t"
    "0/1:10,10,0:20:99:400,0,400,430,430,860\n"
)


def imported(folder: Path, text: str) -> RecordPart:
    """Return the records of the text of a gVCF after their import."""
    if not (folder / "reference").exists():
        build(write_fasta(folder / "genome.fa", {"c": "A" * 49 + "C" * 251}), folder / "reference", 1 << 20)
    (folder / "x.g.vcf").write_bytes(text.encode())
    import_gvcf(folder / "reference", folder / "x.g.vcf", folder / "x.records")
    ((_, part),) = Store.open(folder / "x.records", Reference.open(folder / "reference")).windows(0, 0, 0)
    return part


def as_text(text: str) -> np.ndarray:
    return np.frombuffer(bytearray(text.encode() + b"\n"), np.uint8)


parse_real(as_text("1"), 0, 1)  # is compiled before Hypothesis takes times
parse_number(as_text("1"), 0, 1)


@given(
    st.decimals(-1000, 1000, places=3).map(str)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=1e-7, max_value=1e12).map("{:.15g}".format)
)
def test_fractions_of_up_to_15_digits_are_those_of_python(text: str) -> None:
    assert parse_real(as_text(text), 0, len(text)) == (True, float(text))


@pytest.mark.parametrize("text", ["1.5e3", "2E-5", "+7", ".5", "5.", "-0.000", "123456789012345", "1e+20"])
def test_other_forms_of_numbers(text: str) -> None:
    assert parse_real(as_text(text), 0, len(text)) == (True, float(text))


@pytest.mark.parametrize("text", ["NaN", "nan"])
def test_no_number(text: str) -> None:
    is_right, value = parse_real(as_text(text), 0, len(text))
    assert is_right
    assert math.isnan(value)


@pytest.mark.parametrize("text", ["-", "+", ".", "1.2.3", "1e", "1e-", "e5", "1x", "--1", "zero", "nat", "0x10"])
def test_texts_that_are_no_numbers(text: str) -> None:
    assert not parse_real(as_text(text), 0, len(text))[0]


@given(st.text("0123456789", max_size=12) | st.text(max_size=4))
def test_integers_of_31_bits(text: str) -> None:
    content = as_text(text)
    is_right = text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 1 << 31
    assert parse_number(content, 0, len(content) - 1) == (int(text) if is_right else MISSING)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("7", [7]), ("7,0,12", [7, 0, 12]), ("", []), (".", []), ("7,.", []), (".,.", []), ("7,", None), ("7,x", None)],
)
def test_lists_of_numbers(text: str, numbers: list[int] | None) -> None:
    values = np.zeros(8, np.int32)
    count = parse_numbers(as_text(text), 0, len(text), values, 2)
    assert count == (MISSING if numbers is None else len(numbers))
    assert values[2 : 2 + max(count, 0)].tolist() == (numbers or [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n", "\r\n"),
        ("C\tT,<NON_REF>", "c\tt,<NON_REF>"),
        ("GT:AD:DP:GQ:PL\t0/1:10,10,0:20:99:", "PL:GQ:XX:DP:AD:GT\t"),
        ("DP=20;RAW_MQandDP=7200,20", "AC=1;RAW_MQandDP=7200.00,20;DB;DP=20;MQRankSum=."),
        ("0/0:30:75:25:0,75,1000", "0|0:30:75:25:0,75,1000:7:8"),
        ("GT:DP:GQ:MIN_DP:PL\t0/0:30:75:25:", "GT:GQ:MIN_DP:PL\t0/0:75:25:"),
    ],
)
def test_other_texts_of_the_same_records(old: str, new: str, tmp_path: Path) -> None:
    def values(text: str) -> list[object]:
        part = imported(tmp_path, text)
        return [*(column.tobytes() for column in part.columns), part.spellings, part.phases]

    assert old in RECORDS
    changed = RECORDS.replace(old, new)
    if new.startswith("PL"):
        changed = changed.replace("\t400,0,400,430,430,860", "\t400,0,400,430,430,860:99:x:20:10,10,0:0/1")
    assert values(RECORDS) == values(changed)


def test_two_samples_with_missing_values(tmp_path: Path) -> None:
    """Values of one sample are not those of another."""
    line = "c\t50\t.\tC\tT,<NON_REF>\t.\t.\tDP=9\tGT:AD:GQ:PGT:PID:PL:PS:SB\t"
    samples = "0|1:3,4,0:50:0|1:50_C_T:9,0,9,9,9,9:50:1,2,2,2\t./.\n"
    head = HEAD.replace("\ta\n", "\ta\tb\n")
    part = imported(tmp_path, head + line + samples)
    columns = part.columns
    assert part.spellings == ["C\tT,<NON_REF>"]
    assert part.phases == ["0|1:50_C_T:50"]
    assert columns.ploidy.tolist() == [2, 2]
    assert columns.flags.tolist() == [HAS_VARIANT | IS_CALLED, 0]
    assert columns.quality.tolist() == [50, MISSING]
    assert columns.phred_count.tolist() == [6, 0]
    assert columns.depths.tolist() == [3, 4, 0]
    assert columns.strands.tolist() == [[1, 2, 2, 2], [MISSING] * 4]
    assert columns.phase.tolist() == [0, MISSING]
