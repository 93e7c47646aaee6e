# Every place of reads with at most k differences; one job per search.


rule search_complete:
    input:
        reads=of_search("complete", "reads"),
        reference=REFERENCE,
        pages=page_manifests,
        fasta=FASTA,
        kernels=OUTPUT / ".compiled/complete.done",
    output:
        bam=OUTPUT / "complete/{search}.bam",
        counts=OUTPUT / "complete/{search}.counts.tsv",
        summary=OUTPUT / "complete/{search}.json",
    log:
        LOGS / "search_complete/{search}.log",
    benchmark:
        BENCHMARKS / "search_complete/{search}.tsv"
    wildcard_constraints:
        search=names_of_searches("complete"),
    conda:
        environment("align")
    threads: 16
    resources:
        mem_mb=growing(searching_memory),
        runtime=1440,
        gpu=CARDS,
    params:
        search=of_search("complete", "max_differences", "report", "max_hits"),
        device=DEVICE,
        digest=sources.digest("search_complete.py"),
    script:
        "../scripts/search_complete.py"
