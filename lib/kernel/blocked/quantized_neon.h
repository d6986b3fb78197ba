/*
 * quantized_neon.h -- quantized_vec.h for 64-bit ARM.
 */
typedef int32x4_t vi;
typedef struct factors {
    int16x8_t all, odd;
} factors;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return vreinterpretq_s32_s8(vld1q_s8(p));
}

CFX_FORCE_INLINE factors factor_of(uint16x8_t x)
{
    return (factors){vreinterpretq_s16_u16(vandq_u16(x, vdupq_n_u16(0xff))),
                     vreinterpretq_s16_u16(vshrq_n_u16(x, 8))};
}

CFX_FORCE_INLINE factors pixel_factor(const int how, const int part,
                                      const uint8_t *p)
{
    uint32_t quad;

    (void)how;
    (void)part;
    memcpy(&quad, p, sizeof(quad));
    return factor_of(vreinterpretq_u16_u32(vdupq_n_u32(quad)));
}

CFX_FORCE_INLINE factors weight_factor(const int how, const int part,
                                       const int8_t *p)
{
    int16x8_t w = vreinterpretq_s16_s8(vld1q_s8(p));

    (void)how;
    (void)part;
    return (factors){vshrq_n_s16(vshlq_n_s16(w, 8), 8), vshrq_n_s16(w, 8)};
}

CFX_FORCE_INLINE factors byte_factor(const int part, const uint8_t *p)
{
    (void)part;
    return factor_of(vreinterpretq_u16_u8(vld1q_u8(p)));
}

CFX_FORCE_INLINE vi dot(const int how, vi s, factors x, factors w)
{
    vi low = vmull_s16(vget_low_s16(x.all), vget_low_s16(w.all));
    vi high = vmull_s16(vget_high_s16(x.all), vget_high_s16(w.all));

    (void)how;
    low = vmlal_s16(low, vget_low_s16(x.odd), vget_low_s16(w.odd));
    high = vmlal_s16(high, vget_high_s16(x.odd), vget_high_s16(w.odd));
    return vaddq_s32(s, vpaddq_s32(low, high));
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return vcvtq_f32_s32(x);
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return vcvtnq_s32_f32(x);
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return vaddq_s32(a, b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return vreinterpretq_s32_f32(x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return vreinterpretq_f32_s32(x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return vaddq_s32(x, vdupq_n_s32(n));
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(lo)), vdupq_n_s32(hi));
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    int16x4_t y = vmovn_s32(x);
    uint8x8_t z = vreinterpret_u8_s8(vmovn_s16(vcombine_s16(y, y)));
    uint32_t quad = vget_lane_u32(vreinterpret_u32_u8(z), 0);

    memcpy(p, &quad, sizeof(quad));
}

enum { GROUP = 1 };
typedef uint8x16_t vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    const int16x8_t zero = vdupq_n_s16((int16_t)zero_point);
    int16x8_t a = vcombine_s16(vqmovn_s32(x[0]), vqmovn_s32(x[1]));
    int16x8_t b = vcombine_s16(vqmovn_s32(x[2]), vqmovn_s32(x[3]));
    uint8x16_t c = vcombine_u8(vqmovun_s16(vqaddq_s16(a, zero)),
                               vqmovun_s16(vqaddq_s16(b, zero)));

    (void)n;
    if (full)
        return c;
    return vminq_u8(vmaxq_u8(c, vdupq_n_u8((uint8_t)r.lo)),
                    vdupq_n_u8((uint8_t)r.hi));
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    (void)i;
    vst1q_u8(y, x);
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    store_pixel(y, x, n - 1);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    uint32_t quad;

    memcpy(&quad, p, sizeof(quad));
    uint8x8_t x = vreinterpret_u8_u32(vdup_n_u32(quad));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(x))));
}
