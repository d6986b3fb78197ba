/*
 * copy_test -- where numbers go: copies, text, other libraries; and lack
 * of memory on the way.
 */
#include "tests/unit/base/tensor_test.h"

#include "tensor/dlpack.h"
#include "tests/unit/unit.h"

/* ---- Copies ---- */

TEST_CASE(copy_moves_any_layout_to_any_other)
{
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1},   {2, 3, 4, 5},    {7, 1, 17, 33},  {16, 16, 1, 1},
        {64, 70, 2, 1}, {3, 129, 65, 1}, {1, 67, 1, 131}, {5, 4, 30, 41},
    };
    static const cfx_dtype types[] = {CFX_U8, CFX_F16, CFX_F32, CFX_F64};

    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (unsigned seed = 0; seed < 12; seed++) {
            cfx_dtype from = types[seed % 4];
            cfx_dtype to = types[seed < 8 ? seed % 4 : (seed + 1) % 4];
            cfx_tensor *a = shuffled(from, 4, shapes[k], seed,
                                     seed % 3 == 1 ? 2 : 1);
            cfx_tensor *b = shuffled(to, 4, shapes[k], seed + 100,
                                     seed % 5 == 1 ? 3 : 1);
            number_elements(a);
            ck_assert_int_eq(cfx_tensor_copy(b, a, &err), CFX_OK);
            assert_same_numbers(a, b);
            cfx_tensor_unref(a);
            cfx_tensor_unref(b);
        }
}

TEST_CASE(copy_is_the_same_on_threads)
{
    static const int64_t shape[] = {200, 3, 301};

    for (unsigned seed = 0; seed < 6; seed++) {
        cfx_tensor *a = shuffled(CFX_F32, 3, shape, seed, 1);
        cfx_tensor *b = shuffled(seed < 3 ? CFX_F32 : CFX_I16, 3, shape,
                                 seed + 7, 1);
        number_elements(a);
        ck_assert_int_eq(cfx_tensor_copy(b, a, &err), CFX_OK);
        assert_same_numbers(a, b);
        cfx_tensor_unref(a);
        cfx_tensor_unref(b);
    }
}

TEST_CASE(copy_leaves_gaps_untouched)
{
    cfx_tensor *a = new_tensor(CFX_F32, "4,4"),
               *b = new_tensor(CFX_F32, "8,8");

    fill(a);
    memset(b->data, 0, 256);
    cfx_tensor *hole = view(b, "4,4", "1,16", 9);
    ck_assert_int_eq(cfx_tensor_copy(hole, a, &err), CFX_OK);
    assert_same_numbers(a, hole);
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += ((float *)b->data)[i];
    ck_assert(sum == 120);
    cfx_tensor_unref(hole);
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
}

TEST_CASE(copy_repeats_an_axis_of_stride_0)
{
    cfx_tensor *a = new_tensor(CFX_F32, "3");
    cfx_tensor *b = new_tensor(CFX_F32, "4,3,50");

    fill(a);
    cfx_tensor *wide = view(a, "4,3,50", "0,1,0", 0);
    ck_assert_int_eq(cfx_tensor_copy(b, wide, &err), CFX_OK);
    assert_same_numbers(wide, b);
    cfx_tensor_unref(wide);
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
}

TEST_CASE(copy_reads_and_writes_unaligned_memory)
{
    static _Alignas(16) char from[16 * 40 + 1], to[16 * 40 + 1];
    int64_t shape[] = {40};

    for (int a = 0; a < CFX_NDTYPES; a++)
        for (int b = 0; b < CFX_NDTYPES; b++) {
            cfx_tensor *x, *y;
            ck_assert(!cfx_tensor_from(&x, ctx, (cfx_dtype)a, 1, shape, NULL,
                                       from + 1, 640, NULL, NULL, &err));
            ck_assert(!cfx_tensor_from(&y, ctx, (cfx_dtype)b, 1, shape, NULL,
                                       to + 1, 640, NULL, NULL, &err));
            /* Floats without a mantissa have no zero. */
            bool zeros = a != CFX_F8E8M0FNU && b != CFX_F8E8M0FNU;
            for (int64_t i = 0; i < 40; i++)
                cfx_element_set_int((cfx_dtype)a, cfx_tensor_at(x, &i),
                                    zeros ? i & 1 : 1);
            ck_assert_int_eq(cfx_tensor_copy(y, x, &err), CFX_OK);
            assert_same_numbers(x, y);
            cfx_tensor_unref(x);
            cfx_tensor_unref(y);
        }
}

