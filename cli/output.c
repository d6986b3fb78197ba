/*
 * output -- name, print and write the results of a model.
 *
 * A result is a tensor, or a tuple, list or dict of results. Its parts have the
 * names of the model's file, if it has some, or are named by their paths: output,
 * output_0, output_1_KEY.
 */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_ = 256 };

/* ---- Parts ---- */

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

static bool is_part(cfx_value v)
{
    return v.kind != CFX_DICT && (!cfx_value_is_seq(v) || cli_is_texts(v));
}

/* Call fn for each part of a value; the depth is that of nested values. */
static cfx_status visit(cfx_value v, char *name, cli_part_fn *fn, void *user,
                        cfx_error *err)
{
    bool dict = v.kind == CFX_DICT;
    size_t len = strlen(name);
    cfx_status st = CFX_OK;

    if (is_part(v))
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

cfx_value cli_output_names(const cfx_module *gm)
{
    const cfx_node *n = cfx_graph_output_node(cfx_graph_module_graph(gm));
    cfx_value names = n ? cfx_node_meta(n, "output_names") : CFX_NOTHING;

    return names.kind == CFX_TUPLE ? names : CFX_NOTHING;
}

/* What the file calls part i of n; NULL: it has no name for it. */
static const char *given_name(const cli_result *r, uint32_t i, uint32_t n)
{
    const cfx_seq *names = r->names.u.seq;

    return names->len == n && names->item[i].kind == CFX_STR
               ? names->item[i].u.str->text
               : NULL;
}

/* A part that has parts itself is named by its path. */
static cfx_status visit_named(const cli_result *r, uint32_t i, uint32_t n,
                              cli_part_fn *fn, void *user, cfx_error *err)
{
    char path[NAME_MAX_] = "output";
    bool one = is_part(r->value);
    cfx_value part = one ? r->value : r->value.u.seq->item[i];
    const char *name = is_part(part) ? given_name(r, i, n) : NULL;

    if (name)
        return fn(user, name, part, err);
    cfx_status st = one ? CFX_OK : extend(path, cfx_int(i), err);
    return st ? st : visit(part, path, fn, user, err);
}

cfx_status cli_visit_result(const cli_result *r, cli_part_fn *fn, void *user,
                            cfx_error *err)
{
    char path[NAME_MAX_] = "output";
    cfx_status st = CFX_OK;

    if (r->value.kind == CFX_DICT || r->names.kind != CFX_TUPLE)
        return visit(r->value, path, fn, user, err);
    uint32_t n = is_part(r->value) ? 1 : r->value.u.seq->len;
    for (uint32_t i = 0; i < n && !st; i++)
        st = visit_named(r, i, n, fn, user, err);
    return st;
}

/* ---- Labels ---- */

/* Split the text into lines. */
static cfx_status split_labels(cli_labels *l, cfx_error *err)
{
    size_t lines = 1;

    for (const char *s = l->text; *s; s++)
        lines += *s == '\n';
    l->item = calloc(lines, sizeof(*l->item));
    if (!l->item)
        return cfx_no_memory(err);
    for (char *s = l->text; *s;) {
        size_t len = strcspn(s, "\n");
        bool last = !s[len];
        s[len] = '\0';
        if (len && s[len - 1] == '\r')
            s[len - 1] = '\0';
        l->item[l->n++] = s;
        s += len + !last;
    }
    return CFX_OK;
}

/* Would a terminal act on a byte of the text? */
static bool has_controls(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < ' ' && !strchr("\n\r\t", text[i])) ||
            !text[i] || text[i] == 0x7f)
            return true;
    return false;
}

cfx_status cli_labels_read(cli_labels *out, const char *path, cfx_error *err)
{
    enum { MOST = 1 << 24 };
    FILE *f = fopen(path, "rb");
    size_t n = 0;

    *out = (cli_labels){.path = path};
    if (!f)
        return cfx_fail(err, CFX_EIO, "%s: %s", path, strerror(errno));
    out->text = malloc(MOST + 1);
    if (out->text)
        n = fread(out->text, 1, MOST + 1, f);
    cfx_status st = !out->text ? cfx_no_memory(err)
                    : ferror(f) || n > MOST || has_controls(out->text, n)
                        ? cfx_fail(err, CFX_EPARSE,
                                   "%s: is not a file of labels, one a line",
                                   path)
                        : CFX_OK;
    fclose(f);
    if (!st) {
        out->text[n] = '\0';
        st = split_labels(out, err);
    }
    return st;
}

void cli_labels_release(cli_labels *l)
{
    free(l->item);
    free(l->text);
    *l = (cli_labels){0};
}

/* ---- The largest elements of each row ---- */

