# Threads, memory, disk and time that jobs ask for, in megabytes and minutes. The constants are fitted to what jobs took
# (docs/resources.md, `python -m bench.job_memory`), and a tenth is added. Each further attempt (retries) asks for twice
# the memory of the one before.

# On a cluster two processes of Snakemake, of 157 MB each, start a job's own process and count as the job's.
SNAKEMAKE = 320
LEAST = 1000  # for small inputs, whose jobs take less


def growing(megabytes):
    """Return a function for a job's memory: these megabytes (number or function), doubled for each further attempt.

    Jobs that open the reference hold its contigs: 18 bytes for each byte of the manifest were measured, 20 are asked for.
    """

    def memory(wildcards, input, threads, attempt):
        first = megabytes(wildcards, input, threads) if callable(megabytes) else megabytes
        contigs = Path(input.reference).stat().st_size / 1e6 if input.get("reference") else 0
        return int(max(first, LEAST) + 20 * contigs) << (attempt - 1)

    return memory


def which_attempt(wildcards, attempt):
    """Return the number of the attempt, from 1."""
    return attempt


def on_cluster():
    """Return True if jobs run on other machines than Snakemake, or in this process for such a Snakemake."""
    return workflow.remote_exec or workflow.non_local_exec


def enough_threads(units, jobs, megabytes, index=lambda: 0):
    """Return the threads of a job on some units (their rows): one for each of these megabytes of records, at most 16.

    A short job takes as long to start, on one thread, as it works. So many short jobs run side by side on few threads
    each, and fewer jobs than cores share these. A job that opens the index takes a thread for each 4 GB of it.
    """
    cores = 16 if on_cluster() else workflow.resource_settings.cores or 16
    try:
        records = sum(mapping_disk(None, SimpleNamespace(**row)) for row in units)
        least = max(1, cores // jobs, math.ceil(records / megabytes), math.ceil(index() / 4000))
    except FileNotFoundError:  # Snakemake asks again before it starts the job
        return 16
    return min(least, 16)


def mapping_threads(wildcards):
    """Return the threads of a job that maps a unit.

    With a card eight are enough (measured: six threads that make records are busy 36 % of the time from two gzip
    streams, and twelve 39 % from bgzip). On a host of 16 cores another unit's job then maps at the same time, on
    another card or on the same one. On a cluster this machine says nothing about the job's machine, so the
    configuration decides: jobs of `auto` ask for no card.
    """
    card = DEVICE.backend == "gpu" if on_cluster() else may_have_card(DEVICE.backend)
    enough = enough_threads([UNITS[wildcards.sample, wildcards.unit]], len(UNITS), 75, resident)
    return min(enough, 8) if card and len(UNITS) > 1 else enough


def threads_of_sample(megabytes, most=16):
    """Return a function for the threads of a job on a sample: one for each of these megabytes of its records."""

    def threads(wildcards):
        units = [UNITS[wildcards.sample, unit] for unit in libraries(wildcards.sample)]
        return min(enough_threads(units, len(SAMPLES), megabytes), most)

    return threads


@cache
def records_of_run():
    """Return the megabytes of the records of all units, as mapping expects; once, since a cohort has many files."""
    return sum(mapping_disk(None, SimpleNamespace(**row)) for row in UNITS.values())


def share_of_records(wildcards):
    """Return the priority of a job on a unit or sample: its share of all records, below the priority of other rules.

    Snakemake would rather fill the cores with small jobs, and the largest sample would be the last to start.
    """
    own = [wildcards.unit] if "unit" in wildcards.keys() else libraries(wildcards.sample)
    try:
        records = sum(mapping_disk(None, SimpleNamespace(**UNITS[wildcards.sample, unit])) for unit in own)
        return records / (records_of_run() + 1)
    except FileNotFoundError:  # of a file that is fetched; Snakemake asks again after it
        return 0


def size(path):
    """Return the megabytes of a file, or of the files in a folder.

    The error for a missing path names it as the rule does. Snakemake then asks again when it exists.
    """
    alone = os.stat(path).st_size
    return (sum(entry.stat().st_size for entry in os.scandir(path)) if os.path.isdir(path) else alone) / 1e6


def sizes(paths):
    """Return the megabytes of an input of a rule; before its checkpoint has run, it is the checkpoint's file alone."""
    return sum(map(size, [paths] if isinstance(paths, str) else paths))


def index_size(page):
    """Return the megabytes of the index of a page: suffix array, occurrence blocks and prefix table."""
    bases, sampling = page["end"] - page["start"], SETTINGS["index"]["sa_sampling"]
    positions = 4 if sampling == 1 else 4 / sampling + 0.25  # bytes for each base
    blocks = 0.25 + 16 / SETTINGS["index"]["sampling_distance"]
    return (bases * (positions + blocks) + 8 * min(bases, 4**12)) / 1e6


def resident():
    """Return the megabytes of text and index of the whole axis."""
    reference = packed_reference()
    return reference["axis_length"] / 4e6 + sum(map(index_size, reference["pages"]))


def mapping_memory(wildcards, input, threads):
    """Return the megabytes for mapping a unit: the whole index, and batches in flight.

    The batches' memory grows with each doubling of the reads, since freed arrays leave holes. With a card a job also
    holds CUDA's memory on the host and larger batches (measured with 16 threads: 5.8 GB from plain gzip, 8.5 from
    bgzip).
    """
    given = SETTINGS["align"]["reads_per_batch"]
    batch = 0.66 + (16384 if given == "auto" else given) / 24000  # a third of a batch of 8,192 grows with its reads
    flying = 1530 + batch * threads * (13 + 47 * math.log2(1 + mapping_disk(wildcards, input) / 194))
    return SNAKEMAKE + resident() + max(flying, (7000 + 140 * threads) * MAYBE_CARDS)


def mapping_disk(wildcards, input):
    """Return the megabytes of a unit's records between mapping and sorting, and of a BAM that must be sorted by name."""
    times = {".gz": 1.7, ".bam": 3.2, ".cram": 14}  # of four quality values; forty take less of their files' size
    return int(sum(times.get(Path(path).suffix, 0.5) * size(path) for path in [*input.fq1, *input.fq2, *input.bam]))


def mapping_minutes(wildcards, input):
    """Return the minutes for mapping a unit: fifty times what 16 threads took, an hour at least, at most a day."""
    return int(min(1440, 60 + mapping_disk(wildcards, input) / 120))


def records(wildcards, input):
    """Return the megabytes of the records of a sample's units; of units that are not mapped yet, as mapping expects.

    A group that maps and finishes a sample asks for its memory before it begins.
    """
    megabytes = 0
    for unit, path in zip(libraries(wildcards.sample), input.units):
        reads = SimpleNamespace(**UNITS[wildcards.sample, unit])
        expected = all(map(os.path.exists, [*reads.fq1, *reads.fq2, *reads.bam])) and not os.path.exists(path)
        megabytes += mapping_disk(wildcards, reads) if expected else size(path)
    return megabytes


def finishing_memory(wildcards, input, threads):
    """Return the megabytes for finishing a sample, which are also those that it plans with.

    Each thread holds a range of the genome at five times the size of its records, and most of as many wait to be
    written. A range of a deep target has up to 268 MB. Evidence of breakpoints is as in `structural_memory`.
    """
    held, axis = 3.3 * records(wildcards, input), packed_reference()["axis_length"]
    ranges = min(4096, max(1, axis >> 17))
    held = min(held, max(268, 1.7 * threads * held / ranges))
    evidence = (0.03 * records(wildcards, input) + 0.04 * axis / 1e6) * STRUCTURAL
    return min(4000, 1.1 * (SNAKEMAKE + 300 + axis / 4e6 + 5 * held)) + evidence


def finishing_disk(wildcards, input):
    """Return the megabytes of a finished sample: measured are 0.5 for four quality values, 0.72 for forty."""
    return int(0.75 * records(wildcards, input))


def counting_memory(wildcards, input, threads):
    """Return the megabytes for counting finished alignments: records that wait, text, and samtools for CRAM."""
    return SNAKEMAKE + 620 + packed_reference()["axis_length"] / 4e6 + 800 * (FORMAT == "cram")


def pair_memory(wildcards, input, threads):
    """Return the megabytes for aligning a pair."""
    return 4000 + 3000 * MAYBE_CARDS


def searching_memory(wildcards, input, threads):
    """Return the megabytes for an exact search: the whole index, and the hits and matches that each thread holds.

    Measured: 430 MB per thread for complete with 4 differences, 6 bytes per base of the longest query for mems.
    """
    queries = sizes(input.get("queries", []))
    return SNAKEMAKE + resident() + 1000 + 560 * threads + 12 * queries + (6000 + 60 * threads) * MAYBE_CARDS


def reads_of(sample):
    """Return the number of reads of a finished sample, from its ledger; infinite if that was deleted."""
    path = LEDGER / f"{sample}.json"
    return read_json(path)["counts"]["records_out"] if path.exists() else math.inf


@cache
def units_and_bases(time_stamp):
    """Return the units of work of each piece, those of all together, and the called bases; once for a file's state."""
    pieces = [[(name, start, end) for name, start, end in piece] for piece in read_json(PIECES)["pieces"]]
    together = list(chain.from_iterable(pieces))
    units = [len(cut_into_units(piece)) for piece in pieces]
    return units, len(cut_into_units(together)), sum(end - start for _, start, end in together)


def calling_memory(wildcards, input, threads):
    """Return the megabytes for calling a piece, or all pieces in one sample.

    They are shared memory, what each process holds, and CUDA's own. A process holds the reads of a unit, but at most
    250,000 (`quire.rescore.chunks`). Measured with 16 processes: 40 MB each for 10,000 reads, 54 for 25,000, 90 for
    50,000, 198 for 250,000. A card takes larger batches, and a process that writes a gVCF holds a unit's lines.
    """
    units, together, bases = units_and_bases(os.stat(input.pieces).st_mtime_ns)
    samples = [wildcards.sample] if "sample" in wildcards.keys() else SAMPLES
    reads = 250_000 * min(1, sum(map(reads_of, samples)) / bases)
    processes = min(threads, units[int(wildcards.piece)] if "piece" in wildcards.keys() else together)
    own = 0.4 * reads**0.5 + 40 * GVCF
    return SNAKEMAKE + len(samples) + 1.08 * (200 + processes * own) + (1000 + 215 * processes) * MAYBE_CARDS


def structural_memory(wildcards, input, threads):
    """Return the megabytes for calling structural variants.

    Each sample has 9 bytes for each 100 bases of the reference, and evidence, of which 4 bytes for each read are
    assumed. Each process holds the reads of a locus; then the words of the reference are sorted, with its longest
    contig and 4 bytes for each 100 bases beside them. Without a ledger a read counts as 10 bytes of the alignments.
    """
    bases = packed_reference()["axis_length"]
    reads = sum(min(reads_of(sample), size(path) * 1e5) for sample, path in zip(SAMPLES, input.alignments))
    evidence = 4 * reads + 0.09 * len(SAMPLES) * bases
    words = min(1.5 * bases, 6e8) + 0.12 * bases
    return SNAKEMAKE + 400 + max(150 * threads, words / 1e6) + evidence / 1e6


def structural_disk(wildcards, input):
    """Return the megabytes for CRAMs as BAMs: 2.3 times their size for forty quality values, and more for four."""
    return int(4.5 * sum(size(path) for path in input.alignments if path.endswith(".cram")))


def calling_minutes(wildcards, input):
    """Return the minutes for calling a sample: an hour, and fifty minutes for each gigabase."""
    *_, bases = units_and_bases(os.stat(input.pieces).st_mtime_ns)
    return 60 + bases // 20_000_000


def gathering_memory(wildcards, input, threads):
    """Return the megabytes for gathering variants: a window of a part and its text, and the counts of each process."""
    window = min(40 * sizes(input.parts), 900 + 150 * threads)
    return SNAKEMAKE + 200 + window + 5e-5 * len(SAMPLES) ** 2 * (threads + 1)


def page_memory(wildcards, input, threads):
    """Return the megabytes for indexing a page: text, suffix array, and ranks of the suffixes.

    A card takes 2.1 bytes for each base, CUDA's own, and, at the first page, the compiler of its kernels.
    """
    page = packed_reference()["pages"][int(wildcards.page)]
    bases = (page["end"] - page["start"]) / 1e6
    on_cpu, on_card = 350 + 10.4 * bases, 2400 + 2.3 * bases
    return SNAKEMAKE + (on_card if CARDS else max(on_cpu, on_card * MAYBE_CARDS))


def index_disk(wildcards, input):
    """Return the megabytes of the index of a page."""
    return int(1.05 * index_size(packed_reference()["pages"][int(wildcards.page)]))
