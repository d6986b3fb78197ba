/*
 * module -- instances of module types, and the tree that they form.
 */
#include "nn/module_impl.h"

#include <stdio.h>

#include "base/atomic.h"
#include "base/unicode.h"
#include "op/op_impl.h"

/* ---- Creation ---- */

static char *copy_text(cfx_context *ctx, const char *s, size_t *size)
{
    size_t n = strlen(s) + 1;
    char *copy = cfx_alloc(ctx, n);
    if (copy)
        memcpy(copy, s, n);
    *size = copy ? n : 0;
    return copy;
}

static void free_one(cfx_module *m)
{
    cfx_context *ctx = m->ctx;
    if (m->graph && m->free_graph)
        m->free_graph(m->graph);
    for (size_t i = 0; i < m->nstate; i++) {
        cfx_tensor_unref(m->state[i].tensor);
        cfx_free(ctx, (char *)m->state[i].name, strlen(m->state[i].name) + 1);
    }
    cfx_free(ctx, m->state, m->state_cap * sizeof(*m->state));
    cfx_free(ctx, m->child, m->child_cap * sizeof(cfx_module *));
    cfx_map_release(&m->children);
    cfx_map_release(&m->states);
    /* The arguments have references of their own. */
    for (int k = 0; m->bound && k < m->schema->nparams; k++)
        cfx_value_unref(m->attrs.in[k]);
    cfx_bound_release(&m->attrs);
    cfx_free(ctx, m->class_name, m->class_name_size);
    cfx_free(ctx, m->name, m->name_size);
    cfx_free(ctx, m, sizeof(*m));
}

/* Free children first, without recursion: descend to a leaf, free it, go up. A
 * child with other references becomes a root. */
static void free_tree(cfx_module *root)
{
    cfx_module *m = root;
    while (m) {
        if (m->nchildren) {
            cfx_module *child = m->child[--m->nchildren];
            if (cfx_ref_dec(&child->refs)) {
                m = child;
            } else {
                child->parent = NULL;
                child->index = 0;
            }
            continue;
        }
        cfx_module *up = m == root ? NULL : m->parent;
        free_one(m);
        m = up;
    }
}

cfx_module *cfx_module_ref(cfx_module *m)
{
    cfx_ref_inc(&m->refs);
    return m;
}

void cfx_module_unref(cfx_module *m)
{
    if (m && cfx_ref_dec(&m->refs))
        free_tree(m);
}

static cfx_status make(cfx_module **out, cfx_context *ctx,
                       const cfx_module_type *type, const char *class_name,
                       cfx_error *err)
{
    cfx_status st = cfx_check_name(class_name, err);
    if (st)
        return st;
    cfx_module *m = cfx_calloc(ctx, 1, sizeof(*m));
    if (!m)
        return cfx_no_memory(err);
    m->refs = 1;
    m->ctx = ctx;
    m->type = type;
    cfx_map_init(&m->children, ctx);
    cfx_map_init(&m->states, ctx);
    m->class_name = copy_text(ctx, class_name, &m->class_name_size);
    m->name = copy_text(ctx, "", &m->name_size);
    if (!m->class_name || !m->name) {
        free_tree(m);
        return cfx_no_memory(err);
    }
    *out = m;
    return CFX_OK;
}

cfx_status cfx_module_new_container(cfx_module **out, cfx_context *ctx,
                                    const char *class_name, cfx_error *err)
{
    *out = NULL;
    return make(out, ctx, &cfx_module__Module, class_name, err);
}

cfx_status cfx_module_new(cfx_module **out, cfx_context *ctx,
                          const cfx_module_type *type, const char *class_name,
                          cfx_args a, cfx_error *err)
{
    const cfx_schema *schema, *forward;
    cfx_module *m = NULL;
    *out = NULL;
    cfx_status st = cfx_module_type__schemas(ctx, type, &schema, &forward,
                                             err);
    if (!st)
        st = make(&m, ctx, type, class_name ? class_name : schema->name, err);
    if (!st) {
        m->schema = schema;
        m->forward = forward;
        if (type->op)
            st = cfx_target__find(&m->op, ctx, type->op, false, err);
    }
    if (!st) {
        st = cfx_bind_schema(&m->attrs, ctx, schema, a, err);
    }
    for (int k = 0; !st && k < schema->nparams; k++)
        m->attrs.in[k] = cfx_value_ref(m->attrs.in[k]);
    if (m && !st)
        m->bound = true;
    if (!st && type->init)
        st = type->init(m, err);
    if (st) {
        if (m)
            cfx_module_unref(m);
        return st;
    }
    *out = m;
    return CFX_OK;
}

