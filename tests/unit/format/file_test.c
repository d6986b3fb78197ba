/*
 * file_test -- safetensors, npy, and writing: what is written is read, what is
 * broken is refused with a sentence.
 */
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/json.h"
#include "tests/unit/format/file_test.h"
#include "tests/unit/unit.h"

/* ---- safetensors ---- */

/* A file of a header and `data` bytes 0, 1, 2, ...; gives its length. */
static size_t make_safetensors(unsigned char *out, const char *header,
                               size_t data)
{
    size_t n = strlen(header);

    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(n >> 8 * i);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < data; i++)
        out[8 + n + i] = (unsigned char)i;
    return 8 + n + data;
}

static const char good[] =
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"__metadata__\":{\"by\":\"test\"},"
    "\"none\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[8,8]},"
    "\"b\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[8,10]}}";

/* complex128, the last, is the one type that the format does not have. */
enum { SAFETENSORS_TYPES = CFX_C128 };

TEST_CASE(safetensors_gives_back_what_was_written)
{
    cfx_context *ctx = make_context();
    const int64_t shape[] = {2, 3};
    cfx_named_tensor item[SAFETENSORS_TYPES];
    cfx_tensors all;
    char name[SAFETENSORS_TYPES][32];

    for (int t = 0; t < SAFETENSORS_TYPES; t++) {
        snprintf(name[t], sizeof(name[t]), "t%d.\"\xc3\xa9\"", t);
        item[t].name = name[t];
        item[t].tensor = tensor_of(ctx, (cfx_dtype)t, t ? 2 : 0, shape, 1);
    }
    const char *path = file("all.safetensors");
    ck_assert_int_eq(
        cfx_safetensors_write(path, ctx, item, SAFETENSORS_TYPES, NULL),
        CFX_OK);
    for (int map = 0; map < 2; map++) {
        cfx_error err = {0};
        ck_assert_msg(!cfx_safetensors_read(&all, ctx, path, map, &err), "%s",
                      err.text);
        ck_assert_uint_eq(all.n, SAFETENSORS_TYPES);
        for (int t = 0; t < SAFETENSORS_TYPES; t++) {
            const cfx_tensor *x = cfx_tensors_get(&all, name[t]);
            const cfx_tensor *y = item[t].tensor;
            ck_assert_ptr_nonnull(x);
            ck_assert_int_eq(x->dtype, t);
            ck_assert_int_eq(x->rank, y->rank);
            ck_assert_mem_eq(x->data, y->data,
                             (size_t)cfx_tensor_numel(y) *
                                 cfx_dtype_size((cfx_dtype)t));
        }
        ck_assert_ptr_null(cfx_tensors_get(&all, "t"));
        cfx_tensors_release(&all);
    }
    for (int t = 0; t < SAFETENSORS_TYPES; t++)
        cfx_tensor_unref(item[t].tensor);
    free_context(ctx);
}

TEST_CASE(safetensors_refuse_complex128)
{
    cfx_context *ctx = make_context();
    const int64_t one[] = {1};
    cfx_error err = {0};
    cfx_named_tensor item = {"z", tensor_of(ctx, CFX_C128, 1, one, 1)};

    ck_assert_int_eq(
        cfx_safetensors_write(file("no.safetensors"), ctx, &item, 1, &err),
        CFX_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "'z' is complex128"));
    cfx_tensor_unref(item.tensor);
    free_context(ctx);
}

