/*
 * machine_doubt -- check if a measured machine contradicts itself.
 *
 * Other work on the machine makes some loops slower, and a working set that
 * does not exceed the cache makes them faster. Both show in comparisons: no
 * level is faster than the one before it, and memory is not written faster than
 * it is read or copied.
 */
#include "shapeprop/machine/machine_impl.h"

#include <stdio.h>

/* Tolerances for rates, and for the median of repeats relative to the best. */
static const double level_excess = 1.1, write_excess = 1.25, spread_most = 0.5;

/* The largest fraction of the processors that other work may have. */
static const double busy_most = 0.1;

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* Compare a level with the one before it. */
static bool is_too_fast(char why[CFX_MACHINE_TEXT], const cfx_machine_rates *r,
                        int i)
{
    const cfx_machine_level *l = &r->level[i], *before = l - 1;

    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        if (!(before->rate[k] > 0) ||
            !(l->rate[k] > level_excess * before->rate[k]))
            continue;
        snprintf(
            why, CFX_MACHINE_TEXT,
            "at %d thread%s the %s of %s reaches %.4g GB/s, of %s only %.4g",
            r->threads, plural(r->threads),
            cfx_machine_kernel_name((cfx_machine_kernel)k), l->name,
            l->rate[k] / 1e9, before->name, before->rate[k] / 1e9);
        return true;
    }
    return false;
}

static bool is_written_too_fast(char why[CFX_MACHINE_TEXT],
                                const cfx_machine_rates *r)
{
    const cfx_machine_level *l = &r->level[r->nlevels - 1];
    double others = 0;

    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        if (k != CFX_MACHINE_WRITE && l->rate[k] > others)
            others = l->rate[k];
    }
    if (!(others > 0) || !(l->rate[CFX_MACHINE_WRITE] > write_excess * others))
        return false;
    snprintf(
        why, CFX_MACHINE_TEXT,
        "at %d thread%s the write of %s reaches %.4g GB/s, its reads only %.4g",
        r->threads, plural(r->threads), l->name,
        l->rate[CFX_MACHINE_WRITE] / 1e9, others / 1e9);
    return true;
}

static bool varies(char why[CFX_MACHINE_TEXT], const cfx_machine_rates *r,
                   const char *what, double spread)
{
    if (!(spread > spread_most))
        return false;
    snprintf(why, CFX_MACHINE_TEXT,
             "at %d thread%s the repeats of %s are %.0f %% apart", r->threads,
             plural(r->threads), what, 100 * spread);
    return true;
}

/* Find the first doubt, if any. */
static void find_doubt(char why[CFX_MACHINE_TEXT], const cfx_machine_rates *r)
{
    bool any = false;

    for (int t = 0; t < CFX_MACHINE_TYPES && !any; t++)
        any = varies(why, r, cfx_machine_type_name((cfx_machine_type)t),
                     r->peak_spread[t]);
    for (int i = 0; i < r->nlevels && !any; i++)
        any = (i && is_too_fast(why, r, i)) ||
              varies(why, r, r->level[i].name, r->level[i].spread);
    if (!any)
        is_written_too_fast(why, r);
}

static bool is_busy(const cfx_machine *m)
{
    return ((const cfx_machine_box *)m)->busy > busy_most;
}

bool cfx_machine__doubt(char why[CFX_MACHINE_TEXT], const cfx_machine *m)
{
    const cfx_machine_box *box = (const cfx_machine_box *)m;

    why[0] = '\0';
    if (is_busy(m))
        snprintf(why, CFX_MACHINE_TEXT,
                 "other work used %.0f %% of the processors meanwhile",
                 100 * box->busy);
    for (int i = 0; i < m->nrates && !why[0]; i++)
        find_doubt(why, &m->rates[i]);
    if (!why[0] && box->hurried)
        strcpy(why, "time or memory was too short to exceed all caches");
    return why[0];
}

cfx_status cfx_machine__measure_surely(cfx_machine **out, cfx_context *ctx,
                                       double seconds, int tries,
                                       cfx_machine_measure_fn *measure,
                                       char why[CFX_MACHINE_TEXT],
                                       cfx_error *err)
{
    cfx_status st = measure(out, ctx, seconds, err);

    /* Other work, and processor quotas, last longer than a single try. */
    why[0] = '\0';
    while (!st && cfx_machine__doubt(why, *out) && --tries > 0 &&
           !is_busy(*out)) {
        cfx_message(ctx, CFX_NOTE, "measuring again, since %s", why);
        cfx_machine_free(*out);
        st = measure(out, ctx, seconds, err);
    }
    return st;
}
