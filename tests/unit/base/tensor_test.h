/*
 * tensor_test.h -- what the tests of tensors share: a context whose allocator
 * can be told to fail, and short ways to make tensors and say what they are.
 */
#ifndef CFX_TENSOR_TEST_H
#define CFX_TENSOR_TEST_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/tensor.h>

#include "tensor/storage.h"

static cfx_context *ctx;
static cfx_error err;

/* ---- An allocator that counts, and fails when it is told to ---- */

static long allowed = -1; /* allocations until failure; negative: no end */
CFX_UNUSED static bool failed;

CFX_INLINE void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (allowed == 0 || size >> 40) {
        failed = true;
        return NULL;
    }
    if (allowed > 0)
        allowed--;
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

CFX_INLINE void test_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

static size_t held_before;

CFX_INLINE void setup(void)
{
    cfx_options options = {
        .size = sizeof options,
        .allocator = {test_alloc, test_free, NULL},
        .threads = 2,
    };

    allowed = -1;
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    held_before = cfx_context_memory(ctx);
}

CFX_INLINE void teardown(void)
{
    ck_assert_uint_eq(cfx_context_memory(ctx), held_before);
    cfx_context_free(ctx);
}

/* ---- Short ways to say things ---- */

CFX_INLINE int numbers(int64_t *out, const char *text)
{
    int n = 0;

    for (char *end; *text; text = *end ? end + 1 : end)
        out[n++] = strtoll(text, &end, 10);
    return n;
}

/* new_tensor(CFX_F32, "2,3") */
CFX_INLINE cfx_tensor *new_tensor(cfx_dtype dtype, const char *shape)
{
    int64_t n[CFX_MAX_RANK];
    cfx_tensor *t;

    int rank = numbers(n, shape);
    ck_assert_msg(!cfx_tensor_new(&t, ctx, dtype, rank, n, &err), "%s",
                  err.text);
    return t;
}

/* A meta of an extent and stride for each axis. */
CFX_INLINE cfx_tensor *new_meta(const char *shape, const char *stride)
{
    int64_t n[CFX_MAX_RANK], s[CFX_MAX_RANK];
    cfx_dim dims[CFX_MAX_RANK], strides[CFX_MAX_RANK];
    cfx_tensor *t;
    int rank = numbers(n, shape);

    ck_assert_int_eq(numbers(s, stride), rank);
    for (int i = 0; i < rank; i++) {
        dims[i] = cfx_dim_int(n[i]);
        strides[i] = cfx_dim_int(s[i]);
    }
    ck_assert_msg(
        !cfx_tensor_meta(&t, ctx, CFX_F32, rank, dims, strides, &err), "%s",
        err.text);
    return t;
}

/* A view of other extents and strides, with the offset behind a colon. */
CFX_INLINE cfx_status try_view(cfx_tensor **out, const cfx_tensor *base,
                               const char *shape, const char *stride,
                               int64_t offset)
{
    int64_t n[CFX_MAX_RANK], s[CFX_MAX_RANK];
    cfx_dim dims[CFX_MAX_RANK], strides[CFX_MAX_RANK];
    int rank = numbers(n, shape);

    ck_assert_int_eq(numbers(s, stride), rank);
    for (int i = 0; i < rank; i++) {
        dims[i] = cfx_dim_int(n[i]);
        strides[i] = cfx_dim_int(s[i]);
    }
    memset(&err, 0, sizeof err);
    return cfx_tensor_view(out, base, rank, dims, strides, cfx_dim_int(offset),
                           &err);
}

CFX_INLINE cfx_tensor *view(const cfx_tensor *base, const char *shape,
                            const char *stride, int64_t offset)
{
    cfx_tensor *t;

    ck_assert_msg(!try_view(&t, base, shape, stride, offset), "%s", err.text);
    return t;
}

CFX_INLINE void assert_fails(cfx_status status, cfx_status expected,
                             const char *text)
{
    ck_assert_str_eq(cfx_status_name(status), cfx_status_name(expected));
    ck_assert_int_eq(err.code, expected);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(strchr(err.text, '\n'));
    memset(&err, 0, sizeof err);
}

CFX_INLINE void assert_strides(const cfx_tensor *t, const char *strides)
{
    int64_t s[CFX_MAX_RANK];

    ck_assert_int_eq(numbers(s, strides), t->rank);
    for (int i = 0; i < t->rank; i++)
        ck_assert_int_eq(cfx_tensor_stride(t, i), s[i]);
}

CFX_INLINE void fill(cfx_tensor *t)
{
    cfx_dtype dtype = (cfx_dtype)t->dtype;
    size_t size = cfx_dtype_size(dtype);

    for (int64_t i = 0, n = cfx_tensor_numel(t); i < n; i++)
        cfx_element_set_int(dtype, (char *)t->data + (size_t)i * size, i);
}

/* Step to the next index in row-major order; false after the last. */
CFX_INLINE bool next_index(const cfx_tensor *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < cfx_tensor_size(t, i))
            return true;
        index[i] = 0;
    }
    return false;
}

CFX_INLINE void assert_same_numbers(const cfx_tensor *a, const cfx_tensor *b)
{
    int64_t index[CFX_MAX_RANK] = {0};

    do {
        double x = cfx_element_double((cfx_dtype)a->dtype,
                                      cfx_tensor_at(a, index));
        double y = cfx_element_double((cfx_dtype)b->dtype,
                                      cfx_tensor_at(b, index));
        if (x != y && !(isnan(x) && isnan(y)))
            ck_abort_msg("%g is not %g", x, y);
    } while (next_index(a, index));
}

CFX_INLINE FILE *open_golden(const char *name)
{
    const char *dir = getenv("srcdir");
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/golden/%s", dir ? dir : ".", name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    return f;
}

/* The number of calls of release(). */
static int released;

CFX_INLINE void release(void *user)
{
    ck_assert_ptr_eq(user, &released);
    released++;
}

/* Strides that lay the axes out in another order, with a gap if wanted. */
CFX_INLINE cfx_tensor *shuffled(cfx_dtype dtype, int rank,
                                const int64_t *shape, unsigned seed,
                                int64_t gap)
{
    cfx_dim dims[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int order[CFX_MAX_RANK];
    int64_t step = gap;
    cfx_tensor *t;

    for (int i = 0; i < rank; i++)
        order[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        seed = seed * 1103515245u + 12345u;
        int k = (int)((seed >> 16) % (unsigned)(i + 1)), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < rank; i++) {
        dims[order[i]] = cfx_dim_int(shape[order[i]]);
        stride[order[i]] = cfx_dim_int(step);
        step *= shape[order[i]] + (gap > 1);
    }
    ck_assert_msg(!cfx_tensor_meta(&t, ctx, dtype, rank, dims, stride, &err),
                  "%s", err.text);
    ck_assert_int_eq(cfx_tensor_alloc(t, &err), CFX_OK);
    memset(t->data, 0x55, t->storage->bytes);
    return t;
}

CFX_INLINE void number_elements(cfx_tensor *t)
{
    int64_t index[CFX_MAX_RANK] = {0}, i = 0;

    do
        cfx_element_set_int((cfx_dtype)t->dtype, cfx_tensor_at(t, index),
                            i++ % 101);
    while (next_index(t, index));
}

#endif
