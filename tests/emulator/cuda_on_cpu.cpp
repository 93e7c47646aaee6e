// Implementation of cuda_on_cpu.h: fibers, barriers, exchanges, schedules, and messages about faults.
#include "tests/emulator/cuda_on_cpu.h"

#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace harness {

constexpr int MOST_THREADS = 1024, WARP = 32, MOST_IDLE_ROUNDS = 10000, LONGEST_LAUNCH_SECONDS = 60;
constexpr size_t PAGE = 1 << 16, STACK = 4 * PAGE, MOST_SHARED = 227 << 10, SHARED_ROOM = 256 << 10;
constexpr unsigned long long POISON = 0xDBDBDBDBDBDBDBDBull;
constexpr unsigned char POISON_BYTE = 0xDB;
constexpr const char* NAMES[] = {
    "__syncwarp", "__ballot_sync", "__any_sync", "__all_sync", "__match_any_sync", "__shfl_sync", "__shfl_up_sync",
    "__shfl_down_sync", "__shfl_xor_sync", "__syncthreads", "__syncthreads_count", "__syncthreads_and",
    "__syncthreads_or"};


}  // namespace harness

alignas(harness::PAGE) unsigned long long shared_memory[harness::SHARED_ROOM / 8];

namespace harness {

bool operator==(const Where& one, const Where& other) {
    return one.line == other.line && !std::strcmp(one.file, other.file);
}

Fiber fibers[MOST_THREADS];
unsigned exchanging[MOST_THREADS / WARP], ended[MOST_THREADS / WARP];  // lanes of each warp, as bits
char* stacks;  // one after the other, each above an inaccessible page
Fiber* current;
uint3 block_index;
dim3 block_size, grid_size;
int threads;
std::string error;
unsigned long long fault_address;
void (*body)(void*);
void* body_argument;
void* scheduler_stack_pointer;
sigjmp_buf out_of_a_fault;
#if !defined(__x86_64__)
ucontext_t scheduler_context, contexts[MOST_THREADS];
#endif

#if defined(__x86_64__)
// Saves the callee-saved registers, switches stacks and restores: about 10 ns there and back.
__attribute__((naked, noinline, noipa)) void switch_stacks(void** /*save*/, void* /*load*/) {
    __asm__("pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
            "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
            "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");
}
void to_scheduler() { switch_stacks(&current->stack_pointer, scheduler_stack_pointer); }
void enter(Fiber* fiber) { switch_stacks(&scheduler_stack_pointer, fiber->stack_pointer); }
#else
void to_scheduler() { swapcontext(&contexts[current->index], &scheduler_context); }
void enter(Fiber* fiber) { swapcontext(&scheduler_context, &contexts[fiber->index]); }
#endif
void to_fiber(Fiber* fiber) {
    current = fiber;
    enter(fiber);
    current = nullptr;
}

std::string place() {
    auto three = [](unsigned x, unsigned y, unsigned z) {
        std::string text = std::to_string(x);
        return y || z ? text + "," + std::to_string(y) + "," + std::to_string(z) : text;
    };
    std::string text = "block " + three(block_index.x, block_index.y, block_index.z);
    return current ? text + ", thread " + three(current->thread.x, current->thread.y, current->thread.z) : text;
}

std::string text_of(const Where& where) { return std::string(where.file) + ":" + std::to_string(where.line); }
std::string text_of(const Waiting& w) { return std::string(NAMES[w.operation]) + " at " + text_of(w.where); }

[[noreturn]] void fail(const std::string& message) {
    if (error.empty()) error = place() + ": " + message;
    if (current) to_scheduler();
    std::abort();  // a failed launch never resumes its fibers
}

void fiber_main() {
    body(body_argument);
    current->state = DONE;
    ended[current->index / WARP] |= 1u << current->index % WARP;
    to_scheduler();
    std::abort();
}

void prepare(Fiber& fiber) {
    if (!stacks) {
        stacks = static_cast<char*>(mmap(nullptr, MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        for (int i = 0; i < MOST_THREADS; i++) mprotect(stacks + i * STACK, PAGE, PROT_NONE);
    }
    char* stack = stacks + fiber.index * STACK;
    fiber.state = READY;
#if defined(__x86_64__)
    void** top = reinterpret_cast<void**>(stack + STACK) - 2;
    top[0] = reinterpret_cast<void*>(&fiber_main);  // target of the first `ret`, which leaves the stack as after a call
    fiber.stack_pointer = top - 6;
    std::memset(fiber.stack_pointer, 0, 6 * sizeof(void*));
#else
    getcontext(&contexts[fiber.index]);
    contexts[fiber.index].uc_stack.ss_sp = stack + PAGE;
    contexts[fiber.index].uc_stack.ss_size = STACK - PAGE;
    makecontext(&contexts[fiber.index], &fiber_main, 0);
#endif
}

// ---- barriers ----
int barrier(Operation operation, int argument, Where where) {
    current->waiting = {operation, where, 0, argument, 0, 0, 0};
    current->state = AT_BARRIER;
    to_scheduler();
    return int(current->waiting.result);
}

void release_barrier() {
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
void complete(Fiber* warp, unsigned mask, Operation operation) {
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

unsigned long long exchange(Operation operation, Where where, unsigned mask, unsigned long long value,
                            int argument, int width) {
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

// Lets a thread that polls memory continue after the others.
void sleep() {
    current->state = SLEEPING;
    to_scheduler();
}

// ---- the scheduler ----

// Lets the lanes of a warp run: all that can as far as they can (forward, reverse), or each at most once (random).
bool run_warp(int warp, int schedule, std::mt19937_64& generator) {
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

void run_block(const Launch& launch, std::mt19937_64& generator) {
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
            if (++idle_rounds > MOST_IDLE_ROUNDS) error = place() + ": threads wait for memory that no thread writes";
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
            error = place() + ": writes " + std::to_string(i - launch.shared_bytes) + " bytes after its " +
                    std::to_string(launch.shared_bytes) + " bytes of shared memory";
            return;
        }
}

// ---- faults of the machine: an unmapped address, a trap, a runaway loop ----

void on_signal(int number, siginfo_t* info, void*) {
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

class Signals {  // active while a kernel runs; the handler has its own stack, since a fiber's may be exhausted
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

std::string text_of_argument(int bytes) {
    if (bytes == -1000) return "a pointer";
    return (bytes < 0 ? "a pointer to items of " : "a value of ") + std::to_string(std::abs(bytes)) + " bytes";
}

bool arguments_agree(const Launch& launch, const int* wanted, int wanted_count) {
    if (launch.arguments != wanted_count)
        error = "takes " + std::to_string(wanted_count) + " arguments, not " + std::to_string(launch.arguments);
    for (int i = 0; i < wanted_count && error.empty(); i++) {
        int given = launch.argument_bytes[i];
        if (given == wanted[i] || (given < 0 && wanted[i] == -1000)) continue;
        error = "argument " + std::to_string(i + 1) + " is " + text_of_argument(given) + ", the kernel takes " +
                text_of_argument(wanted[i]);
    }
    return error.empty();
}

void run_blocks(const Launch& launch) {
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

int run_body(Launch& launch, void (*kernel)(void*), void* argument, const int* wanted, int wanted_count,
             int most_threads) {
    body = kernel;
    body_argument = argument;
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
    else if (arguments_agree(launch, wanted, wanted_count)) {
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

// Functions that -fsanitize calls, with the position of the fault first. The compiler's own versions would only print.
#define HARNESS_UNDEFINED(name, message)                                                                     \
    extern "C" void __ubsan_handle_##name(harness::Where* where) { \
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

