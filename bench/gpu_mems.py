"""Maximal exact matches on a card: chr20 (reference) and chr21 (query) at 50 bases, and MUMmerGPU's shapes of queries.

--data is the folder of docs/benchmarks.md, or one with only chr20.fa.xz and chr21.fa.xz. Needs only NumPy and CuPy.
Timing starts with the codes of the query in the host's memory and ends with all matches there. The floor, from the same
run, is the transfer of codes and matches at the speed of the link.
"""

import lzma
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from quire import index, reference
from quire.algorithms.fm_index import FmIndex, prefix_length_of, words_of_distance
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.fm_index.construction import gpu as construction
from quire.algorithms.fm_index.gpu import upload_page
from quire.algorithms.mems import Cursor, Matches, PackedText, Queries, WantedMatches
from quire.algorithms.mems.gpu import (
    CardRuns,
    MemsCardAxis,
    bytes_per_match,
    find,
    lay,
    seed_length,
    turn,
    upload_queries,
    upload_reference,
)
from quire.algorithms.suffix_array.gpu import suffix_array, upload_text
from quire.device.card import Card, Download, bytes_of
from quire.mems import reference_text
from quire.ragged import offsets_from_lengths
from quire.sequence.codes import code_table
from quire.sequence.packing import BASES_PER_WORD, pack, unpack

from bench.build_index import PARAMETERS, build
from bench.cards import (
    KERNEL_HEADER,
    REPEATS,
    Clock,
    fastest,
    first_card,
    kernel_times,
    seconds_by_events,
    upload_bandwidth,
)
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement
from bench.gpu_search import reader_of_blocks

CHROMOSOMES = "gatk_haplotypecaller/human_g1k_v37.20.21.fasta.gz"
MIN_LENGTH = 50
LIMIT = 1 << 24
PEERS = ("mummer -maxmatch, 78 s", "copMEM2, 2.7 s")
"""One core's time for the pair; the bars are a hundredth and a twentieth of them."""
# min_length, bases of the reference, bases of a query, queries: Trapnell and Schatz 2009, table 2 (fewer queries).
SHAPES = ((14, 16_000_000, 29, 1 << 21), (100, 13_000_000, 700, 1 << 17), (20, 2_900_000, 120, 1 << 20),
          (10, 2_000_000, 36, 1 << 20))  # fmt: skip
QUERY_CHANGE = 0.01


def read_chromosome(data: Path, name: str) -> bytes:
    """Read the FASTA of one chromosome from `chrNAME.fa.xz`, or with samtools from the compressed FASTA of both."""
    packed = data / f"chr{name}.fa.xz"
    if packed.exists():
        return lzma.decompress(packed.read_bytes())
    import pysam

    return str(pysam.faidx(str(data / CHROMOSOMES), name)).encode()


def codes_of(fasta: bytes) -> NDArray[np.uint8]:
    """Return the codes 0..4 of the one sequence of a FASTA."""
    letters = np.frombuffer(fasta, np.uint8)[fasta.index(b"\n") + 1 :]
    codes: NDArray[np.uint8] = code_table({}, 4)[letters[letters > ord(" ")]]
    return codes


def indexed(card: Card, fasta: Path, folder: Path) -> MemsCardAxis:
    """Build reference and index of a FASTA on the card, as one page."""
    start = time.perf_counter()
    opened = build(fasta, folder, 1 << 30, PARAMETERS, card)
    page = index.open_page(folder / "page_0", opened)
    print(f"{fasta.name}: packed and indexed in {time.perf_counter() - start:.1f} s, {opened.axis_length} bases")
    text = upload_reference(card, reference_text(opened))
    return MemsCardAxis([upload_page(card, page)], text)


def page_of(card: Card, words: NDArray[np.uint64], length: int, sampling_distance: int = 64) -> FmIndex:
    """Index a whole axis (packed, with padding) as one page on the card."""
    text = upload_text(card, words, 0, length)
    rows = suffix_array(card, text)
    words_per_block, prefix_length = words_of_distance(sampling_distance), prefix_length_of(length)
    blocks, counts, primary = construction.occurrence_blocks(card, text, rows, words_per_block)
    table = construction.prefix_intervals(card, text, rows, prefix_length).reshape(-1)
    unowned = construction.rows_from(card, rows, length)
    return FmIndex(
        blocks, words_per_block, card.upload(first_rows(counts)), primary, table, prefix_length, rows, 1,
        card.empty(0, np.uint64), unowned, len(unowned), 0, length,
    )  # fmt: skip