/* Sort descending with NaN first, as torch.topk; equal elements by position. */
static int by_rank(const void *a, const void *b)
{
    const cli_ranked *x = a, *y = b;
    bool nan_x = isnan(x->value), nan_y = isnan(y->value);

    if (nan_x != nan_y)
        return nan_x ? -1 : 1;
    if (!nan_x && x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void rank_rows(const cli_printing *p, const cfx_tensor *t,
                      cli_ranked *row, cli_row_fn *fn, void *user)
{
    int64_t n = cfx_tensor_size(t, t->rank - 1), all = cfx_tensor_numel(t);
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    int64_t place[CFX_MAX_RANK];

    for (int64_t at = 0; at < all; at += n) {
        const unsigned char *e = (const unsigned char *)t->data +
                                 (size_t)at * size;
        for (int64_t i = 0; i < n; i++)
            row[i] = (cli_ranked){
                cfx_element_double((cfx_dtype)t->dtype, e + (size_t)i * size),
                i};
        qsort(row, (size_t)n, sizeof(*row), by_rank);
        int64_t rest = at;
        for (int i = t->rank - 1; i >= 0; i--) {
            place[i] = rest % cfx_tensor_size(t, i);
            rest /= cfx_tensor_size(t, i);
        }
        fn(user, row, n < p->top ? n : p->top, place);
    }
}

cfx_status cli_rank_rows(const cli_printing *p, const cfx_tensor *t,
                         cli_row_fn *fn, void *user, cfx_error *err)
{
    int64_t n = cfx_tensor_size(t, t->rank - 1);
    cfx_tensor *flat;

    if (p->labels.n && p->labels.n != n)
        return cfx_fail(
            err, CFX_EINVAL,
            "%s: has %lld labels, and the rows of the result have %lld elements",
            p->labels.path, (long long)p->labels.n, (long long)n);
    cfx_status st = cfx_tensor_contiguous(&flat, t, err);
    if (st)
        return st;
    cli_ranked *row = malloc((size_t)n * sizeof(*row) + 1);
    if (row)
        rank_rows(p, flat, row, fn, user);
    else
        st = cfx_no_memory(err);
    free(row);
    cfx_tensor_unref(flat);
    return st;
}

/* ---- Printing ---- */

struct row_printer {
    const cli_printing *p;
    int rank;
};

/* Print "[1, 0]" for the row, if there may be several, then its elements. */
static void print_row(void *user, const cli_ranked *best, int64_t n,
                      const int64_t *place)
{
    const struct row_printer *r = user;
    const cli_labels *l = &r->p->labels;
    FILE *to = r->p->to;

    for (int i = 0; i < r->rank - 1; i++)
        fprintf(to, "%s%lld%s", i ? ", " : "[", (long long)place[i],
                i == r->rank - 2 ? "]\n" : "");
    for (int64_t i = 0; i < n; i++)
        fprintf(to, "%8lld  %.7g%s%s\n", (long long)best[i].index,
                best[i].value, l->n ? "  " : "",
                l->n ? l->item[best[i].index] : "");
}

static cfx_status print_tensor(const cli_printing *p, const char *name,
                               const cfx_tensor *t, cfx_error *err)
{
    char type[256];

    cfx_tensor_format_type(t, type, sizeof(type));
    fprintf(p->to, "%s %s\n", name, type);
    if (p->top && t->rank) {
        struct row_printer r = {p, t->rank};
        return cli_rank_rows(p, t, print_row, &r, err);
    }
    cfx_status st = cfx_print_tensor(cfx_sink_file(p->to), t, err);
    fputc('\n', p->to);
    return cli_printed(st);
}

static cfx_status print_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    const cli_printing *p = user;

    if (v.kind == CFX_TENSOR)
        return print_tensor(p, name, v.u.tensor, err);
    fprintf(p->to, "%s %s\n", name, cfx_kind_name((cfx_kind)v.kind));
    cfx_status st = cfx_print_value(cfx_sink_file(p->to), v, CFX_STYLE_REPR,
                                    err);
    fputc('\n', p->to);
    return st;
}

cfx_status cli_print_result(const cli_printing *p, const cli_result *r,
                            cfx_error *err)
{
    return cli_visit_result(r, print_part, (void *)(uintptr_t)p, err);
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

cfx_status cli_part_tensor(cfx_tensor **out, cfx_context *ctx, cfx_value v,
                           const char *path, cfx_error *err)
{
    if (v.kind == CFX_TENSOR) {
        *out = cfx_tensor_ref(v.u.tensor);
        return CFX_OK;
    }
    return is_number(v)
               ? number_tensor(out, ctx, v, err)
               : cfx_fail(err, CFX_EUNSUPPORTED, "%s: a %s is not a tensor",
                          path, cfx_kind_name((cfx_kind)v.kind));
}

cfx_status cli_write_value(const char *path, const char *key, cfx_context *ctx,
                           cfx_value v, cfx_error *err)
{
    cfx_tensor *t = NULL;
    cfx_status st = cli_part_tensor(&t, ctx, v, path, err);

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
                        "%s/%s.npy: a key with a slash cannot name a file",
                        w->dir, name);
    if (v.kind == CFX_TENSOR && !cfx_dtypes[v.u.tensor->dtype].npy)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "%s/%s.npy: NumPy has no %s; --save output=FILE.safetensors takes it",
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

cfx_status cli_write_result(const char *dir, cfx_context *ctx,
                            const cli_result *r, cfx_error *err)
{
    struct writer w = {dir, ctx};
    cfx_status st = cli_visit_result(r, check_part, &w, err);

    if (st)
        return st;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return cfx_fail(err, CFX_EIO, "%s: %s", dir, strerror(errno));
    return cli_visit_result(r, write_part, &w, err);
}
