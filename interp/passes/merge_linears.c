/*
 * merge_linears -- merge linear layers of one input: Optimum's MergeLinears.
 *
 *     q = q(x), k = k(x)   ->   q-k-merged(x)[..., 0:n], [..., n:n+m]
 *
 * The old layers' nodes become the slices, with their places and names, and the
 * reverse turns them into layers again, so that the graph's text is restored. A
 * layer without a bias among others with one gets a bias of -0, which leaves
 * every sum as it is (+0 would not: -0 + 0 is 0) and which the reverse removes;
 * Optimum forgets which layers had none.
 *
 * The new module is stored in the place of the first old one. The reverse
 * restores them after each other from there; if they had other places, those
 * are stored in the node's meta. A layer whose bias is -0 throughout would lose
 * it and is not merged.
 *
 * All layers are computed where the first one was, so nothing may write to the
 * input or to parameters in between. A slice has other strides than the layer's
 * result. If users depend on strides, the layer is not merged (except for a
 * view that splits the last axis, which slices support).
 */
#include "interp/rewrite/affine.h"
#include "graph/aliases.h"
#include "graph/graph_impl.h"

#include <cfx/ops.h>

#include <math.h>
#include <stdio.h>

#include "nn/module_impl.h"

/* Longer joined names are not made. */
enum { NAME_ROOM = 400 };

/* Layers that can be merged, in graph order. */
typedef struct group {
    uint32_t first, last; /* node numbers */
    uint32_t n;
    size_t name_len;
} group;

typedef struct merger {
    cfx_pass_call *p;
    cfx_arena arena;
    path_uses uses;
    cfx_map groups; /* key of shared properties -> index */
    group *group;
    uint32_t ngroups;
    cfx_node **node; /* by number */
    uint32_t *next;  /* by number: the next of its group, or 0 */
    cfx_aliases aliases;
    uint32_t *writes; /* by alias set: how often, up to here */
    bool *looked_at;  /* by alias set: users depend on its strides */
} merger;

static const char suffix[] = "-merged";
static const char meta_key[] = "linears_at";

static const char *last_atom(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* ---- Users that depend on strides ---- */

static bool looks_at_strides(const cfx_node *n)
{
    return cfx_node__has_flag(n, CFX_OP_READS_STRIDES) ||
           cfx_node_is(n, "view") || cfx_node_is(n, "view_as");
}

/* True if n is x.view(..., a, b) and a * b is the extent of x's last axis. */
static bool splits_last_axis(const merger *m, const cfx_node *n)
{
    layer l;
    if (n->nargs < 2 || n->args[0].kind != CFX_NODE || n->nkwargs ||
        !cfx_node_is(n, "view") ||
        !cfx_layer__find(&l, m->p, n->args[0].u.node) || !l.module ||
        l.kind != LAYER_LINEAR)
        return false;
    bool listed = cfx_value_is_seq(n->args[1]);
    const cfx_value *size = listed ? n->args[1].u.seq->item : n->args + 1;
    uint32_t i = listed ? n->args[1].u.seq->len : n->nargs - 1;
    int64_t width = cfx_attr_int(l.module, "out_features"), part = 1;
    while (i-- > 0 && size[i].kind == CFX_INT && size[i].u.i > 0 &&
           size[i].u.i <= width / part) {
        part *= size[i].u.i;
        if (part == width)
            return true;
    }
    return false;
}

static cfx_status find_looks(merger *m)
{
    cfx_status st = cfx_aliases__init(&m->aliases, m->p->graph, m->p->err);
    if (st)
        return st;
    size_t n = cfx_aliases__len(&m->aliases);
    m->writes = cfx_arena_alloc(&m->arena, n * sizeof(*m->writes));
    m->looked_at = cfx_arena_alloc(&m->arena, n * sizeof(*m->looked_at));
    if (!m->writes || !m->looked_at)
        return cfx_no_memory(m->p->err);
    memset(m->writes, 0, n * sizeof(*m->writes));
    memset(m->looked_at, 0, n * sizeof(*m->looked_at));
    for (const cfx_node *at = cfx_graph_first(m->p->graph); at;
         at = cfx_node_next(at))
        if (at->ninputs && looks_at_strides(at) && !splits_last_axis(m, at))
            m->looked_at[cfx_aliases__set(&m->aliases,
                                          cfx_node_input(at, 0))] = true;
    return CFX_OK;
}

static void note_writes(merger *m, const cfx_node *n)
{
    const cfx_effects *e = cfx_aliases__effects(&m->aliases, n);
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_effects__writes(e, i))
            m->writes[cfx_aliases__set(&m->aliases, cfx_node_input(n, i))]++;
}

