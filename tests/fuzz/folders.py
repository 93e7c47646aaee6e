"""Fuzzer of folders that Quire writes and reads back: what they share, and the folders of an index.

A changed, missing or exchanged file, or one of another run, must be refused or made again, or change nothing. A case is
an uncompressed tar of the folder.
"""

import hashlib
import io
import random
import tarfile
import tempfile
from abc import abstractmethod
from pathlib import Path

import numpy as np
from quire.index import build as build_index
from quire.index.construction import open_page
from quire.reference import Reference
from quire.reference.construction import build as build_reference

from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Target
from tests.support.builders import random_bases, write_fasta
from tests.support.index_builders import INDEX_PARAMETERS

REFERENCE, INDEX = "reference", "index"


class Folder(Target):
    """Files that Quire reads together; the judge's answer is that of the unchanged folder."""

    suffix = ".tar"

    @abstractmethod
    def write(self, folder: Path, seed: int) -> None:
        """Write the files of a run; another seed is another run, whose names of files sort alike."""

    @abstractmethod
    def answer(self, folder: Path) -> object:
        """Return all that Quire reads from the files.

        Raises:
            QuireError: a file is refused, or would be made again.
        """

    def valid(self, folder: Path) -> list[bytes]:
        """Return the files of one run, and keep those of another."""
        for name in ("one", "other"):
            (folder / name).mkdir()
            self.write(folder / name, seed=len(name))
        self._own, others = (_files(folder / name) for name in ("one", "other"))
        self._of_another_run = dict(zip(self._own, others.values(), strict=True))
        self._expected = self.answer(folder / "one")  # it may write further files there
        return [_tar(self._own)]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a file, exchange two, take one or a whole folder from another run, or remove one."""
        files = dict(self._own)
        name, other = generator.choice(sorted(files)), generator.choice(sorted(files))
        drawn = generator.random()
        if drawn < 0.45:
            at = generator.randrange(8 * max(1, len(files[name])))
            flipped = bytearray(files[name] or b"\0")
            flipped[at // 8] ^= 1 << at % 8
            files[name] = bytes(flipped)
        elif drawn < 0.88:
            files[name] = mutate_bytes(generator, files[name])
        elif drawn < 0.93:
            files[name], files[other] = files[other], files[name]
        elif drawn < 0.98:
            whole = generator.random() < 0.5
            names = [one for one in files if whole and one.split("/")[0] == name.split("/")[0]]
            files |= {one: self._of_another_run[one] for one in names or [name]}
        else:
            del files[name]
        return _tar(files)

    def read(self, path: Path) -> object:
        """Return the answer of the unpacked folder."""
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
            for name, data in _untarred(path.read_bytes()).items():
                file = Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            return self.answer(Path(folder))

    def judge(self, path: Path) -> object:
        """Return the answer of the unchanged folder."""
        return self._expected


class IndexFolder(Folder):
    """Reference and index of one page; the answer is a digest of everything that mapping reads from them."""

    name = "index"

    def write(self, folder: Path, seed: int) -> None:
        """Write a reference of two contigs with Ns, and its index."""
        generator = random.Random(seed)
        contigs = {"one": random_bases(generator, 700) + "N" * 30 + random_bases(generator, 200), "two": "ACGTTR" * 40}
        fasta = write_fasta(folder / "genome.fa", contigs)
        build_reference(fasta, folder / REFERENCE, 4096)
        build_index(folder / REFERENCE, 0, folder / INDEX, INDEX_PARAMETERS)
        fasta.unlink()

    def answer(self, folder: Path) -> object:
        """Return a digest of both."""
        reference = Reference.open(folder / REFERENCE)
        index = open_page(folder / INDEX, reference)
        digest = hashlib.sha256()
        for part in (reference, index):
            for name, value in sorted(vars(part).items() if hasattr(part, "__dict__") else part._asdict().items()):
                if isinstance(value, np.ndarray):
                    digest.update(name.encode() + value.tobytes())
        digest.update(repr((reference.contig_names, reference.pages)).encode())
        return digest.hexdigest()


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _untarred(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def _tar(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return content.getvalue()
