/*
 * conv_level.h -- template of conv_level.c for one type: T, its vector VEC of
 * VL lanes, V(f) for vector functions, NAME(f) for definitions here.
 */

/* ---- Windows as columns ---- */

/* Lanes of one vector whose outputs lie side by side in a row of y. */
typedef struct NAME(run) {
    int64_t image, o[2], w; /* where the first one is */
    int lane, len;
} NAME(run);

/* The input of one tap for one run: the lanes in `bits` from x + at, which is
 * the address of lane 0. */
typedef struct NAME(piece) {
    int64_t at;
    uint32_t bits;
} NAME(piece);

enum { NAME(PIECES) = 512 };

/* Cut columns j..j+n, n <= NV * VL, in runs; `first` has the index of each
 * vector's first run. */
static int NAME(cut)(const cfx_conv_columns *c, int64_t j, int64_t n,
                     NAME(run) * runs, int first[NV + 1])
{
    int64_t image = j / c->out_len, at = j % c->out_len;
    int64_t o0, o1 = at / c->out[2], w = at % c->out[2];
    int count = 0;

    o0 = o1 / c->out[1];
    o1 %= c->out[1];
    for (int v = 0; v < NV; v++) {
        int lane = 0;

        first[v] = count;
        while (lane < VL && n > 0) {
            int64_t len = c->out[2] - w;

            if (len > VL - lane)
                len = VL - lane;
            if (len > n)
                len = n;
            runs[count++] = (NAME(run)){image, {o0, o1}, w, lane, (int)len};
            lane += (int)len;
            n -= len;
            w += len;
            if (w == c->out[2]) {
                w = 0;
                if (++o1 == c->out[1]) {
                    o1 = 0;
                    if (++o0 == c->out[0]) {
                        o0 = 0;
                        image++;
                    }
                }
            }
        }
    }
    first[NV] = count;
    return count;
}

/* The input of a tap for a run. */
CFX_FORCE_INLINE NAME(piece)
    NAME(tap_input)(const cfx_conv_columns *c, const NAME(run) * r,
                    const cfx_conv_tap *t)
{
    int64_t i0 = r->o[0] * c->stride[0] + t->shift[0];
    int64_t i1 = r->o[1] * c->stride[1] + t->shift[1];
    int64_t q = t->q + r->w, least = q < 0 ? -q : 0, most = t->len - q;
    uint32_t bits;

    if (most > r->len)
        most = r->len;
    if (i0 < 0 || i0 >= c->in[0] || i1 < 0 || i1 >= c->in[1] || least >= most)
        return (NAME(piece)){0, 0};
    bits = (uint32_t)(((UINT64_C(1) << most) - 1) &
                      ~((UINT64_C(1) << least) - 1));
    return (NAME(piece)){r->image * c->image + i0 * c->plane + i1 * c->row +
                             t->phase * c->phase_len + q - r->lane,
                         bits << r->lane};
}

/* The vector that `n` pieces make together, from channel x. */
CFX_FORCE_INLINE VEC NAME(collect)(const T *x, const NAME(piece) * p, int n)
{
    VEC v = V(load_mask)(x + p->at, p->bits);

    for (int i = 1; i < n; i++)
        v = V(add)(v, V(load_mask)(x + p[i].at, p[i].bits));
    return v;
}

/* Taps t0..t1 of rows k0..k0+kn of one panel. */
static void NAME(fill)(const cfx_conv_columns *c, T *panel, int64_t k0,
                       int64_t kn, int64_t t0, int64_t t1,
                       const NAME(piece) * pieces, const int first[NV + 1])
{
    int count = first[NV];

    for (int64_t ch = k0 / c->taps; ch * c->taps < k0 + kn; ch++) {
        const T *x = (const T *)c->x + ch * c->channel;
        int64_t k = ch * c->taps;
        int64_t t = k0 - k > t0 ? k0 - k : t0;
        int64_t end = k0 + kn - k < t1 ? k0 + kn - k : t1;
        T *to = panel + (k + t - k0) * NV * VL;

        for (; t < end; t++) {
            const NAME(piece) *p = pieces + (t - t0) * count;

            for (int v = 0; v < NV; v++) {
                int n = first[v + 1] - first[v];
                V(store)(to, n ? NAME(collect)(x, p, n) : V(zero)());
                p += n;
                to += VL;
            }
        }
    }
}

