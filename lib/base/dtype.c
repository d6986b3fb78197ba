/*
 * dtype -- the table of data types, their names, and type promotion.
 */
#include <cfx/dtype.h>

#include <string.h>

#include "base/convert.h"

/* Unsigned types of C hold floats, too. */
#define DTYPE(c, name_, other_, abbr_, ctype, cat, digits_, largest_,         \
              compute_, wide, npy_, safetensors_, order_, dlpack)             \
    [CFX_##c] = {                                                             \
        .name = name_,                                                        \
        .other = other_,                                                      \
        .abbr = abbr_,                                                        \
        .npy = npy_,                                                          \
        .safetensors = safetensors_,                                          \
        .order = order_,                                                      \
        .size = sizeof(ctype),                                                \
        .digits = digits_,                                                    \
        .compute = CFX_##compute_,                                            \
        .is_signed = cat >= CFX_CAT_FLOAT || (double)(ctype)-1 < 0,           \
        .category = cat,                                                      \
        .largest = (double)largest_,                                          \
    },
const cfx_dtype_info cfx_dtypes[CFX_NDTYPES] = {
#include <cfx/dtype.def>
};
#undef DTYPE

bool cfx_dtype_parse(cfx_dtype *out, const char *name)
{
    if (!strncmp(name, "torch.", 6))
        name += 6;
    for (int t = 0; t < CFX_NDTYPES; t++) {
        const cfx_dtype_info *info = &cfx_dtypes[t];
        if (!strcmp(name, info->name) || !strcmp(name, info->abbr) ||
            (info->other && !strcmp(name, info->other)) ||
            (info->safetensors && !strcmp(name, info->safetensors))) {
            *out = (cfx_dtype)t;
            return true;
        }
    }
    return false;
}

/*
 * The later of the two in dtype.def, which is sorted by category and
 * promotion, except for three pairs of which neither holds the other.
 */
cfx_dtype cfx_dtype_promote(cfx_dtype a, cfx_dtype b)
{
    cfx_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == CFX_U8 && high == CFX_I8)
        return CFX_I16;
    if (low == CFX_F16 && high == CFX_BF16)
        return CFX_F32;
    if (low == CFX_F64 && high == CFX_C64)
        return CFX_C128;
    return high;
}

float cfx_f16_to_f32(uint16_t h)
{
    return cfx_half_to_float(h);
}

uint16_t cfx_f32_to_f16(float f)
{
    return cfx_float_to_half(f);
}

uint16_t cfx_f32_to_bf16(float f)
{
    return cfx_float_to_bfloat(f);
}

/*
 * ---- Single elements ----
 *
 * They may lie unaligned in the memory of a caller or a file, so that they are
 * read and written by memcpy, which compiles to a plain move.
 */

#define READ(c, ctype, as)                                                    \
    case CFX_##c: {                                                           \
        ctype e;                                                              \
        memcpy(&e, p, sizeof(e));                                             \
        return as(CFX_READ_##c(e));                                           \
    }
#define WRITE(c, ctype)                                                       \
    case CFX_##c: {                                                           \
        const ctype e = CFX_WRITE_##c(v);                                     \
        memcpy(p, &e, sizeof(e));                                             \
        break;                                                                \
    }

double cfx_element_double(cfx_dtype t, const void *p)
{
    switch (t) {
#define DTYPE(c, name, other, abbr, ctype, ...) READ(c, ctype, (double))
#include <cfx/dtype.def>
#undef DTYPE
    default: return 0;
    }
}

int64_t cfx_element_int(cfx_dtype t, const void *p)
{
    switch (t) {
#define DTYPE(c, name, other, abbr, ctype, ...) READ(c, ctype, CFX_TO_I64)
#include <cfx/dtype.def>
#undef DTYPE
    default: return 0;
    }
}

void cfx_element_set_double(cfx_dtype t, void *p, double v)
{
    switch (t) {
#define DTYPE(c, name, other, abbr, ctype, ...) WRITE(c, ctype)
#include <cfx/dtype.def>
#undef DTYPE
    default: break;
    }
}

void cfx_element_set_int(cfx_dtype t, void *p, int64_t v)
{
    switch (t) {
#define DTYPE(c, name, other, abbr, ctype, ...) WRITE(c, ctype)
#include <cfx/dtype.def>
#undef DTYPE
    default: break;
    }
}

void cfx_element_complex(cfx_dtype t, const void *p, double part[2])
{
    double _Complex v;

    part[0] = cfx_element_double(t, p);
    part[1] = 0;
    if (t == CFX_C64) {
        float _Complex e;
        memcpy(&e, p, sizeof(e));
        v = e;
        memcpy(part, &v, sizeof(v));
    } else if (t == CFX_C128) {
        memcpy(part, p, sizeof(v));
    }
}

void cfx_element_set_complex(cfx_dtype t, void *p, const double part[2])
{
    double _Complex v;

    memcpy(&v, part, sizeof(v));
    switch (t) {
#define DTYPE(c, name, other, abbr, ctype, ...) WRITE(c, ctype)
#include <cfx/dtype.def>
#undef DTYPE
    default: break;
    }
}
