/*
 * machine_impl.h -- what the files of machine share. Not installed.
 */
#ifndef CFX_MACHINE_IMPL_H
#define CFX_MACHINE_IMPL_H

#include <jansson.h>

#include <cfx/machine.h>

#include "base/util.h"

#include "shapeprop/machine/machine_loops.h"

/* A machine and all that it points to; free it with cfx_machine_free. */
typedef struct cfx_machine_box {
    cfx_machine machine;
    cfx_arena arena;
    bool hurried; /* time or memory were too short to pass the caches */
    double busy;  /* the part of the processors that others had meanwhile */
} cfx_machine_box;

/* One with `nrates` zeroed rates, without name. NULL on lack of memory. */
cfx_machine_box *cfx_machine__new(cfx_context *ctx, int nrates);

enum { CFX_MACHINE_KEY = 32 };

/* "read_bytes_per_second", in all documents. */
void cfx_machine__rate_key(char key[CFX_MACHINE_KEY], cfx_machine_kernel k);

/* The rates of one number of threads, as in the file; NULL on lack of memory.
 * A new reference. */
json_t *cfx_machine__rates_json(const cfx_machine_rates *r);

/* ---- machine_detect.c: what the system tells of this machine ---- */

enum {
    CFX_MACHINE_CACHES = CFX_MACHINE_LEVELS - 1,
    CFX_MACHINE_PROCESSORS = 1024,
    CFX_MACHINE_TEXT = 256,
    CFX_MACHINE_SECONDS = 8 /* that measuring takes, unless told */
};

typedef struct cfx_machine_cache {
    int level;       /* 1: L1 */
    int64_t bytes;
    int processors;  /* of ours that share one, at least 1 */
} cfx_machine_cache;

typedef struct cfx_machine_hardware {
    char name[CFX_MACHINE_TEXT];
    int cores;       /* processors that this process may run on */
    int ncaches;
    cfx_machine_cache cache[CFX_MACHINE_CACHES]; /* of data, from L1 */
    int64_t memory;  /* bytes; 0: not known */
    int64_t available; /* of them, to this process; 0: not known */
    /* The processors' numbers, those that share a core after all others. */
    int nprocessors;
    short processor[CFX_MACHINE_PROCESSORS];
} cfx_machine_hardware;

/* Never fails: what cannot be told is guessed. */
void cfx_machine__detect(cfx_machine_hardware *hw);

/* Does the processor have it, beyond its level? */
bool cfx_machine__has(cfx_machine_feature feature);

/* ---- machine_doubt.c: does a machine contradict itself? ---- */

/* Says in a line what is doubtful of a measured machine; false: nothing. */
bool cfx_machine__doubt(char why[CFX_MACHINE_TEXT], const cfx_machine *m);

typedef cfx_status cfx_machine_measure_fn(cfx_machine **out, cfx_context *ctx,
                                          double seconds, cfx_error *err);

/* Measure, and as long as the result is doubtful once more, but TRIES times at
 * most; then *why is not empty. Fails as `measure` does. */
cfx_status cfx_machine__measure_surely(cfx_machine **out, cfx_context *ctx,
                                       double seconds, int tries,
                                       cfx_machine_measure_fn *measure,
                                       char why[CFX_MACHINE_TEXT],
                                       cfx_error *err);

/* ---- machine_cached.c ---- */

/* Like cfx_machine_cached, but `measure` measures. */
cfx_status cfx_machine__cached_by(cfx_machine **out, cfx_context *ctx,
                                  unsigned how, double seconds,
                                  cfx_machine_measure_fn *measure,
                                  cfx_error *err);

/* ---- machine_measure.c ---- */

/* The loops of a level. */
const cfx_machine_loops *cfx_machine__loops_of(cfx_cpu level);

/* What is measured with these loops here, as a description says it. */
void cfx_machine__instructions(char out[CFX_MACHINE_TEXT],
                               const cfx_machine_loops *loops);

/* "measured by cfx VERSION": what one of another version measured may mean
 * something else. */
const char *cfx_machine__measured_by(void);

#endif
