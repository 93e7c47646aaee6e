"""Complete search by walking the virtual suffix trie of an FM-index (Cole, Gardner and Buhler 2015, WOODSTOCC).

A node of the trie is a string S of the axis, of which an interval of rows holds the occurrences; its children put a
base before S (a backward step). A piece of a read is aligned from its end: at depth d the node's row holds, for each
difference count i up to the piece's limit, which of the last d - i ... d + i bases of the piece S can be aligned with
(2 i + 1 cells, a bit each: `ROW_BITS` in all). A node is shared by all pieces whose rows are still alive there; where
few rows are left the path goes on in the text. Every end of a piece on the axis has one path from the root, so each is
found once.

**Pieces.** With one piece, the whole read, this is WOODSTOCC. A read may also be cut into p pieces whose limits k_i
satisfy sum(k_i + 1) = k + 1: of any alignment with at most k differences one piece has at most k_i (Navarro and
Baeza-Yates 2000). Fewer differences a piece mean fewer nodes, shorter pieces more places by chance; `pieces_of` chooses
by an estimate of both, from the lengths of read and text alone. What is found of a piece is a candidate
(`quire.algorithms.complete.windows`), and windows give the ends. So the answer depends on no choice made here.

**Bounds.** Where what is left of a piece holds n strings beside each other that do not occur in the page, n
differences are still to come (bwa's array D): rows whose differences leave no room for them are dead.
"""

BOUNDED_FROM = 2  # limit of pieces whose bounds are worth their time
