"""Evidence of breakpoints in a sample's records, collected in one pass over them by several threads.

The records are those in memory while a sample is finished, or those of a finished file. Only what few reads show is
kept: a clip takes 22 bytes, an unusual pair 27.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.errors import QuireError
from quire.io.bam.decode_cpu import Records, cigar_begin, cigar_element, qualities_begin
from quire.io.bam.layout import FIXED_BYTES
from quire.io.files import DAMAGE, read_json
from quire.ragged import offsets_from_lengths
from quire.reference import Reference
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.compiled import compiled, inlined

WINDOW = 100  # bases within which the starts of reads are counted
LEAST_CLIP = 12  # bases
LEAST_GAP = 30  # bases of an insertion or deletion inside an alignment that counts as a clip on both of its sides
LEAST_CLIP_QUALITY = 15  # mean of the clipped bases
LEAST_MAPPING_QUALITY = 10  # of an unusual pair, and of the reads that are counted
FITTED_PAIRS = 200  # pairs from which the usual distance of mates is fitted
DEVIATIONS = 4.0  # standard deviations beyond which a pair is unusual
USUAL_WITHOUT_PAIRS = 1000
_UNREADABLE: tuple[type[Exception], ...] = (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, *DAMAGE)
_QUARTILES = "percentile_25", "median", "percentile_75"
UNWANTED = sam.FLAG_UNMAPPED | sam.FLAG_SECONDARY | sam.FLAG_DUPLICATE | sam.FLAG_FAILED_QUALITY_CHECK
_CLIPS = 1 << sam.CIGAR_SOFT_CLIP | 1 << sam.CIGAR_HARD_CLIP

CLIP = np.dtype(
    [
        ("contig", np.int32),
        ("position", np.int32),  # of the first clipped base on the right, or of the first aligned one on the left
        ("right", np.uint8),
        ("mapping_quality", np.uint8),
        ("length", np.uint16),
        ("mate", np.uint8),  # which read of a pair
        ("supplementary", np.uint8),
        ("name", np.uint64),  # its hash
    ]
)
"""A clipped end of an alignment."""
PAIR = np.dtype(
    [
        ("contig", np.int32),
        ("position", np.int32),  # of the end of the read that points to its mate: after its last base if forward
        ("right", np.uint8),  # 1 if the mate is expected to the right
        ("mapping_quality", np.uint8),
        ("mate_contig", np.int32),
        ("mate_position", np.int32),
        ("mate_right", np.uint8),
        ("name", np.uint64),
    ]
)
"""A read whose mate is at a wrong distance, in a wrong orientation or on another contig."""


class Evidence(NamedTuple):
    """Evidence of a sample.

    Attributes:
        clips: CLIP[], by contig, side and position.
        pairs: PAIR[], by contig, side and position.
        split: int64[n, 2], numbers of clips of one read that was aligned in two places, both ways round.
        starts: int32[windows], reads that start in each window of the genome.
        first_window: int64[contigs + 1], the first window of each contig.
        usual: most bases of a usual fragment.
    """

    clips: NDArray[np.void]
    pairs: NDArray[np.void]
    split: NDArray[np.int64]
    starts: NDArray[np.int32]
    first_window: NDArray[np.int64]
    usual: int


class Scanned(NamedTuple):
    """Evidence of some records in order, and the reads that start in each window from the window `first` on."""

    clips: NDArray[np.void]
    pairs: NDArray[np.void]
    first: int
    starts: NDArray[np.int64]


class EvidenceCollector:
    """Collector of the evidence of a sample's records, in the order of the genome."""

    def __init__(self, reference: Reference, usual: int) -> None:
        """Start collecting; pairs are unusual beyond `usual` bases."""
        self.usual, self._windows = usual, _first_windows(reference)
        self._starts = np.zeros(int(self._windows[-1]), np.int32)
        self._clips, self._pairs = [np.empty(0, CLIP)], [np.empty(0, PAIR)]

    def scan(self, records: Records) -> Scanned:
        """Return the evidence of records; thread-safe."""
        # Two rows for the clips of a record, and two for each operation. Pages that are not written take no memory.
        count, fixed = len(records.starts), records.fixed
        clips = np.zeros(2 * (count + int(fixed["operations"].sum(dtype=np.int64))), CLIP)
        pairs, used = np.zeros(count, PAIR), np.empty(count, np.int64)
        n_clips, n_pairs, n_used = _scan_records(records, self._windows, self.usual, clips, pairs, used)
        first = int(used[0]) if n_used else 0
        return Scanned(clips[:n_clips].copy(), pairs[:n_pairs].copy(), first, np.bincount(used[:n_used] - first))

    def take(self, scanned: Scanned) -> None:
        """Add the evidence of the next records."""
        self._clips.append(scanned.clips)
        self._pairs.append(scanned.pairs)
        self._starts[scanned.first : scanned.first + len(scanned.starts)] += scanned.starts

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return clips, pairs and starts, in the order of the records."""
        return {"clips": np.concatenate(self._clips), "pairs": np.concatenate(self._pairs), "starts": self._starts}


class EvidenceOutput(NamedTuple):
    """File of a sample's evidence, insert sizes of its units as mapping writes them, and False for no evidence.

    Without evidence the file has only the bases of a usual fragment, with which it can be collected later.
    """

    path: Path
    insert_sizes: Sequence[Path]
    is_wanted: bool


def usual_of_units(insert_sizes: Iterable[Path]) -> int:
    """Return the most bases of a usual fragment of any unit."""
    models = [read_json(path)["FR"] for path in insert_sizes]
    return max(usual_fragment(*(model[key] for key in ("pairs", *_QUARTILES))) for model in models)


def usual_fragment(pairs: int, low: float, middle: float, high: float) -> int:
    """Return the most bases of a usual fragment, given the quartiles: the median and DEVIATIONS standard deviations."""
    return USUAL_WITHOUT_PAIRS if pairs < FITTED_PAIRS else int(middle + DEVIATIONS * (high - low) / 1.349)


def write_evidence(path: Path, usual: int, collector: EvidenceCollector | None) -> None:
    """Write the file of a sample's evidence."""
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, usual=usual, **(collector.arrays() if collector else {}))


