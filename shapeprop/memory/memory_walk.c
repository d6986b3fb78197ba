/*
 * memory_walk -- record the memory requests of a run, by a walk without data.
 *
 * Its tensors are metas with a fake storage (cfx_tensor__fake_storage), which
 * views share and which reports when its last user is gone. Lifetimes are thus
 * those of a run: the same interpreter and modules keep and release values.
 */
#include "shapeprop/memory/memory_impl.h"

#include "base/atomic.h"
#include "op/op_impl.h"
#include "tensor/storage.h"

/* ---- The walk ---- */

typedef struct walk {
    cfx_scope scope;
    cfx_interp it;
    cfx_memory_plan *p;
    cfx_arena arena;       /* memory of maps and storages */
    cfx_map tracked;       /* by tensor: its replacement */
    cfx_map makers;        /* by tensor: 1 + the call that made it */
    cfx_dim live;          /* bytes that live now */
    const cfx_node *outer; /* the node of the graph that is planned */
    cfx_dim most;          /* peak bytes during its calls so far */
    bool called;           /* it has made calls */
    size_t scratch;        /* blocks from here on end with the call */
} walk;

/* The block of a storage, which the storage reports its end to; also the last
 * node whose value is in it, and the index of that part. */
typedef struct holder {
    walk *w;
    uint32_t block;
    const cfx_node *node;
    size_t part;
} holder;

static cfx_dim add(const walk *w, cfx_dim a, cfx_dim b)
{
    return cfx_dim_add(w->p->env, a, b);
}

static bool is_number(cfx_dim d)
{
    return cfx_dim_is_int(d) && !cfx_dim_is_bad(d);
}

/* Sizes that depend on data are not added, unless all are expressions. */
static bool is_counted(const cfx_memory_plan *p, const cfx_memory_block *b)
{
    return (b->kind == CFX_BLOCK_RESULT || b->kind == CFX_BLOCK_SCRATCH) &&
           (p->symbolic || is_number(b->bytes));
}

static uint32_t last_call(const walk *w)
{
    return w->p->ncalls ? (uint32_t)w->p->ncalls - 1 : 0;
}

static void end_block(walk *w, uint32_t block)
{
    cfx_memory_block *b = &w->p->block[block];
    b->last = last_call(w);
    if (is_counted(w->p, b))
        w->live = cfx_dim_sub(w->p->env, w->live, b->bytes);
}

static void end_holder(void *user)
{
    const holder *h = user;
    end_block(h->w, h->block);
}

static cfx_status add_block(walk *w, cfx_block_kind kind, cfx_dim bytes,
                            uint32_t *at, cfx_error *err)
{
    cfx_memory_plan *p = w->p;
    if (p->nblocks == INT32_MAX) /* block numbers are int32_t */
        return cfx_no_memory(err);
    if (cfx_grow(p->ctx, p->block, p->block_cap, p->nblocks + 1, err))
        return CFX_ENOMEM;
    uint32_t k = (uint32_t)p->nblocks++;
    cfx_memory_block *b = &p->block[k];
    *b = (cfx_memory_block){
        .kind = kind,
        .node = w->outer,
        .first = last_call(w),
        .last = last_call(w),
        .alias_of = -1,
        .bytes = bytes,
        .offset = -1,
    };
    if (kind == CFX_BLOCK_RESULT || kind == CFX_BLOCK_SCRATCH) {
        cfx_memory_call *c = &p->call[p->ncalls - 1];
        b->op = c->op;
        b->from_data = !p->symbolic && !is_number(bytes);
        if (!c->nblocks++)
            c->block = k;
    }
    if (is_counted(p, b))
        w->live = add(w, w->live, bytes);
    *at = k;
    return CFX_OK;
}

