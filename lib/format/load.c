/*
 * load -- load a model's text and its weights, in one file or several.
 *
 * Weights are matched by full name. A get_attr target that the module tree
 * does not declare is a bare parameter: the weights file declares its shape.
 * The text does not distinguish parameters from buffers, either: floating
 * tensors are parameters, except for buffer names of torch.nn and for tensors
 * that an export lists after its parameters. Any other name in the file is an
 * error, since text and weights then do not match. A name that begins with `%`
 * is a tensor among the arguments of the graphs. State that the file lacks has
 * no data, which is an error only when it is used: BatchNorm's
 * num_batches_tracked is not.
 */
#include <cfx/file.h>
#include <cfx/text.h>

#include <unistd.h>

#include "base/util.h"
#include "format/io.h"
#include "format/print.h"
#include "nn/nn_norm_state.h"

/* ---- Matching ---- */

/* A tensor with a reference until the end. */
typedef struct tensor_ref {
    struct tensor_ref *next;
    cfx_tensor *tensor;
} tensor_ref;

struct match {
    cfx_module *gm;
    cfx_map bare;    /* targets of get_attr nodes; true: certainly a buffer */
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

/* Set m->path to the path of the module that owns a state. */
static bool owner_path(struct match *m, const char *name)
{
    const char *dot = strrchr(name, '.');

    cfx_buf_clear(&m->path);
    cfx_buf_add(&m->path, name, dot ? (size_t)(dot - name) : 0);
    return !m->path.failed;
}

/* Is the owner of a state before `*at` in the tree? Otherwise move there. */
static bool restarts(struct match *m, const cfx_module **at, const char *name)
{
    const cfx_module *owner = owner_path(m, name)
                                  ? cfx_module_at(m->gm, cfx_buf_str(&m->path))
                                  : NULL;
    const cfx_module *next = *at;

    while (owner && next && next != owner)
        next = cfx_module_next(next, m->gm);
    if (owner && next)
        *at = next;
    return owner && !next;
}

/* Exports list get_attr nodes before placeholders: parameters in the order of
 * the tree, then buffers and constants. */
static bool lists_state_first(const cfx_graph *g)
{
    const cfx_node *n = cfx_graph_first(g);

    while (n && n->op == CFX_GET_ATTR)
        n = cfx_node_next(n);
    return n && n->op == CFX_PLACEHOLDER;
}

static cfx_status find_bare(struct match *m, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    const cfx_module *at = m->gm;
    bool listed = g && lists_state_first(g), buffers = false;

    for (const cfx_node *n = g ? cfx_graph_first(g) : NULL; n;
         n = cfx_node_next(n)) {
        const cfx_string *target = n->target;
        listed = listed && n->op == CFX_GET_ATTR;
        if (n->op != CFX_GET_ATTR)
            continue;
        buffers = listed && (buffers || restarts(m, &at, target->text));
        bool added = false;
        cfx_map_entry *e = cfx_map_put(&m->bare, target->text, target->len,
                                       &added);
        if (!e || m->path.failed)
            return cfx_no_memory(err);
        if (added)
            e->v.u = buffers;
    }
    return CFX_OK;
}

/* Exports keep only the names of state. */
static bool is_parameter(struct match *m, const cfx_named_tensor *item,
                         const char *last)
{
    cfx_dtype t = (cfx_dtype)item->tensor->dtype;
    const cfx_map_entry *bare = cfx_map_get(&m->bare, item->name,
                                            strlen(item->name));

    return cfx_dtype_is_float(t) && !cfx_module__names_statistic(last) &&
           !(bare && bare->v.u);
}

/* The module at the path m->path; missing parents become empty modules, since
 * a text without a tree has none. */
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
            cfx_status st = cfx_module_new_container(
                &child, cfx_module_context(m->gm), "Module", err);
            if (!st)
                st = cfx_module_add_take(at, part, child, err);
            if (st)
                return st;
        }
        at = child;
    }
    *out = at;
    return CFX_OK;
}

