/*
 * compare -- two runs side by side.
 *
 * After each node of the first run, the second run advances to its partner.
 * Values that it computes on the way are copied and kept if the first run will
 * reach their partners later.
 */
#include <cfx/compare.h>

#include "interp/compare/compare_rows.h"
#include "interp/compare/minimize_impl.h"

typedef struct pair {
    cfx_interp *a, *b;
    const cfx_node *at_a; /* the current node of the first run */
    cfx_node_map to_b;    /* partners of nodes of a */
    cfx_node_map to_a;    /* partners of nodes of b */
    cfx_node_map kept;    /* of nodes of b */
    cfx_node_map done;    /* nodes of b that have been run */
    bool b_ended;
    cfx_comparison *c;
    cfx_error *err;
} pair;

static cfx_status step(pair *p, cfx_interp *it, const cfx_node **n,
                       cfx_value *v)
{
    cfx_status st = cfx_interp_step(it, n, v, p->err);
    if (st)
        p->c->failed = it;
    return st;
}

/* ---- Matching ---- */

static cfx_node *partner(const cfx_node_map *map, const cfx_node *n)
{
    cfx_value v = cfx_node_map_get(map, n);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* The name of the node whose value n has: the last of its `from_node`, or
 * NULL. */
static const char *origin_of(const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "from_node");
    if (!cfx_value_is_seq(v) || !v.u.seq->len)
        return NULL;
    v = v.u.seq->item[v.u.seq->len - 1];
    return v.kind == CFX_STR ? v.u.str->text : NULL;
}

/* The node of the other graph that n is compared with; or NULL. */
static cfx_node *find_partner(const cfx_graph *other, const cfx_node *n)
{
    if (n->op == CFX_OUTPUT)
        return cfx_graph_output_node(other);
    const char *origin = origin_of(n);
    cfx_node *same = cfx_graph_find(other, n->name);
    if (!origin || (same && cfx_value_equal(cfx_node_meta(n, "from_node"),
                                            cfx_node_meta(same, "from_node"))))
        return same;
    return cfx_graph_find(other, origin);
}

static cfx_status pair_up(cfx_node_map *map, const cfx_node *n, cfx_node *with,
                          cfx_error *err)
{
    return cfx_node_map_set(map, n, cfx_value_of_node(with), err);
}

/* Of several nodes of b that a node of a became, the last has its value. */
static cfx_status match(pair *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *m = cfx_graph_first(p->b->graph); m && !st;
         m = cfx_node_next(m)) {
        cfx_node *n = find_partner(p->a->graph, m);
        if (n)
            st = pair_up(&p->to_b, n, m, p->err);
    }
    for (cfx_node *n = cfx_graph_first(p->a->graph); n && !st;
         n = cfx_node_next(n)) {
        cfx_node *m = partner(&p->to_b, n);
        if (m)
            st = pair_up(&p->to_a, m, n, p->err);
    }
    return st;
}

static cfx_status tell_unmatched(pair *p, const cfx_graph *of,
                                 const cfx_node_map *map, bool in_a)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(of); !st && n;
         n = cfx_node_next(n))
        if (!partner(map, n))
            st = p->c->unmatched(p->c->user, n, in_a);
    return st;
}

/* ---- Keeping values of b ---- */

static cfx_status keep_value(pair *p, const cfx_node *n, cfx_value v)
{
    const cfx_node *a = partner(&p->to_a, n);
    cfx_value copy;
    if (!a || !cfx_node_before(p->at_a, a))
        return CFX_OK;
    cfx_status st = cfx_value__copy(&copy, p->b->scope->ctx, v, p->err);
    if (st)
        return st;
    st = cfx_node_map_set(&p->kept, n, copy, p->err);
    cfx_value_unref(copy);
    return st;
}

/* Run b up to node n; *v is the value of n, borrowed, or absent. */
static cfx_status run_b_to(pair *p, const cfx_node *n, cfx_value *v)
{
    *v = cfx_node_map_get(&p->kept, n);
    if (v->kind || p->b_ended ||
        cfx_node_map_get(&p->done, n).kind != CFX_ABSENT)
        return CFX_OK;
    for (;;) {
        const cfx_node *at;
        cfx_status st = step(p, p->b, &at, v);
        if (st)
            return st;
        p->b_ended = !at;
        if (!at || at == n)
            return at ? cfx_node_map_set(&p->done, at, cfx_none(), p->err)
                      : CFX_OK;
        st = cfx_node_map_set(&p->done, at, cfx_none(), p->err);
        if (!st)
            st = keep_value(p, at, *v);
        if (st)
            return st;
    }
}

/* ---- Comparing ---- */