/* Give a meta a storage that is a new block. */
static cfx_status add_storage(walk *w, cfx_tensor *t, cfx_block_kind kind,
                              cfx_error *err)
{
    holder *h = cfx_arena_alloc(&w->arena, sizeof(*h));
    if (!h)
        return cfx_no_memory(err);
    *h = (holder){.w = w};
    cfx_status st = add_block(w, kind, cfx_tensor__bytes(t, w->p->env),
                              &h->block, err);
    if (!st)
        cfx_tensor__fake_storage(t, end_holder, h);
    return st;
}

/* Return the holder of a tensor's block, or NULL. */
static holder *holder_of(const cfx_tensor *t)
{
    return t->storage && t->storage->release == end_holder ? t->storage->user
                                                           : NULL;
}

/* ---- Inputs and state ---- */

static cfx_map_entry *put(walk *w, cfx_map *m, const cfx_tensor *t)
{
    cfx_map_entry *e = cfx_map_get(m, (const char *)&t, sizeof(t));
    if (e)
        return e;
    const cfx_tensor **key = cfx_arena_alloc(&w->arena, sizeof(*key));
    if (!key)
        return NULL;
    *key = t;
    return cfx_map_put(m, (const char *)key, sizeof(t), NULL);
}

/* Make a tensor of the same shape with a storage that is tracked. */
static cfx_status make_tracked(walk *w, const cfx_tensor *t,
                               cfx_block_kind kind, cfx_tensor **out,
                               cfx_error *err)
{
    cfx_map_entry *e = put(w, &w->tracked, t);
    if (!e)
        return cfx_no_memory(err);
    if (!e->v.p) {
        cfx_tensor *made;
        cfx_status st = cfx_tensor__meta_like(&made, w->p->ctx, t, err);
        if (!st && (st = add_storage(w, made, kind, err)))
            cfx_tensor_unref(made);
        if (st)
            return st;
        w->p->block[w->p->nblocks - 1].tensor = t;
        made->flags = t->flags;
        e->v.p = made;
    }
    *out = e->v.p;
    return CFX_OK;
}

typedef struct replacing {
    walk *w;
    cfx_error *err;
} replacing;

static cfx_status replace_input(void *user, cfx_value v, cfx_value *out)
{
    const replacing *r = user;
    cfx_tensor *t;
    if (v.kind != CFX_TENSOR) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = make_tracked(r->w, v.u.tensor, CFX_BLOCK_INPUT, &t,
                                 r->err);
    if (!st)
        *out = cfx_value_ref(cfx_value_of_tensor(t));
    return st;
}

static const cfx_scope_class walk_scope;

static cfx_status walk_get_attr(cfx_scope *s, struct cfx_module *m,
                                const char *name, cfx_value *out)
{
    cfx_status st = CFX_SCOPE_SUPER(&walk_scope, get_attr)(s, m, name, out);
    return st || out->kind != CFX_TENSOR
               ? st
               : make_tracked((walk *)s, out->u.tensor, CFX_BLOCK_STATE,
                              &out->u.tensor, &s->error);
}

/* ---- Calls ---- */

static cfx_status add_call(walk *w, const cfx_op *op, cfx_error *err)
{
    cfx_memory_plan *p = w->p;
    if (p->ncalls == INT32_MAX)
        return cfx_no_memory(err);
    cfx_status st = cfx_grow(p->ctx, p->call, p->call_cap, p->ncalls + 1, err);
    if (!st)
        p->call[p->ncalls++] = (cfx_memory_call){
            .node = w->scope.node,
            .outer = w->outer,
            .op = op,
            .block = (uint32_t)p->nblocks,
        };
    return st;
}

/* Memory that lives now also lives during a call of the node. */
static void count_live(walk *w)
{
    cfx_shape_env *env = w->p->env;
    if (!w->called)
        w->most = w->live;
    else if (!cfx_dim_known_le(env, w->live, w->most))
        w->most = cfx_dim_max(env, w->most, w->live);
    w->called = true;
}

