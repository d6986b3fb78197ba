/*
 * conv_windows.c -- convolutions as a product of w with the windows of x.
 *
 * The windows, as columns (channel and tap, output), are the operand b of
 * gemm_core.c, which has them made a block at a time: they are never in memory
 * as a whole. Where there are several images, their outputs stand side by side
 * in one product; where there are several groups, each thread does whole ones.
 */
#include <string.h>

#include "kernel/conv/conv_core.h"

/* From so many products of little work on, each is one thread's. */
enum { SPLIT = 4 };

typedef struct windows {
    const cfx_conv3 *c;
    const cfx_conv_type *type;
    cfx_conv_columns columns;
    cfx_gemm_core core;
    const void *w;
    char *y;      /* of the first image and channel */
    size_t table; /* bytes of the table of taps */
    size_t split; /* bytes of x with its rows split, or 0 */
    size_t each;  /* bytes of one product's workspace */
    char *work;
} windows;

static void pack_w(const cfx_gemm_core *g, void *panel, int64_t k0, int64_t kn,
                   int64_t i0, int64_t in)
{
    const windows *s = g->user;

    g->type->copy(panel, CFX_GEMM_A_ROW,
                  cfx_conv_at(s->w, i0 * g->k + k0, g->size), g->k, in, kn);
}

static void pack_x(const cfx_gemm_core *g, void *panels, int64_t k0,
                   int64_t kn, int64_t j0, int64_t jn)
{
    const windows *s = g->user;

    s->type->columns(&s->columns, panels, k0, kn, j0, jn);
}

/* Columns that belong to several images, back to where they belong. */
static void emit(const cfx_gemm_core *g, const void *x, int64_t x_row,
                 int64_t i0, int64_t in, int64_t j0, int64_t jn)
{
    const windows *s = g->user;
    int64_t len = s->c->out_len, image = s->c->c.out_channels * len;

    while (jn > 0) {
        int64_t at = j0 % len, n = len - at < jn ? len - at : jn;

        for (int64_t i = 0; i < in; i++)
            memcpy(s->y + (size_t)(j0 / len * image + (i0 + i) * len + at) *
                              g->size,
                   cfx_conv_at(x, i * x_row, g->size), (size_t)n * g->size);
        x = cfx_conv_at(x, n, g->size);
        j0 += n;
        jn -= n;
    }
}

static windows make_windows(const cfx_context *ctx, const cfx_conv3 *c)
{
    const cfx_conv *v = &c->c;
    windows s = {.c = c, .type = cfx_conv_type_of(ctx, c)};
    cfx_conv_columns *x = &s.columns;

    x->phases = v->out[2] > 1 ? v->stride[2] : 1;
    x->phase_len = (v->in[2] + x->phases - 1) / x->phases;
    x->row = x->phases > 1 ? x->phases * x->phase_len : v->in[2];
    x->plane = x->row * v->in[1];
    x->channel = x->plane * v->in[0];
    x->image = x->channel * v->in_channels;
    memcpy(x->in, v->in, sizeof(x->in));
    memcpy(x->out, v->out, sizeof(x->out));
    memcpy(x->stride, v->stride, sizeof(x->stride));
    x->out_len = c->out_len;
    x->taps = c->taps;
    s.table = cfx_gemm_align((size_t)c->taps * sizeof(cfx_conv_tap));
    s.split = x->phases == 1
                  ? 0
                  : cfx_gemm_align((size_t)(v->batch * x->image) * c->size);
    s.core = (cfx_gemm_core){.ctx = ctx,
                             .type = cfx_gemm_type_of(ctx, c->size),
                             .size = c->size,
                             .m = c->group_out,
                             .n = c->out_len * v->batch,
                             .k = c->group_in * c->taps,
                             .pack_a = pack_w,
                             .pack_b = pack_x,
                             .c_row = c->out_len,
                             .emit = v->batch > 1 ? emit : NULL};
    return s;
}

/* Groups with little work are given to the threads whole. */
static bool by_groups(const cfx_conv3 *c)
{
    return c->c.groups >= SPLIT;
}

size_t cfx_conv_windows_workspace(const cfx_context *ctx, const cfx_conv3 *c)
{
    windows s = make_windows(ctx, c);
    int threads = cfx_context_threads(ctx);

    if (by_groups(c))
        return s.table + s.split +
               (size_t)threads *
                   cfx_gemm_align(cfx_gemm_core_workspace(&s.core, 1));
    return s.table + s.split + cfx_gemm_core_workspace(&s.core, threads);
}

static void make_taps(const cfx_conv3 *c, const cfx_conv_columns *x,
                      cfx_conv_tap *tap)
{
    const cfx_conv *v = &c->c;

    for (int64_t d = 0; d < v->kernel[0]; d++)
        for (int64_t h = 0; h < v->kernel[1]; h++)
            for (int64_t w = 0; w < v->kernel[2]; w++) {
                int64_t q = w * v->dilation[2] - v->pad[2];
                int64_t f = (q % x->phases + x->phases) % x->phases;

                *tap++ = (cfx_conv_tap){{d * v->dilation[0] - v->pad[0],
                                         h * v->dilation[1] - v->pad[1]},
                                        (q - f) / x->phases,
                                        f,
                                        (v->in[2] - f + x->phases - 1) /
                                            x->phases};
            }
}

/* ---- Rows of x split by stride ---- */

static void split_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const windows *s = arg;
    const cfx_conv_columns *x = &s->columns;
    int64_t in = s->c->c.in[2];

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        s->type->split(s->work + s->table + (size_t)(i * x->row) * s->c->size,
                       x->phase_len, x->phases,
                       cfx_conv_at(s->c->c.x, i * in, s->c->size), in);
}

/* ---- Groups ---- */

/* The product of one of the groups. */
static void make_group(windows *s, const windows *all, int64_t group)
{
    *s = *all;
    const cfx_conv3 *c = s->c;

    s->columns.x = cfx_conv_at(
        s->columns.x, group * c->group_in * s->columns.channel, c->size);
    s->w = cfx_conv_at(c->c.w, group * s->core.m * s->core.k, c->size);
    s->y += (size_t)(group * s->core.m * c->out_len) * c->size;
    s->core.row_bias = cfx_conv_at(c->c.bias, group * s->core.m, c->size);
    s->core.c = s->y;
    s->core.user = s;
}

static void groups_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const windows *s = arg;
    char *work = s->work + s->table + s->split + s->each * (size_t)worker;
    windows one;

    for (int64_t i = begin; i < end; i++) {
        make_group(&one, s, i);
        cfx_gemm_core_run(NULL, &one.core, work);
    }
}

void cfx_conv_windows(cfx_context *ctx, const cfx_conv3 *c, void *work)
{
    windows s = make_windows(ctx, c), one;
    const cfx_conv *v = &c->c;

    s.work = work;
    s.y = v->y;
    make_taps(c, &s.columns, work);
    s.columns.tap = work;
    s.columns.x = v->x;
    if (s.split) {
        cfx_parallel_for(ctx, v->batch * v->in_channels * v->in[0] * v->in[1],
                         64, split_piece, &s);
        s.columns.x = s.work + s.table;
    }
    if (by_groups(c)) {
        s.each = cfx_gemm_align(cfx_gemm_core_workspace(&s.core, 1));
        cfx_parallel_for(ctx, v->groups, 1, groups_piece, &s);
        return;
    }
    for (int64_t i = 0; i < v->groups; i++) {
        make_group(&one, &s, i);
        cfx_gemm_core_run(ctx, &one.core, s.work + s.table + s.split);
    }
}
