"""`quire call`, `quire joint` and `quire why`: their arguments, and their commands in headers of VCF."""

import random
from pathlib import Path

import pysam
import pytest
from quire.command.variants import call, joint, why

from tests.support.builders import random_bases, write_fasta
from tests.support.clipped import Base, sam_lines, spelled
from tests.support.simulation import indexed_bam
from tests.support.vcf_commands import command_of, run_again


def alignments(path: Path, sample: str) -> str:
    """Write an empty, indexed BAM with one read group; without a sample if it is empty."""
    group = {"ID": "lane"} | ({"SM": sample} if sample else {})
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "one", "LN": 300}], "RG": [group]}
    pysam.AlignmentFile(str(path), "wb", header=header).close()
    pysam.index(str(path))
    return str(path)


@pytest.mark.parametrize("sample", ["a", ""])
@pytest.mark.parametrize("command", [call, why])
def test_two_files_of_a_sample(command, sample: str, tmp_path: Path) -> None:
    """They would be two columns of one name."""
    (tmp_path / "other").mkdir()
    first, second = (alignments(folder / "x.bam", sample) for folder in (tmp_path, tmp_path / "other"))
    (tmp_path / "one.fa").write_text(f">one\n{'ACGT' * 75}\n")
    own = [first, second, "--output", str(tmp_path / "x.vcf.gz")] if command is call else ["--bam", first, second]
    place = [] if command is call else ["--at", "one:9"]
    with pytest.raises(SystemExit) as ended:
        command([*own, *place, "--reference", str(tmp_path / "one.fa")])
    expected = f"{second}: is of sample {sample or 'x'}, as is {first}; join the files of a sample with samtools merge."
    assert str(ended.value) == f"quire: error: {expected}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.fa", "other", "x.bam", "x.bam.bai"]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (
            ["--gvcf", "--minimum-quality", "20"],
            "--minimum-quality: does not go with --gvcf; leave one of the two out.",
        ),
        (["--gvcf", "--pool-support"], "--pool-support: does not go with --gvcf; leave one of the two out."),
        (["--gq-bands", "20,60"], "--gq-bands: needs --gvcf; give both or neither."),
        (["--gvcf", "--gq-bands", "60,20"], "--gq-bands: is 60,20; give ascending numbers."),
    ],
)
def test_options_that_do_not_fit_the_output(options: list[str], refused: str, tmp_path: Path) -> None:
    bam = alignments(tmp_path / "x.bam", "a")
    (tmp_path / "one.fa").write_text(f">one\n{'ACGT' * 75}\n")
    with pytest.raises(SystemExit) as ended:
        call([bam, "--output", str(tmp_path / "x.vcf.gz"), "--reference", str(tmp_path / "one.fa"), *options])
    assert str(ended.value) == f"quire: error: {refused}"


def cohort(folder: Path) -> None:
    """Write a genome, the BAM of a man and a woman with a variant each 500 bases, and two BED files."""
    folder.mkdir()
    generator = random.Random(3)
    letters = random_bases(generator, 3000)
    write_fasta(folder / "genome.fa", {"X": letters})
    changes = [(at, at + 1, [Base("ACGT"["ACGT".index(letters[at]) - 1], "X", at)]) for at in range(500, 3000, 500)]
    for sample in ("a man", "woman"):
        lines = sam_lines(generator, [spelled("X", letters, changes), spelled("X", letters, [])], 300)
        indexed_bam(folder / f"{sample}.bam", {"X": 3000}, [text for _, _, text in lines], sample)
    (folder / "ploidies.bed").write_text("X\t0\t3000\t1\tmale\n")
    (folder / 'the "regions".bed').write_text("X\t100\t2600\n")


def test_commands_of_headers(tmp_path: Path, monkeypatch) -> None:
    """They name the inputs and all that decides the records, so run again they give the same file."""
    folder = tmp_path / "two words"
    cohort(folder)
    monkeypatch.chdir(folder)
    files, genome = ["a man.bam", "woman.bam"], ["--reference", "genome.fa"]
    options = ["--sex", "male,female", "--ploidy-regions", "ploidies.bed", "--minimum-quality", "20.5"]
    options += ["--intervals", 'the "regions".bed', "--no-long-indels"]
    call([*files, *genome, *options, "--output", "both.vcf.gz"])
    for name, sex in (("a man", "male"), ("woman", "female")):
        more = ["--gvcf", "--sex", sex, "--ploidy-regions", "ploidies.bed", "--output", f"{name}.g.vcf.gz"]
        call([f"{name}.bam", *genome, *more])
    gvcfs = ["a man.g.vcf.gz", "woman.g.vcf.gz"]
    options = ["--intervals", 'the "regions".bed', "--emit", "all_sites", "--minimum-quality", "20.5"]
    joint([*gvcfs, *genome, *options, "--output", "joint.vcf.gz"])
    for name in ("both.vcf.gz", *gvcfs, "joint.vcf.gz"):
        run_again(command_of(folder / name), tmp_path / name, folder)
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    with pysam.VariantFile("both.vcf.gz") as stream:
        assert {tuple(len(one["GT"]) for one in record.samples.values()) for record in stream} == {(1, 2)}


def test_a_cohort_grows_and_shrinks(tmp_path: Path, monkeypatch, capsys) -> None:
    cohort(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    genome = ["--reference", "genome.fa"]
    for name in ("a man", "woman"):
        call([f"{name}.bam", *genome, "--gvcf", "--output", f"{name}.g.vcf.gz"])
    output = ["--output", "joint.vcf.gz"]
    joint(["a man.g.vcf.gz", "woman.g.vcf.gz", *genome, *output])
    both = Path("joint.vcf.gz").read_bytes()
    joint(["woman.g.vcf.gz", "--cohort", "kept", *genome, *output])
    woman = Path("joint.vcf.gz").read_bytes()
    joint(["a man.g.vcf.gz", "--cohort", "kept", *genome, *output])
    assert Path("joint.vcf.gz").read_bytes() == both
    joint(["--cohort", "kept", "--remove", "a man", *genome, *output])
    assert Path("joint.vcf.gz").read_bytes() == woman != both
    for arguments, sentence in (
        ([], "no gVCF and no --cohort is given; name one."),
        (
            ["woman.g.vcf.gz", "--remove", "woman"],
            "--remove takes samples out of a cohort; name its folder by --cohort.",
        ),
        (["--cohort", "kept", "--remove", "woman"], "kept: has no sample; give its gVCF."),
        (["woman.g.vcf.gz"] * 2, "woman.g.vcf.gz: its sample 'woman' is in woman.g.vcf.gz too; leave one of them out."),
    ):
        with pytest.raises(SystemExit) as ended:
            joint([*arguments, *genome, *output])
        assert str(ended.value) == f"quire: error: {sentence}"


def test_values_of_each_file(tmp_path: Path, monkeypatch) -> None:
    cohort(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(SystemExit) as ended:
        call(["woman.bam", "--reference", "genome.fa", "--ploidy", "1,2", "--output", "x.vcf.gz"])
    assert str(ended.value) == "quire: error: --ploidy: has 2 values for 1 files; give one, or one of each."
