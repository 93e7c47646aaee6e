"""A genome of two contigs with one variant of each kind, and the variants as a caller should find them."""

import random
from pathlib import Path

import pysam

from tests.support.rearranged import Chromosome, Piece

ONE, TWO = 24_000, 8_000
INSERTED = 180
# The variants of the rearranged chromosome, in order (0-based, half-open).
DELETION, DUPLICATION, INVERSION, INSERTION, COPY = (2000, 2400), (5000, 5700), (8000, 8900), 11_000, 13_000
SOURCE = (20_000, 21_200)  # of the copied bases
BREAK = 16_000, 4_000  # the places of a reciprocal translocation
PLAIN: list[Chromosome] = [[Piece("one", 0, ONE)], [Piece("two", 0, TWO)]]


class RearrangedGenome:
    """The letters of the genome and of an insertion, and the rearranged chromosomes."""

    def __init__(self) -> None:
        generator = random.Random(5)
        self.genome = {name: "".join(generator.choices("ACGT", k=size)) for name, size in (("one", ONE), ("two", TWO))}
        self.inserted = "".join(generator.choices("ACGT", k=INSERTED))
        (a, b), (c, d), (e, f) = DELETION, DUPLICATION, INVERSION
        spans = [(0, a, False), (b, d, False), (c, e, False), (e, f, True), (f, INSERTION, False)]
        first: Chromosome = [
            *(Piece("one", *span) for span in spans),
            self.inserted,
            Piece("one", INSERTION, COPY),
            Piece("one", *SOURCE, True),
            Piece("one", COPY, BREAK[0]),
            Piece("two", BREAK[1], TWO),
        ]
        self.rearranged: list[Chromosome] = [first, [Piece("two", 0, BREAK[1]), Piece("one", BREAK[0], ONE)]]

    def write_fasta(self, path: Path) -> None:
        """Write the reference."""
        path.write_text("".join(f">{name}\n{text}\n" for name, text in self.genome.items()))

    def check(self, called: Path) -> None:
        """Require one record for each variant, two for each junction of the translocation, with exact ends."""
        with pysam.VariantFile(str(called)) as variants:
            records = [*variants]
        for kind, (start, end) in {"DEL": DELETION, "DUP": DUPLICATION, "INV": INVERSION}.items():
            (record,) = [one for one in records if one.info["SVTYPE"] == kind]
            homology = record.info.get("HOMLEN", (0,))[0]
            assert record.start + 1 <= start <= record.start + 1 + homology
            assert record.info["SVLEN"] == (end - start,)
            assert abs(record.stop - end) <= homology
        insertions = [one for one in records if one.info["SVTYPE"] == "INS"]
        assert [one.info["SVLEN"][0] for one in insertions] == [INSERTED, SOURCE[1] - SOURCE[0]]
        letters = self.genome["one"]
        copy = letters[slice(*SOURCE)].translate(str.maketrans("ACGT", "TGCA"))[::-1]
        for record, at, text in ((insertions[0], INSERTION, self.inserted), (insertions[1], COPY, copy)):
            assert record.alts is not None
            changed = letters[: record.start] + record.alts[0] + letters[record.stop :]
            assert changed == letters[:at] + text + letters[at:]
        assert "SOURCE" not in insertions[0].info
        place, strand = insertions[1].info["SOURCE"].rsplit(":", 1)
        ends = [int(end) for end in place.removeprefix("one:").split("-")]
        assert strand == "-"
        assert all(abs(end - known) <= 5 for end, known in zip(ends, (SOURCE[0] + 1, SOURCE[1]), strict=True))
        breakends = [one for one in records if one.info["SVTYPE"] == "BND"]
        assert len(records) == 5 + 4
        assert len(breakends) == 4
        assert {one.info["MATEID"][0] for one in breakends} == {one.id for one in breakends}
        for record in breakends:
            assert abs(record.start - BREAK[record.contig == "two"]) <= 1 + record.info.get("HOMLEN", (0,))[0]
