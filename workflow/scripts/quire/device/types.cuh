// Integer types of kernel sources, named by their width.
#pragma once
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Dynamic shared memory, with one name and type in all kernels; the launch sets its size in bytes.
extern __shared__ u64 shared_memory[];

// Return the index of this thread in the whole grid (blocks and grid have one dimension).
__device__ __forceinline__ i64 thread_index() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
