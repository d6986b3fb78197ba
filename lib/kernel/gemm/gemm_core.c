/*
 * gemm_core.c -- the blocked product of packed panels.
 *
 * The longer side of c is cut into pieces, one call of a worker each. The
 * operand of the shorter side is packed once, by all workers together, for a
 * chunk of c that lets a block of it stay in the second cache; the other one is
 * packed by each piece for itself, just before it is used. How c is cut
 * depends on its extents only, so that the sums do not depend on the threads.
 */
#include "kernel/gemm/gemm_core.h"

#include <string.h>

#include "base/stop.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* A shared operand may take this much, unless k alone asks for more. It is read
 * once by each piece, so that it need not stay in a cache. */
enum { SHARED_MAX = 16 << 20 };
/* With so few steps writing c takes longest, and goes along its rows. */
enum { FEW_STEPS = 64 };

typedef struct plan {
    const cfx_gemm_core *g;
    bool by_rows;        /* pieces are rows of c, and b is shared */
    int64_t kc, nk;      /* steps in a block, blocks */
    int64_t piece;       /* rows or columns in a piece */
    int64_t chunk;       /* columns (by_rows) or rows of c at a time */
    int64_t stripe;      /* by_rows: columns that a panel of a goes through */
    size_t shared, priv; /* bytes */
    char *shared_at, *priv_at;
    int64_t at, len; /* the chunk being worked on */
} plan;

/* About CFX_TASKS pieces, but none so small that the shared operand is read for
 * nothing, and none larger than `most` units. */
static int64_t piece_of(int64_t n, int64_t unit, int64_t least, int64_t most)
{
    int64_t units = cfx_ceil_div(n, unit);
    int64_t per = cfx_ceil_div(units, CFX_TASKS);

    per = cfx_max64(per, cfx_min64(least, cfx_ceil_div(units, 2)));
    return unit * cfx_min64(per, most);
}

static size_t a_panel_size(const cfx_gemm_core *g)
{
    return (size_t)g->type->mr * CFX_GEMM_A_ROW * g->size;
}

static plan make_plan(const cfx_gemm_core *g)
{
    const cfx_gemm_type *t = g->type;
    const int64_t k = cfx_max64(g->k, 1), nr = cfx_gemm_core_nr(g);
    /* Panels of b that are multiplied by one panel of a before the next one. */
    const int64_t panels = cfx_max64(
        cfx_near_bytes(g->ctx) * t->lanes / (CFX_GEMM_KC * 64 * nr), 1);
    int64_t most;
    plan p = {.g = g, .by_rows = g->m >= g->n};

    p.nk = cfx_ceil_div(k, CFX_GEMM_KC);
    p.kc = cfx_round_up(cfx_ceil_div(k, p.nk), 8);
    p.nk = cfx_ceil_div(k, p.kc);
    if (p.by_rows) {
        most = cfx_near_bytes(g->ctx) / (int64_t)a_panel_size(g);
        p.piece = piece_of(g->m, t->mr, 4, cfx_max64(most, 16));
        /* The block passed to emit must stay in a cache. */
        most = g->packed ? INT64_MAX
               : g->emit ? 0
                         : SHARED_MAX / (k * nr * (int64_t)g->size);
        p.chunk = nr *
                  cfx_min64(cfx_ceil_div(g->n, nr), cfx_max64(most, panels));
        p.stripe = k <= FEW_STEPS && k * p.chunk * (int64_t)g->size <=
                                         g->ctx->caches.l2 / 4
                       ? p.chunk
                       : nr;
        p.shared = g->packed || g->b
                       ? 0
                       : cfx_gemm_align((size_t)(k * p.chunk) * g->size);
        p.priv = a_panel_size(g) * (size_t)(p.piece / t->mr);
    } else {
        p.piece = piece_of(g->n, nr, 4, panels);
        most = SHARED_MAX / ((int64_t)a_panel_size(g) * p.nk);
        p.chunk = t->mr *
                  cfx_min64(cfx_ceil_div(g->m, t->mr), cfx_max64(most, 1));
        p.shared = a_panel_size(g) * (size_t)(p.chunk / t->mr * p.nk);
        p.priv = g->packed
                     ? 0
                     : cfx_gemm_align((size_t)(p.kc * p.piece) * g->size);
    }
    p.shared = cfx_gemm_align(p.shared);
    if (g->emit)
        p.priv += (size_t)(p.chunk * p.piece) * g->size;
    /* Odd multiples of a page and a line, so that workers do not collide. */
    p.priv = cfx_gemm_align(p.priv) + 64;
    return p;
}

