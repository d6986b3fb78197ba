/*
 * edits_test -- operators that write elements of their first argument do it where
 * that is, and read what was there before.
 */
#include <cfx/ops.h>

#include "tests/unit/unit.h"

enum { ROWS = 5, COLUMNS = 3 };

static cfx_context *ctx;
static cfx_scope scope;

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
    cfx_scope_init(&scope, &cfx_eager_class, ctx, NULL);
}

static void teardown(void)
{
    cfx_scope_release(&scope);
    cfx_context_free(ctx);
}

/* Rows 0, 0, 0; 1, 1, 1; ... */
static cfx_value make_rows(void)
{
    const int64_t extents[] = {ROWS, COLUMNS};
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 2, extents, NULL),
                     CFX_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        ((float *)t->data)[i] = (float)(i / COLUMNS);
    return cfx_scope_take(&scope, cfx_value_of_tensor(t));
}

/* The rows 1 to 3, and numbers from 1 to 3. */
static cfx_value inner(cfx_value x)
{
    return cfx_narrow(&scope, x, cfx_int(0), cfx_int(1), cfx_int(3));
}

static cfx_value one_to_three(void)
{
    const int64_t n = 3;
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_I64, 1, &n, NULL), CFX_OK);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)t->data)[i] = i + 1;
    return cfx_scope_take(&scope, cfx_value_of_tensor(t));
}

static void expect_rows(cfx_value x, const float *want)
{
    cfx_error err = {0};
    ck_assert_msg(!cfx_scope_status(&scope, &err), "%s", err.text);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        ck_assert_float_eq(((const float *)x.u.tensor->data)[i],
                           want[i / COLUMNS]);
}

TEST_CASE(rows_are_written_where_they_are)
{
    const float want[] = {0, 0, 0, 0, 4};
    cfx_value x = make_rows(), zeros = cfx_zeros_like(&scope, inner(x));
    const void *data = x.u.tensor->data;
    cfx_value y = cfx_index_copy_inplace(&scope, x, cfx_int(0), one_to_three(),
                                         zeros);
    ck_assert_ptr_eq(y.u.tensor->data, data);
    expect_rows(x, want);
}

/* Written one by one, the first row would reach the last. */
TEST_CASE(an_overlapping_source_is_read_first)
{
    const float copied[] = {0, 0, 1, 2, 4}, added[] = {0, 1, 3, 5, 4};
    cfx_value x = make_rows(), y = make_rows();
    cfx_index_copy_inplace(
        &scope, x, cfx_int(0), one_to_three(),
        cfx_narrow(&scope, x, cfx_int(0), cfx_int(0), cfx_int(3)));
    expect_rows(x, copied);
    cfx_index_add_inplace(
        &scope, y, cfx_int(0), one_to_three(),
        cfx_narrow(&scope, y, cfx_int(0), cfx_int(0), cfx_int(3)));
    expect_rows(y, added);
}

TEST_CASE(values_of_the_tensor_itself_are_read_first)
{
    const float want[] = {0, 0, 1, 2, 4};
    cfx_value x = make_rows();
    cfx_index_put_inplace(
        &scope, x, cfx_list(&scope, one_to_three()),
        cfx_narrow(&scope, x, cfx_int(0), cfx_int(0), cfx_int(3)));
    expect_rows(x, want);
}

/* A row is both an index and what is written. */
TEST_CASE(an_index_in_the_tensor_is_read_first)
{
    const int64_t n = 4, want[] = {9, 9, 9, 9};
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_I64, 1, &n, NULL), CFX_OK);
    int64_t *data = t->data;
    for (int64_t i = 0; i < n; i++)
        data[i] = (i + 1) % n;
    cfx_value x = cfx_scope_take(&scope, cfx_value_of_tensor(t));
    cfx_index_fill_inplace(&scope, x, cfx_int(0), x, cfx_int(9));
    ck_assert_int_eq(cfx_scope_status(&scope, NULL), CFX_OK);
    ck_assert_mem_eq(data, want, sizeof(want));
}

TEST_SUITE(edits, .setup = setup, .teardown = teardown)
