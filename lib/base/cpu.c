/*
 * cpu -- what the processor offers.
 */
#define _GNU_SOURCE 1
#include "base/context_impl.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

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

/* ---- Features ---- */

#if defined(__x86_64__)

/* The compilers have no name for some of them. A level that uses them checks that the
 * system saves the registers. */
unsigned cfx_cpu_features(void)
{
    unsigned a, b, c = 0, d, features = CFX_FEATURE_NONE;

    if (__builtin_cpu_supports("fma"))
        features |= CFX_FEATURE_FMA;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        features |= c >> 1 & 1 ? CFX_FEATURE_AVX512_VBMI : 0;
        features |= c >> 11 & 1 ? CFX_FEATURE_AVX512_VNNI : 0;
    }
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        features |= a >> 4 & 1 ? CFX_FEATURE_AVX_VNNI : 0;
        features |= a >> 5 & 1 ? CFX_FEATURE_AVX512_BF16 : 0;
    }
    return features;
}

#elif defined(__aarch64__) && defined(__linux__)

unsigned cfx_cpu_features(void)
{
    return (getauxval(AT_HWCAP) >> 20 & 1 ? CFX_FEATURE_DOTPROD : 0U) |
           (getauxval(AT_HWCAP2) >> 14 & 1 ? CFX_FEATURE_BF16 : 0U);
}

#else

unsigned cfx_cpu_features(void)
{
    return CFX_FEATURE_NONE;
}

#endif

unsigned cfx_cpu_feature_named(const char *name, size_t len)
{
    static const struct {
        const char *name;
        unsigned features;
    } known[] = {
        {"fma", CFX_FEATURE_FMA},
        {"avxvnni", CFX_FEATURE_AVX_VNNI},
        {"vnni", CFX_FEATURE_AVX512_VNNI},
        {"vbmi", CFX_FEATURE_AVX512_VBMI},
        {"bf16", CFX_FEATURE_AVX512_BF16 | CFX_FEATURE_BF16},
        {"dotprod", CFX_FEATURE_DOTPROD},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
            return known[i].features;
    return CFX_FEATURE_NONE;
}

/* ---- Levels ---- */

bool cfx_cpu_has(cfx_cpu cpu, unsigned features)
{
    (void)features;
    switch (cpu) {
    case CFX_CPU_BEST:
    case CFX_CPU_PLAIN: return true;
#if defined(__x86_64__)
    /* The builtins also check that the system saves the registers. */
    case CFX_CPU_AVX2:
        return features & CFX_FEATURE_FMA && __builtin_cpu_supports("avx2");
    case CFX_CPU_AVX512:
        return cfx_cpu_has(CFX_CPU_AVX2, features) &&
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

cfx_cpu cfx_cpu_best(unsigned features)
{
    int cpu = CFX_CPU_AVX512;
    while (!cfx_cpu_has((cfx_cpu)cpu, features))
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
