# Threads and memory that jobs ask for. A second attempt (quire.run.second_attempts) asks for twice the memory.


def growing(megabytes):
    """The memory of a job by its attempt, of a number of megabytes or a function: twice as much for each further one."""

    def memory(wildcards, input, threads, attempt):
        first = megabytes(wildcards, input, threads) if callable(megabytes) else megabytes
        return first << (attempt - 1)

    return memory


def which_attempt(wildcards, attempt):
    """How often a job was begun, this time too."""
    return attempt


def mapping_threads(wildcards):
    """Threads of a job that maps a unit.

    With a card half of them are enough (measured: six threads that make records are busy 36 % behind two gzip streams,
    and twelve 39 % from bgzip), so that on a host of 16 cores another unit's job maps beside, on a card of its own or on
    the same one. On a cluster the machine that this is read on says nothing of the one that the job will have: there the
    configuration decides, since jobs of `auto` ask for no card.
    """
    on_cluster = workflow.remote_exec or workflow.non_local_exec
    card = DEVICE.backend == "gpu" if on_cluster else may_have_card(DEVICE.backend)
    return 8 if card and len(UNITS) > 1 else 16


def mapping_memory(wildcards, input, threads):
    """Megabytes for mapping a unit: text and index of the whole axis, the batches in flight and the stretches of records
    that are collected and written (measured: 2 x 150; stretches take up to 256 MB for each thread that writes).

    On a card also what CUDA takes of the host, and its larger batches (measured: 7.5 GB in all from gzip and 8.9 from
    bgzip with 16 threads, of a genome of 60 Mb).
    """
    manifest = json.loads(Path(input.reference).read_text())
    return 1000 + 160 * threads + int(6 * manifest["axis_length"] / 1e6) + (6000 + 60 * threads) * MAYBE_CARDS


def pair_memory(wildcards, input, threads):
    """Megabytes for aligning a pair."""
    return 4000 + 3000 * MAYBE_CARDS


def searching_memory(wildcards, input, threads):
    """Megabytes for an exact search: those of mapping, and the hits and matches that each thread holds.

    Measured of complete: 430 MB a thread with 4 differences; of mems 6 bytes a base of the longest query.
    """
    queries = sum(Path(path).stat().st_size for path in [input.get("queries")] if path and Path(path).exists())
    return mapping_memory(wildcards, input, threads) + 400 * threads + int(12 * queries / 1e6)


def calling_memory(wildcards, input, threads):
    """Megabytes for calling a piece: what the processes share, and the reads and matrices of each; CUDA's own."""
    return 1000 + 400 * threads + 3000 * MAYBE_CARDS


def page_memory(wildcards, input, threads):
    """Megabytes for indexing a page: its text, its suffix array and the sorting of both; on a card also CUDA's own."""
    page = json.loads(Path(input.reference).read_text())["pages"][int(wildcards.page)]
    return 1000 + int(12 * (page["end"] - page["start"]) / 1e6) + 2000 * MAYBE_CARDS
