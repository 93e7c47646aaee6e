// Likelihoods from the scaled sums of PairHMM's last row, and marks of tasks that underflow or overflow in float32.
// By -D: DOUBLE (sums are float64, of some tasks), TERMS (log10.cuh).
#include "quire/algorithms/pairhmm/arithmetic.cuh"
#include "quire/algorithms/pairhmm/batch.cuh"
#include "quire/simd/powers_of_ten/log10.cuh"

// Constants for logarithms on the card, and logarithms computed by the host.
struct Logarithms {
    const double* numbers;     // log10.cuh
    const double* of_lengths;  // of 1, 2, ... bases
};

// One thread per sum. places: the task of each. In float32, unsure[task] is 1 if the sum is below `least`, 2 if it
// overflowed or is NaN, else 0.
extern "C" __global__ void take_logarithms(const Real* sums, const i64* places, i64 count, const i32* pairs,
                                           Haplotypes haplotypes, Logarithms logarithms, double of_scale, Real least,
                                           u8* unsure, double* answers) {
    i64 i = thread_index();
    if (i >= count) return;
    Real sum = sums[i], infinity = (Real)__longlong_as_double(INFINITY_BITS);
    i64 task = places[i];
#if !DOUBLE
    unsure[task] = !(sum < infinity) ? 2 : !(sum >= least);
#endif
    i64 haplotype = pairs[2 * task + 1];
    i64 length = haplotypes.offsets[haplotype + 1] - haplotypes.offsets[haplotype];
    double answer = log10_of((double)sum, logarithms.numbers);
    // Infinities and NaN stay unchanged, to the bit.
    if (sum > 0 && sum < infinity) answer = answer - of_scale - logarithms.of_lengths[length - 1];
    answers[task] = answer;
}
