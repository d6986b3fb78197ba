/*
 * pt2_write_json -- the plain parts of the JSON of exported programs.
 */
#include "format/pt2/pt2_write.h"

#include <stdio.h>

void cfx_pt2__put_text(cfx_buf *b, const char *text, size_t len)
{
    cfx_buf_putc(b, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            cfx_buf_putc(b, '\\');
        if (c < 0x20)
            cfx_buf_printf(b, "\\u%04x", c);
        else
            cfx_buf_putc(b, (char)c);
    }
    cfx_buf_putc(b, '"');
}

void cfx_pt2__put_name(cfx_buf *b, const char *text)
{
    cfx_pt2__put_text(b, text, strlen(text));
}

void cfx_pt2__put_float(cfx_buf *b, double f)
{
    char text[32];

    if (isnan(f) || isinf(f)) {
        cfx_buf_puts(b, isnan(f) ? "\"NaN\""
                        : f > 0  ? "\"Infinity\""
                                 : "\"-Infinity\"");
        return;
    }
    cfx_float_repr(text, f);
    cfx_buf_puts(b, text);
}

void cfx_pt2__put_comma(cfx_buf *b)
{
    char last = b->len ? b->s[b->len - 1] : '[';

    if (last != '[' && last != '{')
        cfx_buf_puts(b, ", ");
}

/* ---- Unions ---- */

const cfx_pt2_named cfx_pt2__value_unions[] = {
    {1u << CFX_TENSOR, "as_tensor", "name"},
    {1u << CFX_INT | 1u << CFX_SYMINT, "as_sym_int", "as_name"},
    {1u << CFX_FLOAT, "as_sym_float", "as_name"},
    {1u << CFX_BOOL_VALUE, "as_sym_bool", "as_name"},
};

/* ---- Numbered types ---- */

/* The schema's own numbers, which are not those of torch's ScalarType. */
static const char *const dtype_names[] = {[1] = "uint8",
                                          [2] = "int8",
                                          [3] = "int16",
                                          [4] = "int32",
                                          [5] = "int64",
                                          [6] = "float16",
                                          [7] = "float32",
                                          [8] = "float64",
                                          [9] = "complex32",
                                          [10] = "complex64",
                                          [11] = "complex128",
                                          [12] = "bool",
                                          [13] = "bfloat16",
                                          [28] = "uint16",
                                          [29] = "float8_e4m3fn",
                                          [30] = "float8_e5m2",
                                          [31] = "float8_e4m3fnuz",
                                          [32] = "float8_e5m2fnuz",
                                          [33] = "float8_e8m0fnu",
                                          [34] = "uint32",
                                          [35] = "uint64"};

enum { NDTYPES = sizeof(dtype_names) / sizeof(*dtype_names) };

const char *cfx_pt2__dtype_name(int64_t number)
{
    return number > 0 && number < NDTYPES ? dtype_names[number] : NULL;
}

int cfx_pt2__number_of_dtype(cfx_dtype t)
{
    for (int i = 0; i < NDTYPES; i++)
        if (dtype_names[i] && !strcmp(dtype_names[i], cfx_dtypes[t].name))
            return i;
    return 0;
}

int cfx_pt2__number_of_format(cfx_memory_format f)
{
    switch (f) {
    case CFX_CONTIGUOUS_FORMAT: return 1;
    case CFX_CHANNELS_LAST: return 2;
    case CFX_CHANNELS_LAST_3D: return 3;
    default: return 4;
    }
}

const char *const cfx_pt2__storages[CFX_NDTYPES] = {
    [CFX_F32] = "torch FloatStorage",
    [CFX_F64] = "torch DoubleStorage",
    [CFX_F16] = "torch HalfStorage",
    [CFX_BF16] = "torch BFloat16Storage",
    [CFX_I64] = "torch LongStorage",
    [CFX_I32] = "torch IntStorage",
    [CFX_I16] = "torch ShortStorage",
    [CFX_I8] = "torch CharStorage",
    [CFX_U8] = "torch ByteStorage",
    [CFX_BOOL] = "torch BoolStorage",
    [CFX_C64] = "torch ComplexFloatStorage",
    [CFX_C128] = "torch ComplexDoubleStorage",
};

/* "cuda:0" as {"type": "cuda", "index": 0}. */
void cfx_pt2__put_device(cfx_buf *b, const char *name)
{
    size_t len = strcspn(name, ":");

    cfx_buf_puts(b, "{\"type\": ");
    cfx_pt2__put_text(b, name, len);
    cfx_buf_printf(b, ", \"index\": %s}", name[len] ? name + len + 1 : "null");
}
