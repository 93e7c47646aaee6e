"""Recovery of units from the finished file of their sample; finishing them again gives the same bytes."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from quire.buckets.file import BucketFile, UnitFiles
from quire.finish.earlier_cpu import MOST_TIMES, keep_units, take_back
from quire.finish.sample import UnsortedUnit
from quire.io.files import read_json, write_json_atomic

from tests.finish.test_finish import finish, random_lines, unit_file
from tests.finish.test_optical import CONTIGS as LONG_CONTIGS
from tests.finish.test_optical import spots_of_pairs

FINISHED = {"index": "bam.bai", "assembly": ""}
LIBRARIES = {"1": "libA", "2": "libB", "3": "libA"}


def files_of(folder: Path, unit: UnsortedUnit) -> UnitFiles:
    """Write a unit's buckets and the two JSON files of mapping."""
    ledger, insert_size = (folder / f"{unit.unit}.{name}.json" for name in ("ledger", "insert_size"))
    write_json_atomic(ledger, {"unit": unit.unit, "mapped_from": f"origin {unit.unit}"})
    write_json_atomic(insert_size, {"median": 300})
    return UnitFiles(unit.path, ledger, insert_size)


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.name != "units.json"}


def taken_back(folder: Path, unit: UnsortedUnit, to: Path, **changed: object) -> bool:
    """Recover a unit to a separate folder."""
    to.mkdir(exist_ok=True)
    arguments: dict = {
        "path": folder / "out/units.json", "alignments": folder / "out/S.bam", "read_group": f"S.{unit.unit}",
        "unit": unit.unit, "mapped_from": f"origin {unit.unit}",
        "outputs": UnitFiles(*(to / f"{unit.unit}.{name}" for name in ("buckets", "ledger.json", "insert_size.json"))),
        "threads": 2,
    } | changed  # fmt: skip
    return take_back(**arguments)


def finished(folder: Path, lines: Callable[[int, str], list[str]], **changed: object) -> list[UnsortedUnit]:
    """Return a finished sample of three lanes, and the file of kept units."""
    folder.mkdir(exist_ok=True)
    contigs = {"contigs": changed["contigs"]} if "contigs" in changed else {}
    units = [
        unit_file(folder, unit, library, lines(seed, unit), *contigs.values())
        for seed, (unit, library) in enumerate(LIBRARIES.items())
    ]
    output = finish(folder, units, **changed)
    keep_units(folder / "out/units.json", output, FINISHED, [(unit.unit, files_of(folder, unit)) for unit in units])
    return units


@pytest.mark.parametrize("kind", ["crowded", "optical"])
def test_finished_again_they_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    """Finish all lanes again, and fewer of them, with ties, unmapped reads and duplicates across lanes."""
    generator = random.Random(3)

    def lines(seed: int, unit: str) -> list[str]:
        if kind == "crowded":
            return random_lines(seed, unit, 400)
        return spots_of_pairs(generator, unit, 150)

    settings = {} if kind == "crowded" else {"contigs": LONG_CONTIGS, "optical_distance": 100}
    units = finished(tmp_path / "first", lines, **settings)
    again = []
    for unit in units:
        assert taken_back(tmp_path / "first", unit, tmp_path / "back")
        again.append(UnsortedUnit(unit.unit, unit.library, tmp_path / f"back/{unit.unit}.buckets"))
        for name in (f"{unit.unit}.ledger.json", f"{unit.unit}.insert_size.json"):
            assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()
    for chosen in (slice(0, 3), slice(1, 3)):
        for name, group in (("scratch", units[chosen]), ("later", again[chosen])):
            (tmp_path / name).mkdir(exist_ok=True)
            finish(tmp_path / name, group, **settings)
        assert results(tmp_path / "later") == results(tmp_path / "scratch")
    duplicates = json.loads((tmp_path / "later/out/S.json").read_text())["counts"]["duplicates"]
    assert 0 < duplicates < json.loads((tmp_path / "first/out/S.json").read_text())["counts"]["duplicates"]


def test_what_is_not_the_same_is_mapped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Recover nothing for another input, unit or file, or from a file that is damaged or lacks records."""
    folder = tmp_path / "first"
    unit = finished(folder, lambda seed, unit: random_lines(seed, unit, 100))[0]
    bam, kept = folder / "out/S.bam", folder / "out/units.json"
    status, content = bam.stat(), read_json(kept)

    def refused(**changed: object) -> bool:
        done = taken_back(folder, unit, tmp_path / "back", **changed)
        return not done and not list((tmp_path / "back").iterdir())

    assert refused(mapped_from="another")
    assert refused(outputs=UnitFiles(*[tmp_path / "back" / name for name in "abc"]), read_group="S.4")
    assert refused(path=tmp_path / "none.json")
    os.utime(bam, (status.st_mtime, status.st_mtime + 100))
    assert refused()
    os.utime(bam, ns=(status.st_atime_ns, status.st_mtime_ns))
    damaged = bytearray(bam.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    whole = bam.read_bytes()
    bam.write_bytes(whole + b" ")
    assert refused()
    bam.write_bytes(damaged)
    assert refused()
    assert "is damaged); it is not used. The reads are mapped instead." in caplog.text
    bam.write_bytes(whole)
    units, header = content["units"], content["units"]["1"]["header"]
    units["1"]["header"] = header.replace("PU:1", "PU:2")
    write_json_atomic(kept, content)
    assert refused()
    assert "S.bam: has another header than when it was finished. The reads" in caplog.text
    units["1"]["header"] = header
    kept.write_text(kept.read_text().replace("origin 1", "origin 2"))
    assert refused()
    assert "units.json: does not match its checksum" in caplog.text
    content["units"]["1"]["records"] += 1
    write_json_atomic(kept, content)
    assert refused()
    assert "records of S.1, not" in caplog.text
    content["units"]["1"]["records"] -= 1
    write_json_atomic(kept, content)
    assert taken_back(folder, unit, tmp_path / "back")
    assert BucketFile(tmp_path / "back/1.buckets").records == content["units"]["1"]["records"]


@pytest.mark.parametrize(("records", "mapped"), [(24, False), (20, True), (0, True)])
def test_a_small_part_of_a_large_file_is_mapped(
    records: int, mapped: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Recover nothing if the unit is a small part of the file, since reading all of it takes longer than mapping."""
    units = finished(tmp_path, lambda seed, unit: random_lines(seed, unit, records if seed == 1 else 120))
    assert MOST_TIMES == 12  # 264 records are 11 times 24, and 260 are 13 times 20
    with caplog.at_level("INFO", "quire.align"):
        assert [taken_back(tmp_path, unit, tmp_path / "back") for unit in units] == [True, not mapped, True]
    assert ("mapping is faster than reading them" in caplog.text) is mapped


def test_of_a_cram_nothing_is_kept(tmp_path: Path) -> None:
    """Keep nothing for a CRAM, which does not preserve the bytes of records."""
    unit = unit_file(tmp_path, "1", "libA", random_lines(1, "1", 5))
    (tmp_path / "S.cram").write_bytes(b"x")
    keep_units(tmp_path / "units.json", tmp_path / "S.cram", FINISHED, [("1", files_of(tmp_path, unit))])
    assert json.loads((tmp_path / "units.json").read_text())["units"] == {}
