# One optimal alignment of two sequences; one job per pair.


rule align_pairwise:
    input:
        query=lambda wildcards: fasta_and_region(of_search("pairwise", "query")(wildcards))[0],
        target=lambda wildcards: fasta_and_region(of_search("pairwise", "target")(wildcards))[0],
        kernels=lambda wildcards: [
            OUTPUT / f".compiled/{stage}.done"
            for stage in ("pairwise", of_search("pairwise", "anchors")(wildcards))
            if stage != "none"
        ],
    output:
        paf=OUTPUT / "pairwise/{search}.paf",
        bam=OUTPUT / "pairwise/{search}.bam",
        dots=OUTPUT / "pairwise/{search}.dots.json",
        summary=OUTPUT / "pairwise/{search}.json",
    log:
        LOGS / "align_pairwise/{search}.log",
    benchmark:
        BENCHMARKS / "align_pairwise/{search}.tsv"
    wildcard_constraints:
        search=names_of_searches("pairwise"),
    conda:
        environment("align")
    threads: 16
    resources:
        mem_mb=growing(pair_memory),
        runtime=1440,
        gpu=CARDS,
    params:
        search=of_search("pairwise", "query", "target", "scores", "mode", "anchors"),
        device=DEVICE,
        digest=sources.digest("align_pairwise.py"),
    script:
        "../scripts/align_pairwise.py"
