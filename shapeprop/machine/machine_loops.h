/*
 * machine_loops.h -- the timed loops, one set for each instruction level. Not
 * installed.
 *
 * machine_level.c is compiled once per level. Loops for instructions that only
 * some processors of a level have are compiled with a function attribute and
 * list the features they need.
 */
#ifndef CFX_MACHINE_LOOPS_H
#define CFX_MACHINE_LOOPS_H

#include <cfx/machine.h>

#include "base/context_impl.h"

/* The buffer from which loops load operands and to which they store results. */
enum { CFX_MACHINE_SINK = 4096 };

/* Arithmetic in registers; each round has `ops` operations. */
typedef struct cfx_machine_arithmetic {
    cfx_machine_type type;
    unsigned needs;   /* features, base/context_impl.h */
    const char *name; /* of the instructions, if not the level's */
    double ops;
    void (*run)(int64_t rounds, void *sink);
} cfx_machine_arithmetic;

/*
 * Make `rounds` passes over `bytes` bytes (a multiple of 1024) at p, or over
 * that many in each of three arrays at p, p + apart and p + 2 * apart. All are
 * aligned to 64 bytes.
 */
typedef void cfx_machine_pass(char *p, size_t bytes, size_t apart,
                              int64_t rounds, void *sink);

typedef struct cfx_machine_loops {
    const char *name; /* of the instructions: "AVX-512" */
    /* The best ones for each type first; the last one is zeroed. */
    const cfx_machine_arithmetic *arithmetic;
    cfx_machine_pass *read, *write, *triad, *update;
    /* Loops for data outside of a core's own caches: reads of several streams,
     * and non-temporal stores (NULL if there are none). */
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
