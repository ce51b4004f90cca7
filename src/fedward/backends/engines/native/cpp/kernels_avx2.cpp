// AVX2 with fused multiply-add. Only what is in kernels.inl is compiled for it, and nothing of that is seen
// outside this file: a shared inline function would be an illegal instruction on processors without AVX2.
#if defined(__x86_64__)
#include "kernels.h"

#define FEDWARD_SET avx2
#define FEDWARD_NAME "avx2"
#define FEDWARD_LANES 8
#define FEDWARD_ROWS 6
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "kernels.inl"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