TEST_CASE(safetensors_files_have_the_reference_order_and_padding)
{
    cfx_context *ctx = make_context();
    const int64_t one[] = {1};
    unsigned char bytes[512];
    static const char header[] =
        "{\"c\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
        "\"d\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[16,17]}}";
    cfx_named_tensor item[] = {
        {"d", tensor_of(ctx, CFX_F32, 0, NULL, 1)},
        {"b", tensor_of(ctx, CFX_U8, 1, one, 1)},
        {"a", tensor_of(ctx, CFX_F32, 1, one, 1)},
        {"c", tensor_of(ctx, CFX_I64, 1, one, 1)},
    };

    const char *path = file("order.safetensors");
    ck_assert_int_eq(cfx_safetensors_write(path, ctx, item, 4, NULL), CFX_OK);
    size_t n = get(path, bytes, sizeof(bytes));
    size_t len = sizeof(header) - 1, padded = (len + 7) / 8 * 8;
    ck_assert_uint_eq(n, 8 + padded + 17);
    ck_assert_uint_eq(bytes[0] | (size_t)bytes[1] << 8, padded);
    ck_assert_mem_eq(bytes + 8, header, len);
    for (size_t i = len; i < padded; i++)
        ck_assert_int_eq(bytes[8 + i], ' ');
    for (int i = 0; i < 4; i++)
        cfx_tensor_unref(item[i].tensor);
    free_context(ctx);
}

TEST_CASE(safetensors_of_odd_places_are_copied)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    cfx_tensors all;
    size_t n = make_safetensors(
        bytes,
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
        "\"y\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[1,17]},"
        "\"z\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[17,20]}}",
        20);

    bytes[n - 3] = 0;
    const char *path = file("odd.safetensors");
    put(path, bytes, n);
    for (int map = 0; map < 2; map++) {
        ck_assert_int_eq(cfx_safetensors_read(&all, ctx, path, map, NULL),
                         CFX_OK);
        const cfx_tensor *y = cfx_tensors_get(&all, "y");
        ck_assert_uint_eq((uintptr_t)y->data % 8, 0);
        ck_assert_mem_eq(y->data, bytes + n - 19, 16);
        /* Any byte but 0 is true, and true is 1. */
        ck_assert_mem_eq(cfx_tensors_get(&all, "z")->data, "\0\1\1", 3);
        cfx_tensors_release(&all);
    }
    free_context(ctx);
}

TEST_CASE(safetensors_outlive_their_list_and_are_private)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512], after[512];
    cfx_tensors all;
    size_t n = make_safetensors(bytes, good, 10);

    const char *path = file("keep.safetensors");
    put(path, bytes, n);
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, path, true, NULL),
                     CFX_OK);
    cfx_tensor *b = cfx_tensor_ref(cfx_tensors_get(&all, "b"));
    cfx_tensors_release(&all);
    ck_assert_int_eq(*(int16_t *)b->data, 8 | 9 << 8);
    *(int16_t *)b->data = 0;
    cfx_tensor_unref(b);
    ck_assert_uint_eq(get(path, after, sizeof(after)), n);
    ck_assert_mem_eq(bytes, after, n);
    free_context(ctx);
}

