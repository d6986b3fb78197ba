/*
 * npz_test -- archives of arrays, and what must not be believed of them.
 */
#include "tests/unit/format/file_test.h"

#ifdef HAVE_LIBZIP
#include <zip.h>

#include "tests/unit/unit.h"

/* An archive of entries of the same bytes. */
static void make_npz(const char *path, const char *const *names, int n,
                     const void *data, size_t len, int method)
{
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);

    ck_assert_ptr_nonnull(zip);
    for (int i = 0; i < n; i++) {
        zip_source_t *s = zip_source_buffer(zip, data, len, 0);
        zip_int64_t at = zip_file_add(zip, names[i], s, ZIP_FL_ENC_UTF_8);
        ck_assert_int_ge(at, 0);
        zip_set_file_compression(zip, (zip_uint64_t)at, method, 9);
    }
    ck_assert_int_eq(zip_close(zip), 0);
}

static const char *const two_names[] = {"b.npy", "dir/a.npy"};

static size_t small_npy(unsigned char *bytes)
{
    return make_npy(bytes, 1, DICT("'<i2'", "False", "(2, 3)"),
                    "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
}

TEST_EACH(npz_gives_all_arrays_by_name, 2)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    size_t n = small_npy(bytes);
    cfx_tensors all;
    cfx_error err = {0};
    const char *path = file("x.npz");

    make_npz(path, two_names, 2, bytes, n, _i ? ZIP_CM_DEFLATE : ZIP_CM_STORE);
    ck_assert_msg(!cfx_npz_read(&all, ctx, path, &err), "%s", err.text);
    ck_assert_uint_eq(all.n, 2);
    ck_assert_str_eq(all.item[0].name, "b");
    ck_assert_double_eq(at(cfx_tensors_get(&all, "dir/a"), 0, 1), 3 | 4 << 8);
    cfx_tensors_release(&all);
    free_context(ctx);
}

TEST_CASE(npz_gives_back_what_was_written_also_where_memory_is_lacking)
{
    cfx_context *ctx = make_context();
    const char *path = file("out.npz");
    cfx_tensor *x, *turned;
    cfx_tensors all;
    cfx_error err = {0};
    cfx_status st = CFX_ENOMEM;

    ck_assert(!cfx_tensor_new(&x, ctx, CFX_F32, 2, (int64_t[]){2, 3}, &err));
    for (int i = 0; i < 6; i++)
        ((float *)x->data)[i] = (float)i;
    ck_assert(!cfx_tensor_view(
        &turned, x, 2, (cfx_dim[]){cfx_dim_int(3), cfx_dim_int(2)},
        (cfx_dim[]){cfx_dim_int(1), cfx_dim_int(3)}, cfx_dim_int(0), &err));
    const cfx_named_tensor item[] = {{"layer.x", x}, {"turned", turned}};
    for (long n = 0; st; n++) {
        calls_left = n;
        st = cfx_tensors_write(path, ctx, item, 2, NULL);
        calls_left = -1;
        ck_assert_msg(!st || st == CFX_ENOMEM, "%ld: %d", n, st);
        ck_assert(!st || access(path, F_OK));
    }
    ck_assert_msg(!cfx_npz_read(&all, ctx, path, &err), "%s", err.text);
    ck_assert_uint_eq(all.n, 2);
    ck_assert_double_eq(((float *)cfx_tensors_get(&all, "layer.x")->data)[4],
                        4);
    ck_assert_double_eq(((float *)cfx_tensors_get(&all, "turned")->data)[1],
                        3);
    cfx_tensors_release(&all);
    cfx_tensor_unref(turned);
    cfx_tensor_unref(x);
    free_context(ctx);
}

/* Replace all bytes `from` in a file by `to`, of the same length. */
static void patch(const char *path, const char *from, const char *to)
{
    unsigned char bytes[4096];
    size_t n = get(path, bytes, sizeof(bytes)), k = strlen(from);

    for (size_t i = 0; i + k <= n; i++) {
        if (!memcmp(bytes + i, from, k))
            memcpy(bytes + i, to, k);
    }
    put(path, bytes, n);
}

static void assert_npz_fails(cfx_context *ctx, const char *path,
                             const char *words)
{
    cfx_tensors all;
    cfx_error err = {0};

    ck_assert_int_ne(cfx_npz_read(&all, ctx, path, &err), CFX_OK);
    ck_assert_uint_eq(all.n, 0);
    assert_text(&err, path, words);
}

