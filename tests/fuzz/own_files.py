"""Fuzzers of the files that Quire writes for itself: each must be refused or made again, or change nothing.

Small files of each kind are written by the code that writes them in a run.
"""

import os
import random
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numba import types
from quire.buckets.file import BucketFile, UnitFiles
from quire.errors import QuireError
from quire.finish.earlier_cpu import keep_units, take_back
from quire.finish.sample import SampleFormat, UnsortedUnit, _require_sound_headers
from quire.io.bed import Interval
from quire.io.files import read_json, write_json_atomic
from quire.io.vcf import VariantRecord, header, write_part
from quire.io.vcf_parts import join
from quire.ledger import write_ledger
from quire.reference import Reference
from quire.reference.construction import build as build_reference
from quire.report.counts import read_known_sites, read_sample_counts, read_variants
from quire.report.ledgers import read_calling_ledger, read_insert_size_models, read_ledgers
from quire.report.searches import read_dots, read_searches
from quire.report.terminal import load_summary
from quire.rescore.dragen.tables import DEFAULT, read_tables, write_tables
from quire.rescore.ledgers import gather_ledgers
from quire.rescore.records import FIELDS
from quire.simd import compiled, stamps

from tests.fuzz.folders import Folder, IndexFolder
from tests.fuzz.target import Target
from tests.support.bucket_builders import buckets_of
from tests.support.builders import paired_lines, write_bam, write_fasta
from tests.support.report_files import CONTIGS, count_bam, count_vcf, write_vcf
from tests.support.report_files import write_bam as write_pairs

BACKEND = {"name": "cpu", "reason": "it was asked for.", "card": None, "memory": None}


