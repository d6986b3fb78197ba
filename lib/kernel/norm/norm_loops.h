/*
 * norm_loops.h -- softmax and normalization of one type: included once for
 * each, with T, M(f), EXP(x) for x <= 0, LOG(x), V (elements kept side by side)
 * defined.
 *
 * Sums and maxima use V accumulators, since the compiler may not reorder a
 * sum; these are combined at the end.
 */

/* ---- Pieces of rows ---- */

/* The largest of V, and their sum, by halves. */
CFX_FORCE_INLINE T M(max_of)(T *part)
{
    CFX_UNROLL
    for (int half = V / 2; half; half /= 2) {
        CFX_UNROLL
        for (int j = 0; j < half; j++)
            part[j] = part[j + half] > part[j] ? part[j + half] : part[j];
    }
    return part[0];
}

CFX_FORCE_INLINE T M(sum_of)(T *part)
{
    CFX_UNROLL
    for (int half = V / 2; half; half /= 2) {
        CFX_UNROLL
        for (int j = 0; j < half; j++)
            part[j] += part[j + half];
    }
    return part[0];
}

CFX_INLINE T M(row_max)(const T *x, int64_t n)
{
    T part[V];
    int64_t i, left;

    for (int j = 0; j < V; j++)
        part[j] = -INFINITY;
    for (i = 0; i + V <= n; i += V)
        for (int j = 0; j < V; j++)
            part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
    left = n - i;
    for (int64_t j = 0; j < left; j++)
        part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
    return M(max_of)(part);
}

/* y = exp(x - shift), and the sum of these. */
CFX_INLINE double M(row_exp)(T *y, const T *x, int64_t n, T shift)
{
    T part[V];
    double sum = 0;

    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK, k, left;

        CFX_SIMD
        for (int64_t j = i; j < i + m; j++)
            y[j] = EXP(x[j] - shift);
        for (int j = 0; j < V; j++)
            part[j] = 0;
        for (k = 0; k + V <= m; k += V)
            for (int j = 0; j < V; j++)
                part[j] += y[i + k + j];
        left = m - k;
        for (int64_t j = 0; j < left; j++)
            part[j] += y[i + k + j];
        sum += (double)M(sum_of)(part);
    }
    return sum;
}

/* The sum of (x - shift)^2, or of x - shift. */
CFX_INLINE double M(row_sum)(const T *x, int64_t n, T shift, bool square)
{
    T part[V];
    double sum = 0;

    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK, k, left;
        const T *b = x + i;

        for (int j = 0; j < V; j++)
            part[j] = 0;
        for (k = 0; k + V <= m; k += V)
            for (int j = 0; j < V; j++) {
                const T d = b[k + j] - shift;
                part[j] += square ? d * d : d;
            }
        left = m - k;
        for (int64_t j = 0; j < left; j++) {
            const T d = b[k + j] - shift;
            part[j] += square ? d * d : d;
        }
        sum += (double)M(sum_of)(part);
    }
    return sum;
}

static void M(linear)(void *y_, const void *x_, int64_t n, double mul_,
                      double add_)
{
    T *y = y_;
    const T *x = x_;
    const T mul = (T)mul_, add = (T)add_;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * mul + add;
}

static double M(max)(const void *x, int64_t n)
{
    return (double)M(row_max)(x, n);
}

static double M(exp_sum)(void *y, const void *x, int64_t n, double shift)
{
    return M(row_exp)(y, x, n, (T)shift);
}

/* ---- Softmax ---- */

/* Are all numbers -inf? The maximum passes over NaN, which is not empty. */
static bool M(is_empty)(const T *x, int64_t n)
{
    int64_t i = 0;

    while (i < n && x[i] == -INFINITY)
        i++;
    return i == n;
}

/*
 * The softmax of a row that is longer than CFX_STOP_BLOCK goes piece by piece,
 * and asks in between whether to stop. Short rows are done in one go: questions
 * and loops would take as long as some ten of their elements.
 */
static void M(softmax_long)(T *y, const T *x, int64_t n,
                            const cfx_softmax_row *row)
{
    T max = -INFINITY;
    double sum = 0;

    for (int64_t i = 0; i < n && !stops(row, i); i += CFX_STOP_BLOCK) {
        T m = M(row_max)(x + i, cfx_min64(n - i, CFX_STOP_BLOCK));
        max = m > max ? m : max;
    }
    if (max == -INFINITY && row->empty_is_0 && M(is_empty)(x, n)) {
        cfx_fill_bytes(row->ctx, y, 0, (size_t)n * sizeof(T));
        return;
    }
    for (int64_t i = 0; i < n && !stops(row, i); i += CFX_STOP_BLOCK)
        sum += M(row_exp)(y + i, x + i, cfx_min64(n - i, CFX_STOP_BLOCK), max);
    for (int64_t i = 0; i < n && !stops(row, i); i += CFX_STOP_BLOCK)
        M(linear)(y + i, y + i, cfx_min64(n - i, CFX_STOP_BLOCK), 1 / sum, 0);
}

