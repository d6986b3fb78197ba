/*
 * conv_product.c -- convolutions that are a matrix product as they stand.
 *
 * A window of one element with stride 1 reads x in its own order; a window that
 * is as large as x has one position, where it reads all of x in its own order.
 * A window of one element with a stride is the first kind, after the elements
 * that are read have been put side by side.
 */
#include "kernel/conv/conv_core.h"

/* Fewer outputs than this in an image are computed with those of the others,
 * so that w is packed once (conv_windows.c). */
enum { FEW = 256 };

static bool is_one(const cfx_conv3 *c)
{
    for (int i = 0; i < 3; i++)
        if (c->c.kernel[i] != 1 || c->c.pad[i] != 0 ||
            (c->c.out[i] - 1) * c->c.stride[i] >= c->c.in[i])
            return false;
    return true;
}

static bool is_dense(const cfx_conv3 *c)
{
    for (int i = 0; i < 3; i++)
        if (c->c.out[i] != c->c.in[i])
            return false;
    return true;
}

static bool is_all(const cfx_conv3 *c)
{
    for (int i = 0; i < 3; i++)
        if (c->c.kernel[i] != c->c.in[i] || c->c.pad[i] != 0 ||
            c->c.out[i] != 1 || (c->c.dilation[i] != 1 && c->c.kernel[i] != 1))
            return false;
    return true;
}

bool cfx_conv_is_product(const cfx_conv3 *c)
{
    if (is_all(c))
        return true;
    return is_one(c) && c->group_in > 1 &&
           (c->c.batch == 1 || c->out_len >= FEW);
}

/* y of one group: (batch, channels) = x w^T for windows that are all of x. */
static cfx_gemm product_all(const cfx_conv3 *c)
{
    int64_t k = c->group_in * c->taps;

    return (cfx_gemm){.dtype = c->c.dtype,
                      .m = c->c.batch,
                      .n = c->group_out,
                      .k = k,
                      .a_row = c->c.in_channels * c->taps,
                      .a_col = 1,
                      .b_row = 1,
                      .b_col = k,
                      .c_row = c->c.out_channels};
}

/* y of one group and image: (channels, outputs) = w x. */
static cfx_gemm product_one(const cfx_conv3 *c)
{
    return (cfx_gemm){.dtype = c->c.dtype,
                      .m = c->group_out,
                      .n = c->out_len,
                      .k = c->group_in,
                      .a_row = c->group_in,
                      .a_col = 1,
                      .b_row = c->out_len,
                      .b_col = 1,
                      .c_row = c->out_len};
}

/* The elements of x that are read, where these are not all. */
static size_t gather_size(const cfx_conv3 *c)
{
    return is_dense(c)
               ? 0
               : cfx_gemm_align((size_t)(c->c.in_channels * c->out_len) *
                                c->size);
}

size_t cfx_conv_product_workspace(const cfx_context *ctx, const cfx_conv3 *c)
{
    cfx_gemm g = is_all(c) ? product_all(c) : product_one(c);

    return cfx_gemm_workspace(ctx, &g) + (is_all(c) ? 0 : gather_size(c));
}

typedef struct gathering {
    const cfx_conv3 *c;
    const void *x;
    void *y;
} gathering;

#define GATHER(T)                                                             \
    static void gather_##T(void *arg, int64_t begin, int64_t end, int worker) \
    {                                                                         \
        const gathering *g = arg;                                             \
        const cfx_conv *c = &g->c->c;                                         \
        T *y = (T *)g->y + begin * g->c->out_len;                             \
                                                                              \
        (void)worker;                                                         \
        for (int64_t ch = begin; ch < end; ch++)                              \
            for (int64_t d = 0; d < c->out[0]; d++)                           \
                for (int64_t h = 0; h < c->out[1]; h++) {                     \
                    const T *x = (const T *)g->x + ch * g->c->in_len +        \
                                 (d * c->stride[0] * c->in[1] +               \
                                  h * c->stride[1]) *                         \
                                     c->in[2];                                \
                    for (int64_t w = 0; w < c->out[2]; w++)                   \
                        *y++ = x[w * c->stride[2]];                           \
                }                                                             \
    }

GATHER(float)
GATHER(double)

/* x of one image with what is not read left out. */
static const void *gather(cfx_context *ctx, const cfx_conv3 *c, const void *x,
                          void *work)
{
    gathering g = {c, x, work};

    if (is_dense(c))
        return x;
    cfx_parallel_for(ctx, c->c.in_channels, 16,
                     c->size == 4 ? gather_float : gather_double, &g);
    return work;
}

void cfx_conv_product(cfx_context *ctx, const cfx_conv3 *c, void *work)
{
    const cfx_conv *v = &c->c;
    bool all = is_all(c);
    cfx_gemm g = all ? product_all(c) : product_one(c);
    size_t gathered = all ? 0 : gather_size(c);
    void *rest = gathered ? (char *)work + gathered : work;

    for (int64_t n = 0; n < (all ? 1 : v->batch); n++) {
        const void *x = cfx_conv_at(v->x, n * v->in_channels * c->in_len,
                                    c->size);

        if (!all)
            x = gather(ctx, c, x, work);
        for (int64_t i = 0; i < v->groups; i++) {
            const void *w = cfx_conv_at(
                v->w, i * c->group_out * c->group_in * c->taps, c->size);
            const void *bias = cfx_conv_at(v->bias, i * c->group_out, c->size);
            const void *part = cfx_conv_at(x, i * g.k * (all ? 1 : c->out_len),
                                           c->size);

            g.a = all ? part : w;
            g.b = all ? w : part;
            g.bias = all ? bias : NULL;
            g.row_bias = all ? NULL : bias;
            g.c = (char *)v->y +
                  (size_t)((n * v->out_channels + i * c->group_out) *
                           c->out_len) *
                      c->size;
            cfx_gemm_run(ctx, &g, rest);
        }
    }
}
