// CUDA on a CPU: runs a kernel's own source on small inputs, for tests on machines without a GPU (DESIGN, contract 9).
//
// The threads of a block are fibers that one operating system thread switches by hand. A fiber runs until it meets a
// barrier or an exchange between the lanes of its warp; it goes on when all that must take part have arrived. Blocks
// run one after the other. Three schedules (forward, reverse, random) change the order of blocks and threads between
// such points: a kernel whose answer depends on the order has a race. What hardware leaves undefined is an error here:
// a barrier that not all threads reach, lanes that meet in different exchanges, a value taken from a lane outside the
// mask (it is poison), shared memory read before it is written (poison).
//
// What it cannot see: memory ordering between warps, coalescing, bank conflicts, and races inside a stretch of code
// without any barrier or exchange. Those need a card and its sanitizer.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

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
typedef Two<unsigned long long> ulonglong2; typedef Four<int> int4; typedef Four<unsigned> uint4;
typedef Four<float> float4; typedef Four<unsigned char> uchar4; typedef Four<short> short4;
inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// The kernels' dynamic shared memory (quire/device/types.cuh declares it `extern`).
unsigned long long shared_memory[(227 << 10) / 8];

namespace harness {

constexpr int MOST_THREADS = 1024, WARP = 32;
constexpr size_t STACK = 64 << 10, SHARED_BYTES = 227 << 10;
constexpr unsigned long long POISON = 0xDBDBDBDBDBDBDBDBull;
enum State { READY, AT_BARRIER, IN_EXCHANGE, DONE };
enum Schedule { FORWARD, REVERSE, RANDOM };

struct Launch {  // as tests/kernels/emulated_card.py lays it out
    unsigned grid[3], block[3], shared_bytes;
    int schedule;
    unsigned long long seed;
    char* error;
    unsigned long long error_bytes;
};

struct Waiting {  // what a lane brings to an exchange
    const char* operation;
    unsigned mask;
    int argument, width;
    unsigned long long value, result;
};

struct Fiber {
    void* stack_pointer;
    char* stack;
    State state;
    uint3 thread;
    int index, barrier_argument, barrier_result;
    const char* barrier;
    Waiting waiting;
#if !defined(__x86_64__)
    ucontext_t context;
#endif
};

inline Fiber fibers[MOST_THREADS];
inline Fiber* current;
inline uint3 block_index;
inline dim3 block_size, grid_size;
inline int threads;
inline std::string error;
inline void (*body)(void*);
inline void* body_argument;
inline void* scheduler_stack_pointer;
#if !defined(__x86_64__)
inline ucontext_t scheduler_context;
#endif

#if defined(__x86_64__)
// Saves the registers that a call must keep, changes stacks, restores: about 10 ns there and back.
__attribute__((naked, noinline)) inline void switch_stacks(void** /*save*/, void* /*load*/) {
    __asm__("pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
            "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
            "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");
}
inline void to_scheduler() { switch_stacks(&current->stack_pointer, scheduler_stack_pointer); }
inline void to_fiber(Fiber* fiber) { current = fiber; switch_stacks(&scheduler_stack_pointer, fiber->stack_pointer); }
#else
inline void to_scheduler() { swapcontext(&current->context, &scheduler_context); }
inline void to_fiber(Fiber* fiber) { current = fiber; swapcontext(&scheduler_context, &fiber->context); }
#endif

[[noreturn]] inline void fail(const std::string& message) {
    if (error.empty()) error = message;
    to_scheduler();
    std::abort();  // a failed launch never resumes its fibers
}

inline std::string place() {
    return "block " + std::to_string(block_index.x) + ", thread " + std::to_string(current->index);
}

inline void fiber_main() {
    body(body_argument);
    current->state = DONE;
    to_scheduler();
    std::abort();
}

inline void prepare(Fiber& fiber) {
    if (!fiber.stack) fiber.stack = static_cast<char*>(std::malloc(STACK));
    fiber.state = READY;
#if defined(__x86_64__)
    void** top = reinterpret_cast<void**>(fiber.stack + STACK) - 2;
    top[0] = reinterpret_cast<void*>(&fiber_main);  // where the first `ret` goes; leaves the stack as after a call
    fiber.stack_pointer = top - 6;
    std::memset(fiber.stack_pointer, 0, 6 * sizeof(void*));
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    makecontext(&fiber.context, &fiber_main, 0);
#endif
}

// ---- barriers ----
inline int barrier(const char* name, int argument) {
    current->barrier = name;
    current->barrier_argument = argument;
    current->state = AT_BARRIER;
    to_scheduler();
    return current->barrier_result;
}

inline void release_barrier() {
    int arrived = 0, sum = 0;
    const char* name = nullptr;
    for (int i = 0; i < threads; i++) {
        if (fibers[i].state != AT_BARRIER) continue;
        if (name && std::strcmp(name, fibers[i].barrier)) {
            error = "threads of one block meet in different barriers: " + std::string(name) + ", " + fibers[i].barrier;
            return;
        }
        name = fibers[i].barrier;
        arrived++;
        sum += fibers[i].barrier_argument != 0;
    }
    if (arrived < threads) {
        error = "only " + std::to_string(arrived) + " of " + std::to_string(threads) + " threads reached a barrier";
        return;
    }
    for (int i = 0; i < threads; i++) {
        bool all = !std::strcmp(name, "__syncthreads_and"), any = !std::strcmp(name, "__syncthreads_or");
        fibers[i].barrier_result = all ? sum == threads : any ? sum > 0 : sum;
        fibers[i].state = READY;
    }
}

// ---- exchanges between the lanes of a warp ----
inline void complete(Fiber* warp, unsigned mask, const char* operation) {
    std::string name = operation;
    unsigned votes = 0;
    for (int lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1 && warp[lane].waiting.value) votes |= 1u << lane;
    for (int lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Waiting& mine = warp[lane].waiting;
        if (name == "__ballot_sync") mine.result = votes;
        else if (name == "__any_sync") mine.result = votes != 0;
        else if (name == "__all_sync") mine.result = votes == mask;
        else if (name == "__match_any_sync") {
            mine.result = 0;
            for (int other = 0; other < WARP; other++)
                if (mask >> other & 1 && warp[other].waiting.value == mine.value) mine.result |= 1u << other;
        } else if (name != "__syncwarp") {
            int width = mine.width, first = lane & ~(width - 1), source = lane;
            if (name == "__shfl_sync") source = first + (mine.argument & (width - 1));
            else if (name == "__shfl_up_sync") source = lane - mine.argument < first ? lane : lane - mine.argument;
            else if (name == "__shfl_down_sync")
                source = lane + mine.argument >= first + width ? lane : lane + mine.argument;
            else if (name == "__shfl_xor_sync") {
                source = lane ^ mine.argument;
                if (source >= first + width) source = lane;
            }
            bool inside = mask >> source & 1;
            mine.result = inside ? warp[source].waiting.value : POISON;
        }
        warp[lane].state = READY;
    }
}

inline unsigned long long exchange(const char* operation, unsigned mask, unsigned long long value, int argument = 0,
                                   int width = WARP) {
    int lane = current->index % WARP;
    Fiber* warp = current - lane;
    if (!(mask >> lane & 1)) fail(std::string(operation) + ": lane not in its own mask, " + place());
    if (width <= 0 || width > WARP || (width & (width - 1))) fail(std::string(operation) + ": width " + std::to_string(width));
    current->waiting = {operation, mask, argument, width, value, POISON};
    current->state = IN_EXCHANGE;
    bool all_here = true;
    for (int other = 0; other < WARP; other++) {
        if (!(mask >> other & 1)) continue;
        if (warp + other >= fibers + threads) fail(std::string(operation) + ": mask names lanes beyond the block, " + place());
        const Fiber& peer = warp[other];
        if (peer.state == DONE) fail(std::string(operation) + ": mask names a lane that has ended, " + place());
        if (peer.state != IN_EXCHANGE) { all_here = false; continue; }
        if (std::strcmp(peer.waiting.operation, operation) || peer.waiting.mask != mask)
            fail("lanes of one warp meet in different exchanges: " + std::string(operation) + " and " +
                 peer.waiting.operation + " (or other masks), " + place());
    }
    if (all_here) complete(warp, mask, operation);
    else to_scheduler();
    return current->waiting.result;
}

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

// ---- the scheduler ----

inline bool run_block(const Launch& launch, std::mt19937_64& generator) {
    std::memset(shared_memory, 0xDB, sizeof shared_memory);
    std::vector<int> order(threads);
    for (int i = 0; i < threads; i++) {
        Fiber& fiber = fibers[i];
        fiber.index = i;
        fiber.thread = {i % block_size.x, i / block_size.x % block_size.y, i / (block_size.x * block_size.y)};
        prepare(fiber);
        order[i] = launch.schedule == REVERSE ? threads - 1 - i : i;
    }
    while (true) {
        if (launch.schedule == RANDOM) std::shuffle(order.begin(), order.end(), generator);
        bool moved = false, alive = false, at_barrier = false;
        for (int i : order) {
            if (fibers[i].state == READY) {
                to_fiber(&fibers[i]);
                if (!error.empty()) return false;
                moved = true;
            }
        }
        for (int i = 0; i < threads; i++) {
            alive |= fibers[i].state != DONE;
            at_barrier |= fibers[i].state == AT_BARRIER;
        }
        if (!alive) return true;
        if (moved) continue;
        bool exchanging = false;
        for (int i = 0; i < threads; i++) exchanging |= fibers[i].state == IN_EXCHANGE;
        if (exchanging || !at_barrier) {
            error = "lanes wait in an exchange that others of their mask never reach";
            return false;
        }
        release_barrier();
        if (!error.empty()) return false;
    }
}

template <class Kernel, class Tuple, size_t... I>
void call(Kernel kernel, void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::tuple_element_t<I, Tuple>*>(arguments[I])...);
}

