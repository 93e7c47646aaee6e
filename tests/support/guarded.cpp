// Allocations whose bytes end (or begin) at a page that cannot be read or written. See guarded.py.
//
// Each block is a mapping of its own between two such pages. The bytes between the block and the other page hold a
// pattern, which is compared when the block is freed. New bytes hold the pattern too, so that a kernel that relies on
// zeros from the system gets other answers.

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace {

constexpr size_t PAGE = 4096;
constexpr size_t MOST_BLOCKS = 25000;  // a process has 65,530 mappings by default, and a block takes two or three
constexpr size_t MOST_FILLED = 1 << 20;
constexpr int PATTERN = 0xA5;

struct Block {
    unsigned char* first;  // the first byte between the guards
    size_t room;           // bytes between the guards
    size_t size;           // bytes asked for
};

std::mutex lock;
std::unordered_map<void*, Block>* blocks;  // never destroyed: memory is freed after the end of main
size_t made;
bool at_begin;

// The largest alignment that an array of such a size can need: items of 8 bytes have sizes of multiples of 8.
size_t alignment(size_t size, size_t most) {
    size_t power = size & -size;
    return power < most ? power : most;
}

void* make(size_t size, size_t least) {
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    std::lock_guard<std::mutex> held(lock);
    if (blocks->size() >= MOST_BLOCKS) return nullptr;
    void* mapped = mmap(nullptr, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    unsigned char* first = static_cast<unsigned char*>(mapped) + PAGE;
    if (mprotect(first, room, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapped, room + 2 * PAGE);
        return nullptr;
    }
    // Larger blocks keep the zeros of the system, since filling them would take their memory.
    if (room <= MOST_FILLED) memset(first, PATTERN, room);
    size_t aligned = (size + least - 1) / least * least;
    unsigned char* block = at_begin ? first : first + room - aligned;
    (*blocks)[block] = {first, room, size};
    ++made;
    return block;
}

// The size of a block, after its pattern was compared and it was removed; false for other memory.
bool take(void* pointer, Block& block) {
    std::lock_guard<std::mutex> held(lock);
    auto found = blocks->find(pointer);
    if (found == blocks->end()) return false;
    block = found->second;
    blocks->erase(found);
    return true;
}

void check(unsigned char* begin, unsigned char* end, const Block& block, const char* where) {
    for (; begin < end; ++begin)
        if (*begin != PATTERN) {
            fprintf(stderr, "guarded: a byte %s a block of %zu bytes was overwritten\n", where, block.size);
            abort();
        }
}

void drop(void* pointer, const Block& block) {
    unsigned char* begin = static_cast<unsigned char*>(pointer);
    if (block.room <= MOST_FILLED) {
        check(block.first, begin, block, "before");
        check(begin + block.size, block.first + block.room, block, "after");
    }
    munmap(block.first - PAGE, block.room + 2 * PAGE);
}

// The allocator that was there before, for blocks that are not guarded.
struct Before {
    void* context;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void* free;
};

template <int WHICH>
struct Guarded {
    static Before before;
    static size_t smallest;
    static constexpr bool NUMPY = WHICH == 0;

    static void* allocate(size_t size) {
        if (size < smallest) return nullptr;
        return make(size, NUMPY ? alignment(size, 16) : 16);
    }
    static void* malloc(void*, size_t size) {
        void* block = allocate(size);
        return block ? block : before.malloc(before.context, size);
    }
    static void* calloc(void*, size_t items, size_t size) {
        void* block = items && size > SIZE_MAX / 2 / items ? nullptr : allocate(items * size);
        return block ? memset(block, 0, items * size) : before.calloc(before.context, items, size);
    }
    static void release(void* pointer, size_t size) {
        Block block;
        if (take(pointer, block))
            drop(pointer, block);
        else if (NUMPY)
            reinterpret_cast<void (*)(void*, void*, size_t)>(before.free)(before.context, pointer, size);
        else
            reinterpret_cast<void (*)(void*, void*)>(before.free)(before.context, pointer);
    }
    static void* realloc(void* context, void* pointer, size_t size) {
        if (!pointer) return malloc(context, size);
        Block block;
        if (!take(pointer, block)) return before.realloc(before.context, pointer, size);
        void* other = malloc(context, size);
        if (other) memcpy(other, pointer, size < block.size ? size : block.size);
        drop(pointer, block);
        return other;
    }
    static void free_sized(void*, void* pointer, size_t size) { release(pointer, size); }
    static void free(void*, void* pointer) { release(pointer, 0); }
    static void replace(Before* theirs, size_t least) {
        smallest = least;
        before = *theirs;
        void* ours = NUMPY ? reinterpret_cast<void*>(free_sized) : reinterpret_cast<void*>(free);
        *theirs = {before.context, malloc, calloc, realloc, ours};
    }
};
template <int WHICH>
Before Guarded<WHICH>::before;
template <int WHICH>
size_t Guarded<WHICH>::smallest;

}  // namespace

extern "C" void begin(int guard_at_begin) {
    blocks = new std::unordered_map<void*, Block>;
    at_begin = guard_at_begin;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });
}
extern "C" void replace_numpy(Before* allocator) { Guarded<0>::replace(allocator, 1); }
extern "C" void replace_raw(Before* allocator, size_t smallest) { Guarded<1>::replace(allocator, smallest); }
extern "C" size_t made_so_far() { return made; }