TEST_CASE(copy_rejects_shapes_that_differ_and_metas)
{
    cfx_tensor *a = new_tensor(CFX_F32, "2,3"),
               *b = new_tensor(CFX_I64, "3,2");
    cfx_tensor *c = new_meta("2,3", "3,1"), *d = new_tensor(CFX_F32, "6");

    assert_fails(cfx_tensor_copy(a, b, &err), CFX_ESHAPE,
                 "copy of i64[3, 2] into f32[2, 3]");
    assert_fails(cfx_tensor_copy(a, d, &err), CFX_ESHAPE,
                 "copy of f32[6] into f32[2, 3]");
    assert_fails(cfx_tensor_copy(a, c, &err), CFX_EINVAL,
                 "copy of f32[2, 3] into f32[2, 3], of which one has no "
                 "memory");
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
    cfx_tensor_unref(c);
    cfx_tensor_unref(d);
}

TEST_CASE(contiguous_copies_only_what_is_not)
{
    cfx_tensor *a = new_tensor(CFX_F32, "2,3"), *t, *same, *rows;

    fill(a);
    t = view(a, "3,2", "1,3", 0);
    ck_assert_int_eq(cfx_tensor_contiguous(&same, a, &err), CFX_OK);
    ck_assert_ptr_eq(same, a);
    ck_assert_int_eq(cfx_tensor_contiguous(&rows, t, &err), CFX_OK);
    ck_assert(!cfx_tensor_shares(rows, a));
    assert_strides(rows, "2,1");
    assert_same_numbers(rows, t);
    cfx_tensor_unref(rows);
    cfx_tensor_unref(t);
    cfx_tensor_unref(same);
    cfx_tensor_unref(a);

    a = new_meta("2,3", "1,2");
    ck_assert_int_eq(cfx_tensor_contiguous(&rows, a, &err), CFX_OK);
    ck_assert(cfx_tensor_is_meta(rows) && cfx_tensor_is_contiguous(rows));
    cfx_tensor_unref(rows);
    cfx_tensor_unref(a);
}

/* ---- Printing ---- */

typedef struct golden {
    char dtype[32], shape[128], *values, *text;
    bool meta;
} golden;

/* The next case; lines are kept in `memory`. */
static bool read_case(golden *g, FILE *f, char *memory, size_t size)
{
    static char head[256];
    char line[512], meta[8] = "";

    if (!*head && !fgets(head, sizeof head, f))
        return false;
    ck_assert_int_ge(
        sscanf(head, "== %31s %127s %7s", g->dtype, g->shape, meta), 2);
    *head = 0;
    if (!strcmp(g->shape, "-"))
        *g->shape = 0;
    g->meta = *meta;
    g->values = memory;
    ck_assert(fgets(memory, (int)size, f) && strchr(memory, '\n'));
    g->text = memory + strlen(memory) + 1;
    size_t at = 0;
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "== ", 3)) {
            memcpy(head, line, strlen(line) + 1);
            break;
        }
        memcpy(g->text + at, line, strlen(line) + 1);
        at += strlen(line);
    }
    g->text[at - 1] = 0;
    return true;
}

static cfx_tensor *tensor_of(const golden *g)
{
    int64_t n[CFX_MAX_RANK];
    cfx_dim dims[CFX_MAX_RANK];
    cfx_dtype dtype;
    cfx_tensor *t;

    ck_assert(cfx_dtype_parse(&dtype, g->dtype));
    if (g->meta) {
        int rank = numbers(n, g->shape);
        for (int i = 0; i < rank; i++)
            dims[i] = cfx_dim_int(n[i]);
        ck_assert(!cfx_tensor_meta(&t, ctx, dtype, rank, dims, NULL, &err));
        return t;
    }
    t = new_tensor(dtype, g->shape);
    char *p = t->data, *word = g->values, *end;
    for (int64_t i = cfx_tensor_numel(t); i > 0; i--) {
        if (cfx_dtype_is_complex(dtype)) {
            double part[2] = {strtod(word, &word), 0};
            part[1] = strtod(word, &end);
            cfx_element_set_complex(dtype, p, part);
        } else if (cfx_dtype_is_float(dtype)) {
            cfx_element_set_double(dtype, p, strtod(word, &end));
        } else {
            cfx_element_set_int(dtype, p, strtoll(word, &end, 10));
        }
        word = end;
        p += cfx_dtype_size(dtype);
    }
    return t;
}

static void assert_prints(const cfx_tensor *t, const char *text)
{
    char *s;
    size_t size;

    ck_assert_int_eq(cfx_tensor_print(&s, &size, t, &err), CFX_OK);
    ck_assert_str_eq(s, text);
    ck_assert_uint_eq(size, strlen(s) + 1);
    cfx_free(ctx, s, size);
}

