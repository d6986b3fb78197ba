/*
 * dtype_test -- data types: their names, how they mix, and what numbers become.
 */
#include "kernel/kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "tests/unit/base/tensor_test.h"
#include "tests/unit/unit.h"

/* ---- Data types ---- */

TEST_CASE(dtype_is_found_by_each_of_its_names)
{
    static const struct {
        const char *name;
        cfx_dtype dtype;
    } cases[] = {
        {"float32", CFX_F32},       {"f32", CFX_F32},
        {"torch.float32", CFX_F32}, {"float", CFX_F32},
        {"F32", CFX_F32},           {"torch.float", CFX_F32},
        {"double", CFX_F64},        {"half", CFX_F16},
        {"bf16", CFX_BF16},         {"torch.bfloat16", CFX_BF16},
        {"long", CFX_I64},          {"int", CFX_I32},
        {"short", CFX_I16},         {"i8", CFX_I8},
        {"uint8", CFX_U8},          {"bool", CFX_BOOL},
        {"b8", CFX_BOOL},           {"torch.int64", CFX_I64},
        {"torch.uint16", CFX_U16},  {"u64", CFX_U64},
    };
    cfx_dtype t;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(cfx_dtype_parse(&t, cases[i].name), "%s", cases[i].name);
        ck_assert_int_eq(t, cases[i].dtype);
    }
    ck_assert(!cfx_dtype_parse(&t, "float31"));
    ck_assert(!cfx_dtype_parse(&t, ""));
    ck_assert(!cfx_dtype_parse(&t, "torch."));
    ck_assert(!cfx_dtype_parse(&t, "torch.torch.int"));
}

TEST_CASE(promotion_agrees_with_pytorch_for_all_pairs)
{
    FILE *f = open_golden("promote.txt");
    char a[32], b[32], both[32];
    cfx_dtype ta, tb, tc;
    int n = 0;

    while (fscanf(f, "%31s %31s %31s", a, b, both) == 3) {
        ck_assert(cfx_dtype_parse(&ta, a) && cfx_dtype_parse(&tb, b) &&
                  cfx_dtype_parse(&tc, both));
        ck_assert_msg(cfx_dtype_promote(ta, tb) == tc, "%s and %s", a, b);
        n++;
    }
    fclose(f);
    /* torch does not promote uint16, uint32, uint64 and the floats of 8 bits.
     */
    ck_assert_int_eq(n, (CFX_NDTYPES - 8) * (CFX_NDTYPES - 8));
}

/* By arithmetic: a half is an integer times a power of two. */
static double half_value(unsigned h)
{
    int exponent = h >> 10 & 31;
    double m = h & 0x3ff;
    double x = exponent == 31 ? (m != 0 ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + m, exponent - 25)
                              : ldexp(m, -24);

    return h & 0x8000 ? -x : x;
}

TEST_CASE(every_half_survives_float)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = cfx_f16_to_f32((uint16_t)h);
        if (isnan(half_value(h))) {
            ck_assert(isnan(f));
            ck_assert(isnan(cfx_f16_to_f32(cfx_f32_to_f16(f))));
            continue;
        }
        ck_assert_msg((double)f == half_value(h), "%#x", h);
        ck_assert_uint_eq(cfx_f32_to_f16(f), h);
    }
}

TEST_CASE(floats_between_halves_round_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7bff; h++) {
        float low = cfx_f16_to_f32((uint16_t)h);
        float high = cfx_f16_to_f32((uint16_t)(h + 1));
        float middle = (low + high) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        ck_assert_uint_eq(cfx_f32_to_f16(middle), even);
        ck_assert_uint_eq(cfx_f32_to_f16(nextafterf(middle, low)), h);
        ck_assert_uint_eq(cfx_f32_to_f16(nextafterf(middle, high)), h + 1);
        ck_assert_uint_eq(cfx_f32_to_f16(-middle), even | 0x8000);
    }
    ck_assert_uint_eq(cfx_f32_to_f16(65519.99f), 0x7bff);
    ck_assert_uint_eq(cfx_f32_to_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(cfx_f32_to_f16(1e30f), 0x7c00);
    ck_assert_uint_eq(cfx_f32_to_f16(1e-30f), 0);
}

TEST_CASE(every_bfloat_survives_float)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = cfx_bf16_to_f32((uint16_t)h);
        if (isnan(f))
            ck_assert(isnan(cfx_bf16_to_f32(cfx_f32_to_bf16(f))));
        else
            ck_assert_uint_eq(cfx_f32_to_bf16(f), h);
    }
    ck_assert_uint_eq(cfx_f32_to_bf16(1.00390625f), 0x3f80);
    ck_assert_uint_eq(cfx_f32_to_bf16(1.01171875f), 0x3f82);
    ck_assert_uint_eq(cfx_f32_to_bf16(3.4e38f), 0x7f80);
}

static void set_number(cfx_dtype dtype, void *p, const char *text)
{
    if (cfx_dtype_is_float(dtype))
        cfx_element_set_double(dtype, p, strtod(text, NULL));
    else
        cfx_element_set_int(dtype, p, strtoll(text, NULL, 10));
}

/* By single elements, by copies of tensors and by the loops of operators, which
 * are others; in one row that is contiguous, and in one that is not. */
