"""Mapping of one unit (lane): from its reads to unsorted records, a ledger and insert sizes."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quire.algorithms.fm_index import FmIndex
from quire.align.engines.cpu import CpuEngine
from quire.align.mapper import Mapper
from quire.align.origin import command_line
from quire.align.parameters import READS_PER_BATCH, READS_PER_BATCH_ON_CARD
from quire.align.read_ends import NO_CLIPPING, ClippedCounts, Clipping
from quire.align.read_ends.cpu import clip_ends
from quire.align.sink import open_sink
from quire.align.umis_cpu import with_umis
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.device.backend import FEW_READS, Backend, few_reads, may_have_card
from quire.device.card import Card
from quire.device.choice import use_backend
from quire.index import open_page
from quire.io.ahead import ahead
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.bam.writer import ReadGroup, header_text
from quire.io.bytes_read import share_read
from quire.io.files import write_json_atomic
from quire.ledger import require_balance, write_ledger
from quire.reads import PairBatch
from quire.reference import Reference
from quire.version import VERSION

if TYPE_CHECKING:
    from quire.align.engines.gpu import CardEngine

log = logging.getLogger("quire.align")
BATCHES_AHEAD = 3  # that are read, also while a card is opened and the index is copied
WRITES_AHEAD = 4  # pieces of batches that may wait for the file
OPENED_AT_ONCE = 4  # pages that are opened, and their checksums compared, at a time
USUAL_LENGTH = 150  # bases of a read, to plan memory with


def map_unit(
    inputs: UnitInputs,
    outputs: UnitFiles,
    read_group: ReadGroup,
    settings: MappingSettings,
    clipping: Clipping = NO_CLIPPING,
    umis: bool = False,
    mapped_from: str = "",
) -> None:
    """Map the reads of a unit.

    If `umis`, names end in UMIs, which become RX. The ledger has `mapped_from`, a digest of the inputs
    (`quire.align.origin`), if one is given. The outputs appear whole or not at all.
    """
    with ExitStack() as stack:

        def read(card: bool) -> UnitReads:
            folder = outputs.records.parent
            files = replace(inputs.reads, gzip_threads=_gzip_threads(settings, card))
            given, reads_per_batch = replace(inputs, reads=files), _reads_per_batch(settings, card)
            reads = UnitReads(given, reads_per_batch, clipping, umis, folder, settings.threads)
            return stack.enter_context(closing(reads))

        # Start reading first, with the batch size of the backend that will probably map, but not BAM and CRAM:
        # samtools, which may have to sort them first, cannot be stopped if the guess was wrong.
        reads = None
        few = few_reads(settings.backend, inputs.reads.files)
        may_use_card = not few and may_have_card(settings.backend)
        if not inputs.reads.bam:
            reads = read(may_use_card)
        opened = stack.enter_context(ThreadPoolExecutor(1)).submit(_open, inputs)
        if few:
            log.info("backend cpu: %s", FEW_READS)
            backend, open_card = Backend("cpu", FEW_READS), None
        else:
            wanted = card_memory(inputs, settings) if may_use_card else None
            backend, open_card = stack.enter_context(use_backend(settings.backend, settings.memory, wanted=wanted))
        if reads is None:
            reads = read(open_card is not None)
        elif reads.reads_per_batch != _reads_per_batch(settings, open_card is not None):
            reads.close()
            reads = read(open_card is not None)
        reference, indexes = opened.result()
        mapper = Mapper(_engine(reference, indexes, open_card), share_done=lambda: share_read(inputs.reads.files))
        command = command_line(inputs, read_group, clipping, umis, backend.name)
        text = _header(inputs, read_group, reference, command, f"backend {backend.name}: {backend.reason}")
        contigs = reference.contig_names, reference.contig_lengths
        with open_sink(outputs.records, text, *contigs, read_group, settings.threads) as sink:
            # This thread only writes, since a disk, or memory for a file, may be slow.
            for encoded in ahead(lambda: mapper.map(reads.batches, settings.threads, sink), WRITES_AHEAD):
                sink.write(encoded)
            left_out = {}  # records of BAM and CRAM that are not primary
            if inputs.reads.bam:
                counts = reads.records
                left_out = {
                    "secondary_left_out": counts.secondary,
                    "supplementary_left_out": counts.supplementary,
                }
            _require_balances(read_group.identifier, mapper, sink.records, reads.records.records, left_out)
    write_json_atomic(outputs.insert_size, mapper.insert_sizes.to_json())
    ledger = {**vars(mapper.counts), **left_out, **reads.clipped.counts}
    warnings = inputs.reads.warnings(read_group.sample)
    write_ledger(outputs.ledger, "align", read_group.identifier, ledger, warnings, backend.to_json(), mapped_from)


def card_memory(inputs: UnitInputs, settings: MappingSettings) -> int:
    """Return the card memory in bytes beyond which mapping a unit is not faster: text, index and a whole batch.

    The estimate uses the sizes of the files of text and index, and pairs of 150 bases.
    """
    from quire.align.engines.gpu import BATCH_SHARE
    from quire.align.engines.steps_gpu import bytes_per_read

    folders = [inputs.reference, *inputs.pages]
    resident = sum(file.stat().st_size for folder in folders for file in folder.glob("*"))
    pairs = _reads_per_batch(settings, card=True)
    batch = 2 * pairs * bytes_per_read(USUAL_LENGTH, len(inputs.pages), together=True)
    # Half of the batch's memory goes to the matrices of extension (`CardEngine`).
    return max(int(resident / (1 - BATCH_SHARE)), resident + 2 * batch)


def _open(inputs: UnitInputs) -> tuple[Reference, list[FmIndex]]:
    """Return the reference and the indexes of its pages."""
    reference = Reference.open(inputs.reference, inputs.fasta).with_alternate(inputs.alternate)
    with ThreadPoolExecutor(OPENED_AT_ONCE) as pool:
        indexes = list(pool.map(lambda directory: open_page(directory, reference), inputs.pages))
    log.info("%s: %d pages, %d bases opened", inputs.reference, len(indexes), reference.axis_length)
    return reference, indexes


def _reads_per_batch(settings: MappingSettings, card: bool) -> int:
    """Return the number of reads or pairs in a batch: as requested, or the backend's default."""
    if settings.reads_per_batch != "auto":
        return settings.reads_per_batch
    return READS_PER_BATCH_ON_CARD if card else READS_PER_BATCH


