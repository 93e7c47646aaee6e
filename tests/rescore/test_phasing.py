"""Phase groups of calls by the haplotypes that carry their alternates; GATK's own are in test_gvcf and test_joint."""

import numpy as np
from quire.rescore.genotyping.sites import SPANNING, Site
from quire.rescore.haplotypes import Event, Haplotype
from quire.rescore.phasing import FIRST, SECOND, Phase, phase_groups, phased, phases


def test_the_same_haplotypes_and_the_others() -> None:
    assert phase_groups([{1}, {1}]) == {0: (0, SECOND), 1: (0, SECOND)}
    assert phase_groups([{1}, {2}]) == {0: (0, SECOND), 1: (0, FIRST)}
    assert phase_groups([{1}, set(), {2}, {1}]) == {0: (0, SECOND), 2: (0, FIRST), 3: (0, SECOND)}
    assert phase_groups([{1, 2}, {2, 3}]) == {}  # neither always nor never together
    assert phase_groups([{1}]) == phase_groups([]) == {}


def test_a_call_on_all_haplotypes_goes_with_the_first_that_it_meets() -> None:
    # The third is on the haplotype without the first two: opposite to the second.
    assert phase_groups([{1, 2}, {1}, {2}]) == {0: (0, SECOND), 1: (0, SECOND), 2: (0, FIRST)}
    assert phase_groups([{1, 2, 3}, {1}, {2}]) == {0: (0, SECOND), 1: (0, SECOND)}
    assert phase_groups([{1}, {1, 2}]) == {0: (0, SECOND), 1: (0, SECOND)}


def test_two_groups_and_contradictions() -> None:
    carriers = [{1, 2}, {1, 2}, {3}, {3}]
    assert phase_groups(carriers) == {0: (0, SECOND), 1: (0, SECOND), 2: (0, FIRST), 3: (0, FIRST)}
    assert phase_groups([{1}, {1}, {2}, {2}, {3}]) == {
        0: (0, SECOND), 1: (0, SECOND), 2: (1, SECOND), 3: (1, SECOND),
    }  # fmt: skip
    # The second and first are both in phase with the third, but not with each other.
    assert phase_groups([{1}, {2}, {1, 2, 3}]) == {}


def haplotype(*events: Event) -> Haplotype:
    return Haplotype(b"", 0, (), {event.start: event for event in events})


def test_phases_name_their_group_by_its_first_call() -> None:
    snv, other, deletion = Event(100, 1, b"\2"), Event(110, 1, b"\3"), Event(105, 3, b"\0")
    haplotypes = [haplotype(), haplotype(snv, deletion), haplotype(other)]

    def site(start: int, alleles: tuple[bytes, ...], *carriers: list[int]) -> Site:
        carried = np.array([[h in own for h in range(3)] for own in carriers])
        return Site(start, alleles, carried)

    first = site(100, (b"\0", b"\2"), [0, 2], [1])
    both = site(106, (b"\1", b"\2", b"\3"), [0], [1], [2])
    second = site(110, (b"\1\1", b"\3\1", SPANNING), [0, 1], [2], [1])
    found = phases([first, both, second], haplotypes)
    assert found == [Phase(SECOND, "101_A_G", 101), None, Phase(FIRST, "101_A_G", 101)]
    assert found[0] is not None
    assert found[0].values == {"PGT": "0|1", "PID": "101_A_G", "PS": 101}
    assert phases([first], haplotypes) == [None]


def test_genotypes_in_the_order_of_their_haplotypes() -> None:
    alleles = ("A", "*", "G")
    assert phased((0, 2), alleles, SECOND) == (0, 2)
    assert phased((0, 2), alleles, FIRST) == (2, 0)
    assert phased((1, 2), alleles, FIRST) == (2, 1)
    assert phased((2, 2), alleles, FIRST) == (2, 2)
    assert phased((-1, -1), alleles, SECOND) == (-1, -1)
    assert phased((0, 2), alleles, "1|1") == (0, 2)
