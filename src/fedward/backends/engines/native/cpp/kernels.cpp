#include "kernels.h"

#include <stdexcept>
#include <string>

namespace fedward {
namespace {

bool runs_here(const Kernels& kernels) {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#if defined(FEDWARD_AVX512_BY_HALVES) && !defined(__clang__)
  if (&kernels == &avx512::kKernels) return has_avx2;
#else
  if (&kernels == &avx512::kKernels) return __builtin_cpu_supports("avx512f");
#endif
  if (&kernels == &avx2::kKernels) return has_avx2;
#endif
  return &kernels == &portable::kKernels;
}

}  // namespace

const Kernels& kernels_named(const char* name) {
  // From the widest to the one that runs everywhere.
  static const Kernels* const all[] = {
#if defined(__x86_64__)
      &avx512::kKernels, &avx2::kKernels,
#endif
      &portable::kKernels};
  const std::string wanted = name;
  for (const Kernels* kernels : all) {
    if (wanted == "auto" && runs_here(*kernels)) return *kernels;
    if (wanted == kernels->name) {
      if (!runs_here(*kernels)) throw std::invalid_argument("this processor has no " + wanted);
      return *kernels;
    }
  }
  throw std::invalid_argument("instruction set must be auto, portable, avx2 or avx512, got " + wanted);
}

}  // namespace fedward
