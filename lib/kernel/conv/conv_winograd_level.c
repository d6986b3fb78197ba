/*
 * winograd_level.c -- the transformations of winograd.h, for one level.
 *
 * Rows are transformed first, then columns, as winograd_1d.h does it; weights by
 * the powers 0 to 2 of each point over its distances from the others.
 */
#include "kernel/conv/conv_winograd.h"

#include <string.h>

#include "kernel/conv/winograd_1d.h"

enum { EDGE = CFX_WINO_EDGE };

/* ---- One dimension ---- */

CFX_FORCE_INLINE void weight_1d(vf y[6], vf x0, vf x1, vf x2)
{
    const float at_a = 1 / (2 * AA * (AA - BB));
    const float at_b = 1 / (2 * BB * (BB - AA));
    vf a = vf_fma(vf_set1(at_a * AA), x2, vf_mul(vf_set1(at_a), x0));
    vf b = vf_fma(vf_set1(at_b * BB), x2, vf_mul(vf_set1(at_b), x0));

    y[0] = vf_mul(vf_set1(1 / (AA * BB)), x0);
    y[1] = vf_fma(vf_set1(at_a * A), x1, a);
    y[2] = vf_fma(vf_set1(-at_a * A), x1, a);
    y[3] = vf_fma(vf_set1(at_b * B), x1, b);
    y[4] = vf_fma(vf_set1(-at_b * B), x1, b);
    y[5] = x2;
}

/* ---- Four numbers of each tile, and one vector for each number ---- */

#if CFX_LEVEL_IS(avx512)

CFX_FORCE_INLINE __m512 four_tiles(const float *x, const int64_t *at, int q)
{
    __m512 r = _mm512_castps128_ps512(_mm_loadu_ps(x + at[q]));

    r = _mm512_insertf32x4(r, _mm_loadu_ps(x + at[4 + q]), 1);
    r = _mm512_insertf32x4(r, _mm_loadu_ps(x + at[8 + q]), 2);
    return _mm512_insertf32x4(r, _mm_loadu_ps(x + at[12 + q]), 3);
}

#define WIDE(f) _mm512_##f
#define CAST_PD _mm512_castps_pd
#define CAST_PS _mm512_castpd_ps

#elif CFX_LEVEL_IS(avx2)

CFX_FORCE_INLINE __m256 four_tiles(const float *x, const int64_t *at, int q)
{
    __m256 r = _mm256_castps128_ps256(_mm_loadu_ps(x + at[q]));

    return _mm256_insertf128_ps(r, _mm_loadu_ps(x + at[4 + q]), 1);
}

#define WIDE(f) _mm256_##f
#define CAST_PD _mm256_castps_pd
#define CAST_PS _mm256_castpd_ps

#endif

#ifdef WIDE

/* In every group of four lanes: rows become columns. */
CFX_FORCE_INLINE void transpose_4(vf r[4])
{
    vf t0 = WIDE(unpacklo_ps)(r[0], r[1]), t1 = WIDE(unpackhi_ps)(r[0], r[1]);
    vf t2 = WIDE(unpacklo_ps)(r[2], r[3]), t3 = WIDE(unpackhi_ps)(r[2], r[3]);

    r[0] = CAST_PS(WIDE(unpacklo_pd)(CAST_PD(t0), CAST_PD(t2)));
    r[1] = CAST_PS(WIDE(unpackhi_pd)(CAST_PD(t0), CAST_PD(t2)));
    r[2] = CAST_PS(WIDE(unpacklo_pd)(CAST_PD(t1), CAST_PD(t3)));
    r[3] = CAST_PS(WIDE(unpackhi_pd)(CAST_PD(t1), CAST_PD(t3)));
}

/* v[j] = element j of all tiles, 0 <= j < 4. */
CFX_FORCE_INLINE void load_4(vf v[4], const float *x, const int64_t *at)
{
    CFX_UNROLL
    for (int q = 0; q < 4; q++)
        v[q] = four_tiles(x, at, q);
    transpose_4(v);
}

