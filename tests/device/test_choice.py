"""Check the choice of the backend: each obstacle to using a card is one sentence, with which `gpu` fails."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from quire.device import choice
from quire.device.backend import Backend, cpu_only
from quire.device.choice import half_of, parse_memory, resolve, use_backend
from quire.errors import InputError

from tests.support.fake_probe import Machine, card

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"
NO_CUPY = ModuleNotFoundError("No module named 'cupy'", name="cupy")
NO_PART = ModuleNotFoundError("No module named 'cuda'", name="cuda")
NO_DEVICE = RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
MISMATCH = RuntimeError(
    "cudaErrorSystemDriverMismatch: system has unsupported display driver / cuda driver combination"
)

# By obstacle: the machine, the sentence, and a word of the remedy.
PROBLEMS = {
    "no CuPy": (NO_CUPY, "CuPy is not installed.", "requirements-gpu.txt"),
    "CuPy lacks a package": (NO_PART, "CuPy lacks a package (No module named 'cuda').", "requirements-gpu.txt"),
    "CuPy broken": (
        ImportError("libfoo.so: cannot open\nsecond line"),
        "CuPy cannot be loaded (libfoo.so: cannot open).",
        "requirements-gpu.txt",
    ),
    "no driver": (Machine(driver=0), "there is no NVIDIA driver.", "580"),
    "driver of CUDA 12": (
        Machine(driver=12040),
        "the NVIDIA driver is too old: it supports CUDA 12.4; the installed CuPy needs 13.",
        "580 or newer or install requirements-gpu-cuda12.txt",
    ),
    "driver of CUDA 11": (
        Machine(driver=11080, runtime=12090),
        "the NVIDIA driver is too old: it supports CUDA 11.8; the installed CuPy needs 12.",
        "525",
    ),
    "no card": (Machine(cards=NO_DEVICE), "the NVIDIA driver shows no card.", "nvidia-smi"),
    "empty list of cards": (Machine(cards=[]), "the NVIDIA driver shows no card.", "nvidia-smi"),
    "driver refuses": (
        Machine(cards=MISMATCH),
        f"the NVIDIA driver reports an error ({MISMATCH}).",
        "nvidia-smi",
    ),
    "driver refuses its version": (
        Machine(driver=RuntimeError("cudaErrorUnknown")),
        "the NVIDIA driver reports an error (cudaErrorUnknown).",
        "nvidia-smi",
    ),
    "no NVRTC": (
        Machine(compiler=RuntimeError("CuPy failed to load libnvrtc.so.13: cannot open shared object file")),
        "NVRTC, the kernels' compiler, cannot be loaded (CuPy failed to load libnvrtc.so.13: cannot open shared "
        "object file).",
        "requirements-gpu.txt",
    ),
    "Volta with CUDA 13": (
        Machine(cards=[card(capability=(7, 0), name="Tesla V100")]),
        "the card is too old: Tesla V100 has compute capability 7.0, and CUDA 13 needs 7.5.",
        "requirements-gpu-cuda12.txt",
    ),
    "Maxwell with CUDA 12": (
        Machine(12090, 12080, (12, 9), cards=[card(capability=(5, 2), name="GTX 980")]),
        "the card is too old: GTX 980 has compute capability 5.2, and CUDA 12 needs 7.0.",
        "another card",
    ),
    "card of the future": (
        Machine(cards=[card(capability=(13, 0))]),
        "the card is too new: NVIDIA Fake has compute capability 13.0, which NVRTC 13.0 does not know.",
        "nvidia-cuda-nvrtc",
    ),
}


def load_of(machine: Machine | Exception):
    """Return a stand-in for importing CuPy that returns the machine or fails."""

    def load() -> Machine:
        if isinstance(machine, Exception):
            raise machine
        return machine

    return load


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove a scheduler's choice of cards from the environment."""
    for variable in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(choice, "ask_driver", lambda: (13000, [90]))


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_in_the_way_is_said(name: str) -> None:
    """`auto` takes the CPU with the sentence; `gpu` fails with the sentence and a remedy."""
    machine, sentence, remedy = PROBLEMS[name]
    assert resolve("auto", load_probe=load_of(machine)) == (Backend("cpu", sentence), [])
    with pytest.raises(InputError) as caught:
        resolve("gpu", load_probe=load_of(machine))
    message = str(caught.value)
    assert message.startswith(f"device.backend is gpu, but {sentence} Remedy: ")
    assert remedy in message.split("Remedy: ")[1]
    assert "\n" not in message