static void NAME(columns)(const cfx_conv_columns *c, void *panels, int64_t k0,
                          int64_t kn, int64_t j0, int64_t jn)
{
    NAME(run) runs[NV * VL];
    NAME(piece) pieces[NAME(PIECES)];
    int first[NV + 1];
    T *panel = panels;

    for (; jn > 0; jn -= NV * VL, j0 += NV * VL, panel += kn * NV * VL) {
        int count = NAME(cut)(c, j0, jn < NV * VL ? jn : NV * VL, runs, first);
        int64_t batch = NAME(PIECES) / count;

        for (int64_t t0 = 0; t0 < c->taps; t0 += batch) {
            int64_t t1 = t0 + batch < c->taps ? t0 + batch : c->taps;
            NAME(piece) *p = pieces;

            for (int64_t t = t0; t < t1; t++)
                for (int i = 0; i < count; i++)
                    *p++ = NAME(tap_input)(c, &runs[i], &c->tap[t]);
            NAME(fill)(c, panel, k0, kn, t0, t1, pieces, first);
        }
    }
}

/* ---- Rows split by stride ---- */

static void NAME(split)(void *y, int64_t y_len, int64_t phases, const void *x,
                        int64_t x_len)
{
    T *to = y;
    const T *from = x;

    if (phases == 2) {
        T *odd = to + y_len;
        int64_t n = x_len / 2;

        for (int64_t i = 0; i < n; i++) {
            to[i] = from[2 * i];
            odd[i] = from[2 * i + 1];
        }
        if (x_len % 2)
            to[n] = from[2 * n];
        for (int64_t i = (x_len + 1) / 2; i < y_len; i++)
            to[i] = 0;
        for (int64_t i = n; i < y_len; i++)
            odd[i] = 0;
        return;
    }
    for (int64_t f = 0; f < phases; f++, to += y_len) {
        int64_t i = 0;

        for (int64_t at = f; at < x_len; at += phases)
            to[i++] = from[at];
        for (; i < y_len; i++)
            to[i] = 0;
    }
}

/* ---- Depthwise ---- */

/* to[phase][q] = x[q * stride + phase - pad], n of which are there. */
CFX_FORCE_INLINE void NAME(spread_row)(T *to, int64_t len,
                                       const int64_t stride, int64_t pad,
                                       const T *x, int64_t n)
{
    for (int64_t f = 0; f < stride; f++, to += len) {
        int64_t q = (pad - f + stride - 1) / stride;
        int64_t end = (n + pad - f + stride - 1) / stride;
        const T *from = x + f - pad;

        if (pad < f)
            q = 0;
        if (end > len)
            end = len;
        for (; q < end; q++)
            to[q] = from[q * stride];
    }
}

/* Row `i` of x, which may be outside of it, with its padding, split. */
static void NAME(pad_row)(const cfx_conv_strip *s, T *to, int64_t i)
{
    const T *x = (const T *)s->x + i * s->x_row;
    int64_t len = s->row_len * s->stride_w, n = s->in_w;

    for (int64_t j = 0; j < len; j += VL)
        V(store)(to + j, V(zero)());
    if (i < 0 || i >= s->in_h)
        return;
    if (s->stride_w == 1) {
        int64_t j = 0;

        to += s->pad_w;
        n = n < len - s->pad_w ? n : len - s->pad_w;
        for (; j + VL <= n; j += VL)
            V(store)(to + j, V(load)(x + j));
        if (j < n)
            V(store_n)(to + j, n - j, V(load_n)(x + j, n - j));
    } else if (s->stride_w == 2) {
        NAME(spread_row)(to, s->row_len, 2, s->pad_w, x, n);
    } else {
        NAME(spread_row)(to, s->row_len, s->stride_w, s->pad_w, x, n);
    }
}

/* `nr` rows of y times one vector. Extents of the window and the strides are
 * constants where this is called for the usual ones: then a row that serves
 * several rows of y is loaded once. */
CFX_FORCE_INLINE void NAME(strip_fixed)(const cfx_conv_strip *s, const int nr,
                                        const int kernel, const int stride,
                                        const T *rows, int64_t row, int64_t j)
{
    const T *w = s->w;
    VEC sum[4];
    int64_t n = s->out_w - j;

    CFX_UNROLL
    for (int r = 0; r < nr; r++)
        sum[r] = V(set1)((T)s->bias);
    CFX_UNROLL
    for (int i = 0; i < (nr - 1) * stride + kernel; i++) {
        CFX_UNROLL
        for (int k = 0; k < kernel; k++) {
            VEC x = V(load)(rows + i * row + k % stride * s->row_len +
                            k / stride + j);
            CFX_UNROLL
            for (int r = 0; r < nr; r++) {
                int kh = i - r * stride;
                if (kh >= 0 && kh < kernel)
                    sum[r] = V(fma)(x, V(set1)(w[kh * kernel + k]), sum[r]);
            }
        }
    }
    CFX_UNROLL
    for (int r = 0; r < nr; r++) {
        T *y = (T *)s->y + (int64_t)r * s->y_row + j;
        if (n >= VL)
            V(store)(y, sum[r]);
        else
            V(store_n)(y, n, sum[r]);
    }
}

