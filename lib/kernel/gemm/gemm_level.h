/*
 * gemm_level.h -- template of gemm_level.c for one type: T, its vector VEC of
 * VL lanes, V(f) for vector functions, NAME(f) for definitions here.
 */

/* ---- One panel of a times panels of b ---- */

/* One tile of m rows and nv vectors; of the last vector only `last` lanes. All
 * but `r`, `b`, `c` and `last` are constants where this is called. */
CFX_FORCE_INLINE void NAME(tile)(const int m, const int nv, const bool whole,
                                 const cfx_gemm_rows *r, const T *b, T *c,
                                 const T *bias, int64_t last)
{
    const T *a = r->a;
    const T *row_bias = r->add ? NULL : r->row_bias;
    const int64_t b_row = r->b_row, c_row = r->c_row;
    VEC s[MR][NV], bv[NV];

    for (int v = 0; v < nv; v++)
        bv[v] = bias == NULL          ? V(zero)()
                : whole || v < nv - 1 ? V(load)(bias + v * VL)
                                      : V(load_n)(bias + v * VL, last);
    CFX_UNROLL
    for (int i = 0; i < m; i++) {
        CFX_UNROLL
        for (int v = 0; v < nv; v++) {
            s[i][v] = row_bias ? V(add)(bv[v], V(set1)(row_bias[i])) : bv[v];
            if (VL > 1)
                CFX_PREFETCH(c + i * c_row + v * VL);
        }
    }
    for (int64_t k = r->k; k > 0; k--) {
        CFX_UNROLL
        for (int v = 0; v < nv; v++) {
            bv[v] = whole || v < nv - 1 ? V(load)(b + v * VL)
                                        : V(load_n)(b + v * VL, last);
            if (VL > 1 && v * VL * (int)sizeof(T) % 64 == 0)
                CFX_PREFETCH(b + CFX_AHEAD * b_row + v * VL);
        }
        CFX_UNROLL
        for (int i = 0; i < m; i++) {
            VEC x = V(set1)(a[i * CFX_GEMM_A_ROW]);
            CFX_UNROLL
            for (int v = 0; v < nv; v++)
                s[i][v] = V(fma)(x, bv[v], s[i][v]);
        }
        a++;
        b += b_row;
    }
    CFX_UNROLL
    for (int i = 0; i < m; i++) {
        CFX_UNROLL
        for (int v = 0; v < nv; v++) {
            T *to = c + i * c_row + v * VL;
            if (whole || v < nv - 1)
                V(store)(to, r->add ? V(add)(s[i][v], V(load)(to)) : s[i][v]);
            else
                V(store_n)
            (to, last,
             r->add ? V(add)(s[i][v], V(load_n)(to, last)) : s[i][v]);
        }
    }
}

/* All tiles of m rows, m being a constant where this is called. */
CFX_FORCE_INLINE void NAME(tiles)(const int m, const cfx_gemm_rows *r)
{
    const T *b = r->b, *bias = r->add ? NULL : r->bias;
    T *c = r->c;
    int64_t n = r->n;

    for (; n >= NV * VL; n -= NV * VL) {
        NAME(tile)(m, NV, true, r, b, c, bias, 0);
        b += r->b_panel;
        c += NV * VL;
        bias = bias ? bias + NV * VL : NULL;
    }
#if CFX_LEVEL_IS(avx512)
    if (n > 2 * VL)
        NAME(tile)(m, 3, false, r, b, c, bias, n - 2 * VL);
    else if (n == 2 * VL)
        NAME(tile)(m, 2, true, r, b, c, bias, 0);
    else
#endif
        if (n > VL)
        NAME(tile)(m, 2, false, r, b, c, bias, n - VL);
    else if (n == VL)
        NAME(tile)(m, 1, true, r, b, c, bias, 0);
    else if (n > 0)
        NAME(tile)(m, 1, false, r, b, c, bias, n);
}

static void NAME(rows)(const cfx_gemm_rows *r)
{
    switch (r->m) {
    case 1: NAME(tiles)(1, r); break;
    case 2: NAME(tiles)(2, r); break;
    case 3: NAME(tiles)(3, r); break;
    case 4: NAME(tiles)(4, r); break;
#if !CFX_LEVEL_IS(plain)
    case 5: NAME(tiles)(5, r); break;
    case 6: NAME(tiles)(6, r); break;
#if !CFX_LEVEL_IS(avx2)
    case 7: NAME(tiles)(7, r); break;
    case 8: NAME(tiles)(8, r); break;
#if CFX_LEVEL_IS(neon)
    case 9: NAME(tiles)(9, r); break;
    case 10: NAME(tiles)(10, r); break;
    case 11: NAME(tiles)(11, r); break;
    case 12: NAME(tiles)(12, r); break;
#endif
#endif
#endif
    default: break;
    }
}

/* ---- Products of rows ---- */