class MadeAgain(QuireError):
    """A file is not used, and what it held would be made again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: is made again.")


class Buckets(Folder):
    """Buckets of a unit; the answer has their header and all records."""

    name = "buckets"

    def write(self, folder: Path, seed: int) -> None:
        """Write the buckets of unit S.`seed`, also with records without a position."""
        generator = random.Random(seed)
        lines = []
        for i in range(60):
            at = generator.randrange(1, 2000)
            lines += paired_lines(f"r{i}", "one", (at, at + 200), 50, f"S.{seed}")
            if i % 5 == 0:
                lines += [f"u{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:S.{seed}" for flag in (77, 141)]
        bam = write_bam(folder / "unit.bam", CONTIGS, lines, [f"@RG\tID:S.{seed}\tSM:S"])
        buckets_of(bam, 50)
        bam.unlink()
        if not hasattr(self, "_reference"):
            fasta = write_fasta(folder.parent / "genome.fa", {name: "ACGT" * (n // 4) for name, n in CONTIGS.items()})
            build_reference(fasta, folder.parent / "reference", 1 << 20)
            self._reference, self._unit = Reference.open(folder.parent / "reference"), str(seed)

    def answer(self, folder: Path) -> object:
        """Return header and bytes of all buckets, after the checks of finishing."""
        path = folder / "unit.buckets"
        with BucketFile(path) as file:
            kind = SampleFormat("bam", "bai", Path("genome.fa"))
            _require_sound_headers("S", [UnsortedUnit(self._unit, "L", path)], [file], self._reference, kind)
            records = [file.read(file.pieces(bucket)).data.tobytes() for bucket in range(file.genome.buckets + 1)]
            return file.header_text, file.records, file.contig_names, records


class Ledgers(Folder):
    """Ledgers, insert sizes, the plan of calling, and summaries of searches."""

    name = "ledgers"

    def write(self, folder: Path, seed: int) -> None:
        """Write those of a run with the sample `seed`."""
        unit = f"{seed}.lane"
        write_ledger(folder / f"{unit}.json", "align", unit, {"reads": 80 + seed, "mapped": 80}, ["Odd."], BACKEND)
        write_json_atomic(folder / f"{unit}.insert_size.json", {"median": 300 + seed, "models": [{"low": 1}]})
        pieces: list[list[Interval]] = [[("one", 0, 100 * seed)], [("one", 100 * seed, 3000), ("two", 0, 50)]]
        write_json_atomic(folder / f"{seed}.pieces.json", {"pieces": pieces})
        for piece in range(2):
            reads = {"a": {"reads": 10 * seed, "unmapped": 3, "used": 10 * seed - 3}}
            content = {"stage": "rescore", "variants": piece, "reads": reads, "regions": {"active": seed}}
            write_json_atomic(folder / f"{seed}.{piece}.ledger.json", content)
        parts = sorted(folder.glob("*.?.ledger.json"))
        gather_ledgers(parts, folder / f"{seed}.calling.json", 2)
        search = {"tool": "pairwise", "name": "pair", "inputs": {"queries": "q.fa"}, "settings": {"match": seed}}
        search |= {"backend": BACKEND, "counts": {"score": 80 * seed}, "seconds": 1.25, "warnings": []}
        write_json_atomic(folder / f"{seed}.search.json", search)
        sides = {side: {"name": "a", "start": 0, "end": 90 * seed} for side in ("query", "target")}
        write_json_atomic(folder / f"{seed}.dots.json", sides | {"segments": [[0, 0, 90 * seed, 90 * seed]]})

    def answer(self, folder: Path) -> object:
        """Return the content of all."""
        seed = 3
        gather_ledgers([folder / f"{seed}.{piece}.ledger.json" for piece in range(2)], folder / "sums.json", 2)
        return (
            read_ledgers("3", [folder / f"{seed}.lane.json"]),
            read_insert_size_models([folder / f"{seed}.lane.insert_size.json"]),
            read_json(folder / f"{seed}.pieces.json"),
            read_calling_ledger(folder / f"{seed}.calling.json"),
            read_json(folder / "sums.json"),
            read_searches([{"summary": folder / f"{seed}.search.json", "results": []}]),
            read_dots(folder / f"{seed}.dots.json"),
        )


class Counts(Folder):
    """Counts of a sample's alignments and of the calls, its tables of repeats, and the summary."""

    name = "counts"

    def write(self, folder: Path, seed: int) -> None:
        """Write those of the sample `seed`."""
        generator, scratch = random.Random(seed), folder.parent / f"scratch{seed}"
        scratch.mkdir()
        sequences = {name: "".join(generator.choices("ACGT", k=length)) for name, length in CONTIGS.items()}
        build_reference(write_fasta(scratch / "genome.fa", sequences), scratch / "reference", 1 << 20)
        bam = write_pairs(scratch / "sample.bam", [("one", 10 * number, 0) for number in range(9 * seed)], unmapped=3)
        count_bam(scratch / "counts", bam, scratch / "reference").unlink()
        for path in (folder / f"{seed}.counts.json", folder / f"{seed}.target.json"):
            counts = count_bam(scratch / path.name, bam, scratch / "reference")
            write_json_atomic(path, read_json(counts))
        base = sequences["one"][100]
        calls = [("one", 100, base, ["A" if base in "CT" else "C"], 500.0 + seed, (0, 1))]
        count_vcf(folder / f"{seed}.variants.json", write_vcf(scratch / "calls.vcf.gz", calls, ["sample"]))
        cells = {"format_version": 1, "frequency_bins": 50, "cells": [[seed, 10, 9, 1], [40, 3, 17, 2]]}
        write_json_atomic(folder / f"{seed}.known_sites.json", cells)
        write_tables(DEFAULT, str(seed), folder / f"{seed}.repeats.txt")
        write_json_atomic(folder / f"{seed}.summary.json", {"format_version": 1, "samples": [{"sample": seed}]})

    def answer(self, folder: Path) -> object:
        """Return the content of all, as text."""
        seed = 3
        counted = read_sample_counts(folder / f"{seed}.counts.json", folder / f"{seed}.target.json")
        with np.printoptions(threshold=1 << 20):
            return repr(
                (
                    counted,
                    read_variants(folder / f"{seed}.variants.json"),
                    read_known_sites(folder / f"{seed}.known_sites.json"),
                    asdict(read_tables(folder / f"{seed}.repeats.txt")),
                    load_summary(folder / f"{seed}.summary.json"),
                )
            )


class Parts(Folder):
    """Parts of a sample's calls; the answer is the joined text."""

    name = "parts"

    def write(self, folder: Path, seed: int) -> None:
        """Write three parts of the sample `seed`, two of them of one size and one without records."""
        for piece, positions in enumerate(((100, 200), (), (300, 400))):
            lines = [
                VariantRecord("one", at + seed, ("A", "C"), 50.0, (), {"DP": 9}, [{"GT": "0/1", "DP": at}]).line(FIELDS)
                for at in positions
            ]
            write_part(folder / f"{piece}.vcf.gz", header(list(CONTIGS.items()), [str(seed)], FIELDS), lines)

    def answer(self, folder: Path) -> object:
        """Return the lines."""
        lines: list[bytes] = []
        parts = [folder / f"{piece}.vcf.gz" for piece in range(3)]
        join(parts, folder / "all.vcf.gz", folder / "all.vcf.gz.tbi", lines.append)
        return b"".join(lines)


