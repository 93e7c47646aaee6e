"""Run the stages reference, index, align and finish on a tiny genome, which calls all their CPU kernels."""

import gzip
import random
import tempfile
from pathlib import Path

from quire import index, reference
from quire.align.read_ends import Clipping
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.io.bam.writer import ReadGroup
from quire.io.deflate_cpu import UNKNOWN, resolve
from quire.io.read_files import ReadFiles
from quire.io.text_chunks import text_chunks

from tests.kernel_list import finishing

_BASES = 6000
_COPIED = 400  # bases at its end, of which the suffixes tie in all keys of `suffix_array`
_PAIRS = 40
_LENGTH, _INSERT = 100, 300


def run(optical: bool, umis: bool, adapters: bool, poly_g: bool, alternate: bool) -> None:
    """Map and finish reads, with what the options of the configuration name."""
    _map(Clipping(adapters, poly_g), umis, alternate)
    finishing.run(optical, umis)


def _map(clipping: Clipping, umis: bool, alternate: bool) -> None:
    """Map paired and single reads to one page and to several, and inflate gzip."""
    generator = random.Random(1)
    genome = "".join(generator.choices("ACGT", k=_BASES - _COPIED))
    genome += genome[:_COPIED]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        version = f">version\n{genome}\n" if alternate else ""
        (root / "genome.fa").write_text(f">compiling\n{genome}\n{version}")
        listed = root / "genome.fa.alt"
        listed.write_text(f"version\t0\tcompiling\t1\t60\t{_BASES}M\t*\t0\t0\t*\t*\n")
        _write_reads(root, genome, generator)
        list(text_chunks(root / "1.fq.gz", 1 << 20, threads=2))  # as beside a card
        resolve(*UNKNOWN, UNKNOWN[0])
        for page_size in (1 << 20, 2048):
            built = root / str(page_size)
            reference.build(root / "genome.fa", built / "reference", page_size)
            pages = []
            for page in range(len(reference.Reference.open(built / "reference").pages)):
                pages.append(built / f"page_{page}")
                index.build(built / "reference", page, pages[-1], {"sampling_distance": 64, "sa_sampling": 1})
            for mates in ([root / "2.fq"], []):
                map_unit(
                    UnitInputs(
                        built / "reference",
                        pages,
                        ReadFiles([root / "1.fq.gz"], mates),
                        alternate=listed if alternate else None,
                    ),
                    UnitFiles(built / "out.buckets", built / "ledger.json", built / "insert_size.json"),
                    ReadGroup(sample="compile", unit="kernels", library="none", platform="none"),
                    MappingSettings(threads=1, backend="cpu", reads_per_batch=_PAIRS),
                    clipping,
                    umis,
                )


def _write_reads(root: Path, genome: str, generator: random.Random) -> None:
    complement = str.maketrans("ACGT", "TGCA")
    with gzip.open(root / "1.fq.gz", "wt") as first, (root / "2.fq").open("w") as second:
        for pair in range(_PAIRS):
            start = generator.randrange(_BASES - _INSERT)
            fragment = genome[start : start + _INSERT]
            mates = [fragment[:_LENGTH], fragment.translate(complement)[::-1][:_LENGTH]]
            if pair % 4 == 1:  # with a gap, for the banded matrix
                mates[0] = mates[0][:50] + mates[0][53:]
            if pair % 4 == 2:  # without a seed, for rescue
                mates[1] = "".join("A" if i % 15 == 7 else base for i, base in enumerate(mates[1]))
            for stream, bases in zip((first, second), mates, strict=True):
                stream.write(f"@read{pair}:ACGT\n{bases}\n+\n{'I' * len(bases)}\n")