#define T(dtype, shape, offsets)                                              \
    "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data;
    const char *words;
} bad_headers[] = {
    /* clang-format off */
    {"", 0, "begin with '{'"},
    {" {}", 0, "begin with '{'"},
    {"[]", 0, "begin with '{'"},
    {"{", 0, "byte 9"},
    {"{} x", 0, "byte"},
    {"{}", 1, "the file has 1"},
    {"{\"a\":1}", 0, "needs a dtype"},
    {"{\"\xff\":1}", 0, "byte"},
    {"{\"\\ud800\":1}", 0, "byte"},
    {"{\"a\\u0000\":1}", 0, "byte"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") ",\"a\":"
     T("\"F32\"", "[1]", "[4,8]") "}", 8, "duplicate"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") ",\"b\":"
     T("\"F32\"", "[1]", "[8,12]") "}", 12, "'b' begins at 8, where 4"},
    {"{\"a\":" T("\"F32\"", "[2]", "[0,8]") ",\"b\":"
     T("\"F32\"", "[2]", "[4,12]") "}", 12, "'b' begins at 4, where 8"},
    {"{\"a\":" T("\"F32\"", "[1]", "[4,8]") "}", 8, "'a' begins at 4"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") "}", 5, "4 bytes, the file has 5"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") "}", 3, "4 bytes, the file has 3"},
    {"{\"a\":" T("\"F32\"", "[2]", "[0,4]") "}", 4, "its shape needs 8"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,8]") "}", 8, "its shape needs 4"},
    {"{\"a\":" T("\"F32\"", "[0]", "[4,0]") "}", 4, "from 4 to 0"},
    {"{\"a\":" T("\"F32\"", "[1]", "[-4,0]") "}", 4, "from -4"},
    {"{\"a\":" T("\"F32\"", "[-1]", "[0,4]") "}", 4, "natural number"},
    {"{\"a\":" T("\"F32\"", "[1.0]", "[0,4]") "}", 4, "natural number"},
    {"{\"a\":" T("\"F32\"", "[4294967296,4294967296]", "[0,4]") "}", 4,
     "too large"},
    {"{\"a\":" T("\"F32\"", "[9223372036854775807]", "[0,4]") "}", 4,
     "too large"},
    {"{\"a\":" T("\"F32\"", "[99999999999999999999]", "[0,4]") "}", 4,
     "byte"},
    {"{\"a\":" T("\"F32\"", "[1e999]", "[0,4]") "}", 4, "byte"},
    {"{\"a\":" T("\"F32\"", "[NaN]", "[0,4]") "}", 4, "byte"},
    {"{\"a\":" T("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]")
     "}", 4, "rank 17"},
    {"{\"a\":" T("\"F31\"", "[1]", "[0,4]") "}", 4, "'F31'"},
    {"{\"a\":" T("\"F6_E2M3\"", "[4]", "[0,3]") "}", 4, "not supported"},
    {"{\"a\":" T("7", "[1]", "[0,4]") "}", 4, "needs a dtype"},
    {"{\"a\":" T("\"F32\"", "{}", "[0,4]") "}", 4, "needs a dtype"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0]") "}", 4, "needs a dtype"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,4,8]") "}", 4, "needs a dtype"},
    {"{\"a\":" T("\"F32\"", "[1]", "[0,\"4\"]") "}", 4, "needs a dtype"},
    {"{\"__metadata__\":[]}", 0, "not an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "'a', which is not a string"},
};
/* clang-format on */

TEST_EACH(safetensors_refuse_bad_headers, COUNT(bad_headers))
{
    cfx_context *ctx = make_context();
    unsigned char bytes[1024];
    cfx_error err = {0};
    cfx_tensors all;

    const char *path = file("bad.safetensors");
    put(path, bytes,
        make_safetensors(bytes, bad_headers[_i].header, bad_headers[_i].data));
    for (int map = 0; map < 2; map++) {
        err.code = CFX_OK;
        err.text[0] = '\0';
        ck_assert_int_ne(cfx_safetensors_read(&all, ctx, path, map, &err),
                         CFX_OK);
        ck_assert_uint_eq(all.n, 0);
        assert_text(&err, path, bad_headers[_i].words);
    }
    free_context(ctx);
}

TEST_CASE(safetensors_refuse_headers_that_cannot_be)
{
    cfx_context *ctx = make_context();
    cfx_tensors all;
    char *deep = malloc(1000100);
    unsigned char *bytes = malloc(1000200);
    cfx_error err = {0};
    const char *path = file("bad.safetensors");

    put(path, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, path, true, &err),
                     CFX_EPARSE);
    assert_text(&err, path, "too long");
    put(path, "\0\x5e\xd0\xb2\0\0\0\0{}", 10); /* 3 000 000 000 */
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, path, true, NULL),
                     CFX_EPARSE);
    memset(deep, '[', 1000000);
    memcpy(deep, "{\"a\":", 5);
    deep[1000000] = '\0';
    put(path, bytes, make_safetensors(bytes, deep, 0));
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, path, true, NULL),
                     CFX_EPARSE);
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, place, true, NULL),
                     CFX_EIO);
    ck_assert_int_eq(cfx_safetensors_read(&all, ctx, file("none"), true, NULL),
                     CFX_EIO);
    free(deep);
    free(bytes);
    free_context(ctx);
}

