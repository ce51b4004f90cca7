// AVX-512: vectors twice as wide and twice as many of them. See kernels_avx2.cpp.
#if defined(__x86_64__)
#include "kernels.h"

#define FEDWARD_SET avx512
#define FEDWARD_NAME "avx512"
#define FEDWARD_LANES 16
#define FEDWARD_ROWS 12
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(FEDWARD_AVX512_BY_HALVES)  // `make sanitize` runs them on AVX2: GCC makes two vectors of each
#pragma GCC target("avx2,fma")
#else
#pragma GCC target("avx512f")
#endif
#endif
#include "kernels.inl"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
