"""Mapping on a card from FASTQ to BAM bytes: the CPU's records, with any amount of card memory."""

import gzip
import logging
import random
import re
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU backend, which the card's is compared with, needs Numba")
pysam = pytest.importorskip("pysam", reason="BAM files are compared through pysam")

from quire.align import mapper, unit  # noqa: E402
from quire.align.engines import gpu as engine_gpu  # noqa: E402
from quire.align.read_ends import NO_CLIPPING, Clipping  # noqa: E402
from quire.device.backend import Backend  # noqa: E402
from quire.device.card import Card  # noqa: E402
from quire.errors import QuireError  # noqa: E402

from tests.emulator.emulated_card import EmulatedCard  # noqa: E402
from tests.support.alternate_genomes import alternate_reads  # noqa: E402
from tests.support.awkward_genomes import awkward_genome, awkward_pairs  # noqa: E402
from tests.support.builders import Read, reverse_complement, write_fasta  # noqa: E402
from tests.support.read_builders import WHOLE, Indexed, Mapped, build_index, map_files, write_pairs  # noqa: E402

PAIRS = 150
DEMO = Path(__file__).parents[1] / "data" / "demo"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Path]]:
    """Return a folder, the FASTA of an awkward genome, and FASTQ of awkward pairs."""
    folder = tmp_path_factory.mktemp("engine")
    generator = random.Random(20)
    genome = awkward_genome(generator)
    fasta = write_fasta(folder / "genome.fa", genome)
    return folder, fasta, write_pairs(folder, awkward_pairs(generator, genome, PAIRS))


@pytest.fixture
def map_on(monkeypatch: pytest.MonkeyPatch, data) -> Callable[..., Mapped]:
    """Map on a card, or on the CPU if it is None."""

    def run(
        card: Card | None,
        indexed: Indexed,
        mates: list[Path],
        batch: int = 1000,
        threads: int = 4,
        clipping: Clipping = NO_CLIPPING,
        alternate: Path | None = None,
    ) -> Mapped:
        @contextmanager
        def chosen(*_, **__):
            name = "cpu" if card is None else "gpu"
            yield Backend(name, "it was asked for."), (None if card is None else lambda: card)

        monkeypatch.setattr(unit, "use_backend", chosen)
        return map_files(data[0], indexed, mates, batch, threads, clipping, alternate)

    return run


def same(a: Mapped, b: Mapped) -> None:
    """Require the same records, counts and insert sizes of both runs."""
    assert a.lines == b.lines
    assert a.ledger["counts"] == b.ledger["counts"]
    assert a.insert_size == b.insert_size


def test_pairs(card: Card, data, map_on) -> None:
    folder, fasta, mates = data
    indexed = build_index(folder, fasta)
    wanted = map_on(None, indexed, mates)
    flags = [int(line.split("\t")[1]) for line in wanted.lines]
    assert any(flag & 0x800 for flag in flags)
    assert any(flag & 4 for flag in flags)
    assert wanted.insert_size["FR"]["pairs"] > 20
    same(map_on(card, indexed, mates), wanted)


@pytest.mark.full
@pytest.mark.parametrize(
    ("page_size", "sampling_distance", "sa_sampling"), [(WHOLE, 192, 4), (4096, 448, 1), (9000, 64, 3)]
)
def test_pages_and_shapes_of_the_index(page_size, sampling_distance, sa_sampling, data, map_on) -> None:
    folder, fasta, mates = data
    wanted = map_on(None, build_index(folder, fasta), mates)
    indexed = build_index(folder, fasta, page_size, sampling_distance, sa_sampling)
    same(map_on(EmulatedCard("random"), indexed, mates), wanted)


@pytest.mark.full
def test_real_reads(tmp_path: Path, map_on) -> None:
    mates = []
    for mate in "12":
        with gzip.open(DEMO / f"NA12878_R{mate}.fastq.gz", "rt") as stream:
            mates.append(tmp_path / f"{mate}.fq")
            mates[-1].write_text("".join(islice(stream, 4 * 1500)))
    fasta = tmp_path / "region.fa"
    with gzip.open(DEMO / "hg19.chr20.masked.fa.gz", "rb") as stream:
        fasta.write_bytes(stream.read())
    indexed = build_index(tmp_path, fasta, page_size=60_000)
    same(map_on(EmulatedCard("random"), indexed, mates, batch=600), map_on(None, indexed, mates))


@pytest.mark.full
def test_alternate_contigs(card: Card, tmp_path: Path, map_on) -> None:
    """Hits are lifted over."""
    genome, mates, listed = alternate_reads(random.Random(40), tmp_path, pairs=100)
    indexed = build_index(tmp_path, genome)
    wanted = map_on(None, indexed, mates, alternate=listed)
    tags = Counter(tag[:2] for line in wanted.lines for tag in line.split("\t")[11:])
    assert min(tags["om"], tags["lt"], tags["pa"]) > 20
    same(map_on(card, indexed, mates, alternate=listed), wanted)


