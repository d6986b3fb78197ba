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
#define DTYPE(c, name, abbr, ctype, npy, st, cat) CFX_##c,
#include <cfx/dtype.def>
#undef DTYPE
    CFX_NDTYPES
} cfx_dtype;

typedef enum cfx_category {
    CFX_CAT_BOOL, CFX_CAT_INT, CFX_CAT_FLOAT
} cfx_category;

typedef struct cfx_dtype_info {
    const char *name;        /* "float32" */
    const char *abbr;        /* "f32" */
    const char *npy;         /* "<f4", NULL if NumPy has none */
    const char *safetensors; /* "F32" */
    uint8_t size;            /* bytes of an element */
    cfx_category category;
} cfx_dtype_info;

CFX_BEGIN_DECLS

CFX_API extern const cfx_dtype_info cfx_dtypes[CFX_NDTYPES];

CFX_INLINE size_t cfx_dtype_size(cfx_dtype t) { return cfx_dtypes[t].size; }
CFX_INLINE bool cfx_dtype_is_float(cfx_dtype t)
{
    return cfx_dtypes[t].category == CFX_CAT_FLOAT;
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
    union { uint32_t u; float f; } x;
    x.u = (uint32_t)h << 16;
    return x.f;
}
CFX_API uint16_t cfx_f32_to_bf16(float f);

/* Read or write one element as a double or an int64 (for printing, scalars,
 * tests: not for loops). */
CFX_API double cfx_element_double(cfx_dtype t, const void *p);
CFX_API int64_t cfx_element_int(cfx_dtype t, const void *p);
CFX_API void cfx_element_set_double(cfx_dtype t, void *p, double v);
CFX_API void cfx_element_set_int(cfx_dtype t, void *p, int64_t v);

CFX_END_DECLS

#endif
