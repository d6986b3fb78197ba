/*
 * pt2_write_pickle -- sample inputs as torch.save writes them: tensors, numbers,
 * strings and None in the tuples, lists and dicts of in_spec, in protocol 2.
 */
#include <stdio.h>

#include "format/pt2/pt2_write.h"
#include "format/print.h"

struct pickler {
    cfx_context *ctx;
    cfx_buf *out;
    int storages;
    const cfx_value *next, *end; /* of the inputs */
};

/* ---- Values ---- */

static void put_le(cfx_buf *b, uint64_t v, int size)
{
    for (int i = 0; i < size; i++)
        cfx_buf_putc(b, (char)(v >> 8 * i & 255));
}

static void put_int(cfx_buf *b, int64_t v)
{
    bool small = v >= INT32_MIN && v <= INT32_MAX;

    cfx_buf_puts(b, small ? "J" : "\x8a\x08");
    put_le(b, (uint64_t)v, small ? 4 : 8);
}

static void put_str(cfx_buf *b, const char *text, size_t len)
{
    cfx_buf_putc(b, 'X');
    put_le(b, len, 4);
    cfx_buf_add(b, text, len);
}

static void put_float(cfx_buf *b, double f)
{
    uint64_t bits;

    memcpy(&bits, &f, sizeof(bits));
    cfx_buf_putc(b, 'G');
    for (int i = 7; i >= 0; i--)
        cfx_buf_putc(b, (char)(bits >> 8 * i & 255));
}

static void put_extents(cfx_buf *b, const cfx_dim *d, int n)
{
    cfx_buf_putc(b, '(');
    for (int i = 0; i < n; i++)
        put_int(b, cfx_dim_value(d[i]));
    cfx_buf_putc(b, 't');
}

/* ---- Tensors ---- */

/* Row-major, over a storage of its own. */
static cfx_status put_tensor(struct pickler *p, const cfx_tensor *t,
                             cfx_error *err)
{
    cfx_buf *b = p->out;
    const char *storage = cfx_pt2__storages[t->dtype];
    char key[16];
    int64_t step = 1;

    if (!storage)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "an input is %s, which torch.save has no storage for",
                        cfx_dtypes[t->dtype].name);
    snprintf(key, sizeof(key), "%d", p->storages++);
    cfx_buf_puts(b, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_str(b, "storage", 7);
    cfx_buf_printf(b, "ctorch\n%s\n", strchr(storage, ' ') + 1);
    put_str(b, key, strlen(key));
    put_str(b, "cpu", 3);
    put_int(b, cfx_tensor_numel(t));
    cfx_buf_puts(b, "tQ");
    put_int(b, 0);
    put_extents(b, t->shape, t->rank);
    cfx_dim stride[CFX_MAX_RANK];
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = cfx_dim_int(step);
        step *= cfx_tensor_size(t, i) ? cfx_tensor_size(t, i) : 1;
    }
    put_extents(b, stride, t->rank);
    cfx_buf_puts(b, "\x89"
                    "ccollections\nOrderedDict\n)RtR");
    return CFX_OK;
}

static cfx_status put_value(struct pickler *p, cfx_value v, cfx_error *err)
{
    switch ((cfx_kind)v.kind) {
    case CFX_NONE: cfx_buf_putc(p->out, 'N'); return CFX_OK;
    case CFX_BOOL_VALUE:
        cfx_buf_putc(p->out, v.u.i ? '\x88' : '\x89');
        return CFX_OK;
    case CFX_INT: put_int(p->out, v.u.i); return CFX_OK;
    case CFX_FLOAT: put_float(p->out, v.u.f); return CFX_OK;
    case CFX_STR: put_str(p->out, v.u.str->text, v.u.str->len); return CFX_OK;
    case CFX_TENSOR: return put_tensor(p, v.u.tensor, err);
    default:
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "a sample input is a %s, not a tensor or number",
                        cfx_kind_name((cfx_kind)v.kind));
    }
}

/* ---- Trees ---- */

bool cfx_pt2__can_pickle(const json_t *tree)
{
    const json_t *children = json_object_get(tree, "children_spec");
    const char *type = json_string_value(json_object_get(tree, "type"));
    bool ok = !type || !strcmp(type, "builtins.tuple") ||
              !strcmp(type, "builtins.list") || !strcmp(type, "builtins.dict");

    for (size_t i = 0; ok && i < json_array_size(children); i++)
        ok = cfx_pt2__can_pickle(json_array_get(children, i));
    return ok;
}

/* The keys of a dict are JSON in a text. */
static cfx_status read_keys(cfx_json *out, cfx_context *ctx,
                            const json_t *tree, cfx_error *err)
{
    const json_t *text = json_object_get(tree, "context");
    const char *s = json_is_string(text) ? json_string_value(text) : "";

    return cfx_json_parse(out, ctx, s, strlen(s), 0, 0, err);
}