/* `nv` vectors of a row of y, any window. */
CFX_FORCE_INLINE void NAME(vectors_any)(const cfx_conv_strip *s, const int nv,
                                        const int64_t stride, const T *rows,
                                        int64_t row, int64_t j)
{
    const T *w = s->w;
    T *y = (T *)s->y + j;
    VEC sum[4];

    CFX_UNROLL
    for (int v = 0; v < nv; v++)
        sum[v] = V(set1)((T)s->bias);
    for (int64_t h = 0; h < s->kernel_h; h++) {
        const T *from = rows + h * s->dilation_h * row + j;

        for (int64_t k = 0; k < s->kernel_w; k++) {
            int64_t at = k * s->dilation_w;
            const T *x = from + at % stride * s->row_len + at / stride;
            VEC tap = V(set1)(w[h * s->kernel_w + k]);

            CFX_UNROLL
            for (int v = 0; v < nv; v++)
                sum[v] = V(fma)(V(load)(x + v * VL), tap, sum[v]);
        }
    }
    CFX_UNROLL
    for (int v = 0; v < nv; v++)
        if (s->out_w - j >= (v + 1) * VL)
            V(store)(y + v * VL, sum[v]);
        else
            V(store_n)(y + v * VL, s->out_w - j - v * VL, sum[v]);
}

CFX_FORCE_INLINE void NAME(strip_any)(const cfx_conv_strip *s,
                                      const int64_t stride, const T *rows,
                                      int64_t row)
{
    int64_t j = 0;

    for (; j + 4 * VL <= s->out_w; j += 4 * VL)
        NAME(vectors_any)(s, 4, stride, rows, row, j);
    for (; j < s->out_w; j += VL)
        NAME(vectors_any)(s, 1, stride, rows, row, j);
}

/* All rows of the strip with a window of kernel x kernel. */
CFX_FORCE_INLINE void NAME(rows_fixed)(cfx_conv_strip *s, const int kernel,
                                       const int stride, const T *rows,
                                       int64_t row)
{
    int64_t n = s->end - s->begin;

    for (; n >= 4; n -= 4) {
        for (int64_t j = 0; j < s->out_w; j += VL)
            NAME(strip_fixed)(s, 4, kernel, stride, rows, row, j);
        rows += 4 * stride * row;
        s->y = (T *)s->y + 4 * s->y_row;
    }
    for (; n > 0; n--) {
        for (int64_t j = 0; j < s->out_w; j += VL)
            NAME(strip_fixed)(s, 1, kernel, stride, rows, row, j);
        rows += stride * row;
        s->y = (T *)s->y + s->y_row;
    }
}

static void NAME(depthwise)(const cfx_conv_strip *strip)
{
    cfx_conv_strip s = *strip;
    int64_t row = s.row_len * s.stride_w;
    int64_t top = s.begin * s.stride_h - s.pad_h;
    int64_t n = (s.end - s.begin - 1) * s.stride_h +
                (s.kernel_h - 1) * s.dilation_h + 1;
    T *rows = s.rows;
    bool square = s.kernel_h == s.kernel_w && s.stride_h == s.stride_w &&
                  s.dilation_h == 1 && s.dilation_w == 1;

    for (int64_t i = 0; i < n; i++)
        NAME(pad_row)(&s, rows + i * row, top + i);
    if (square && s.kernel_h == 3 && s.stride_h == 1) {
        NAME(rows_fixed)(&s, 3, 1, rows, row);
    } else if (square && s.kernel_h == 3 && s.stride_h == 2) {
        NAME(rows_fixed)(&s, 3, 2, rows, row);
    } else if (square && s.kernel_h == 5 && s.stride_h == 1) {
        NAME(rows_fixed)(&s, 5, 1, rows, row);
    } else if (square && s.kernel_h == 5 && s.stride_h == 2) {
        NAME(rows_fixed)(&s, 5, 2, rows, row);
    } else {
        for (int64_t i = s.begin; i < s.end; i++) {
            if (s.stride_w == 1)
                NAME(strip_any)(&s, 1, rows, row);
            else
                NAME(strip_any)(&s, s.stride_w, rows, row);
            rows += s.stride_h * row;
            s.y = (T *)s.y + s.y_row;
        }
    }
}