static cfx_status made_by_call(walk *w, const cfx_tensor *t, cfx_error *err)
{
    cfx_map_entry *e = put(w, &w->makers, t);
    if (!e)
        return cfx_no_memory(err);
    e->v.u = w->p->ncalls;
    return CFX_OK;
}

/* A view with another dtype begins without a storage. */
static void share(cfx_tensor *t, const cfx_tensor *base)
{
    if (!base || !base->storage || t->storage)
        return;
    t->storage = base->storage;
    cfx_ref_inc(&base->storage->refs);
}

/* ---- One call ---- */

static cfx_dim bytes_of_rows(const walk *w, const cfx_tensor *t)
{
    cfx_dim n = cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++)
        n = cfx_dim_mul(w->p->env, n, t->shape[i]);
    return n;
}

static cfx_status note_request(cfx_call *call, const cfx_request *r,
                               void *user)
{
    walk *w = user;
    cfx_dim bytes = cfx_dim_int((int64_t)r->bytes);
    cfx_block_kind kind = CFX_BLOCK_SCRATCH;
    uint32_t at;
    if (r->kind == CFX_REQUEST_RESULT || r->kind == CFX_REQUEST_APART) {
        if (r->kind == CFX_REQUEST_RESULT)
            kind = CFX_BLOCK_RESULT;
        cfx_status st = add_storage(w, r->t, kind, call->err);
        w->scratch = w->p->nblocks;
        return st;
    }
    if (r->t)
        bytes = bytes_of_rows(w, r->t);
    return add_block(w, kind, bytes, &at, call->err);
}

/* Record the new tensors of a call's result. A view with another dtype has no
 * storage yet. */
static cfx_status look_at_results(walk *w, cfx_call *call)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < call->nout && !st; i++) {
        if (cfx_call__target(call, i))
            continue;
        if (call->alias[i])
            share(call->out[i], cfx_call__tensor_at(call, call->alias[i] - 1));
        st = made_by_call(w, call->out[i], call->err);
    }
    if (!cfx_value_is_seq(call->result))
        return st;
    for (uint32_t i = 0; i < call->result.u.seq->len && !st; i++) {
        cfx_value v = call->result.u.seq->item[i];
        if (v.kind == CFX_TENSOR)
            st = made_by_call(w, v.u.tensor, call->err);
    }
    return st;
}

static cfx_status look_at_call(cfx_call *call, void *user)
{
    walk *w = user;
    cfx_status st = add_call(w, call->op, call->err);
    w->scratch = w->p->nblocks;
    if (!st)
        st = cfx_call__request_memory(call, note_request, w);
    if (!st)
        st = look_at_results(w, call);
    if (st)
        return st;
    count_live(w);
    for (size_t i = w->scratch; i < w->p->nblocks; i++)
        end_block(w, (uint32_t)i);
    return CFX_OK;
}

typedef struct merging {
    walk *w;
    cfx_error *err;
} merging;

/* Values that live after control flow may be its result and outlive the merged
 * value. Mark them as dependent on data. */
static void mark_from_data(walk *w, size_t from)
{
    for (size_t i = from; i < w->p->nblocks; i++)
        if (w->p->block[i].last == last_call(w))
            w->p->block[i].from_data = true;
}

/* The result of control flow is made by whichever call the data select: it
 * takes memory, but is not allocated here. */
static cfx_status add_merged_storage(void *user, cfx_value v)
{
    const merging *m = user;
    if (v.kind != CFX_TENSOR || v.u.tensor->storage ||
        !v.u.tensor->has_storage)
        return CFX_OK;
    size_t at = m->w->p->nblocks;
    cfx_status st = add_storage(m->w, v.u.tensor, CFX_BLOCK_RESULT, m->err);
    if (!st)
        m->w->p->block[at].from_data = true;
    return st;
}

static cfx_status walk_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    return cfx_call__visit_outs(call, look_at_call, s, out);
}