TEST_CASE(npz_refuses_bad_archives)
{
    cfx_context *ctx = make_context();
    const char *const names[] = {"a.npy", "b.npy", "../c.npy", "d.txt"};
    unsigned char bytes[512];
    size_t n = small_npy(bytes);
    const char *path = file("bad.npz");

    make_npz(path, names, 2, bytes, n, ZIP_CM_STORE);
    patch(path, "b.npy", "a.npy");
    assert_npz_fails(ctx, path, ""); /* some versions of libzip see it too */
    make_npz(path, names + 2, 1, bytes, n, ZIP_CM_STORE);
    assert_npz_fails(ctx, path, "proper name");
    make_npz(path, names + 3, 1, bytes, n, ZIP_CM_STORE);
    assert_npz_fails(ctx, path, "no .npy");
    make_npz(path, names, 1, bytes, n, ZIP_CM_STORE);
    patch(path, "(2, 3)", "(2, 4)");
    assert_npz_fails(ctx, path, "its shape needs");
    make_npz(path, names, 1, bytes, n, ZIP_CM_STORE);
    patch(path, "\1\2\3\4\5\6", "\1\2\3\4\5\7");
    assert_npz_fails(ctx, path, "CRC");
    make_npz(path, names, 1, bytes, n - 1, ZIP_CM_DEFLATE);
    assert_npz_fails(ctx, path, "its shape needs");
    make_npz(path, names, 1, bytes, 5, ZIP_CM_STORE);
    assert_npz_fails(ctx, path, "too early");
    put(path, "", 0);
    assert_npz_fails(ctx, path, "");
    assert_npz_fails(ctx, file("none.npz"), "No such file");
    free_context(ctx);
}

/* ---- Directories that lie ---- */

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END_OF_ZIP = 0x06054b50 };

/* The offset of record `which` with a signature. */
static size_t record(const unsigned char *bytes, size_t n, uint32_t signature,
                     int which)
{
    for (size_t i = 0; i + 4 <= n; i++) {
        uint32_t v = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 |
                     (uint32_t)bytes[i + 2] << 16 |
                     (uint32_t)bytes[i + 3] << 24;
        if (v == signature && !which--)
            return i;
    }
    ck_abort_msg("no such record");
    return 0;
}

/* Write `size` bytes of v at byte `at` of a record. */
typedef struct lie {
    uint32_t signature;
    int which;
    size_t at, size;
    uint32_t v;
} lie;

static void tell(const char *path, const lie *l)
{
    unsigned char bytes[4096];
    size_t n = get(path, bytes, sizeof(bytes));
    size_t to = record(bytes, n, l->signature, l->which) + l->at;
    for (size_t i = 0; i < l->size; i++)
        bytes[to + i] = (unsigned char)(l->v >> 8 * i);
    put(path, bytes, n);
}

static const struct {
    lie first, second; /* of size 0: none */
    const char *words;
    int method;
} lies[] = {
    /* An entry that begins behind the end, or where another one does. */
    {{CENTRAL, 0, 42, 4, 0x7fffffff}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{CENTRAL, 1, 42, 4, 0}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    /* Sizes that need a ZIP64 record, which there is none of. */
    {{CENTRAL, 0, 24, 4, 0xffffffff},
     {CENTRAL, 0, 20, 4, 0xffffffff},
     "",
     ZIP_CM_STORE},
    {{CENTRAL, 0, 20, 4, 0x7fffffff},
     {LOCAL, 0, 18, 4, 0x7fffffff},
     "",
     ZIP_CM_STORE},
    {{CENTRAL, 0, 24, 4, 0x7fffffff},
     {LOCAL, 0, 22, 4, 0x7fffffff},
     "",
     ZIP_CM_STORE},
    /* An encrypted entry, one of an unknown method. */
    {{CENTRAL, 0, 8, 2, 1}, {LOCAL, 0, 6, 2, 1}, "encrypted", ZIP_CM_DEFLATE},
    {{CENTRAL, 0, 10, 2, 99}, {LOCAL, 0, 8, 2, 99}, "", ZIP_CM_STORE},
    /* More entries than there are, fewer, and a directory elsewhere. */
    {{END_OF_ZIP, 0, 8, 4, 0xfffefffe}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{END_OF_ZIP, 0, 8, 4, 0xffffffff}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{END_OF_ZIP, 0, 8, 4, 0x00010001}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{END_OF_ZIP, 0, 16, 4, 0x7fffffff}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{END_OF_ZIP, 0, 12, 4, 0xfffffffe}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
    {{END_OF_ZIP, 0, 20, 2, 0xffff}, {0, 0, 0, 0, 0}, "", ZIP_CM_STORE},
};

TEST_EACH(npz_refuses_directories_that_lie, COUNT(lies))
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512];
    const char *path = file("lie.npz");

    make_npz(path, two_names, 2, bytes, small_npy(bytes), lies[_i].method);
    tell(path, &lies[_i].first);
    if (lies[_i].second.size)
        tell(path, &lies[_i].second);
    assert_npz_fails(ctx, path, lies[_i].words);
    ck_assert_uint_lt(cfx_context_peak_memory(ctx), 1 << 20);
    free_context(ctx);
}