TEST_CASE(conversion_agrees_with_pytorch_for_all_pairs)
{
    FILE *f = open_golden("convert.txt");
    char a[32], x[64], b[32], y[64];
    cfx_dtype from, to;
    int n = 0;

    while (fscanf(f, "%31s %63s %31s %63s", a, x, b, y) == 4) {
        double expected[1] = {0}, got[1] = {0};
        ck_assert(cfx_dtype_parse(&from, a) && cfx_dtype_parse(&to, b));
        cfx_tensor *src = new_tensor(from, "10"), *dst = new_tensor(to, "20");
        size_t size = cfx_dtype_size(to);
        set_number(to, expected, y);
        for (int i = 0; i < 10; i++)
            set_number(
                from, (char *)src->data + (size_t)i * cfx_dtype_size(from), x);
        if (cfx_dtype_is_float(from))
            cfx_element_set_double(to, got,
                                   cfx_element_double(from, src->data));
        else
            cfx_element_set_int(to, got, cfx_element_int(from, src->data));
        bool nan = cfx_dtype_is_float(to) &&
                   isnan(cfx_element_double(to, expected));
        ck_assert_msg(nan || !memcmp(got, expected, size),
                      "element: %s %s to %s", a, x, b);

        for (int step = 1; step <= 2; step++) {
            cfx_tensor *row = view(dst, "10", step == 1 ? "1" : "2", 0);
            ck_assert_int_eq(cfx_tensor_copy(row, src, &err), CFX_OK);
            for (int64_t i = 0; i < 10; i++) {
                const void *p = cfx_tensor_at(row, &i);
                ck_assert_msg(nan ? isnan(cfx_element_double(to, p))
                                  : !memcmp(p, expected, size),
                              "copy: %s %s to %s", a, x, b);
            }
            cfx_context_kernels(ctx)->pointwise->convert[to][from](
                dst->data, step, src->data, 1, 10);
            for (int64_t i = 0; i < 10; i++) {
                const void *p = cfx_tensor_at(row, &i);
                ck_assert_msg(nan ? isnan(cfx_element_double(to, p))
                                  : !memcmp(p, expected, size),
                              "operator: %s %s to %s", a, x, b);
            }
            cfx_tensor_unref(row);
        }
        cfx_tensor_unref(src);
        cfx_tensor_unref(dst);
        n++;
    }
    fclose(f);
    ck_assert_int_gt(n, 3000);
}

/* Numbers that fit, and negative ones, which wrap; what torch makes of larger ones
 * depends on the machine. */
TEST_CASE(unsigned_integers_convert_as_in_pytorch)
{
    static const struct {
        cfx_dtype from, to;
        double x;
        uint64_t bits;
    } cases[] = {
        {CFX_F32, CFX_U16, 3.75, 3},
        {CFX_F32, CFX_U16, -1, 65535},
        {CFX_F64, CFX_U16, 65535, 65535},
        {CFX_F32, CFX_U32, -2.5, 4294967294},
        {CFX_F64, CFX_U32, 4294967295, 4294967295},
        {CFX_F32, CFX_U64, -1, UINT64_MAX},
        {CFX_F32, CFX_U64, 1e10, 10000000000},
        {CFX_F32, CFX_U64, 1e19, 9999999980506447872u},
        {CFX_F64, CFX_U64, 1e19, 10000000000000000000u},
        {CFX_I64, CFX_U16, -1, 65535},
        {CFX_I8, CFX_U32, -1, 4294967295},
        {CFX_I16, CFX_U64, -2, UINT64_MAX - 1},
        {CFX_BOOL, CFX_U64, 1, 1},
        {CFX_U64, CFX_BOOL, 0x1p63, 1},
        {CFX_U64, CFX_U16, 65537, 1},
        {CFX_U32, CFX_I64, 4294967295, 4294967295},
        {CFX_U32, CFX_I32, 4294967295, 0xffffffff},
        {CFX_U16, CFX_I16, 65535, 0xffff},
        {CFX_U64, CFX_I64, 0x1p63, UINT64_C(1) << 63},
        {CFX_U64, CFX_F64, 0x1p63, UINT64_C(0x43e0000000000000)},
        {CFX_U64, CFX_F32, 0x1p63, 0x5f000000},
        {CFX_U32, CFX_F32, 0x1p31, 0x4f000000},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_tensor *src = new_tensor(cases[i].from, "3");
        cfx_tensor *dst = new_tensor(cases[i].to, "3");
        uint64_t got = 0;
        for (int64_t k = 0; k < 3; k++)
            cfx_element_set_double(cases[i].from, cfx_tensor_at(src, &k),
                                   cases[i].x);
        ck_assert_int_eq(cfx_tensor_copy(dst, src, &err), CFX_OK);
        for (int64_t k = 0; k < 3; k++) {
            memcpy(&got, cfx_tensor_at(dst, &k), cfx_dtype_size(cases[i].to));
            ck_assert_msg(got == cases[i].bits, "case %zu: %llu", i,
                          (unsigned long long)got);
        }
        cfx_tensor_unref(src);
        cfx_tensor_unref(dst);
    }
}

TEST_CASE(unsigned_integers_are_printed_in_full)
{
    cfx_tensor *t = new_tensor(CFX_U64, "2");
    char *text;
    size_t size;

    ((uint64_t *)t->data)[0] = 7;
    ((uint64_t *)t->data)[1] = UINT64_MAX;
    ck_assert_int_eq(cfx_tensor_print(&text, &size, t, &err), CFX_OK);
    ck_assert_str_eq(text, "tensor([                   7, "
                           "18446744073709551615], dtype=torch.uint64)");
    cfx_free(t->ctx, text, size);
    cfx_tensor_unref(t);
}

TEST_SUITE(dtype, .setup = setup, .teardown = teardown, .timeout = 120)
