/*
 * cpu -- what the processor offers.
 */
#define _GNU_SOURCE 1
#include "base/context.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

int cfx_cpu_count(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof(set), &set))
        return CPU_COUNT(&set);
    /* More processors than a cpu_set_t has bits. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int64_t cfx_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool cfx_cpu_has(cfx_cpu cpu)
{
    switch (cpu) {
    case CFX_CPU_BEST:
    case CFX_CPU_PLAIN: return true;
#if defined(__x86_64__)
    /* The builtins also check that the system saves the registers. */
    case CFX_CPU_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case CFX_CPU_AVX512:
        return cfx_cpu_has(CFX_CPU_AVX2) &&
               __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    case CFX_CPU_NEON: return false;
#elif defined(__aarch64__)
    case CFX_CPU_NEON: return true;
    case CFX_CPU_AVX2:
    case CFX_CPU_AVX512: return false;
#else
    case CFX_CPU_NEON:
    case CFX_CPU_AVX2:
    case CFX_CPU_AVX512: return false;
#endif
    }
    return false;
}

cfx_cpu cfx_cpu_best(void)
{
    int cpu = CFX_CPU_AVX512;
    while (!cfx_cpu_has((cfx_cpu)cpu))
        cpu--;
    return (cfx_cpu)cpu;
}

const char *cfx_cpu_name(cfx_cpu cpu)
{
    static const char *const name[] = {
        [CFX_CPU_BEST] = "best",     [CFX_CPU_PLAIN] = "plain",
        [CFX_CPU_NEON] = "neon",     [CFX_CPU_AVX2] = "avx2",
        [CFX_CPU_AVX512] = "avx512",
    };
    return (unsigned)cpu < sizeof(name) / sizeof(*name) ? name[cpu] : "?";
}