/* m rows of x with w rows of w, both constants where this is called. */
CFX_FORCE_INLINE void NAME(dot_tile)(const int m, const int nw,
                                     const cfx_gemm_dot *d, const T *w, T *c)
{
    const T *x = d->x;
    VEC s[DOT_MAX][8];
    int64_t k = 0, rest = d->k % VL;

    CFX_UNROLL
    for (int i = 0; i < m; i++) {
        CFX_UNROLL
        for (int j = 0; j < nw; j++)
            s[i][j] = V(zero)();
    }
    for (; k < d->k - rest; k += VL) {
        VEC xv[DOT_MAX];
        CFX_UNROLL
        for (int i = 0; i < m; i++)
            xv[i] = V(load)(x + i * d->x_row + k);
        CFX_UNROLL
        for (int j = 0; j < nw; j++) {
            VEC wv = V(load)(w + j * d->w_row + k);
            CFX_UNROLL
            for (int i = 0; i < m; i++)
                s[i][j] = V(fma)(xv[i], wv, s[i][j]);
        }
    }
    if (rest) {
        CFX_UNROLL
        for (int j = 0; j < nw; j++) {
            VEC wv = V(load_n)(w + j * d->w_row + k, rest);
            CFX_UNROLL
            for (int i = 0; i < m; i++)
                s[i][j] = V(fma)(V(load_n)(x + i * d->x_row + k, rest), wv,
                                 s[i][j]);
        }
    }
    CFX_UNROLL
    for (int i = 0; i < m; i++) {
        CFX_UNROLL
        for (int j = 0; j < nw; j++) {
            T *at = c + i * d->c_row + j * d->c_col;
            *at = (d->add ? *at : 0) + V(sum)(s[i][j]);
        }
    }
}

CFX_FORCE_INLINE void NAME(dots)(const int m, const cfx_gemm_dot *d)
{
    const int nw = DOT_SUMS / m < 8 ? DOT_SUMS / m : 8;
    const T *w = d->w;
    T *c = d->c;
    int64_t n = d->n;

    for (; n >= nw; n -= nw) {
        NAME(dot_tile)(m, nw, d, w, c);
        w += nw * d->w_row;
        c += nw * d->c_col;
    }
    for (; n > 0; n--) {
        NAME(dot_tile)(m, 1, d, w, c);
        w += d->w_row;
        c += d->c_col;
    }
}

static void NAME(dot_rows)(const cfx_gemm_dot *d)
{
    switch (d->m) {
    case 1: NAME(dots)(1, d); break;
    case 2: NAME(dots)(2, d); break;
    case 3: NAME(dots)(3, d); break;
    case 4: NAME(dots)(4, d); break;
#if !CFX_LEVEL_IS(plain) && !CFX_LEVEL_IS(avx2)
    case 5: NAME(dots)(5, d); break;
    case 6: NAME(dots)(6, d); break;
    case 7: NAME(dots)(7, d); break;
    case 8: NAME(dots)(8, d); break;
#endif
    default: break;
    }
}

/* ---- One row times a matrix whose columns lie side by side ---- */

enum { NAME(AXPY) = 8 };

CFX_FORCE_INLINE void NAME(axpy_tile)(const int nv, const bool whole,
                                      int64_t k, const T *x, int64_t x_stride,
                                      const T *b, int64_t b_row, T *y,
                                      bool add, int64_t last)
{
    VEC s[NAME(AXPY)];

    CFX_UNROLL
    for (int v = 0; v < nv; v++)
        s[v] = !add    ? V(zero)()
               : whole ? V(load)(y + v * VL)
                       : V(load_n)(y + v * VL, last);
    for (; k > 0; k--) {
        VEC xv = V(set1)(*x);
        CFX_UNROLL
        for (int v = 0; v < nv; v++)
            s[v] = V(fma)(
                xv, whole ? V(load)(b + v * VL) : V(load_n)(b + v * VL, last),
                s[v]);
        x += x_stride;
        b += b_row;
    }
    CFX_UNROLL
    for (int v = 0; v < nv; v++) {
        if (whole)
            V(store)(y + v * VL, s[v]);
        else
            V(store_n)(y + v * VL, last, s[v]);
    }
}

static void NAME(axpy_rows)(int64_t k, int64_t n, const void *x,
                            int64_t x_stride, const void *b, int64_t b_row,
                            void *y, bool add)
{
    const T *xs = x, *bs = b;
    T *ys = y;

    for (; n >= NAME(AXPY) * VL; n -= NAME(AXPY) * VL) {
        NAME(axpy_tile)
        (NAME(AXPY), true, k, xs, x_stride, bs, b_row, ys, add, 0);
        bs += NAME(AXPY) * VL;
        ys += NAME(AXPY) * VL;
    }
    for (; n >= VL; n -= VL) {
        NAME(axpy_tile)(1, true, k, xs, x_stride, bs, b_row, ys, add, 0);
        bs += VL;
        ys += VL;
    }
    if (n > 0)
        NAME(axpy_tile)(1, false, k, xs, x_stride, bs, b_row, ys, add, n);
}

/* ---- Copies of rows and columns ---- */

static void NAME(copy)(void *dst, int64_t dst_row, const void *src,
                       int64_t src_row, int64_t rows, int64_t cols)
{
    const T *ahead = (const T *)src + rows * src_row;

    for (int64_t i = 0; i < rows; i++) {
        T *d = (T *)dst + i * dst_row;
        const T *s = (const T *)src + i * src_row;
        int64_t j = 0;

        for (; j + VL <= cols; j += VL) {
            V(store)(d + j, V(load)(s + j));
            CFX_PREFETCH(ahead + i * src_row + j);
        }
        if (j < cols)
            V(store_n)(d + j, cols - j, V(load_n)(s + j, cols - j));
    }
}