def reference_of(text: NDArray[np.uint8]) -> PackedText:
    """Pack a text as one island of known bases."""
    padding = np.zeros(-len(text) % BASES_PER_WORD + 2 * BASES_PER_WORD, np.uint8)
    return PackedText(pack(np.concatenate((text, padding))), np.array([[0, len(text)]], np.int64))


def sample(rng: np.random.Generator, text: NDArray[np.uint8], length: int, count: int) -> Queries:
    """Draw queries of one length from random places of a text, with QUERY_CHANGE of their bases drawn anew."""
    starts = rng.integers(0, len(text) - length + 1, count)
    codes = text[(starts[:, None] + np.arange(length)).reshape(-1)]
    where = rng.integers(0, len(codes), int(QUERY_CHANGE * len(codes)))
    codes[where] = rng.integers(0, 4, len(where))
    return Queries(codes, offsets_from_lengths(np.full(count, length)))


def find_all(card: Card, axis: MemsCardAxis, queries: CardRuns, min_length: int) -> int:
    """Find all matches, in pieces that stay on the card; return their number."""
    number, cursor, wanted = 0, Cursor(0, 0), WantedMatches(min_length, False)
    while cursor.start < queries.length:
        found, cursor = find(card, axis, queries, wanted, cursor, queries.length, LIMIT)
        number += len(found.start)
    return number