@pytest.mark.full
def test_alternate_contigs_in_pieces(tmp_path: Path, map_on, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of reads with clipped ends become records in pieces."""
    genome, mates, listed = alternate_reads(random.Random(41), tmp_path, pairs=100)
    indexed, clipping = build_index(tmp_path, genome), Clipping(adapters=True, poly_g=False)
    monkeypatch.setattr(engine_gpu, "READS_PER_PIECE", 13)
    wanted = map_on(None, indexed, mates, 40, clipping=clipping, alternate=listed)
    same(map_on(EmulatedCard("random"), indexed, mates, 40, clipping=clipping, alternate=listed), wanted)


@pytest.mark.full
@pytest.mark.parametrize("batch", [1, 7, 64])
def test_batches(batch: int, data, map_on) -> None:
    folder, fasta, mates = data
    few = [write_head(path, 40) for path in mates]
    indexed = build_index(folder, fasta)
    same(map_on(EmulatedCard(), indexed, few, batch), map_on(None, indexed, few))


@pytest.mark.full
@pytest.mark.parametrize(("batch", "memory"), [(7, 1 << 34), (64, 700_000)])
def test_ends_that_are_clipped(batch: int, memory: int, data, map_on, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapters of short inserts are clipped in pieces and parts of batches."""
    folder, fasta, _ = data
    generator = random.Random(31)
    genome = max(awkward_genome(random.Random(20)).values(), key=len)
    pairs = []
    for number in range(60):
        start, length = generator.randrange(len(genome) - 150), generator.randrange(30, 150)
        insert = genome[start : start + length].upper()
        mates = (insert, reverse_complement(insert))
        reads = [(bases + "AGATCGGAAGAGCACACGTC" + "G" * 100)[:100] for bases in mates]
        pairs.append(tuple(Read(f"r{number}/{mate + 1}", bases, "I" * 100) for mate, bases in enumerate(reads)))
    files, indexed = write_pairs(folder, pairs, "short"), build_index(folder, fasta)
    both = Clipping(adapters=True, poly_g=True)
    wanted = map_on(None, indexed, files, clipping=both)
    assert wanted.ledger["counts"]["adapter_clipped_reads"] > 40
    assert wanted.lines != map_on(None, indexed, files).lines
    monkeypatch.setattr(engine_gpu, "READS_PER_PIECE", 5)
    same(map_on(EmulatedCard("random", memory=memory), indexed, files, batch, clipping=both), wanted)


@dataclass
class Watched:
    """Counts of taken and returned buffers; returned buffers are overwritten, so that a later read shows."""

    taken: dict[int, int] = field(default_factory=Counter)
    put: dict[int, int] = field(default_factory=Counter)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    seen, take, put = Watched(), engine_gpu.Buffers.take, engine_gpu.Buffers.put

    def watch_take(buffers, size, make) -> np.ndarray:
        seen.taken[id(buffers)] += 1
        return take(buffers, size, make)

    def watch_put(buffers, buffer: np.ndarray) -> None:
        seen.put[id(buffers)] += 1
        buffer[:] = 0xDB
        put(buffers, buffer)

    monkeypatch.setattr(engine_gpu.Buffers, "take", watch_take)
    monkeypatch.setattr(engine_gpu.Buffers, "put", watch_put)
    return seen


@pytest.mark.full
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("memory", "allocation"), [(1 << 34, 0), (700_000, 0), (1 << 34, 400)])
@pytest.mark.parametrize("threads", [1, 12])
def test_batches_that_become_records_in_pieces(
    threads, memory, allocation, single, data, map_on, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are mapped whole, in parts, and halved once; most follow the sample."""
    folder, fasta, mates = data
    mates = mates[:1] if single else mates
    indexed = build_index(folder, fasta)
    for module in (mapper, engine_gpu):
        monkeypatch.setattr(module, "MOST_BASES_LOOKED_AT", 5_000)
    wanted = map_on(None, indexed, mates)
    monkeypatch.setattr(engine_gpu, "READS_PER_PIECE", 5)
    pieces, share, sample, sampled = [], engine_gpu._share, engine_gpu.CardEngine._sample, []
    monkeypatch.setattr(engine_gpu, "_share", lambda *given: pieces.append(share(*given)) or pieces[-1])
    monkeypatch.setattr(
        engine_gpu.CardEngine, "_sample", lambda self, batch: sampled.append(len(batch)) or sample(self, batch)
    )
    card = EmulatedCard(memory=memory)
    if allocation:
        card.fail_allocation(allocation)
    same(map_on(card, indexed, mates, batch=23, threads=threads), wanted)
    assert len(pieces) == -(-PAIRS // 23) * 5 - 2  # the last batch has 12
    if memory == 1 << 34 and not allocation:
        assert any(begin > 0 for piece in pieces for _, begin, _ in piece)
        assert sampled == ([] if single else [23])  # more than 5,000 bases
    assert watched.put == watched.taken
    assert len(watched.put) == 2


@pytest.mark.full
def test_results_come_back_while_the_next_batch_is_computed(data, map_on, monkeypatch: pytest.MonkeyPatch) -> None:
    """The card's thread launches kernels of the next batch before it waits for the results of the last one."""
    folder, fasta, mates = data
    card, begun, between = EmulatedCard(), [], []
    download_ahead, let_go = card.download_ahead, engine_gpu.CardEngine._let_go

    def begin(arrays, buffer):
        begun.append(card.launches)
        return download_ahead(arrays, buffer)

    def wait(engine) -> None:
        if engine._leaving is not None:
            between.append(card.launches - begun[-1])
        let_go(engine)

    monkeypatch.setattr(card, "download_ahead", begin)
    monkeypatch.setattr(engine_gpu.CardEngine, "_let_go", wait)
    map_on(card, build_index(folder, fasta), mates, batch=30)
    assert len(begun) == len(between) == PAIRS // 30
    assert between[-1] == 0  # no batch follows the last one
    assert min(between[:-1]) > 10


@pytest.mark.full
def test_single_reads(data, map_on) -> None:
    folder, fasta, mates = data
    indexed = build_index(folder, fasta)
    same(map_on(EmulatedCard("reverse"), indexed, mates[:1]), map_on(None, indexed, mates[:1]))


@pytest.mark.full
def test_pages_that_do_not_fit_are_cycled(data, map_on, caplog: pytest.LogCaptureFixture) -> None:
    folder, fasta, mates = data
    indexed = build_index(folder, fasta, page_size=4096)
    wanted = map_on(None, indexed, mates)
    # Pages may take 60 % of the memory that the text (some kilobytes) leaves: here three and a half of seven.
    memory = int(3.5 * 66_000 / 0.6)
    with caplog.at_level(logging.INFO, "quire.align"):
        same(map_on(EmulatedCard(memory=memory), indexed, mates, batch=2), wanted)
    assert "pages of the index stay on the card, the others are uploaded for every batch" in caplog.text


@pytest.mark.full
def test_batches_are_planned_by_the_memory(data, map_on, caplog: pytest.LogCaptureFixture) -> None:
    folder, fasta, mates = data
    indexed = build_index(folder, fasta)
    wanted = map_on(None, indexed, mates)
    with caplog.at_level(logging.INFO, "quire.align"):
        same(map_on(EmulatedCard(memory=1 << 20), indexed, mates), wanted)
    assert 20 < int(re.search(r"to parts of (\d+) reads or pairs", caplog.text).group(1)) < 140
    assert "continuing with" not in caplog.text


@pytest.mark.full
@pytest.mark.parametrize("allocation", [30, 75, 160, 300, 500])
def test_an_allocation_that_fails_changes_nothing(allocation, data, map_on, caplog: pytest.LogCaptureFixture) -> None:
    folder, fasta, mates = data
    few = [write_head(path, 30) for path in mates]
    indexed = build_index(folder, fasta)
    card = EmulatedCard()
    card.fail_allocation(allocation)
    with caplog.at_level(logging.WARNING, "quire.align"):
        same(map_on(card, indexed, few, batch=16), map_on(None, indexed, few))
    assert re.search("continuing with [78] reads or pairs at a time", caplog.text)


@pytest.mark.full
def test_a_card_without_room_for_a_page_says_so(data, map_on) -> None:
    folder, fasta, mates = data
    with pytest.raises(QuireError, match=r"a page of the index takes .* GB and the card has .* reference.page_size"):
        map_on(EmulatedCard(memory=300_000), build_index(folder, fasta), mates)


@pytest.mark.full
def test_a_card_without_room_for_the_text_says_so(data, map_on) -> None:
    folder, fasta, mates = data
    with pytest.raises(QuireError, match=r"the text of 25074 bases and its index do not fit .* increase device.memory"):
        map_on(EmulatedCard(memory=4096), build_index(folder, fasta), mates)


def write_head(path: Path, reads: int) -> Path:
    """Return the first reads of a FASTQ file."""
    head = path.with_suffix(".head.fq")
    head.write_text("".join(path.read_text().splitlines(keepends=True)[: 4 * reads]))
    return head
