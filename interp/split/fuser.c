/*
 * fuser -- replace partitions by calls of submodules.
 */
#include <cfx/partition.h>
#include <cfx/pass.h>

#include <stdlib.h>

#include "base/util.h"
#include "interp/split/split_order.h"
#include "interp/split/extract.h"

#define NONE UINT32_MAX

/* ---- Cycle check ---- */

/* Search from all outside users, as far as the last node: nodes after that one
 * cannot lead back to the partition. */
static bool comes_back(const cfx_node *const *nodes, size_t n, uint8_t *state,
                       const cfx_node **stack, const cfx_node *last)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++)
        for (const cfx_use *u = nodes[i]->first_user; u; u = u->next)
            if (!state[u->user->id] && cfx_node_before(u->user, last)) {
                state[u->user->id] = 2;
                stack[depth++] = u->user;
            }
    while (depth) {
        const cfx_node *at = stack[--depth];
        for (const cfx_use *u = at->first_user; u; u = u->next) {
            if (state[u->user->id] == 1)
                return true;
            if (state[u->user->id] || !cfx_node_before(u->user, last))
                continue;
            state[u->user->id] = 2;
            stack[depth++] = u->user;
        }
    }
    return false;
}

cfx_status cfx_validate_partition(bool *valid, cfx_node *const *nodes,
                                  size_t n, cfx_error *err)
{
    *valid = true;
    if (!n)
        return CFX_OK;
    const cfx_graph *g = nodes[0]->graph;
    cfx_context *ctx = cfx_graph_context(g);
    size_t ids = (size_t)cfx_graph_ids(g) + 1;
    uint8_t *state = cfx_calloc(ctx, ids, sizeof(*state));
    const cfx_node **stack = cfx_alloc(ctx, ids * sizeof(*stack));
    const cfx_node *last = nodes[0];
    cfx_status st = state && stack ? CFX_OK : cfx_no_memory(err);
    for (size_t i = 0; i < n && !st; i++) {
        state[nodes[i]->id] = 1;
        last = cfx_node_before(last, nodes[i]) ? nodes[i] : last;
    }
    if (!st)
        *valid = !comes_back((const cfx_node *const *)nodes, n, state, stack,
                             last);
    cfx_free(ctx, state, ids * sizeof(*state));
    cfx_free(ctx, stack, ids * sizeof(*stack));
    return st;
}

/* ---- One GraphModule ---- */

typedef struct fusing {
    cfx_context *ctx;
    const cfx_graph *g;
    cfx_error *err;
    bool *inside;   /* by id */
    cfx_node **env; /* by id */
    size_t ids;
} fusing;

