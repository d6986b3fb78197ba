/*
 * tensor_formats -- the table of tensor formats: files are read and written
 * through it.
 */
#include "format/io.h"

#include "base/util.h"

static const cfx_format *const formats[] = {
#define TENSOR_FORMAT(name) &cfx_tensor_format__##name.base,
#include "format/tensors/tensor_formats.def"
#undef TENSOR_FORMAT
};

enum { NFORMATS = sizeof(formats) / sizeof(*formats) };

/* ---- Lookup ---- */

const cfx_tensor_format *cfx_tensor_format_at(size_t i)
{
    return i < NFORMATS ? (const cfx_tensor_format *)formats[i] : NULL;
}

const cfx_tensor_format *cfx_tensor_format_of_name(const char *path)
{
    return (const cfx_tensor_format *)cfx_format__of_name(formats, NFORMATS,
                                                          path);
}

/* ".npy, .npz, ...": all, or those that can be written. */
static const char *suffixes(char *text, size_t size, bool written)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < NFORMATS && at < size; i++) {
        if (written && !cfx_tensor_format_at(i)->write)
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "",
                               formats[i]->suffix);
    }
    return text;
}

/* The format of no probe and no suffix: the file cannot be opened, or is
 * something else. */
static cfx_status fail_unknown(cfx_file *f, cfx_error *err)
{
    char known[256];
    cfx_status st = cfx_file_check(f, err);

    if (!st)
        st = cfx_fail(err, CFX_EPARSE,
                      "is in no known format of tensors; known are %s",
                      suffixes(known, sizeof(known), false));
    cfx_fail_at(err, "%s", f->path);
    return st;
}

/* ---- Reading ---- */

/* One tensor, whose name is empty. */
static cfx_status read_one(cfx_tensors *out, const cfx_tensor_format *format,
                           cfx_file *f, cfx_error *err)
{
    cfx_status st = cfx_tensors_init(out, f->ctx, 1, err);

    if (!st)
        st = cfx_tensors_name(out, 0, "", 0, err);
    return st ? st : format->read_one(&out->item[0].tensor, f, err);
}

cfx_status cfx_file_visit_tensors(cfx_file *f, bool map, cfx_tensors_fn *fn,
                                  void *user, cfx_error *err)
{
    cfx_tensors all = {0};
    const cfx_tensor_format *format = (const cfx_tensor_format *)
        cfx_format__of_file(formats, NFORMATS, f);

    if (!format)
        return fail_unknown(f, err);
    if (format->visit)
        return format->visit(f, map, fn, user, err);
    cfx_status st = format->read_one ? read_one(&all, format, f, err)
                                     : format->read(&all, f, map, err);
    if (!st)
        st = fn(user, &all, f->path, err);
    cfx_tensors_release(&all);
    return st;
}

cfx_status cfx_tensors_visit(cfx_context *ctx, const char *path, bool map,
                             cfx_tensors_fn *fn, void *user, cfx_error *err)
{
    cfx_file f;

    cfx_file_open(&f, ctx, path, NULL); /* the reader says why it cannot */
    cfx_status st = cfx_file_visit_tensors(&f, map, fn, user, err);
    cfx_file_close(&f);
    return st;
}

/* Does a text follow the name of a file, after a colon? */
static bool takes_key(const cfx_tensor_format *f)
{
    return f->keyed || f->read_typed;
}

/* The place of the colon in FILE:KEY, where the name of FILE is that of a
 * format that takes one; or NULL. */
static const char *find_key(const char *text)
{
    const char *first = NULL;

    for (size_t i = 0; i < NFORMATS; i++) {
        size_t k = strlen(formats[i]->suffix);
        const char *p = takes_key(cfx_tensor_format_at(i)) ? text : NULL;
        while (p && (p = strstr(p, formats[i]->suffix)) && p[k] != ':')
            p++;
        if (p && (!first || p + k < first))
            first = p + k;
    }
    return first;
}

bool cfx_tensor_names_file(const char *text)
{
    const cfx_tensor_format *format = cfx_tensor_format_of_name(text);

    return find_key(text) || (format && !format->keyed);
}

/* One tensor out of those of a file. */
struct pick {
    const char *key; /* NULL: the only one */
    cfx_tensor *found;
    size_t n;
};

static cfx_status pick_tensor(void *user, const cfx_tensors *tensors,
                              const char *path, cfx_error *err)
{
    struct pick *p = user;

    (void)path;
    (void)err;
    for (size_t i = 0; i < tensors->n; i++) {
        if (p->key && strcmp(tensors->item[i].name, p->key))
            continue;
        if (!p->found)
            p->found = cfx_tensor_ref(tensors->item[i].tensor);
        p->n++;
    }
    return CFX_OK;
}

static cfx_status pick_one(struct pick *p, cfx_context *ctx, const char *path,
                           bool map, cfx_error *err)
{
    cfx_status st = cfx_tensors_visit(ctx, path, map, pick_tensor, p, err);

    if (!st && p->key && !p->n)
        st = cfx_fail(err, CFX_ENAME, "%s: has no tensor '%s'", path, p->key);
    else if (!st && p->n != 1)
        st = cfx_fail(err, CFX_EINVAL, "%s: has %zu tensors, not one", path,
                      p->n);
    return st;
}

cfx_status cfx_tensor_read(cfx_tensor **out, cfx_context *ctx,
                           const char *text, bool map, cfx_error *err)
{
    const char *colon = find_key(text);
    struct pick p = {.key = colon ? colon + 1 : NULL};
    cfx_buf path;

    *out = NULL;
    cfx_buf_init(&path, ctx);
    cfx_buf_add(&path, text, colon ? (size_t)(colon - text) : strlen(text));
    cfx_status st = path.failed ? cfx_no_memory(err) : CFX_OK;
    const cfx_tensor_format *f = st ? NULL : cfx_tensor_format_of_name(path.s);
    if (f && colon && f->read_typed)
        st = f->read_typed(&p.found, ctx, path.s, p.key, err);
    else if (!st)
        st = pick_one(&p, ctx, path.s, map, err);
    cfx_buf_release(&path);
    if (st)
        cfx_tensor_unref(p.found);
    else
        *out = p.found;
    return st;
}

/* ---- Writing ---- */

cfx_status cfx_tensors_write(const char *path, cfx_context *ctx,
                             const cfx_named_tensor *item, size_t n,
                             cfx_error *err)
{
    const cfx_tensor_format *format = cfx_tensor_format_of_name(path);
    char known[256];

    if (!format || !format->write)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "%s: tensors are not written to such a file; known are %s", path,
            suffixes(known, sizeof(known), true));
    if (!format->keyed && n != 1)
        return cfx_fail(err, CFX_EINVAL, "%s: holds one tensor, not %zu", path,
                        n);
    return format->write(path, ctx, item, n, err);
}