/* ---- Finding groups ---- */

static bool can_merge(merger *m, layer *l, cfx_node *n)
{
    const char *path = n->target->text;
    return n->op == CFX_CALL_MODULE &&
           !m->looked_at[cfx_aliases__set(&m->aliases, n)] &&
           cfx_layer__find(l, m->p, n) && l->module &&
           l->kind == LAYER_LINEAR && n->nargs == 1 && !n->nkwargs &&
           n->args[0].kind == CFX_NODE &&
           !strcmp(cfx_module_class_name(l->module), "Linear") &&
           !strchr(last_atom(path), '-') && strlen(path) < NAME_ROOM / 2 &&
           cfx_path_uses__once(&m->uses, path);
}

/* Add node number i to the group for its input (as last written to), parent
 * module, type and training flag. */
static cfx_status join_group(merger *m, uint32_t i, const layer *l)
{
    char key[NAME_ROOM];
    const char *path = l->n->target->text, *name = last_atom(path);
    const cfx_tensor *w = cfx_module_state(l->module, "weight")->tensor;
    bool added;
    const cfx_node *x = l->n->args[0].u.node;
    int len = snprintf(key, sizeof(key), "%u %u %d %d %.*s", x->id,
                       m->writes[cfx_aliases__set(&m->aliases, x)], w->dtype,
                       l->training, (int)(name - path), path);
    cfx_map_entry *e = cfx_map_put(&m->groups, key, (size_t)len, &added);
    if (!e)
        return cfx_no_memory(m->p->err);
    if (added) {
        e->v.u = m->ngroups;
        e->key = cfx_arena_strdup(&m->arena, key, (size_t)len);
        if (!e->key) {
            e->key = key;
            cfx_map_remove(&m->groups, key, (size_t)len);
            return cfx_no_memory(m->p->err);
        }
    }
    group *g = &m->group[e->v.u];
    size_t name_len = strlen(name) + 1;
    if (!added && g->name_len + name_len + sizeof(suffix) < NAME_ROOM / 2) {
        m->next[g->last] = i;
    } else {
        e->v.u = m->ngroups;
        g = &m->group[m->ngroups++];
        *g = (group){.first = i};
    }
    g->last = i;
    g->n++;
    g->name_len += name_len;
    return CFX_OK;
}

static cfx_status find_groups(merger *m)
{
    cfx_pass_call *p = m->p;
    size_t len = cfx_graph_len(p->graph) + 1;
    m->node = cfx_arena_alloc(&m->arena, len * sizeof(*m->node));
    m->next = cfx_arena_alloc(&m->arena, len * sizeof(*m->next));
    m->group = cfx_arena_alloc(&m->arena, len * sizeof(*m->group));
    if (!m->node || !m->next || !m->group)
        return cfx_no_memory(p->err);
    memset(m->next, 0, len * sizeof(*m->next));
    uint32_t i = 1;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        layer l;
        note_writes(m, n);
        if (!can_merge(m, &l, n))
            continue;
        m->node[i] = n;
        st = join_group(m, i++, &l);
    }
    return st;
}

/* ---- Merging ---- */

