# Inputs on servers to copies, by Snakemake's storage plugins. The copies of reads are among the results and go when they
# are mapped; that of the reference stays beside its index.
COPIES = {copy.partition("/inputs/")[2]: remote for copy, remote in RUN.remote.items()}

# Snakemake alone would keep finished results, without a word, if their new inputs do not exist.
if workflow.is_main_process:
    with ends_in_a_sentence():
        for copy, remote in RUN.remote.items():
            if not Path(copy).exists():
                require_on_server(remote, storage(remote.address).flags["storage_object"].exists)


rule fetch_reads:
    input:
        lambda wildcards: storage(COPIES[wildcards.fetched].address),
    output:
        temp(OUTPUT / "inputs/{fetched}"),
    log:
        LOGS / "fetch_reads/{fetched}.log",
    benchmark:
        BENCHMARKS / "fetch_reads/{fetched}.tsv"
    wildcard_constraints:
        fetched="|".join(re.escape(copy) for copy, remote in COPIES.items() if remote.column) or "(?!)",
    conda:
        "../../envs/index.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=1440,
    params:
        remote=lambda wildcards: tuple(COPIES[wildcards.fetched]),
        digest=sources.digest("fetch_input.py"),
    script:
        "../scripts/fetch_input.py"


use rule fetch_reads as fetch_reference with:
    output:
        INDEX / "inputs/{fetched}",
    log:
        LOGS / "fetch_reference/{fetched}.log",
    benchmark:
        BENCHMARKS / "fetch_reference/{fetched}.tsv"
    wildcard_constraints:
        fetched="|".join(re.escape(copy) for copy, remote in COPIES.items() if not remote.column) or "(?!)",
