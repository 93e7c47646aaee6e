"""Fuzzer of the folders that Quire writes: a packed reference with the index of its page.

A changed file must be refused, or change nothing. A case is an uncompressed tar of the folder.
"""

import hashlib
import io
import random
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from quire.index import build as build_index
from quire.index.construction import PageIndex
from quire.reference import Reference
from quire.reference.construction import build as build_reference

from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Target
from tests.support.builders import random_bases, write_fasta
from tests.support.index_builders import INDEX_PARAMETERS

REFERENCE, INDEX = "reference", "index"


class IndexFolder(Target):
    """Reference and index; the answer is a digest of everything that mapping reads from them."""

    name, suffix = "index", ".tar"

    def valid(self, folder: Path) -> list[bytes]:
        """Return one reference of two contigs with Ns."""
        generator = random.Random(9)
        contigs = {"one": random_bases(generator, 700) + "N" * 30 + random_bases(generator, 200), "two": "ACGTTR" * 40}
        fasta = write_fasta(folder / "genome.fa", contigs)
        build_reference(fasta, folder / REFERENCE, 4096)
        build_index(folder / REFERENCE, 0, folder / INDEX, INDEX_PARAMETERS)
        self._expected = _digest(folder)
        return [_packed(folder)]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change, exchange or remove files."""
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
        name, other = generator.choice(sorted(files)), generator.choice(sorted(files))
        drawn = generator.random()
        if drawn < 0.9:
            files[name] = mutate_bytes(generator, files[name])
        elif drawn < 0.95:
            files[name], files[other] = files[other], files[name]
        else:
            del files[name]
        return _tar(files)

    def read(self, path: Path) -> object:
        """Return the digest of the unpacked folder."""
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
            with tarfile.open(path) as tar:
                tar.extractall(folder, filter="data")
            return _digest(Path(folder))

    def judge(self, path: Path) -> object:
        """Return the digest of the unchanged folder."""
        return self._expected


def _digest(folder: Path) -> str:
    reference = Reference.open(folder / REFERENCE)
    index = PageIndex.open(folder / INDEX, reference)
    digest = hashlib.sha256()
    for part in (reference, index):
        for name, value in sorted(vars(part).items() if hasattr(part, "__dict__") else part._asdict().items()):
            if isinstance(value, np.ndarray):
                digest.update(name.encode() + value.tobytes())
    digest.update(repr((reference.contig_names, reference.pages)).encode())
    return digest.hexdigest()


def _packed(folder: Path) -> bytes:
    paths = [path for part in (REFERENCE, INDEX) for path in sorted((folder / part).iterdir())]
    return _tar({str(path.relative_to(folder)): path.read_bytes() for path in paths})


def _tar(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return content.getvalue()
