# Threads and memory that jobs ask for. Each further attempt (retries) asks for twice the memory of the one before.


def growing(megabytes):
    """Return a function for a job's memory: these megabytes (number or function), doubled for each further attempt.

    Jobs that open the reference hold its contigs: 18 bytes for each byte of the manifest were measured, 20 are asked for.
    """

    def memory(wildcards, input, threads, attempt):
        first = megabytes(wildcards, input, threads) if callable(megabytes) else megabytes
        contigs = Path(input.reference).stat().st_size / 1e6 if input.get("reference") else 0
        return (first + int(20 * contigs)) << (attempt - 1)

    return memory


def which_attempt(wildcards, attempt):
    """Return the number of the attempt, from 1."""
    return attempt


def mapping_threads(wildcards):
    """Return the threads of a job that maps a unit.

    With a card eight are enough (measured: six threads that make records are busy 36 % of the time from two gzip
    streams, and twelve 39 % from bgzip). On a host of 16 cores another unit's job then maps at the same time, on
    another card or on the same one. On a cluster this machine says nothing about the job's machine, so the
    configuration decides: jobs of `auto` ask for no card.
    """
    on_cluster = workflow.remote_exec or workflow.non_local_exec
    card = DEVICE.backend == "gpu" if on_cluster else may_have_card(DEVICE.backend)
    return 8 if card and len(UNITS) > 1 else 16


def mapping_memory(wildcards, input, threads):
    """Return the megabytes for mapping a unit.

    They hold text and index of the whole axis, the batches in flight, and the stretches of records that are collected
    and written (measured for 2 x 150: up to 256 MB for each thread that writes). With a card they also hold CUDA's
    memory on the host and larger batches (measured with 16 threads and a genome of 60 Mb: 7.5 GB in all from gzip, 8.9
    from bgzip).
    """
    return 1000 + 160 * threads + int(6 * packed_reference()["axis_length"] / 1e6) + (6000 + 60 * threads) * MAYBE_CARDS


def pair_memory(wildcards, input, threads):
    """Return the megabytes for aligning a pair."""
    return 4000 + 3000 * MAYBE_CARDS


def searching_memory(wildcards, input, threads):
    """Return the megabytes for an exact search: those of mapping, and the hits and matches that each thread holds.

    Measured: 430 MB per thread for complete with 4 differences, 6 bytes per base of the longest query for mems.
    """
    queries = sum(Path(path).stat().st_size for path in [input.get("queries")] if path and Path(path).exists())
    return mapping_memory(wildcards, input, threads) + 400 * threads + int(12 * queries / 1e6)


def calling_memory(wildcards, input, threads):
    """Return the megabytes for calling a piece: shared memory, reads and matrices of each process, and CUDA's own."""
    return 1000 + 400 * threads + 3000 * MAYBE_CARDS


def page_memory(wildcards, input, threads):
    """Return the megabytes for indexing a page: text, suffix array and their sorting; with a card also CUDA's own."""
    page = packed_reference()["pages"][int(wildcards.page)]
    return 1000 + int(12 * (page["end"] - page["start"]) / 1e6) + 2000 * MAYBE_CARDS