/* `more`: number of nodes that will be added. */
static cfx_status fusing_init(fusing *f, const cfx_module *gm, size_t more,
                              cfx_error *err)
{
    *f = (fusing){.err = err, .g = cfx_graph_module_graph(gm)};
    if (!f->g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    f->ctx = cfx_graph_context(f->g);
    f->ids = (size_t)cfx_graph_ids(f->g) + 1 + more;
    f->inside = cfx_calloc(f->ctx, f->ids, sizeof(*f->inside));
    f->env = cfx_calloc(f->ctx, f->ids, sizeof(*f->env));
    return f->inside && f->env ? CFX_OK : cfx_no_memory(err);
}

static void fusing_release(fusing *f)
{
    if (!f->ctx)
        return;
    cfx_free(f->ctx, f->inside, f->ids * sizeof(*f->inside));
    cfx_free(f->ctx, f->env, f->ids * sizeof(*f->env));
}

void cfx_fused_release(cfx_fused *f)
{
    cfx_context *ctx = f->ctx;
    if (f->inputs)
        cfx_free(ctx, f->inputs, (f->ninputs + 1) * sizeof(cfx_node *));
    if (f->outputs)
        cfx_free(ctx, f->outputs, (f->noutputs + 1) * sizeof(cfx_node *));
    cfx_module_unref(f->gm);
    *f = (cfx_fused){0};
}

/* Find the inputs of n nodes, each once, and the nodes that are used
 * outside. */
static cfx_status find_borders(fusing *f, cfx_fused *out,
                               cfx_node *const *nodes, size_t n)
{
    size_t nin = 0, nout = 0;
    for (int pass = 0; pass < 2; pass++) {
        nin = nout = 0;
        for (size_t i = 0; i < n; i++) {
            bool used = false;
            for (uint32_t k = 0; k < nodes[i]->ninputs; k++) {
                cfx_node *from = cfx_node_input(nodes[i], k);
                if (f->inside[from->id] || f->env[from->id])
                    continue;
                f->env[from->id] = from;
                if (pass)
                    out->inputs[nin] = from;
                nin++;
            }
            for (const cfx_use *u = nodes[i]->first_user; u; u = u->next)
                used = used || !f->inside[u->user->id];
            if (used && pass)
                out->outputs[nout] = nodes[i];
            nout += used;
        }
        for (size_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < nodes[i]->ninputs; k++)
                f->env[cfx_node_input(nodes[i], k)->id] = NULL;
        if (pass)
            break;
        out->ninputs = nin;
        out->noutputs = nout;
        out->inputs = cfx_alloc(f->ctx, (nin + 1) * sizeof(cfx_node *));
        out->outputs = cfx_alloc(f->ctx, (nout + 1) * sizeof(cfx_node *));
        if (!out->inputs || !out->outputs) {
            cfx_fused_release(out);
            return cfx_no_memory(f->err);
        }
    }
    return CFX_OK;
}

/* Placeholders are added where they are first used, as in torch. */
static cfx_status extract_nodes(fusing *f, cfx_extraction *c,
                                cfx_node *const *nodes, size_t n)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        for (uint32_t k = 0; k < nodes[i]->ninputs && !st; k++) {
            cfx_node *from = cfx_node_input(nodes[i], k);
            if (f->env[from->id])
                continue;
            if (f->inside[from->id])
                return cfx_fail(
                    f->err, CFX_EGRAPH,
                    "the nodes are not sorted: '%s' comes before '%s'",
                    nodes[i]->name, from->name);
            st = cfx_extract__node(c, from,
                                   &(cfx_extract_options){
                                       .target = from->name,
                                       .placeholder = true,
                                   });
        }
        if (!st)
            st = cfx_extract__node(
                c, nodes[i], &(cfx_extract_options){.name = nodes[i]->name});
    }
    return st;
}

static cfx_status extract(fusing *f, cfx_fused *out, const cfx_module *gm,
                          cfx_node *const *nodes, size_t n,
                          const char *class_name, bool tuple)
{
    cfx_extraction c = {.env = f->env, .err = f->err};
    cfx_status st = cfx_graph_new(&c.to, f->ctx, f->err);
    if (st)
        return st;
    st = extract_nodes(f, &c, nodes, n);
    if (!st)
        st = cfx_extract__output(&c, out->outputs, out->noutputs, tuple);
    for (size_t i = 0; i < n; i++) {
        f->env[nodes[i]->id] = NULL;
        for (uint32_t k = 0; k < nodes[i]->ninputs; k++)
            f->env[cfx_node_input(nodes[i], k)->id] = NULL;
    }
    if (st) {
        cfx_graph_free(c.to);
        return st;
    }
    st = cfx_extract__module_take(&out->gm, gm, c.to, class_name, f->err);
    return st ? st : cfx_lift__all(out->gm, c.to, gm, f->err);
}

static cfx_status check_nodes(fusing *f, cfx_node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (nodes[i]->graph != f->g || nodes[i]->erased)
            return cfx_fail(f->err, CFX_EINVAL, "'%s' is not in the graph",
                            nodes[i]->name);
        if (nodes[i]->op == CFX_PLACEHOLDER || nodes[i]->op == CFX_OUTPUT)
            return cfx_fail(f->err, CFX_EINVAL, "'%s' is not a call",
                            nodes[i]->name);
        if (f->inside[nodes[i]->id])
            return cfx_fail(f->err, CFX_EINVAL, "'%s' is given twice",
                            nodes[i]->name);
        f->inside[nodes[i]->id] = true;
    }
    return CFX_OK;
}

static cfx_status fuse(fusing *f, cfx_fused *out, const cfx_module *gm,
                       cfx_node *const *nodes, size_t n,
                       const char *class_name, bool tuple)
{
    out->ctx = f->ctx;
    cfx_status st = check_nodes(f, nodes, n);
    if (!st)
        st = find_borders(f, out, nodes, n);
    if (!st)
        st = extract(f, out, gm, nodes, n, class_name, tuple);
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->graph == f->g)
            f->inside[nodes[i]->id] = false;
    return st;
}

