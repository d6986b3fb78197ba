/*
 * file_test.h -- for tests of files: a place for them, a context whose memory
 * runs out when told, bytes in and out.
 */
#ifndef FILE_TEST_H
#define FILE_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/file.h>

/* ---- A place for files, and an allocator that fails when told ---- */

static char place[256];
static long calls_left = -1; /* below 0: never fail */
static long held;

static void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (calls_left == 0)
        return NULL;
    if (calls_left > 0)
        calls_left--;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align,
                       size))
        return NULL;
    __atomic_fetch_add(&held, (long)size, __ATOMIC_RELAXED);
    return p;
}

static void test_free(void *user, void *p, size_t size)
{
    (void)user;
    __atomic_fetch_sub(&held, (long)size, __ATOMIC_RELAXED);
    free(p);
}

CFX_UNUSED static cfx_context *make_context(void)
{
    cfx_context *ctx = NULL;
    cfx_options o = {
        .size = sizeof(o),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 2,
    };

    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    return ctx;
}

CFX_UNUSED static void free_context(cfx_context *ctx)
{
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

/* The path of a file in the test's directory; one of a few buffers. */
CFX_UNUSED static const char *file(const char *name)
{
    static char path[16][512];
    static int next;

    next = (next + 1) % 16;
    snprintf(path[next], sizeof(path[next]), "%s/%s", place, name);
    return path[next];
}

CFX_UNUSED static void put(const char *path, const void *data, size_t len)
{
    unlink(path); /* truncating a file makes some systems flush it */
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}

CFX_UNUSED static size_t get(const char *path, unsigned char *data, size_t cap)
{
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    size_t n = fread(data, 1, cap, f);
    fclose(f);
    return n;
}

/* The text of an error must hold `words`, begin with the path, and be one
 * line. */
CFX_UNUSED static void assert_text(const cfx_error *err, const char *path,
                                   const char *words)
{
    ck_assert_msg(strstr(err->text, words) != NULL, "'%s' lacks '%s'",
                  err->text, words);
    ck_assert_msg(!strncmp(err->text, path, strlen(path)),
                  "'%s' does not name the file", err->text);
    ck_assert_ptr_null(strchr(err->text, '\n'));
}

CFX_UNUSED static cfx_tensor *tensor_of(cfx_context *ctx, cfx_dtype dtype,
                                        int rank, const int64_t *shape,
                                        double first)
{
    cfx_tensor *t;

    ck_assert_int_eq(cfx_tensor_new(&t, ctx, dtype, rank, shape, NULL),
                     CFX_OK);
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++)
        cfx_element_set_double(
            dtype, (char *)t->data + (size_t)i * cfx_dtype_size(dtype),
            first + (double)i);
    return t;
}

CFX_UNUSED static double at(const cfx_tensor *t, int64_t i, int64_t j)
{
    const int64_t index[] = {i, j};

    return cfx_element_double((cfx_dtype)t->dtype, cfx_tensor_at(t, index));
}

static uint64_t state = 1;

CFX_UNUSED static uint32_t chance(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* The bytes of an .npy file; gives their number. */
CFX_UNUSED static size_t make_npy(unsigned char *out, int version,
                                  const char *dict, const void *data,
                                  size_t len)
{
    size_t n = strlen(dict), lead = version == 1 ? 10 : 12;

    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 8; i < lead; i++)
        out[i] = (unsigned char)(n >> 8 * (i - 8));
    memcpy(out + lead, dict, n);
    if (len)
        memcpy(out + lead + n, data, len);
    return lead + n + len;
}

#define DICT(descr, order, shape)                                             \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

/* Fixtures that run once: the folder that files are written to. */
CFX_INLINE void make_place(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(place, sizeof(place), "%s/cfx-file-test-XXXXXX",
             tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(place));
}

CFX_INLINE void remove_place(void)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", place);
    ck_assert_int_eq(system(command), 0);
}

#define COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))

#endif
