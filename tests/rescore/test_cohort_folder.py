"""A cohort in a folder: its VCF does not depend on the order of additions, and samples can be taken out again."""

import random
from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.errors import InputError
from quire.reference import Reference
from quire.rescore.joint import JointRequest, genotype_interval
from quire.rescore.joint.folder import add_gvcfs, changed_cohort, stores_of, stores_to_remove

from tests.rescore.test_joint_oracle import gvcf_lines
from tests.support.builders import write_fasta
from tests.support.gvcf import write_gvcf

LENGTHS = {"c": 700}
NAMES = ("b", "e", "a", "d", "c")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a packed reference and the gVCFs of NAMES and of two samples in one file."""
    root, generator = tmp_path_factory.mktemp("world"), random.Random(7)
    letters = {"c": "".join(generator.choices("ACGT", k=LENGTHS["c"]))}
    reference_stage.build(write_fasta(root / "genome.fa", letters), root / "reference", 1 << 20)
    for name in NAMES:
        write_gvcf(root / f"{name}.g.vcf.gz", [name], LENGTHS, gvcf_lines(generator, letters, [2]))
    write_gvcf(root / "two.g.vcf.gz", ["x", "y"], LENGTHS, gvcf_lines(generator, letters, [2, 2]))
    return root


def gvcfs(world: Path, names: str) -> list[str]:
    return [str(world / f"{name}.g.vcf.gz") for name in names.split()]


def add(world: Path, folder: Path, names: str) -> None:
    add_gvcfs(folder, world / "reference", gvcfs(world, names), 2)


def joint(world: Path, folder: Path) -> bytes:
    """Return the joint VCF of a cohort."""
    stores = [store.path for store in stores_of(folder, Reference.open(world / "reference"))]
    output = folder.with_suffix(".vcf.gz")
    genotype_interval(JointRequest(world / "reference", stores, [("c", 0, 700)], output, 10.0))
    return output.read_bytes()


@pytest.mark.parametrize("batches", [["a b c d e"], ["e d", "c", "b a"], ["c", "a", "e", "b", "d"]])
def test_the_order_of_additions_makes_no_difference(world: Path, tmp_path: Path, batches: list[str]) -> None:
    add(world, tmp_path / "scratch", "b e a d c")
    for names in batches:
        add(world, tmp_path / "grown", names)
    whole = joint(world, tmp_path / "scratch")
    assert joint(world, tmp_path / "grown") == whole
    assert whole.count(b"\x1f\x8b") > 1


def test_only_a_new_gvcf_is_read(world: Path, tmp_path: Path) -> None:
    add(world, tmp_path / "cohort", "a b")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cohort").iterdir()}
    add(world, tmp_path / "cohort", "a b c")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "cohort").iterdir()}
    assert len(after) == 3
    assert before.items() <= after.items()
    (world / "a.g.vcf.gz").touch()  # made again
    add(world, tmp_path / "cohort", "a b")
    renewed = {path: path.stat().st_mtime_ns for path in (tmp_path / "cohort").iterdir()}
    assert len(renewed.items() - after.items()) == 1


def test_a_sample_that_is_taken_out_leaves_no_trace(world: Path, tmp_path: Path) -> None:
    add(world, tmp_path / "fewer", "a c e")
    add(world, tmp_path / "cohort", "a b c d e two")
    with changed_cohort(tmp_path / "cohort", world / "reference", [], ["b", "y", "d", "x"], 1) as stores:
        assert [store.samples for store in stores] == [["a"], ["c"], ["e"]]
    assert joint(world, tmp_path / "cohort") == joint(world, tmp_path / "fewer")


def test_a_failed_change_takes_nothing_out(world: Path, tmp_path: Path) -> None:
    add(world, tmp_path / "cohort", "a b")
    before = {path: path.read_bytes() for path in (tmp_path / "cohort").iterdir()}
    (tmp_path / "bad.g.vcf.gz").write_bytes((world / "c.g.vcf.gz").read_bytes()[:-100])
    for gvcfs, removed in (([tmp_path / "bad.g.vcf.gz"], ["a"]), ([], ["a", "b"])):
        with (
            pytest.raises(InputError, match=r"is truncated|has no sample"),
            changed_cohort(tmp_path / "cohort", world / "reference", gvcfs, removed, 1),
        ):
            pass
    assert {path: path.read_bytes() for path in before} == before


def test_a_sample_that_is_replaced(world: Path, tmp_path: Path) -> None:
    add(world, tmp_path / "cohort", "a b")
    other = write_gvcf(tmp_path / "a.g.vcf.gz", ["a"], LENGTHS, [])
    with changed_cohort(tmp_path / "cohort", world / "reference", [other], ["a"], 1) as stores:
        assert [Path(str(store.state[0])).parent for store in stores] == [tmp_path, world]
    with pytest.raises(InputError, match=r"its samples are in the cohort .* take them out with --remove"):
        add(world, tmp_path / "cohort", "a")


def test_each_mistake_is_one_sentence(world: Path, tmp_path: Path) -> None:
    reference, cohort = Reference.open(world / "reference"), tmp_path / "cohort"
    add(world, cohort, "a two")
    with pytest.raises(InputError, match=r"--remove: 'q' is not in the cohort"):
        stores_to_remove(cohort, reference, ["q"])
    with pytest.raises(InputError, match=r"--remove: 'x' shares the gVCF .*two\.g\.vcf\.gz with y; name them all"):
        stores_to_remove(cohort, reference, ["a", "x"])
    assert [store.samples for store in stores_of(cohort, reference)] == [["a"], ["x", "y"]]
    copy = write_gvcf(tmp_path / "copy.g.vcf.gz", ["a"], LENGTHS, [])
    with pytest.raises(InputError, match=r"copy\.g\.vcf\.gz: its samples are in the cohort .* from .*a\.g\.vcf\.gz"):
        add_gvcfs(cohort, world / "reference", [copy], 1)
    part = write_gvcf(tmp_path / "part.g.vcf.gz", ["y"], LENGTHS, [])
    with pytest.raises(InputError, match=r"part\.g\.vcf\.gz: its sample 'y' is in the cohort .* \(take it out"):
        add_gvcfs(cohort, world / "reference", [part], 1)
    with pytest.raises(InputError, match=r"its sample 'b' is in .*b\.g\.vcf\.gz too"):
        add_gvcfs(cohort, world / "reference", [*gvcfs(world, "b"), write_gvcf(tmp_path / "b2", ["b"], LENGTHS, [])], 1)