def matches_on_host(
    card: Card, axis: MemsCardAxis, queries: CardRuns, wanted: WantedMatches, limit: int
) -> Iterator[Matches]:
    """Find all matches in pieces of at most `limit`, each copied to the host while the next is found.

    Yields:
        `Matches` of the host's arrays, valid until the next piece but one is requested.
    """
    buffers = [np.empty(0, np.uint8)] * 3
    leaving: tuple[Download, Matches] | None = None  # matches are kept until they are copied
    cursor, number = Cursor(0, 0), 0
    while cursor.start < queries.length:
        found, cursor = find(card, axis, queries, wanted, cursor, queries.length, limit)
        if not len(found.start):
            continue
        if len(buffers[number]) < bytes_of(list(found)):
            buffers[number] = card.staging(bytes_of(list(found)) * 9 // 8)
        following = card.download_ahead(list(found), buffers[number]), found
        number = (number + 1) % 3
        if leaving is not None:
            leaving[0].wait()
            yield Matches(*leaving[0].arrays)
        leaving = following
    if leaving is not None:
        leaving[0].wait()
        yield Matches(*leaving[0].arrays)


def from_host(card: Card, axis: MemsCardAxis, staged: Queries, min_length: int, use: Callable[[Matches], None]) -> int:
    """Find the matches of queries in staging memory and copy them to the host; return their number."""
    codes = card.upload_ahead(staged.codes, card.mark()).array()
    queries, number = lay(card, Queries(codes, card.upload(staged.offsets))), 0
    for matches in matches_on_host(card, axis, queries, WantedMatches(min_length, False), LIMIT):
        number += len(matches.start)
        use(matches)
    return number


def staged_queries(card: Card, queries: Queries) -> Queries:
    """Copy the codes of queries into staging memory."""
    staged = card.staging(len(queries.codes))
    staged[:] = queries.codes
    return Queries(staged, queries.offsets)


def measure_pair(card: Card, axis: MemsCardAxis, codes: NDArray[np.uint8], clock: Clock, repeats: int) -> None:
    """Print the times of the pair by step, and floors."""
    offsets = np.array([0, len(codes)], np.int64)
    staged = staged_queries(card, Queries(codes, offsets))
    whole = partial(from_host, card, axis, staged, MIN_LENGTH, lambda matches: None)
    found, seconds = whole(), fastest(card, whole, repeats)
    uploaded = upload_queries(card, Queries(codes, offsets))
    queries = lay(card, uploaded)
    search = partial(find_all, card, axis, queries, MIN_LENGTH)
    turned = lay(card, turn(card, uploaded))
    rows = [
        ("codes in the host's memory to matches there", seconds),
        ("of it: codes to the card",
         fastest(card, lambda: card.upload_ahead(staged.codes, card.mark()).array(), repeats)),
        ("packing and finding runs", fastest(card, lambda: lay(card, uploaded), repeats)),
        ("matches on the card", fastest(card, search, repeats)),
        ("turning and packing the other strand", fastest(card, lambda: lay(card, turn(card, uploaded)), repeats)),
        ("matches of the other strand", fastest(card, partial(find_all, card, axis, turned, MIN_LENGTH), repeats)),
    ]  # fmt: skip
    print(f"{found} matches of {MIN_LENGTH} and more; seeds of {seed_length(MIN_LENGTH)}")
    print_table(("step", "ms"), [(name, f"{taken * 1e3:.3f}") for name, taken in rows])
    print("kernels of the matches on the card, each waited for:")
    print_table(KERNEL_HEADER, kernel_times(card, search))
    link = upload_bandwidth(card, repeats=repeats)
    launch, reads = reader_of_blocks(card, axis.pages[0], 1 << 24)
    launch()
    read = clock(card, launch) / reads
    print(f"{found / seconds / 1e6:.1f} M matches/s, 24 bytes a match to the host; link {link / 1e9:.1f} GB/s: "
          f"{(len(codes) + 24 * found) / link * 1e3:.2f} ms; random reads {1e-9 / read:.1f} G/s")  # fmt: skip
    add_figures({f"{peer}: measured": round(seconds, 4) for peer in PEERS})


def measure_shapes(card: Card, codes: NDArray[np.uint8], repeats: int) -> None:
    """Print a table of the paper's shapes: pieces of a sequence, and queries of them with errors."""
    rows = []
    for min_length, bases, length, count in SHAPES:
        piece = codes[len(codes) // 3 :][:bases]
        given, rng = reference_of(piece), np.random.default_rng(min_length)
        axis = MemsCardAxis([page_of(card, given.words, len(piece))], upload_reference(card, given))
        drawn = sample(rng, piece, length, count)
        whole = partial(from_host, card, axis, staged_queries(card, drawn), min_length, lambda matches: None)
        resident = partial(find_all, card, axis, lay(card, upload_queries(card, drawn)), min_length)
        number, seconds, on_card = whole(), fastest(card, whole, repeats), fastest(card, resident, repeats)
        name, speed = f"{count} queries of {length}, reference of {len(piece)}", number / seconds / 1e6
        times = (f"{seconds * 1e3:.2f}", f"{speed:.0f}", f"{on_card * 1e3:.2f}")
        rows.append((name, min_length, seed_length(min_length), number, *times))
        del axis, whole, resident
    print_table(("shape", "l", "seeds of", "matches", "host to host, ms", "M matches/s", "on the card, ms"), rows)


def measure(card: Card, data: Path, work: Path, clock: Clock, repeats: int) -> None:
    """Run all measurements."""
    with tempfile.TemporaryDirectory(dir=work) as temporary:
        folder = Path(temporary)
        fasta = folder / "chr20.fa"
        fasta.write_bytes(read_chromosome(data, "20"))
        axis = indexed(card, fasta, folder)
        opened = reference.Reference.open(folder / "reference")
        reference_codes = unpack(opened.text, 0, opened.axis_length)
    codes = codes_of(read_chromosome(data, "21"))
    measure_pair(card, axis, codes, clock, repeats)
    del axis
    print(f"memory of the card a match of `limit`: {bytes_per_match(1)} bytes")
    measure_shapes(card, reference_codes, repeats)


def main() -> None:
    """Measure on the first free card."""
    given = arguments(__doc__).parse_args()
    print_setting(())
    given.work.mkdir(parents=True, exist_ok=True)
    with first_card() as card:
        if card is not None:
            measure(card, given.data, given.work, seconds_by_events, REPEATS)
            write_measurement()


if __name__ == "__main__":
    main()