template <class... A> int run(const Launch& launch, void (*kernel)(A...), void** arguments) {
    struct Bound { void (*kernel)(A...); void** arguments; } bound = {kernel, arguments};
    body = [](void* pointer) {
        Bound* b = static_cast<Bound*>(pointer);
        call<void (*)(A...), std::tuple<std::remove_cv_t<A>...>>(b->kernel, b->arguments, std::index_sequence_for<A...>{});
    };
    body_argument = &bound;
    block_size = {launch.block[0], launch.block[1], launch.block[2]};
    grid_size = {launch.grid[0], launch.grid[1], launch.grid[2]};
    threads = block_size.x * block_size.y * block_size.z;
    error.clear();
    if (threads > MOST_THREADS || threads < 1) error = "a block of " + std::to_string(threads) + " threads";
    if (launch.shared_bytes > SHARED_BYTES) error = "more shared memory than a block can have";
    std::mt19937_64 generator(launch.seed);
    unsigned long long blocks = 1ull * grid_size.x * grid_size.y * grid_size.z;
    std::vector<unsigned long long> order(blocks);
    for (unsigned long long i = 0; i < blocks; i++) order[i] = launch.schedule == REVERSE ? blocks - 1 - i : i;
    if (launch.schedule == RANDOM) std::shuffle(order.begin(), order.end(), generator);
    for (unsigned long long i = 0; i < blocks && error.empty(); i++) {
        unsigned long long b = order[i];
        block_index = {unsigned(b % grid_size.x), unsigned(b / grid_size.x % grid_size.y),
                       unsigned(b / (1ull * grid_size.x * grid_size.y))};
        run_block(launch, generator);
    }
    if (!error.empty() && launch.error_bytes) std::snprintf(launch.error, launch.error_bytes, "%s", error.c_str());
    return error.empty() ? 0 : 1;
}

}  // namespace harness