/* Make a bias of -0, which adds nothing. */
static cfx_value no_bias(cfx_scope *s, const cfx_tensor *weight)
{
    return cfx_full(s, cfx_list(s, cfx_int(cfx_tensor_size(weight, 0))),
                    cfx_float(-0.0),
                    .dtype = cfx_value_of_dtype((cfx_dtype)weight->dtype));
}

static bool is_no_bias(const cfx_tensor *t)
{
    double x = 0;
    cfx_tensor *f;
    int64_t n = cfx_tensor_numel(t);
    if (cfx_tensor_new(&f, t->ctx, CFX_F64, 1, &n, NULL))
        return false;
    bool none = !cfx_tensor_copy(f, t, NULL);
    for (int64_t i = 0; i < n && none; i++) {
        x = ((const double *)f->data)[i];
        none = x == 0 && signbit(x);
    }
    cfx_tensor_unref(f);
    return none;
}

static cfx_status can_be_undone(merger *m, const group *g, bool *can)
{
    *can = true;
    for (uint32_t i = g->first; i && *can; i = m->next[i]) {
        layer l;
        cfx_layer__find(&l, m->p, m->node[i]);
        cfx_status st = cfx_layer__load(&l, m->p);
        if (st)
            return st;
        *can = !l.bias || !is_no_bias(l.bias);
    }
    return CFX_OK;
}

/* Concatenate weights and biases; without any bias, *bias stays absent. */
static cfx_status join_numbers(merger *m, const group *g, cfx_scope *s,
                               cfx_value *weight, cfx_value *bias)
{
    cfx_value w[NAME_ROOM], b[NAME_ROOM];
    size_t n = 0;
    bool any = false;
    for (uint32_t i = g->first; i; i = m->next[i], n++) {
        layer l;
        cfx_layer__find(&l, m->p, m->node[i]);
        cfx_status st = cfx_layer__load(&l, m->p);
        if (st)
            return st;
        w[n] = cfx_value_of_tensor(l.weight);
        b[n] = l.bias ? cfx_value_of_tensor(l.bias) : no_bias(s, l.weight);
        any = any || l.bias;
    }
    *weight = cfx_cat(s, cfx_list_of(s, CFX_LIST, n, w));
    if (any)
        *bias = cfx_cat(s, cfx_list_of(s, CFX_LIST, n, b));
    return cfx_scope_status(s, m->p->err);
}

/* Build the name PARENT.a-b-merged. */
static void join_names(const merger *m, const group *g, char *path)
{
    const char *first = m->node[g->first]->target->text;
    size_t len = (size_t)(last_atom(first) - first);
    memcpy(path, first, len);
    for (uint32_t i = g->first; i; i = m->next[i])
        len += (size_t)sprintf(path + len, "%s%s", i == g->first ? "" : "-",
                               last_atom(m->node[i]->target->text));
    memcpy(path + len, suffix, sizeof(suffix));
}

static cfx_status new_linear(cfx_module **out, cfx_pass_call *p,
                             const cfx_module *like, cfx_tensor *weight,
                             cfx_tensor *bias)
{
    cfx_value kwargs[] = {
        cfx_str_new(p->ctx, "out_features", 12),
        cfx_value_of_dim(weight->shape[0]),
        cfx_str_new(p->ctx, "bias", 4),
        cfx_bool(bias),
    };
    *out = NULL;
    cfx_status st = kwargs[0].kind && kwargs[2].kind
                        ? cfx_pass__module_like(out, like, kwargs, 2, p->err)
                        : cfx_no_memory(p->err);
    cfx_value_unref(kwargs[0]);
    cfx_value_unref(kwargs[2]);
    if (!st)
        st = cfx_module_set(*out, "weight", weight, p->err);
    if (!st && bias)
        st = cfx_module_set(*out, "bias", bias, p->err);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    return st;
}