TEST_CASE(safetensors_refuse_every_truncation_and_survive_any_byte)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512], broken[512];
    cfx_tensors all;
    size_t n = make_safetensors(bytes, good, 10);
    const char *path = file("cut.safetensors");

    for (size_t cut = 0; cut < n; cut++) {
        put(path, bytes, cut);
        ck_assert_int_ne(cfx_safetensors_read(&all, ctx, path, cut % 2, NULL),
                         CFX_OK);
    }
    for (int i = 0; i < 4000; i++) {
        memcpy(broken, bytes, n);
        for (uint32_t k = 0; k <= chance(3); k++)
            broken[chance(chance(2) ? 16 : (uint32_t)n)] =
                chance(2) ? (unsigned char)chance(256)
                          : (unsigned char)"0129[]{},:\"-"[chance(12)];
        put(path, broken, n);
        if (!cfx_safetensors_read(&all, ctx, path, i % 2, NULL))
            cfx_tensors_release(&all);
    }
    free_context(ctx);
}

TEST_CASE(safetensors_give_back_all_when_memory_is_lacking)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    cfx_tensors all;
    cfx_status rc = CFX_ENOMEM;
    const char *path = file("memory.safetensors");

    put(path, bytes, make_safetensors(bytes, good, 10));
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_safetensors_read(&all, ctx, path, n % 2, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
        ck_assert_int_lt(n, 1000);
    }
    rc = CFX_ENOMEM;
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_safetensors_write(file("out"), ctx, all.item, all.n, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
    }
    cfx_tensors_release(&all);
    free_context(ctx);
}

/* ---- JSON ---- */

/* `first`, then `part` n times with commas between, then `last`. */
static char *repeat(const char *first, const char *part, int n,
                    const char *last)
{
    size_t each = strlen(part) + 16;
    char *text = malloc(strlen(first) + (size_t)n * each + strlen(last) + 1);
    char *p = text;

    ck_assert_ptr_nonnull(text);
    p += sprintf(p, "%s", first);
    for (int i = 0; i < n; i++) {
        *p++ = i ? ',' : ' ';
        for (const char *c = part; *c; c++)
            p += *c == '#' ? sprintf(p, "%06d", i) : (*p = *c, 1);
    }
    strcpy(p, last);
    return text;
}

static size_t held_by_malloc(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* jansson's memory is within the bound that is charged, and is given back. */
TEST_CASE(json_is_charged_for_at_least_what_it_takes)
{
    static const char *const texts[][3] = {
        {"{",
         "\"layer.#.weight\":{\"dtype\":\"F32\",\"shape\":[10,20],"
         "\"data_offsets\":[100,900]}",
         "}"},
        {"[", "{}", "]"},
        {"[", "[]", "]"},
        {"[", "1", "]"},
        {"[", "\"\"", "]"},
        {"{", "\"#\":0", "}"},
        {"[", "[[[[]]]]", "]"},
        {"[", "{\"a\":{\"b\":1}}", "]"},
        {"[", "0.5", "]"},
        {"[", "\"\\u0041,{[:\"", "]"},
    };
    cfx_context *ctx = make_context();
    cfx_error err = {0};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (int n = 1; n <= 20000; n = n * 3 + 1) {
            char *text = repeat(texts[i][0], texts[i][1], n, texts[i][2]);
            size_t len = strlen(text), before = held_by_malloc();
            size_t mine = cfx_context_memory(ctx);
            cfx_json j;
            ck_assert_msg(!cfx_json_parse(&j, ctx, text, len, 0, 0, &err),
                          "%s", err.text);
            size_t takes = held_by_malloc() - before;
            size_t charged = cfx_context_memory(ctx) - mine;
            ck_assert_msg(takes <= charged, "%s: %zu bytes take %zu, not %zu",
                          texts[i][1], len, takes, charged);
            ck_assert_uint_eq(charged, cfx_json_bound(text, len));
            if (i == 0 && n > 1000) /* a header is charged twice at most */
                ck_assert_uint_le(charged, 30 * len);
            cfx_json_release(&j);
            ck_assert_uint_eq(cfx_context_memory(ctx), mine);
            free(text);
        }
    }
    cfx_context_free(ctx);
}