TEST_CASE(npz_refuses_names_that_leave_the_archive)
{
    cfx_context *ctx = make_context();
    static const char *const bad[] = {
        "/a.npy",    "../a.npy",  "x/../../a.npy", "x\\a.npy",
        "..\\a.npy", "C:\\a.npy", ".npy",          "",
    };
    unsigned char bytes[512];
    size_t n = small_npy(bytes);
    const char *path = file("names.npz");

    for (int i = 0; i < COUNT(bad) - 1; i++) {
        make_npz(path, bad + i, 1, bytes, n, ZIP_CM_STORE);
        assert_npz_fails(ctx, path,
                         i < COUNT(bad) - 2 ? "no proper name" : "no .npy");
    }
    make_npz(path, two_names, 1, bytes, n, ZIP_CM_STORE);
    patch(path, "b.npy", "b\001npy");
    assert_npz_fails(ctx, path, "");
    free_context(ctx);
}

TEST_CASE(npz_finds_its_end_behind_a_comment_that_looks_like_one)
{
    cfx_context *ctx = make_context();
    static const char fake[] = "PK\5\6\0\0\0\0\1\0\1\0\0\0\0\0"
                               "\0\0\0\0\0\0";
    unsigned char bytes[512];
    size_t n = small_npy(bytes);
    cfx_tensors all;
    const char *path = file("comment.npz");

    make_npz(path, two_names, 2, bytes, n, ZIP_CM_STORE);
    zip_t *zip = zip_open(path, 0, NULL);
    ck_assert_ptr_nonnull(zip);
    zip_set_archive_comment(zip, fake, sizeof(fake) - 1);
    ck_assert_int_eq(zip_close(zip), 0);
    /* Either reading is right; neither may crash or give half of it. */
    if (!cfx_npz_read(&all, ctx, path, NULL)) {
        ck_assert_uint_eq(all.n, 2);
        cfx_tensors_release(&all);
    }
    free_context(ctx);
}

TEST_CASE(npz_refuses_bombs)
{
    cfx_context *ctx = make_context();
    size_t n = (size_t)48 << 20;
    unsigned char *zeros = calloc(1, n + 128);
    const char *path = file("bomb.npz");

    ck_assert_ptr_nonnull(zeros);
    size_t head = make_npy(zeros, 1, DICT("'|u1'", "False", "(50331648,)"),
                           NULL, 0);
    make_npz(path, two_names, 1, zeros, head + n, ZIP_CM_DEFLATE);
    assert_npz_fails(ctx, path, "claims");
    ck_assert_uint_lt(cfx_context_peak_memory(ctx), n);
    free(zeros);
    free_context(ctx);
}

TEST_CASE(npz_survives_truncations_and_any_byte)
{
    cfx_context *ctx = make_context();
    unsigned char bytes[512], archive[2048], broken[2048];
    size_t n = small_npy(bytes);
    cfx_tensors all;
    const char *path = file("cut.npz");

    make_npz(path, two_names, 2, bytes, n, ZIP_CM_DEFLATE);
    size_t size = get(path, archive, sizeof(archive));
    for (size_t cut = 0; cut < size; cut++) {
        put(path, archive, cut);
        ck_assert_int_ne(cfx_npz_read(&all, ctx, path, NULL), CFX_OK);
    }
    for (int i = 0; i < 4000; i++) {
        memcpy(broken, archive, size);
        for (uint32_t k = 0; k <= chance(3); k++)
            broken[chance((uint32_t)size)] = (unsigned char)chance(256);
        put(path, broken, size);
        if (!cfx_npz_read(&all, ctx, path, NULL))
            cfx_tensors_release(&all);
    }
    free_context(ctx);
}

#else

int main(void)
{
    return 77;
}

#endif

TEST_SUITE(npz, .setup_once = make_place, .teardown_once = remove_place,
           .timeout = 120)
