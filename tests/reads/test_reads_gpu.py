"""Reads on both strands, oriented on the CPU and on a card."""

import numpy as np
import pytest
from quire.reads.gpu import CardReads

from tests.oracles.ties import hash_name
from tests.support.card_builders import card_reads, download_all, pack, reverse_complement


def random_reads(seed: int, count: int, longest: int) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    return [generator.integers(0, 5, generator.integers(0, longest + 1)).tolist() for _ in range(count)]


def check(card, reads: CardReads, sequences: list[list[int]]) -> None:
    assert len(reads) == len(sequences)
    host = download_all(card, reads)
    for read, sequence in enumerate(sequences):
        for strand, codes in enumerate([sequence, reverse_complement(sequence)]):
            assert host.codes[strand, host.offsets[read] : host.offsets[read + 1]].tolist() == codes
            words = host.packed[strand, host.word_offsets[read] : host.word_offsets[read + 1]]
            wanted = pack([0 if code > 3 else code for code in codes])[: len(words)]
            assert words.tolist() == wanted.tolist()
        assert host.ambiguous[read] == (4 in sequence)
    assert host.packed[:, -1].tolist() == [0, 0]


@pytest.mark.parametrize("longest", [0, 31, 32, 33, 150])
def test_both_strands(card_or_cpu, longest: int) -> None:
    sequences = random_reads(longest, 9, longest)
    check(card_or_cpu, card_reads(card_or_cpu, sequences), sequences)


def test_mates_follow_and_share_the_hash_of_their_name(card_or_cpu) -> None:
    first, second = random_reads(1, 5, 40), random_reads(2, 5, 70)
    reads = card_reads(card_or_cpu, first, second)
    check(card_or_cpu, reads, first + second)
    assert card_or_cpu.download(reads.name_hash).tolist() == [hash_name(b"r%05d" % i) for i in range(5)] * 2


@pytest.mark.parametrize("chosen", [[], [0], [1, 2, 6], list(range(7))])
def test_a_subset_is_what_orienting_those_reads_gives(card, chosen: list[int]) -> None:
    sequences = random_reads(3, 7, 90)
    whole = card_reads(card, sequences)
    part = whole.subset(card, card.upload(np.array(chosen, np.int64)))
    check(card, part, [sequences[read] for read in chosen])
    assert card.download(part.name_hash).tolist() == [hash_name(b"r%05d" % read) for read in chosen]
