"""Read-through into adapters and runs of G: found as by the oracle, not aligned, and kept as soft clips."""

import json
import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.align.read_ends import ClippedCounts, Clipping
from quire.align.read_ends.cpu import clip_ends
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.io.read_files import ReadFiles
from quire.reads import PairBatch

from tests.oracles.read_ends import kept_before_poly_g, kept_of_insert
from tests.support.builders import Read, random_bases, read_batch, reverse_complement, write_fasta
from tests.support.examples import examples
from tests.support.read_builders import READ_GROUP, build_index, write_pairs

ADAPTERS = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTC", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGG"


def simulated(
    generator: random.Random, insert: str, lengths: tuple[int, int], name: str, rate: float
) -> tuple[Read, Read]:
    """Return a pair from an insert, with adapter, a run of G, and substitutions at a rate."""
    mates = []
    for mate, bases in enumerate((insert, reverse_complement(insert))):
        whole = (bases + ADAPTERS[mate] + "G" * 200)[: lengths[mate]]
        read = "".join(generator.choice("ACGT") if generator.random() < rate else base for base in whole)
        mates.append(Read(f"{name}/{mate + 1}", read, "I" * len(read)))
    return mates[0], mates[1]


def clipped(pairs: list[tuple[Read, Read]], clipping: Clipping) -> tuple[PairBatch, ClippedCounts]:
    counts = ClippedCounts(clipping)
    batch = PairBatch(*(read_batch([pair[mate] for pair in pairs]) for mate in (0, 1)))
    (result,) = clip_ends(iter([batch]), counts)
    assert (result.untrimmed is None) == (result is batch)
    assert result.untrimmed in (None, batch)
    return result, counts


def expected_ends(pair: tuple[Read, Read], clipping: Clipping) -> tuple[list[int], list[int]]:
    """Return the bases of both mates that remain before poly-G, and then before the adapter."""
    mates = [["ACGTN".index(base) for base in read.bases] for read in pair]
    runs = [kept_before_poly_g(mate) if clipping.poly_g else len(mate) for mate in mates]
    insert = kept_of_insert(*(mate[:end] for mate, end in zip(mates, runs, strict=True))) if clipping.adapters else None
    return runs, [end if insert is None else min(end, insert) for end in runs]


@pytest.mark.parametrize("clipping", [Clipping(True, False), Clipping(False, True), Clipping(True, True)])
@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 1 << 30), repeated=st.booleans())
def test_ends_are_those_of_the_oracle(clipping: Clipping, seed: int, repeated: bool) -> None:
    generator = random.Random(seed)
    pairs = []
    for number in range(12):
        length = generator.choice([0, 1, 10, 29, 30, 31, 49, 50, 60, 75, 99, 100, 101, 150])
        insert = "ACAG" * 50 if repeated else random_bases(generator, 200, "ACGTN" if number % 4 else "G")
        lengths = (generator.choice([0, 1, 30, 75, 100]), 75) if number % 3 == 0 else (100, 100)
        pairs.append(simulated(generator, insert[:length], lengths, f"r{number}", generator.choice([0, 0.02, 0.08])))
    batch, counts = clipped(pairs, clipping)
    ends = [expected_ends(pair, clipping) for pair in pairs]
    for mate, reads in ((0, batch.mate1), (1, batch.mate2)):
        assert reads is not None
        assert np.diff(reads.offsets).tolist() == [kept[mate] for _, kept in ends]
        whole = read_batch([pair[mate] for pair in pairs])
        for i in range(len(pairs)):
            begin, length = whole.offsets[i], ends[i][1][mate]
            part = slice(reads.offsets[i], reads.offsets[i + 1])
            np.testing.assert_array_equal(reads.bases[part], whole.bases[begin : begin + length])
            np.testing.assert_array_equal(reads.qualities[part], whole.qualities[begin : begin + length])
    cut = {"poly_g": 0, "adapter": 0}
    for pair, (runs, kept) in zip(pairs, ends, strict=True):
        cut["poly_g"] += sum(len(read.bases) - run for read, run in zip(pair, runs, strict=True))
        cut["adapter"] += sum(run - end for run, end in zip(runs, kept, strict=True))
    assert counts.counts.get("poly_g_clipped_bases", 0) == cut["poly_g"]
    assert counts.counts.get("adapter_clipped_bases", 0) == cut["adapter"]