size_t cfx_gemm_core_workspace(const cfx_gemm_core *g, int threads)
{
    plan p = make_plan(g);

    return p.shared + p.priv * (size_t)threads;
}

/* ---- Packing what is shared ---- */

/* Unit: one block of k of one panel. */
static void pack_shared(void *arg, int64_t begin, int64_t end, int worker)
{
    const plan *p = arg;
    const cfx_gemm_core *g = p->g;
    const cfx_gemm_type *t = g->type;
    int64_t unit = p->by_rows ? cfx_gemm_core_nr(g) : t->mr;
    int64_t panels = cfx_ceil_div(p->len, unit);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t k0 = i / panels * p->kc, kn = cfx_min64(p->kc, g->k - k0);
        int64_t at = i % panels * unit, n = cfx_min64(unit, p->len - at);

        if (p->by_rows)
            g->pack_b(g,
                      p->shared_at +
                          (size_t)(k0 * panels * unit + at * kn) * g->size,
                      k0, kn, p->at + at, n);
        else
            g->pack_a(g, p->shared_at + a_panel_size(g) * (size_t)i, k0, kn,
                      p->at + at, n);
    }
}

/* ---- Pieces ---- */

/* The accumulators of block k0 of rows i0.. and columns j0.. of c. */
typedef struct target {
    char *c;
    int64_t row;
} target;

static void multiply(const plan *p, cfx_gemm_rows *r, const target *to,
                     int64_t k0, int64_t i0, int64_t j0)
{
    const cfx_gemm_core *g = p->g;
    const char *row_bias = g->row_bias, *bias = g->bias;

    r->c = to->c;
    r->c_row = to->row;
    r->add = k0 > 0 || (g->add && !g->emit);
    r->row_bias = row_bias ? row_bias + (size_t)i0 * g->size : NULL;
    r->bias = bias ? bias + (size_t)j0 * g->size : NULL;
    g->type->rows(r);
}

/* One block of k of rows begin..end of a. */
static void pack_rows(const plan *p, char *panel, int64_t k0, int64_t kn,
                      int64_t begin, int64_t end)
{
    const cfx_gemm_core *g = p->g;
    int64_t mr = g->type->mr;

    for (int64_t i = begin; i < end; i += mr, panel += a_panel_size(g))
        g->pack_a(g, panel, k0, kn, i, cfx_min64(mr, end - i));
}

/* Rows begin..end of c, and the columns of the chunk. One panel of b stays in
 * a cache while the panels of a pass by. */
static void piece_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const plan *p = arg;
    const cfx_gemm_core *g = p->g;
    const cfx_gemm_type *t = g->type;
    char *panels = p->priv_at + p->priv * (size_t)worker;
    char *buffer = panels + a_panel_size(g) * (size_t)(p->piece / t->mr);
    const char *b = g->b ? g->b : g->packed ? g->packed : p->shared_at;
    int64_t nr = cfx_gemm_core_nr(g), width = cfx_round_up(p->len, nr);
    int64_t b_row = g->b ? g->b_row : nr;

    for (int64_t k0 = 0; k0 == 0 || k0 < g->k; k0 += p->kc) {
        int64_t kn = cfx_min64(p->kc, g->k - k0);
        int64_t before = g->b ? k0 * b_row + p->at : k0 * width;
        const char *first = b + (size_t)before * g->size;

        pack_rows(p, panels, k0, kn, begin, end);
        for (int64_t j = 0; j < p->len && !cfx_context_stops(g->ctx);
             j += p->stripe) {
            cfx_gemm_rows r = {.n = cfx_min64(p->stripe, p->len - j),
                               .k = kn,
                               .a = panels,
                               .b_row = b_row,
                               .b_panel = g->b ? nr : kn * nr,
                               .b = first +
                                    (size_t)(g->b ? j : j * kn) * g->size};
            target to = {g->emit ? buffer + (size_t)j * g->size
                                 : (char *)g->c +
                                       (size_t)(begin * g->c_row + p->at + j) *
                                           g->size,
                         g->emit ? p->chunk : g->c_row};

            for (int64_t i = begin; i < end; i += t->mr) {
                r.m = cfx_min64(t->mr, end - i);
                multiply(p, &r, &to, k0, i, p->at + j);
                r.a = (const char *)r.a + a_panel_size(g);
                to.c += (size_t)(t->mr * to.row) * g->size;
            }
        }
    }
    if (g->emit)
        g->emit(g, buffer, p->chunk, begin, end - begin, p->at, p->len);
}

