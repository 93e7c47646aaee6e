"""Consequences of variants: the most severe of a record, and the counts."""

import pytest
from quire.rescore.consequences import OUTSIDE, Consequence, ConsequenceCounts, most_severe


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
