"""The kernel that parses a FASTA of queries into flat arrays; `quire.mems.queries` calls it and formats its errors.

Text comes in pieces that may end anywhere; `state` is carried over from piece to piece.
"""

import numpy as np

from quire.sequence.codes import AMBIGUOUS, IUPAC_BESIDES_N, code_table
from quire.simd.compiled import compiled

# Fields of `state`. MODE is the part of a record that is being read. BESIDES_N counts the record's letters that are
# codes for two or three bases.
MODE, LINE, LETTER, RECORDS, CODES, NAMES, BESIDES_N, FIELDS = 0, 1, 2, 3, 4, 5, 6, 7
LINE_START, SEQUENCE, NAME, COMMENT = 0, 1, 2, 3
# Status.
FINE, NOT_FASTA, NO_NAME, BAD_LETTER, PROTEIN = 0, 1, 2, 3, 4

NEWLINE, RETURN, SPACE, TAB, RECORD = 10, 13, 32, 9, 62
CODE_BESIDES_N, CODE_BLANK, CODE_NEWLINE, CODE_INVALID = AMBIGUOUS + 1, AMBIGUOUS + 2, AMBIGUOUS + 3, AMBIGUOUS + 4
TABLE = code_table({b"N": AMBIGUOUS, IUPAC_BESIDES_N: CODE_BESIDES_N}, CODE_INVALID)
TABLE[[RETURN, SPACE, TAB]] = CODE_BLANK
TABLE[NEWLINE] = CODE_NEWLINE
LETTERS_TO_JUDGE = 20  # shorter records are not judged to be protein


def new_state() -> np.ndarray:
    """Return the state at the start of a file: int64[FIELDS]."""
    state = np.zeros(FIELDS, np.int64)
    state[LINE] = 1
    return state


@compiled
def parse(text, state, codes, offsets, names, name_offsets):
    """Parse a piece of text and append it to the arrays.

    Args:
        text: uint8[], the piece.
        state: int64[FIELDS], updated; RECORDS counts records begun, CODES and NAMES count items written.
        codes: uint8[] with room for len(text) more items.
        offsets: int64[] with room for one more item per `>` in the text; the last record has a start but no end yet.
        names: uint8[] with the same room as `codes`.
        name_offsets: int64[] with the same room as `offsets`.

    Returns:
        FINE, or another status, with LINE (and LETTER) in `state`.
    """
    mode, line, used, letters = state[MODE], state[LINE], state[CODES], state[NAMES]
    besides_n = state[BESIDES_N]
    status = FINE
    for item in range(len(text)):
        letter = text[item]
        if mode == SEQUENCE or (mode == LINE_START and letter != RECORD):
            code = TABLE[letter]
            if code <= CODE_BESIDES_N:
                if state[RECORDS] == 0:
                    status = NOT_FASTA
                    break
                besides_n += code == CODE_BESIDES_N
                codes[used] = min(code, np.uint8(AMBIGUOUS))
                used += 1
                mode = SEQUENCE
            elif code == CODE_NEWLINE:
                line += 1
                mode = LINE_START
            elif code == CODE_INVALID:
                status = BAD_LETTER if state[RECORDS] > 0 else NOT_FASTA
                state[LETTER] = letter
                break
        elif mode == LINE_START:  # the start of a record
            if _looks_like_protein(state, offsets, used, besides_n):
                status = PROTEIN
                break
            offsets[state[RECORDS]], name_offsets[state[RECORDS]] = used, letters
            state[RECORDS] += 1
            besides_n = np.int64(0)
            mode = NAME
        elif letter == NEWLINE or (mode == NAME and letter in (SPACE, TAB, RETURN)):
            if mode == NAME and letters == name_offsets[state[RECORDS] - 1]:
                status = NO_NAME
                break
            mode = COMMENT
            if letter == NEWLINE:
                line += 1
                mode = LINE_START
        elif mode == NAME:
            names[letters] = letter
            letters += 1
    state[MODE], state[LINE], state[CODES], state[NAMES], state[BESIDES_N] = mode, line, used, letters, besides_n
    return status


@compiled
def finish(state, offsets, name_offsets):
    """Return the status at the end of the text."""
    if state[RECORDS] == 0:
        return NOT_FASTA
    if state[MODE] == NAME and state[NAMES] == name_offsets[state[RECORDS] - 1]:
        return NO_NAME
    return PROTEIN if _looks_like_protein(state, offsets, state[CODES], state[BESIDES_N]) else FINE


@compiled
def _looks_like_protein(state, offsets, used, besides_n):
    """Return True if more than half of the last record's letters are none of A, C, G, T, N."""
    if state[RECORDS] == 0:
        return False
    length = used - offsets[state[RECORDS] - 1]
    return length >= LETTERS_TO_JUDGE and 2 * besides_n > length