/* Columns begin..end of c, and the rows of the chunk. */
static void piece_columns(void *arg, int64_t begin, int64_t end, int worker)
{
    const plan *p = arg;
    const cfx_gemm_core *g = p->g;
    const cfx_gemm_type *t = g->type;
    char *panels = p->priv_at + p->priv * (size_t)worker;
    char *buffer = panels +
                   cfx_gemm_align((size_t)(p->kc * p->piece) * g->size);
    const char *a = p->shared_at;
    int64_t nr = cfx_gemm_core_nr(g);

    for (int64_t k0 = 0; k0 == 0 || k0 < g->k; k0 += p->kc) {
        int64_t kn = cfx_min64(p->kc, g->k - k0);
        cfx_gemm_rows r = {.n = end - begin,
                           .k = kn,
                           .b = panels,
                           .b_row = nr,
                           .b_panel = kn * nr};

        if (g->packed)
            r.b = (const char *)g->packed +
                  g->size * (size_t)(k0 * cfx_round_up(g->n, nr) + begin * kn);
        else
            g->pack_b(g, panels, k0, kn, begin, end - begin);
        for (int64_t i = 0; i < p->len && !cfx_context_stops(g->ctx);
             i += t->mr) {
            target to = {g->emit
                             ? buffer + (size_t)(i * p->piece) * g->size
                             : (char *)g->c +
                                   (size_t)((p->at + i) * g->c_row + begin) *
                                       g->size,
                         g->emit ? p->piece : g->c_row};
            r.m = cfx_min64(t->mr, p->len - i);
            r.a = a;
            a += a_panel_size(g);
            multiply(p, &r, &to, k0, p->at + i, begin);
        }
    }
    if (g->emit)
        g->emit(g, buffer, p->piece, p->at, p->len, begin, end - begin);
}

/* ---- The whole ---- */

static void run(cfx_context *ctx, int64_t n, int64_t grain,
                cfx_parallel_fn *fn, plan *p)
{
    if (ctx)
        cfx_parallel_for(ctx, n, grain, fn, p);
    else
        for (int64_t i = 0; i < n && !cfx_context_stops(p->g->ctx); i += grain)
            fn(p, i, cfx_min64(i + grain, n), 0);
}

void cfx_gemm_core_run(cfx_context *ctx, const cfx_gemm_core *g, void *work)
{
    plan p = make_plan(g);
    int64_t across = p.by_rows ? g->n : g->m;
    int64_t along = p.by_rows ? g->m : g->n;
    int64_t unit = p.by_rows ? cfx_gemm_core_nr(g) : g->type->mr;

    p.shared_at = work;
    p.priv_at = p.shared_at + p.shared;
    for (p.at = 0; p.at < across && !cfx_context_stops(g->ctx);
         p.at += p.chunk) {
        p.len = cfx_min64(p.chunk, across - p.at);
        if (g->k > 0 && !(p.by_rows && (g->packed || g->b)))
            run(ctx, p.nk * cfx_ceil_div(p.len, unit), 4, pack_shared, &p);
        run(ctx, along, p.piece, p.by_rows ? piece_rows : piece_columns, &p);
    }
}

/* ---- Packing for later ---- */

size_t cfx_gemm_core_packed_size(const cfx_gemm_core *g)
{
    return cfx_gemm_align(
        (size_t)(g->k * cfx_round_up(g->n, cfx_gemm_core_nr(g))) * g->size);
}

void cfx_gemm_core_pack(cfx_context *ctx, const cfx_gemm_core *g, void *packed)
{
    plan p = make_plan(g);

    p.by_rows = true;
    p.shared_at = packed;
    p.len = g->n;
    if (g->k > 0)
        run(ctx, p.nk * cfx_ceil_div(g->n, cfx_gemm_core_nr(g)), 4,
            pack_shared, &p);
}
