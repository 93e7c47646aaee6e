"""Tests of the measurement of cohorts: the text of simulated gVCFs, shuffled haplotypes, and the comparison of VCFs."""

from pathlib import Path

import numpy as np
import pysam
import pytest

from bench.cohort_compare import Site, compare, sites_of, true_share
from bench.cohort_samples import Panel, laid_out, shuffled
from bench.cohort_templates import BLOCK_CUT, Blocks, Places, write_lines


def covered(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return start, end (0-based, half-open) and the sample's column of each line."""
    found = []
    for line in lines:
        fields = line.split("\t")
        start = int(fields[1]) - 1
        end = int(fields[7][4:]) if fields[7].startswith("END=") else start + len(fields[3])
        found.append((start, end, fields[9]))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_blocks_fill_what_records_leave(seed: int) -> None:
    """Every base is in the block that its window has there, unless a record covers it; REF is the reference's."""
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list("ACGT"), 3 * BLOCK_CUT))
    places = Places.of("20", 0, 3 * BLOCK_CUT, letters)
    starts, values, windows = [], [], [0]
    for _ in range(4):
        own = sorted({0, *rng.integers(1, BLOCK_CUT, 30).tolist()})
        starts += own
        values += rng.integers(0, 9, len(own)).tolist()
        windows.append(len(starts))
    blocks = Blocks.of(windows, starts, values, [f"v{number}" for number in range(9)])
    chosen = rng.integers(0, 4, 3)
    records = sorted({*rng.integers(0, 3 * BLOCK_CUT - 20, 60).tolist(), 0, 1})
    ends = [start + int(rng.integers(1, 20)) for start in records]
    texts = [
        f"20\t{start + 1}\t.\t{letters[start:end]}\tX\t.\t.\tDP=1\tGT\tr{start}\n"
        for start, end in zip(records, ends, strict=True)
    ]
    text = write_lines(places, chosen, blocks, np.array(records), np.array(ends), texts).tobytes().decode()
    lines = covered(text.splitlines())
    assert [start for start, *_ in lines] == sorted(start for start, *_ in lines)
    assert [column for *_, column in lines if column.startswith("r")] == [f"r{start}" for start in records]
    inside = {base for start, end in zip(records, ends, strict=True) for base in range(start, end)}
    expected = {}
    for window, source in enumerate(chosen.tolist()):
        own = range(windows[source], windows[source + 1])
        for base in range(BLOCK_CUT):
            block = max(index for index in own if starts[index] <= base)
            if window * BLOCK_CUT + base not in inside:
                expected[window * BLOCK_CUT + base] = f"v{values[block]}"
    found = {base: column for start, end, column in lines if column.startswith("v") for base in range(start, end)}
    assert found == expected
    for line in text.splitlines():
        fields = line.split("\t")
        assert letters.startswith(fields[3], int(fields[1]) - 1)


def test_a_panel_keeps_its_haplotypes_where_it_is_repeated() -> None:
    rng = np.random.default_rng(1)
    starts = np.array([10, 400_000, 999_990])
    panel = Panel(starts, [("A", "G"), ("C", "CTT"), ("GA", "G")], rng.integers(0, 2, (8, 3)).astype(np.uint8))
    letters = list("A" * 3_000_000)
    for start, alleles in zip(starts.tolist(), [("A", "G"), ("C", "CTT"), ("GA", "G")], strict=True):
        letters[start : start + len(alleles[0])] = alleles[0]
    letters[2_000_010] = "N"
    wide = laid_out(panel, "".join(letters), 0, 3_000_000, rng)
    assert wide.starts.tolist() == [*starts, *(starts + 1_000_000), *(starts + 2_000_000)[1:]]
    assert wide.alleles[3:6] == [("A", "G"), ("A", "ATT"), ("AA", "A")]
    assert np.array_equal(wide.carried, np.concatenate([panel.carried] * 2 + [panel.carried[:, 1:]], axis=1))
    mosaic = shuffled(wide, rng)
    assert all(mosaic[site] in wide.carried[:, site] for site in range(8))


def test_comparing_counts_reasons() -> None:
    ours = {
        5: Site(("A", "G"), 99.0, ["0/1", "1|0", "./.", "0/0"]),
        6: Site(("A", "G", "T"), 99.0, ["1/2"] * 4),
        7: Site(("A", "G", "*"), 99.0, ["0/0"] * 4),
        8: Site(("A", "C"), 30.1, ["0/1"] * 4),
    }
    peers = {
        5: Site(("A", "G"), 99.0, ["0/1", "0|1", "0/0", "0/1"]),
        6: Site(("A", "T", "G"), 99.0, ["1/2"] * 4),
        7: Site(("A", "G"), 99.0, ["0/0"] * 4),
    }
    found = compare(ours, peers)
    assert found.sites == {"same alleles": 2, "only one has *": 1, "only here, QUAL within 1 of the limit": 1}
    reordered = "of these, GT written otherwise"
    assert found.genotypes == {"same": 6, reordered: 1, "no call here": 1, "hom here, het there": 1}
    assert found.whole == 1


def test_true_genotypes_are_found_under_a_longer_reference(tmp_path: Path) -> None:
    path = tmp_path / "a.vcf.gz"
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\n"
    with pysam.BGZFile(str(path), "wb", None) as stream:
        stream.write((head + "20\t9\t.\tCTT\tC,GTT\t50\t.\t.\tGT:DP\t0/2:3\t1/2:4\t0/1:1\n").encode())
    truth = {9: Site(("C", "G"), 0.0, ["0|1", "1|0", "0|0"]), 20: Site(("A", "T"), 0.0, ["1|1", "0|0", ".|0"])}
    assert true_share(dict(sites_of(path)), truth) == (3, 1, 1)
