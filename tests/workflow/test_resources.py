"""Requests of jobs, by the functions of workflow/rules/resources.smk, next to what they took when measured."""

import json
import math
import os
import random
import re
from functools import cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quire import index, reference
from quire.io.files import read_json, write_json_atomic
from quire.rescore.intervals import cut_into_units
from quire.run.schema import default_settings

from tests.support.builders import random_bases, write_fasta
from tests.workflow.runs import REPOSITORY, Run

MEGABYTE = 1_000_000
RULES = "".join((REPOSITORY / f"workflow/rules/{name}.smk").read_text() for name in ("align", "rescore"))


class Named(SimpleNamespace):
    """Inputs or wildcards of a job."""

    def get(self, name: str) -> Any:
        """Return an input, or None."""
        return vars(self).get(name)

    def keys(self) -> list[str]:
        """Return the names."""
        return list(vars(self))


def functions(folder: Path, axis: int = 0, cards: int = 0, **settings: dict[str, Any]) -> SimpleNamespace:
    """Return the functions for a packed reference with one page, as Snakemake would read them."""
    pages = [{"start": 0, "end": axis}]
    given = {
        "os": os,
        "math": math,
        "cache": cache,
        "chain": chain,
        "cut_into_units": cut_into_units,
        "Path": Path,
        "read_json": read_json,
        "packed_reference": lambda: {"axis_length": axis, "pages": pages},
        "SETTINGS": {name: default_settings(name) | settings.get(name, {}) for name in ("align", "index")},
        "SimpleNamespace": SimpleNamespace,
        "UNITS": settings.get("UNITS", {}),
        "libraries": lambda sample: [unit for name, unit in settings.get("UNITS", {}) if name == sample],
        "MAYBE_CARDS": cards,
        "CARDS": 0,
        "GVCF": False,
        "STRUCTURAL": bool(settings.get("structural")),
        "SAMPLES": ["one", "two"],
        "LEDGER": folder / "ledger",
        "PIECES": folder / "pieces.json",
        "DEVICE": SimpleNamespace(backend="gpu" if cards else "cpu"),
        "may_have_card": lambda _: bool(cards),
        "workflow": SimpleNamespace(
            remote_exec=False, non_local_exec=False, resource_settings=SimpleNamespace(cores=settings.get("cores"))
        ),
    }
    exec((REPOSITORY / "workflow/rules/resources.smk").read_text(), given)
    return SimpleNamespace(**given)