cfx_status cfx_fuse_as_graph_module(cfx_fused *out, const cfx_module *gm,
                                    cfx_node *const *nodes, size_t n,
                                    const char *class_name,
                                    bool always_return_tuple, cfx_error *err)
{
    fusing f;
    cfx_error why;
    bool valid = true;
    why.code = CFX_OK;
    *out = (cfx_fused){0};
    cfx_status st = fusing_init(&f, gm, 0, &why);
    if (!st)
        st = cfx_validate_partition(&valid, nodes, n, &why);
    if (!st && !valid)
        st = cfx_fail(&why, CFX_EGRAPH,
                      "Invalid partition, found dependency cycles");
    if (!st)
        st = fuse(&f, out, gm, nodes, n, class_name, always_return_tuple);
    fusing_release(&f);
    if (st)
        cfx_fused_release(out);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}

/* ---- Insertion into the parent ---- */

/* Let `now` replace `old` for all users. As in torch, it takes the old node's
 * meta. */
static cfx_status replace_uses(cfx_node *now, cfx_node *old, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = 0;
         old->meta.kind == CFX_DICT && !st && i < old->meta.u.seq->len; i += 2)
        st = cfx_node_set_meta(now, old->meta.u.seq->item[i].u.str->text,
                               old->meta.u.seq->item[i + 1], err);
    return st ? st : cfx_node_replace_all_uses_with(old, now, NULL, NULL, err);
}

/* The meta "val" of the call is that of its outputs. */
static cfx_status note_values(cfx_node *call, const cfx_fused *f,
                              cfx_error *err)
{
    cfx_context *ctx = f->ctx;
    size_t bytes = (f->noutputs + 1) * sizeof(cfx_value);
    cfx_value *v = cfx_alloc(ctx, bytes), all = CFX_NOTHING;
    bool any = false;
    for (size_t i = 0; v && i < f->noutputs; i++) {
        v[i] = cfx_node_meta(f->outputs[i], "val");
        any = any || v[i].kind;
        v[i] = v[i].kind ? v[i] : cfx_none();
    }
    if (v && any)
        all = cfx_tuple_new(ctx, f->noutputs, v);
    cfx_free(ctx, v, bytes);
    if (!v || (any && !all.kind))
        return cfx_no_memory(err);
    cfx_status st = any ? cfx_node_set_meta(call, "val", all, err) : CFX_OK;
    cfx_value_unref(all);
    return st;
}

static cfx_status insert(cfx_module *gm, cfx_fused *f, cfx_node *after,
                         bool tuple, cfx_node **env, cfx_node **made,
                         cfx_error *err)
{
    cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_extraction c = {.to = g, .env = env, .err = err};
    cfx_module *child = f->gm;
    const char *name = cfx_module_class_name(child);
    for (size_t i = 0; i < f->ninputs; i++)
        env[f->inputs[i]->id] = f->inputs[i];
    f->gm = NULL;
    cfx_status st = cfx_module_add_take(gm, name, child, err);
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_after(g, after);
    cfx_node *call = cfx_extract__call(&c, name, f->inputs, f->ninputs);
    *made = call;
    st = call ? CFX_OK : err->code;
    if (!st) {
        cfx_node *next = cfx_node_next(call);
        if (next)
            cfx_graph_inserting_before(g, next);
        st = cfx_extract__results(&c, call, f->outputs, f->noutputs, tuple);
    }
    cfx_graph_restore(g, at);
    if (!st && (f->noutputs != 1 || tuple))
        st = note_values(call, f, err);
    for (size_t i = 0; i < f->noutputs && !st; i++)
        st = replace_uses(env[f->outputs[i]->id], f->outputs[i], err);
    return st;
}

cfx_status cfx_insert_fused(cfx_module *gm, cfx_fused *f, cfx_node *after,
                            bool always_return_tuple, cfx_error *err)
{
    fusing scratch;
    cfx_error why;
    cfx_node *call;
    why.code = CFX_OK;
    cfx_status st = fusing_init(&scratch, gm, 0, &why);
    if (!st)
        st = insert(gm, f, after, always_return_tuple, scratch.env, &call,
                    &why);
    fusing_release(&scratch);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}