static void put_key(cfx_buf *b, const json_t *key)
{
    if (json_is_integer(key))
        put_int(b, json_integer_value(key));
    else
        put_str(b, json_string_value(key), json_string_length(key));
}

static cfx_status put_leaf(struct pickler *p, cfx_error *err)
{
    return p->next < p->end
               ? put_value(p, *p->next++, err)
               : cfx_fail(err, CFX_EINVAL,
                          "there are fewer sample inputs than inputs");
}

/* Write a tree whose leaves are the next inputs. */
static cfx_status put_tree(struct pickler *p, const json_t *tree,
                           cfx_error *err)
{
    const json_t *children = json_object_get(tree, "children_spec");
    const char *type = json_string_value(json_object_get(tree, "type"));
    bool dict = type && !strcmp(type, "builtins.dict");
    bool list = type && !strcmp(type, "builtins.list");
    cfx_json keys = {0};
    cfx_status st = CFX_OK;

    if (!type)
        return put_leaf(p, err);
    if (dict)
        st = read_keys(&keys, p->ctx, tree, err);
    cfx_buf_puts(p->out, dict ? "}(" : list ? "](" : "(");
    for (size_t i = 0; i < json_array_size(children) && !st; i++) {
        if (dict)
            put_key(p->out, json_array_get(keys.root, i));
        st = put_tree(p, json_array_get(children, i), err);
    }
    cfx_buf_putc(p->out, dict ? 'u' : list ? 'e' : 't');
    if (keys.root)
        cfx_json_release(&keys);
    return st;
}

static cfx_status put_inputs(struct pickler *p, const json_t *tree,
                             cfx_error *err)
{
    cfx_status st = CFX_OK;

    cfx_buf_puts(p->out, "\x80\x02");
    if (tree) {
        st = put_tree(p, tree, err);
        cfx_buf_putc(p->out, '.');
        return st;
    }
    cfx_buf_puts(p->out, "((");
    while (p->next < p->end && !st)
        st = put_leaf(p, err);
    cfx_buf_puts(p->out, "t}t.");
    return st;
}

/* ---- The archive ---- */

/* A tensor of zeros for one without numbers. */
static cfx_status add_numbers(cfx_zip_writer *z, const cfx_tensor *t, int key,
                              cfx_error *err)
{
    cfx_tensor *rows = NULL;
    char name[40];
    int64_t shape[CFX_MAX_RANK];
    size_t size = (size_t)cfx_tensor_numel(t) *
                  cfx_dtype_size((cfx_dtype)t->dtype);

    snprintf(name, sizeof(name), "archive/data/%d", key);
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_tensor_size(t, i);
    cfx_status st = cfx_tensor_new(&rows, z->ctx, (cfx_dtype)t->dtype, t->rank,
                                   shape, err);
    if (!st && cfx_tensor_is_meta(t))
        memset(rows->data, 0, size);
    else if (!st)
        st = cfx_tensor_copy(rows, t, err);
    if (!st)
        st = cfx_zip_writer_add(z, name, rows->data, size, err);
    cfx_tensor_unref(rows);
    return st;
}

static cfx_status add_text(cfx_zip_writer *z, const char *name,
                           const char *text, cfx_error *err)
{
    return cfx_zip_writer_add(z, name, text, strlen(text), err);
}

static cfx_status add_files(cfx_zip_writer *z, const cfx_buf *pickle,
                            const cfx_value *inputs, size_t n, cfx_error *err)
{
    cfx_status st = cfx_zip_writer_add(z, "archive/data.pkl", pickle->s,
                                       pickle->len, err);
    int key = 0;

    if (!st)
        st = add_text(z, "archive/byteorder",
                      cfx_little_endian() ? "little" : "big", err);
    for (size_t i = 0; i < n && !st; i++)
        if (inputs[i].kind == CFX_TENSOR)
            st = add_numbers(z, inputs[i].u.tensor, key++, err);
    if (!st)
        st = add_text(z, "archive/version", "3\n", err);
    return st ? st : cfx_zip_writer_finish(z, err);
}

cfx_status cfx_pt2__put_inputs(cfx_buf *out, cfx_context *ctx,
                               const json_t *tree, const cfx_value *inputs,
                               size_t n, cfx_error *err)
{
    cfx_buf pickle;
    struct pickler p = {
        .ctx = ctx, .out = &pickle, .next = inputs, .end = inputs + n};
    cfx_zip_writer z;

    cfx_buf_init(&pickle, ctx);
    cfx_zip_writer_init(&z, ctx, cfx_sink_buf(out));
    cfx_status st = put_inputs(&p, tree, err);
    if (!st && pickle.failed)
        st = cfx_no_memory(err);
    if (!st)
        st = add_files(&z, &pickle, inputs, n, err);
    cfx_zip_writer_release(&z);
    cfx_buf_release(&pickle);
    return st;
}
