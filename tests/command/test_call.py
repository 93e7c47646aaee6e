"""The arguments of `quire call` and `quire why` that name alignments."""

from pathlib import Path

import pysam
import pytest
from quire.command.variants import call, why


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
