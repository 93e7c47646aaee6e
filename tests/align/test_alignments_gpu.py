"""Alignments of a batch on a card, against their definition: order, duplicates, contigs, template lengths."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.align.alignments.gpu import best_scores, collect, poorly_aligned, unique_template_lengths
from quire.align.insert_size import ORIENTATIONS
from quire.align.model import Alignments
from quire.align.parameters import LEAST_SCORE, LONGEST_INSERT, SEEDING, SeedingPass
from quire.reference.gpu import upload_reference

from tests.oracles import align as oracles_align
from tests.oracles.ties import hash_name, tie_hash
from tests.support.card_builders import card_reads, download_all, upload_all
from tests.support.examples import examples
from tests.support.places import Place, alignments_of

# Islands on the axis: first axis position, contig, position of the first base on the contig.
ISLANDS = [(0, 0, 0), (500, 0, 600), (900, 1, 40), (1000, 1, 200), (3000, 1, 2200)]
COLUMNS = ("strand", "score", "read_begin", "read_end", "axis_begin", "axis_end", "contig", "position")


def reference():
    """Return a reference as `upload_reference` reads it; the text is not used."""
    axis, contig, start = zip(*ISLANDS, strict=True)
    return SimpleNamespace(
        text=np.zeros(1, np.uint64), ambiguous=np.empty((0, 2), np.int64), island_axis=np.array(axis, np.int64),
        island_contig=np.array(contig[:-1], np.int32), island_start=np.array(start[:-1], np.int64),
        alternate=np.zeros(0, np.uint8),
    )  # fmt: skip


def drawn_part(generator: random.Random, lengths: list[int], count: int, by_read: bool) -> tuple:
    """Return jobs and extensions with few different scores, places and strands, so that ties are common."""
    read = np.array([generator.randrange(len(lengths)) for _ in range(count)], np.int32)
    read = np.sort(read) if by_read else read
    begin = np.array([generator.randint(0, 3) for _ in range(count)], np.int32)
    end = np.array([max(int(b) + 1, lengths[r] - generator.randint(0, 2)) for r, b in zip(read, begin, strict=True)])
    axis_begin = np.array([generator.choice([0, 499, 500, 501, 940, 1000, 2900, 2999]) for _ in range(count)], np.int64)
    axis_end = axis_begin + np.array([generator.choice([40, 41, 80]) for _ in range(count)], np.int64)
    near_least = [LEAST_SCORE - 6, LEAST_SCORE - 5, LEAST_SCORE - 1, LEAST_SCORE]
    score = np.array([generator.choice([0, lengths[r] - 11, lengths[r] - 6, lengths[r] - 5, *near_least, 90])
                      for r in read], np.int32)  # fmt: skip
    strand = np.array([generator.randint(0, 1) for _ in range(count)], np.uint8)
    cigar_length = np.array([generator.randint(0, 3) for _ in range(count)], np.int32)
    # Operations are in any order, with gaps between them.
    room = np.cumsum(cigar_length + 1)
    places = generator.sample(range(count), count)
    cigar_begin = np.array([room[place] - cigar_length[place] for place in range(count)], np.int64)[places]
    cigar_length = cigar_length[places]
    cigar = np.array([generator.randrange(1 << 32) for _ in range(int(room[-1]) + 1 if count else 0)], np.uint32)
    unused = np.zeros(count, np.int64)
    jobs = ExtensionJobs(read, strand, unused, unused, unused, unused, unused)
    return jobs, Extensions(score, begin, end.astype(np.int32), axis_begin, axis_end, cigar_begin, cigar_length, cigar)


def collected(parts, lengths: list[int], names: list[bytes]) -> list[list[tuple]]:
    """Return the expected alignments of each read, with their CIGAR operations."""
    places: list[list] = [[] for _ in lengths]
    found = 0
    for jobs, part in parts:
        for i, read in enumerate(jobs.read.tolist()):
            found += 1
            score, begin = int(part.score[i]), int(part.axis_begin[i])
            whole = part.read_begin[i] == 0 and part.read_end[i] == lengths[read]
            if score + 5 * whole < min(LEAST_SCORE, lengths[read] - 5):
                continue
            rank = (-score, tie_hash(hash_name(names[read]), begin), begin, int(jobs.strand[i]), found)
            island = max(number for number, island in enumerate(ISLANDS) if island[0] <= begin)
            first, contig, start = ISLANDS[island]
            operations = part.cigar[part.cigar_begin[i] : part.cigar_begin[i] + part.cigar_length[i]].tolist()
            fields = (int(jobs.strand[i]), score, int(part.read_begin[i]), int(part.read_end[i]), begin,
                      int(part.axis_end[i]), contig, start + begin - first, operations)  # fmt: skip
            places[read].append((rank, fields))
    kept: list[list[tuple]] = []
    for of_read in places:
        kept.append([])
        for _, new in sorted(of_read):
            ends = {(old[0], side, *old[side:6:2]) for old in kept[-1] for side in (2, 3)}
            if not ends & {(new[0], side, *new[side:6:2]) for side in (2, 3)}:
                kept[-1].append(new)
    return kept


def in_words(alignments: Alignments) -> list[list[tuple]]:
    """Return the result of `collect` in the same form, on the host."""
    bounds = alignments.offsets.tolist()
    owners = [read for read in range(len(bounds) - 1) for _ in range(bounds[read + 1] - bounds[read])]
    assert alignments.read.tolist() == owners
    columns = zip(*(getattr(alignments, name).tolist() for name in COLUMNS), strict=True)
    rows = [
        (*row, alignments.cigar[begin : begin + length].tolist())
        for row, begin, length in zip(columns, alignments.cigar_begin, alignments.cigar_length, strict=True)
    ]
    return [rows[bounds[read] : bounds[read + 1]] for read in range(len(bounds) - 1)]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 1 << 32), st.lists(st.sampled_from([0, 8, 30, 34, 35, 36, 60, 100]), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from([0, 1, 5, 40]), st.booleans()), min_size=1, max_size=3),
)  # fmt: skip
def test_collect(card, seed: int, lengths: list[int], shapes: list[tuple[int, bool]]) -> None:
    """Rounds have any number of jobs, and jobs of a read are adjacent or scattered."""
    generator = random.Random(seed)
    parts = [drawn_part(generator, lengths, count, by_read) for count, by_read in shapes]
    reads = card_reads(card, [[0] * length for length in lengths])
    on_card = [(upload_all(card, jobs), upload_all(card, extensions)) for jobs, extensions in parts]
    result = download_all(card, collect(card, on_card, reads, upload_reference(card, reference())))
    model = alignments_of([])
    assert [column.dtype for column in result] == [column.dtype for column in model]
    expected = collected(parts, lengths, [b"r%05d" % i for i in range(len(lengths))])
    assert in_words(result) == expected
    best = card.download(best_scores(card, on_card, reads, upload_reference(card, reference())))
    assert best.dtype == np.int32
    assert best.tolist() == [[max(0, places[0][1]) if places else 0, 0] for places in expected]


def test_collect_of_no_reads(card) -> None:
    part = drawn_part(random.Random(1), [], 0, True)
    on_card = tuple(upload_all(card, item) for item in part)
    result = collect(card, [on_card], card_reads(card, []), upload_reference(card, reference()))
    assert card.download(result.offsets).tolist() == [0]
    assert len(card.download(result.score)) == 0


def test_poorly_aligned(card) -> None:
    """Find reads below nine tenths, not on the primary assembly, or short and imperfect; then only short ones."""
    lengths, scores = [100, 100, 100, 101, 101, 1, 60, 60, 61], [90, 89, None, 91, 90, 1, 60, 59, 60]
    best = np.zeros((len(scores), 2), np.int32)
    best[:, 0] = [score or 0 for score in scores]
    best[3], best[5] = (0, 91), (0, 1)  # only on an alternate contig
    best[4, 1] = best[6, 1] = 60  # there as well
    best = card.upload(best)
    reads = card_reads(card, [[0] * length for length in lengths])
    poor = card.download(poorly_aligned(card, best, reads, SeedingPass(SEEDING, 9, 10, 61)))
    assert poor.dtype == np.uint8
    assert poor.tolist() == [0, 1, 1, 1, 1, 1, 0, 1, 0]
    poor = card.download(poorly_aligned(card, best, reads, SeedingPass(SEEDING, 0, 1, shortest_certain=61)))
    assert poor.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 0]
    poor = card.download(poorly_aligned(card, best, reads, SeedingPass(SEEDING, 0, 1, all_versions=True)))
    assert poor.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0]


def drawn_places(generator: random.Random) -> list[Place]:
    """Return up to three places of a read of 100 bases."""
    places = []
    for score in (100, generator.choice([80, 81, 100]), 40)[: generator.choice([0, 1, 1, 2, 3])]:
        begin, end = generator.choice([0, 0, 10]), generator.choice([100, 100, 95])
        position = generator.choice([200, 210, 300, 310, 500, LONGEST_INSERT + 110, LONGEST_INSERT + 120])
        span = end - begin + generator.randint(-2, 2)
        places.append(Place(score, generator.randint(0, 1), position, begin, end, generator.choice([0, 0, 0, 1]), span))
    return places


@pytest.mark.parametrize("pairs", [0, 1, 600])
def test_unique_template_lengths(card, pairs: int) -> None:
    generator = random.Random(pairs)
    mates = [[drawn_places(generator) for _ in range(pairs)] for _ in range(2)]
    # The longest insert that counts, and one base more.
    for pair, more in zip(range(pairs), (0, 1), strict=False):
        mates[0][pair] = [Place(100, 0, 300, 0, 100)]
        mates[1][pair] = [Place(100, 1, 300 + LONGEST_INSERT - 101 + more, 0, 100)]
    sequences = [[0] * 100] * pairs
    reads = card_reads(card, sequences, [[0] * 101] * pairs)
    alignments = upload_all(card, alignments_of([*mates[0], *mates[1]]))
    lengths = card.download(unique_template_lengths(card, alignments, reads))
    wanted = []
    for a, b in zip(*mates, strict=True):
        unique = all(places and (len(places) == 1 or 5 * places[1].score <= 4 * places[0].score) for places in (a, b))
        orientation, length = (unique and oracles_align.template_length(a[0], b[0], (100, 101))) or ("FR", 0)
        wanted.append(4 * length + ORIENTATIONS.index(orientation) if 0 < length <= LONGEST_INSERT else -1)
    assert lengths.dtype == np.int64
    assert lengths.tolist() == wanted
    assert wanted[:2] == [4 * LONGEST_INSERT + ORIENTATIONS.index("FR"), -1][:pairs]
    assert pairs < 2 or {code & 3 for code in set(wanted) - {-1}} == {0, 1, 2, 3}