/* ---- All partitions ---- */

typedef struct many {
    fusing f;
    cfx_arena arena;
    uint32_t *part_of; /* by id */
    uint32_t *place;   /* by id: its index in the partition */
    uint32_t *waits;   /* by index */
    uint32_t *heap;
    cfx_node **call;       /* by partition */
    cfx_order_pairs pairs; /* of nodes; at the end of the remaining ones */
} many;

static void push(many *m, uint32_t *n, uint32_t v)
{
    uint32_t i = (*n)++;
    for (; i && m->heap[(i - 1) / 2] > v; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = v;
}

static uint32_t pop(many *m, uint32_t *n)
{
    uint32_t top = m->heap[0], last = m->heap[--*n], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && m->heap[child + 1] < m->heap[child])
            child++;
        if (m->heap[child] >= last)
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return top;
}

/* Sort as torch's topo_sort: the first ready node of the graph comes next. */
static cfx_status sort_partition(many *m, const cfx_partition *p, uint32_t id,
                                 cfx_node **sorted)
{
    uint32_t nheap = 0, n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        m->place[p->node[i]->id] = i;
    for (uint32_t i = 0; i < p->n; i++) {
        m->waits[i] = 0;
        for (uint32_t k = 0; k < p->node[i]->ninputs; k++)
            m->waits[i] += m->part_of[cfx_node_input(p->node[i], k)->id] == id;
        if (!m->waits[i])
            push(m, &nheap, i);
    }
    while (nheap) {
        const cfx_node *at = p->node[pop(m, &nheap)];
        sorted[n++] = (cfx_node *)at;
        for (const cfx_use *u = at->first_user; u; u = u->next)
            if (m->part_of[u->user->id] == id &&
                !--m->waits[m->place[u->user->id]])
                push(m, &nheap, m->place[u->user->id]);
    }
    return n == p->n
               ? CFX_OK
               : cfx_fail(
                     m->f.err, CFX_EGRAPH,
                     "topological sorted nodes doesn't have same length as input nodes");
}

/* Check that every partition can run as one call. Vertices are the partitions,
 * followed by the nodes outside of them, by id. */
static cfx_status check_cycles(many *m, const cfx_partitions *p)
{
    size_t n = p->n + m->f.ids, done = 0, total = 0;
    uint32_t *waits = cfx_extract__scratch(&m->arena, n, sizeof(*waits),
                                           m->f.err);
    uint32_t *queue = cfx_extract__scratch(&m->arena, n, sizeof(*queue),
                                           m->f.err);
    cfx_node **by_id = cfx_extract__scratch(&m->arena, m->f.ids,
                                            sizeof(*by_id), m->f.err);
    uint32_t *first = cfx_extract__scratch(&m->arena, n, sizeof(*first),
                                           m->f.err);
    uint32_t *next = cfx_extract__scratch(&m->arena, m->pairs.n, sizeof(*next),
                                          m->f.err);
    size_t nqueue = 0;
    if (!waits || !queue || !by_id || !first || !next)
        return m->f.err->code;
    uint32_t nparts = (uint32_t)p->n;
#define VERTEX(node)                                                          \
    (m->part_of[(node)->id] != NONE ? m->part_of[(node)->id]                  \
                                    : nparts + (node)->id)
    for (cfx_node *at = cfx_graph_first(m->f.g); at; at = cfx_node_next(at)) {
        by_id[at->id] = at;
        total += m->part_of[at->id] == NONE;
        for (uint32_t k = 0; k < at->ninputs; k++)
            waits[VERTEX(at)] += VERTEX(cfx_node_input(at, k)) != VERTEX(at);
    }
    total += p->n;
    for (size_t i = 0; i < m->pairs.n; i++) {
        uint32_t from = VERTEX(m->pairs.item[i].before);
        uint32_t to = VERTEX(m->pairs.item[i].after);
        next[i] = first[from];
        first[from] = (uint32_t)i + 1;
        waits[to] += from != to;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!waits[i] && (i < nparts || by_id[i - nparts]) &&
            (i < nparts || m->part_of[i - nparts] == NONE))
            queue[nqueue++] = i;
    for (; done < nqueue; done++) {
        uint32_t v = queue[done];
        size_t len = v < nparts ? p->item[v].n : 1;
        for (size_t i = 0; i < len; i++) {
            const cfx_node *at = v < nparts ? p->item[v].node[i]
                                            : by_id[v - nparts];
            for (const cfx_use *u = at->first_user; u; u = u->next)
                if (VERTEX(u->user) != v && !--waits[VERTEX(u->user)])
                    queue[nqueue++] = VERTEX(u->user);
        }
        for (uint32_t i = first[v]; i; i = next[i - 1]) {
            uint32_t to = VERTEX(m->pairs.item[i - 1].after);
            if (to != v && !--waits[to])
                queue[nqueue++] = to;
        }
    }
#undef VERTEX
    return done == total
               ? CFX_OK
               : cfx_fail(m->f.err, CFX_EGRAPH,
                          "Invalid partition, found dependency cycles");
}

