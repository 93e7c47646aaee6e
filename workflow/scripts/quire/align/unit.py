"""One unit (lane) from its reads to unsorted records, with its ledger and insert size."""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from quire.algorithms.fm_index.pages.cpu import page_arrays
from quire.align.command import command_line
from quire.align.engines.cpu import CpuEngine
from quire.align.engines.engine import Engine, Searched
from quire.align.mapper import Mapper
from quire.align.read_ends import NO_CLIPPING, ClippedCounts, Clipping
from quire.align.read_ends.cpu import clip_ends
from quire.align.sink import open_sink
from quire.align.umis import with_umis
from quire.align.unit_files import MappingSettings, UnitInputs, UnitOutputs
from quire.device.backend import Backend
from quire.device.choice import use_backend
from quire.index import PageIndex
from quire.io.ahead import ahead
from quire.io.bam.reads import RecordCounts
from quire.io.bam.writer import ReadGroup, header_text
from quire.io.bytes_read import share_read
from quire.io.fastq import BATCHES_AHEAD
from quire.io.files import write_json_atomic
from quire.io.read_files import ReadFiles
from quire.ledger import require_balance, write_ledger
from quire.reads import PairBatch
from quire.reference import Reference
from quire.version import VERSION

log = logging.getLogger("quire.align")
WRITES_AHEAD = 4  # pieces of batches that wait for the file


def map_unit(
    inputs: UnitInputs,
    outputs: UnitOutputs,
    read_group: ReadGroup,
    settings: MappingSettings,
    clipping: Clipping = NO_CLIPPING,
    umis: bool = False,
) -> None:
    """Map the reads of a unit.

    Args:
        inputs: reference, indexes and reads.
        outputs: each appears whole or not at all.
        read_group: of all records.
        settings: threads, backend and batches.
        clipping: which ends of reads are not mapped.
        umis: whether names end in UMIs, which become RX.

    Raises:
        InputError: bad reads, an index that does not fit, or no card where the backend is "gpu".
        QuireError: an output cannot be written, or the ledger does not balance.
    """
    reference = Reference.open(inputs.reference, inputs.fasta).with_alternate(inputs.alternate)
    indexes = [PageIndex.open(directory, reference) for directory in inputs.pages]
    log.info("%s: %d pages, %d bases opened", inputs.reference, len(indexes), reference.axis_length)
    with use_backend(settings.backend, settings.memory) as (backend, open_card):
        if open_card is None:
            pages = [page_arrays(index, index.start, index.owned_length) for index in indexes]
            _map(CpuEngine(reference, pages), reference, backend, inputs, outputs, read_group, settings, clipping, umis)
            return
        from quire.align.engines.gpu import CardEngine

        engine = CardEngine(open_card, reference, indexes)
        _map(engine, reference, backend, inputs, outputs, read_group, settings, clipping, umis)


def _map(
    engine: Engine[Searched],
    reference: Reference,
    backend: Backend,
    inputs: UnitInputs,
    outputs: UnitOutputs,
    read_group: ReadGroup,
    settings: MappingSettings,
    clipping: Clipping,
    umis: bool,
) -> None:
    """Map a unit with the engine of its backend, and write all outputs."""
    mapper = Mapper(engine, share_done=lambda: share_read(inputs.reads.files))
    command = command_line(inputs, read_group, clipping, umis, backend.name)
    description = f"backend {backend.name}: {backend.reason}"
    contigs = reference.contig_names, reference.contig_lengths
    named = replace(read_group, platform_unit=inputs.reads.flowcell_and_lane())
    text = header_text(*contigs, [named], VERSION, command, description, reference.sam_tags(inputs.fasta))
    chosen_size = settings.reads_per_batch
    records = RecordCounts()
    clipped = ClippedCounts(clipping)
    reads_per_batch = engine.reads_per_batch if chosen_size == "auto" else chosen_size

    def reading() -> Iterator[PairBatch]:
        folder = outputs.records.parent
        # Closed here, since a failure's traceback would keep it, and with it its copy of a BAM file.
        with closing(inputs.reads.batches(reads_per_batch, records, inputs.fasta, folder, settings.threads)) as found:
            batches = with_umis(found) if umis else found
            yield from clip_ends(batches, clipped) if clipped.counts else batches

    with (
        closing(ahead(reading, BATCHES_AHEAD)) as batches,  # goes on while the card is opened and the index copied
        open_sink(outputs.records, text, *contigs, read_group, settings.threads) as sink,
    ):
        # In this thread nothing but writing: a disk, or memory for a file, takes its time.
        for encoded in ahead(lambda: mapper.map(batches, settings.threads, sink), WRITES_AHEAD):
            sink.write(encoded)
        counts = mapper.counts
        placed = {"mapped": counts.mapped, "unmapped": counts.unmapped}
        require_balance("align", read_group.identifier, {"reads": mapper.reads_in}, placed)
        rows = {"reads": counts.reads, "supplementary": counts.supplementary}
        require_balance("align", read_group.identifier, rows, {"records written": sink.records})
        left_out = _left_out(inputs.reads, records)
        if left_out:
            taken = {"reads": counts.reads, **left_out}
            require_balance("align", read_group.identifier, {"records": records.records}, taken)
    write_json_atomic(outputs.insert_size, mapper.insert_sizes.to_json())
    ledger = {**vars(counts), **left_out, **clipped.counts}
    warnings = inputs.reads.warnings()
    write_ledger(
        outputs.ledger, "align", read_group.identifier, ledger, warnings, backend.to_json(), outputs.mapped_from
    )


def _left_out(reads: ReadFiles, records: RecordCounts) -> dict[str, int]:
    """Records of BAM and CRAM files that are no reads of their own, by name; nothing of FASTQ."""
    if not reads.bam:
        return {}
    return {"secondary_left_out": records.secondary, "supplementary_left_out": records.supplementary}
