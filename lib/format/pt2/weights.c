/*
 * weights -- the numbers of parameters, buffers and constants.
 *
 * A configuration tells for each name a file of raw bytes and a strided view of
 * it. A file is read once, however many tensors view it, so that tied weights
 * stay tied.
 */
#include "format/pt2/pt2.h"

#ifdef HAVE_LIBZIP

#include "base/util.h"
#include "nn/module_impl.h"

/* A kind of payload: its folder, and its configuration, "%.*s" for the model's
 * name. */
static const struct payload {
    const char *folder, *config;
} payloads[] = {
    {"data/weights/", "data/weights/%.*s_weights_config.json"},
    {"data/constants/", "data/constants/%.*s_constants_config.json"},
};

struct loader {
    cfx_module *gm;
    cfx_pt2_archive *a;
    cfx_context *ctx;
    const struct payload *payload;
    cfx_map files; /* path_name -> cfx_tensor, the whole file */
    cfx_buf name;
};

/* ---- Files ---- */

static void release_bytes(void *user)
{
    cfx_bytes *b = user;
    cfx_context *ctx = b->ctx;

    cfx_bytes_release(b);
    cfx_free(ctx, b, sizeof(*b));
}

/* A tensor of one axis over bytes, which it takes. */
static cfx_status tensor_of_bytes(cfx_tensor **out, cfx_bytes *bytes,
                                  cfx_dtype dtype, cfx_error *err)
{
    cfx_context *ctx = bytes->ctx;
    int64_t n = (int64_t)(bytes->len / cfx_dtype_size(dtype));
    cfx_bytes *kept = cfx_alloc(ctx, sizeof(*kept));

    if (!kept) {
        cfx_bytes_release(bytes);
        return cfx_no_memory(err);
    }
    *kept = *bytes;
    return cfx_tensor_from(out, ctx, dtype, 1, &n, NULL, kept->data, kept->len,
                           release_bytes, kept, err);
}

static cfx_status read_file(cfx_tensor **out, struct loader *l,
                            const char *path_name, cfx_dtype dtype,
                            cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    cfx_bytes b;

    cfx_buf_clear(&l->name);
    cfx_buf_puts(&l->name, l->payload->folder);
    cfx_buf_puts(&l->name, path_name);
    if (l->name.failed)
        return cfx_no_memory(err);
    cfx_status st = cfx_pt2__read(&b, l->a, l->name.s, err);
    if (st)
        return st;
    if (b.len % size) {
        st = cfx_fail(err, CFX_EPARSE,
                      "%s has %zu bytes, which are no whole number of %s",
                      l->name.s, b.len, cfx_dtypes[dtype].name);
        cfx_bytes_release(&b);
        return st;
    }
    if (l->a->swapped)
        cfx_swap_bytes(b.data, b.len / size, size);
    if (dtype == CFX_BOOL)
        cfx_normalize_bools(b.data, b.len);
    return tensor_of_bytes(out, &b, dtype, err);
}

/* The whole of a file, borrowed; read at the first call. */
static cfx_status find_file(cfx_tensor **out, struct loader *l,
                            const char *path_name, cfx_dtype dtype,
                            cfx_error *err)
{
    cfx_map_entry *e = cfx_map_put(&l->files, path_name, strlen(path_name),
                                   NULL);
    cfx_tensor *t = NULL;

    if (!e)
        return cfx_no_memory(err);
    *out = e->v.p;
    if (*out && (*out)->dtype != dtype)
        return cfx_fail(
            err, CFX_EUNSUPPORTED, "views %s as %s, another tensor as %s",
            path_name, cfx_dtypes[dtype].name, cfx_dtypes[(*out)->dtype].name);
    if (*out)
        return CFX_OK;
    cfx_status st = read_file(&t, l, path_name, dtype, err);
    e->v.p = *out = st ? NULL : t;
    return st;
}

static void release_files(struct loader *l)
{
    for (size_t i = 0; i < l->files.cap; i++)
        if (l->files.entry[i].key)
            cfx_tensor_unref(l->files.entry[i].v.p);
    cfx_map_release(&l->files);
}

/* ---- Tensors ---- */