TEST_CASE(print_agrees_with_pytorch)
{
    static char memory[1 << 17];
    FILE *f = open_golden("print.txt");
    golden g;
    int n = 0;

    for (; read_case(&g, f, memory, sizeof memory); n++) {
        cfx_tensor *t = tensor_of(&g);
        assert_prints(t, g.text);
        if (!g.meta && cfx_tensor_numel(t)) {
            int64_t shape[CFX_MAX_RANK];
            for (int i = 0; i < t->rank; i++)
                shape[i] = cfx_tensor_size(t, i);
            cfx_tensor *other = shuffled((cfx_dtype)t->dtype, t->rank, shape,
                                         (unsigned)n, 2);
            ck_assert_int_eq(cfx_tensor_copy(other, t, &err), CFX_OK);
            assert_prints(other, g.text);
            cfx_tensor_unref(other);
        }
        cfx_tensor_unref(t);
    }
    fclose(f);
    ck_assert_int_ge(n, 90);
}

TEST_CASE(format_type_cuts_like_snprintf)
{
    cfx_tensor *t = new_tensor(CFX_BF16, "2,33");
    char text[20];

    ck_assert_uint_eq(cfx_tensor_format_type(t, NULL, 0), 11);
    ck_assert_uint_eq(cfx_tensor_format_type(t, text, sizeof text), 11);
    ck_assert_str_eq(text, "bf16[2, 33]");
    for (size_t size = 1; size < 12; size++) {
        ck_assert_uint_eq(cfx_tensor_format_type(t, text, size), 11);
        ck_assert_int_eq(strncmp(text, "bf16[2, 33]", size - 1), 0);
        ck_assert_uint_eq(strlen(text), size - 1);
    }
    cfx_tensor_unref(t);
}

/* ---- DLPack ---- */

TEST_CASE(dlpack_goes_out_and_comes_back)
{
    cfx_tensor *a = new_tensor(CFX_I16, "4,5"), *back;
    struct DLManagedTensor *managed;

    fill(a);
    cfx_tensor *t = view(a, "2,3", "1,5", 6);
    ck_assert_int_eq(cfx_tensor_to_dlpack(&managed, t, &err), CFX_OK);
    cfx_tensor_unref(a);
    ck_assert_int_eq(managed->dl_tensor.ndim, 2);
    ck_assert_int_eq(managed->dl_tensor.dtype.bits, 16);
    ck_assert_int_eq(managed->dl_tensor.strides[1], 5);
    ck_assert_int_eq(cfx_tensor_from_dlpack_take(&back, ctx, managed, &err),
                     CFX_OK);
    ck_assert_ptr_eq(back->data, t->data);
    assert_strides(back, "1,5");
    cfx_tensor_unref(t);
    ck_assert_int_eq(((int16_t *)back->data)[5], 11);
    cfx_tensor_unref(back);
}

static void give_back(void *user)
{
    DLManagedTensorVersioned *managed = user;
    managed->deleter(managed);
}

TEST_CASE(versioned_dlpack_goes_out_and_comes_back)
{
    cfx_tensor *t = new_tensor(CFX_BF16, "4,5"), *back;
    struct DLManagedTensorVersioned *managed;

    ck_assert_int_eq(cfx_tensor_to_dlpack_versioned(&managed, t, &err),
                     CFX_OK);
    ck_assert_uint_eq(managed->version.major, 1);
    ck_assert_uint_eq(managed->flags, 0);
    ck_assert_int_eq(cfx_tensor_from_dltensor(&back, ctx, &managed->dl_tensor,
                                              give_back, managed, &err),
                     CFX_OK);
    ck_assert_ptr_eq(back->data, t->data);
    cfx_tensor_unref(t);
    ck_assert_int_eq(back->dtype, CFX_BF16);
    assert_strides(back, "5,1");
    cfx_tensor_unref(back);
}

static void dl_delete(DLManagedTensor *self)
{
    released++;
    self->deleter = NULL;
}

