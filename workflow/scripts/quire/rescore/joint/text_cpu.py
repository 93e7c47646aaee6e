"""The columns of samples as text."""

import numpy as np

from quire.rescore.genotyping import NO_CALL
from quire.rescore.joint.gvcf import MISSING
from quire.simd.compiled import compiled, inlined
from quire.simd.decimals import write_number

FIRST_IS_VARIANT, SECOND_IS_VARIANT, OTHER_PHASE = 1, 2, 0
"""Kinds of phases: PGT is 1|0, 0|1, or another."""
_TAB, _COLON, _COMMA, _DOT, _SLASH, _BAR, _ZERO = b"\t:,./|0"
_DIGITS = 20  # of the longest number, with what separates it from the next


@compiled
def write_genotypes(genotypes, phases, star):
    """Write GT:AD:DP:GQ:PL, and PGT:PID:PS if a sample has a phase, of all samples, each after a tab (uint8[]).

    Args:
        genotypes: `Genotypes`.
        phases: `TextPhases`.
        star: the number of the allele '*', or -1.
    """
    samples, largest = genotypes.alleles.shape
    room = len(genotypes.phreds) + genotypes.depths.size + samples * (largest + 4)
    any_phase = False
    for c in range(samples):
        if phases.phase[c] >= 0:
            any_phase = True
            room += (phases.first[phases.phase[c] + 1] - phases.first[phases.phase[c]]) // _DIGITS + 1
    out = np.empty(room * _DIGITS + 1, np.uint8)
    at = np.int64(0)
    for c in range(samples):
        out[at] = _TAB
        at = _write_members(genotypes, phases, star, c, out, at + 1)
        out[at] = _COLON
        at += 1
        if genotypes.has_depths[c]:
            at = _write_numbers(out, at, genotypes.depths[c])
        else:
            at = _write_dot(out, at)
        out[at] = _COLON
        at = _write_value(out, at + 1, genotypes.depth[c])
        out[at] = _COLON
        at = _write_value(out, at + 1, genotypes.quality[c])
        out[at] = _COLON
        at += 1
        if genotypes.has_phreds[c]:
            at = _write_numbers(out, at, genotypes.phreds[genotypes.offsets[c] : genotypes.offsets[c + 1]])
        else:
            at = _write_dot(out, at)
        if any_phase:
            at = _write_phase(genotypes, phases, c, out, at)
    return out[:at]


@inlined
def _write_members(genotypes, phases, star, c, out, at):
    """Write GT; the alleles of a phased genotype in the order of its haplotypes."""
    ploidy = genotypes.ploidies[c]
    if ploidy == 0:
        return _write_dot(out, at)
    phase = phases.phase[c]
    turned = False
    if phase >= 0 and phases.kind[phase] != OTHER_PHASE:
        alternate = genotypes.alleles[c, 1 if phases.kind[phase] == SECOND_IS_VARIANT else 0]
        turned = not (alternate > 0 and alternate != star)
    for place in range(ploidy):
        if place:
            out[at] = _BAR if phase >= 0 else _SLASH
            at += 1
        allele = genotypes.alleles[c, ploidy - 1 - place if turned else place]
        at = _write_dot(out, at) if allele == NO_CALL else write_number(out, at, np.int64(allele))
    return at


@inlined
def _write_phase(genotypes, phases, c, out, at):
    """Write PGT, PID and PS after a colon; on both haplotypes for two copies of an alternate."""
    phase = phases.phase[c]
    if phase < 0:
        for _ in range(3):
            out[at] = _COLON
            at = _write_dot(out, at + 1)
        return at
    out[at] = _COLON
    at += 1
    first, after = phases.first[phase], phases.first[phase + 1]
    if genotypes.alleles[c, 0] == genotypes.alleles[c, 1] and genotypes.alleles[c, 0] > 0:
        out[at], out[at + 1], out[at + 2] = _ZERO + 1, _BAR, _ZERO + 1
        at += 3
        while phases.text[first] != _COLON:
            first += 1
    for place in range(first, after):
        out[at] = phases.text[place]
        at += 1
    return at


@compiled
def write_references(genotypes):
    """Write GT:DP:RGQ of all samples, each after a tab, or GT alone if none has a depth (uint8[]).

    `genotypes` is a `ReferenceGenotypes`.
    """
    out = np.empty((len(genotypes.ploidies) * 3 + genotypes.ploidies.sum()) * _DIGITS + 1, np.uint8)
    at = np.int64(0)
    known = (genotypes.depth >= 0).any()
    for c in range(len(genotypes.ploidies)):
        out[at] = _TAB
        at += 1
        for place in range(max(1, genotypes.ploidies[c])):
            if place:
                out[at] = _SLASH
                at += 1
            out[at] = _ZERO if genotypes.quality[c] > 0 else _DOT
            at += 1
        if known:
            out[at] = _COLON
            at = _write_value(out, at + 1, genotypes.depth[c])
            out[at] = _COLON
            at = _write_value(out, at + 1, genotypes.quality[c])
    return out[:at]


@inlined
def _write_dot(out, at):
    out[at] = _DOT
    return at + 1


@inlined
def _write_value(out, at, value):
    """Write a number, or a dot for MISSING."""
    return _write_dot(out, at) if value == MISSING else write_number(out, at, value)


@inlined
def _write_numbers(out, at, values):
    """Write numbers with commas between them."""
    for i in range(len(values)):
        if i:
            out[at] = _COMMA
            at += 1
        at = write_number(out, at, values[i])
    return at