/* A tensor of zeros: torch writes an empty file for data that it lacks. */
static cfx_status make_zeros(cfx_tensor **out, const cfx_tensor *meta,
                             cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];

    for (int i = 0; i < meta->rank; i++)
        shape[i] = cfx_tensor_size(meta, i);
    cfx_status st = cfx_tensor_new(out, meta->ctx, (cfx_dtype)meta->dtype,
                                   meta->rank, shape, err);
    if (!st)
        memset((*out)->data, 0,
               (size_t)cfx_tensor_numel(*out) *
                   cfx_dtype_size((cfx_dtype)meta->dtype));
    return st;
}

static cfx_status make_tensor(cfx_tensor **out, struct loader *l,
                              const json_t *payload, cfx_error *err)
{
    const json_t *type, *at;
    const char *path_name;
    cfx_tensor *meta = NULL, *file = NULL;
    cfx_dim offset = cfx_dim_int(0);
    cfx_status st = cfx_pt2__text(&path_name, payload, "path_name", err);

    if (!st && json_is_true(json_object_get(payload, "use_pickle")))
        st = cfx_fail(err, CFX_EUNSUPPORTED,
                      "is a pickled object of Python, not a tensor");
    if (!st)
        st = cfx_pt2__member(&type, payload, "tensor_meta", JSON_OBJECT, err);
    if (!st)
        st = cfx_pt2__meta(&meta, l->ctx, NULL, type, err);
    at = st ? NULL : json_object_get(type, "storage_offset");
    if (at)
        st = cfx_pt2__extent(&offset, NULL, at, err);
    if (!st && cfx_dim_value(offset) < 0)
        st = cfx_fail(err, CFX_EPARSE, "has a negative offset");
    if (!st)
        st = find_file(&file, l, path_name, (cfx_dtype)meta->dtype, err);
    if (!st)
        st = cfx_tensor_numel(file)
                 ? cfx_tensor_view(out, file, meta->rank, meta->shape,
                                   meta->stride, offset, err)
                 : make_zeros(out, meta, err);
    cfx_tensor_unref(meta);
    return st;
}

static cfx_status load_payload(struct loader *l, const char *name,
                               const json_t *payload, cfx_error *err)
{
    const char *last;
    cfx_module *owner = cfx_module__owner(l->gm, name, &last);
    const cfx_state *state = owner ? cfx_module_state(owner, last) : NULL;
    cfx_tensor *t;

    /* The graph does not use it. */
    if (!state || !state->tensor)
        return CFX_OK;
    cfx_status st = make_tensor(&t, l, payload, err);
    if (st)
        return st;
    if (state->tensor->dtype != t->dtype)
        st = cfx_fail(err, CFX_ESHAPE, "is %s, but %s in the graph",
                      cfx_dtypes[t->dtype].name,
                      cfx_dtypes[state->tensor->dtype].name);
    else
        st = cfx_module_set(owner, last, t, err);
    cfx_tensor_unref(t);
    return st;
}

/* ---- Configurations ---- */

static cfx_status load_config(struct loader *l, const json_t *config,
                              cfx_error *err)
{
    const json_t *list;
    const char *name;
    json_t *payload;
    cfx_status st = cfx_pt2__member(&list, config, "config", JSON_OBJECT, err);

    if (st)
        return st;
    json_object_foreach((json_t *)(uintptr_t)list, name, payload)
    {
        st = load_payload(l, name, payload, err);
        if (st) {
            cfx_fail_at(err, "%.200s", name);
            return st;
        }
    }
    return CFX_OK;
}

static cfx_status load_kind(cfx_module *gm, cfx_pt2_archive *a,
                            const struct payload *kind, cfx_error *err)
{
    struct loader l = {.gm = gm, .a = a, .ctx = a->zip.ctx, .payload = kind};
    cfx_json config = {0};

    cfx_map_init(&l.files, l.ctx);
    cfx_buf_init(&l.name, l.ctx);
    cfx_buf_printf(&l.name, kind->config, (int)a->model_len, a->model);
    cfx_status st = l.name.failed ? cfx_no_memory(err) : CFX_OK;
    if (!st && cfx_pt2__find(a, l.name.s))
        st = cfx_pt2__read_json(&config, a, l.name.s, err);
    if (!st && config.root)
        st = load_config(&l, config.root, err);
    release_files(&l);
    cfx_buf_release(&l.name);
    if (config.root)
        cfx_json_release(&config);
    return st;
}

cfx_status cfx_pt2__load(cfx_module *gm, cfx_pt2_archive *a, cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < sizeof(payloads) / sizeof(*payloads) && !st; i++)
        st = load_kind(gm, a, &payloads[i], err);
    return st;
}

#endif