def test_without_a_driver_cupy_is_not_imported() -> None:
    """The driver's library is looked for first, since CuPy takes long to load."""
    code = (
        "import sys; from quire.device import choice, driver_card; driver_card.LIBRARY = 'libabsent.so'; "
        "print(choice.resolve('auto')[0].reason, 'cupy' in sys.modules)"
    )
    variables = {"PYTHONPATH": str(LIBRARY)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "there is no NVIDIA driver. False\n"


def test_a_machine_without_a_card_needs_no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "ask_driver", lambda: (0, []))
    backend = Backend("cpu", "the machine shows no NVIDIA card.")
    assert resolve("auto", load_probe=load_of(NO_CUPY)) == (backend, [])


@pytest.mark.parametrize("value", ["", "-1", "GPU-not-there"])
def test_cards_hidden_by_a_scheduler(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names a CUDA_VISIBLE_DEVICES that leaves no card visible."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    backend, cards = resolve("auto", load_probe=load_of(Machine(cards=NO_DEVICE)))
    assert backend == Backend("cpu", f"CUDA_VISIBLE_DEVICES is {value!r} and leaves no card visible.")
    assert not cards


def test_cards_that_slurm_did_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Slurm job without an assigned card uses none, even if it sees one; an assigned card is used."""
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert resolve("auto", load_probe=load_of(Machine()))[0] == Backend("cpu", "Slurm gave this job no card.")
    with pytest.raises(InputError, match="ask for one"):
        resolve("gpu", load_probe=load_of(Machine()))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert resolve("auto", load_probe=load_of(Machine()))[0].name == "gpu"


def test_a_usable_card_is_taken() -> None:
    """The choice has the card's name and the configured memory; a card that is too old is no candidate."""
    machine = Machine(cards=[card(0, (5, 0), "Old"), card(1, (7, 5), "Turing"), card(2, (12, 0), "Blackwell")])
    backend, cards = resolve("auto", "4GB", load_of(machine))
    assert backend == Backend("gpu", "a card was found.", "Turing", 4 * 10**9)
    assert [candidate.name for candidate in cards] == ["Turing", "Blackwell"]
    assert resolve("gpu", load_probe=load_of(machine))[0].reason == "it was asked for."


def test_cpu_asks_nobody() -> None:
    """With `cpu`, CuPy is not imported."""
    assert resolve("cpu", load_probe=load_of(AssertionError())) == (Backend("cpu", "it was asked for."), [])


def test_the_choice_holds_a_card_and_opens_it_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log names the choice, and the card is opened only when the thread that will own it asks for it."""
    with (
        caplog.at_level(logging.INFO, "quire.device.backend"),
        use_backend("auto", "2GB", load_of(Machine()), tmp_path) as (backend, open_card),
    ):
        assert backend == Backend("gpu", "a card was found.", "NVIDIA Fake", 2 * 10**9)
        assert callable(open_card)
        names = {f"{0:032x}.lock", f"{0:032x}.second.lock", f"{0:032x}.wanted.lock", "choosing.lock"}
        assert {path.name for path in tmp_path.iterdir()} == names
    assert "backend gpu on NVIDIA Fake (number 0, compute capability 9.0): a card was found." in caplog.text
    assert "79.0 of 80.0 GB are free, 2.0 GB may be used" in caplog.text


def test_a_card_that_does_not_open(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A card in exclusive use by another program leads to the CPU or an error, and its lease is released."""
    machine = Machine(
        free=RuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable")
    )
    sentence = f"NVIDIA Fake cannot be opened ({machine.free})."
    with (
        caplog.at_level(logging.INFO, "quire.device.backend"),
        use_backend("auto", "auto", load_of(machine), tmp_path) as (backend, open_card),
        use_backend("auto", "auto", load_of(machine), tmp_path),  # would wait forever if the first block held the card
    ):
        assert (backend, open_card) == (Backend("cpu", sentence), None)
    assert f"backend cpu: {sentence}" in caplog.text
    with pytest.raises(InputError, match="cannot be opened"), use_backend("gpu", "auto", load_of(machine), tmp_path):
        pass


def test_another_card_is_tried(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If the first of two cards cannot be opened, the second is taken and the first is released."""

    class FirstIsBusy(Machine):
        def free_memory(self, ordinal: int) -> int:
            if ordinal == 0:
                raise RuntimeError("busy")
            return super().free_memory(ordinal)

    machine = FirstIsBusy(cards=[card(0), card(1)])
    for requested in ("auto", "gpu"):
        with (
            caplog.at_level(logging.INFO, "quire.device.backend"),
            use_backend(requested, "auto", load_of(machine), tmp_path) as (backend, open_card),
        ):
            assert (backend.name, callable(open_card)) == ("gpu", True)
        assert "NVIDIA Fake cannot be opened (busy). Trying another card." in caplog.text
        assert "backend gpu on NVIDIA Fake (number 1" in caplog.text
        caplog.clear()


@pytest.mark.parametrize(
    ("text", "expected"), [("auto", None), ("4GB", 4 * 10**9), ("1.5GB", 15 * 10**8), ("800MB", 8 * 10**8)]
)
def test_memory(text: str, expected: int | None) -> None:
    """Units are decimal."""
    assert parse_memory(text) == expected


@pytest.mark.parametrize("text", ["", "4", "4 GB", "4GiB", "-4GB", "0GB", "4gb", "lots", 4])
def test_memory_that_is_none(text: str) -> None:
    """Any other text is refused in one sentence."""
    with pytest.raises(InputError, match=r"^device\.memory is .* such as 4GB or 800MB\.$"):
        parse_memory(text)


def test_unknown_backend() -> None:
    """The message names the unknown backend."""
    with pytest.raises(InputError, match=r"device\.backend is 'tpu'; give auto, gpu or cpu"):
        resolve("tpu")


def test_stages_without_kernels_for_cards_say_so() -> None:
    """They run on the CPU for any configuration, and their outputs give the reason."""
    assert cpu_only("cpu", "calling") == Backend("cpu", "it was asked for.")
    for requested in ("auto", "gpu"):
        backend = cpu_only(requested, "calling")
        assert backend == Backend("cpu", "calling does not use cards in this version.")
        assert backend.to_vcf() == "##quireBackend=cpu: calling does not use cards in this version."
        assert set(backend.to_json()) == {"name", "reason", "card", "memory"}


def test_imports_are_light() -> None:
    """The package and the choice import no CuPy, Numba, pysam or pandas before a card is needed."""
    code = (
        "import sys; import quire.device.backend, quire.device.choice; "
        "sys.exit(', '.join({'cupy', 'cupy_backends', 'numba', 'pysam', 'pandas'} & set(sys.modules)) or None)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_no_waiting_for_cards_that_others_hold(tmp_path: Path) -> None:
    """Without waiting, `auto` takes the CPU and `gpu` fails, each with the sentence."""
    load = load_of(Machine())
    with use_backend("auto", load_probe=load, leases=tmp_path) as (held, _):
        assert held.name == "gpu"
        with use_backend("auto", load_probe=load, leases=tmp_path, wait=False) as (backend, open_card):
            assert backend == Backend("cpu", "other jobs hold all cards.")
            assert open_card is None
        with pytest.raises(InputError, match=r"device.backend is gpu, but other jobs hold all cards\. Remedy: wait"):
            use_backend("gpu", load_probe=load, leases=tmp_path, wait=False).__enter__()


def test_jobs_that_want_less_than_half_share_a_card(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each plans with half of the card or its configured memory; the backend has the same name as without sharing."""
    load = load_of(Machine())
    half = half_of(card(0))
    given = {"load_probe": load, "leases": tmp_path, "wait": False}
    with (
        caplog.at_level(logging.INFO, "quire.device.backend"),
        use_backend("auto", wanted=half, **given) as (first, open_first),
        use_backend("auto", "2GB", wanted=half, **given) as (second, open_second),
    ):
        assert (first.name, first.memory, open_first.args) == ("gpu", None, (0, half))
        assert (second.name, second.memory, open_second.args) == ("gpu", 2 * 10**9, (0, 2 * 10**9))
        with use_backend("auto", wanted=half, **given) as (third, _):
            assert third == Backend("cpu", "other jobs hold all cards.")
    assert f"{half / 1e9:.1f} GB may be used" in caplog.text


@pytest.mark.parametrize("wanted", [None, half_of(card(0)) + 1])
def test_jobs_that_want_more_have_a_card_each(wanted: int | None, tmp_path: Path) -> None:
    """Each job plans with the whole card."""
    given = {"load_probe": load_of(Machine()), "leases": tmp_path, "wait": False, "wanted": wanted}
    with use_backend("auto", **given) as (first, open_card), use_backend("auto", **given) as (second, _):
        assert (first.name, open_card.args) == ("gpu", (0, None))
        assert second.name == "cpu"


@pytest.mark.parametrize("free", [30, 60])
def test_a_half_is_held_against_what_is_free(free: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Next to another program, two jobs share a card if both find enough free memory; otherwise they take turns."""
    wanted, most = 25 * 10**9, [None, 30 * 10**9][free == 60]
    machine = Machine(free=free * 10**9)
    given = {"load_probe": load_of(machine), "leases": tmp_path, "wait": False, "wanted": wanted}
    with (
        caplog.at_level(logging.INFO, "quire.device.backend"),
        use_backend("auto", **given) as (first, open_first),
    ):
        assert (first.name, open_first.args) == ("gpu", (0, most))
        machine.free -= 30 * 10**9  # memory of the first job
        with use_backend("auto", **given) as (second, open_second):
            if most is None:
                assert second == Backend("cpu", "other jobs hold all cards.")
            else:
                assert (second.name, open_second.args) == ("gpu", (0, 30 * 10**9))
        with use_backend("auto", **given | {"wanted": None}) as (whole, _):
            assert whole == Backend("cpu", "other jobs hold all cards.")  # also after the second job has ended
    with use_backend("auto", **given | {"wanted": None}) as (whole, _):
        assert whole.name == "gpu"  # no lease is held any more
    used = "30.0 GB" if most else "all"
    assert f"{free}.0 of 80.0 GB are free, {used} may be used" in caplog.text
    assert ("too little to share" in caplog.text) == (most is None)


def test_a_half_that_lacks_memory_is_let_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A job that finds less memory than it wants takes another card, or waits for the whole of this one."""
    machine = Machine()
    given = {"load_probe": load_of(machine), "leases": tmp_path, "wait": False, "wanted": 25 * 10**9}
    with use_backend("auto", **given) as (first, _):
        machine.free = 24 * 10**9
        with use_backend("auto", **given) as (second, _):
            assert (first.name, second) == ("gpu", Backend("cpu", "other jobs hold all cards."))
        with use_backend("auto", "20GB", **given) as (second, open_second):  # within the configured memory
            assert (second.name, open_second.args) == ("gpu", (0, 20 * 10**9))
        machine.cards = [card(0), card(1)]
        with use_backend("auto", **given | {"wait": True}) as (other, open_other):
            assert (other.name, open_other.args) == ("gpu", (1, None))
        machine.cards = [card(0)]
        with use_backend("auto", **given | {"wanted": 1}) as (other, open_other):
            assert (other.name, open_other.args) == ("gpu", (0, 24 * 10**9))  # the half was released
    with (
        caplog.at_level(logging.INFO, "quire.device.backend"),
        use_backend("auto", **given | {"wait": True}) as (last, open_last),
    ):
        assert (last.name, open_last.args) == ("gpu", (0, None))
    assert caplog.messages == [
        f"24.0 GB are free on card {card(0).identifier}: too little to share it",
        "backend gpu on NVIDIA Fake (number 0, compute capability 9.0): a card was found. 24.0 of 80.0 GB are free, "
        "all may be used",
    ]
