"""Agreement of the fields of two VCFs, key by key, over the records that both have with the same alleles."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pysam

from bench.common import print_table

# GATK prints three or four digits, by size; it replaces QD above 35 by a random number, Quire by 35.
RELATIVE, ABSOLUTE = 0.005, 0.0011
RANDOM_QD = 35.0


class Agreement(NamedTuple):
    """Agreement of one key.

    Attributes:
        both: number of records where both files have a value.
        equal: number of these with the same value.
        ours, peers: number of records where only one file has a value.
        examples: position, Quire's and the peer's value of the first differing records.
    """

    both: int
    equal: int
    ours: int
    peers: int
    examples: list[str]


def records(path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield contig, position and alleles, and the fields of each variant, with FORMAT of the first sample."""
    with pysam.BGZFile(str(path), "rb", None) as stream:
        for line in stream:
            columns = line.decode().split("\t")
            if line.startswith(b"#") or not line or columns[4] in (".", "<NON_REF>"):
                continue
            values = {"QUAL": columns[5]}
            for item in columns[7].split(";"):
                key, _, value = item.partition("=")
                values[key] = value
            for key, value in zip(columns[8].split(":"), columns[9].split(":"), strict=False):
                name = f"{key} of the sample" if key == "DP" else key
                values[name] = "/".join(sorted(value.replace("|", "/").split("/"))) if key == "GT" else value
            yield (*columns[:2], *columns[3:5]), values


def is_equal(key: str, ours: str, peers: str) -> bool:
    """Return True if two values are equal, numbers to the digits that both files print."""
    if ours == peers:
        return True
    mine, theirs = ours.split(","), peers.split(",")
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs, strict=True):
        try:
            first, second = float(a), float(b)
        except ValueError:
            return False
        if key == "QD" and first == RANDOM_QD:
            continue
        if abs(first - second) > max(ABSOLUTE, RELATIVE * abs(second) if abs(second) < 10 else 0.011):
            return False
    return True


def compare(ours: Path, peer: Path) -> dict[str, Agreement]:
    """Return the agreement by key over the records that both files have."""
    mine, theirs = dict(records(ours)), dict(records(peer))
    both, equal, only_ours, only_peers = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    examples: dict[str, list[str]] = {}
    for site in sorted(mine.keys() & theirs.keys(), key=lambda s: (s[0], int(s[1]))):
        a = {key: value for key, value in mine[site].items() if value.strip("./,|")}
        b = {key: value for key, value in theirs[site].items() if value.strip("./,|")}
        for key in a.keys() | b.keys():
            both[key] += key in a and key in b
            only_ours[key] += key not in b
            only_peers[key] += key not in a
            same = key in a and key in b and is_equal(key, a[key], b[key])
            equal[key] += same
            if not same:
                examples.setdefault(key, []).append(f"{site[1]} {a.get(key, '-')} {b.get(key, '-')}")
    keys = sorted(both | only_ours | only_peers, key=str.lower)
    return {
        key: Agreement(both[key], equal[key], only_ours[key], only_peers[key], examples.get(key, [])) for key in keys
    }


def print_fields(ours: Path, peer: Path, examples: int = 3) -> None:
    """Print a row for each key."""
    rows = []
    for key, found in compare(ours, peer).items():
        share = f"{found.equal / found.both:.1%}" if found.both else ""
        rows.append(
            [key, found.both, found.equal, share, found.ours, found.peers, "; ".join(found.examples[:examples])]
        )
    print_table(["field", "in both", "equal", "share", "ours alone", "peer's alone", "position, ours, peer's"], rows)