/* Keep a tensor argument until all are loaded. */
static cfx_status note_tensor(struct match *m, const cfx_named_tensor *item,
                              cfx_error *err)
{
    size_t n = strlen(item->name);
    tensor_ref *ref = cfx_arena_alloc(&m->names, sizeof(*ref));
    const char *name = ref ? cfx_arena_strdup(&m->names, item->name, n) : NULL;
    cfx_map_entry *e = name ? cfx_map_put(&m->tensors, name, n, NULL) : NULL;
    if (!e)
        return cfx_no_memory(err);
    e->v.p = item->tensor;
    ref->tensor = cfx_tensor_ref(item->tensor);
    ref->next = m->refs;
    m->refs = ref;
    return CFX_OK;
}

/* Is it an optional buffer with the name of an argument, such as a loss's
 * class weights? The text does not say whether it exists. */
static bool is_undecided_state(const cfx_module *m, const char *name)
{
    return cfx_attr_is_undecided(m, name) &&
           cfx_module__lists(m->type->by_state, name);
}

/* Set one tensor in the module that owns it. */
static cfx_status place(struct match *m, const cfx_named_tensor *item,
                        cfx_error *err)
{
    const char *dot = strrchr(item->name, '.');
    const char *last = dot ? dot + 1 : item->name;
    cfx_module *owner;

    if (*item->name == '%')
        return note_tensor(m, item, err);
    if (!owner_path(m, item->name))
        return cfx_no_memory(err);
    owner = cfx_module_at(m->gm, cfx_buf_str(&m->path));
    const cfx_state *state = owner ? cfx_module_state(owner, last) : NULL;
    bool is_original = owner && !state &&
                       cfx_module__takes_original(owner, last);
    bool is_argument = owner && !state && is_undecided_state(owner, last);
    if (is_argument)
        cfx_module_decide(owner, last);
    else if (state ? !state->tensor
                   : !is_original && !cfx_map_get(&m->bare, item->name,
                                                  strlen(item->name)))
        return cfx_fail(err, CFX_ENAME, "has '%s', which the model lacks",
                        item->name);
    cfx_status st = owner ? CFX_OK : make_parents(&owner, m, err);
    const cfx_state bare = {last, item->tensor,
                            is_argument || !is_parameter(m, item, last), true};
    if (!st)
        st = state ? cfx_module_set(owner, last, item->tensor, err)
                   : cfx_module__add_state(owner, &bare, err);
    if (st)
        cfx_fail_at(err, "%s", item->name);
    return st;
}

static cfx_status place_all(void *user, const cfx_tensors *weights,
                            const char *path, cfx_error *err)
{
    struct match *m = user;
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < weights->n && !st; i++)
        st =
            weights->item[i].name[0]
                ? place(m, &weights->item[i], err)
                : cfx_fail(
                      err, CFX_ENAME,
                      "has a tensor without a name, where weights have names");
    if (st)
        cfx_fail_at(err, "%s", path);
    return st;
}

/* A source of weights: a file, or memory. */
struct source {
    cfx_file *file; /* NULL: memory */
    const void *data;
    size_t size;
    bool in_place; /* mapped, or borrowed */
};

static cfx_status place_memory(struct match *m, const struct source *from,
                               cfx_error *err)
{
    cfx_tensors weights = {0};
    cfx_status st = cfx_safetensors_parse(&weights, cfx_module_context(m->gm),
                                          from->data, from->size,
                                          from->in_place, err);
    for (size_t i = 0; i < weights.n && !st; i++)
        st = place(m, &weights.item[i], err);
    cfx_tensors_release(&weights);
    if (st)
        cfx_fail_at(err, "weights");
    return st;
}

static cfx_status read_weights(cfx_module *gm, const struct source *from,
                               cfx_error *err)
{
    struct match m = {0};

    match_init(&m, gm);
    cfx_status st = find_bare(&m, err);
    if (!st)
        st = from->file ? cfx_file_visit_tensors(from->file, from->in_place,
                                                 place_all, &m, err)
                        : place_memory(&m, from, err);
    if (!st && (st = cfx_model__fill_tensors(gm, &m.tensors, err)))
        cfx_fail_at(err, "%s", from->file ? from->file->path : "weights");
    for (cfx_module *at = gm; at && !st; at = cfx_module_next(at, gm))
        cfx_module__decide_by_state(at);
    match_release(&m);
    return st;
}

