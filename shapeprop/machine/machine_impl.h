/*
 * machine_impl.h -- declarations shared by the machine files. Not installed.
 */
#ifndef CFX_MACHINE_IMPL_H
#define CFX_MACHINE_IMPL_H

#include <jansson.h>

#include <cfx/machine.h>

#include "base/caches.h"
#include "base/util.h"

#include "shapeprop/machine/machine_loops.h"

/* A machine and all memory it points to; free it with cfx_machine_free. */
typedef struct cfx_machine_box {
    cfx_machine machine;
    cfx_arena arena;
    bool hurried; /* time or memory were too short to exceed the caches */
    double busy;  /* fraction of the processors used by others */
} cfx_machine_box;

/* Make one with `nrates` zeroed rates and no name. NULL on lack of memory. */
cfx_machine_box *cfx_machine__new(cfx_context *ctx, int nrates);

enum { CFX_MACHINE_KEY = 32 };

/* Format "read_bytes_per_second", the key in all documents. */
void cfx_machine__rate_key(char key[CFX_MACHINE_KEY], cfx_machine_kernel k);

/* Return the rates of one thread count as JSON, a new reference; NULL on lack
 * of memory. */
json_t *cfx_machine__rates_json(const cfx_machine_rates *r);

/* ---- machine_detect.c: hardware properties ---- */

enum {
    CFX_MACHINE_PROCESSORS = 1024,
    CFX_MACHINE_TEXT = 256,
    CFX_MACHINE_SECONDS = 8 /* default duration of measuring */
};

typedef struct cfx_machine_hardware {
    char name[CFX_MACHINE_TEXT];
    int cores; /* processors that this process may run on */
    int ncaches;
    cfx_cache cache[CFX_CACHE_LEVELS]; /* data caches, from L1 */
    int64_t memory;                    /* bytes; 0: not known */
    int64_t available; /* of it, for this process; 0: not known */
    /* The numbers of the processors; second threads of a core come last. */
    int nprocessors;
    short processor[CFX_MACHINE_PROCESSORS];
} cfx_machine_hardware;

/* Detect the hardware. Never fails: unknown properties are guessed. */
void cfx_machine__detect(cfx_machine_hardware *hw);

/* ---- machine_doubt.c: consistency of measurements ---- */

/* Describe in one line why a machine is doubtful; false if it is not. */
bool cfx_machine__doubt(char why[CFX_MACHINE_TEXT], const cfx_machine *m);

typedef cfx_status cfx_machine_measure_fn(cfx_machine **out, cfx_context *ctx,
                                          double seconds, cfx_error *err);

/* Measure until the result is not doubtful, at most TRIES times; *why is not
 * empty if the last one is. Fails as `measure` does. */
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

/* Return the loops of an instruction level. */
const cfx_machine_loops *cfx_machine__loops_of(cfx_cpu level);

/* Describe the instructions that the loops of a context use. */
void cfx_machine__instructions(char out[CFX_MACHINE_TEXT],
                               const cfx_context *ctx);

/* Return "measured by cfx VERSION"; results of different versions may not be
 * comparable. */
const char *cfx_machine__measured_by(void);

#endif
