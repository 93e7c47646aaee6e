// CUDA functions that involve one thread only: bits, atomics (a fiber is never interrupted), and DPX, as defined by the
// CUDA C++ programming guide and the CUDA math API. Part of cuda_on_cpu.h.
#pragma once

template <class T> T __ldg(const T* pointer) { return *pointer; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { harness::sleep(); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i); return r; }
inline unsigned long long __brevll(unsigned long long x) { unsigned long long r = 0; for (int i = 0; i < 64; i++) r |= (x >> i & 1ull) << (63 - i); return r; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)(((unsigned __int128)a * b) >> 64); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((1ull * a * b) >> 32); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) { return unsigned(((1ull * high << 32 | low) << (shift & 31)) >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) { return unsigned((1ull * high << 32 | low) >> (shift & 31)); }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    unsigned long long bytes = 1ull * high << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}
inline unsigned __float_as_uint(float x) { return harness::from_bits<unsigned>(harness::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return harness::from_bits<float>(harness::to_bits(x)); }
inline int __float_as_int(float x) { return harness::from_bits<int>(harness::to_bits(x)); }
inline float __int_as_float(int x) { return harness::from_bits<float>(harness::to_bits(x)); }
inline long long __double_as_longlong(double x) { return harness::from_bits<long long>(harness::to_bits(x)); }
inline double __longlong_as_double(long long x) { return harness::from_bits<double>(harness::to_bits(x)); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
template <class A, class B> std::common_type_t<A, B> min(A a, B b) { typedef std::common_type_t<A, B> C; return C(b) < C(a) ? C(b) : C(a); }
template <class A, class B> std::common_type_t<A, B> max(A a, B b) { typedef std::common_type_t<A, B> C; return C(a) < C(b) ? C(b) : C(a); }

#define HARNESS_ATOMIC(name, expression)                                     \
    template <class T, class V> T name(T* pointer, V given) {                \
        T old = *pointer, value = T(given); (void)value;                     \
        *pointer = expression;                                               \
        return old;                                                          \
    }
HARNESS_ATOMIC(atomicSub, old - value)
HARNESS_ATOMIC(atomicMin, old < value ? old : value)
HARNESS_ATOMIC(atomicMax, old > value ? old : value)
HARNESS_ATOMIC(atomicExch, value)
HARNESS_ATOMIC(atomicOr, old | value)
HARNESS_ATOMIC(atomicAnd, old & value)
HARNESS_ATOMIC(atomicXor, old ^ value)
#undef HARNESS_ATOMIC
namespace harness {
template <class T> struct Identity { typedef T Type; };
template <class T> using Same = typename Identity<T>::Type;  // T is not deduced from an argument of this type
}  // namespace harness
template <class T> T atomicAdd(T* p, harness::Same<T> v) { T old = *p; *p = old + v; return old; }
template <class T> T atomicCAS(T* p, harness::Same<T> compare, harness::Same<T> v) { T old = *p; if (old == compare) *p = v; return old; }

// DPX: each function for numbers of one type, then for 32-bit words and for pairs of 16-bit halves.
namespace harness {
template <class T> T wrapped_sum(T a, T b) { return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); }
template <class T> T add_max(T a, T b, T c) { return max(wrapped_sum(a, b), c); }
template <class T> T add_min(T a, T b, T c) { return min(wrapped_sum(a, b), c); }
template <class T> T max3(T a, T b, T c) { return max(max(a, b), c); }
template <class T> T min3(T a, T b, T c) { return min(min(a, b), c); }
template <class T, class F> unsigned by_halves(F function, unsigned a, unsigned b, unsigned c) {
    auto half = [&](int shift) { return unsigned(std::uint16_t(function(T(a >> shift), T(b >> shift), T(c >> shift)))); };
    return half(0) | half(16) << 16;
}
}  // namespace harness
#define HARNESS_DPX(name, function)                                                                                  \
    inline int name##_s32(int a, int b, int c) { return harness::function<int>(a, b, c); }                            \
    inline int name##_s32_relu(int a, int b, int c) { return max(harness::function<int>(a, b, c), 0); }              \
    inline unsigned name##_u32(unsigned a, unsigned b, unsigned c) { return harness::function<unsigned>(a, b, c); }   \
    inline unsigned name##_s16x2(unsigned a, unsigned b, unsigned c) {                                               \
        return harness::by_halves<short>(harness::function<short>, a, b, c);                                         \
    }                                                                                                                \
    inline unsigned name##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                          \
        auto clamped = [](short x, short y, short z) { return max(harness::function<short>(x, y, z), short(0)); };   \
        return harness::by_halves<short>(clamped, a, b, c);                                                          \
    }                                                                                                                \
    inline unsigned name##_u16x2(unsigned a, unsigned b, unsigned c) {                                               \
        return harness::by_halves<unsigned short>(harness::function<unsigned short>, a, b, c);                       \
    }
HARNESS_DPX(__viaddmax, add_max)
HARNESS_DPX(__viaddmin, add_min)
HARNESS_DPX(__vimax3, max3)
HARNESS_DPX(__vimin3, min3)
#undef HARNESS_DPX
inline int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
inline int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2_relu(a, b, b); }
inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vimin3_s16x2_relu(a, b, b); }
inline int __vibmax_s32(int a, int b, bool* first) { *first = a >= b; return max(a, b); }
inline int __vibmin_s32(int a, int b, bool* first) { *first = a <= b; return min(a, b); }
inline unsigned __vibmax_u32(unsigned a, unsigned b, bool* first) { *first = a >= b; return max(a, b); }
inline unsigned __vibmin_u32(unsigned a, unsigned b, bool* first) { *first = a <= b; return min(a, b); }
inline unsigned __vibmax_s16x2(unsigned a, unsigned b, bool* high, bool* low) {
    *high = short(a >> 16) >= short(b >> 16);
    *low = short(a) >= short(b);
    return __vimax3_s16x2(a, b, b);
}
inline unsigned __vibmin_s16x2(unsigned a, unsigned b, bool* high, bool* low) {
    *high = short(a >> 16) <= short(b >> 16);
    *low = short(a) <= short(b);
    return __vimin3_s16x2(a, b, b);
}
