"""Complete search by pieces, differences, read length and genome: reads per second of one core, or of a card.

--index is a folder with `reference` and the pages of its index (`page_0`, ...); with a card, missing pages are built. A
card needs only NumPy and CuPy. Reads are drawn from the axis on both strands: 1 % of their bases are substituted, one
in ten has an insertion or deletion of one base. Times on the CPU are processor seconds of the search alone. Times on a
card are seconds from reads to ends in the host's memory; `search` excludes the download. Equal digests of the ends mean
that two runs found the same.
"""

import argparse
import hashlib
import time
from pathlib import Path

import numpy as np
from quire import index
from quire.algorithms.complete import Axis, Ends, shortest_read
from quire.algorithms.fm_index import FmIndex
from quire.index import open_page
from quire.reads import ReadBatch
from quire.reference import Reference

from bench.build_index import PARAMETERS
from bench.common import add_figures, print_setting, print_table, write_measurement
from bench.gpu_mapping import batch_of, codes_at
from tests.support.complete_cases import cut_into

SUBSTITUTIONS, GAPPED = 0.01, 0.1
ROOM = 1 << 24


def draw_reads(axis: Reference, count: int, length: int, seed: int = 1) -> ReadBatch:
    """Draw reads of the axis with differences, as the module's text says."""
    generator = np.random.default_rng([seed, length])
    starts = generator.integers(0, axis.axis_length - length - 1, count)
    positions = starts[:, None] + np.arange(length)
    gapped = generator.random(count) < GAPPED
    place, shift = generator.integers(1, length - 1, count), np.where(generator.random(count) < 0.5, 1, -1)
    positions += np.where(gapped[:, None] & (np.arange(length) >= place[:, None]), shift[:, None], 0)
    codes = codes_at(axis, positions)
    changed = generator.random(codes.shape, np.float32) < SUBSTITUTIONS
    codes[changed] = (codes[changed] + generator.integers(1, 4, int(changed.sum()), np.uint8)) & 3
    turned = generator.random(count) < 0.5
    codes[turned] = 3 - codes[turned, ::-1]
    return batch_of(codes)


def digest_of(parts: list[Ends]) -> str:
    """Return a short digest of ends."""
    digest = hashlib.sha256()
    for column in zip(*parts, strict=True):
        digest.update(np.concatenate(column).tobytes())
    return digest.hexdigest()[:12]


class Processor:
    """The search on the CPU."""

    def __init__(self, axis: Reference, indexes: list[FmIndex]) -> None:
        self.axis = Axis(axis.text, axis.ambiguous, axis.island_axis)
        self.pages = indexes

    def measure(self, reads: ReadBatch, k: int, pieces: int | None) -> tuple[float, float, list[Ends]]:
        """Return the processor seconds of the search, once for each column, and the ends."""
        from quire.algorithms.complete.cpu import find_ends
        from quire.reads.cpu import orient

        few, oriented = orient(reads.part(0, 20)), orient(reads)
        with cut_into(pieces):
            list(find_ends(self.pages, few, self.axis, k, ROOM))  # compiles
            start = time.process_time()
            parts = list(find_ends(self.pages, oriented, self.axis, k, ROOM))
            seconds = time.process_time() - start
        return seconds, seconds, parts


class OnCard:
    """The search on a card."""

    def __init__(self, card, axis: Reference, indexes: list[FmIndex]) -> None:
        from quire.algorithms.complete.windows.gpu import upload_axis
        from quire.algorithms.fm_index.gpu import upload_page

        self.card = card
        self.axis = upload_axis(card, Axis(axis.text, axis.ambiguous, axis.island_axis))
        self.pages = [upload_page(card, page) for page in indexes]

    def measure(self, reads: ReadBatch, k: int, pieces: int | None) -> tuple[float, float, list[Ends]]:
        """Return the seconds with and without the download, and the ends."""
        from quire.algorithms.complete.gpu import find_ends
        from quire.reads.gpu import orient

        card, best = self.card, [np.inf, np.inf]
        for repeat in range(4):  # the first compiles
            card.synchronize()
            start = time.perf_counter()
            with cut_into(pieces):
                parts = list(find_ends(card, self.pages, orient(card, reads), self.axis, k, ROOM))
            card.synchronize()
            searched = time.perf_counter()
            ends = [Ends(*map(card.download, part)) for part in parts]
            if repeat:
                best = [min(best[0], searched - start), min(best[1], time.perf_counter() - start)]
            if searched - start > 5:
                best = [searched - start, time.perf_counter() - start]
                break
            del parts
        return best[1], best[0], ends


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--backend", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--pieces", default="auto", help="of a read: numbers, and auto for what the search chooses")
    parser.add_argument("--lengths", default="36,47,100,150")
    parser.add_argument("--differences", default="0,1,2,3,4,5")
    parser.add_argument("--reads", type=int, default=5000)
    given = parser.parse_args()
    print_setting([])
    axis = Reference.open(given.index / "reference", verify=False)
    card = None
    if given.backend == "gpu":
        from quire.device.cupy_card import CupyCard

        card = CupyCard()
        for number in range(len(axis.pages)):
            if not (given.index / f"page_{number}").exists():
                index.build(axis, number, given.index / f"page_{number}", PARAMETERS, card)
    indexes = [open_page(given.index / f"page_{n}", axis, verify=False) for n in range(len(axis.pages))]
    bench = Processor(axis, indexes) if card is None else OnCard(card, axis, indexes)
    lines = []
    for length in map(int, given.lengths.split(",")):
        reads = draw_reads(axis, given.reads, length)
        for k in map(int, given.differences.split(",")):
            if length < shortest_read(k):
                continue
            for name in given.pieces.split(","):
                if name != "auto" and int(name) > k + 1:
                    continue
                seconds, search, parts = bench.measure(reads, k, None if name == "auto" else int(name))
                ends = sum(len(part.end) for part in parts)
                rates = f"{len(reads) / seconds:,.0f}", f"{len(reads) / search:,.0f}"
                each = f"{seconds / len(reads) * 1e6:.2f}", f"{ends / len(reads):.1f}"
                lines.append((length, k, name, *rates, *each, digest_of(parts)))
                print(*lines[-1], flush=True)
    header = ("bases", "k", "pieces", "reads/s", "search alone", "us/read", "ends/read", "digest")
    print_table(header, lines)
    for bases, k, name, rate, *_ in lines:
        add_figures({f"{bases} bases, k = {k}, {name}, reads/s": float(str(rate).replace(",", ""))})
    write_measurement(given.backend)


if __name__ == "__main__":
    main()
