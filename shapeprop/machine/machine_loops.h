/*
 * machine_loops.h -- the loops that are timed, one set for each level of
 * instructions. Not installed.
 *
 * machine_level.c is compiled once a level, with that level's name. A level
 * may have loops for instructions that only some of its processors have; those
 * are compiled for them by an attribute, and say what they need.
 */
#ifndef CFX_MACHINE_LOOPS_H
#define CFX_MACHINE_LOOPS_H

#include <cfx/machine.h>

/* What a processor may have beyond its level. */
typedef enum cfx_machine_feature {
    CFX_FEATURE_NONE,
    CFX_FEATURE_AVX_VNNI,    /* vpdpbusd of 32 bytes */
    CFX_FEATURE_AVX512_VNNI, /* vpdpbusd of 64 bytes */
    CFX_FEATURE_AVX512_BF16, /* vdpbf16ps */
    CFX_FEATURE_DOTPROD,     /* sdot */
    CFX_FEATURE_BF16         /* bfdot */
} cfx_machine_feature;

/* What loops read their operands from, and where they leave a result. */
enum { CFX_MACHINE_SINK = 4096 };

/* Arithmetic between registers: each round is of `ops` operations. */
typedef struct cfx_machine_arithmetic {
    cfx_machine_type type;
    cfx_machine_feature needs;
    const char *name; /* of the instructions, where they are not the level's */
    double ops;
    void (*run)(int64_t rounds, void *sink);
} cfx_machine_arithmetic;

/*
 * Memory: `rounds` passes over `bytes` bytes (a multiple of 1024) at p, or over
 * so many in each of three arrays, at p, p + apart and p + 2 * apart. All are
 * aligned to 64 bytes.
 */
typedef void cfx_machine_pass(char *p, size_t bytes, size_t apart,
                              int64_t rounds, void *sink);

typedef struct cfx_machine_loops {
    const char *name; /* of the instructions: "AVX-512" */
    /* For each type the best ones first; ends with a zeroed one. */
    const cfx_machine_arithmetic *arithmetic;
    cfx_machine_pass *read, *write, *triad, *update;
    /* Those of what a core's own caches do not hold: reads of several places in
     * turns, and stores past the caches (NULL where there are none). */
    cfx_machine_pass *read_streams, *write_past, *triad_past;
} cfx_machine_loops;

extern const cfx_machine_loops cfx_machine_loops_plain;
#if defined(__x86_64__)
extern const cfx_machine_loops cfx_machine_loops_avx2;
extern const cfx_machine_loops cfx_machine_loops_avx512;
#elif defined(__aarch64__)
extern const cfx_machine_loops cfx_machine_loops_neon;
#endif

#endif