class Units(Folder):
    """A finished BAM and the file by which its units are taken back."""

    name = "units"

    def write(self, folder: Path, seed: int) -> None:
        """Write a BAM of one unit, and what its mapping had counted."""
        lines = [line for i in range(40) for line in paired_lines(f"r{i}", "one", (i + seed, i + 200), 50, "S.1")]
        bam = write_bam(
            folder / f"{seed}.bam", CONTIGS, lines, [f"@RG\tID:S.1\tSM:S\n@PG\tID:{seed}"], order="coordinate"
        )
        scratch = folder.parent / f"scratch{seed}"
        scratch.mkdir()
        files = UnitFiles(scratch / "1.buckets", scratch / "1.json", scratch / "1.insert_size.json")
        buckets_of(bam).rename(files.records)
        write_ledger(files.ledger, "align", "S.1", {"reads": 80}, mapped_from=f"origin {seed}")
        write_json_atomic(files.insert_size, {"median": 300 + seed})
        keep_units(folder / f"{seed}.units.json", bam, {"index": "bam.bai", "assembly": ""}, [("1", files)])

    def answer(self, folder: Path) -> object:
        """Return the unit's records and what was counted."""
        kept, bam = folder / "3.units.json", folder / "3.bam"
        files = UnitFiles(folder / "1.buckets", folder / "1.json", folder / "1.insert_size.json")
        for path in (bam, kept):
            if path.exists():
                os.utime(path)
        if not take_back(kept, bam, "S.1", "1", "origin 3", files, 1):
            raise MadeAgain(folder)
        with BucketFile(files.records) as file:
            records = file.read(file.pieces(0)).data.tobytes()
            return file.header_text, records, read_json(files.ledger), read_json(files.insert_size)


class Kernels(Folder):
    """Files of compiled code; the answer is the code of two kernels."""

    name = "kernels"
    keys = tuple(((kind,), ("x86_64", "cpu"), ("digest", "digest")) for kind in (types.int64, types.float32))

    def write(self, folder: Path, seed: int) -> None:
        """Write code of equal sizes; another seed is another state of the sources, whose folder has another name."""
        module = folder / f"module-{seed}"
        module.mkdir()
        files = compiled._CodeFiles(str(module), "kernel", "stamp")
        for number, key in enumerate(self.keys):
            files.save(key, [seed, number, bytes(range(200))])

    def answer(self, folder: Path) -> object:
        """Return the code, if both are loaded."""
        files = compiled._CodeFiles(str(folder / "module-3"), "kernel", "stamp")
        found = [files.load(key) for key in self.keys]
        if None in found:
            raise MadeAgain(folder)
        return found


class Stamps(Folder):
    """The stamp of a stage whose kernels are compiled: it may only say so, or be made again."""

    name = "stamps"
    stamp = "align-0123.json"

    def write(self, folder: Path, seed: int) -> None:
        """Write a stamp of two folders of kernels."""
        for name, files in (("first", 2), ("second", seed)):
            (folder / name).mkdir()
            for number in range(files):
                (folder / name / f"{number}.nbc").write_bytes(b"code")
        (folder / self.stamp).write_text(f'{{"first": 2, "second": {seed}}}')
        for number in range(seed, 5):  # as many files in every run
            (folder / f"unused{number}").write_bytes(b"")

    def answer(self, folder: Path) -> object:
        """Return True if the stage need not be compiled."""
        stamps.kernels_root = lambda: folder
        stamps._stamp = lambda stage, entries: folder / self.stamp
        if not stamps.are_compiled("align", []):
            raise MadeAgain(folder)
        return True


class OwnFiles(Target):
    """All kinds of files in turn, in one process: the short run of the tests."""

    name, suffix = "own_files", Folder.suffix
    parts = (IndexFolder(), Buckets(), Ledgers(), Counts(), Parts(), Units(), Kernels(), Stamps())

    def valid(self, folder: Path) -> list[bytes]:
        """Return the files of each kind."""
        self._part_of: dict[bytes, Folder] = {}
        for part in self.parts:
            (folder / part.name).mkdir()
            (content,) = part.valid(folder / part.name)
            self._part_of[content] = part
        return [*self._part_of]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Mutate one kind, which is read next."""
        self._part = self._part_of[content]
        return self._part.mutate(generator, content)

    def read(self, path: Path) -> object:
        """Return the answer for this kind."""
        return self._part.read(path)

    def judge(self, path: Path) -> object:
        """Return that of the unchanged folder."""
        return self._part.judge(path)