TEST_CASE(json_beyond_a_limit_is_refused_before_it_is_parsed)
{
    const cfx_options o = {.size = sizeof(o), .max_memory = 1 << 20};
    char *text = repeat("[", "{}", 10000, "]");
    char *huge = repeat("[", "{}", 5000000, "]");
    cfx_context *ctx;
    cfx_error err = {0};
    cfx_json j;

    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    size_t mine = cfx_context_memory(ctx), before = held_by_malloc();
    ck_assert_int_eq(cfx_json_parse(&j, ctx, text, strlen(text), 0, 0, &err),
                     CFX_ENOMEM);
    ck_assert_msg(strstr(err.text, "bytes of JSON may take 2 MB to parse"),
                  "%s", err.text);
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_json_check_bound(text, strlen(text), &err), CFX_OK);
    ck_assert_int_eq(cfx_json_check_bound(huge, strlen(huge), &err),
                     CFX_ELIMIT);
    ck_assert_msg(strstr(err.text, "MB to parse, more than 1024"), "%s",
                  err.text);
    err = (cfx_error){0};
    ck_assert_uint_eq(cfx_context_memory(ctx), mine);
    ck_assert_uint_eq(held_by_malloc(), before);
    cfx_context_free(ctx);
    free(text);
    free(huge);
}

/* ---- npy ---- */

TEST_CASE(npy_gives_back_what_was_written)
{
    cfx_context *ctx = make_context();
    const int64_t shape[] = {3, 1, 2};
    const char *path = file("x.npy");
    unsigned char bytes[512];

    for (int dtype = 0; dtype < CFX_NDTYPES; dtype++) {
        for (int rank = 0; rank < 4; rank++) {
            cfx_tensor *t = tensor_of(ctx, (cfx_dtype)dtype, rank, shape, 0);
            cfx_tensor *back;
            cfx_error err = {0};
            cfx_status rc = cfx_npy_write(path, t, &err);
            if (!cfx_dtypes[dtype].npy) {
                ck_assert_int_eq(rc, CFX_EUNSUPPORTED);
                assert_text(&err, path, cfx_dtypes[dtype].name);
                cfx_tensor_unref(t);
                continue;
            }
            ck_assert_int_eq(rc, CFX_OK);
            size_t size = (size_t)cfx_tensor_numel(t) *
                          cfx_dtype_size((cfx_dtype)dtype);
            ck_assert_uint_eq(get(path, bytes, sizeof(bytes)) % 64, size % 64);
            ck_assert_msg(!cfx_npy_read(&back, ctx, path, &err), "%s",
                          err.text);
            ck_assert_int_eq(back->dtype, dtype);
            ck_assert_int_eq(back->rank, rank);
            for (int i = 0; i < rank; i++)
                ck_assert_int_eq(cfx_tensor_size(back, i), shape[i]);
            ck_assert_mem_eq(back->data, t->data, size);
            cfx_tensor_unref(back);
            cfx_tensor_unref(t);
        }
    }
    free_context(ctx);
}

static const struct {
    int version;
    const char *dict;
    const char *data;
    double first, last; /* elements [0, 0] and [1, 2] */
} good_npys[] = {
    {1, DICT("'|u1'", "False", "(2, 3)"), "\1\2\3\4\5\6", 1, 6},
    {1, DICT("'|u1'", "True", "(2, 3)"), "\1\2\3\4\5\6", 1, 6},
    {2, DICT("'<i2'", "False", "(2, 3)"), "\1\0\2\0\3\0\4\0\5\0\6\1", 1, 262},
    {3, DICT("'>i2'", "False", "(2, 3)"), "\0\1\0\2\0\3\0\4\0\5\1\6", 1, 262},
    {1, DICT("\"=i2\"", "False", "(2L, 3L)"), "\1\0\2\0\3\0\4\0\5\0\6\0", 1,
     6},
    {1, "{\"shape\":(2,3,),'fortran_order':False,'descr':'|b1'}",
     "\1\2\0\0\0\7", 1, 1},
    {1, DICT("'>u1'", "False", "(2, 3)") "   \n", "\1\2\3\4\5\6", 1, 6},
};