/* The arguments may be m's, or have been set since. */
cfx_status cfx_module__clone(cfx_module **out, const cfx_module *m,
                             cfx_error *err)
{
    cfx_module *to;
    *out = NULL;
    cfx_status st = make(&to, m->ctx, m->type, m->class_name, err);
    if (st)
        return st;
    to->schema = m->schema;
    to->forward = m->forward;
    to->op = m->op;
    to->training = m->training;
    to->undecided = m->undecided;
    to->bound = m->bound;
    for (int k = 0; m->bound && k < m->schema->nparams; k++)
        to->attrs.in[k] = cfx_value_ref(m->attrs.in[k]);
    *out = to;
    return CFX_OK;
}

/* ---- Properties ---- */

/* clang-format off */
cfx_context *cfx_module_context(const cfx_module *m) { return m->ctx; }
const char *cfx_module_class_name(const cfx_module *m) { return m->class_name; }
const char *cfx_module_name(const cfx_module *m) { return m->name; }
cfx_module *cfx_module_parent(const cfx_module *m) { return m->parent; }
bool cfx_module_training(const cfx_module *m) { return m->training; }
/* clang-format on */

const cfx_module_type *cfx_module_type_of(const cfx_module *m)
{
    return m->type;
}

void cfx_module_train(cfx_module *m, bool training)
{
    cfx_module__forget_effects(m);
    for (cfx_module *at = m; at; at = cfx_module_next(at, m)) {
        at->training = training;
        at->effects = 0;
    }
}

/* ---- The tree ---- */

static cfx_status set_name(cfx_module *m, const char *name, cfx_error *err)
{
    size_t size;
    char *copy = copy_text(m->ctx, name, &size);
    if (!copy)
        return cfx_no_memory(err);
    cfx_free(m->ctx, m->name, m->name_size);
    m->name = copy;
    m->name_size = size;
    return CFX_OK;
}

/* Is m in the tree, or its root? A leaf cannot contain another. */
static bool is_in(const cfx_module *m, const cfx_module *tree)
{
    while (m && m != tree && tree->nchildren)
        m = m->parent;
    return m == tree;
}

