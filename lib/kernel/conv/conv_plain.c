/*
 * conv_plain.c -- convolutions of integers, and the adding of transposed ones.
 *
 * Plain loops. Integers are summed modulo 2 to the bits of the type, for which
 * signed and unsigned numbers are the same.
 */
#include "kernel/conv/conv_core.h"

#include "base/stop.h"

/* The input offset of tap `t` of output `o`; false for padding. */
static bool read_at(const cfx_conv *v, const int64_t o[3], int64_t t,
                    int64_t *at)
{
    int64_t k[3] = {t / v->kernel[2] / v->kernel[1],
                    t / v->kernel[2] % v->kernel[1], t % v->kernel[2]};

    *at = 0;
    for (int a = 0; a < 3; a++) {
        int64_t i = o[a] * v->stride[a] - v->pad[a] + k[a] * v->dilation[a];
        if (i < 0 || i >= v->in[a])
            return false;
        *at = *at * v->in[a] + i;
    }
    return true;
}

/* The positions along one axis whose tap k falls in 0..n: from *begin to
 * before *end. Position i falls on i * stride + shift. */
static void range_of(int64_t len, int64_t stride, int64_t shift, int64_t n,
                     int64_t *begin, int64_t *end)
{
    *begin = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *end = shift >= n ? 0 : (n - shift + stride - 1) / stride;
    if (*end > len)
        *end = len;
}

/* y[position of tap] += x[i], for one tap: x is one channel, or one row of the
 * columns. */
#define SPREAD(T, WIDE)                                                       \
    static void spread_##T(const cfx_conv *v, T *y, const T *x, int64_t t,    \
                           WIDE factor)                                       \
    {                                                                         \
        int64_t k[3] = {t / v->kernel[2] / v->kernel[1],                      \
                        t / v->kernel[2] % v->kernel[1], t % v->kernel[2]};   \
        int64_t s[3], b[3], e[3];                                             \
                                                                              \
        for (int a = 0; a < 3; a++) {                                         \
            s[a] = k[a] * v->dilation[a] - v->pad[a];                         \
            range_of(v->in[a], v->stride[a], s[a], v->out[a], &b[a], &e[a]);  \
        }                                                                     \
        for (int64_t d = b[0]; d < e[0]; d++)                                 \
            for (int64_t h = b[1]; h < e[1]; h++) {                           \
                T *to = y +                                                   \
                        ((d * v->stride[0] + s[0]) * v->out[1] +              \
                         h * v->stride[1] + s[1]) *                           \
                            v->out[2] +                                       \
                        s[2];                                                 \
                const T *from = x + (d * v->in[1] + h) * v->in[2];            \
                for (int64_t w = b[2]; w < e[2]; w++)                         \
                    to[w * v->stride[2]] = (T)(to[w * v->stride[2]] +         \
                                               factor * from[w]);             \
            }                                                                 \
    }

SPREAD(float, float)
SPREAD(double, double)
SPREAD(uint8_t, uint32_t)
SPREAD(uint16_t, uint32_t)
SPREAD(uint32_t, uint32_t)
SPREAD(uint64_t, uint64_t)

#define SPREAD_FLOAT(T)                                                       \
    static void spread_all_##T(const cfx_conv3 *c, T *y, const T *columns,    \
                               const T *bias)                                 \
    {                                                                         \
        for (int64_t i = 0; i < c->out_len; i++)                              \
            y[i] = bias ? *bias : 0;                                          \
        for (int64_t t = 0; t < c->taps && !cfx_context_stops(c->ctx); t++)   \
            spread_##T(&c->c, y, columns + t * c->in_len, t, 1);              \
    }

SPREAD_FLOAT(float)
SPREAD_FLOAT(double)

void cfx_conv_spread(const cfx_conv3 *c, void *y, const void *columns,
                     const void *bias)
{
    if (c->size == 4)
        spread_all_float(c, y, columns, bias);
    else
        spread_all_double(c, y, columns, bias);
}

/* ---- Integers ---- */