static cfx_status walk_call_higher_order(cfx_scope *s, cfx_call *call,
                                         cfx_value *out)
{
    walk *w = (walk *)s;
    size_t from = w->p->nblocks, calls = w->p->ncalls;
    cfx_status st = CFX_SCOPE_SUPER(&walk_scope, call_higher_order)(s, call,
                                                                    out);
    mark_from_data(w, from);
    merging m = {w, call->err};
    if (!st)
        st = add_call(w, call->op, call->err);
    if (!st) {
        cfx_memory_call *c = &w->p->call[w->p->ncalls - 1];
        c->within = (uint32_t)(w->p->ncalls - 1 - calls);
        st = cfx_value_visit(*out, add_merged_storage, &m);
    }
    if (!st)
        count_live(w);
    return st;
}

static const cfx_scope_class walk_scope = {
    .size = sizeof(cfx_scope_class),
    .name = "memory plan",
    .super = &cfx_meta_class,
    .call_op = walk_call_op,
    .call_higher_order = walk_call_higher_order,
    .get_attr = walk_get_attr,
};

/* ---- Nodes ---- */

static walk *walk_of(cfx_interp *it)
{
    return (walk *)(void *)((char *)it - offsetof(walk, it));
}

typedef struct naming {
    walk *w;
    const cfx_node *node;
    cfx_error *err;
} naming;

/* Record a part of a node's value that is in another node's block. */
static cfx_status note_alias(const naming *g, const cfx_tensor *t, uint32_t of)
{
    walk *w = g->w;
    uint32_t at;
    if (w->p->block[of].node == g->node)
        return CFX_OK;
    /* Inputs exist before the walk begins. */
    if (!w->p->block[of].node) {
        w->p->block[of].node = g->node;
        return CFX_OK;
    }
    cfx_status st = add_block(w, CFX_BLOCK_ALIAS,
                              cfx_tensor__bytes(t, w->p->env), &at, g->err);
    if (!st)
        w->p->block[at].alias_of = (int32_t)of;
    return st;
}

cfx_dim cfx_memory__element_bytes(cfx_shape_env *env, const cfx_tensor *t)
{
    cfx_dim n = cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_is(t->stride[i], 0))
            n = cfx_dim_mul(env, n, t->shape[i]);
    return n;
}

static cfx_status note_part(void *user, cfx_value v)
{
    const naming *g = user;
    cfx_memory_plan *p = g->w->p;
    holder *h = v.kind == CFX_TENSOR ? holder_of(v.u.tensor) : NULL;
    if (!h)
        return CFX_OK;
    if (h->node != g->node) {
        if (cfx_grow(p->ctx, p->part, p->part_cap, p->nparts + 1, g->err))
            return CFX_ENOMEM;
        h->node = g->node;
        h->part = p->nparts++;
        p->part[h->part] = (cfx_memory_part){h->block, cfx_dim_int(0)};
    }
    cfx_dim *bytes = &p->part[h->part].bytes;
    *bytes = add(g->w, *bytes, cfx_memory__element_bytes(p->env, v.u.tensor));
    return note_alias(g, v.u.tensor, h->block);
}

static const cfx_interp_class walk_interp;

static cfx_status walk_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    walk *w = walk_of(it);
    cfx_memory_plan *p = w->p;
    w->outer = n;
    w->called = false;
    cfx_status st = CFX_SUPER(&walk_interp, run_node)(it, n, out);
    if (st)
        return st;
    if (!w->called)
        w->most = w->live;
    p->live[n->id] = w->most;
    if (!cfx_dim_known_le(p->env, w->most, p->peak)) {
        p->peak_node = cfx_dim_known_le(p->env, p->peak, w->most) ? n : NULL;
        p->peak = cfx_dim_max(p->env, p->peak, w->most);
    }
    naming g = {w, n, it->err};
    p->value[n->id].first = p->nparts;
    if (n->op != CFX_OUTPUT)
        st = cfx_value_visit(*out, note_part, &g);
    p->value[n->id].count = p->nparts - p->value[n->id].first;
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

