/*
 * dtype -- the table of data types, their names, and type promotion.
 */
#include <cfx/dtype.h>

#include <string.h>

#include "tensor/convert.h"

const cfx_dtype_info cfx_dtypes[CFX_NDTYPES] = {
#define DTYPE(c, name_, abbr_, ctype, npy_, st, cat) \
    [CFX_##c] = { \
        .name = name_, \
        .abbr = abbr_, \
        .npy = npy_, \
        .safetensors = st, \
        .size = sizeof(ctype), \
        .category = cat, \
    },
#include <cfx/dtype.def>
#undef DTYPE
};

/* Other names in PyTorch. */
static const struct {
    const char *name;
    cfx_dtype dtype;
} other_names[] = {
    {"half", CFX_F16}, {"float", CFX_F32}, {"double", CFX_F64},
    {"short", CFX_I16}, {"int", CFX_I32}, {"long", CFX_I64},
};

bool cfx_dtype_parse(cfx_dtype *out, const char *name)
{
    if (!strncmp(name, "torch.", 6))
        name += 6;
    for (int t = 0; t < CFX_NDTYPES; t++) {
        const cfx_dtype_info *info = &cfx_dtypes[t];
        if (!strcmp(name, info->name) || !strcmp(name, info->abbr) ||
            !strcmp(name, info->safetensors)) {
            *out = (cfx_dtype)t;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++) {
        if (!strcmp(name, other_names[i].name)) {
            *out = other_names[i].dtype;
            return true;
        }
    }
    return false;
}

/*
 * The later of the two in dtype.def, which is sorted by category and
 * promotion, except for two pairs of which neither holds the other.
 */
cfx_dtype cfx_dtype_promote(cfx_dtype a, cfx_dtype b)
{
    cfx_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == CFX_U8 && high == CFX_I8)
        return CFX_I16;
    if (low == CFX_F16 && high == CFX_BF16)
        return CFX_F32;
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

/* Elements may lie unaligned in the memory of a caller or a file, so that they
 * are read and written by memcpy, which compiles to a plain move. */
typedef union element {
    uint8_t u8;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint16_t half;
    float f32;
    double f64;
} element;

double cfx_element_double(cfx_dtype t, const void *p)
{
    element e;

    memcpy(&e, p, cfx_dtype_size(t));
    switch (t) {
    case CFX_F16:
        return cfx_half_to_float(e.half);
    case CFX_BF16:
        return cfx_bf16_to_f32(e.half);
    case CFX_F32:
        return e.f32;
    case CFX_F64:
        return e.f64;
    default:
        return (double)cfx_element_int(t, p);
    }
}

int64_t cfx_element_int(cfx_dtype t, const void *p)
{
    element e;

    memcpy(&e, p, cfx_dtype_size(t));
    switch (t) {
    case CFX_BOOL:
        return e.u8 != 0;
    case CFX_U8:
        return e.u8;
    case CFX_I8:
        return e.i8;
    case CFX_I16:
        return e.i16;
    case CFX_I32:
        return e.i32;
    case CFX_I64:
        return e.i64;
    default:
        return cfx_double_to_i64(cfx_element_double(t, p));
    }
}

void cfx_element_set_double(cfx_dtype t, void *p, double v)
{
    element e = {0};

    switch (t) {
    case CFX_BOOL:
        e.u8 = v != 0;
        break;
    case CFX_U8:
        e.u8 = (uint8_t)cfx_double_to_i64(v);
        break;
    case CFX_I8:
        e.i8 = (int8_t)cfx_double_to_i32(v);
        break;
    case CFX_I16:
        e.i16 = (int16_t)cfx_double_to_i32(v);
        break;
    case CFX_I32:
        e.i32 = cfx_double_to_i32(v);
        break;
    case CFX_I64:
        e.i64 = cfx_double_to_i64(v);
        break;
    case CFX_F16:
        e.half = cfx_float_to_half((float)v);
        break;
    case CFX_BF16:
        e.half = cfx_float_to_bfloat((float)v);
        break;
    case CFX_F32:
        e.f32 = (float)v;
        break;
    default:
        e.f64 = v;
        break;
    }
    memcpy(p, &e, cfx_dtype_size(t));
}

void cfx_element_set_int(cfx_dtype t, void *p, int64_t v)
{
    element e = {0};

    switch (t) {
    case CFX_BOOL:
        e.u8 = v != 0;
        break;
    case CFX_U8:
        e.u8 = (uint8_t)v;
        break;
    case CFX_I8:
        e.i8 = (int8_t)v;
        break;
    case CFX_I16:
        e.i16 = (int16_t)v;
        break;
    case CFX_I32:
        e.i32 = (int32_t)v;
        break;
    case CFX_I64:
        e.i64 = v;
        break;
    case CFX_F16:
        e.half = cfx_float_to_half((float)v);
        break;
    case CFX_BF16:
        e.half = cfx_float_to_bfloat((float)v);
        break;
    case CFX_F32:
        e.f32 = (float)v;
        break;
    default:
        e.f64 = (double)v;
        break;
    }
    memcpy(p, &e, cfx_dtype_size(t));
}