TEST_EACH(npy_reads_what_numpy_may_write, COUNT(good_npys))
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    cfx_tensor *t;
    cfx_error err = {0};
    const char *path = file("good.npy");
    bool two = strstr(good_npys[_i].dict, "i2") != NULL;

    put(path, bytes,
        make_npy(bytes, good_npys[_i].version, good_npys[_i].dict,
                 good_npys[_i].data, two ? 12 : 6));
    ck_assert_msg(!cfx_npy_read(&t, ctx, path, &err), "%s", err.text);
    ck_assert_int_eq(t->rank, 2);
    ck_assert_double_eq(at(t, 0, 0), good_npys[_i].first);
    ck_assert_double_eq(at(t, 1, 2), good_npys[_i].last);
    if (strstr(good_npys[_i].dict, "True")) {
        ck_assert_int_eq(cfx_tensor_stride(t, 0), 1);
        ck_assert_double_eq(at(t, 0, 1), 3);
    }
    cfx_tensor_unref(t);
    free_context(ctx);
}

static const struct {
    int version;
    const char *dict;
    size_t data;
    const char *words;
} bad_npys[] = {
    {0, DICT("'|u1'", "False", "(2,)"), 2, "version 0"},
    {4, DICT("'|u1'", "False", "(2,)"), 2, "version 4"},
    {1, DICT("'|u1'", "False", "(2,)"), 1, "too early"},
    {1, DICT("'|u1'", "False", "(2,)"), 3, "1 bytes after"},
    {1, DICT("'|O'", "False", "(2,)"), 2, "not supported"},
    {1, DICT("'<U3'", "False", "(2,)"), 2, "not supported"},
    {1, DICT("'<c4'", "False", "(2,)"), 8, "not supported"},
    {1, DICT("'<f3'", "False", "(2,)"), 6, "not supported"},
    {1, DICT("[('a', '<f4')]", "False", "(2,)"), 8, "structures"},
    {1, DICT("'|u1'", "false", "(2,)"), 2, "not a bool"},
    {1, DICT("'|u1'", "False", "2"), 2, "not a tuple"},
    {1, DICT("'|u1'", "False", "(2)"), 2, "not a tuple"},
    {1, DICT("'|u1'", "False", "(-2,)"), 2, "natural"},
    {1, DICT("'|u1'", "False", "(,)"), 2, "natural"},
    {1, DICT("'|u1'", "False", "(2,,)"), 2, "natural"},
    {1, DICT("'|u1'", "False", "(99999999999999999999,)"), 2, "too large"},
    {1, DICT("'<f4'", "False", "(4294967296, 4294967296)"), 2, "too large"},
    {1, DICT("'|u1'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 1,
     "rank"},
    {1, "{'descr': '|u1', 'shape': (2,)}", 2, "lacks"},
    {1, "{'descr': '|u1', 'descr': '|u1', 'shape': (2,)}", 2, "twice"},
    {1, "{'descr': '|u1', 'x': 1}", 2, "key 'x'"},
    {1, "{'descr': __import__('os')}", 2, "structures"},
    {1, DICT("'|u1'", "False", "(2,)") "x", 2, "follows"},
    {1, "{'descr", 2, "not a dict"},
    {1, "", 2, "not a dict"},
    {1, "()", 2, "not a dict"},
};

TEST_EACH(npy_refuses_bad_headers, COUNT(bad_npys))
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    static const char zeros[64];
    cfx_tensor *t;
    cfx_error err = {0};
    const char *path = file("bad.npy");

    put(path, bytes,
        make_npy(bytes, bad_npys[_i].version, bad_npys[_i].dict, zeros,
                 bad_npys[_i].data));
    ck_assert_int_ne(cfx_npy_read(&t, ctx, path, &err), CFX_OK);
    ck_assert_ptr_null(t);
    assert_text(&err, path, bad_npys[_i].words);
    free_context(ctx);
}

