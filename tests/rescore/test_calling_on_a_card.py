"""Calling on a card: the same VCF as on the CPU, for any number of processes, also if the card fails midway."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from quire.device.backend import Backend
from quire.device.card import OutOfDeviceMemory
from quire.errors import InputError, QuireError
from quire.processes import in_processes
from quire.rescore import caller, engines, intervals
from quire.rescore.card_service import CardService
from quire.rescore.engines import DeviceSettings, calling_engine, cpu_engine

from tests.emulator.emulated_card import COMPILER, EmulatedCard
from tests.rescore.test_caller import LENGTH, SAMPLES, SETTINGS, world  # noqa: F401 (a fixture)
from tests.support.calling import call_gvcf, call_variants
from tests.support.fake_probe import Machine
from tests.support.orphans import assert_none_outlives

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler (g++ or clang++) to run kernels on the CPU"),
    pytest.mark.full,
]
PIECE = [("HLA:1*01", 300, 1500)]
CARD = Backend("gpu", "a card was found.", "emulated card")


@contextmanager
def emulated(*_settings, **_named) -> Iterator[tuple[Backend, Callable[[], EmulatedCard]]]:
    """Replace `use_backend`."""
    yield CARD, EmulatedCard


@pytest.fixture
def with_emulated_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every batch to the emulated card."""
    monkeypatch.setattr(engines, "use_backend", emulated)
    monkeypatch.setattr(engines, "LEAST_CELLS", 1)
    monkeypatch.setattr(engines, "LEAST_ALIGNED_CELLS", 1)
    monkeypatch.setattr(engines, "SECONDS_WORTH_A_CARD", 0)


def called(root: Path, output: Path, backend: str = "cpu", threads: int = 1) -> tuple[list[str], str]:
    """Return the VCF's lines without that of the backend, and that line."""
    from isal import igzip

    sheet = [{"sample": name, "ploidy": ploidy, "bam": root / f"{name}.bam"} for name, ploidy in SAMPLES]
    output.mkdir()
    part = output / "part.vcf.gz"
    device = DeviceSettings(backend, "auto")
    call_variants(root / "reference", sheet, PIECE, part, SETTINGS, output / "l.json", threads=threads, device=device)
    lines = igzip.decompress(part.read_bytes()).decode().splitlines()
    (chosen,) = (line for line in lines if line.startswith("##quireBackend="))
    return [line for line in lines if line != chosen], chosen


@pytest.mark.usefixtures("with_emulated_card")
@pytest.mark.parametrize("threads", [1, 3])
def test_the_card_gives_the_vcf_of_the_cpu(world, threads: int, tmp_path: Path, monkeypatch, caplog) -> None:  # noqa: F811
    root, _, _ = world
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(intervals, "UNIT_BASES", 500)
    expected, cpu = called(root, tmp_path / "cpu")
    assert cpu == "##quireBackend=cpu: it was asked for."
    refusing = engines.CallingEngine(*(partial(_refuse, field) for field in engines.CallingEngine._fields[:2]))
    monkeypatch.setattr(engines, "cpu_engine", lambda: refusing)
    monkeypatch.setattr(caller, "load_stage", lambda *_, **__: None)  # each is loaded when it is called
    found, card = called(root, tmp_path / "card", "gpu", threads)
    assert found == expected
    assert len([line for line in found if line[0] != "#"]) > 3
    assert card == "##quireBackend=gpu: it was asked for."


def _refuse(name: str, *_arguments) -> None:
    raise AssertionError(f"{name} on the CPU")


@pytest.mark.usefixtures("with_emulated_card")
def test_a_gvcf_is_the_same_too(world, tmp_path: Path) -> None:  # noqa: F811
    root, _, _ = world
    sheet = [{"sample": "diploid", "ploidy": 2, "bam": root / "diploid.bam"}]
    texts = []
    for backend in ("cpu", "gpu"):
        part, ledger = tmp_path / f"{backend}.g.vcf.gz", tmp_path / f"{backend}.json"
        device = DeviceSettings(backend, "auto")
        call_gvcf(root / "reference", sheet, PIECE, part, SETTINGS, ledger, threads=2, device=device)
        texts.append([line for line in _lines(part) if not line.startswith("##quireBackend=")])
    assert texts[0] == texts[1]


def _lines(path: Path) -> list[str]:
    from isal import igzip

    return igzip.decompress(path.read_bytes()).decode().splitlines()