/* Turn a node into merged[..., begin:end]. */
static cfx_status become_slice(cfx_pass_call *p, cfx_node *n, cfx_node *merged,
                               int64_t begin, int64_t end)
{
    cfx_value bounds[] = {cfx_int(begin), cfx_int(end), cfx_none()};
    cfx_value index[] = {cfx_ellipsis(),
                         cfx_seq_new(p->ctx, CFX_SLICE, 3, bounds, NULL)};
    cfx_value args[] = {cfx_value_of_node(merged),
                        index[1].kind ? cfx_tuple_new(p->ctx, 2, index)
                                      : CFX_NOTHING};
    cfx_status st = args[1].kind ? cfx_node_set_args(n, args, 2, p->err)
                                 : cfx_no_memory(p->err);
    cfx_value_unref(args[1]);
    cfx_value_unref(index[1]);
    if (!st)
        st = cfx_node_set_op(n, CFX_CALL_FUNCTION, "operator.getitem", p->err);
    p->changed++;
    return st;
}

static cfx_module *module_of(const cfx_pass_call *p, const cfx_node *n)
{
    return cfx_module_at(p->gm, n->target->text);
}

/* Store the new module in the place of the first one. Record the places of the
 * others in the new node's meta, unless they follow it. */
static cfx_status note_places(merger *m, const group *g, cfx_node *merged)
{
    cfx_pass_call *p = m->p;
    cfx_value place[NAME_ROOM];
    size_t n = 0, least = SIZE_MAX;
    bool follow = true;
    for (uint32_t i = g->first; i; i = m->next[i], n++) {
        size_t at = module_of(p, m->node[i])->index;
        least = at < least ? at : least;
        place[n] = cfx_int((int64_t)at);
        follow = follow && place[n].u.i == place[0].u.i + (int64_t)n;
    }
    cfx_module__place(module_of(p, merged), least);
    if (follow)
        return CFX_OK;
    cfx_value note = cfx_tuple_new(p->ctx, n, place);
    cfx_status st = note.kind
                        ? cfx_node_set_meta(merged, meta_key, note, p->err)
                        : cfx_no_memory(p->err);
    cfx_value_unref(note);
    return st;
}

/* Call the merged layer and slice its result. */
static cfx_status rewrite_group(merger *m, const group *g, const char *path)
{
    cfx_pass_call *p = m->p;
    cfx_node *first = m->node[g->first];
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, first);
    cfx_node *merged = cfx_graph_call_module(
        p->graph, path, cfx_args_of(first->args, 1), p->err);
    cfx_graph_restore(p->graph, at);
    if (!merged)
        return p->err->code;
    cfx_status st = cfx_node_inherit(merged, first, p->err);
    if (!st)
        st = note_places(m, g, merged);
    int64_t begin = 0;
    p->changed++;
    for (uint32_t i = g->first; i && !st; i = m->next[i]) {
        cfx_node *n = m->node[i];
        char old[NAME_ROOM];
        snprintf(old, sizeof(old), "%s", n->target->text);
        int64_t end = begin +
                      cfx_attr_int(cfx_module_at(p->gm, old), "out_features");
        st = become_slice(p, n, merged, begin, end);
        begin = end;
        if (!st)
            cfx_module_delete_submodule(p->gm, old);
    }
    return st;
}

static cfx_status merge_group(merger *m, const group *g)
{
    cfx_pass_call *p = m->p;
    char path[2 * NAME_ROOM];
    cfx_scope s;
    cfx_value weight = CFX_NOTHING, bias = CFX_NOTHING;
    cfx_module *linear;
    const cfx_module *like = cfx_module_at(p->gm,
                                           m->node[g->first]->target->text);
    join_names(m, g, path);
    bool can;
    cfx_status st = can_be_undone(m, g, &can);
    if (st || !can || cfx_module_at(p->gm, path))
        return st;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    st = join_numbers(m, g, &s, &weight, &bias);
    if (!st)
        st = new_linear(&linear, p, like, weight.u.tensor,
                        bias.kind == CFX_TENSOR ? bias.u.tensor : NULL);
    if (!st)
        st = cfx_module_add_submodule_take(p->gm, path, linear, p->err);
    if (!st)
        st = rewrite_group(m, g, path);
    cfx_scope_release(&s);
    return st;
}