def _gzip_threads(settings: MappingSettings, card: bool) -> int:
    """Return the threads that inflate a plain gzip file: many beside a card, and few beside threads that map."""
    return max(1, settings.threads // (3 if card else 16))


def _engine(
    reference: Reference, indexes: list[FmIndex], open_card: Callable[[], Card] | None
) -> "CpuEngine | CardEngine":
    """Return the engine of the CPU, or of a card."""
    if open_card is None:
        return CpuEngine(reference, indexes)
    from quire.align.engines.gpu import CardEngine

    return CardEngine(open_card, reference, indexes)


def _header(inputs: UnitInputs, read_group: ReadGroup, reference: Reference, command: str, description: str) -> str:
    """Return the text of the BAM header."""
    contigs = reference.contig_names, reference.contig_lengths
    named = replace(read_group, platform_unit=inputs.reads.flowcell_and_lane())
    return header_text(*contigs, [named], VERSION, command, description, reference.sam_tags(inputs.fasta))


def _require_balances(unit: str, mapper: Mapper, written: int, records: int, left_out: dict[str, int]) -> None:
    """Raise QuireError unless every read and every record of the inputs is counted."""
    counts = mapper.counts
    placed = {"mapped": counts.mapped, "unmapped": counts.unmapped}
    require_balance("align", unit, {"reads": mapper.reads_in}, placed)
    rows = {"reads": counts.reads, "supplementary": counts.supplementary}
    require_balance("align", unit, rows, {"records written": written})
    if left_out:
        require_balance("align", unit, {"records": records}, {"reads": counts.reads, **left_out})


class UnitReads:
    """The reads of a unit, read ahead by a thread.

    Attributes:
        reads_per_batch: reads or pairs in a batch.
        records: counts of the alignment records read so far (BAM and CRAM inputs).
        clipped: counts of the reads clipped so far.
        batches: the batches, with UMIs and clipped ends.
    """

    def __init__(
        self, inputs: UnitInputs, reads_per_batch: int, clipping: Clipping, umis: bool, temporary: Path, threads: int
    ) -> None:
        """Start reading; `temporary` and `threads` serve files of alignments (see `quire.io.alignment_reads`)."""
        self.reads_per_batch, self.records, self.clipped = reads_per_batch, RecordCounts(), ClippedCounts(clipping)

        def reading() -> Iterator[PairBatch]:
            batches = inputs.reads.batches(reads_per_batch, self.records, inputs.fasta, temporary, threads)
            # Close explicitly, since a failure's traceback would keep the generator and its copy of a BAM file alive.
            with closing(batches) as found:
                named = with_umis(found) if umis else found
                yield from clip_ends(named, self.clipped) if self.clipped.counts else named

        self.batches = ahead(reading, BATCHES_AHEAD)

    def close(self) -> None:
        """Stop the threads that read."""
        self.batches.close()