static const cfx_interp_class walk_interp = {
    .size = sizeof(cfx_interp_class),
    .name = "memory plan",
    .super = &cfx_interp_base,
    .run_node = walk_run_node,
};

/* ---- Results of the run ---- */

static bool has_unplanned(const cfx_memory_plan *p, const cfx_memory_call *c)
{
    for (uint32_t i = c->block; i < c->block + c->nblocks; i++)
        if (p->block[i].from_data)
            return true;
    return false;
}

/* The result of control flow was made by a call within it: one whose block
 * outlived it, or one that made a view. */
static void mark_call(cfx_memory_plan *p, size_t at)
{
    p->call[at].leaves = true;
    for (size_t i = at - p->call[at].within; i < at; i++)
        if (!p->call[i].nblocks || has_unplanned(p, &p->call[i]))
            p->call[i].leaves = true;
}

static cfx_status mark_leaving(void *user, cfx_value v)
{
    walk *w = user;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *t = v.u.tensor;
    cfx_map_entry *e = cfx_map_get(&w->makers, (const char *)&t, sizeof(t));
    const holder *h = holder_of(t);
    cfx_memory_block *b = h ? &w->p->block[h->block] : NULL;
    if (e)
        mark_call(w->p, e->v.u - 1);
    if (b && b->op) {
        b->leaves = true;
        mark_call(w->p, b->first);
    }
    return CFX_OK;
}

/* ---- Public function ---- */

static cfx_status replace_inputs(walk *w, const cfx_value *in, size_t n,
                                 cfx_value *out, cfx_error *err)
{
    replacing r = {w, err};
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        w->p->symbolic |= cfx_value__has_symbols(in[i]);
        st = cfx_value_map(&out[i], w->p->ctx, in[i], replace_input, &r, err);
    }
    return st;
}

static cfx_status run(walk *w, const cfx_value *in, size_t n, cfx_error *err)
{
    cfx_memory_plan *p = w->p;
    size_t size = (n + 1) * sizeof(cfx_value);
    cfx_value *own = cfx_calloc(p->ctx, n + 1, sizeof(*own)), result;
    cfx_interp_options options = {
        .size = sizeof(options),
        .graph = p->graph,
        .scope = &w->scope,
    };
    cfx_status st = own ? CFX_OK : cfx_no_memory(err);
    if (!st)
        st = replace_inputs(w, in, n, own, err);
    if (!st)
        st = cfx_interp_init_with(&w->it, &walk_interp, p->gm, &options, err);
    if (!st)
        st = cfx_interp_run(&w->it, own, n, &result, err);
    if (!st) {
        st = cfx_value_visit(result, mark_leaving, w);
        cfx_value_unref(result);
    }
    for (size_t i = 0; own && i < n; i++)
        cfx_value_unref(own[i]);
    cfx_free(p->ctx, own, size);
    return st;
}

static void release(walk *w)
{
    cfx_interp_release(&w->it);
    cfx_scope_release(&w->scope);
    for (size_t i = 0; i < w->tracked.cap; i++)
        if (w->tracked.entry[i].key)
            cfx_tensor_unref(w->tracked.entry[i].v.p);
    cfx_map_release(&w->tracked);
    cfx_map_release(&w->makers);
    cfx_arena_release(&w->arena);
}

cfx_status cfx_memory__walk(cfx_memory_plan *p, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err)
{
    walk w = {.p = p, .live = cfx_dim_int(0), .most = cfx_dim_int(0)};
    cfx_arena_init(&w.arena, p->ctx);
    cfx_map_init(&w.tracked, p->ctx);
    cfx_map_init(&w.makers, p->ctx);
    cfx_scope_init(&w.scope, &walk_scope, p->ctx, p->env);
    cfx_status st = run(&w, inputs, ninputs, err);
    release(&w);
    return st;
}
