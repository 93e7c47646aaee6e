"""The virtual suffix trie of an FM-index, in which pieces with differences are searched.

The method is WOODSTOCC (Cole, Gardner and Buhler 2015), for pieces of reads in place of whole reads. A node of the trie
is a string S of the axis, whose occurrences are an interval of rows of the index. A child prepends a base to S (a
backward step). A piece is aligned from its end. At depth d the row of a piece at a node has a cell, a bit, for each
number of differences i up to the piece's limit and each c from -i to i. It is set if S can be aligned with the last
d + c bases of the piece with at most i differences. A node is shared by all pieces whose rows are alive there. Where
few rows of the index are left, the path continues in the text. Each end of a piece on the axis has one path from the
root, so it is found once.
"""
