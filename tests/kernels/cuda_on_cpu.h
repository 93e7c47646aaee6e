// CUDA on a CPU: runs a kernel's own source on small inputs, for tests on machines without a GPU (DESIGN, contract 9).
//
// The threads of a block are fibers that one operating system thread switches by hand. A fiber runs until it meets a
// barrier or an exchange between the lanes of its warp; it goes on when all that must take part have arrived. Blocks
// run one after the other. Three schedules change the order of blocks, warps and lanes between such points: forward
// and reverse let one warp run ahead as far as barriers allow before the next one moves, random lets warps drift. A
// kernel whose answer depends on the order has a race.
//
// What hardware leaves undefined is an error here, with kernel, block, thread and line: a barrier that not all threads
// reach, threads that meet in different barriers or exchanges, a shift by the width or more, a division by zero, a
// misaligned or wild pointer, an overflowing signed sum, an index beyond a local array, a runaway loop. Values that
// nobody wrote (shared memory, what a lane outside the mask holds, what lies behind an array) are poison.
//
// What it cannot see: memory ordering between warps, coalescing, bank conflicts, and races inside a stretch of code
// without any barrier or exchange. Those need a card and its sanitizer.
#pragma once
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <csignal>
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

namespace harness {

constexpr int MOST_THREADS = 1024, WARP = 32, MOST_IDLE_ROUNDS = 10000, LONGEST_LAUNCH_SECONDS = 60;
constexpr size_t PAGE = 1 << 16, STACK = 4 * PAGE, MOST_SHARED = 227 << 10, SHARED_ROOM = 256 << 10;
constexpr unsigned long long POISON = 0xDBDBDBDBDBDBDBDBull;
constexpr unsigned char POISON_BYTE = 0xDB;

}  // namespace harness

// The kernels' dynamic shared memory (quire/device/types.cuh declares it `extern`).
alignas(harness::PAGE) __attribute__((visibility("hidden"))) unsigned long long shared_memory[harness::SHARED_ROOM / 8];