#define PLANES(T, WIDE)                                                       \
    static WIDE sum_##T(const cfx_conv3 *c, const T *x, const T *w,           \
                        const int64_t o[3])                                   \
    {                                                                         \
        WIDE s = 0;                                                           \
        int64_t at;                                                           \
                                                                              \
        for (int64_t t = 0; t < c->taps; t++)                                 \
            if (read_at(&c->c, o, t, &at))                                    \
                for (int64_t i = 0; i < c->group_in; i++)                     \
                    s += (WIDE)x[i * c->in_len + at] * w[i * c->taps + t];    \
        return s;                                                             \
    }                                                                         \
                                                                              \
    /* Planes of y; plane p is channel p % out_channels of an image. */       \
    static void forward_##T(void *arg, int64_t begin, int64_t end,            \
                            int worker)                                       \
    {                                                                         \
        const cfx_conv3 *c = arg;                                             \
        const cfx_conv *v = &c->c;                                            \
        T *y = (T *)v->y + begin * c->out_len;                                \
                                                                              \
        (void)worker;                                                         \
        for (int64_t p = begin; p < end; p++) {                               \
            int64_t o = p % v->out_channels;                                  \
            const T *x = (const T *)v->x +                                    \
                         (p / v->out_channels * v->in_channels +              \
                          o / c->group_out * c->group_in) *                   \
                             c->in_len;                                       \
            const T *w = (const T *)v->w + o * c->group_in * c->taps;         \
            WIDE bias = v->bias ? ((const T *)v->bias)[o] : 0;                \
                                                                              \
            for (int64_t i = 0; i < c->out_len; i++) {                        \
                if (i % 64 == 0 && cfx_context_stops(c->ctx))                 \
                    return;                                                   \
                int64_t at[3] = {i / v->out[2] / v->out[1],                   \
                                 i / v->out[2] % v->out[1], i % v->out[2]};   \
                *y++ = (T)(bias + sum_##T(c, x, w, at));                      \
            }                                                                 \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void transpose_##T(void *arg, int64_t begin, int64_t end,          \
                              int worker)                                     \
    {                                                                         \
        const cfx_conv3 *c = arg;                                             \
        const cfx_conv *v = &c->c;                                            \
                                                                              \
        (void)worker;                                                         \
        for (int64_t p = begin; p < end; p++) {                               \
            int64_t o = p % v->out_channels, g = o / c->group_out;            \
            int64_t first = g * c->group_in;                                  \
            const T *x = (const T *)v->x +                                    \
                         (p / v->out_channels * v->in_channels + first) *     \
                             c->in_len;                                       \
            const T *w = (const T *)v->w +                                    \
                         (first * c->group_out + o % c->group_out) * c->taps; \
            T *y = (T *)v->y + p * c->out_len;                                \
                                                                              \
            for (int64_t i = 0; i < c->out_len; i++)                          \
                y[i] = v->bias ? ((const T *)v->bias)[o] : 0;                 \
            for (int64_t i = 0; i < c->group_in; i++)                         \
                for (int64_t t = 0;                                           \
                     t < c->taps && !cfx_context_stops(c->ctx); t++)          \
                    spread_##T(v, y, x + i * c->in_len, t,                    \
                               w[i * c->group_out * c->taps + t]);            \
        }                                                                     \
    }

PLANES(uint8_t, uint32_t)
PLANES(uint16_t, uint32_t)
PLANES(uint32_t, uint32_t)
PLANES(uint64_t, uint64_t)

void cfx_conv_int(cfx_context *ctx, const cfx_conv3 *c)
{
    cfx_conv3 t = *c;

    cfx_parallel_for(ctx, c->c.batch * c->c.out_channels, 1,
                     c->size == 1   ? forward_uint8_t
                     : c->size == 2 ? forward_uint16_t
                     : c->size == 4 ? forward_uint32_t
                                    : forward_uint64_t,
                     &t);
}

void cfx_conv_transpose_int(cfx_context *ctx, const cfx_conv3 *c)
{
    cfx_conv3 t = *c;

    cfx_parallel_for(ctx, c->c.batch * c->c.out_channels, 1,
                     c->size == 1   ? transpose_uint8_t
                     : c->size == 2 ? transpose_uint16_t
                     : c->size == 4 ? transpose_uint32_t
                                    : transpose_uint64_t,
                     &t);
}
