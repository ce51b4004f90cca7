// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
#include "kernels.h"

#define FEDWARD_SET portable
#define FEDWARD_NAME "portable"
#define FEDWARD_LANES 4
#define FEDWARD_ROWS 6
#include "kernels.inl"