static cfx_status attach(cfx_module *m, const char *name, cfx_module *child,
                         cfx_error *err)
{
    if (!*name || strchr(name, '.'))
        return cfx_fail(err, CFX_EINVAL, "'%s' cannot name a module", name);
    if (child->parent || is_in(m, child))
        return cfx_fail(
            err, CFX_EINVAL, "'%s' cannot be a module that %s", name,
            child->parent ? "has a parent already" : "it would be part of");
    cfx_status st = cfx_check_name(name, err);
    if (!st)
        st = set_name(child, name, err);
    if (st)
        return st;
    cfx_map_entry *e = cfx_map_get(&m->children, name, strlen(name));
    cfx_module *old = e ? e->v.p : NULL;
    if (!old &&
        cfx_grow(m->ctx, m->child, m->child_cap, m->nchildren + 1, err))
        return CFX_ENOMEM;
    if (old)
        cfx_map_remove(&m->children, name, strlen(name));
    e = cfx_map_put(&m->children, child->name, strlen(child->name), NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = child;
    cfx_module__forget_effects(m);
    child->parent = m;
    child->index = old ? old->index : m->nchildren++;
    m->child[child->index] = child;
    if (old) {
        old->parent = NULL;
        cfx_module_unref(old);
    }
    return CFX_OK;
}

cfx_status cfx_module_add_take(cfx_module *m, const char *name,
                               cfx_module *child, cfx_error *err)
{
    cfx_status st = attach(m, name, child, err);
    if (st)
        cfx_module_unref(child);
    return st;
}

cfx_status cfx_module_add(cfx_module *m, const char *name, const char *type,
                          cfx_args args, cfx_error *err)
{
    const cfx_module_type *found;
    cfx_module *child;
    cfx_status st = cfx_module_type__find(&found, m->ctx, type, err);
    if (!st)
        st = cfx_module_new(&child, m->ctx, found, NULL, args, err);
    return st ? st : cfx_module_add_take(m, name, child, err);
}

size_t cfx_module_nchildren(const cfx_module *m)
{
    return m->nchildren;
}

/* Unlink m from its parent. */
static void let_go(cfx_module *m)
{
    cfx_map_remove(&m->parent->children, m->name, strlen(m->name));
    m->parent = NULL;
    m->index = 0;
    cfx_module_unref(m);
}

/* Move child `from` to an earlier index. */
static void move_child(cfx_module *m, size_t to, size_t from)
{
    m->child[to] = m->child[from];
    m->child[to]->index = to;
}

void cfx_module__remove(cfx_module *m)
{
    cfx_module *parent = m->parent;
    cfx_module__forget_effects(parent);
    for (size_t i = m->index + 1; i < parent->nchildren; i++)
        move_child(parent, i - 1, i);
    parent->nchildren--;
    let_go(m);
}

void cfx_module__place(cfx_module *m, size_t index)
{
    cfx_module *parent = m->parent;
    if (index >= parent->nchildren)
        index = parent->nchildren - 1;
    for (size_t i = m->index; i < index; i++)
        move_child(parent, i, i + 1);
    for (size_t i = m->index; i > index; i--)
        move_child(parent, i, i - 1);
    parent->child[index] = m;
    m->index = index;
}

void cfx_module__remove_unused(cfx_module *m)
{
    size_t kept = 0;
    cfx_module__forget_effects(m);
    for (size_t i = 0; i < m->nchildren; i++)
        if (m->child[i]->used)
            move_child(m, kept++, i);
        else
            let_go(m->child[i]);
    m->nchildren = kept;
}

cfx_module *cfx_module_child_at(const cfx_module *m, size_t i)
{
    return i < m->nchildren ? m->child[i] : NULL;
}

cfx_module *cfx_module__child_named(const cfx_module *m, const char *name,
                                    size_t len)
{
    cfx_map_entry *e = cfx_map_get(&m->children, name, len);
    return e ? e->v.p : NULL;
}

cfx_module *cfx_module_child(const cfx_module *m, const char *name)
{
    return cfx_module__child_named(m, name, strlen(name));
}

cfx_module *cfx_module_at(const cfx_module *m, const char *path)
{
    while (m && *path) {
        size_t n = strcspn(path, ".");
        m = cfx_module__child_named(m, path, n);
        path += n;
        if (*path == '.')
            path++;
    }
    return (cfx_module *)m;
}

cfx_module *cfx_module__owner(const cfx_module *m, const char *path,
                              const char **name)
{
    for (size_t n; m && path[n = strcspn(path, ".")]; path += n + 1)
        m = cfx_module__child_named(m, path, n);
    *name = path;
    return (cfx_module *)m;
}

cfx_status cfx_module_fetch_attr(cfx_value *out, const cfx_module *m,
                                 const char *path, cfx_error *err)
{
    const char *last;
    const cfx_module *at = cfx_module__owner(m, path, &last);
    *out = cfx_none();
    const cfx_state *s = at ? cfx_module_state(at, last) : NULL;
    if (s) {
        if (s->tensor)
            *out = cfx_value_of_tensor(s->tensor);
        return CFX_OK;
    }
    cfx_module *child = at ? cfx_module_child(at, last) : NULL;
    if (!child)
        return cfx_fail(err, CFX_EATTR,
                        "Node referenced nonexistent target %s", path);
    *out = (cfx_value){.kind = CFX_MODULE, .u.module = child};
    return CFX_OK;
}

size_t cfx_module_path(const cfx_module *m, char *buf, size_t size)
{
    size_t len = 0;
    for (const cfx_module *at = m; at->parent; at = at->parent)
        len += strlen(at->name) + (at->parent->parent ? 1 : 0);
    if (!size)
        return len;
    size_t end = len;
    buf[len < size ? len : size - 1] = '\0';
    for (const cfx_module *at = m; at->parent; at = at->parent) {
        size_t n = strlen(at->name);
        end -= n;
        for (size_t i = 0; i < n && end + i < size - 1; i++)
            buf[end + i] = at->name[i];
        if (at->parent->parent && --end < size - 1)
            buf[end] = '.';
    }
    return len;
}

cfx_module *cfx_module_next(const cfx_module *m, const cfx_module *root)
{
    if (m->nchildren)
        return m->child[0];
    while (m != root) {
        if (m->index + 1 < m->parent->nchildren)
            return m->parent->child[m->index + 1];
        m = m->parent;
    }
    return NULL;
}

/* ---- Constructor arguments ---- */

cfx_value cfx_attr(const cfx_module *m, const char *name)
{
    const cfx_schema *s = m->schema;
    /* Most names differ in the first letter. */
    for (int k = 0; s && k < s->nparams; k++)
        if (*s->params[k].name == *name && !strcmp(s->params[k].name, name))
            return m->attrs.in[k];
    return CFX_NOTHING;
}

void cfx_module__set_attr_take(cfx_module *m, const char *name, cfx_value v)
{
    int k = cfx_param_find(m->schema, name, strlen(name));
    assert(k >= 0);
    cfx_value_unref(m->attrs.in[k]);
    m->attrs.in[k] = v;
}

cfx_dim cfx_attr_dim(const cfx_module *m, const char *name)
{
    return cfx_value_dim(cfx_attr(m, name));
}

int64_t cfx_attr_int(const cfx_module *m, const char *name)
{
    cfx_value v = cfx_attr(m, name);
    return v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE ? v.u.i : 0;
}

double cfx_attr_double(const cfx_module *m, const char *name)
{
    return cfx_value_number(cfx_attr(m, name));
}

bool cfx_attr_bool(const cfx_module *m, const char *name)
{
    return cfx_attr_int(m, name) != 0;
}

const char *cfx_attr_str(const cfx_module *m, const char *name)
{
    cfx_value v = cfx_attr(m, name);
    return v.kind == CFX_STR ? v.u.str->text : NULL;
}

const cfx_schema *cfx_module_schema(const cfx_module *m)
{
    return m->schema;
}
const cfx_value *cfx_module_attrs(const cfx_module *m)
{
    return m->attrs.in;
}

/* ---- State ---- */

/* Up to this many names are compared one by one. */
enum { FEW_STATES = 8 };

static cfx_state *find_state(const cfx_module *m, const char *name)
{
    if (m->states.len) {
        const cfx_map_entry *e = cfx_map_get(&m->states, name, strlen(name));
        return e ? &m->state[e->v.u] : NULL;
    }
    for (size_t i = 0; i < m->nstate; i++)
        if (!strcmp(m->state[i].name, name))
            return &m->state[i];
    return NULL;
}

/* Add the last name to the map, and all before it if the map is new. */
static bool index_states(cfx_module *m)
{
    size_t i = m->states.len ? m->nstate - 1 : 0;
    for (; m->nstate > FEW_STATES && i < m->nstate; i++) {
        const char *name = m->state[i].name;
        cfx_map_entry *e = cfx_map_put(&m->states, name, strlen(name), NULL);
        if (!e)
            return false;
        e->v.u = i;
    }
    return true;
}

/* Takes the tensor, which may be NULL. */
static cfx_status declare(cfx_module *m, const char *name, cfx_tensor *t,
                          bool is_buffer, cfx_error *err)
{
    cfx_state *s = find_state(m, name);
    if (s) {
        cfx_tensor_unref(s->tensor);
        s->tensor = t;
        return CFX_OK;
    }
    cfx_status st = cfx_check_name(name, err);
    if (!st)
        st = cfx_grow(m->ctx, m->state, m->state_cap, m->nstate + 1, err);
    if (st) {
        cfx_tensor_unref(t);
        return st;
    }
    size_t size;
    char *copy = copy_text(m->ctx, name, &size);
    if (!copy) {
        cfx_tensor_unref(t);
        return cfx_no_memory(err);
    }
    m->state[m->nstate++] = (cfx_state){copy, t, is_buffer, true};
    if (index_states(m))
        return CFX_OK;
    if (m->nstate == FEW_STATES + 1)
        cfx_map_release(&m->states);
    m->nstate--;
    cfx_free(m->ctx, copy, size);
    cfx_tensor_unref(t);
    return cfx_no_memory(err);
}

cfx_status cfx_module__add_state(cfx_module *m, const cfx_state *s,
                                 cfx_error *err)
{
    cfx_tensor *t = s->tensor ? cfx_tensor_ref(s->tensor) : NULL;
    cfx_status st = declare(m, s->name, t, s->is_buffer, err);
    if (st)
        return st;
    cfx_state *to = find_state(m, s->name);
    to->is_buffer = s->is_buffer;
    to->persistent = s->persistent;
    return CFX_OK;
}

static cfx_status declare_meta(cfx_module *m, const char *name,
                               cfx_dtype dtype, int rank, const cfx_dim *shape,
                               bool is_buffer, cfx_error *err)
{
    cfx_tensor *t;
    cfx_status st = cfx_tensor_meta(&t, m->ctx, dtype, rank, shape, NULL, err);
    return st ? st : declare(m, name, t, is_buffer, err);
}

cfx_status cfx_module_param(cfx_module *m, const char *name, cfx_dtype dtype,
                            int rank, const cfx_dim *shape, cfx_error *err)
{
    return declare_meta(m, name, dtype, rank, shape, false, err);
}

cfx_status cfx_module_buffer(cfx_module *m, const char *name, cfx_dtype dtype,
                             int rank, const cfx_dim *shape, cfx_error *err)
{
    return declare_meta(m, name, dtype, rank, shape, true, err);
}

cfx_status cfx_module_no_param(cfx_module *m, const char *name, cfx_error *err)
{
    return declare(m, name, NULL, false, err);
}

size_t cfx_module__filter_state(cfx_module *m,
                                bool (*keeps)(void *user, const cfx_state *s),
                                void *user)
{
    size_t n = 0, all = m->nstate;
    for (size_t i = 0; i < all; i++) {
        cfx_state s = m->state[i];
        if (keeps(user, &s)) {
            m->state[n++] = s;
            continue;
        }
        cfx_tensor_unref(s.tensor);
        cfx_free(m->ctx, (char *)(uintptr_t)s.name, strlen(s.name) + 1);
    }
    if (n == all)
        return 0;
    m->nstate = n;
    cfx_map_release(&m->states);
    if (!index_states(m)) /* names are compared one by one */
        cfx_map_release(&m->states);
    return all - n;
}

size_t cfx_module_nstate(const cfx_module *m)
{
    return m->nstate;
}

const cfx_state *cfx_module_state_at(const cfx_module *m, size_t i)
{
    return i < m->nstate ? &m->state[i] : NULL;
}

const cfx_state *cfx_module_state(const cfx_module *m, const char *name)
{
    return find_state(m, name);
}

static bool same_shape(const cfx_tensor *a, const cfx_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_same(a->shape[i], b->shape[i]))
            return false;
    return true;
}

cfx_status cfx_module_set(cfx_module *m, const char *name, cfx_tensor *t,
                          cfx_error *err)
{
    cfx_state *s = find_state(m, name);
    bool resized = cfx_module__lists(m->type->resized, name) && s &&
                   s->tensor && s->tensor->rank == t->rank;
    if (s && s->tensor && !resized && !same_shape(s->tensor, t)) {
        char have[128], want[128];
        cfx_tensor_format_type(s->tensor, want, sizeof(want));
        cfx_tensor_format_type(t, have, sizeof(have));
        return cfx_fail(err, CFX_ESHAPE, "%s is %s, the module expects %s",
                        name, have, want);
    }
    if (s && !s->tensor)
        return cfx_fail(err, CFX_ENAME, "%s is given, but the module has none",
                        name);
    return declare(m, name, cfx_tensor_ref(t), true, err);
}