TEST_CASE(npy_refuses_every_truncation_and_survives_any_byte)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512], broken[512];
    cfx_tensor *t;
    const char *path = file("cut.npy");
    size_t n = make_npy(bytes, 1, DICT("'<i2'", "True", "(2, 3)"),
                        "\1\2\3\4\5\6\7\10\11\12\13\14", 12);

    for (size_t cut = 0; cut < n; cut++) {
        put(path, bytes, cut);
        ck_assert_int_ne(cfx_npy_read(&t, ctx, path, NULL), CFX_OK);
    }
    for (int i = 0; i < 4000; i++) {
        memcpy(broken, bytes, n);
        for (uint32_t k = 0; k <= chance(3); k++)
            broken[chance((uint32_t)n)] =
                chance(2) ? (unsigned char)chance(256)
                          : (unsigned char)"0129(),'<>|:"[chance(12)];
        put(path, broken, n);
        if (!cfx_npy_read(&t, ctx, path, NULL))
            cfx_tensor_unref(t);
    }
    free_context(ctx);
}

TEST_CASE(npy_gives_back_all_when_memory_is_lacking)
{
    cfx_context *ctx = make_context();
    const int64_t shape[] = {2, 3};
    cfx_tensor *t = tensor_of(ctx, CFX_F32, 2, shape, 0), *back;
    const char *path = file("memory.npy");
    cfx_status rc = CFX_ENOMEM;

    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_npy_write(path, t, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
    }
    rc = CFX_ENOMEM;
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_npy_read(&back, ctx, path, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
    }
    cfx_tensor_unref(back);
    cfx_tensor_unref(t);
    free_context(ctx);
}

/* ---- Any format ---- */

TEST_CASE(formats_are_told_by_their_content)
{
    cfx_context *ctx = make_context();
    const float numbers[2] = {1.5f, -2};
    const int64_t shape[1] = {2};
    cfx_tensor *t, *back;
    int written = 0;

    ck_assert(!cfx_tensor_from(&t, ctx, CFX_F32, 1, shape, NULL,
                               (void *)(uintptr_t)numbers, sizeof(numbers),
                               NULL, NULL, NULL));
    const cfx_named_tensor item = {"a", t};
    const cfx_tensor_format *f;
    for (size_t i = 0; (f = cfx_tensor_format_at(i)); i++) {
        char name[64];
        snprintf(name, sizeof(name), "any%s", f->base.suffix);
        const char *path = file(name), *moved = file("any.unknown");
        ck_assert_ptr_eq(cfx_tensor_format_of_name(path), f);
        ck_assert_ptr_nonnull(f->base.doc);
        ck_assert_int_eq(!!f->read + !!f->read_one + !!f->visit, 1);
        ck_assert(!f->keyed == !!f->read_one);
        if (!f->write) {
            ck_assert_int_eq(cfx_tensors_write(path, ctx, &item, 1, NULL),
                             CFX_EUNSUPPORTED);
            continue;
        }
        written++;
        ck_assert(!cfx_tensors_write(path, ctx, &item, 1, NULL));
        if (f->read_typed) {
            strcat(name, ":f32[2]");
            ck_assert(!cfx_tensor_read(&back, ctx, file(name), false, NULL));
        } else {
            ck_assert_int_eq(rename(path, moved), 0);
            ck_assert(!cfx_tensor_read(&back, ctx, moved, false, NULL));
        }
        ck_assert_double_eq(at(back, 0, 0), 1.5);
        ck_assert_double_eq(at(back, 1, 0), -2);
        cfx_tensor_unref(back);
    }
    ck_assert_int_eq(written, 4);
    cfx_tensor_unref(t);
    free_context(ctx);
}