def no_room(_card, number: int) -> int:
    """Raise OutOfDeviceMemory for odd numbers."""
    if number % 2:
        raise OutOfDeviceMemory("no room for 8 bytes")
    return 10 * number


def end(_card, _number: int) -> None:
    """End the process as a driver fault does."""
    os.kill(os.getpid(), signal.SIGKILL)


WORKS = {"no_room": no_room, "end": end, "tenfold": lambda _card, number: 10 * number}


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[CardService]:
    """Yield the service of a card; `demanded` is the test's parameter."""
    opened = CardService(emulated, WORKS, request.param)
    yield opened
    opened.close()
    assert not opened._process.is_alive()


@pytest.mark.parametrize("service", [False], indirect=True)
def test_many_processes_share_a_card(service: CardService) -> None:
    assert service.backend == CARD
    assert list(in_processes(partial(service.ask, "tenfold"), range(40), 4)) == [10 * n for n in range(40)]


@pytest.mark.parametrize("service", [False], indirect=True)
def test_a_batch_without_room_is_the_processors(service: CardService, caplog) -> None:
    answers = [service.ask("no_room", number) for number in range(6)]
    assert answers == [0, None, 20, None, 40, None]
    (line,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith("card memory is too small for a batch (no room for 8 bytes); batches that the card")


@pytest.mark.parametrize("service", [False], indirect=True)
def test_going_on_without_the_cards_process(service: CardService, caplog) -> None:
    assert service.ask("end", 1) is None
    assert service.ask("tenfold", 1) is None
    assert list(in_processes(partial(service.ask, "tenfold"), range(4), 2)) == [None] * 4
    (line,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith("the card's process ended; batches that the card does not answer")


@pytest.mark.parametrize("service", [True], indirect=True)
@pytest.mark.parametrize(("work", "reason"), [("no_room", "memory is too small"), ("end", "card's process ended")])
def test_a_card_that_is_demanded_and_fails_is_one_sentence(service: CardService, work: str, reason: str) -> None:
    with pytest.raises(QuireError, match=f"^device.backend is gpu, but .*{reason}.*device.backend to auto.$"):
        service.ask(work, 1)
    with pytest.raises(QuireError, match=reason):
        list(in_processes(partial(service.ask, work), [1, 3], 2))


def test_a_card_that_ends_in_the_middle_changes_no_call(world, tmp_path: Path, monkeypatch, caplog) -> None:  # noqa: F811
    root, _, _ = world
    expected, _ = called(root, tmp_path / "cpu")
    monkeypatch.setattr(engines, "use_backend", emulated)
    monkeypatch.setattr(engines, "LEAST_CELLS", 1)
    monkeypatch.setattr(engines, "LEAST_ALIGNED_CELLS", 1)
    monkeypatch.setattr(engines, "SECONDS_WORTH_A_CARD", 0)
    monkeypatch.setattr(engines, "CARD_WORKS", {"align": engines.CARD_WORKS["align"], "log10_likelihoods": end})
    found, card = called(root, tmp_path / "card", "auto")
    assert found == expected
    assert card.startswith("##quireBackend=gpu: there is much to compute")
    assert "the card's process ended" in caplog.text
    with pytest.raises(QuireError, match=r"device.backend is gpu, but the card's process ended"):
        called(root, tmp_path / "demanded", "gpu")
    assert not (tmp_path / "demanded/part.vcf.gz").exists()


def opening_ends(*_settings, **_named):
    """Replace `use_backend` with a driver that ends the process."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_card_that_does_not_open(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(engines, "use_backend", opening_ends)
    with calling_engine(DeviceSettings("auto", "auto"), lambda: 10**12, 1) as (backend, engine):
        assert backend.name == "cpu"
        assert engine == cpu_engine()
    assert "backend cpu: the process that opens the card ended" in caplog.text
    demanding = calling_engine(DeviceSettings("gpu", "auto"), lambda: 0, 1)
    with pytest.raises(QuireError, match=r"device.backend is gpu, but the process that opens the card ended"):
        demanding.__enter__()


@pytest.mark.parametrize(
    ("cells", "processes"),
    [
        (10**6, 4),
        (25e9, 1),  # saves less than 2 s of a process
        (300e9, 16),  # saves less than 2 s of each process
        (10**13, 32),  # 32 processes are faster than a card, which computes one batch at a time
    ],
)
def test_auto_looks_for_no_card_where_none_pays(
    cells: float, processes: int, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(engines, "use_backend", opening_ends)
    with calling_engine(DeviceSettings("auto", "auto"), lambda: cells, processes) as (backend, _):
        assert backend == Backend("cpu", "a card would save little time, or none.")
    assert f"backend cpu: {backend.reason}" in caplog.text


@pytest.mark.parametrize(("cells", "processes"), [(40e9, 1), (300e9, 4), (10**13, 16)])
def test_auto_takes_a_card_where_it_saves_seconds(
    cells: float, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "use_backend", emulated)
    with calling_engine(DeviceSettings("auto", "auto"), lambda: cells, processes) as (backend, _):
        assert (backend.name, backend.reason) == ("gpu", "there is much to compute.")


@pytest.mark.parametrize(("size", "threads", "expected"), [(500, 4, 3), (500, 2, 2), (10**6, 16, 1)])
def test_auto_counts_processes_that_have_a_unit_and_samples_by_themselves(
    size: int,
    threads: int,
    expected: int,
    world,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PIECE touches three units of 500 bases, and the estimates of samples add up."""
    root, _, _ = world
    monkeypatch.setattr(intervals, "UNIT_BASES", size)
    sheet = [{"sample": name, "ploidy": ploidy, "bam": root / f"{name}.bam"} for name, ploidy in SAMPLES]
    seen = []

    @contextmanager
    def choice(
        _device: DeviceSettings, cells: Callable[[], float], processes: int
    ) -> Iterator[tuple[Backend, engines.CallingEngine]]:
        seen.append((cells(), processes))
        yield CARD, cpu_engine()

    monkeypatch.setattr(caller, "calling_engine", choice)
    monkeypatch.setattr(caller, "in_processes", lambda *_: iter(()))
    for samples in (sheet, *([one] for one in sheet)):
        part, ledger = tmp_path / "part.vcf.gz", tmp_path / "ledger.json"
        call_variants(root / "reference", samples, PIECE, part, SETTINGS, ledger, threads=threads)
    (together, processes), *alone = seen
    assert processes == expected
    assert together == pytest.approx(sum(cells for cells, _ in alone))
    assert together > 0


@pytest.mark.parametrize("backend", ["gpu", "auto"])
def test_no_card_at_all(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the card's process finds no card, its sentence is the job's."""
    from quire.device.choice import use_backend

    monkeypatch.setattr(engines, "use_backend", partial(use_backend, load_probe=lambda: Machine(driver=0)))
    choice = calling_engine(DeviceSettings(backend, "auto"), lambda: 10**12, 1)
    if backend == "gpu":
        with pytest.raises(InputError, match=r"device.backend is gpu, but there is no NVIDIA driver. Remedy: "):
            choice.__enter__()
        return
    with choice as (chosen, engine):
        assert chosen == Backend("cpu", "there is no NVIDIA driver.")
        assert engine == cpu_engine()


def test_a_wrong_backend() -> None:
    with pytest.raises(InputError, match=r"device.backend is 'tpu'; give auto, gpu or cpu"):
        calling_engine(DeviceSettings("tpu", "auto"), lambda: 0, 1).__enter__()


ORPHANS = """
import os, sys, time
from contextlib import contextmanager
from quire.device.backend import Backend
from quire.rescore.card_service import CardService
from quire.processes import in_processes

@contextmanager
def open_backend():
    yield Backend("gpu", "", ""), lambda: "a card"

def wait(unit):
    os.write(1, b"%d\\n" % os.getpid())
    service.ask("sleep")

service = CardService(open_backend, {"sleep": lambda card: time.sleep(60)}, False)
os.write(1, b"%d\\n" % service._process.pid)
list(in_processes(wait, range(4), 2))
"""


def test_no_process_outlives_a_killed_parent() -> None:
    assert_none_outlives(ORPHANS, 3)


def test_depth_brings_more_cells_than_bytes() -> None:
    """The estimate is within a factor of three of measurements on 20 kb: 0.1 G cells at 30x and 332 at 3,000x."""
    shallow, deep = engines.cells_of_depth(252_000, 20_000), engines.cells_of_depth(22_000_000, 20_000)
    assert 0.1e9 / 6 < shallow < 0.3e9
    assert 332e9 / 3 < deep < 3 * 332e9
