// Hashes that break ties, equal to those of quire/sequence/ties/cpu.py.
#pragma once
#include "quire/device/types.cuh"

// Hash of the name letters[begin:end]: FNV-1a, finished by one shift.
__device__ __forceinline__ u64 hash_of_name(const u8* letters, i64 begin, i64 end) {
    u64 value = 0xCBF29CE484222325ull;
    for (i64 i = begin; i < end; i++) value = (value ^ letters[i]) * 0x100000001B3ull;
    return value ^ (value >> 29);
}

// Hash of (read name, axis position), which orders equally good places (splitmix64's finaliser).
__device__ __forceinline__ u64 tie_hash(u64 name_hash, i64 position) {
    u64 value = name_hash ^ ((u64)position * 0x9E3779B97F4A7C15ull);
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}
