"""Check the files of an index made on a card: NumPy's format, and independence of the CPU's packages."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from quire.index.arrays.gpu import ArrayWriter

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("piece", [8, 64, 1 << 20])
def test_arrays_are_written_as_numpy_does(card, tmp_path: Path, piece: int) -> None:
    """They are equal byte for byte for any size of pieces."""
    arrays = {
        "flat": np.arange(777, dtype=np.uint32),
        "rows": np.arange(4096, dtype=np.uint64).reshape(-1, 4),
        "empty": np.empty(0, np.uint64),
        "counts": np.array([1, 5, 9, 9, 12], np.int64),
    }
    with ArrayWriter(card, tmp_path, piece) as writer:
        for name, array in arrays.items():
            writer.write(name, card.upload(array))
        writer.wait()
    for name, array in arrays.items():
        np.save(tmp_path / "wanted.npy", array)
        assert (tmp_path / f"{name}.npy").read_bytes() == (tmp_path / "wanted.npy").read_bytes()


@needs_compiler
def test_what_cannot_be_written_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, mode: str, **options):
        return opened(Path("/dev/full") if mode == "r+b" else path, mode, **options)

    monkeypatch.setattr(Path, "open", full)
    card = EmulatedCard()
    with ArrayWriter(card, tmp_path, 64) as writer:
        writer.write("a", card.upload(np.arange(1000)))
        with pytest.raises(OSError, match="No space left"):
            writer.wait()


@pytest.mark.full
@needs_compiler
def test_a_card_needs_numpy_alone(tmp_path: Path) -> None:
    """A card builds an index from FASTA on a machine without Numba, pysam, pandas and isal."""
    script = """
        import sys

        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("numba", "pysam", "pandas", "isal", "cupy"):
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Refuse())
        from quire import index, reference
        from tests.emulator.emulated_card import EmulatedCard

        folder = sys.argv[1]
        with open(f"{folder}/genome.fa", "w") as stream:
            stream.write(">a\\n" + "ACGTTGCATTAC" * 100 + "\\n")
        reference.build(f"{folder}/genome.fa", f"{folder}/reference", 1024)
        opened = reference.Reference.open(f"{folder}/reference")
        parameters = {"sampling_distance": 64, "sa_sampling": 4}
        for page in range(2):
            index.build(opened, page, f"{folder}/page_{page}", parameters, EmulatedCard())
            assert index.open_page(f"{folder}/page_{page}", opened).sa_sampling == 4
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        env={"PYTHONPATH": f"{ROOT / 'workflow' / 'scripts'}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        check=True,
    )
