/*
 * pool_level.h -- the text of pool_level.c for one type. T is the type of
 * elements, C the one they are compared in, S the one they are summed in; LOAD
 * and SAVE go from one to the other; LEAST is less than all; NAME(f) is what is
 * defined here.
 *
 * A window is a box, so its rows are joined first, element by element, and then
 * what is joined along the innermost axis.
 */

/* ---- Maximum ---- */

/* The greater of two; NaN is greater than all. */
CFX_FORCE_INLINE C NAME(greater)(C a, C b)
{
    return b > a || IS_NAN(b) ? b : a;
}

/* held[i] = the maximum of the rows of the window at column from + i. */
static void NAME(max_rows)(const cfx_pool *p, const T *x, const place *at,
                           int64_t from, int64_t n, C *held)
{
    int64_t d, h, dn = taps_inside(p, 0, at->o[0], p->dilation[0], &d);
    int64_t hn = taps_inside(p, 1, at->o[1], p->dilation[1], &h);
    int64_t begin = cfx_min64(cfx_max64(-from, 0), n);
    int64_t end = cfx_max64(cfx_min64(p->in[2] - from, n), begin);

    for (int64_t i = 0; i < n; i++)
        held[i] = LEAST;
    for (int64_t i = 0; i < dn; i++)
        for (int64_t j = 0; j < hn; j++) {
            const T *row = x +
                           ((d + i * p->dilation[0]) * p->in[1] + h +
                            j * p->dilation[1]) *
                               p->in[2] +
                           from;
            CFX_SIMD
            for (int64_t q = begin; q < end; q++)
                held[q] = NAME(greater)(held[q], LOAD(row[q]));
        }
}

CFX_FORCE_INLINE void NAME(max_taps)(const cfx_pool *p, const int64_t stride,
                                     const C *held, int64_t n, T *y)
{
    C best[HELD];

    for (int64_t i = 0; i < n; i++)
        best[i] = held[i * stride];
    for (int64_t k = 1; k < p->kernel[2]; k++) {
        const C *from = held + k * p->dilation[2];
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            best[i] = NAME(greater)(best[i], from[i * stride]);
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = SAVE(best[i]);
}

static void NAME(max)(const cfx_pool3 *p3, int64_t begin, int64_t end)
{
    const cfx_pool *p = &p3->p;
    int64_t reach = (p->kernel[2] - 1) * p->dilation[2] + 1;
    int64_t step = (HELD - reach) / p->stride[2] + 1;
    C held[HELD];

    for (int64_t r = begin; r < end; r++) {
        place at = place_of(p3, r);
        const T *x = (const T *)p->x + at.plane * p3->in_len;
        T *y = (T *)p->y + r * p->out[2];

        for (int64_t w = 0; w < p->out[2]; w += step, y += step) {
            int64_t n = cfx_min64(step, p->out[2] - w);

            NAME(max_rows)
            (p, x, &at, w * p->stride[2] - p->pad[2],
             (n - 1) * p->stride[2] + reach, held);
            if (p->stride[2] == 1)
                NAME(max_taps)(p, 1, held, n, y);
            else if (p->stride[2] == 2)
                NAME(max_taps)(p, 2, held, n, y);
            else
                NAME(max_taps)(p, p->stride[2], held, n, y);
        }
    }
}

/* The first maximum, or the last NaN, of a box: n elements along each axis from
 * `first`, `step` apart. */
static int64_t NAME(find)(const cfx_pool *p, const T *x,
                          const int64_t first[3], const int64_t n[3],
                          const int64_t step[3])
{
    int64_t best = (first[0] * p->in[1] + first[1]) * p->in[2] + first[2];
    C value = LEAST;

    for (int64_t d = 0; d < n[0]; d++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t w = 0; w < n[2]; w++) {
                int64_t i = ((first[0] + d * step[0]) * p->in[1] + first[1] +
                             h * step[1]) *
                                p->in[2] +
                            first[2] + w * step[2];
                C v = LOAD(x[i]);

                if (v > value || IS_NAN(v)) {
                    value = v;
                    best = i;
                }
            }
    return best;
}

static void NAME(max_indices)(const cfx_pool3 *p3, int64_t begin, int64_t end)
{
    const cfx_pool *p = &p3->p;

    for (int64_t r = begin; r < end; r++) {
        place at = place_of(p3, r);
        const T *x = (const T *)p->x + at.plane * p3->in_len;
        int64_t n[3], first[3];

        for (int a = 0; a < 2; a++)
            n[a] = taps_inside(p, a, at.o[a], p->dilation[a], &first[a]);
        for (int64_t w = 0; w < p->out[2]; w++) {
            int64_t to = r * p->out[2] + w, i;

            n[2] = taps_inside(p, 2, w, p->dilation[2], &first[2]);
            i = NAME(find)(p, x, first, n, p->dilation);
            if (n[0] > 0 && n[1] > 0 && n[2] > 0)
                ((T *)p->y)[to] = x[i];
            else
                ((T *)p->y)[to] = SAVE((C)LEAST);
            if (p->indices)
                p->indices[to] = i;
        }
    }
}

static void NAME(adaptive_max)(const cfx_pool3 *p3, int64_t begin, int64_t end)
{
    static const int64_t one[3] = {1, 1, 1};
    const cfx_pool *p = &p3->p;

    for (int64_t r = begin; r < end; r++) {
        place at = place_of(p3, r);
        const T *x = (const T *)p->x + at.plane * p3->in_len;
        int64_t n[3], first[3];

        for (int a = 0; a < 2; a++) {
            first[a] = adaptive_begin(p, a, at.o[a]);
            n[a] = adaptive_end(p, a, at.o[a]) - first[a];
        }
        for (int64_t w = 0; w < p->out[2]; w++) {
            int64_t to = r * p->out[2] + w, i;

            first[2] = adaptive_begin(p, 2, w);
            n[2] = adaptive_end(p, 2, w) - first[2];
            i = NAME(find)(p, x, first, n, one);
            ((T *)p->y)[to] = x[i];
            if (p->indices)
                p->indices[to] = i;
        }
    }
}

/* ---- Average ---- */

/* held[i] = the sum of the rows of the window at column from + i. */
static void NAME(sum_rows)(const cfx_pool *p, const T *x, const place *at,
                           int64_t from, int64_t n, S *held)
{
    int64_t d, h, dn = taps_inside(p, 0, at->o[0], 1, &d);
    int64_t hn = taps_inside(p, 1, at->o[1], 1, &h);
    int64_t begin = cfx_min64(cfx_max64(-from, 0), n);
    int64_t end = cfx_max64(cfx_min64(p->in[2] - from, n), begin);

    for (int64_t i = 0; i < n; i++)
        held[i] = 0;
    for (int64_t i = 0; i < dn; i++)
        for (int64_t j = 0; j < hn; j++) {
            const T *row = x + ((d + i) * p->in[1] + h + j) * p->in[2] + from;
            CFX_SIMD
            for (int64_t q = begin; q < end; q++)
                held[q] += LOAD(row[q]);
        }
}

CFX_FORCE_INLINE void NAME(sum_taps)(int64_t kernel, const int64_t stride,
                                     const S *held, int64_t n, S *sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] = held[i * stride];
    for (int64_t k = 1; k < kernel; k++) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            sum[i] += held[k + i * stride];
    }
}