static cfx_status prepare(many *m, const cfx_partitions *p)
{
    cfx_arena *a = &m->arena;
    size_t most = 0;
    m->part_of = cfx_extract__scratch(a, m->f.ids, sizeof(uint32_t), m->f.err);
    m->place = cfx_extract__scratch(a, m->f.ids, sizeof(uint32_t), m->f.err);
    if (!m->part_of || !m->place)
        return m->f.err->code;
    memset(m->part_of, 0xFF, m->f.ids * sizeof(uint32_t));
    for (uint32_t i = 0; i < p->n; i++) {
        cfx_status st = check_nodes(&m->f, p->item[i].node, p->item[i].n);
        if (st)
            return st;
        for (size_t k = 0; k < p->item[i].n; k++)
            m->part_of[p->item[i].node[k]->id] = i;
        most = p->item[i].n > most ? p->item[i].n : most;
    }
    memset(m->f.inside, 0, m->f.ids * sizeof(bool));
    m->waits = cfx_extract__scratch(a, most, sizeof(uint32_t), m->f.err);
    m->heap = cfx_extract__scratch(a, most, sizeof(uint32_t), m->f.err);
    m->call = cfx_extract__scratch(a, p->n, sizeof(cfx_node *), m->f.err);
    if (!m->waits || !m->heap || !m->call)
        return m->f.err->code;
    cfx_status st = cfx_order_pairs__find(&m->pairs, m->f.g, m->f.err);
    return st ? st : check_cycles(m, p);
}

static cfx_status fuse_one(many *m, cfx_module *gm, const cfx_partition *p,
                           uint32_t id, const char *prefix, bool tuple)
{
    cfx_fused fused = {0};
    cfx_buf name;
    cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_node **sorted = cfx_alloc(m->f.ctx, (p->n + 1) * sizeof(*sorted));
    cfx_status st = sorted ? sort_partition(m, p, id, sorted)
                           : cfx_no_memory(m->f.err);
    cfx_buf_init(&name, m->f.ctx);
    cfx_buf_puts(&name, prefix);
    cfx_buf_int(&name, id);
    if (!st && name.failed)
        st = cfx_no_memory(m->f.err);
    if (!st)
        st = fuse(&m->f, &fused, gm, sorted, p->n, cfx_buf_str(&name), tuple);
    if (!st)
        st = insert(gm, &fused, sorted[p->n - 1], tuple, m->f.env,
                    &m->call[id], m->f.err);
    for (size_t i = 0; i < fused.ninputs; i++)
        m->f.env[fused.inputs[i]->id] = NULL;
    for (size_t i = 0; i < fused.noutputs; i++)
        m->f.env[fused.outputs[i]->id] = NULL;
    for (size_t i = p->n; i-- > 0 && !st;)
        st = cfx_graph_erase_node(g, sorted[i], m->f.err);
    cfx_fused_release(&fused);
    cfx_buf_release(&name);
    cfx_free(m->f.ctx, sorted, (p->n + 1) * sizeof(*sorted));
    return st;
}

/* Return the node itself, or the call of its partition. */
static cfx_node *current_node(const many *m, cfx_node *n)
{
    return n->erased ? m->call[m->part_of[n->id]] : n;
}

