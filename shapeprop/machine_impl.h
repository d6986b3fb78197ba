/*
 * machine_impl.h -- what the files of machine share. Not installed.
 */
#ifndef CFX_MACHINE_IMPL_H
#define CFX_MACHINE_IMPL_H

#include <jansson.h>

#include <cfx/machine.h>

#include "base/util.h"

/* A machine and all that it points to; free it with cfx_machine_free. */
typedef struct cfx_machine_box {
    cfx_machine machine;
    cfx_arena arena;
} cfx_machine_box;

/* One with `nrates` zeroed rates, without name. NULL on lack of memory. */
cfx_machine_box *cfx_machine__new(cfx_context *ctx, int nrates);

/* The rates of one number of threads, as in the file; NULL on lack of memory.
 * A new reference. */
json_t *cfx_machine__rates_json(const cfx_machine_rates *r);

#endif
