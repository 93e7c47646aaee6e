// CUDA on a CPU: runs a kernel's unchanged source on small inputs, for tests on machines without a GPU.
//
// The threads of a block are fibers that one operating system thread switches explicitly. A fiber runs until it reaches
// a barrier or an exchange between the lanes of its warp, and continues when all participants have arrived. Blocks run
// one after the other. Three schedules change the order of blocks, warps and lanes between such points: with forward
// and reverse one warp runs as far as barriers allow before the next one starts, with random the warps drift apart. A
// kernel whose answer depends on the order has a race.
//
// Behaviour that hardware leaves undefined is an error with kernel, block, thread and line: a barrier that some threads
// miss, threads that meet in different barriers or exchanges, a shift by the width or more, a division by zero, a
// misaligned or wild pointer, an overflowing signed sum, an index beyond a local array, a runaway loop. Values that
// were never written (shared memory, values of lanes outside the mask, memory after an array) are poison.
//
// The scheduler is in cuda_on_cpu.cpp, which is compiled once; every kernel is compiled with this header.
//
// It does not detect: memory ordering between warps, coalescing, bank conflicts, and races inside a stretch of code
// without any barrier or exchange. These require a card and its sanitizer.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

extern "C" {  // instead of <cmath>, which takes longer to compile than most kernels
double ceil(double) noexcept;
double fabs(double) noexcept;
double fma(double, double, double) noexcept;
double sqrt(double) noexcept;
float copysignf(float, float) noexcept;
float fabsf(float) noexcept;
float fmaf(float, float, float) noexcept;
}

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __constant__
#define __shared__
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define QUIRE_ON_CPU 1

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
template <class T> struct alignas(2 * sizeof(T)) Two { T x, y; };
template <class T> struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) Four { T x, y, z, w; };
typedef Two<int> int2; typedef Two<unsigned> uint2; typedef Two<long long> longlong2; typedef Two<float> float2;
typedef Two<unsigned long long> ulonglong2; typedef Two<short> short2; typedef Four<int> int4;
typedef Four<unsigned> uint4; typedef Four<float> float4; typedef Four<unsigned char> uchar4;
typedef Four<short> short4;
inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// The kernels' dynamic shared memory (quire/device/types.cuh declares it `extern`).
extern unsigned long long shared_memory[];

namespace harness {

enum State { READY, SLEEPING, AT_BARRIER, IN_EXCHANGE, DONE };
enum Schedule { FORWARD, REVERSE, RANDOM };
enum Operation {
    SYNC_WARP, BALLOT, ANY, ALL, MATCH_ANY, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR,
    SYNC_THREADS, SYNC_COUNT, SYNC_AND, SYNC_OR
};
struct Launch {  // the same layout as in tests/emulator/emulated_card.py
    unsigned grid[3], block[3], shared_bytes;
    int schedule;
    unsigned long long seed;
    char* error;
    unsigned long long error_bytes, fault_address;
    const int* argument_bytes;  // negative: the item size of a pointer
    int arguments;
};

struct Where {  // a position in the kernel's source
    const char* file;
    int line;
};
#define HERE harness::Where where = {__builtin_FILE(), __builtin_LINE()}

struct Waiting {  // a thread's arguments of a barrier or an exchange
    Operation operation;
    Where where;
    unsigned mask;
    int argument, width;
    unsigned long long value, result;
};

struct Fiber {
    void* stack_pointer;
    State state;
    uint3 thread;
    int index;
    Waiting waiting;
};

extern Fiber* current;
extern uint3 block_index;
extern dim3 block_size, grid_size;

int barrier(Operation operation, int argument, Where where);
unsigned long long exchange(Operation operation, Where where, unsigned mask, unsigned long long value, int argument = 0,
                            int width = 32);
void sleep();
int run_body(Launch& launch, void (*body)(void*), void* argument, const int* wanted, int wanted_count, int most_threads);

template <class T> unsigned long long to_bits(T value) {
    static_assert(sizeof(T) <= 8, "");
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> T from_bits(unsigned long long bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T> constexpr int bytes_of() {
    if constexpr (!std::is_pointer_v<T>) return sizeof(T);
    else if constexpr (std::is_arithmetic_v<std::remove_pointer_t<T>>) return -int(sizeof(std::remove_pointer_t<T>));
    else return -1000;  // a structure or void: not compared
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<A>*>(arguments[I])...);
}

constexpr int first_of(int most_threads, ...) { return most_threads; }  // first argument of __launch_bounds__

template <class... A> int run(Launch& launch, void (*kernel)(A...), void** arguments, int most_threads) {
    struct Bound { void (*kernel)(A...); void** arguments; } bound = {kernel, arguments};
    auto body = [](void* pointer) {
        Bound* b = static_cast<Bound*>(pointer);
        call(b->kernel, b->arguments, std::index_sequence_for<A...>{});
    };
    const int wanted[] = {bytes_of<std::remove_cv_t<A>>()..., 0};
    return run_body(launch, body, &bound, wanted, sizeof...(A), most_threads);
}

}  // namespace harness

#define threadIdx (harness::current->thread)
#define blockIdx (harness::block_index)
#define blockDim (harness::block_size)
#define gridDim (harness::grid_size)
#define warpSize 32

inline void __syncthreads(HERE) { harness::barrier(harness::SYNC_THREADS, 0, where); }
inline int __syncthreads_count(int p, HERE) { return harness::barrier(harness::SYNC_COUNT, p, where); }
inline int __syncthreads_and(int p, HERE) { return harness::barrier(harness::SYNC_AND, p, where); }
inline int __syncthreads_or(int p, HERE) { return harness::barrier(harness::SYNC_OR, p, where); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, HERE) { harness::exchange(harness::SYNC_WARP, where, mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int p, HERE) { return unsigned(harness::exchange(harness::BALLOT, where, mask, p != 0)); }
inline int __any_sync(unsigned mask, int p, HERE) { return int(harness::exchange(harness::ANY, where, mask, p != 0)); }
inline int __all_sync(unsigned mask, int p, HERE) { return int(harness::exchange(harness::ALL, where, mask, p != 0)); }
template <class T> unsigned __match_any_sync(unsigned mask, T value, HERE) {
    return unsigned(harness::exchange(harness::MATCH_ANY, where, mask, harness::to_bits(value)));
}
#define HARNESS_SHUFFLE(name, operation)                                                                \
    template <class T> T name(unsigned mask, T value, int argument, int width = 32, HERE) {             \
        return harness::from_bits<T>(                                                                   \
            harness::exchange(harness::operation, where, mask, harness::to_bits(value), argument, width)); \
    }
HARNESS_SHUFFLE(__shfl_sync, SHUFFLE)
HARNESS_SHUFFLE(__shfl_up_sync, SHUFFLE_UP)
HARNESS_SHUFFLE(__shfl_down_sync, SHUFFLE_DOWN)
HARNESS_SHUFFLE(__shfl_xor_sync, SHUFFLE_XOR)
#undef HARNESS_SHUFFLE

#include "tests/emulator/cuda_intrinsics.h"
