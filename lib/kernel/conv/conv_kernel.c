/*
 * conv.c -- convolutions: which method computes a shape, and 16-bit floats.
 */
#include "kernel/conv/conv_kernel.h"

#include <string.h>

#include "kernel/conv/conv_core.h"
#include "kernel/pointwise/pointwise_kernel.h"

cfx_conv3 cfx_conv3_make(const cfx_context *ctx, const cfx_conv *c)
{
    cfx_conv3 r = {.ctx = ctx, .c = *c, .size = cfx_dtype_size(c->dtype)};
    int lead = 3 - c->spatial;

    r.c.spatial = 3;
    r.group_in = c->in_channels / c->groups;
    r.group_out = c->out_channels / c->groups;
    r.taps = r.in_len = r.out_len = 1;
    for (int i = 0; i < 3; i++) {
        bool none = i < lead;
        int from = none ? 0 : i - lead;

        r.c.in[i] = none ? 1 : c->in[from];
        r.c.out[i] = none ? 1 : c->out[from];
        r.c.kernel[i] = none ? 1 : c->kernel[from];
        r.c.stride[i] = none ? 1 : c->stride[from];
        r.c.dilation[i] = none ? 1 : c->dilation[from];
        r.c.pad[i] = none ? 0 : c->pad[from];
        r.taps *= r.c.kernel[i];
        r.in_len *= r.c.in[i];
        r.out_len *= r.c.out[i];
    }
    return r;
}

/* ---- Methods ---- */

typedef struct method {
    const char *name; /* of one that needs fewer operations; or NULL */
    bool (*is)(const cfx_conv3 *c); /* NULL: any */
    size_t (*workspace)(const cfx_context *ctx, const cfx_conv3 *c);
    void (*run)(cfx_context *ctx, const cfx_conv3 *c, void *work);
} method;

/* The first that can is taken. */
static const method methods[] = {
    {NULL, cfx_conv_is_product, cfx_conv_product_workspace, cfx_conv_product},
    {NULL, cfx_conv_is_depthwise, cfx_conv_depthwise_workspace,
     cfx_conv_depthwise},
    {"winograd", cfx_conv_is_winograd, cfx_conv_winograd_workspace,
     cfx_conv_winograd},
    {NULL, NULL, cfx_conv_windows_workspace, cfx_conv_windows},
};

static const method *method_of(const cfx_conv3 *c)
{
    const method *m = methods;

    while (m->is && !m->is(c))
        m++;
    return m;
}

/* ---- 16-bit floats: all of it converted there and back ---- */

/* The number of elements of w; the same for transposed convolutions. */
static int64_t weight_len(const cfx_conv3 *c)
{
    return c->c.out_channels * c->group_in * c->taps;
}

/* x, w, bias and y as floats, in this order. */
static void wide_sizes(const cfx_conv3 *c, size_t size[4])
{
    int64_t n[4] = {c->c.batch * c->c.in_channels * c->in_len, weight_len(c),
                    c->c.out_channels,
                    c->c.batch * c->c.out_channels * c->out_len};

    for (int i = 0; i < 4; i++)
        size[i] = cfx_gemm_align((size_t)n[i] * sizeof(float));
}

typedef struct conversion {
    cfx_convert_fn *fn;
    char *y;
    const char *x;
    size_t y_size, x_size;
} conversion;

static void convert_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const conversion *c = arg;

    (void)worker;
    c->fn(c->y + (size_t)begin * c->y_size, 1,
          c->x + (size_t)begin * c->x_size, 1, end - begin);
}

static void convert(cfx_context *ctx, void *y, cfx_dtype yt, const void *x,
                    cfx_dtype xt, int64_t n)
{
    conversion c = {cfx_context_kernels(ctx)->pointwise->convert[yt][xt], y, x,
                    cfx_dtype_size(yt), cfx_dtype_size(xt)};

    cfx_parallel_for(ctx, n, 16384, convert_piece, &c);
}

typedef void run_fn(cfx_context *ctx, const cfx_conv *c, void *work);

static size_t wide_workspace(const cfx_context *ctx, const cfx_conv3 *c,
                             size_t (*of)(const cfx_context *ctx,
                                          const cfx_conv *c))
{
    cfx_conv wide = c->c;
    size_t size[4];

    wide.dtype = CFX_F32;
    wide_sizes(c, size);
    return size[0] + size[1] + size[2] + size[3] + of(ctx, &wide);
}

static void run_wide(cfx_context *ctx, const cfx_conv3 *c, void *work,
                     run_fn *run)
{
    cfx_conv wide = c->c;
    cfx_dtype t = c->c.dtype;
    size_t size[4];
    char *x = work, *w, *bias, *y;

    wide_sizes(c, size);
    w = x + size[0];
    bias = w + size[1];
    y = bias + size[2];
    convert(ctx, x, CFX_F32, c->c.x, t,
            c->c.batch * c->c.in_channels * c->in_len);
    convert(ctx, w, CFX_F32, c->c.w, t, weight_len(c));
    if (c->c.bias)
        convert(ctx, bias, CFX_F32, c->c.bias, t, c->c.out_channels);
    wide.dtype = CFX_F32;
    wide.x = x;
    wide.w = w;
    wide.bias = c->c.bias ? bias : NULL;
    wide.y = y;
    run(ctx, &wide, y + size[3]);
    convert(ctx, c->c.y, t, y, CFX_F32,
            c->c.batch * c->c.out_channels * c->out_len);
}

