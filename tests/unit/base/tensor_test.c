/*
 * tensor_test -- what tensors are made, viewed and refused, and who holds their
 * memory.
 */
#include "tests/unit/base/tensor_test.h"
#include "tests/unit/unit.h"

/* ---- Making tensors ---- */

TEST_CASE(new_is_row_major_and_aligned)
{
    cfx_tensor *t = new_tensor(CFX_I16, "2,3,4");

    assert_strides(t, "12,4,1");
    ck_assert_int_eq(cfx_tensor_numel(t), 24);
    ck_assert_uint_eq((uintptr_t)t->data % 64, 0);
    ck_assert(cfx_tensor_is_contiguous(t));
    ck_assert(cfx_dim_is(t->offset, 0));
    ck_assert(!cfx_tensor_is_meta(t));
    cfx_tensor_unref(t);

    t = new_tensor(CFX_F64, "1000,1000");
    ck_assert_uint_eq((uintptr_t)t->data % 64, 0);
    memset(t->data, 0, 8000000);
    cfx_tensor_unref(t);
}

TEST_CASE(new_of_rank_0_has_one_element)
{
    cfx_tensor *t;

    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 0, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_tensor_numel(t), 1);
    *(float *)t->data = 2;
    ck_assert(cfx_tensor_is_contiguous(t));
    cfx_tensor_unref(t);
}

TEST_CASE(new_of_nothing_has_an_address)
{
    static const char *const shapes[] = {"0", "2,0,3", "0,1099511627776"};

    for (int i = 0; i < 3; i++) {
        cfx_tensor *t = new_tensor(CFX_F32, shapes[i]), *copy;
        ck_assert_ptr_nonnull(t->data);
        ck_assert_int_eq(cfx_tensor_numel(t), 0);
        ck_assert(cfx_tensor_is_contiguous(t));
        ck_assert(t->flags & CFX_TENSOR_DENSE);
        ck_assert_int_eq(cfx_tensor_contiguous(&copy, t, &err), CFX_OK);
        ck_assert_ptr_eq(copy, t);
        cfx_tensor_unref(copy);
        cfx_tensor_unref(t);
    }
    cfx_tensor *t = new_tensor(CFX_F32, "2,0,3");
    assert_strides(t, "3,3,1");
    cfx_tensor_unref(t);
}

TEST_CASE(new_rejects_what_does_not_fit)
{
    static const struct {
        int rank;
        int64_t shape[3];
        const char *text;
    } cases[] = {
        {2, {3, -1}, "the extent on axis 1 is not within 0 and 2^61: -1"},
        {1,
         {INT64_MAX},
         "the extent on axis 0 is not within 0 and 2^61: 9223372036854775807"},
        {1,
         {INT64_MIN},
         "the extent on axis 0 is not within 0 and 2^61: -9223372036854775808"},
        {2,
         {4294967296, 4294967296},
         "a tensor of type float32 and shape [4294967296, 4294967296] is "
         "larger than 2^61 bytes"},
        {1,
         {(int64_t)1 << 60},
         "a tensor of type float32 and shape [1152921504606846976] is larger "
         "than 2^61 bytes"},
        {3,
         {0, (int64_t)1 << 40, (int64_t)1 << 40},
         "a tensor of type float32 and shape [0, 1099511627776, 1099511627776] "
         "is larger than 2^61 bytes"},
        {17, {0}, "rank 17 is not within 0 and 16"},
        {-1, {0}, "rank -1 is not within 0 and 16"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cfx_tensor *t = (cfx_tensor *)1;
        assert_fails(cfx_tensor_new(&t, ctx, CFX_F32, cases[i].rank,
                                    cases[i].shape, &err),
                     CFX_ESHAPE, cases[i].text);
        ck_assert_ptr_null(t);
    }
}

TEST_CASE(new_too_large_for_the_machine_lacks_memory)
{
    int64_t shape[] = {(int64_t)1 << 50};
    cfx_tensor *t;

    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 1, shape, &err),
                     CFX_ENOMEM);
    ck_assert_ptr_null(t);
}

