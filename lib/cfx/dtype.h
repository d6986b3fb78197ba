/*
 * cfx/dtype.h -- the data types of tensors, and type promotion.
 */
#ifndef CFX_DTYPE_H
#define CFX_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cfx/compiler.h>

typedef enum cfx_dtype {
#define DTYPE(c, ...) CFX_##c,
#include <cfx/dtype.def>
#undef DTYPE
    CFX_NDTYPES,
    CFX_STORED = CFX_NDTYPES /* for a type to compute in: there is none */
} cfx_dtype;

/* The types without arithmetic, a bit for each. */
enum {
    CFX_STORED_TYPES = 0
#define DTYPE(c, name, other, abbr, ctype, cat, digits, largest, compute,     \
              ...)                                                            \
    | (CFX_##compute == CFX_STORED ? 1 << CFX_##c : 0)
#include <cfx/dtype.def>
#undef DTYPE
};

typedef enum cfx_category {
    CFX_CAT_BOOL,
    CFX_CAT_INT,
    CFX_CAT_FLOAT,
    CFX_CAT_COMPLEX
} cfx_category;

typedef struct cfx_dtype_info {
    const char *name;        /* "float32" */
    const char *other;       /* "float", NULL if torch has no second name */
    const char *abbr;        /* "f32" */
    const char *npy;         /* "<f4", NULL if NumPy has none */
    const char *safetensors; /* "F32", NULL if the format has none */
    uint8_t order;           /* its place in safetensors' list of types */
    uint8_t size;            /* bytes of an element */
    uint8_t digits;          /* bits of the significand; of an integer, without
                                the sign */
    uint8_t compute;         /* the type whose arithmetic is used: float32 of
                                float16; CFX_STORED: there is none */
    bool is_signed;
    cfx_category category;
    double largest; /* the largest finite number */
} cfx_dtype_info;

CFX_BEGIN_DECLS

CFX_API extern const cfx_dtype_info cfx_dtypes[CFX_NDTYPES];

CFX_INLINE size_t cfx_dtype_size(cfx_dtype t)
{
    return cfx_dtypes[t].size;
}
CFX_INLINE bool cfx_dtype_is_float(cfx_dtype t)
{
    return cfx_dtypes[t].category == CFX_CAT_FLOAT;
}
CFX_INLINE bool cfx_dtype_is_complex(cfx_dtype t)
{
    return cfx_dtypes[t].category == CFX_CAT_COMPLEX;
}
/* The type of a complex type's two parts; any other type itself. */
CFX_INLINE cfx_dtype cfx_dtype_real(cfx_dtype t)
{
    return t == CFX_C64 ? CFX_F32 : t == CFX_C128 ? CFX_F64 : t;
}
/* Is it computed in a wider type, as float16 is in float32? */
CFX_INLINE bool cfx_dtype_is_reduced(cfx_dtype t)
{
    return cfx_dtypes[t].compute != t;
}
/* The bounds of an integer or bool, of uint64 as far as int64 goes. */
CFX_INLINE int64_t cfx_dtype_most(cfx_dtype t)
{
    int digits = cfx_dtypes[t].digits < 63 ? cfx_dtypes[t].digits : 63;

    return (int64_t)(UINT64_MAX >> (64 - digits));
}
CFX_INLINE int64_t cfx_dtype_least(cfx_dtype t)
{
    return cfx_dtypes[t].is_signed ? -cfx_dtype_most(t) - 1 : 0;
}

/* Find a data type by any of its names ("float32", "f32", "torch.float32",
 * "float", "long", ...). Returns false if there is none. */
CFX_API bool cfx_dtype_parse(cfx_dtype *out, const char *name);

/* torch.promote_types: the smallest type that holds both, by PyTorch's
 * table. */
CFX_API cfx_dtype cfx_dtype_promote(cfx_dtype a, cfx_dtype b);

/* Conversions of the 16-bit floats, rounding to nearest even. */
CFX_API float cfx_f16_to_f32(uint16_t h);
CFX_API uint16_t cfx_f32_to_f16(float f);
CFX_INLINE float cfx_bf16_to_f32(uint16_t h)
{
    union {
        uint32_t u;
        float f;
    } x;
    x.u = (uint32_t)h << 16;
    return x.f;
}
CFX_API uint16_t cfx_f32_to_bf16(float f);

/* Read or write one element as a double or an int64 (for printing, scalars,
 * tests: not for loops). Of a complex element it is the real part; writing
 * makes the imaginary part 0. */
CFX_API double cfx_element_double(cfx_dtype t, const void *p);
CFX_API int64_t cfx_element_int(cfx_dtype t, const void *p);
CFX_API void cfx_element_set_double(cfx_dtype t, void *p, double v);
CFX_API void cfx_element_set_int(cfx_dtype t, void *p, int64_t v);
/* Read and write the real and the imaginary part. Types that are not complex
 * have an imaginary part of 0, which is not written. */
CFX_API void cfx_element_complex(cfx_dtype t, const void *p, double part[2]);
CFX_API void cfx_element_set_complex(cfx_dtype t, void *p,
                                     const double part[2]);

CFX_END_DECLS

#endif
