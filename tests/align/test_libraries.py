"""Libraries of every orientation: models are found, mates without seeds are mapped, and pairs are proper."""

import random
from pathlib import Path

import pytest
from quire.align.insert_size import ORIENTATIONS

from tests.support.builders import Read, random_bases, reverse_complement, write_fasta
from tests.support.read_builders import Indexed, build_index, map_files, named, write_pairs

LENGTH, INSERT, SHADOW = 80, 3000, 300
PAIRS, SHADOWS = 160, 40
# True if the left and the right end of a fragment are reverse complements: with the left end as the first mate, and
# with the right end as the first mate.
ENDS = {
    "FF": ((False, False), (True, True)),
    "FR": ((False, True), (False, True)),
    "RF": ((True, False), (True, False)),
    "RR": ((True, True), (False, False)),
}


class Library:
    """Pairs of one orientation, one in ten of which is FR at 300 bases, and the places of their mates."""

    def __init__(self, genome: str, orientation: str) -> None:
        generator = random.Random(orientation)
        self.pairs: list[tuple[Read, Read]] = []
        self.places: list[list[tuple[int, bool]]] = []
        orientations = [orientation] * PAIRS + ["FR"] * SHADOWS
        generator.shuffle(orientations)
        for number, kind in enumerate(orientations):
            size = round(generator.gauss(SHADOW if kind == "FR" else INSERT, 30 if kind == "FR" else 200))
            start = generator.randrange(len(genome) - size)
            right_first = generator.random() < 0.5
            places = list(zip((start, start + size - LENGTH), ENDS[kind][right_first], strict=True))
            reads = []
            for begin, reverse in places:
                bases = genome[begin : begin + LENGTH]
                reads.append(named(generator, f"p{number}", reverse_complement(bases) if reverse else bases))
            if number % 4 == 3:  # one of them has no exact seed of 20 bases
                spoiled = generator.randrange(2)
                reads[spoiled] = named(generator, f"p{number}", substituted(reads[spoiled].bases))
            order = (1, 0) if right_first else (0, 1)
            self.pairs.append((reads[order[0]], reads[order[1]]))
            self.places.append([places[end] for end in order])


def substituted(bases: str) -> str:
    return "".join("ACGT"["ACGT".index(base) - 1] if i % 12 == 5 else base for i, base in enumerate(bases))


@pytest.fixture(scope="module")
def genome(tmp_path_factory) -> tuple[str, Path, Indexed]:
    folder = tmp_path_factory.mktemp("libraries")
    bases = random_bases(random.Random(9), 60_000)
    return bases, folder, build_index(folder, write_fasta(folder / "genome.fa", {"one": bases}))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_pairs_of_any_orientation_are_proper_and_rescued(genome, orientation):
    bases, folder, indexed = genome
    library = Library(bases, orientation)
    mates = write_pairs(folder, library.pairs, orientation)
    mapped = map_files(folder, indexed, mates)
    known = {name for name, model in mapped.insert_size.items() if model["low"] <= model["high"]}
    assert known == {orientation, "FR"}
    between = INSERT - {"FF": 1, "FR": 0, "RF": 2, "RR": 1}[orientation] * LENGTH
    assert mapped.insert_size[orientation]["median"] == pytest.approx(
        between if orientation != "FR" else SHADOW, abs=90
    )
    for record in mapped.records():
        position, reverse = library.places[int(record.query_name[1:])][record.is_read2]
        assert record.is_proper_pair
        assert record.is_reverse == reverse
        assert abs(record.reference_start - record.query_alignment_start - position) <= 1
    again = map_files(folder, indexed, mates, batch=17, threads=2)
    assert again.insert_size == mapped.insert_size
    assert again.lines == mapped.lines


def test_a_library_of_few_pairs_has_no_model(genome):
    bases, folder, indexed = genome
    library = Library(bases, "RF")
    mapped = map_files(folder, indexed, write_pairs(folder, library.pairs[:9], "few"))
    assert all(model["high"] == -1 for model in mapped.insert_size.values())
    assert mapped.ledger["counts"]["properly_paired"] == 0