/* Sums of windows too wide to hold, one at a time. */
static S NAME(sum_wide)(const cfx_pool *p, const T *x, const place *at,
                        int64_t w)
{
    int64_t from, n = taps_inside(p, 2, w, 1, &from);
    S held[HELD], sum = 0;

    while (n > 0) {
        int64_t len = cfx_min64(n, HELD);

        NAME(sum_rows)(p, x, at, from, len, held);
        for (int64_t i = 0; i < len; i++)
            sum += held[i];
        from += len;
        n -= len;
    }
    return sum;
}

static void NAME(avg)(const cfx_pool3 *p3, int64_t begin, int64_t end)
{
    const cfx_pool *p = &p3->p;
    bool wide = p->kernel[2] > CFX_POOL_REACH;
    int64_t step = wide ? HELD : (HELD - p->kernel[2]) / p->stride[2] + 1;
    S held[HELD], sum[HELD];

    for (int64_t r = begin; r < end; r++) {
        place at = place_of(p3, r);
        const T *x = (const T *)p->x + at.plane * p3->in_len;
        T *y = (T *)p->y + r * p->out[2];
        int64_t outer = counted(p, 0, at.o[0]) * counted(p, 1, at.o[1]);

        for (int64_t w = 0; w < p->out[2]; w += step, y += step) {
            int64_t n = cfx_min64(step, p->out[2] - w);

            if (wide) {
                for (int64_t i = 0; i < n; i++)
                    sum[i] = NAME(sum_wide)(p, x, &at, w + i);
            } else {
                NAME(sum_rows)
                (p, x, &at, w * p->stride[2] - p->pad[2],
                 (n - 1) * p->stride[2] + p->kernel[2], held);
                if (p->stride[2] == 2)
                    NAME(sum_taps)(p->kernel[2], 2, held, n, sum);
                else
                    NAME(sum_taps)(p->kernel[2], p->stride[2], held, n, sum);
            }
            for (int64_t i = 0; i < n; i++) {
                int64_t count = p->divisor ? p->divisor
                                           : outer * counted(p, 2, w + i);
                /* A window of padding alone is 0, whatever counts. */
                y[i] = SAVE(count ? sum[i] / (S)count : 0);
            }
        }
    }
}

static void NAME(adaptive_avg)(const cfx_pool3 *p3, int64_t begin, int64_t end)
{
    const cfx_pool *p = &p3->p;

    for (int64_t r = begin; r < end; r++) {
        place at = place_of(p3, r);
        const T *x = (const T *)p->x + at.plane * p3->in_len;
        int64_t d0 = adaptive_begin(p, 0, at.o[0]);
        int64_t d1 = adaptive_end(p, 0, at.o[0]);
        int64_t h0 = adaptive_begin(p, 1, at.o[1]);
        int64_t h1 = adaptive_end(p, 1, at.o[1]);

        for (int64_t w = 0; w < p->out[2]; w++) {
            int64_t w0 = adaptive_begin(p, 2, w), w1 = adaptive_end(p, 2, w);
            int64_t count = (d1 - d0) * (h1 - h0) * (w1 - w0);
            S sum = 0;

            for (int64_t d = d0; d < d1; d++)
                for (int64_t h = h0; h < h1; h++) {
                    const T *row = x + (d * p->in[1] + h) * p->in[2];
                    for (int64_t i = w0; i < w1; i++)
                        sum += LOAD(row[i]);
                }
            ((T *)p->y)[r * p->out[2] + w] = SAVE(count ? sum / (S)count : 0);
        }
    }
}