static cfx_status merge(cfx_pass_call *p)
{
    merger m = {.p = p};
    cfx_arena_init(&m.arena, p->ctx);
    cfx_map_init(&m.groups, p->ctx);
    cfx_status st = cfx_path_uses__init(&m.uses, p);
    if (!st)
        st = find_looks(&m);
    if (!st && !m.uses.written)
        st = find_groups(&m);
    for (uint32_t i = 0; i < m.ngroups && !st; i++)
        if (m.group[i].n > 1)
            st = merge_group(&m, &m.group[i]);
    cfx_path_uses__release(&m.uses);
    cfx_aliases__release(&m.aliases);
    cfx_map_release(&m.groups);
    cfx_arena_release(&m.arena);
    return st;
}

/* ---- Reverse ---- */

/* The slices of a merged layer, sorted by their begin. */
typedef struct slices {
    cfx_node *n[NAME_ROOM];
    int64_t begin[NAME_ROOM], end[NAME_ROOM];
    uint32_t len;
} slices;

/* True if n is x[..., begin:end]. */
static bool is_slice(const cfx_node *n, int64_t *begin, int64_t *end)
{
    if (n->op != CFX_CALL_FUNCTION || n->nargs != 2 || n->nkwargs ||
        !cfx_node_is(n, "getitem") || n->args[1].kind != CFX_TUPLE ||
        n->args[1].u.seq->len != 2)
        return false;
    const cfx_value *index = n->args[1].u.seq->item;
    if (index[0].kind != CFX_ELLIPSIS || index[1].kind != CFX_SLICE)
        return false;
    const cfx_value *bound = index[1].u.seq->item;
    *begin = bound[0].u.i;
    *end = bound[1].u.i;
    return bound[0].kind == CFX_INT && bound[1].kind == CFX_INT &&
           cfx_value_is_none(bound[2]);
}

/* All users must be slices, adjacent and up to the end. */
static bool find_slices(slices *s, const cfx_node *merged, int64_t width)
{
    s->len = 0;
    if (merged->nusers >= NAME_ROOM)
        return false;
    for (const cfx_use *u = merged->first_user; u; u = u->next) {
        int64_t begin, end;
        uint32_t i = s->len++;
        if (!is_slice(u->user, &begin, &end))
            return false;
        for (; i && s->begin[i - 1] > begin; i--) {
            s->n[i] = s->n[i - 1];
            s->begin[i] = s->begin[i - 1];
            s->end[i] = s->end[i - 1];
        }
        s->n[i] = u->user;
        s->begin[i] = begin;
        s->end[i] = end;
    }
    int64_t at = 0;
    for (uint32_t i = 0; i < s->len; i++) {
        if (s->begin[i] != at || s->end[i] <= at)
            return false;
        at = s->end[i];
    }
    return at == width;
}

static cfx_value part_of(cfx_scope *s, cfx_tensor *t, int64_t begin,
                         int64_t end)
{
    return cfx_clone(s, cfx_narrow(s, cfx_value_of_tensor(t), cfx_int(0),
                                   cfx_int(begin), cfx_int(end - begin)));
}

/* Turn one slice into the layer `path` again. */
static cfx_status restore_one(cfx_pass_call *p, const layer *l,
                              const slices *of, uint32_t i, const char *path)
{
    cfx_scope s;
    cfx_value bias = CFX_NOTHING;
    cfx_module *linear;
    cfx_node *n = of->n[i];
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value weight = part_of(&s, l->weight, of->begin[i], of->end[i]);
    if (l->bias)
        bias = part_of(&s, l->bias, of->begin[i], of->end[i]);
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st) {
        bool none = !l->bias || is_no_bias(bias.u.tensor);
        st = new_linear(&linear, p, l->module, weight.u.tensor,
                        none ? NULL : bias.u.tensor);
    }
    cfx_scope_release(&s);
    if (!st)
        st = cfx_module_add_submodule_take(p->gm, path, linear, p->err);
    if (!st)
        st = cfx_node_set_args(n, l->n->args, 1, p->err);
    if (!st)
        st = cfx_node_set_op(n, CFX_CALL_MODULE, path, p->err);
    p->changed++;
    return st;
}

