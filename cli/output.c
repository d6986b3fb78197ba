/*
 * output -- name, print and write the results of a model.
 *
 * A result is a tensor, or a tuple, list or dict of results. Its parts are
 * named by their paths: output, output_0, output_1_KEY.
 */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_ = 256 };

/* ---- Parts ---- */

typedef cfx_status part_fn(void *user, const char *name, cfx_value v,
                           cfx_error *err);

/* Append text to a name of NAME_MAX_ bytes. */
static cfx_status append(void *user, const char *text, size_t len)
{
    char *name = user;
    size_t at = strlen(name);

    if (len >= NAME_MAX_ - at)
        return CFX_ELIMIT;
    memcpy(name + at, text, len);
    name[at + len] = '\0';
    return CFX_OK;
}

/* Append "_KEY" to a name; controls in the key are escaped. */
static cfx_status extend(char *name, cfx_value key, cfx_error *err)
{
    const cfx_sink to = {append, name};
    const size_t len = strlen(name);
    cfx_status st = CFX_EUNSUPPORTED;

    if (key.kind == CFX_STR || key.kind == CFX_INT)
        st = append(name, "_", 1);
    if (!st)
        st = cfx_print_value(to, key, CFX_STYLE_ARGUMENT, NULL);
    if (!st)
        return CFX_OK;
    name[len] = '\0';
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%s has a key that cannot name an output", name);
}

/* Call fn for each part of a value; the depth is that of nested values. */
static cfx_status visit(cfx_value v, char *name, part_fn *fn, void *user,
                        cfx_error *err)
{
    bool dict = v.kind == CFX_DICT;
    size_t len = strlen(name);
    cfx_status st = CFX_OK;

    if (!dict && (!cfx_value_is_seq(v) || cli_is_texts(v)))
        return fn(user, name, v, err);
    for (uint32_t i = 0; i < v.u.seq->len && !st; i++) {
        const cfx_value *item =
            v.u.seq->item; /* for a dict: key, value, ... */
        st = extend(name, dict ? item[i++] : cfx_int(i), err);
        if (!st)
            st = visit(item[i], name, fn, user, err);
        name[len] = '\0';
    }
    return st;
}

static cfx_status visit_result(cfx_value v, part_fn *fn, void *user,
                               cfx_error *err)
{
    char name[NAME_MAX_] = "output";

    return visit(v, name, fn, user, err);
}

/* ---- Printing ---- */

struct printer {
    FILE *to;
    cfx_context *ctx;
    int top;
};

struct ranked {
    double value;
    int64_t index;
};

/* Sort descending with NaN first, as torch.topk; equal elements by position. */
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    bool nan_x = isnan(x->value), nan_y = isnan(y->value);

    if (nan_x != nan_y)
        return nan_x ? -1 : 1;
    if (!nan_x && x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Print "[1, 0]" for the row that begins at element `at`. */
static void print_place(FILE *to, const cfx_tensor *t, int64_t at)
{
    int64_t index[CFX_MAX_RANK];

    if (t->rank < 2)
        return;
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = at % cfx_tensor_size(t, i);
        at /= cfx_tensor_size(t, i);
    }
    for (int i = 0; i < t->rank - 1; i++)
        fprintf(to, "%s%lld", i ? ", " : "[", (long long)index[i]);
    fputs("]\n", to);
}

/* Print the `top` largest elements of each row of a row-major tensor. */
static void print_rows(FILE *to, const cfx_tensor *t, int top,
                       struct ranked *row)
{
    int64_t n = cfx_tensor_size(t, t->rank - 1), all = cfx_tensor_numel(t);
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);

    for (int64_t at = 0; at < all; at += n) {
        const unsigned char *p = (const unsigned char *)t->data +
                                 (size_t)at * size;
        for (int64_t i = 0; i < n; i++)
            row[i] = (struct ranked){
                cfx_element_double((cfx_dtype)t->dtype, p + (size_t)i * size),
                i};
        qsort(row, (size_t)n, sizeof(*row), by_rank);
        print_place(to, t, at);
        for (int64_t i = 0; i < n && i < top; i++)
            fprintf(to, "%8lld  %.7g\n", (long long)row[i].index,
                    row[i].value);
    }
}

static cfx_status print_top(const struct printer *p, const cfx_tensor *t,
                            cfx_error *err)
{
    cfx_tensor *flat;
    cfx_status st = cfx_tensor_contiguous(&flat, t, err);

    if (st)
        return st;
    struct ranked *row = malloc(
        (size_t)cfx_tensor_size(t, t->rank - 1) * sizeof(*row) + 1);
    if (row)
        print_rows(p->to, flat, p->top, row);
    else
        st = cfx_no_memory(err);
    free(row);
    cfx_tensor_unref(flat);
    return st;
}