static cfx_status sort_graph(many *m, cfx_module *gm, cfx_error *err)
{
    size_t n = 0, moved = 0;
    for (size_t i = 0; i < m->pairs.n; i++) {
        cfx_order_pair p = m->pairs.item[i];
        p.before = current_node(m, p.before);
        p.after = current_node(m, p.after);
        if (p.before != p.after)
            m->pairs.item[n++] = p;
    }
    m->pairs.n = n;
    return cfx_graph__sort(cfx_graph_module_graph(gm), &m->pairs, &moved, err);
}

cfx_status cfx_fuse_partitions(cfx_module *gm, const cfx_partitions *p,
                               const char *prefix, bool always_return_tuple,
                               cfx_error *err)
{
    cfx_error why;
    many m = {0};
    size_t more = p->n; /* a call each, and no more results than nodes */
    why.code = CFX_OK;
    for (size_t i = 0; i < p->n; i++)
        more += p->item[i].n;
    cfx_status st = fusing_init(&m.f, gm, more, &why);
    cfx_arena_init(&m.arena, cfx_module_context(gm));
    if (!st)
        st = prepare(&m, p);
    cfx_status fused = st;
    for (uint32_t i = 0; i < p->n && !fused; i++)
        fused = fuse_one(&m, gm, &p->item[i], i, prefix ? prefix : "fused_",
                         always_return_tuple);
    if (!st)
        st = sort_graph(&m, gm, &why);
    st = fused ? fused : st;
    cfx_order_pairs__release(&m.pairs);
    cfx_arena_release(&m.arena);
    fusing_release(&m.f);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}

/* ---- Trimming ---- */

static bool is_one_of(const cfx_node *n, const char *const *names)
{
    for (; names && *names && n->op == CFX_CALL_FUNCTION; names++)
        if (!strcmp(n->target->text, *names))
            return true;
    return false;
}

/* Mark each node: 1 if it is in the partition, 2 if it and all nodes before it
 * go, 4 if it and all nodes after it go. `sorted` has room for all. */
static void trim(cfx_partition *p, uint8_t *mark, const char *const *names,
                 cfx_node **sorted)
{
    size_t n = 0;
    memcpy(sorted, p->node, p->n * sizeof(*sorted));
    qsort(sorted, p->n, sizeof(*sorted), cfx_extract__by_order);
    for (size_t i = 0; i < p->n; i++)
        mark[sorted[i]->id] = 1;
    for (size_t i = 0; i < p->n; i++) {
        const cfx_node *at = sorted[i];
        bool all = is_one_of(at, names);
        for (uint32_t k = 0; k < at->ninputs && all; k++)
            all = (mark[cfx_node_input(at, k)->id] & 3) != 1;
        mark[at->id] |= all ? 2 : 0;
    }
    for (size_t i = p->n; i-- > 0;) {
        const cfx_node *at = sorted[i];
        bool all = is_one_of(at, names);
        for (const cfx_use *u = at->first_user; u && all; u = u->next)
            all = (mark[u->user->id] & 5) != 1;
        mark[at->id] |= all ? 4 : 0;
    }
    for (size_t i = 0; i < p->n; i++) {
        cfx_node *at = p->node[i];
        if (mark[at->id] == 1)
            p->node[n++] = at;
        mark[at->id] = 0;
    }
    p->n = n;
}

cfx_status cfx_partitions_trim(cfx_partitions *p,
                               const char *const *non_compute, cfx_error *err)
{
    const cfx_graph *g = NULL;
    for (size_t i = 0; i < p->n && !g; i++)
        g = p->item[i].n ? p->item[i].node[0]->graph : NULL;
    if (!g)
        return CFX_OK;
    size_t ids = (size_t)cfx_graph_ids(g) + 1;
    uint8_t *mark = cfx_calloc(p->ctx, ids, sizeof(*mark));
    cfx_node **sorted = cfx_calloc(p->ctx, ids, sizeof(*sorted));
    for (size_t i = 0; i < p->n && mark && sorted; i++)
        trim(&p->item[i], mark, non_compute, sorted);
    cfx_free(p->ctx, mark, ids * sizeof(*mark));
    cfx_free(p->ctx, sorted, ids * sizeof(*sorted));
    return mark && sorted ? CFX_OK : cfx_no_memory(err);
}
