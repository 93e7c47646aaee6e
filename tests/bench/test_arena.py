"""Check who takes part in the arena, what its tables call best, and that each better peer is named."""

from pathlib import Path

import numpy as np
import pytest

from bench import arena, arena_page, complete, gpu_arena

FIGURES = {
    "1,000 reads/s: quire": 90.04, "1,000 reads/s: one": 90.01, "1,000 reads/s: two": 95.0,
    "peak MB: quire": 900.0, "peak MB: one": 899.4, "peak MB: two": 1200.0,
    "reads: quire": 10.0, "reads: one": 10.0, "reads: two": 9.0,
    "1,000 reads/s of a core, k = 3: quire": 20.0, "1,000 reads/s of a core, k = 3: one": 2.0,
}  # fmt: skip


def write_program(path: Path, prints: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)


def test_only_pinned_versions_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(tmp_path / "samtools", "samtools 1.23.1")
    write_program(tmp_path / "minibwa", "0.7-r421")
    write_program(tmp_path / "strobealign", "0.16.1")
    write_program(tmp_path / "copmem2", "copMEM 2.1, by Szymon Grabowski and Wojciech Bieniecki, April 2023.")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = arena.present(["minibwa", "strobealign", "copmem2", "columba"])
    assert found == {"samtools": "1.23.1", "minibwa": "0.7", "copmem2": "2.1 (8040165)"}
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in told] == [
        "# strobealign is left out: it says version 0.16.1, not 0.17.0",
        "# columba is left out: it was not found",
    ]


def test_without_samtools_there_is_no_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path / "samtools", "samtools 1.16.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SystemExit, match=r"the arena needs samtools 1\.23\.1"):
        arena.present(["minibwa"])


def test_the_best_of_each_row_as_shown() -> None:
    rows = {row.name: row for row in arena_page.rows_of(FIGURES)}
    assert list(rows) == ["1,000 reads/s", "peak MB", "reads", "1,000 reads/s of a core, k = 3"]
    assert rows["1,000 reads/s"].winners == ["two"]
    assert rows["peak MB"].winners == ["one"]
    assert rows["reads"].winners == []  # no number of reads is better
    assert rows["1,000 reads/s of a core, k = 3"].winners == ["quire"]
    assert arena_page.Row("s", arena_page.QUANTITIES["s"], {"quire": 1.0004, "one": 1.0}).winners == []


def test_each_peer_that_is_better_is_named() -> None:
    """Also where a third program is the best of the row."""
    more = FIGURES | {"peak MB: two": 100.0}
    told = arena_page.beaten(arena_page.rows_of(more))
    assert told == "Better than Quire:\n\n- two: 1,000 reads/s · peak MB\n- one: peak MB\n"
    alone = {name: value for name, value in FIGURES.items() if not name.endswith("two") and "MB" not in name}
    assert arena_page.beaten(arena_page.rows_of(alone)) == "No peer is better than Quire in any row.\n"


def test_the_section_shows_the_newest_run() -> None:
    line = {"command": "python -m bench.arena --pairs 9", "case": "mapping, 2x150", "date": "2026-01-02", "commit": "c",
            "processor": "P", "cores": 2, "card": None, "peers": {"one": "1.0"}, "figures": {}}  # fmt: skip
    old, new = ({**line, "figures": {"s: quire": seconds, "s: one": 3.0}} for seconds in (2.0, 4.0))
    text = "".join(arena_page.section([old, new, {**new, "command": "python -m bench.mems"}]))
    assert "2026-01-02, c, P, 2 cores; one 1.0\n" in text
    assert "| what | quire | one | best |" in text
    assert "| s | 4.000 | 3.000 | one |" in text
    assert text.endswith("Better than Quire:\n\n- one: s\n\n")


def test_places_of_columba(tmp_path: Path) -> None:
    """Records as Columba prints them: further places are secondary records without bases."""
    sam = tmp_path / "columba.sam"
    sam.write_text(
        "@SQ\tSN:20\tLN:1000\n"
        "r0\t0\t20\t101\t60\t4M\t*\t0\t0\tACGT\tIIII\tAS:i:2\tNM:i:2\tPG:Z:Columba\n"
        "r0\t272\t20\t501\t0\t2M1I1M\t*\t0\t0\t*\t*\tAS:i:1\tNM:i:1\tPG:Z:Columba\n"
        "r1\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tPG:Z:Columba\n"
    )
    first, second = complete.place_of("20", False, 100), complete.place_of("20", True, 500)
    assert complete.read_places(sam) == {"r0": {first: 2, second: 1}}


def test_what_gpupairhmm_prints() -> None:
    told = "options.verbose = 0\nBatch processing time: 0.0419s (1203.5 GCUPS)\n"
    assert gpu_arena.seconds_of(told) == 0.0419
    with pytest.raises(ValueError, match="printed no time"):
        gpu_arena.seconds_of("out of memory\n")
    assert gpu_arena.scores_of("2 2\n-5.97153 -3.1966\n-6.34043 -1.66333\n1 1\n-0.5\n").tolist() == [
        -5.97153, -3.1966, -6.34043, -1.66333, -0.5
    ]  # fmt: skip
    ours, theirs = np.array([-1.0, -2.0, -40.0]), np.array([-1.0005, -2.002, -np.inf])
    assert gpu_arena.differences(ours, theirs) == 1