TEST_CASE(the_man_page_names_every_format)
{
    static unsigned char page[1 << 18];
    const char *src = getenv("srcdir");
    const cfx_tensor_format *f;
    char path[512];

    snprintf(path, sizeof(path), "%s/doc/cfx.1", src ? src : ".");
    page[get(path, page, sizeof(page) - 1)] = '\0';
    for (size_t i = 0; (f = cfx_tensor_format_at(i)); i++)
        ck_assert_msg(strstr((const char *)page, f->base.suffix), "%s",
                      f->base.suffix);
}

/* The header of an entry of a zip archive, but for its name, of a length. */
#define ENTRY(length)                                                         \
    "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" length "\0\0\0"

TEST_CASE(the_content_is_of_one_format)
{
    static const struct {
        const char *name, *head;
        size_t n;
    } heads[] = {
        {"npy", "\x93NUMPY\1\0v\0{'descr'", 19},
        {"npz", ENTRY("\5") "a.npy", 35},
        {"torch", ENTRY("\12") "a/data.pkl", 40},
        {"none", ENTRY("\12") "a/data.json", 40},
        {"none", ENTRY("\12") "a/data.pkl", 39},
        {"none", "PK\3\4\x14\0\0\0\0\0", 10},
        {"npz", "PK\5\6\0\0\0\0\0\0", 10},
        {"safetensors", "{\0\0\0\0\0\0\0{\"a\":", 13},
        {"sharded", "{\"weight_map\": {", 16},
        {"none", "graph():\n", 9},
        {"none", "", 0},
    };

    for (size_t h = 0; h < COUNT(heads); h++) {
        const cfx_tensor_format *f;
        for (size_t i = 0; (f = cfx_tensor_format_at(i)); i++)
            ck_assert_int_eq(
                f->base.probe &&
                    f->base.probe((const unsigned char *)heads[h].head,
                                  heads[h].n),
                !strcmp(f->base.name, heads[h].name));
    }
}

/* ---- Files that appear when they are complete ---- */

static void assert_content(const char *path, const char *text)
{
    unsigned char bytes[64] = {0};

    ck_assert_uint_eq(get(path, bytes, sizeof(bytes) - 1), strlen(text));
    ck_assert_str_eq((const char *)bytes, text);
}

TEST_CASE(outfiles_replace_only_when_committed)
{
    cfx_context *ctx = make_context();
    cfx_outfile f;
    const char *path = file("out.txt"), *link = file("link.txt");
    struct stat st;

    put(path, "old", 3);
    ck_assert_int_eq(symlink("out.txt", link), 0);
    ck_assert_int_eq(cfx_outfile_open(&f, ctx, link, NULL), CFX_OK);
    fputs("new", f.stream);
    fflush(f.stream);
    assert_content(path, "old");
    cfx_outfile_discard(&f);
    cfx_outfile_discard(&f);
    assert_content(path, "old");
    ck_assert_int_eq(cfx_outfile_open(&f, ctx, link, NULL), CFX_OK);
    fputs("new", f.stream);
    ck_assert_int_eq(cfx_outfile_commit(&f, NULL), CFX_OK);
    cfx_outfile_discard(&f);
    assert_content(path, "new");
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    unlink(link);
    free_context(ctx);
}

TEST_CASE(outfiles_tell_what_the_system_refuses)
{
    cfx_context *ctx = make_context();
    cfx_outfile f;
    cfx_error err = {0};
    const char *path = file("no/such/directory");

    ck_assert_int_eq(cfx_outfile_open(&f, ctx, path, &err), CFX_EIO);
    assert_text(&err, path, "No such file");
    ck_assert_int_eq(cfx_outfile_open(&f, ctx, place, NULL), CFX_EIO);
    if (!access("/dev/full", W_OK)) {
        err = (cfx_error){0};
        ck_assert_int_eq(cfx_outfile_open(&f, ctx, "/dev/full", NULL), CFX_OK);
        fputs("text", f.stream);
        ck_assert_int_eq(cfx_outfile_commit(&f, &err), CFX_EIO);
        assert_text(&err, "/dev/full", "No space");
    }
    free_context(ctx);
}

TEST_SUITE(file, .setup_once = make_place, .teardown_once = remove_place,
           .timeout = 120)