TEST_CASE(meta_rejects_what_does_not_fit)
{
    cfx_dim big = cfx_dim_int((int64_t)1 << 32);
    cfx_dim shapes[][2] = {
        {big, big},
        {cfx_dim_int(2), cfx_dim_int(-3)},
        {CFX_DIM_BAD, cfx_dim_int(2)},
    };
    static const char *const texts[] = {
        ("a tensor of type int64 and shape [4294967296, 4294967296] is larger "
         "than 2^61 bytes"),
        "the extent on axis 1 is negative: -3",
        "the extent on axis 0 is beyond 2^61 or undefined",
    };
    cfx_tensor *t;

    for (int i = 0; i < 3; i++)
        assert_fails(
            cfx_tensor_meta(&t, ctx, CFX_I64, 2, shapes[i], NULL, &err),
            CFX_ESHAPE, texts[i]);

    cfx_dim shape[] = {cfx_dim_int(3), cfx_dim_int(4)};
    cfx_dim stride[] = {CFX_DIM_BAD, cfx_dim_int(1)};
    assert_fails(cfx_tensor_meta(&t, ctx, CFX_I64, 2, shape, stride, &err),
                 CFX_ESHAPE,
                 "the stride on axis 0 is beyond 2^61 or undefined");
    stride[0] = cfx_dim_int((int64_t)1 << 60);
    assert_fails(cfx_tensor_meta(&t, ctx, CFX_I64, 2, shape, stride, &err),
                 CFX_ESHAPE,
                 "stride 1152921504606846976 on axis 0 of extent "
                 "3 reaches beyond 2^61");
}

TEST_CASE(meta_gets_memory_as_far_as_its_strides_reach)
{
    cfx_tensor *t = new_meta("2,3,4", "1,2,6"), *gap = new_meta("2,3", "10,1");

    ck_assert(cfx_tensor_is_meta(t));
    ck_assert_ptr_null(t->data);
    ck_assert_int_eq(cfx_tensor_alloc(t, &err), CFX_OK);
    ck_assert_uint_eq(t->storage->bytes, 24 * sizeof(float));
    memset(t->data, 0, t->storage->bytes);
    assert_fails(cfx_tensor_alloc(t, &err), CFX_EINVAL,
                 "the tensor has memory already");
    ck_assert_int_eq(cfx_tensor_alloc(gap, &err), CFX_OK);
    ck_assert_uint_eq(gap->storage->bytes, 13 * sizeof(float));
    cfx_tensor_unref(t);
    cfx_tensor_unref(gap);
}

/* ---- Symbols ---- */

TEST_CASE(flags_of_symbols_compare_products_as_words)
{
    cfx_shape_env *env;
    cfx_tensor *t;

    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
    cfx_dim n = cfx_dim_symbol(env, "N", 1), c = cfx_dim_int(3);
    cfx_dim h = cfx_dim_symbol(env, "H", 1), w = cfx_dim_symbol(env, "W", 1);
    cfx_dim shape[] = {n, c, h, w}, stride[4];
    ck_assert_msg(!cfx_tensor_meta(&t, ctx, CFX_F32, 4, shape, NULL, &err),
                  "%s", err.text);
    ck_assert_uint_eq(t->flags, CFX_TENSOR_CONTIGUOUS | CFX_TENSOR_DENSE |
                                    CFX_TENSOR_EXACT);
    cfx_tensor_unref(t);

    cfx_strides_of(env, CFX_CHANNELS_LAST, 4, shape, stride);
    ck_assert(!cfx_tensor_meta(&t, ctx, CFX_F32, 4, shape, stride, &err));
    ck_assert_uint_eq(t->flags, CFX_TENSOR_CHANNELS_LAST | CFX_TENSOR_DENSE);
    assert_fails(
        cfx_tensor_alloc(t, &err), CFX_ESHAPE,
        "memory for shape [N, 3, H, W] needs numbers for its symbols");
    char text[64];
    ck_assert_uint_eq(cfx_tensor_format_type(t, text, sizeof text), 15);
    ck_assert_str_eq(text, "f32[N, 3, H, W]");
    cfx_tensor_unref(t);

    stride[0] = cfx_dim_add(env, stride[0], c);
    ck_assert(!cfx_tensor_meta(&t, ctx, CFX_F32, 4, shape, stride, &err));
    ck_assert_uint_eq(t->flags, 0);
    cfx_tensor_unref(t);
    cfx_shape_env_free(env);
    /* The context keeps the expressions that it has seen. */
    held_before = cfx_context_memory(ctx);
}