def read_evidence(path: Path, reference: Reference) -> tuple[int, Evidence | None]:
    """Return the bases of a usual fragment, and the evidence if it was collected.

    Raises:
        QuireError: the file is damaged, or of another reference.
    """
    try:
        with np.load(path) as file:
            usual, arrays = int(file["usual"]), {name: file[name] for name in file.files if name != "usual"}
        return usual, evidence_of(reference, usual, **arrays) if arrays else None
    except _UNREADABLE as error:
        raise QuireError(f"{path}: cannot be used ({error}); delete it and run the workflow again.") from None


def evidence_of(
    reference: Reference, usual: int, clips: NDArray[np.void], pairs: NDArray[np.void], starts: NDArray[np.int32]
) -> Evidence:
    """Return sorted evidence, in which the clips of one read are joined. Raise ValueError for another reference."""
    windows = _first_windows(reference)
    if (clips.dtype, pairs.dtype, len(starts)) != (CLIP, PAIR, windows[-1]):
        raise ValueError("it is of another reference or version of Quire")
    clips, pairs = (own[np.argsort(_places(own), kind="stable")] for own in (clips, pairs))
    keys = clips["name"] * np.uint64(4) + clips["mate"]
    keys = np.where(clips["name"] == 0, np.arange(len(clips), dtype=np.uint64), keys)  # gaps have no other part
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    split = np.stack([order[again], order[again + 1]], axis=1)
    split = split[clips["supplementary"][split].any(axis=1)]
    split = np.concatenate([split, split[:, ::-1]])
    return Evidence(clips, pairs, split[np.argsort(split[:, 0], kind="stable")], starts, windows, usual)