/* ---- Forward ---- */

size_t cfx_conv_workspace(const cfx_context *ctx, const cfx_conv *c)
{
    cfx_conv3 r = cfx_conv3_make(ctx, c);

    if (!cfx_dtype_is_float(c->dtype))
        return 0;
    if (cfx_dtype_is_reduced(c->dtype))
        return wide_workspace(ctx, &r, cfx_conv_workspace);
    return method_of(&r)->workspace(ctx, &r);
}

const char *cfx_conv_algorithm(const cfx_conv *c)
{
    cfx_conv3 r;
    cfx_conv wide = *c;

    if (!cfx_dtype_is_float(c->dtype))
        return NULL;
    if (cfx_dtype_is_reduced(c->dtype))
        wide.dtype = CFX_F32;
    r = cfx_conv3_make(NULL, &wide);
    return method_of(&r)->name;
}

void cfx_conv_run(cfx_context *ctx, const cfx_conv *c, void *workspace)
{
    cfx_conv3 r = cfx_conv3_make(ctx, c);

    if (c->batch * c->out_channels * r.out_len == 0)
        return;
    if (!cfx_dtype_is_float(c->dtype))
        cfx_conv_int(ctx, &r);
    else if (cfx_dtype_is_reduced(c->dtype))
        run_wide(ctx, &r, workspace, cfx_conv_run);
    else
        method_of(&r)->run(ctx, &r, workspace);
}

/* ---- Transposed: the product w^T x, then every window added to y ---- */

/* The product for one image and one group. */
static cfx_gemm spread_product(const cfx_conv3 *c)
{
    int64_t m = c->group_out * c->taps;

    return (cfx_gemm){.dtype = c->c.dtype,
                      .m = m,
                      .n = c->in_len,
                      .k = c->group_in,
                      .a_row = 1,
                      .a_col = m,
                      .b_row = c->in_len,
                      .b_col = 1,
                      .c_row = c->in_len};
}

static size_t columns_size(const cfx_conv3 *c)
{
    return cfx_gemm_align((size_t)(c->group_out * c->taps * c->in_len) *
                          c->size);
}

size_t cfx_conv_transpose_workspace(const cfx_context *ctx, const cfx_conv *c)
{
    cfx_conv3 r = cfx_conv3_make(ctx, c);
    cfx_gemm g;

    if (!cfx_dtype_is_float(c->dtype))
        return 0;
    if (cfx_dtype_is_reduced(c->dtype))
        return wide_workspace(ctx, &r, cfx_conv_transpose_workspace);
    g = spread_product(&r);
    return columns_size(&r) + cfx_gemm_workspace(ctx, &g);
}

typedef struct spreading {
    const cfx_conv3 *c;
    const void *columns;
    const void *bias;
    void *y;
} spreading;

static void spread_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const spreading *s = arg;
    const cfx_conv3 *c = s->c;

    (void)worker;
    for (int64_t o = begin; o < end; o++)
        cfx_conv_spread(
            c, (char *)s->y + (size_t)(o * c->out_len) * c->size,
            cfx_conv_at(s->columns, o * c->taps * c->in_len, c->size),
            cfx_conv_at(s->bias, o, c->size));
}

void cfx_conv_transpose_run(cfx_context *ctx, const cfx_conv *conv,
                            void *workspace)
{
    cfx_conv3 r = cfx_conv3_make(ctx, conv), *c = &r;
    cfx_gemm g = spread_product(c);

    if (conv->batch * conv->out_channels * r.out_len == 0)
        return;
    if (!cfx_dtype_is_float(conv->dtype)) {
        cfx_conv_transpose_int(ctx, c);
        return;
    }
    if (cfx_dtype_is_reduced(conv->dtype)) {
        run_wide(ctx, c, workspace, cfx_conv_transpose_run);
        return;
    }
    void *work = (char *)workspace + columns_size(c);
    for (int64_t i = 0; i < conv->batch * conv->groups; i++) {
        int64_t group = i % conv->groups;
        spreading s = {c, workspace,
                       cfx_conv_at(conv->bias, group * c->group_out, c->size),
                       (char *)conv->y +
                           (size_t)(i * c->group_out * c->out_len) * c->size};

        g.a = cfx_conv_at(conv->w, group * c->group_in * g.m, c->size);
        g.b = cfx_conv_at(conv->x, i * c->group_in * c->in_len, c->size);
        g.c = workspace;
        cfx_gemm_run(ctx, &g, work);
        cfx_parallel_for(ctx, c->group_out, 1, spread_piece, &s);
    }
}