/* ---- Flags ---- */

TEST_CASE(flags_follow_pytorch)
{
    enum {
        C = CFX_TENSOR_CONTIGUOUS,
        L = CFX_TENSOR_CHANNELS_LAST,
        L3 = CFX_TENSOR_CHANNELS_LAST_3D,
        D = CFX_TENSOR_DENSE
    };
    static const struct {
        const char *shape, *stride;
        unsigned flags;
    } cases[] = {
        {"", "", C | D},
        {"5", "1", C | D},
        {"5", "2", 0},
        {"1", "7", C | D},
        {"0", "7", C | D},
        {"2,3", "3,1", C | D},
        {"2,3", "1,2", D},
        {"2,3", "4,1", 0},
        {"2,3", "0,1", 0},
        {"2,1,3", "3,99,1", C | D},
        {"2,1,3", "1,99,2", D},
        {"2,3,4,5", "60,20,5,1", C | D},
        {"2,3,4,5", "60,1,15,3", L | D},
        {"2,1,4,5", "20,20,5,1", C | D | L},
        {"2,1,4,5", "20,1,5,1", C | D | L},
        {"2,3,1,1", "3,1,1,1", C | D | L},
        {"2,3,1,1", "3,1,3,3", C | D | L},
        {"1,3,4,5", "0,1,15,3", L | D},
        {"2,0,3,4", "0,1,0,0", C | D | L},
        {"2,0,3,4", "12,12,4,1", C | D},
        {"0,3,4,5", "60,20,5,1", C | D},
        {"2,3,4,5,6", "360,120,30,6,1", C | D},
        {"2,3,4,5,6", "360,1,90,18,3", L3 | D},
        {"2,1,4,5,6", "120,120,30,6,1", C | D | L3},
        {"2,3,4", "12,1,3", D},
        {"2,2", "1,1", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cfx_tensor *t = new_meta(cases[i].shape, cases[i].stride);
        ck_assert_msg(t->flags == cases[i].flags, "[%s] by [%s]: %d",
                      cases[i].shape, cases[i].stride, t->flags);
        cfx_tensor_unref(t);
    }
}

TEST_CASE(strides_of_formats_are_those_of_pytorch)
{
    static const struct {
        const char *shape;
        cfx_memory_format format;
        const char *strides;
    } cases[] = {
        {"2,3,4,5", CFX_CONTIGUOUS_FORMAT, "60,20,5,1"},
        {"2,3,4,5", CFX_PRESERVE_FORMAT, "60,20,5,1"},
        {"2,3,4,5", CFX_CHANNELS_LAST, "60,1,15,3"},
        {"2,0,3,4", CFX_CHANNELS_LAST, "0,1,0,0"},
        {"2,0,3,0", CFX_CONTIGUOUS_FORMAT, "3,3,1,1"},
        {"2,3,4,5,6", CFX_CHANNELS_LAST_3D, "360,1,90,18,3"},
        {"2,3,4", CFX_CHANNELS_LAST, "12,4,1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n[CFX_MAX_RANK], s[CFX_MAX_RANK];
        cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
        int rank = numbers(n, cases[i].shape);
        numbers(s, cases[i].strides);
        for (int k = 0; k < rank; k++)
            shape[k] = cfx_dim_int(n[k]);
        cfx_strides_of(NULL, cases[i].format, rank, shape, stride);
        for (int k = 0; k < rank; k++)
            ck_assert_int_eq(cfx_dim_value(stride[k]), s[k]);
    }
}

/* ---- Memory of others ---- */

TEST_CASE(from_releases_when_the_last_view_goes)
{
    float numbers_[6] = {0, 1, 2, 3, 4, 5};
    int64_t shape[] = {2, 3};
    cfx_tensor *t;

    released = 0;
    ck_assert_int_eq(cfx_tensor_from(&t, ctx, CFX_F32, 2, shape, NULL,
                                     numbers_, sizeof numbers_, release,
                                     &released, &err),
                     CFX_OK);
    ck_assert_ptr_eq(t->data, numbers_);
    cfx_tensor *v = view(t, "3,2", "1,3", 0);
    ck_assert(cfx_tensor_shares(t, v));
    cfx_tensor_unref(t);
    ck_assert_int_eq(released, 0);
    ck_assert(((float *)v->data)[5] == 5);
    cfx_tensor_unref(v);
    ck_assert_int_eq(released, 1);
}

TEST_CASE(from_rejects_strides_that_leave_the_memory)
{
    static const struct {
        int rank;
        int64_t shape[2], stride[2];
        const char *text;
    } cases[] = {
        {2,
         {2, 3},
         {4, 1},
         "extents and strides reach 7 elements of float32, "
         "but the memory has 24 bytes"},
        {1,
         {7},
         {1},
         "extents and strides reach 7 elements of float32, but "
         "the memory has 24 bytes"},
        {1, {2}, {-1}, "the stride on axis 0 is not within 0 and 2^61: -1"},
        {1, {-2}, {1}, "the extent on axis 0 is not within 0 and 2^61: -2"},
        {2,
         {3, (int64_t)1 << 60},
         {1, 0},
         "a tensor of type float32 and shape [3, 1152921504606846976] is "
         "larger than 2^61 bytes"},
        {1,
         {3},
         {(int64_t)1 << 60},
         "stride 1152921504606846976 on axis 0 of extent 3 reaches beyond "
         "2^61"},
        {1,
         {3},
         {(int64_t)1 << 59},
         "extents and strides reach 1152921504606846977 elements of float32, "
         "but the memory has 24 bytes"},
        {2,
         {3, 3},
         {(int64_t)1 << 59, (int64_t)1 << 60},
         "stride 1152921504606846976 on axis 1 of extent 3 reaches beyond "
         "2^61"},
        {20, {0}, {0}, "rank 20 is not within 0 and 16"},
    };
    float memory[6];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cfx_tensor *t;
        released = 0;
        assert_fails(cfx_tensor_from(&t, ctx, CFX_F32, cases[i].rank,
                                     cases[i].shape, cases[i].stride, memory,
                                     sizeof memory, release, &released, &err),
                     CFX_ESHAPE, cases[i].text);
        ck_assert_ptr_null(t);
        ck_assert_int_eq(released, 1);
    }
}

TEST_CASE(from_takes_no_memory_for_no_elements)
{
    int64_t shape[] = {3, 0};
    cfx_tensor *t;

    ck_assert_int_eq(cfx_tensor_from(&t, ctx, CFX_F32, 2, shape, NULL, NULL, 0,
                                     NULL, NULL, &err),
                     CFX_OK);
    ck_assert_ptr_nonnull(t->data);
    ck_assert(!cfx_tensor_is_meta(t));
    cfx_tensor_unref(t);
}

/* ---- Views ---- */

TEST_CASE(view_outlives_its_base)
{
    static const char *const shapes[] = {"4,5", "400,500"};

    for (int i = 0; i < 2; i++) {
        cfx_tensor *t = new_tensor(CFX_I32, shapes[i]);
        fill(t);
        cfx_tensor *v = view(t, "3", "2", 1), *w = view(v, "2", "1", 4);
        cfx_tensor_unref(t);
        ck_assert_int_eq(((int32_t *)v->data)[4], 5);
        cfx_tensor_unref(v);
        ck_assert_int_eq(((int32_t *)w->data)[1], 5);
        cfx_tensor_unref(w);
    }
}

TEST_CASE(view_rejects_what_leaves_the_storage)
{
    cfx_tensor *t = new_tensor(CFX_F32, "2,3"), *v;

    assert_fails(try_view(&v, t, "7", "1", 0), CFX_ESHAPE,
                 "a view of 7 elements from element 0 leaves a storage of 6");
    assert_fails(try_view(&v, t, "2", "3", 3), CFX_ESHAPE,
                 "a view of 4 elements from element 3 leaves a storage of 6");
    assert_fails(try_view(&v, t, "1", "1", 6), CFX_ESHAPE,
                 "a view of 1 elements from element 6 leaves a storage of 6");
    assert_fails(try_view(&v, t, "2", "1", -1), CFX_ESHAPE,
                 "the offset of a view is negative or beyond 2^61");
    assert_fails(try_view(&v, t, "2", "-1", 3), CFX_ESHAPE,
                 "the stride on axis 0 is negative: -1");
    v = view(t, "0,3", "3,1", 6);
    ck_assert_ptr_eq(v->data, (float *)t->data + 6);
    cfx_tensor_unref(v);
    v = view(t, "0", "1", 1000);
    ck_assert_ptr_eq(v->data, t->data);
    cfx_tensor_unref(v);
    v = view(t, "1000", "0", 5);
    cfx_tensor_unref(v);
    cfx_tensor_unref(t);
}

TEST_CASE(view_of_a_meta_is_a_meta_that_can_be_given_memory)
{
    cfx_tensor *t = new_meta("2,3", "3,1"), *v = view(t, "3", "1", 3);

    ck_assert(cfx_tensor_is_meta(v));
    ck_assert(!cfx_tensor_shares(t, v));
    ck_assert(cfx_dim_is(v->offset, 3));
    ck_assert_int_eq(cfx_tensor_alloc(v, &err), CFX_OK);
    memset(v->data, 0, 12);
    cfx_tensor_unref(t);
    cfx_tensor_unref(v);
}

TEST_CASE(place_puts_a_meta_into_the_storage_of_another)
{
    cfx_tensor *home = new_tensor(CFX_U8, "1000"), *t = new_meta("10", "1");

    assert_fails(cfx_tensor__place(t, home, 2, &err), CFX_ESHAPE,
                 "offset 2 is not a multiple of the 4 bytes of float32");
    assert_fails(cfx_tensor__place(t, home, 964, &err), CFX_ESHAPE,
                 "a view of 10 elements from element 241 leaves a storage of "
                 "250");
    ck_assert_int_eq(cfx_tensor__place(t, home, 960, &err), CFX_OK);
    ck_assert_ptr_eq(t->data, (char *)home->data + 960);
    cfx_tensor_unref(home);
    memset(t->data, 0, 40);
    cfx_tensor_unref(t);
}

TEST_CASE(unref_takes_null_and_ref_gives_the_same)
{
    cfx_tensor_unref(NULL);
    cfx_tensor *t = new_tensor(CFX_F32, "2");
    ck_assert_ptr_eq(cfx_tensor_ref(t), t);
    ck_assert_int_eq(t->refs, 2);
    cfx_tensor_unref(t);
    ck_assert_int_eq(t->refs, 1);
    ((float *)t->data)[1] = 1;
    cfx_tensor_unref(t);
}

TEST_SUITE(tensor, .setup = setup, .teardown = teardown, .timeout = 120)
