/*
 * pt2_weights -- the numbers of parameters, buffers and constants.
 *
 * A configuration tells for each name a file of raw bytes and a strided view of
 * it. A file is read once, however many tensors view it, so that tied weights
 * stay tied.
 */
#include "format/pt2/pt2.h"

#include "base/util.h"
#include "format/pt2/torch_file.h"
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
    cfx_buf_clear(&l->name);
    cfx_buf_puts(&l->name, l->payload->folder);
    cfx_buf_puts(&l->name, path_name);
    cfx_status st = l->name.failed
                        ? cfx_no_memory(err)
                        : cfx_pt2__flat(&t, l->a, l->name.s, dtype, err);
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
        st = cfx_fail(
            err, CFX_EUNSUPPORTED,
            "is a pickled object of Python, not a tensor: save ep.run_decompositions(), which takes subclasses of tensors apart");
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

/* The state of a name, and the module that owns it; NULL: the graph does not
 * use it. */
static const cfx_state *find_state(cfx_module **owner, const char **last,
                                   cfx_module *gm, const char *name)
{
    *owner = cfx_module__owner(gm, name, last);
    const cfx_state *state = *owner ? cfx_module_state(*owner, *last) : NULL;

    return state && state->tensor ? state : NULL;
}

/* Give a state its numbers. */
static cfx_status set_state(cfx_module *gm, const char *name, cfx_tensor *t,
                            cfx_error *err)
{
    const char *last;
    cfx_module *owner;
    const cfx_state *state = find_state(&owner, &last, gm, name);

    if (!state)
        return CFX_OK;
    if (state->tensor->dtype != t->dtype)
        return cfx_fail(err, CFX_ESHAPE, "is %s, but %s in the graph",
                        cfx_dtypes[t->dtype].name,
                        cfx_dtypes[state->tensor->dtype].name);
    return cfx_module_set(owner, last, t, err);
}

static cfx_status load_payload(struct loader *l, const char *name,
                               const json_t *payload, cfx_error *err)
{
    const char *last;
    cfx_module *owner;
    cfx_tensor *t;

    if (!find_state(&owner, &last, l->gm, name))
        return CFX_OK;
    cfx_status st = make_tensor(&t, l, payload, err);
    if (st)
        return st;
    st = set_state(l->gm, name, t, err);
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

/* ---- Weights that torch.save pickled: before torch 2.9 ---- */

static cfx_status load_items(cfx_module *gm, cfx_torch_file *f, cfx_error *err)
{
    const cfx_pickled *dict = f->value;
    cfx_status st = CFX_OK;
    cfx_module *owner;
    const char *last;

    if (dict->kind != CFX_PICKLED_DICT)
        return cfx_fail(err, CFX_EPARSE, "is not a dict of tensors");
    for (size_t i = 0; i + 1 < dict->n && !st; i += 2) {
        const cfx_pickled *key = dict->item[i];
        cfx_tensor *t = NULL;
        if (key->kind != CFX_PICKLED_STR)
            return cfx_fail(err, CFX_EPARSE,
                            "has a name that is not a string");
        if (!find_state(&owner, &last, gm, key->text))
            continue;
        st = cfx_torch_file_tensor(&t, f, dict->item[i + 1], err);
        if (!st)
            st = set_state(gm, key->text, t, err);
        cfx_tensor_unref(t);
        if (st)
            cfx_fail_at(err, "%.200s", key->text);
    }
    return st;
}

/* Load a file of the archive, if there is one of that name. */
static cfx_status load_torch(cfx_module *gm, cfx_pt2_archive *a,
                             const char *name, cfx_error *err)
{
    cfx_torch_file f;

    if (!cfx_pt2__find(a, name))
        return CFX_OK;
    cfx_status st = cfx_torch_file_open(&f, a, name, err);
    if (!st)
        st = load_items(gm, &f, err);
    cfx_torch_file_close(&f);
    if (st)
        cfx_fail_at(err, "%s", name);
    return st;
}

static cfx_status load_pickled(cfx_module *gm, cfx_pt2_archive *a,
                               cfx_error *err)
{
    static const char *const flat[] = {"serialized_state_dict.pt",
                                       "serialized_constants.pt"};
    cfx_buf name;
    cfx_status st = CFX_OK;

    cfx_buf_init(&name, a->zip.ctx);
    for (size_t i = 0; i < sizeof(payloads) / sizeof(*payloads) && !st; i++) {
        cfx_buf_clear(&name);
        if (a->flat)
            cfx_buf_puts(&name, flat[i]);
        else
            cfx_buf_printf(&name, "%s%.*s.pt", payloads[i].folder,
                           (int)a->model_len, a->model);
        st = name.failed ? cfx_no_memory(err) : load_torch(gm, a, name.s, err);
    }
    cfx_buf_release(&name);
    return st;
}

cfx_status cfx_pt2__load(cfx_module *gm, cfx_pt2_archive *a, cfx_error *err)
{
    cfx_status st = load_pickled(gm, a, err);

    if (a->flat)
        return st;
    for (size_t i = 0; i < sizeof(payloads) / sizeof(*payloads) && !st; i++)
        st = load_kind(gm, a, &payloads[i], err);
    return st;
}