cfx_status cfx_module_load_weights(cfx_module *m, const char *path, bool map,
                                   cfx_error *err)
{
    cfx_file f;

    cfx_file_open(&f, cfx_module_context(m), path, NULL); /* as visiting */
    cfx_status st = read_weights(
        m, &(struct source){.file = &f, .in_place = map}, err);
    cfx_file_close(&f);
    return st;
}

cfx_status cfx_module_parse_weights(cfx_module *m, const void *data,
                                    size_t size, bool borrow, cfx_error *err)
{
    return read_weights(
        m, &(struct source){.data = data, .size = size, .in_place = borrow},
        err);
}

/* ---- Loading ---- */

/* MODEL.safetensors, its index, or MODEL.npz: the first that exists. */
static bool find_beside(cfx_buf *beside, const char *path)
{
    const char *suffix = cfx_tensor_format__safetensors.base.suffix;

    cfx_weights_beside(beside, path);
    if (beside->failed || !access(beside->s, F_OK))
        return !beside->failed;
    size_t stem = beside->len - strlen(suffix);
    cfx_buf_puts(beside, cfx_tensor_format__sharded.base.suffix);
    if (beside->failed || !access(beside->s, F_OK))
        return !beside->failed;
    beside->len = stem;
    cfx_buf_puts(beside, cfx_tensor_format__npz.base.suffix);
    return !beside->failed && !access(beside->s, F_OK);
}

/* Load the file beside a model's text, if there is one. */
static cfx_status load_beside(cfx_module *gm, const cfx_model_file *f,
                              bool map, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_buf path;

    cfx_buf_init(&path, f->file.ctx);
    bool found = find_beside(&path, f->path);
    if (path.failed)
        st = cfx_no_memory(err);
    if (found) {
        cfx_file beside;
        cfx_file_open(&beside, f->file.ctx, path.s, NULL);
        st = cfx_text__check_pair(&f->file, &beside, err);
        if (!st)
            st = read_weights(
                gm, &(struct source){.file = &beside, .in_place = map}, err);
        cfx_file_close(&beside);
    }
    cfx_buf_release(&path);
    return st;
}

static cfx_status load_weights(cfx_module *gm, cfx_model_file *f,
                               const cfx_load_options *o, cfx_error *err)
{
    if (o->no_weights)
        return CFX_OK;
    if (o->random_weights)
        return cfx_module_randomize(gm, o->seed, err);
    if (o->weights)
        return cfx_module_load_weights(gm, o->weights, !o->no_map, err);
    return f->format->read_weights
               ? f->format->read_weights(gm, f, !o->no_map, err)
               : load_beside(gm, f, !o->no_map, err);
}

cfx_status cfx_model_file_load(cfx_module **out, cfx_model_file *f,
                               const cfx_load_options *options, cfx_error *err)
{
    cfx_load_options o = {.size = sizeof(o)};
    cfx_error own = {0};

    *out = NULL;
    err = err ? err : &own;
    cfx_error_clear(err);
    if (options)
        memcpy(&o, options,
               options->size < sizeof(o) ? options->size : sizeof(o));
    cfx_status st = f->format->read(out, f, &o, err);
    if (!st)
        st = load_weights(*out, f, &o, err);
    if (!st && o.assume_defaults)
        cfx_module_assume_defaults(*out);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    return st;
}

cfx_status cfx_model_load(cfx_module **out, cfx_context *ctx, const char *path,
                          const cfx_load_options *options, cfx_error *err)
{
    cfx_model_file *f;
    cfx_status st = cfx_model_file_open(&f, ctx, path, err);

    *out = NULL;
    if (!st)
        st = cfx_model_file_load(out, f, options, err);
    cfx_model_file_close(f);
    return st;
}