def test_inserts_are_found() -> None:
    """Nearly all inserts of 40 to 99 bases are found exactly, and none of the longer ones is cut."""
    generator = random.Random(12)
    inserts = [random_bases(generator, generator.randrange(40, 250)) for _ in range(600)]
    pairs = [simulated(generator, insert, (100, 100), f"r{i}", 0.01) for i, insert in enumerate(inserts)]
    batch, _ = clipped(pairs, Clipping(adapters=True))
    kept = np.diff(batch.mate1.offsets)
    lengths = np.array([len(insert) for insert in inserts])
    short = lengths < 100
    assert (kept[~short] == 100).all()
    assert (kept[short] == lengths[short]).mean() > 0.99


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[pysam.AlignedSegment], dict]]:
    """Map short and long inserts with and without clipping, in batches of two sizes."""
    folder = tmp_path_factory.mktemp("ends")
    generator = random.Random(21)
    genome = random_bases(generator, 20_000)
    indexed = build_index(folder, write_fasta(folder / "genome.fa", {"one": genome}))
    pairs = []
    for number in range(400):
        length = generator.choice([40, 60, 80, 99, 100, 101, 140, 200, 300])
        start = generator.randrange(len(genome) - length)
        insert = genome[start : start + length]
        insert = insert if number % 2 else reverse_complement(insert)
        pairs.append(simulated(generator, insert, (100, 100), f"{start}_{length}_{number}", 0.01))
    files = write_pairs(folder, pairs)
    found = {}
    both = Clipping(adapters=True, poly_g=True)
    for name, clipping, size in (("off", Clipping(), 64), ("on", both, 64), ("small", both, 7)):
        outputs = UnitFiles(*(folder / f"{name}.{kind}" for kind in ("bam", "json", "sizes.json")))
        inputs = UnitInputs(indexed.directory, indexed.pages, ReadFiles(files[:1], files[1:]))
        map_unit(inputs, outputs, READ_GROUP, MappingSettings(1, backend="cpu", reads_per_batch=size), clipping)
        with pysam.AlignmentFile(str(outputs.records), check_sq=False) as stream:
            found[name] = (list(stream.fetch(until_eof=True)), outputs)
    return found


def test_nothing_is_trimmed_away(mapped: dict) -> None:
    """Primary records contain the whole reads, with and without clipping; NM and MD match the aligned part."""
    for name in ("on", "small"):
        off, on = ([record for record in mapped[key][0] if not record.flag & 0x900] for key in ("off", name))
        assert [record.query_name for record in off] == [record.query_name for record in on]
        for one, other in zip(off, on, strict=True):
            assert one.get_forward_sequence() == other.get_forward_sequence()
            assert list(one.get_forward_qualities()) == list(other.get_forward_qualities())
            if not other.is_unmapped:
                assert other.infer_read_length() == len(other.query_sequence)
                differing = sum(a != b for _, a, b in _aligned(other))
                assert other.get_tag("NM") == differing + sum(n for op, n in other.cigartuples if op in (1, 2))


def _aligned(record: pysam.AlignedSegment) -> list[tuple[int, str, str]]:
    return [
        (place, record.query_sequence[read], base.upper())
        for read, place, base in record.get_aligned_pairs(matches_only=True, with_seq=True)
    ]


def test_records_do_not_depend_on_batches(mapped: dict) -> None:
    on, small = ([record.to_string() for record in mapped[name][0]] for name in ("on", "small"))
    assert on == small


def test_short_inserts_end_where_they_end(mapped: dict) -> None:
    """With clipping no base beyond a found insert is aligned; without, some are."""
    beyond = {}
    for name in ("off", "on"):
        beyond[name] = 0
        for record in mapped[name][0]:
            start, length, _ = map(int, record.query_name.split("_"))
            if not record.is_unmapped and not record.flag & 0x900 and length < 100 and record.mapping_quality >= 20:
                beyond[name] += max(0, start - record.reference_start) + max(0, record.reference_end - start - length)
    assert beyond["off"] > 10 * max(1, beyond["on"]), beyond


def test_ledger(mapped: dict) -> None:
    counts = json.loads(Path(mapped["on"][1].ledger).read_text())["counts"]
    assert counts["reads"] == counts["mapped"] + counts["unmapped"] == 800
    assert counts["bases"] == json.loads(Path(mapped["off"][1].ledger).read_text())["counts"]["bases"]
    names = {record.query_name for record in mapped["on"][0]}
    assert counts["adapter_clipped_reads"] == 2 * sum(int(name.split("_")[1]) < 100 for name in names)
    assert counts["adapter_clipped_bases"] > counts["adapter_clipped_reads"]
