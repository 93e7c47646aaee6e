"""The stage that aligns two sequences optimally, from FASTA to PAF, BAM, a summary and a dot plot."""

import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, pair_of
from quire.algorithms.pairwise.recount import Columns, recount
from quire.algorithms.scoring import Scoring
from quire.device.choice import use_backend
from quire.errors import InputError, QuireError
from quire.io.files import atomic_path, write_json_atomic
from quire.ledger import require_balance
from quire.pairwise.aligners import PairAligner
from quire.pairwise.files import AlignedPair, SequenceRegion, paf_line, read_region, write_bam, write_dots
from quire.run.exact_tools import fasta_and_region
from quire.run.inputs import identify

log = logging.getLogger("quire.pairwise")
_LONGEST_NAME = 254  # letters of a read's name in a BAM
MODES = {mode.name.lower(): mode for mode in Mode}


@dataclass(frozen=True)
class PairwiseOutputs:
    """Paths of the outputs; no dot plot if `dots` is None."""

    paf: Path
    bam: Path
    summary: Path
    dots: Path | None = None


@dataclass(frozen=True)
class PairwiseSettings:
    """Settings of an alignment.

    Attributes:
        name: name of the search, for messages.
        match, mismatch, gap_open, gap_extend: scores as in bwa mem and minimap2, with positive penalties: a gap of n
            bases costs gap_open + n * gap_extend. A base other than A, C, G and T matches nothing.
        mode: "local", "global" or "glocal" (the whole query, with free ends of the target).
        anchors: "none", or "mems": maximal exact matches are kept and only the parts between them are aligned; the
            alignment is no longer guaranteed to be optimal.
        threads: worker threads.
        backend, memory: the block `device` of the configuration.
    """

    name: str
    match: int = 1
    mismatch: int = 4
    gap_open: int = 6
    gap_extend: int = 1
    mode: str = "local"
    anchors: str = "none"
    threads: int = 1
    backend: str = "auto"
    memory: str = "auto"

    @property
    def scoring(self) -> Scoring:
        """Scores in the form that the algorithms take."""
        return Scoring(self.match, -self.mismatch, -self.gap_open - self.gap_extend, -self.gap_extend)


def align_pair(query_text: str, target_text: str, outputs: PairwiseOutputs, settings: PairwiseSettings) -> None:
    """Align two sequences, each a FASTA or a region of it (`fasta_and_region`), and write the outputs.

    The outputs appear whole or not at all.

    Raises:
        InputError: bad FASTA, a missing region, sequences too long for the scores or the memory, or no card although
            the backend is "gpu".
    """
    begin = time.monotonic()
    (query_file, query_region), (target_file, target_region) = (
        (Path(path), region or "") for path, region in map(fasta_and_region, (query_text, target_text))
    )
    query = read_region(query_file, query_region)
    if len(query.name.encode()) > _LONGEST_NAME:
        raise InputError(
            f"the query's name {query.name} is longer than the {_LONGEST_NAME} letters of BAM; shorten it."
        )
    target = read_region(target_file, target_region)
    log.info("%s: query %s, target %s, %.3g cells", settings.name, query, target, len(query.codes) * len(target.codes))
    try:
        pair = pair_of(query.codes, target.codes, settings.scoring, MODES[settings.mode])
    except ValueError:
        raise InputError(
            f"pairwise {settings.name}: scores of up to {max(map(abs, settings.scoring))} are too large for sequences "
            f"of {len(query.codes):,} and {len(target.codes):,} bases; give smaller scores, or regions."
        ) from None
    anchors = 0
    with use_backend(settings.backend, settings.memory) as (backend, open_card):
        engine = PairAligner(settings.name, settings.threads, open_card() if open_card else None)
        if settings.anchors == "none":
            (alignment,) = engine.align_many([pair])
        else:
            from quire.pairwise.anchors import align_between_anchors

            alignment, anchors = align_between_anchors(pair, engine)
            log.info("%d anchors", anchors)
    columns = recount(pair, alignment)
    _check(settings, pair, alignment, columns)
    seconds = time.monotonic() - begin
    log.info("score %d, identity %.2f %%, %.1f s", alignment.score, 100 * columns.identity, seconds)
    optimal = anchors == 0
    command = f"pairwise --mode {settings.mode} {query_file.name} {target_file.name}"
    description = f"backend {backend.name}: {backend.reason}"
    aligned = AlignedPair(query, target, alignment, columns, optimal)
    with atomic_path(outputs.paf) as paf:
        paf.write_text(paf_line(aligned) if columns.total else "")
    write_bam(outputs.bam, aligned, command, description)
    if outputs.dots is not None:
        write_dots(outputs.dots, aligned)
    summary = {
        "tool": "pairwise",
        "name": settings.name,
        "inputs": {
            "query": ":".join(filter(None, (str(query_file), query_region))),
            "target": ":".join(filter(None, (str(target_file), target_region))),
        },
        "identity": identify({"query": query_file, "target": target_file}),
        "settings": asdict(settings),
        "backend": backend.to_json(),
        "counts": _counts(pair, alignment, columns) | ({} if optimal else {"anchors": anchors}),
        "optimal": optimal,
        "warnings": _warnings(query, target, columns, optimal),
        "seconds": round(seconds, 3),
    }
    write_json_atomic(outputs.summary, summary)


def _check(settings: PairwiseSettings, pair: Pair, alignment: PairwiseAlignment, columns: Columns) -> None:
    """Raise QuireError (a bug) unless the columns add up to the score and every base is counted."""
    score = columns.score(pair.scoring)
    if score != alignment.score:
        raise QuireError(
            f"pairwise {settings.name}: the alignment scores {score}, but {alignment.score} was computed; no output "
            "was written, please report this with the log."
        )
    counts = _counts(pair, alignment, columns)
    for side, gap in (("query", "inserted_bases"), ("target", "deleted_bases")):
        placed = {key: int(counts[key]) for key in ("matches", "mismatches", gap, f"{side}_bases_not_aligned")}
        require_balance("pairwise", settings.name, {f"{side}_bases": int(counts[f"{side}_bases"])}, placed)


def _counts(pair: Pair, alignment: PairwiseAlignment, columns: Columns) -> dict[str, int | float]:
    """Return the counts of the summary."""
    rows, length = len(pair.query), len(pair.target)
    return {
        "query_bases": rows,
        "target_bases": length,
        "score": alignment.score,
        "identity": round(columns.identity, 6),
        **columns._asdict(),
        "query_bases_not_aligned": rows - (alignment.query_end - alignment.query_begin),
        "target_bases_not_aligned": length - (alignment.target_end - alignment.target_begin),
    }


def _warnings(query: SequenceRegion, target: SequenceRegion, columns: Columns, optimal: bool) -> list[str]:
    """Return the warnings that the report shows first."""
    warnings = []
    if not optimal:
        warnings.append(
            "Only the parts between maximal exact matches were aligned (anchors: mems); the alignment is not "
            "guaranteed to be optimal."
        )
    if columns.total == 0:
        warnings.append(f"Nothing of {query} and {target} is aligned: no part of them scores above 0.")
    return warnings