namespace harness {

enum State { READY, SLEEPING, AT_BARRIER, IN_EXCHANGE, DONE };
enum Schedule { FORWARD, REVERSE, RANDOM };
enum Operation {
    SYNC_WARP, BALLOT, ANY, ALL, MATCH_ANY, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR,
    SYNC_THREADS, SYNC_COUNT, SYNC_AND, SYNC_OR
};
constexpr const char* NAMES[] = {
    "__syncwarp", "__ballot_sync", "__any_sync", "__all_sync", "__match_any_sync", "__shfl_sync", "__shfl_up_sync",
    "__shfl_down_sync", "__shfl_xor_sync", "__syncthreads", "__syncthreads_count", "__syncthreads_and",
    "__syncthreads_or"};

struct Launch {  // as tests/kernels/emulated_card.py lays it out
    unsigned grid[3], block[3], shared_bytes;
    int schedule;
    unsigned long long seed;
    char* error;
    unsigned long long error_bytes, fault_address;
    const int* argument_bytes;  // negative: a pointer to items of so many bytes
    int arguments;
};

struct Where {  // in the kernel's source
    const char* file;
    int line;
    bool operator==(const Where& other) const { return line == other.line && !std::strcmp(file, other.file); }
};
#define HERE harness::Where where = {__builtin_FILE(), __builtin_LINE()}

struct Waiting {  // what a thread brings to a barrier or an exchange
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
#if !defined(__x86_64__)
    ucontext_t context;
#endif
};

inline Fiber fibers[MOST_THREADS];
inline unsigned exchanging[MOST_THREADS / WARP], ended[MOST_THREADS / WARP];  // lanes of each warp, as bits
inline char* stacks;  // one after the other, each above a page that nobody may touch
inline Fiber* current;
inline uint3 block_index;
inline dim3 block_size, grid_size;
inline int threads;
inline std::string error;
inline unsigned long long fault_address;
inline void (*body)(void*);
inline void* body_argument;
inline void* scheduler_stack_pointer;
inline sigjmp_buf out_of_a_fault;
#if !defined(__x86_64__)
inline ucontext_t scheduler_context;
#endif

#if defined(__x86_64__)
// Saves the registers that a call must keep, changes stacks, restores: about 10 ns there and back.
__attribute__((naked, noinline, noipa)) inline void switch_stacks(void** /*save*/, void* /*load*/) {
    __asm__("pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
            "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
            "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");
}
inline void to_scheduler() { switch_stacks(&current->stack_pointer, scheduler_stack_pointer); }
inline void enter(Fiber* fiber) { switch_stacks(&scheduler_stack_pointer, fiber->stack_pointer); }
#else
inline void to_scheduler() { swapcontext(&current->context, &scheduler_context); }
inline void enter(Fiber* fiber) { swapcontext(&scheduler_context, &fiber->context); }
#endif
inline void to_fiber(Fiber* fiber) {
    current = fiber;
    enter(fiber);
    current = nullptr;
}

inline std::string place() {
    auto three = [](unsigned x, unsigned y, unsigned z) {
        std::string text = std::to_string(x);
        return y || z ? text + "," + std::to_string(y) + "," + std::to_string(z) : text;
    };
    std::string text = "block " + three(block_index.x, block_index.y, block_index.z);
    return current ? text + ", thread " + three(current->thread.x, current->thread.y, current->thread.z) : text;
}

inline std::string text_of(const Where& where) { return std::string(where.file) + ":" + std::to_string(where.line); }
inline std::string text_of(const Waiting& w) { return std::string(NAMES[w.operation]) + " at " + text_of(w.where); }

[[noreturn]] inline void fail(const std::string& message) {
    if (error.empty()) error = place() + ": " + message;
    if (current) to_scheduler();
    std::abort();  // a failed launch never resumes its fibers
}

inline void fiber_main() {
    body(body_argument);
    current->state = DONE;
    ended[current->index / WARP] |= 1u << current->index % WARP;
    to_scheduler();
    std::abort();
}

inline void prepare(Fiber& fiber) {
    if (!stacks) {
        stacks = static_cast<char*>(mmap(nullptr, MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        for (int i = 0; i < MOST_THREADS; i++) mprotect(stacks + i * STACK, PAGE, PROT_NONE);
    }
    char* stack = stacks + fiber.index * STACK;
    fiber.state = READY;
#if defined(__x86_64__)
    void** top = reinterpret_cast<void**>(stack + STACK) - 2;
    top[0] = reinterpret_cast<void*>(&fiber_main);  // where the first `ret` goes; leaves the stack as after a call
    fiber.stack_pointer = top - 6;
    std::memset(fiber.stack_pointer, 0, 6 * sizeof(void*));
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack + PAGE;
    fiber.context.uc_stack.ss_size = STACK - PAGE;
    makecontext(&fiber.context, &fiber_main, 0);
#endif
}

// ---- barriers ----
inline int barrier(Operation operation, int argument, Where where) {
    current->waiting = {operation, where, 0, argument, 0, 0, 0};
    current->state = AT_BARRIER;
    to_scheduler();
    return int(current->waiting.result);
}

inline void release_barrier() {
    int arrived = 0, sum = 0;
    const Waiting* first = nullptr;
    for (int i = 0; i < threads; i++) {
        if (fibers[i].state != AT_BARRIER) continue;
        const Waiting& mine = fibers[i].waiting;
        if (!first) first = &mine;
        if (mine.operation != first->operation || !(mine.where == first->where)) {
            error = place() + ": threads meet in different barriers: " + text_of(*first) + " and " + text_of(mine);
            return;
        }
        arrived++;
        sum += mine.argument != 0;
    }
    if (arrived < threads) {
        error = place() + ": only " + std::to_string(arrived) + " of " + std::to_string(threads) + " threads reached " +
                text_of(*first);
        return;
    }
    Operation operation = first->operation;
    for (int i = 0; i < threads; i++) {
        fibers[i].waiting.result = operation == SYNC_AND ? sum == threads : operation == SYNC_OR ? sum > 0 : sum;
        fibers[i].state = READY;
    }
}

// ---- exchanges between the lanes of a warp ----
inline void complete(Fiber* warp, unsigned mask, Operation operation) {
    unsigned votes = 0;
    for (int lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1 && warp[lane].waiting.value) votes |= 1u << lane;
    for (int lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Waiting& mine = warp[lane].waiting;
        int first = lane & ~(mine.width - 1), source = lane;
        switch (operation) {
            case BALLOT: mine.result = votes; break;
            case ANY: mine.result = votes != 0; break;
            case ALL: mine.result = votes == mask; break;
            case MATCH_ANY:
                mine.result = 0;
                for (int other = 0; other < WARP; other++)
                    if (mask >> other & 1 && warp[other].waiting.value == mine.value) mine.result |= 1u << other;
                break;
            case SHUFFLE: source = first + (mine.argument & (mine.width - 1)); break;
            case SHUFFLE_UP: source = lane - mine.argument < first ? lane : lane - mine.argument; break;
            case SHUFFLE_DOWN: source = lane + mine.argument >= first + mine.width ? lane : lane + mine.argument; break;
            case SHUFFLE_XOR: source = (lane ^ mine.argument) >= first + mine.width ? lane : lane ^ mine.argument; break;
            default: break;
        }
        if (operation >= SHUFFLE) mine.result = mask >> source & 1 ? warp[source].waiting.value : POISON;
        warp[lane].state = READY;
    }
}

inline unsigned long long exchange(Operation operation, Where where, unsigned mask, unsigned long long value,
                                   int argument = 0, int width = WARP) {
    int lane = current->index % WARP, warp_index = current->index / WARP;
    Fiber* warp = current - lane;
    current->waiting = {operation, where, mask, argument, width, value, POISON};
    auto refuse = [&](const std::string& why) { fail(text_of(current->waiting) + ": " + why); };
    if (!(mask >> lane & 1)) refuse("the lane is not in its own mask");
    if (width <= 0 || width > WARP || (width & (width - 1))) refuse("width " + std::to_string(width));
    if (operation > SHUFFLE && (argument < 0 || argument >= WARP)) refuse("a distance of " + std::to_string(argument));
    int last = WARP - 1 - __builtin_clz(mask);
    if (warp + last >= fibers + threads) refuse("its mask names lanes beyond the block");
    if (ended[warp_index] & mask) refuse("its mask names a lane that has ended");
    if (unsigned here = exchanging[warp_index] & mask) {
        const Waiting& peer = warp[__builtin_ctz(here)].waiting;
        if (peer.operation != operation || peer.mask != mask || !(peer.where == where) || peer.width != width)
            refuse("its warp meets it in " + text_of(peer) + (peer.mask != mask ? " with another mask" : ""));
    }
    exchanging[warp_index] |= 1u << lane;
    if ((exchanging[warp_index] & mask) == mask) {
        complete(warp, mask, operation);
        exchanging[warp_index] &= ~mask;
    } else {
        current->state = IN_EXCHANGE;
        to_scheduler();
    }
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

// A thread that polls memory: the others go on first.
inline void sleep() {
    current->state = SLEEPING;
    to_scheduler();
}

// ---- the scheduler ----

// Lets the lanes of a warp run: all that can as far as they can (forward, reverse), or each at most once (random).
inline bool run_warp(int warp, int schedule, std::mt19937_64& generator) {
    bool moved = false, again = true;
    unsigned twist = schedule == RANDOM ? unsigned(generator()) : 0, start = twist % WARP, stride = (twist >> 8) | 1;
    while (again) {
        again = false;
        for (int turn = 0; turn < WARP; turn++) {
            int lane = schedule == FORWARD ? turn : schedule == REVERSE ? WARP - 1 - turn : (start + turn * stride) % WARP;
            int index = warp * WARP + lane;
            if (index >= threads || fibers[index].state != READY) continue;
            to_fiber(&fibers[index]);
            if (!error.empty()) return true;
            moved = again = true;
        }
        if (schedule == RANDOM) break;
    }
    return moved;
}

inline void run_block(const Launch& launch, std::mt19937_64& generator) {
    long page = sysconf(_SC_PAGESIZE);
    size_t open = (launch.shared_bytes + page - 1) / page * page;
    unsigned char* shared = reinterpret_cast<unsigned char*>(shared_memory);
    std::memset(shared, POISON_BYTE, open);
    int warps = (threads + WARP - 1) / WARP, idle_rounds = 0;
    for (int i = 0; i < threads; i++) {
        fibers[i].index = i;
        fibers[i].thread = {i % block_size.x, i / block_size.x % block_size.y, i / (block_size.x * block_size.y)};
        prepare(fibers[i]);
    }
    std::fill(exchanging, exchanging + warps, 0u);
    std::fill(ended, ended + warps, 0u);
    while (true) {
        bool moved = false;
        int count[DONE + 1] = {};
        for (int turn = 0; turn < warps; turn++) {
            int warp = launch.schedule == REVERSE ? warps - 1 - turn : turn;
            if (launch.schedule == RANDOM && warps > 1 && (generator() & 1)) { moved = true; continue; }
            moved |= run_warp(warp, launch.schedule, generator);
            if (!error.empty()) return;
        }
        for (int i = 0; i < threads; i++) {
            count[fibers[i].state]++;
            if (fibers[i].state == SLEEPING) fibers[i].state = READY;
        }
        if (count[DONE] == threads) break;
        if (count[SLEEPING]) {
            if (++idle_rounds > MOST_IDLE_ROUNDS) error = place() + ": threads wait for memory that nobody writes";
        } else if (!moved) {
            if (count[IN_EXCHANGE]) {
                int i = 0;
                while (fibers[i].state != IN_EXCHANGE) i++;
                error = place() + ": lanes wait in " + text_of(fibers[i].waiting) + " for others that never reach it";
            } else release_barrier();
        }
        if (!error.empty()) return;
    }
    for (size_t i = launch.shared_bytes; i < open; i++)
        if (shared[i] != POISON_BYTE) {
            error = place() + ": writes " + std::to_string(i - launch.shared_bytes) + " bytes behind its " +
                    std::to_string(launch.shared_bytes) + " bytes of shared memory";
            return;
        }
}

// ---- faults of the machine: an unmapped address, a trap, a runaway loop ----

inline void on_signal(int number, siginfo_t* info, void*) {
    char* address = static_cast<char*>(info->si_addr);
    char* shared = reinterpret_cast<char*>(shared_memory);
    std::string what = "a trap of the machine (signal " + std::to_string(number) + ")";
    if (number == SIGVTALRM) what = "runs longer than " + std::to_string(LONGEST_LAUNCH_SECONDS) + " seconds";
    if (number == SIGSEGV || number == SIGBUS) {
        fault_address = reinterpret_cast<unsigned long long>(address);
        what = "touches memory that is not its own";
        if (stacks <= address && address < stacks + MOST_THREADS * STACK) what = "needs more stack than a fiber has";
        if (shared - PAGE <= address && address < shared + SHARED_ROOM)
            what = "touches shared memory at byte " + std::to_string(address - shared) + ", beyond what its launch asks for";
    }
    error = place() + ": " + what;
    siglongjmp(out_of_a_fault, 1);
}

class Signals {  // in force while a kernel runs; the handler has a stack of its own, as a fiber's may be used up
    static constexpr int NUMBERS[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGVTALRM};
    struct sigaction before[std::size(NUMBERS)];
    stack_t stack_before;
    itimerval timer_before;
    std::vector<char> stack;

public:
    Signals() : stack(1 << 16) {
        stack_t mine = {};
        mine.ss_sp = stack.data();
        mine.ss_size = stack.size();
        sigaltstack(&mine, &stack_before);
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (size_t i = 0; i < std::size(NUMBERS); i++) sigaction(NUMBERS[i], &action, &before[i]);
        itimerval timer = {{0, 0}, {LONGEST_LAUNCH_SECONDS, 0}};
        setitimer(ITIMER_VIRTUAL, &timer, &timer_before);
    }
    ~Signals() {
        setitimer(ITIMER_VIRTUAL, &timer_before, nullptr);
        for (size_t i = 0; i < std::size(NUMBERS); i++) sigaction(NUMBERS[i], &before[i], nullptr);
        sigaltstack(&stack_before, nullptr);
    }
};

// ---- launches ----

template <class T> constexpr int bytes_of() {
    if constexpr (!std::is_pointer_v<T>) return sizeof(T);
    else if constexpr (std::is_arithmetic_v<std::remove_pointer_t<T>>) return -int(sizeof(std::remove_pointer_t<T>));
    else return -1000;  // a structure or void: not compared
}

template <class... A> bool arguments_agree(const Launch& launch) {
    constexpr int wanted[] = {bytes_of<std::remove_cv_t<A>>()..., 0};
    if (launch.arguments != int(sizeof...(A)))
        error = "takes " + std::to_string(sizeof...(A)) + " arguments, not " + std::to_string(launch.arguments);
    for (int i = 0; i < int(sizeof...(A)) && error.empty(); i++) {
        int given = launch.argument_bytes[i];
        if (given == wanted[i] || (given < 0 && wanted[i] == -1000)) continue;
        auto text = [](int bytes) {
            if (bytes == -1000) return std::string("a pointer");
            return (bytes < 0 ? "a pointer to items of " : "a value of ") + std::to_string(std::abs(bytes)) + " bytes";
        };
        error = "argument " + std::to_string(i + 1) + " is " + text(given) + ", the kernel takes " + text(wanted[i]);
    }
    return error.empty();
}

template <class Kernel, class Tuple, size_t... I>
void call(Kernel kernel, void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::tuple_element_t<I, Tuple>*>(arguments[I])...);
}

constexpr int first_of(int most_threads, ...) { return most_threads; }  // of __launch_bounds__

inline void run_blocks(const Launch& launch) {
    std::mt19937_64 generator(launch.seed);
    unsigned long long blocks = 1ull * grid_size.x * grid_size.y * grid_size.z;
    std::vector<unsigned long long> order(blocks);
    for (unsigned long long i = 0; i < blocks; i++) order[i] = launch.schedule == REVERSE ? blocks - 1 - i : i;
    if (launch.schedule == RANDOM) std::shuffle(order.begin(), order.end(), generator);
    for (unsigned long long b : order) {
        block_index = {unsigned(b % grid_size.x), unsigned(b / grid_size.x % grid_size.y),
                       unsigned(b / (1ull * grid_size.x * grid_size.y))};
        run_block(launch, generator);
        if (!error.empty()) return;
    }
}

template <class... A> int run(Launch& launch, void (*kernel)(A...), void** arguments, int most_threads) {
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
    fault_address = 0;
    current = nullptr;
    if (threads > std::min(most_threads, MOST_THREADS) || threads < 1)
        error = "a block of " + std::to_string(threads) + " threads, the kernel allows " + std::to_string(most_threads);
    else if (grid_size.x > 0x7FFFFFFFu || grid_size.y > 0xFFFFu || grid_size.z > 0xFFFFu) error = "too large a grid";
    else if (launch.shared_bytes > MOST_SHARED) error = "more shared memory than a block can have";
    else if (arguments_agree<A...>(launch)) {
        long page = sysconf(_SC_PAGESIZE);
        size_t open = (launch.shared_bytes + page - 1) / page * page;
        mprotect(shared_memory, SHARED_ROOM, PROT_READ | PROT_WRITE);
        mprotect(reinterpret_cast<char*>(shared_memory) + open, SHARED_ROOM - open, PROT_NONE);
        Signals signals;
        if (!sigsetjmp(out_of_a_fault, 1)) run_blocks(launch);
        current = nullptr;
    }
    launch.fault_address = fault_address;
    if (!error.empty() && launch.error_bytes) std::snprintf(launch.error, launch.error_bytes, "%s", error.c_str());
    return error.empty() ? 0 : 1;
}

}  // namespace harness

// What -fsanitize calls; each gets where it was found first. Own versions, as the compiler's library would only print.
#define HARNESS_UNDEFINED(name, message)                                                                     \
    extern "C" __attribute__((visibility("hidden"), used)) void __ubsan_handle_##name(harness::Where* where) { \
        harness::fail(std::string(message) + " at " + harness::text_of(*where));                             \
    }
HARNESS_UNDEFINED(shift_out_of_bounds, "a shift by the width or more, or below zero,")
HARNESS_UNDEFINED(divrem_overflow, "a division by zero")
HARNESS_UNDEFINED(type_mismatch_v1, "a null or misaligned pointer")
HARNESS_UNDEFINED(out_of_bounds, "an index beyond an array")
HARNESS_UNDEFINED(add_overflow, "a signed overflow")
HARNESS_UNDEFINED(sub_overflow, "a signed overflow")
HARNESS_UNDEFINED(mul_overflow, "a signed overflow")
HARNESS_UNDEFINED(negate_overflow, "a signed overflow")
HARNESS_UNDEFINED(float_cast_overflow, "a float beyond an integer's range")
HARNESS_UNDEFINED(load_invalid_value, "a bool that is neither 0 nor 1")
#undef HARNESS_UNDEFINED

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

#include "tests/kernels/cuda_intrinsics.h"
