"""Check the early search for a card, which only decides what is loaded first."""

import os
import sys
import threading
from pathlib import Path

import pytest
from quire.device import backend


@pytest.mark.parametrize(
    ("requested", "node", "visible", "expected"),
    [
        ("auto", True, None, True),
        ("auto", True, "0", True),
        ("auto", True, "", False),
        ("auto", True, "-1", False),
        ("auto", False, None, False),
        ("gpu", False, None, True),
        ("cpu", True, "0", False),
    ],
)
def test_may_have_card(
    requested: str, node: bool, visible: str | None, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(backend, "_NODES", (str(tmp_path / ("nvidiactl" if node else "none")),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert backend.may_have_card(requested) is expected


@pytest.mark.parametrize(
    ("requested", "card", "megabytes", "expected"),
    [
        ("auto", True, (74, 75), True),
        ("auto", True, (75, 76), False),
        ("auto", False, (1, 1), False),
        ("gpu", True, (1, 1), False),
        ("cpu", True, (1, 1), False),
        ("auto", True, (1, None), False),
    ],
)
def test_few_reads(
    requested: str, card: bool, megabytes: tuple[int | None, ...], expected: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A pipe (None) may bring any number of reads; without a card the reason is that there is none."""
    monkeypatch.setattr(backend, "_NODES", (str(tmp_path if card else tmp_path / "none"),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    files = [tmp_path / f"{mate}.fq.gz" for mate in range(len(megabytes))]
    for path, size in zip(files, megabytes, strict=True):
        if size is None:
            os.mkfifo(path)
        else:
            path.touch()
            os.truncate(path, size * 1_000_000)
    assert backend.few_reads(requested, files) is expected


def test_a_driver_in_trouble_is_nobodys_business_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are ignored here; the choice reports them later."""
    monkeypatch.setitem(sys.modules, "quire.device.probe", None)  # makes its import fail
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    backend.look_for_card("gpu", [])
    for thread in threading.enumerate():
        if thread.name == "quire-look":
            thread.join()
    assert failures == []