TEST_CASE(dlpack_takes_row_major_without_strides_and_offsets)
{
    float memory[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    int64_t shape[] = {2, 3};
    DLManagedTensor m = {
        .dl_tensor =
            {
                .data = memory,
                .device = {DL_CPU, 0},
                .ndim = 2,
                .dtype = {DL_FLOAT, 32, 1},
                .shape = shape,
                .byte_offset = 8,
            },
        .deleter = dl_delete,
    };
    cfx_tensor *t;

    released = 0;
    ck_assert_int_eq(cfx_tensor_from_dlpack_take(&t, ctx, &m, &err), CFX_OK);
    assert_strides(t, "3,1");
    ck_assert(*(float *)t->data == 2);
    cfx_tensor_unref(t);
    ck_assert_int_eq(released, 1);
}

TEST_CASE(dlpack_gives_back_what_it_rejects)
{
    float memory[4];
    int64_t shape[] = {2, 2}, bad[] = {2, -2}, back[] = {-1, 1};
    int64_t vast[] = {(int64_t)1 << 40, (int64_t)1 << 40};
    DLManagedTensor good = {
        .dl_tensor =
            {
                .data = memory,
                .device = {DL_CPU, 0},
                .ndim = 2,
                .dtype = {DL_FLOAT, 32, 1},
                .shape = shape,
            },
        .deleter = dl_delete,
    };
    DLManagedTensor cases[6] = {good, good, good, good, good, good};
    static const char *const texts[] = {
        "DLPack device 2 is not supported, only 1 (CPU)",
        "rank 17 is not within 0 and 16",
        "DLPack type of code 5 with 32 bits and 1 lanes is not supported",
        "the extent on axis 1 is not within 0 and 2^61: -2",
        "the stride on axis 0 is not within 0 and 2^61: -1",
        ("a tensor of type float32 and shape [1099511627776, 1099511627776] is "
         "larger than 2^61 bytes"),
    };
    static const cfx_status codes[] = {
        CFX_EUNSUPPORTED, CFX_ESHAPE, CFX_EDTYPE,
        CFX_ESHAPE,       CFX_ESHAPE, CFX_ESHAPE,
    };
    cfx_tensor *t;

    cases[0].dl_tensor.device.device_type = 2;
    cases[1].dl_tensor.ndim = 17;
    cases[2].dl_tensor.dtype = (DLDataType){5, 32, 1};
    cases[3].dl_tensor.shape = bad;
    cases[4].dl_tensor.strides = back;
    cases[5].dl_tensor.shape = vast;
    for (int i = 0; i < 6; i++) {
        released = 0;
        assert_fails(cfx_tensor_from_dlpack_take(&t, ctx, &cases[i], &err),
                     codes[i], texts[i]);
        ck_assert_int_eq(released, 1);
    }
    t = new_meta("2", "1");
    DLManagedTensor *m;
    assert_fails(cfx_tensor_to_dlpack(&m, t, &err), CFX_EINVAL,
                 "a meta tensor has nothing to share");
    cfx_tensor_unref(t);
}

/* ---- Lack of memory ---- */

/* All that allocates, in one go; each step may fail. */
static cfx_status work(void)
{
    int64_t small[] = {3, 4}, large[] = {300, 40};
    static float memory[12];
    cfx_tensor *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL;
    cfx_tensor *f = NULL, *g = NULL;
    struct DLManagedTensor *m = NULL;
    cfx_dim stride[] = {cfx_dim_int(1), cfx_dim_int(300)};
    char *s = NULL;
    size_t size = 0;
    cfx_status status;

    released = 0;
    if ((status = cfx_tensor_new(&a, ctx, CFX_F32, 2, small, &err)) ||
        (status = cfx_tensor_new(&b, ctx, CFX_F32, 2, large, &err)))
        goto out;
    memset(b->data, 0, 48000);
    if ((status = cfx_tensor_view(&c, b, 2, b->shape, stride, b->offset,
                                  &err)) ||
        (status = cfx_tensor_contiguous(&d, c, &err)) ||
        (status = cfx_tensor_meta(&e, ctx, CFX_F32, 2, b->shape, stride,
                                  &err)) ||
        (status = cfx_tensor_alloc(e, &err)) ||
        (status = cfx_tensor_copy(e, d, &err)) ||
        (status = cfx_tensor_print(&s, &size, e, &err)) ||
        (status = cfx_tensor_from(&f, ctx, CFX_F32, 2, small, NULL, memory,
                                  sizeof memory, release, &released, &err)) ||
        (status = cfx_tensor_to_dlpack(&m, f, &err)))
        goto out;
    status = cfx_tensor_from_dlpack_take(&g, ctx, m, &err);
out:
    cfx_free(ctx, s, size);
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
    cfx_tensor_unref(c);
    cfx_tensor_unref(d);
    cfx_tensor_unref(e);
    cfx_tensor_unref(f);
    cfx_tensor_unref(g);
    return status;
}

TEST_CASE(every_allocation_may_fail)
{
    int failures = 0;

    for (long n = 0;; n++) {
        allowed = n;
        failed = false;
        memset(&err, 0, sizeof err);
        cfx_status status = work();
        allowed = -1;
        if (!failed) {
            ck_assert_int_eq(status, CFX_OK);
            ck_assert_int_eq(released, 1);
            break;
        }
        /* The context may do without what it was refused. */
        if (status) {
            ck_assert_int_eq(status, CFX_ENOMEM);
            ck_assert_int_eq(err.code, CFX_ENOMEM);
            failures++;
        }
        ck_assert_uint_eq(cfx_context_memory(ctx), held_before);
    }
    ck_assert_int_gt(failures, 2);
}

TEST_SUITE(copy, .setup = setup, .teardown = teardown, .timeout = 120)