static void M(softmax_short)(T *y, const T *x, int64_t n,
                             const cfx_softmax_row *row)
{
    const T max = M(row_max)(x, n);

    if (max == -INFINITY && row->empty_is_0 && M(is_empty)(x, n))
        memset(y, 0, (size_t)n * sizeof(T));
    else
        M(linear)(y, y, n, 1 / M(row_exp)(y, x, n, max), 0);
}

static void M(log_softmax)(T *y, const T *x, int64_t n,
                           const cfx_softmax_row *row)
{
    T max = -INFINITY, lost[BLOCK];
    double sum = 0;

    for (int64_t i = 0; i < n && !stops(row, i); i += CFX_STOP_BLOCK) {
        T m = M(row_max)(x + i, cfx_min64(n - i, CFX_STOP_BLOCK));
        max = m > max ? m : max;
    }
    for (int64_t i = 0; i < n && !stops(row, i); i += BLOCK)
        sum += M(row_exp)(lost, x + i, cfx_min64(n - i, BLOCK), max);
    const T less = (T)log(sum);
    for (int64_t i = 0; i < n && !stops(row, i); i += CFX_STOP_BLOCK) {
        int64_t end = i + cfx_min64(n - i, CFX_STOP_BLOCK);
        CFX_SIMD
        for (int64_t j = i; j < end; j++)
            y[j] = x[j] - max - less;
    }
}

static void M(softmax)(void *y_, const void *x_, const cfx_softmax_row *row)
{
    T *y = y_;
    const T *x = x_, *mask = row->mask;
    const T scale = (T)row->scale;
    int64_t n = row->seen;

    if (mask) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * scale + mask[i];
        x = y;
    } else if (scale != 1) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * scale;
        x = y;
    }
    if (row->log)
        M(log_softmax)(y, x, n, row);
    else if (n > CFX_STOP_BLOCK)
        M(softmax_long)(y, x, n, row);
    else
        M(softmax_short)(y, x, n, row);
    for (int64_t i = n; i < row->n; i++)
        y[i] = 0;
}

/* Softmax along a column, for `lanes` adjacent columns. */
static void M(softmax_lanes)(void *y_, const void *x_, int64_t stride,
                             int64_t n, int64_t lanes, bool log_)
{
    T max[CFX_NORM_LANES], sum[CFX_NORM_LANES];
    T *y = y_;
    const T *x = x_;

    for (int64_t j = 0; j < lanes; j++) {
        max[j] = -INFINITY;
        sum[j] = 0;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < lanes; j++) {
            const T v = x[i * stride + j];
            max[j] = v > max[j] ? v : max[j];
        }
    for (int64_t i = 0; i < n; i++) {
        const T *v = x + i * stride;
        T *w = y + i * stride;
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++) {
            const T e = EXP(v[j] - max[j]);
            w[j] = log_ ? v[j] : e;
            sum[j] += e;
        }
    }
    for (int64_t j = 0; j < lanes; j++)
        sum[j] = log_ ? LOG(sum[j]) : 1 / sum[j];
    for (int64_t i = 0; i < n; i++) {
        T *w = y + i * stride;
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++)
            w[j] = log_ ? w[j] - max[j] - sum[j] : w[j] * sum[j];
    }
}

/* ---- Normalization ---- */

static void M(moments)(const void *x, int64_t n, double *mean, double *m2)
{
    *mean = M(row_sum)(x, n, 0, false) / (double)n;
    *m2 = M(row_sum)(x, n, (T)*mean, true);
}

static double M(sumsq)(const void *x, int64_t n)
{
    return M(row_sum)(x, n, 0, true);
}

static void M(affine)(void *y_, const void *x_, int64_t n, double mean_,
                      double rstd_, const void *w_, const void *b_)
{
    T *y = y_;
    const T *x = x_, *w = w_, *b = b_;
    const T mean = (T)mean_, rstd = (T)rstd_;

    if (w && b) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    } else if (w) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd * w[i];
    } else if (b) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd + b[i];
    } else {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd;
    }
}

static void M(linear_lanes)(void *y_, const void *x_, int64_t n,
                            const void *mul_, const void *add_)
{
    T *y = y_;
    const T *x = x_, *mul = mul_, *add = add_;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * mul[i] + add[i];
}

#undef T
#undef M
#undef EXP
#undef LOG
#undef V
