// Looks for other places of a match in a page, among the hits of its seed, to find the matches unique in the reference.
#include "quire/algorithms/mems/mems.cuh"

// True if the letters of a match, `left` bases before its seed and `right` from its start on, occur where a row's suffix
// starts. Sets `further` if the suffix differs from the match within the page; then so do all rows beyond it.
__device__ __forceinline__ bool occurs_at(const Page& page, const Sequence& text, i64 row, i64 axis, i64 left, i64 right,
                                          bool* further) {
    i64 start = locate(page, row), other = page.start + start, inside = page.C[4] - 1 - start;
    i64 most = right < text.length - other ? right : text.length - other;
    i64 equal = right_match(text.words, axis, text.words, other, most);
    *further = equal < most && equal < inside;
    if (start >= page.owned_length || equal < right || other < left) return false;
    if (left_match(text.words, axis, text.words, other, left) < left) return false;
    longlong2 run = text.runs[text.run_at(other)];
    return other - left >= run.x && other + right <= run.y;
}

// Marks the matches whose letters occur elsewhere in a page: matches of the page itself (of_page = 1) or matches of
// other pages (0). One warp per match goes through the rows of its seed. In the match's own page it starts at the
// match's row and goes in both directions, since the rows next to it are the most similar. There it may stop where
// suffixes begin to differ: all rows beyond differ too, unless the page's end cuts their suffixes off, which matters
// only for matches with a part longer than the overlap of pages.
extern "C" __global__ void find_elsewhere(
        Page page, Sequence text, Seeds seeds, Hits hits, Listed listed, i64 count, i64 of_page, u8* elsewhere) {
    i64 match = thread_index() >> 5;
    if (match >= count || elsewhere[match]) return;
    i64 lane = threadIdx.x & 31;
    Place place = place_of(seeds, listed, match);
    i64 axis = place.axis + place.left, right = listed.lengths[match] - place.left;
    i64 first = hits.low[place.index], end = first + hits.counts[place.index], page_length = page.C[4] - 1;
    bool own = axis >= page.start && axis < page.start + page.owned_length;
    if (own != (of_page != 0)) return;
    bool may_stop = own && (right <= page_length - page.owned_length || page.start + page_length == text.length);
    i64 middle = own ? (i64)listed.rows[match] : first - 1;
#pragma unroll 1
    for (i64 side = -1; side <= 1; side += 2) {
#pragma unroll 1
        for (i64 away = 1;; away += 32) {
            i64 row = middle + side * (away + lane);
            bool inside = row >= first && row < end, further = false;
            bool found = inside && occurs_at(page, text, row, axis, place.left, right, &further);
            if (__any_sync(~0u, found)) {
                if (lane == 0) elsewhere[match] = 1;
                return;
            }
            if (!__any_sync(~0u, inside) || (may_stop && __any_sync(~0u, further))) break;
        }
    }
}
