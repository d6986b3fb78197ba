/*
 * machine -- descriptions of machines: creation, release and queries.
 */
#include "shapeprop/machine/machine_impl.h"

#include <stdio.h>

/* ---- Creation and release ---- */

cfx_machine_box *cfx_machine__new(cfx_context *ctx, int nrates)
{
    cfx_machine_box *box = cfx_calloc(ctx, 1, sizeof(*box));

    if (!box)
        return NULL;
    cfx_arena_init(&box->arena, ctx);
    box->machine.ctx = ctx;
    size_t size = (size_t)nrates * sizeof(*box->machine.rates);
    box->machine.rates = cfx_arena_alloc(&box->arena, size);
    if (!box->machine.rates) {
        cfx_machine_free(&box->machine);
        return NULL;
    }
    memset(box->machine.rates, 0, size);
    box->machine.nrates = nrates;
    return box;
}

void cfx_machine_free(cfx_machine *m)
{
    if (!m)
        return;
    cfx_machine_box *box = (cfx_machine_box *)m; /* m is its first member */
    cfx_arena_release(&box->arena);
    cfx_free(m->ctx, box, sizeof(*box));
}

/* ---- Queries ---- */

const cfx_machine_rates *cfx_machine_for(const cfx_machine *m, int threads)
{
    int i = m->nrates - 1;

    while (i > 0 && m->rates[i].threads > threads)
        i--;
    return &m->rates[i];
}

/* Return the type whose peak applies to `t`. */
static cfx_machine_type type_of(cfx_dtype t)
{
    if (t == CFX_BF16)
        return CFX_MACHINE_BFLOAT16;
    if (t == CFX_F16)
        return CFX_MACHINE_FLOAT16;
    size_t size = cfx_dtype_size(t);
    return size == 8   ? CFX_MACHINE_FLOAT64
           : size == 4 ? CFX_MACHINE_FLOAT32
                       : CFX_MACHINE_INT8;
}

double cfx_machine_peak(const cfx_machine_rates *r, cfx_dtype t)
{
    double peak = r->peak[type_of(t)];

    return peak > 0 ? peak : r->peak[CFX_MACHINE_FLOAT32];
}

int64_t cfx_machine_capacity(const cfx_machine_rates *r,
                             const cfx_machine_level *level)
{
    int64_t n = (r->threads + level->threads_sharing - 1) /
                level->threads_sharing;
    int64_t all;

    return !level->bytes || __builtin_mul_overflow(n, level->bytes, &all)
               ? INT64_MAX
               : all;
}

const char *cfx_machine_type_name(cfx_machine_type t)
{
    static const char *const name[] = {
        [CFX_MACHINE_FLOAT64] = "float64", [CFX_MACHINE_FLOAT32] = "float32",
        [CFX_MACHINE_FLOAT16] = "float16", [CFX_MACHINE_BFLOAT16] = "bfloat16",
        [CFX_MACHINE_INT8] = "int8",
    };

    return (unsigned)t < CFX_MACHINE_TYPES ? name[t] : "?";
}

const char *cfx_machine_kernel_name(cfx_machine_kernel k)
{
    static const char *const name[] = {
        [CFX_MACHINE_READ] = "read",
        [CFX_MACHINE_WRITE] = "write",
        [CFX_MACHINE_TRIAD] = "triad",
        [CFX_MACHINE_UPDATE] = "update",
    };

    return (unsigned)k < CFX_MACHINE_KERNELS ? name[k] : "?";
}

void cfx_machine__rate_key(char key[CFX_MACHINE_KEY], cfx_machine_kernel k)
{
    snprintf(key, CFX_MACHINE_KEY, "%s_bytes_per_second",
             cfx_machine_kernel_name(k));
}