/* Count the names that `a-b-merged` joins; 0 if it is not such a name. */
static uint32_t count_names(const char *name)
{
    size_t len = strlen(name), tail = sizeof(suffix) - 1;
    uint32_t n = 1;
    if (len <= tail || strcmp(name + len - tail, suffix))
        return 0;
    for (size_t i = 0; i < len - tail; i++)
        n += name[i] == '-';
    return n;
}

/* Read the recorded places, or number them from `first` on. False if their
 * number is wrong. */
static bool read_places(const cfx_node *merged, uint32_t names, size_t first,
                        size_t *place)
{
    cfx_value note = cfx_node_meta(merged, meta_key);
    if (note.kind != CFX_ABSENT &&
        (note.kind != CFX_TUPLE || note.u.seq->len != names))
        return false;
    for (uint32_t i = 0; i < names; i++) {
        if (note.kind == CFX_TUPLE && (note.u.seq->item[i].kind != CFX_INT ||
                                       note.u.seq->item[i].u.i < 0))
            return false;
        place[i] = note.kind == CFX_TUPLE ? (size_t)note.u.seq->item[i].u.i
                                          : first + i;
    }
    return true;
}

/* Move children that were appended to their places, in ascending order. */
static void put_in_places(cfx_pass_call *p, const slices *of,
                          const size_t *place)
{
    bool done[NAME_ROOM] = {false};
    for (uint32_t k = 0; k < of->len; k++) {
        uint32_t next = 0;
        while (done[next])
            next++;
        for (uint32_t i = next; i < of->len; i++)
            if (!done[i] && place[i] < place[next])
                next = i;
        done[next] = true;
        cfx_module__place(module_of(p, of->n[next]), place[next]);
    }
}

static cfx_status restore_at(cfx_pass_call *p, cfx_node *n)
{
    layer l;
    slices of;
    size_t place[NAME_ROOM];
    char path[2 * NAME_ROOM], old[2 * NAME_ROOM];
    const char *name = last_atom(n->target->text);
    uint32_t names = n->op == CFX_CALL_MODULE ? count_names(name) : 0;
    if (!names || strlen(n->target->text) >= sizeof(old) ||
        !cfx_layer__find(&l, p, n) || l.kind != LAYER_LINEAR ||
        !find_slices(&of, n, cfx_attr_int(l.module, "out_features")) ||
        names != of.len || !read_places(n, names, l.module->index, place))
        return CFX_OK;
    cfx_status st = cfx_layer__load(&l, p);
    strcpy(old, n->target->text);
    size_t parent = (size_t)(name - n->target->text);
    const char *at = old + parent;
    for (uint32_t i = 0; i < names && !st; i++) {
        size_t len = strcspn(at, "-");
        memcpy(path, old, parent);
        memcpy(path + parent, at, len);
        path[parent + len] = '\0';
        at += len + 1;
        st = restore_one(p, &l, &of, i, path);
    }
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    if (st)
        return st;
    p->changed++;
    cfx_module_delete_submodule(p->gm, old);
    put_in_places(p, &of, place);
    return CFX_OK;
}

/* Undo in reverse order, since places refer to the state at merging. */
static cfx_status merge_linears_run(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    if (!p->reverse)
        return merge(p);
    for (cfx_node *n = cfx_graph_last(p->graph), *before; n && !st;
         n = before) {
        before = cfx_node_prev(n);
        st = restore_at(p, n);
    }
    return st;
}

const cfx_pass cfx_pass__merge_linears = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "merge_linears()",
    .doc =
        "Merge linear layers of one input into one layer, and slice its result.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS | CFX_PASS_REVERSIBLE,
    .run = merge_linears_run,
};
