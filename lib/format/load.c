/*
 * load -- a model: its text, and its weights beside it, in one file or several.
 *
 * Weights are matched by their full names. What the tree of modules does not
 * declare, but a get_attr node of the graph names, is a bare parameter, whose
 * shape no text tells: the weights file declares it. Any other name in the
 * file is an error, since it means that text and weights do not belong
 * together. What begins with `%` belongs to the arguments of the graphs. State
 * that the file lacks stays without numbers: BatchNorm's num_batches_tracked is
 * not needed to run, and what is needed will be missed then.
 */
#include <cfx/file.h>
#include <cfx/text.h>

#include <unistd.h>

#include "base/util.h"
#include "format/io.h"
#include "format/print.h"
#include "nn/module_impl.h"

/* The longest text of a model that is read. */
#define TEXT_MAX ((size_t)1 << 30)
#define INDEX_SUFFIX ".index.json"

/* ---- Names ---- */

/* "m.fx" to "m.safetensors". */
static void weights_beside(cfx_buf *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    cfx_buf_add(out, path, dot && dot > base ? (size_t)(dot - path)
                                             : strlen(path));
    cfx_buf_puts(out, ".safetensors");
}

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n > k && !strcmp(s + n - k, suffix);
}

/* ---- Matching ---- */

/* A tensor that is held until the end. */
typedef struct tensor_ref {
    struct tensor_ref *next;
    cfx_tensor *tensor;
} tensor_ref;

struct match {
    cfx_module *gm;
    cfx_map bare;    /* targets of get_attr nodes */
    cfx_map tensors; /* for arguments, by name */
    tensor_ref *refs;
    cfx_arena names; /* of those */
    cfx_buf path;
};

static void match_init(struct match *m, cfx_module *gm)
{
    cfx_context *ctx = cfx_module_context(gm);

    m->gm = gm;
    cfx_map_init(&m->bare, ctx);
    cfx_map_init(&m->tensors, ctx);
    cfx_arena_init(&m->names, ctx);
    cfx_buf_init(&m->path, ctx);
}

static void match_release(struct match *m)
{
    cfx_buf_release(&m->path);
    for (tensor_ref *r = m->refs; r; r = r->next)
        cfx_tensor_unref(r->tensor);
    cfx_arena_release(&m->names);
    cfx_map_release(&m->tensors);
    cfx_map_release(&m->bare);
}

static cfx_status find_bare(struct match *m, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(m->gm);

    for (const cfx_node *n = g ? cfx_graph_first(g) : NULL; n;
         n = cfx_node_next(n)) {
        const cfx_string *target = n->target.u.str;
        if (n->op == CFX_GET_ATTR &&
            !cfx_map_put(&m->bare, target->text, target->len, NULL))
            return cfx_fail(err, CFX_ENOMEM, "out of memory");
    }
    return CFX_OK;
}

/* The module at the path in m->path, whose missing parts become empty
 * modules: a text without a tree has none. */
static cfx_status make_parents(cfx_module **out, struct match *m,
                               cfx_error *err)
{
    cfx_module *at = m->gm;

    for (char *part = m->path.s, *dot; part && *part; part = dot) {
        dot = strchr(part, '.');
        if (dot)
            *dot++ = '\0';
        cfx_module *child = cfx_module_child(at, part);
        if (!child) {
            cfx_status rc = cfx_module_new_container(
                &child, cfx_module_context(m->gm), "Module", err);
            if (!rc)
                rc = cfx_module_add_take(at, part, child, err);
            if (rc)
                return rc;
        }
        at = child;
    }
    *out = at;
    return CFX_OK;
}

/* Keep a tensor of an argument until all are there. */
static cfx_status note_tensor(struct match *m, const cfx_named_tensor *item,
                              cfx_error *err)
{
    size_t n = strlen(item->name);
    tensor_ref *ref = cfx_arena_alloc(&m->names, sizeof(*ref));
    const char *name = ref ? cfx_arena_strdup(&m->names, item->name, n) : NULL;
    cfx_map_entry *e = name ? cfx_map_put(&m->tensors, name, n, NULL) : NULL;
    if (!e)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    e->v.p = item->tensor;
    ref->tensor = cfx_tensor_ref(item->tensor);
    ref->next = m->refs;
    m->refs = ref;
    return CFX_OK;
}

/* Give one tensor to the module that owns it. */
static cfx_status place(struct match *m, const cfx_named_tensor *item,
                        cfx_error *err)
{
    const char *dot = strrchr(item->name, '.');
    const char *last = dot ? dot + 1 : item->name;
    cfx_module *owner;

    if (*item->name == '%')
        return note_tensor(m, item, err);
    cfx_buf_clear(&m->path);
    cfx_buf_add(&m->path, item->name, dot ? (size_t)(dot - item->name) : 0);
    if (m->path.failed)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    owner = cfx_module_at(m->gm, cfx_buf_str(&m->path));
    const cfx_state *state = owner ? cfx_module_state(owner, last) : NULL;
    if (state ? !state->tensor
              : !cfx_map_get(&m->bare, item->name, strlen(item->name)))
        return cfx_fail(err, CFX_ENAME, "has '%s', which the model lacks",
                        item->name);
    cfx_status rc = owner ? CFX_OK : make_parents(&owner, m, err);
    if (!rc)
        rc = cfx_module_set(owner, last, item->tensor, err);
    if (rc)
        cfx_fail_at(err, "%s", item->name);
    return rc;
}