def hole(path: Path, megabytes: float) -> str:
    """Make a file of a size that takes no space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(int(megabytes * MEGABYTE))
    return str(path)


# Bases of the axis, megabytes of FASTQ.gz, threads, and the megabytes that mapping took (docs/resources.md).
MAPPED = [
    (59_505_000, 812, 16, 5132),
    (59_505_000, 812, 2, 2518),
]


@pytest.mark.parametrize(("axis", "reads", "threads", "took"), MAPPED)
def test_mapping_asks_for_what_it_takes(axis: int, reads: int, threads: int, took: int, tmp_path: Path) -> None:
    inputs = Named(fq1=[hole(tmp_path / "a.gz", reads)], fq2=[], bam=[])
    asked = functions(tmp_path, axis).mapping_memory(None, inputs, threads)
    assert took < asked < 1.2 * took


@pytest.mark.parametrize(("bases", "took"), [(58_341_000, 1173), (59_505_000, 1193), (303_340_002, 3547)])
def test_a_page_asks_for_what_it_takes(bases: int, took: int, tmp_path: Path) -> None:
    asked = functions(tmp_path, bases).page_memory(Named(page="0"), Named(), 1)
    assert took < asked < 1.2 * took


@pytest.mark.parametrize(
    ("samples", "megabytes", "axis", "cores", "mapping", "finishing"),
    [
        pytest.param(96, 3.5, 30_000, 16, 1, 1, id="a plate of viruses"),
        pytest.param(8, 3.5, 30_000, 16, 2, 2, id="fewer jobs than cores"),
        pytest.param(1, 3.5, 30_000, 4, 4, 4, id="a job alone"),
        pytest.param(96, 75, 5_000_000, 16, 4, 2, id="bacteria"),
        pytest.param(96, 3.5, 3_100_000_000, 16, 4, 1, id="an index that takes a second to open"),
        pytest.param(96, 22_000, 3_100_000_000, 16, 16, 16, id="genomes"),
        pytest.param(96, 22_000, 3_100_000_000, None, 16, 16, id="a cluster"),
        pytest.param(96, None, 30_000, 16, 16, 16, id="files that are not fetched yet"),
    ],
)
def test_threads(
    samples: int, megabytes: float | None, axis: int, cores: int | None, mapping: int, finishing: int, tmp_path: Path
) -> None:
    """Short jobs take few threads, so that many run at a time; large ones, and a job alone, take all."""
    paths = [str(tmp_path / name) for name in ("a.gz", "b.gz")]
    mates = [hole(Path(path), megabytes) for path in paths] if megabytes else paths
    units = {(f"s{n}", "lane"): {"fq1": mates[:1], "fq2": mates[1:], "bam": []} for n in range(samples)}
    given = functions(tmp_path, axis, UNITS=units, cores=cores)
    given.SAMPLES[:] = [name for name, _ in units]
    job = Named(sample="s0", unit="lane")
    assert (given.mapping_threads(job), given.threads_of_sample(200)(job)) == (mapping, finishing)
    on_card = functions(tmp_path, axis, 1, UNITS=units, cores=cores).mapping_threads(job)
    assert on_card == (min(mapping, 8) if samples > 1 else mapping)


def test_memory_of_mapping_grows_with_batches_threads_reads_and_cards(tmp_path: Path) -> None:
    """Larger batches, more threads and more reads take more memory; a card takes more than the CPU."""

    def asked(threads: int, batch: int | str = "auto", cards: int = 0, reads: int = 1000) -> float:
        inputs = Named(fq1=[hole(tmp_path / "a.gz", reads)], fq2=[], bam=[])
        return functions(tmp_path, 10**8, cards, align={"reads_per_batch": batch}).mapping_memory(None, inputs, threads)

    assert asked(8, 32768) > asked(8) == asked(8, 16384) > asked(8, 8192)
    assert asked(8) > asked(4)
    assert asked(8, reads=2000) > asked(8)
    assert asked(4, cards=1) > asked(4) + 3000
    assert asked(16, 10**6, cards=1) == asked(16, 10**6)


@pytest.mark.parametrize(("distance", "sampling"), [(64, 1), (64, 4), (448, 1), (960, 64)])
def test_size_of_an_index(distance: int, sampling: int, tmp_path: Path) -> None:
    """The prefix table may be up to four times smaller than its limit."""
    bases, settings = 1 << 18, {"sampling_distance": distance, "sa_sampling": sampling}
    fasta = write_fasta(tmp_path / "genome.fa", {"a": random_bases(random.Random(3), bases)})
    reference.build(fasta, tmp_path / "reference", 1 << 20)
    index.build(tmp_path / "reference", 0, tmp_path / "page_0", settings)
    made = sum(path.stat().st_size for path in (tmp_path / "page_0").glob("*.npy")) / MEGABYTE
    expected = functions(tmp_path, bases, index=settings).index_size({"start": 0, "end": bases})
    assert made == pytest.approx(expected, rel=0.01)


def test_memory_of_finishing(tmp_path: Path) -> None:
    """It grows with the records, up to the largest range, then with those that all threads hold, up to 4,000 MB."""
    units = {("one", "lane"): {"fq1": [], "fq2": [], "bam": []}}
    asked = [
        functions(tmp_path, 3 * 10**9, UNITS=units).finishing_memory(
            Named(sample="one"), Named(units=[os.path.dirname(hole(tmp_path / f"{size}/records.0", size))]), 16
        )
        for size in (1, 10, 100, 1000, 15_000, 10**6)
    ]
    assert asked == sorted(asked)
    assert asked[0] < asked[1] < asked[2] == asked[3]
    assert asked[3] < asked[4] < asked[5] == 4000
    with_evidence = functions(tmp_path, 3 * 10**9, UNITS=units, structural={"enabled": True})
    largest = Named(units=[os.path.dirname(hole(tmp_path / "large/records.0", 44_000))])
    assert 4000 + 1400 < with_evidence.finishing_memory(Named(sample="one"), largest, 16) < 4000 + 1500


def test_a_sample_is_sized_before_it_is_mapped(tmp_path: Path) -> None:
    """A group that maps and finishes asks for no less than finishing alone, and for less than a day at 30x (44 GB)."""
    reads = {"fq1": [hole(tmp_path / "a.gz", 22_000)], "fq2": [hole(tmp_path / "b.gz", 22_000)], "bam": []}
    given = functions(tmp_path, 3 * 10**9, UNITS={("one", "lane"): reads})
    sample, mapped = Named(sample="one"), Named(units=[str(tmp_path / "lane.buckets")])
    before = given.finishing_memory(sample, mapped, 16), given.finishing_disk(sample, mapped)
    hole(tmp_path / "lane.buckets/records.0", 1.46 * 44_000)  # measured: docs/resources.md
    after = given.finishing_memory(sample, mapped, 16), given.finishing_disk(sample, mapped)
    assert all(first >= second > 0.5 * first for first, second in zip(before, after, strict=True))
    write_json_atomic(tmp_path / "pieces.json", {"pieces": [[["a", 0, 10**9]]] * 3 + [[["b", 0, 10**8]]]})
    calling = given.calling_minutes(sample, Named(pieces=str(tmp_path / "pieces.json")))
    assert calling == 60 + 155
    others = re.findall(r"rule (?:finish_sample|list_low_coverage|import_gvcf):.*?runtime=(\d+)", RULES, re.S)
    assert len(others) == 3
    assert given.mapping_minutes(None, Named(**reads)) + calling + sum(map(int, others)) < 24 * 60


def test_memory_of_calling(tmp_path: Path) -> None:
    """It grows with processes, which are as many as units of work, and reads of all samples, up to those of a chunk."""
    write_json_atomic(tmp_path / "pieces.json", {"pieces": [[["a", 0, 10**7]], [["b", 0, 8_000]]]})

    def asked(piece: int, threads: int, reads: int, **sample: str) -> float:
        for name in ("one", "two"):
            write_json_atomic(tmp_path / f"ledger/{name}.json", {"counts": {"records_out": reads}})
        wildcards = Named(piece=str(piece), **sample)
        return functions(tmp_path).calling_memory(wildcards, Named(pieces=str(tmp_path / "pieces.json")), threads)

    assert asked(1, 16, 10**6) == asked(1, 2, 10**6) == asked(0, 2, 10**6)
    assert asked(0, 4, 10**6) < asked(0, 16, 10**6) < asked(0, 16, 2 * 10**6)
    assert asked(0, 16, 10**6) == asked(0, 16, 2 * 10**6, sample="one") + 1  # for the other sample's file
    assert asked(0, 16, 10**8) == asked(0, 16, 10**9)
    (tmp_path / "ledger/one.json").unlink()
    unknown = functions(tmp_path).reads_of("one")
    assert math.isinf(unknown)


# Bases, reads, processes, and the megabytes that calling took.
CALLED = [
    (58_341_000, 11_668_000, 16, 1964),
    (58_341_000, 11_668_000, 2, 668),
    (303_340_002, 12_133_600, 16, 1152),
    (59_505_000, 5_950_000, 16, 1377),
    (4_860_000, 4_860_000, 16, 3683),
]


@pytest.mark.parametrize(("bases", "reads", "processes", "took"), CALLED)
def test_calling_asks_for_what_it_takes(bases: int, reads: int, processes: int, took: int, tmp_path: Path) -> None:
    write_json_atomic(tmp_path / "pieces.json", {"pieces": [[["a", 0, bases]]]})
    write_json_atomic(tmp_path / "ledger/one.json", {"counts": {"records_out": reads}})
    inputs = Named(pieces=str(tmp_path / "pieces.json"))
    asked = functions(tmp_path).calling_memory(Named(piece="0", sample="one"), inputs, processes)
    assert took < asked < 1.2 * took


def test_disk_of_mapping(tmp_path: Path) -> None:
    gzip, plain, bam = (hole(tmp_path / name, 100) for name in ("a.fq.gz", "b.fq", "c.bam"))
    asked = functions(tmp_path).mapping_disk(None, Named(fq1=[gzip], fq2=[plain], bam=[bam]))
    assert asked == pytest.approx(170 + 50 + 320, abs=1)


def test_an_input_that_is_not_there_yet_is_named_as_the_rule_names_it(tmp_path: Path) -> None:
    """Otherwise Snakemake would end the run, instead of asking again."""
    missing = str(tmp_path / "missing")
    units = {("one", "lane"): {"fq1": [str(tmp_path / "not fetched")], "fq2": [], "bam": []}}
    for call in (
        lambda given: given.mapping_disk(None, Named(fq1=[missing], fq2=[], bam=[])),
        lambda given: given.finishing_memory(Named(sample="one"), Named(units=[missing]), 1),
        lambda given: given.calling_memory(Named(piece="0"), Named(pieces=missing), 1),
    ):
        with pytest.raises(FileNotFoundError) as raised:
            call(functions(tmp_path, UNITS=units))
        assert raised.value.filename == missing


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_each_attempt_asks_for_twice_as_much(attempt: int, tmp_path: Path) -> None:
    """Jobs with little to do ask for a least amount, and contigs are added."""
    given = functions(tmp_path)
    manifest = hole(tmp_path / "manifest.json", 3)
    assert given.growing(2000)(None, Named(), 1, attempt) == 2000 * 2 ** (attempt - 1)
    assert given.growing(lambda *_: 10.5)(None, Named(reference=manifest), 1, attempt) == 1060 * 2 ** (attempt - 1)


def test_jobs_of_a_run_ask_as_the_functions_say(finished: Run) -> None:
    """Snakemake knows all inputs when a job starts: nothing is asked for that is to be determined."""
    told = sorted((finished.folder / ".snakemake/log").glob("*.log"))[0].read_text()
    asked = dict(re.findall(r"rule (\w+):(?:\n    .*)*?\n    resources: (.*)", told))
    assert {"map_unit", "finish_sample", "index_page", "rescore_interval", "gather_variants"} <= set(asked)
    assert not [rule for rule, line in asked.items() if "TBD" in line]
    axis = json.loads((finished.output / "index/reference/manifest.json").read_text())["axis_length"]
    unit = Named(fq1=[finished.units[0]["fq1"]], fq2=[finished.units[0]["fq2"]], bam=[])
    expected = functions(finished.folder, axis, cards=1).mapping_memory(None, unit, 2)
    assert f"mem_mb={int(expected)}," in asked["map_unit"]


def test_structural_variants_ask_for_memory_without_a_ledger(tmp_path: Path) -> None:
    """The alignments then bound their reads; before they exist, Snakemake asks again, as for other jobs."""
    asked = functions(tmp_path, 1000)
    job = Named(alignments=[str(tmp_path / f"{name}.bam") for name in asked.SAMPLES])
    with pytest.raises(FileNotFoundError):
        asked.structural_memory(Named(), job, 16)
    for path in job.alignments:
        Path(path).write_bytes(bytes(10 * MEGABYTE))
    without = asked.structural_memory(Named(), job, 16)
    assert asked.structural_disk(Named(), job) == 0
    crams = Named(alignments=[hole(tmp_path / f"{name}.cram", 100) for name in asked.SAMPLES])
    assert 2 * 4.4 * 100 < asked.structural_disk(Named(), crams) < 2 * 5 * 100
    asked.LEDGER.mkdir()
    for name in asked.SAMPLES:
        write_json_atomic(asked.LEDGER / f"{name}.json", {"counts": {"records_out": 100_000}})
    assert 7 < without - asked.structural_memory(Named(), job, 16) < 8