def _places(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """Return keys by which CLIP and PAIR rows are in the order of contig, side and position."""
    contig, right, position = (rows[name].astype(np.int64) for name in ("contig", "right", "position"))
    places: NDArray[np.int64] = contig << 33 | right << 32 | position
    return places


def _first_windows(reference: Reference) -> NDArray[np.int64]:
    return offsets_from_lengths(-(-reference.contig_lengths // WINDOW))


@compiled
def _scan_records(records, windows, usual, clips, pairs, used):
    """Fill clips, pairs and the windows in which reads start; return how many of each."""
    data, starts, fixed = records.data, records.starts, records.fixed
    n_clips, n_pairs, n_used = 0, 0, 0
    for r in range(len(starts)):
        fields = fixed[r]
        flag, count = np.int64(fields.flag), np.int64(fields.operations)
        if flag & UNWANTED or count == 0:
            continue
        begin, end = cigar_begin(starts[r], fields), np.int64(fields.position)
        for k in range(count):
            element = cigar_element(data, begin, k)
            operation, length = element & sam.CIGAR_MASK, np.int64(element >> sam.CIGAR_SHIFT)
            is_gap = operation == sam.CIGAR_INSERTION or operation == sam.CIGAR_DELETION
            if is_gap and length >= LEAST_GAP:
                _fill(clips[n_clips], fields, flag, end, 1, length, np.uint64(0))
                n_clips += 1
            if sam.CONSUMES_REFERENCE >> operation & 1:
                end += length
            if is_gap and length >= LEAST_GAP:
                _fill(clips[n_clips], fields, flag, end, 0, length, np.uint64(0))
                n_clips += 1
        sure = fields.mapping_quality >= LEAST_MAPPING_QUALITY
        is_primary = not flag & sam.FLAG_SUPPLEMENTARY
        if sure and is_primary:
            used[n_used] = windows[fields.contig] + np.int64(fields.position) // WINDOW
            n_used += 1
        unusual = is_primary and sure and _is_unusual(fields, flag, usual)
        for right in range(2):
            element = cigar_element(data, begin, count - 1 if right else 0)
            operation, length = element & sam.CIGAR_MASK, np.int64(element >> sam.CIGAR_SHIFT)
            if not _CLIPS >> operation & 1 or length < LEAST_CLIP:
                continue
            if operation == sam.CIGAR_SOFT_CLIP and not _is_good(data, starts[r], fields, right, length):
                continue
            name = hash_of_name(data, starts[r] + FIXED_BYTES, starts[r] + FIXED_BYTES + fields.name_bytes - 1)
            _fill(clips[n_clips], fields, flag, end if right else np.int64(fields.position), right, length, name)
            n_clips += 1
        if unusual:
            pair = pairs[n_pairs]
            forward = not flag & sam.FLAG_REVERSE
            pair.contig, pair.position = fields.contig, np.int32(end if forward else fields.position)
            pair.right, pair.mapping_quality = np.uint8(forward), fields.mapping_quality
            pair.mate_contig, pair.mate_position = fields.mate_contig, fields.mate_position
            pair["mate_right"] = np.uint8(not flag & sam.FLAG_MATE_REVERSE)
            pair.name = hash_of_name(data, starts[r] + FIXED_BYTES, starts[r] + FIXED_BYTES + fields.name_bytes - 1)
            n_pairs += 1
    return n_clips, n_pairs, n_used


@inlined
def _fill(clip, fields, flag, position, right, length, name):
    """Fill a clip."""
    clip.contig, clip.position, clip.right = fields.contig, np.int32(position), np.uint8(right)
    clip.mapping_quality, clip.length = fields.mapping_quality, np.uint16(min(length, 65535))
    clip.mate, clip.supplementary = np.uint8(flag >> 6 & 3), np.uint8(flag & sam.FLAG_SUPPLEMENTARY != 0)
    clip.name = name


@inlined
def _is_unusual(fields, flag, usual):
    """Return True if both mates are mapped, but not towards each other within the usual distance."""
    if not flag & sam.FLAG_PAIRED or flag & sam.FLAG_MATE_UNMAPPED:
        return False
    if fields.contig != fields.mate_contig:
        return True
    is_reverse, mate_is_reverse = flag & sam.FLAG_REVERSE != 0, flag & sam.FLAG_MATE_REVERSE != 0
    if is_reverse == mate_is_reverse:
        return True
    size = np.int64(fields.template_length)
    if is_reverse:
        size = -size
    return size < 0 or size > usual


@inlined
def _is_good(data, start, fields, right, length):
    """Return True if the clipped bases have a good mean quality."""
    begin = qualities_begin(start, fields) + (np.int64(fields.bases) - length if right else np.int64(0))
    total = np.int64(0)
    for k in range(length):
        total += data[begin + k]
    return total >= LEAST_CLIP_QUALITY * length