static cfx_status print_tensor(const struct printer *p, const char *name,
                               const cfx_tensor *t, cfx_error *err)
{
    char type[256];
    char *text;
    size_t size;

    cfx_tensor_format_type(t, type, sizeof(type));
    fprintf(p->to, "%s %s\n", name, type);
    if (p->top && t->rank)
        return print_top(p, t, err);
    cfx_status st = cfx_tensor_print(&text, &size, t, err);
    if (st)
        return st;
    fwrite(text, 1, size - 1, p->to);
    fputc('\n', p->to);
    cfx_free(t->ctx, text, size);
    return CFX_OK;
}

static cfx_status print_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    const struct printer *p = user;

    if (v.kind == CFX_TENSOR)
        return print_tensor(p, name, v.u.tensor, err);
    fprintf(p->to, "%s %s\n", name, cfx_kind_name((cfx_kind)v.kind));
    cfx_status st = cfx_print_value(cfx_sink_file(p->to), v, CFX_STYLE_REPR,
                                    err);
    fputc('\n', p->to);
    return st;
}

cfx_status cli_print_result(FILE *to, cfx_context *ctx, cfx_value v, int top,
                            cfx_error *err)
{
    struct printer p = {to, ctx, top};

    return visit_result(v, print_part, &p, err);
}

/* ---- Writing ---- */

/* Make a tensor of rank 0 from a number. */
static cfx_status number_tensor(cfx_tensor **out, cfx_context *ctx,
                                cfx_value v, cfx_error *err)
{
    cfx_dtype dtype = v.kind == CFX_FLOAT        ? CFX_F64
                      : v.kind == CFX_BOOL_VALUE ? CFX_BOOL
                                                 : CFX_I64;
    cfx_status st = cfx_tensor_new(out, ctx, dtype, 0, NULL, err);

    if (st)
        return st;
    if (v.kind == CFX_FLOAT)
        cfx_element_set_double(dtype, (*out)->data, v.u.f);
    else
        cfx_element_set_int(dtype, (*out)->data, v.u.i);
    return CFX_OK;
}

static bool is_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_FLOAT ||
           v.kind == CFX_BOOL_VALUE;
}

/* /dev/stdout has no suffix. */
static bool has_suffix(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strchr(slash ? slash + 1 : path, '.');
}

cfx_status cli_write_value(const char *path, const char *key, cfx_context *ctx,
                           cfx_value v, cfx_error *err)
{
    cfx_tensor *t = v.kind == CFX_TENSOR ? cfx_tensor_ref(v.u.tensor) : NULL;
    cfx_status st = CFX_OK;

    if (!t && !is_number(v))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "%s: a %s cannot be written as "
                        "a tensor",
                        path, cfx_kind_name((cfx_kind)v.kind));
    if (!t)
        st = number_tensor(&t, ctx, v, err);
    const cfx_named_tensor item = {key, t};
    if (!st)
        st = has_suffix(path) ? cfx_tensors_write(path, ctx, &item, 1, err)
                              : cfx_npy_write(path, t, err);
    cfx_tensor_unref(t);
    return st;
}

struct writer {
    const char *dir;
    cfx_context *ctx;
};

static cfx_status file_of(char *path, size_t size, const struct writer *w,
                          const char *name, cfx_error *err)
{
    int n = snprintf(path, size, "%s/%s.npy", w->dir, name);

    return n < 0 || (size_t)n >= size
               ? cfx_fail(err, CFX_EINVAL, "%s: the path is too long", w->dir)
               : CFX_OK;
}

/* Check that a part can be written. */
static cfx_status check_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    const struct writer *w = user;

    if (strchr(name, '/'))
        return cfx_fail(err, CFX_EINVAL,
                        "%s/%s.npy: a key with a slash cannot "
                        "name a file",
                        w->dir, name);
    if (v.kind == CFX_TENSOR && !cfx_dtypes[v.u.tensor->dtype].npy)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "%s/%s.npy: NumPy has no %s; "
                        "--save output=FILE.safetensors takes it",
                        w->dir, name, cfx_dtypes[v.u.tensor->dtype].name);
    return CFX_OK;
}

static cfx_status write_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    const struct writer *w = user;
    char path[4096];

    if (v.kind != CFX_TENSOR && !is_number(v))
        return CFX_OK;
    cfx_status st = file_of(path, sizeof(path), w, name, err);
    return st ? st : cli_write_value(path, name, w->ctx, v, err);
}

cfx_status cli_write_result(const char *dir, cfx_context *ctx, cfx_value v,
                            cfx_error *err)
{
    struct writer w = {dir, ctx};
    cfx_status st = visit_result(v, check_part, &w, err);

    if (st)
        return st;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return cfx_fail(err, CFX_EIO, "%s: %s", dir, strerror(errno));
    return visit_result(v, write_part, &w, err);
}
