/*
 * conv_depthwise.c -- convolutions of single channels.
 *
 * Each output channel reads one input channel. A piece of work is a strip of
 * rows of one output plane, or a part of their columns: what it needs of x is copied,
 * with its padding, and split by the stride, to a scratch place that stays in the
 * first cache; then nothing has to be asked about edges.
 */
#include "kernel/conv/conv_core.h"

#include "kernel/int64.h"

/* Rows of y in a strip. */
enum { STRIP = 16 };
/* Elements of all rows of x that a strip should read, and the fewest columns of y. */
enum { NEAR = 8192, COLUMNS_MIN = 256 };
/* Windows of which a row must not grow past what is reasonable scratch. */
enum { ROW_MAX = 1 << 16 };
/* So many channels of y of one of x are faster as a matrix product. */
enum { CHANNELS_MANY = 8 };

/* By how many columns of y a window reaches over the next. */
static int64_t reach_of(const cfx_conv3 *c)
{
    return (c->c.kernel[2] - 1) * c->c.dilation[2] / c->c.stride[2];
}

static int64_t rows_of(const cfx_conv3 *c)
{
    int64_t n = c->c.out[1] < STRIP ? c->c.out[1] : STRIP;

    return (n - 1) * c->c.stride[1] + (c->c.kernel[1] - 1) * c->c.dilation[1] +
           1;
}

/* The columns of y in a piece: about equal parts, whole vectors. */
static int64_t columns_of(const cfx_conv3 *c)
{
    int64_t most = cfx_max64(cfx_max64(COLUMNS_MIN, 4 * reach_of(c)),
                             NEAR / rows_of(c) / c->c.stride[2]);
    int64_t parts = cfx_ceil_div(c->c.out[2], most);

    return cfx_round_up(cfx_ceil_div(c->c.out[2], cfx_max64(parts, 1)), 16);
}

static int64_t row_len(const cfx_conv3 *c, int64_t lanes)
{
    return cfx_round_up(columns_of(c) + reach_of(c) + lanes, lanes);
}

bool cfx_conv_is_depthwise(const cfx_conv3 *c)
{
    /* 16 lanes is what the widest level has; the choice must not depend on
     * the level. */
    return c->group_in == 1 && c->group_out < CHANNELS_MANY &&
           c->c.kernel[0] == 1 && c->c.in[0] == 1 && c->c.out[0] == 1 &&
           c->c.pad[0] == 0
           /* Neither product overflows. */
           && c->c.stride[2] <= ROW_MAX && rows_of(c) <= 16 * ROW_MAX &&
           row_len(c, 16) * c->c.stride[2] <= ROW_MAX &&
           rows_of(c) * row_len(c, 16) * c->c.stride[2] <= 16 * ROW_MAX;
}

static size_t scratch_size(const cfx_context *ctx, const cfx_conv3 *c)
{
    int64_t len = row_len(c, cfx_conv_type_of(ctx, c)->lanes);

    return cfx_gemm_align((size_t)(rows_of(c) * len * c->c.stride[2]) *
                          c->size) +
           64;
}

size_t cfx_conv_depthwise_workspace(const cfx_context *ctx, const cfx_conv3 *c)
{
    return scratch_size(ctx, c) * (size_t)cfx_context_threads(ctx);
}

typedef struct depthwise {
    const cfx_conv3 *c;
    const cfx_conv_type *type;
    int64_t strips, columns, parts, row_len; /* parts: of a strip */
    size_t scratch;
    char *work;
} depthwise;

/* From column `at` of y on: the columns of x that are read, and those before. */
static void cut_columns(cfx_conv_strip *s, const cfx_conv3 *c, int64_t at,
                        int64_t columns)
{
    const cfx_conv *v = &c->c;
    int64_t first = at * v->stride[2] - v->pad[2];
    int64_t skipped = cfx_min64(cfx_max64(first, 0), v->in[2]);

    s->x = cfx_conv_at(s->x, skipped, c->size);
    s->y = (char *)s->y + (size_t)at * c->size;
    s->in_w = v->in[2] - skipped;
    s->out_w = cfx_min64(columns, v->out[2] - at);
    s->pad_w = cfx_max64(-first, 0);
}

static void strip_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const depthwise *d = arg;
    const cfx_conv3 *c = d->c;
    const cfx_conv *v = &c->c;

    for (int64_t i = begin; i < end; i++) {
        int64_t strip = i / d->parts, plane = strip / d->strips;
        int64_t o = plane % v->out_channels;
        int64_t from = plane / v->out_channels * v->in_channels +
                       o / c->group_out;
        int64_t row = strip % d->strips * STRIP;
        cfx_conv_strip s = {
            .x = cfx_conv_at(v->x, from * c->in_len, c->size),
            .w = cfx_conv_at(v->w, o * c->taps, c->size),
            .y = (char *)v->y +
                 (size_t)(plane * c->out_len + row * v->out[2]) * c->size,
            .rows = d->work + d->scratch * (size_t)worker,
            .in_h = v->in[1],
            .x_row = v->in[2],
            .y_row = v->out[2],
            .kernel_h = v->kernel[1],
            .kernel_w = v->kernel[2],
            .stride_h = v->stride[1],
            .stride_w = v->stride[2],
            .pad_h = v->pad[1],
            .dilation_h = v->dilation[1],
            .dilation_w = v->dilation[2],
            .begin = row,
            .end = row + STRIP < v->out[1] ? row + STRIP : v->out[1],
            .row_len = d->row_len};

        cut_columns(&s, c, i % d->parts * d->columns, d->columns);
        if (v->bias)
            s.bias = c->size == 4 ? ((const float *)v->bias)[o]
                                  : ((const double *)v->bias)[o];
        d->type->depthwise(&s);
    }
}

void cfx_conv_depthwise(cfx_context *ctx, const cfx_conv3 *c, void *work)
{
    const cfx_conv *v = &c->c;
    depthwise d = {.c = c,
                   .type = cfx_conv_type_of(ctx, c),
                   .strips = (v->out[1] + STRIP - 1) / STRIP,
                   .columns = columns_of(c),
                   .scratch = scratch_size(ctx, c),
                   .work = work};
    int64_t cost = (v->out[1] < STRIP ? v->out[1] : STRIP) * d.columns *
                   (c->taps + 4);

    d.parts = cfx_ceil_div(v->out[2], d.columns);
    d.row_len = row_len(c, d.type->lanes);
    cfx_parallel_for(ctx, v->batch * v->out_channels * d.strips * d.parts,
                     cost > 65536 ? 1 : 65536 / (cost + 1) + 1, strip_piece,
                     &d);
}