/* y[16 * t + j] = element j of tile t. */
CFX_FORCE_INLINE void store_4(float *y, const vf x[4])
{
    vf v[4] = {x[0], x[1], x[2], x[3]};

    transpose_4(v);
    CFX_UNROLL
    for (int q = 0; q < 4; q++) {
#if CFX_LEVEL_IS(avx512)
        _mm_storeu_ps(y + 16 * q, _mm512_castps512_ps128(v[q]));
        _mm_storeu_ps(y + 16 * (4 + q), _mm512_extractf32x4_ps(v[q], 1));
        _mm_storeu_ps(y + 16 * (8 + q), _mm512_extractf32x4_ps(v[q], 2));
        _mm_storeu_ps(y + 16 * (12 + q), _mm512_extractf32x4_ps(v[q], 3));
#else
        _mm_storeu_ps(y + 16 * q, _mm256_castps256_ps128(v[q]));
        _mm_storeu_ps(y + 16 * (4 + q), _mm256_extractf128_ps(v[q], 1));
#endif
    }
}

#else

CFX_FORCE_INLINE void load_4(vf v[4], const float *x, const int64_t *at)
{
    for (int j = 0; j < 4; j++) {
        float t[VF];

        for (int i = 0; i < VF; i++)
            t[i] = x[at[i] + j];
        v[j] = vf_load(t);
    }
}

CFX_FORCE_INLINE void store_4(float *y, const vf x[4])
{
    for (int j = 0; j < 4; j++) {
        float t[VF];

        vf_store(t, x[j]);
        for (int i = 0; i < VF; i++)
            y[16 * i + j] = t[i];
    }
}

#endif

/* ---- Two dimensions ---- */

static void inputs(float *v, int64_t step, const float *x, const int64_t *at,
                   int64_t row)
{
    vf d[EDGE][EDGE];

    CFX_UNROLL
    for (int i = 0; i < EDGE; i++) {
        vf x8[8];
        load_4(x8, x + i * row, at);
        load_4(x8 + 4, x + i * row + 4, at);
        input_1d(d[i], x8);
    }
    CFX_UNROLL
    for (int j = 0; j < EDGE; j++) {
        vf c[EDGE], r[EDGE];
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            r[i] = d[i][j];
        input_1d(c, r);
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            vf_store(v + (i * EDGE + j) * step, c[i]);
    }
}

static bool outputs(float *y, const float *m, int64_t step, float bias)
{
    vf s[4][EDGE], b = vf_set1(bias), zero = vf_zero(), bad = zero;

    CFX_UNROLL
    for (int j = 0; j < EDGE; j++) {
        vf c[EDGE], r[4];
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            c[i] = vf_load(m + (i * EDGE + j) * step);
        output_1d(r, c);
        CFX_UNROLL
        for (int i = 0; i < 4; i++)
            s[i][j] = r[i];
    }
    CFX_UNROLL
    for (int i = 0; i < 4; i++) {
        vf r[4];
        output_1d(r, s[i]);
        CFX_UNROLL
        for (int j = 0; j < 4; j++) {
            r[j] = vf_add(r[j], b);
            bad = vf_fma(r[j], zero, bad);
        }
        store_4(y + 4 * i, r);
    }
    /* NaN where anything was not finite: that times 0 is not 0. */
    return vf_sum(bad) == 0;
}

/* One vector of weights; w has 9 for each lane. */
CFX_FORCE_INLINE void weights_vector(float *u, int64_t step, const float *w,
                                     int64_t len)
{
    vf d[EDGE][3];

    CFX_UNROLL
    for (int j = 0; j < 3; j++) {
        vf c[EDGE];
        weight_1d(c, vf_load_step(w + j, 9), vf_load_step(w + 3 + j, 9),
                  vf_load_step(w + 6 + j, 9));
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            d[i][j] = c[i];
    }
    CFX_UNROLL
    for (int i = 0; i < EDGE; i++) {
        vf c[EDGE];
        weight_1d(c, d[i][0], d[i][1], d[i][2]);
        CFX_UNROLL
        for (int j = 0; j < EDGE; j++)
            vf_store_n(u + (i * EDGE + j) * step, len, c[j]);
    }
}

static void weights(float *u, int64_t step, const float *w, int64_t n)
{
    float last[VF * 9] = {0};

    for (; n >= VF; n -= VF, u += VF, w += VF * 9)
        weights_vector(u, step, w, VF);
    if (n > 0) {
        memcpy(last, w, (size_t)n * 9 * sizeof(*w));
        weights_vector(u, step, last, n);
    }
}

extern const struct cfx_winograd_kernels CFX_LEVEL_NAME(cfx_winograd_kernels);

const struct cfx_winograd_kernels CFX_LEVEL_NAME(cfx_winograd_kernels) = {
    .lanes = VF, .weights = weights, .inputs = inputs, .outputs = outputs};
