"""Recognition of human references; the usual ranges of some figures hold for humans only.

Chromosome lengths are from the Genome Reference Consortium and the T2T Consortium (Nurk et al. 2022).
"""

from collections.abc import Iterable

_LENGTHS = {
    "GRCh37": (
        *(249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022, 141213431, 135534747),
        *(135006516, 133851895, 115169878, 107349540, 102531392, 90354753, 81195210, 78077248, 59128983, 63025520),
        *(48129895, 51304566, 155270560, 59373566),
    ),
    "GRCh38": (
        *(248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422),
        *(135086622, 133275309, 114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167),
        *(46709983, 50818468, 156040895, 57227415),
    ),
    "T2T-CHM13": (
        *(248387328, 242696752, 201105948, 193574945, 182045439, 172126628, 160567428, 146259331, 150617247, 134758134),
        *(135127769, 133324548, 113566686, 101161492, 99753195, 96330374, 84276897, 80542538, 61707364, 66210255),
        *(45090682, 51324926, 154259566, 62460029),
    ),
}
_NAMES = (*map(str, range(1, 23)), "X", "Y")


def human_assembly(contigs: Iterable[tuple[str, int]]) -> str | None:
    """Return the human assembly that has one of these contigs (name with or without chr, length), or None."""
    known = {
        (name, length): assembly
        for assembly, lengths in _LENGTHS.items()
        for name, length in zip(_NAMES, lengths, strict=True)
    }
    found = (known.get((name.removeprefix("chr"), length)) for name, length in contigs)
    return next((assembly for assembly in found if assembly), None)