static cfx_status place_all(void *user, const cfx_tensors *weights,
                            const char *path, cfx_error *err)
{
    struct match *m = user;
    cfx_status rc = CFX_OK;

    for (size_t i = 0; i < weights->n && !rc; i++)
        rc = place(m, &weights->item[i], err);
    if (rc)
        cfx_fail_at(err, "%s", path);
    return rc;
}

static cfx_status place_file(struct match *m, const char *path, bool map,
                             cfx_error *err)
{
    cfx_tensors weights = {0};
    cfx_context *ctx = cfx_module_context(m->gm);

    if (has_suffix(path, INDEX_SUFFIX))
        return cfx_shards_read(ctx, path, map, place_all, m, err);
    cfx_status rc = has_suffix(path, ".npz")
                        ? cfx_npz_read(&weights, ctx, path, err)
                        : cfx_safetensors_read(&weights, ctx, path, map, err);
    if (!rc)
        rc = place_all(m, &weights, path, err);
    cfx_tensors_release(&weights);
    return rc;
}

static cfx_status read_weights(cfx_module *gm, const char *path, bool map,
                               cfx_error *err)
{
    struct match m = {0};

    match_init(&m, gm);
    cfx_status rc = find_bare(&m, err);
    if (!rc)
        rc = place_file(&m, path, map, err);
    if (!rc && (rc = cfx_model__fill_tensors(gm, &m.tensors, err)))
        cfx_fail_at(err, "%s", path);
    for (cfx_module *at = gm; at && !rc; at = cfx_module_next(at, gm))
        cfx_module__decide_by_state(at);
    match_release(&m);
    return rc;
}

cfx_status cfx_module_load_weights(cfx_module *m, const char *path, bool map,
                                   cfx_error *err)
{
    return read_weights(m, path, map, err);
}

/* ---- Loading ---- */

static cfx_status load_weights(cfx_module *gm, const char *path,
                               const cfx_load_options *o, cfx_error *err)
{
    cfx_buf beside;
    cfx_status rc = CFX_OK;

    if (o->no_weights)
        return CFX_OK;
    if (o->random_weights)
        return cfx_module_randomize(gm, o->seed, err);
    if (o->weights)
        return read_weights(gm, o->weights, !o->no_map, err);
    cfx_buf_init(&beside, cfx_module_context(gm));
    weights_beside(&beside, path);
    bool found = !beside.failed && !access(beside.s, F_OK);
    if (!found) {
        cfx_buf_puts(&beside, INDEX_SUFFIX);
        found = !beside.failed && !access(beside.s, F_OK);
    }
    if (beside.failed)
        rc = cfx_fail(err, CFX_ENOMEM, "out of memory");
    else if (found)
        rc = read_weights(gm, beside.s, !o->no_map, err);
    cfx_buf_release(&beside);
    return rc;
}

/* Files that are something else are told by how they begin. */
static cfx_status check_kind(const cfx_bytes *text, cfx_error *err)
{
    if (text->len >= 4 && !memcmp(text->data, "PK\3\4", 4))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "is a zip archive, not the text of a model");
    if (memchr(text->data, '\0', text->len < 4096 ? text->len : 4096))
        return cfx_fail(err, CFX_EPARSE, "is not the text of a model");
    return CFX_OK;
}

static cfx_status load_text(cfx_module **out, cfx_context *ctx,
                            const char *path, cfx_error *err)
{
    cfx_bytes text = {0};
    cfx_status rc = cfx_bytes_read(&text, ctx, path, TEXT_MAX, err);

    if (!rc)
        rc = check_kind(&text, err);
    if (rc)
        cfx_fail_at(err, "%s", path);
    else
        rc = cfx_parse_model(out, ctx, (const char *)text.data, text.len, path,
                             err);
    cfx_bytes_release(&text);
    return rc;
}

cfx_status cfx_model_load(cfx_module **out, cfx_context *ctx, const char *path,
                          const cfx_load_options *options, cfx_error *err)
{
    cfx_load_options o = {.size = sizeof(o)};

    *out = NULL;
    if (options)
        memcpy(&o, options, options->size < sizeof(o) ? options->size
                                                      : sizeof(o));
    cfx_status rc = load_text(out, ctx, path, err);
    if (!rc && o.assume_defaults)
        cfx_module_assume_defaults(*out);
    if (!rc)
        rc = load_weights(*out, path, &o, err);
    if (rc) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    return rc;
}