static bool has_same_inputs(const cfx_comparison *c)
{
    return c->size > offsetof(cfx_comparison, same_inputs) && c->same_inputs;
}

/* Does m compute a part of what n returns, a tuple? What takes an item of the tuple is
 * compared with it instead. */
static bool is_part(const cfx_node *n, cfx_value va, const cfx_node *m,
                    cfx_value vb)
{
    return cfx_value_is_seq(va) && vb.kind == CFX_TENSOR &&
           strcmp(n->name, m->name) != 0;
}

static cfx_status compare_node(pair *p, const cfx_node *n, cfx_value va)
{
    cfx_comparison *c = p->c;
    cfx_node *m = partner(&p->to_b, n);
    cfx_value vb = CFX_NOTHING, like_a = CFX_NOTHING;
    cfx_difference d;
    if (!m)
        return CFX_OK;
    p->at_a = n;
    cfx_status st = run_b_to(p, m, &vb);
    if (st || !vb.kind || is_part(n, va, m, vb))
        return st;
    st = cfx_compare__like(&like_a, p->b->scope->ctx, va, vb, p->err);
    cfx_value own = vb;
    if (like_a.kind)
        vb = like_a;
    if (!st)
        st = cfx_value_compare(&d, va, vb, &c->tolerance, p->err);
    c->ncompared += !st;
    if (!st && d.differs) {
        if (!c->ndiffer++) {
            c->first_a = n;
            c->first_b = m;
            c->first = d;
        }
        if (c->differs)
            st = c->differs(c->user, n, m, va, vb, &d);
    }
    if (!st && d.noise > 0 && has_same_inputs(c))
        st = cfx_compare__overwrite(p->b->scope->ctx, va, own, p->err);
    cfx_value_unref(like_a);
    cfx_node_map_set(&p->kept, m, CFX_NOTHING, NULL);
    return st;
}

static cfx_status walk(pair *p)
{
    const cfx_node *n;
    cfx_value v;
    do {
        cfx_status st = step(p, p->a, &n, &v);
        if (!st && n)
            st = compare_node(p, n, v);
        if (st)
            return st;
    } while (n && (!p->c->ndiffer || p->c->all));
    return CFX_OK;
}

/* Run both; `b` has inputs of its own, since a graph may write to them. */
static cfx_status run(pair *p, const cfx_value *inputs_a, size_t na,
                      const cfx_value *inputs_b, size_t nb)
{
    cfx_context *ctx = p->b->scope->ctx;
    cfx_value *copy = cfx_calloc(ctx, nb + 1, sizeof(*copy)), result;
    cfx_status st = copy ? CFX_OK : cfx_no_memory(p->err);
    for (size_t i = 0; i < nb && !st; i++)
        st = cfx_value__copy(&copy[i], ctx, inputs_b[i], p->err);
    if (!st)
        st = cfx_interp_begin(p->a, inputs_a, na, p->err);
    if (!st)
        st = cfx_interp_begin(p->b, copy, nb, p->err);
    if (!st)
        st = walk(p);
    cfx_interp_end(p->a, &result);
    cfx_value_unref(result);
    cfx_interp_end(p->b, &result);
    cfx_value_unref(result);
    for (size_t i = 0; copy && i < nb; i++)
        cfx_value_unref(copy[i]);
    cfx_free(ctx, copy, (nb + 1) * sizeof(*copy));
    return st;
}

cfx_status cfx_compare_runs(cfx_interp *a, cfx_interp *b,
                            const cfx_value *inputs_a, size_t na,
                            const cfx_value *inputs_b, size_t nb,
                            cfx_comparison *c, cfx_error *err)
{
    cfx_error own = {0};
    pair p = {.a = a, .b = b, .c = c, .err = err ? err : &own};
    cfx_status st;
    cfx_node_map_init(&p.kept, b->graph);
    cfx_node_map_init(&p.done, b->graph);
    cfx_node_map_init(&p.to_b, a->graph);
    cfx_node_map_init(&p.to_a, b->graph);
    c->ncompared = c->ndiffer = 0;
    c->first_a = c->first_b = NULL;
    c->failed = NULL;
    st = match(&p);
    if (!st && c->unmatched)
        st = tell_unmatched(&p, a->graph, &p.to_b, true);
    if (!st && c->unmatched)
        st = tell_unmatched(&p, b->graph, &p.to_a, false);
    if (!st)
        st = run(&p, inputs_a, na, inputs_b, nb);
    cfx_node_map_release(&p.kept);
    cfx_node_map_release(&p.done);
    cfx_node_map_release(&p.to_b);
    cfx_node_map_release(&p.to_a);
    return st;
}
