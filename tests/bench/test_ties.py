"""Check copies of uncertain pairs: each has its own name with its origin, and counts are by pair and copy."""

from pathlib import Path

from bench.place import is_right
from bench.ties import _primary, _right_in_copies, _uncertain, _write_copies
from tests.support.builders import Read, write_bam, write_fastq

ORIGINS = {"s0:one:11:+:111:-": 60, "s1:one:21:+:121:-": 9, "s2:one:31:+:131:-": 60}  # the least MAPQ of each pair


def write_mates(folder: Path) -> list[Path]:
    return [
        write_fastq(folder / f"mates_{mate}.fq", [Read(f"{name}/{mate}", "ACGTA", "IIIII") for name in ORIGINS])
        for mate in (1, 2)
    ]


def record(name: str, mate: int, quality: int = 60, shift: int = 0) -> str:
    position = int(name.split(":")[2 * mate]) + shift
    flag = 0x41 if mate == 1 else 0x91
    return f"{name}\t{flag}\tone\t{position}\t{quality}\t5M\t*\t0\t0\tACGTA\tIIIII"


def test_copies_are_counted_by_pair_and_copy(tmp_path: Path) -> None:
    lines = [record(name, mate, quality) for name, quality in ORIGINS.items() for mate in (1, 2)]
    drawn = write_bam(tmp_path / "drawn.bam", {"one": 1000}, lines)
    assert all(map(is_right, _primary(drawn)))
    assert _uncertain(drawn) == {"s1:one:21:+:121:-"}
    elsewhere = write_bam(
        tmp_path / "elsewhere.bam", {"one": 1000}, [*lines[:4], record("s2:one:31:+:131:-", 1, 60, 300)]
    )
    assert _uncertain(elsewhere) == {"s1:one:21:+:121:-", "s2:one:31:+:131:-"}

    copied = _write_copies(write_mates(tmp_path), _uncertain(elsewhere), 3, tmp_path / "copies")
    names = [[line[1:-2] for line in path.read_text().splitlines()[::4]] for path in copied]
    assert names[0] == names[1]
    assert names[0][0] == "s0x-1:one:11:+:111:-"  # the certain pair comes first
    expected = [f"s{pair}x{copy}:one:{pair + 1}1:+:1{pair + 1}1:-" for pair in (1, 2) for copy in range(3)]
    assert sorted(names[0][1:]) == expected
    # First mates are placed correctly in copies with an even number, second mates in all copies of s1.
    lines = []
    for name in names[0]:
        serial, copy = name.split(":")[0][1:].split("x")
        lines.append(record(name, 1, 0, 300 * (int(copy) % 2)))
        lines.append(record(name, 2, 0, 0 if serial == "1" else 300))
    counts = _right_in_copies(write_bam(tmp_path / "copied.bam", {"one": 1000}, lines), 3)
    assert sorted(counts.tolist()) == [[1, 0, 1], [2, 1, 2]]
