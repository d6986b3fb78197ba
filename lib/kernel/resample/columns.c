/*
 * columns.c -- windows as columns, and columns added up to an image.
 *
 * The columns of one channel are kernel0 * kernel1 rows, one a tap; each is the
 * outputs that the tap reads. A piece of work is one channel of one image.
 */
#include "base/convert.h"
#include "base/stop.h"
#include "kernel/resample/resample.h"

/* 16 bytes, of complex128. */
typedef struct pair {
    uint64_t half[2];
} pair;

typedef struct work {
    const cfx_context *ctx;
    const cfx_columns *c;
    const void *from;
    void *to;
} work;

/* The outputs along one axis whose tap, `shift` from output * stride, falls
 * into 0..n: *begin to before *end. */
static void range_of(int64_t out, int64_t stride, int64_t shift, int64_t n,
                     int64_t *begin, int64_t *end)
{
    *begin = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *end = shift >= n ? 0 : (n - shift + stride - 1) / stride;
    if (*end > out)
        *end = out;
    if (*begin > *end)
        *begin = *end;
}

/* Go through the rows of one channel of `w`: `EACH` does elements b1..e1 of a
 * row of outputs (at `out`) and of the image (at `in`, c->stride[1] apart). */
#define FOR_ROWS(c, EACH)                                                     \
    for (int64_t k0 = 0; k0 < (c)->kernel[0]; k0++)                           \
        for (int64_t k1 = 0;                                                  \
             k1 < (c)->kernel[1] && !cfx_context_stops(w->ctx); k1++) {       \
            int64_t s0 = k0 * (c)->dilation[0] - (c)->pad[0], b0, e0;         \
            int64_t s1 = k1 * (c)->dilation[1] - (c)->pad[1], b1, e1;         \
            int64_t tap = (k0 * (c)->kernel[1] + k1) * (c)->out[0];           \
                                                                              \
            range_of((c)->out[0], (c)->stride[0], s0, (c)->in[0], &b0, &e0);  \
            range_of((c)->out[1], (c)->stride[1], s1, (c)->in[1], &b1, &e1);  \
            for (int64_t o = b0; o < e0; o++) {                               \
                int64_t out = (tap + o) * (c)->out[1];                        \
                int64_t in = (o * (c)->stride[0] + s0) * (c)->in[1] + s1;     \
                EACH                                                          \
            }                                                                 \
        }

#define IM2COL(T)                                                             \
    static void im2col_##T(void *arg, int64_t begin, int64_t end, int worker) \
    {                                                                         \
        const work *w = arg;                                                  \
        const cfx_columns *c = w->c;                                          \
        int64_t image = c->in[0] * c->in[1];                                  \
        int64_t columns = c->kernel[0] * c->kernel[1] * c->out[0] *           \
                          c->out[1];                                          \
                                                                              \
        (void)worker;                                                         \
        cfx_fill_bytes(w->ctx, (T *)w->to + begin * columns, 0,               \
                       (size_t)((end - begin) * columns) * sizeof(T));        \
        for (int64_t i = begin; i < end; i++) {                               \
            const T *x = (const T *)w->from + i * image;                      \
            T *y = (T *)w->to + i * columns;                                  \
                                                                              \
            FOR_ROWS(c, {                                                     \
                for (int64_t p = b1; p < e1; p++)                             \
                    y[out + p] = x[in + p * c->stride[1]];                    \
            })                                                                \
        }                                                                     \
    }

IM2COL(uint8_t)
IM2COL(uint16_t)
IM2COL(uint32_t)
IM2COL(uint64_t)
IM2COL(pair)

#define COL2IM(name, T, LOAD, SAVE)                                           \
    static void col2im_##name(void *arg, int64_t begin, int64_t end,          \
                              int worker)                                     \
    {                                                                         \
        const work *w = arg;                                                  \
        const cfx_columns *c = w->c;                                          \
        int64_t image = c->in[0] * c->in[1];                                  \
        int64_t columns = c->kernel[0] * c->kernel[1] * c->out[0] *           \
                          c->out[1];                                          \
                                                                              \
        (void)worker;                                                         \
        cfx_fill_bytes(w->ctx, (T *)w->to + begin * image, 0,                 \
                       (size_t)((end - begin) * image) * sizeof(T));          \
        for (int64_t i = begin; i < end; i++) {                               \
            const T *x = (const T *)w->from + i * columns;                    \
            T *y = (T *)w->to + i * image;                                    \
                                                                              \
            FOR_ROWS(c, {                                                     \
                for (int64_t p = b1; p < e1; p++) {                           \
                    T *to = y + in + p * c->stride[1];                        \
                    *to = SAVE(LOAD(*to) + LOAD(x[out + p]));                 \
                }                                                             \
            })                                                                \
        }                                                                     \
    }

#define ITSELF(x) (x)
#define TO_BOOL(x) ((uint8_t)((x) != 0))
COL2IM(f32, float, ITSELF, ITSELF)
COL2IM(f64, double, ITSELF, ITSELF)
COL2IM(f16, uint16_t, cfx_half_to_float, cfx_float_to_half)
COL2IM(bf16, uint16_t, cfx_bf16_to_f32, cfx_float_to_bfloat)
COL2IM(c64, float _Complex, ITSELF, ITSELF)
COL2IM(c128, double _Complex, ITSELF, ITSELF)
COL2IM(bool, uint8_t, ITSELF, TO_BOOL)

void cfx_im2col(cfx_context *ctx, const cfx_columns *c, const void *x,
                void *columns)
{
    size_t size = cfx_dtype_size(c->dtype);
    work w = {ctx, c, x, columns};

    cfx_parallel_for(ctx, c->batch * c->channels, 1,
                     size == 1   ? im2col_uint8_t
                     : size == 2 ? im2col_uint16_t
                     : size == 4 ? im2col_uint32_t
                     : size == 8 ? im2col_uint64_t
                                 : im2col_pair,
                     &w);
}

void cfx_col2im(cfx_context *ctx, const cfx_columns *c, const void *columns,
                void *x)
{
    work w = {ctx, c, columns, x};

    cfx_parallel_for(ctx, c->batch * c->channels, 1,
                     c->dtype == CFX_F64    ? col2im_f64
                     : c->dtype == CFX_C64  ? col2im_c64
                     : c->dtype == CFX_C128 ? col2im_c128
                     : c->dtype == CFX_BOOL ? col2im_bool
                     : c->dtype == CFX_F16  ? col2im_f16
                     : c->dtype == CFX_BF16 ? col2im_bf16
                                            : col2im_f32,
                     &w);
}