#define threadIdx (harness::current->thread)
#define blockIdx (harness::block_index)
#define blockDim (harness::block_size)
#define gridDim (harness::grid_size)
#define warpSize 32

inline void __syncthreads() { harness::barrier("__syncthreads", 0); }
inline int __syncthreads_count(int p) { return harness::barrier("__syncthreads_count", p); }
inline int __syncthreads_and(int p) { return harness::barrier("__syncthreads_and", p); }
inline int __syncthreads_or(int p) { return harness::barrier("__syncthreads_or", p); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { harness::exchange("__syncwarp", mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int p) { return unsigned(harness::exchange("__ballot_sync", mask, p != 0)); }
inline int __any_sync(unsigned mask, int p) { return int(harness::exchange("__any_sync", mask, p != 0)); }
inline int __all_sync(unsigned mask, int p) { return int(harness::exchange("__all_sync", mask, p != 0)); }
template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    return unsigned(harness::exchange("__match_any_sync", mask, harness::to_bits(value)));
}
#define HARNESS_SHUFFLE(name)                                                               \
    template <class T> T name(unsigned mask, T value, int argument, int width = 32) {       \
        return harness::from_bits<T>(harness::exchange(#name, mask, harness::to_bits(value), argument, width)); \
    }
HARNESS_SHUFFLE(__shfl_sync)
HARNESS_SHUFFLE(__shfl_up_sync)
HARNESS_SHUFFLE(__shfl_down_sync)
HARNESS_SHUFFLE(__shfl_xor_sync)
#undef HARNESS_SHUFFLE

template <class T> T __ldg(const T* pointer) { return *pointer; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
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
inline unsigned __float_as_uint(float x) { return harness::from_bits<unsigned>(harness::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return harness::from_bits<float>(harness::to_bits(x)); }
inline int __float_as_int(float x) { return harness::from_bits<int>(harness::to_bits(x)); }
inline float __int_as_float(int x) { return harness::from_bits<float>(harness::to_bits(x)); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
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
template <class T> T atomicAdd(T* p, std::type_identity_t<T> v) { T old = *p; *p = old + v; return old; }
template <class T> T atomicCAS(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> v) { T old = *p; if (old == compare) *p = v; return old; }

// DPX, as the CUDA C++ programming guide defines it.
inline int __viaddmax_s32(int a, int b, int c) { return std::max(int(unsigned(a) + unsigned(b)), c); }
inline int __viaddmax_s32_relu(int a, int b, int c) { return std::max(__viaddmax_s32(a, b, c), 0); }
inline int __vimax3_s32(int a, int b, int c) { return std::max(std::max(a, b), c); }
inline int __vimax3_s32_relu(int a, int b, int c) { return std::max(__vimax3_s32(a, b, c), 0); }
inline int __vimax_s32_relu(int a, int b) { return std::max(std::max(a, b), 0); }
inline int __vibmax_s32(int a, int b, bool* first) { *first = a >= b; return std::max(a, b); }
