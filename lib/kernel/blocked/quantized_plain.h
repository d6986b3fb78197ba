/*
 * quantized_plain.h -- quantized_vec.h without vectors.
 */
typedef int32_t vi;
typedef struct factors {
    int16_t number[CFX_QUAD];
} factors;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    vi x;

    memcpy(&x, p, sizeof(x));
    return x;
}

CFX_FORCE_INLINE factors pixel_factor(const int how, const int part,
                                      const uint8_t *p)
{
    (void)how;
    (void)part;
    return (factors){{p[0], p[1], p[2], p[3]}};
}

CFX_FORCE_INLINE factors weight_factor(const int how, const int part,
                                       const int8_t *p)
{
    (void)how;
    (void)part;
    return (factors){{p[0], p[1], p[2], p[3]}};
}

CFX_FORCE_INLINE factors byte_factor(const int part, const uint8_t *p)
{
    return pixel_factor(BYTES, part, p);
}

CFX_FORCE_INLINE vi dot(const int how, vi s, factors x, factors w)
{
    (void)how;
    for (int i = 0; i < CFX_QUAD; i++)
        s = (vi)((uint32_t)s + (uint32_t)(x.number[i] * w.number[i]));
    return s;
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return (float)x;
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return x > -0x1p31F ? (vi)lrintf(x) : INT32_MIN;
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return (vi)((uint32_t)a + (uint32_t)b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return vi_load(&x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return vf_load((const float *)&x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return (vi)((uint32_t)x + (uint32_t)n);
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return (x > lo ? x : lo) < hi ? (x > lo ? x : lo) : hi;
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    *p = (uint8_t)x;
}

enum { GROUP = 1 };
typedef struct vg {
    uint8_t byte[CFX_BLOCK];
} vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    vg y;

    (void)full;
    (void)n;
    for (int c = 0; c < CFX_BLOCK; c++) {
        const int most = r.hi - zero_point;
        const int at = (x[c] < most ? x[c] : most) < r.lo - zero_point
                           ? r.lo
                           : (x[c] < most ? x[c] : most) + zero_point;
        y.byte[c] = (uint8_t)(at > r.hi ? r.hi : at);
    }
    return y;
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    (void)i;
    memcpy(y, &x, sizeof(x));
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    store_pixel(y, x, n - 1);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    return *p;
}
