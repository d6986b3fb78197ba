/*
 * canonicalize -- one order and one naming for equivalent graphs.
 *
 * Placeholders come first, in their order, then get_attr nodes by target, then
 * calls: among the calls whose inputs are all placed, the least comes next, by
 * target, then by the places of its inputs, then by its literals. Calls that
 * write, are random or have an effect keep their place: other calls move only
 * between two of them. Nodes get the names that a new graph would give them.
 * The module gets a new graph, unless it is canonical already.
 */
#include <cfx/pass.h>

#include <string.h>

#include "base/util.h"
#include "graph/graph_impl.h"

typedef struct order {
    cfx_pass_call *p;
    cfx_node **node; /* placed nodes, in order */
    size_t nplaced;
    cfx_node **heap; /* nodes that are ready, the least first */
    size_t nheap;
    uint32_t *place;   /* by id: 1 + its place; 0: not placed */
    uint32_t *waits;   /* by id: inputs of its section not placed yet */
    uint32_t *section; /* by id */
    size_t n, ids;
} order;

static void order_release(order *o)
{
    cfx_context *ctx = o->p->ctx;
    cfx_free(ctx, o->node, o->n * sizeof(cfx_node *));
    cfx_free(ctx, o->heap, o->n * sizeof(cfx_node *));
    cfx_free(ctx, o->place, o->ids * sizeof(*o->place));
    cfx_free(ctx, o->waits, o->ids * sizeof(*o->waits));
    cfx_free(ctx, o->section, o->ids * sizeof(*o->section));
}

static cfx_status order_init(order *o, cfx_pass_call *p)
{
    *o = (order){
        .p = p, .n = cfx_graph_len(p->graph), .ids = cfx_graph_ids(p->graph)};
    o->node = cfx_calloc(p->ctx, o->n, sizeof(cfx_node *));
    o->heap = cfx_calloc(p->ctx, o->n, sizeof(cfx_node *));
    o->place = cfx_calloc(p->ctx, o->ids, sizeof(*o->place));
    o->waits = cfx_calloc(p->ctx, o->ids, sizeof(*o->waits));
    o->section = cfx_calloc(p->ctx, o->ids, sizeof(*o->section));
    return o->node && o->heap && o->place && o->waits && o->section
               ? CFX_OK
               : cfx_no_memory(p->err);
}

/* ---- Comparison ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Compare inputs by place; those not placed yet come last. */
static int compare_inputs(const order *o, const cfx_node *a, const cfx_node *b)
{
    int d = compare_numbers(a->ninputs, b->ninputs);
    for (uint32_t i = 0; i < a->ninputs && !d; i++)
        d = compare_numbers(o->place[cfx_node_input(a, i)->id],
                            o->place[cfx_node_input(b, i)->id]);
    return d;
}

static int compare_literals(cfx_value a, cfx_value b)
{
    if (a.kind != b.kind)
        return compare_numbers(a.kind, b.kind);
    if (a.kind == CFX_STR || a.kind == CFX_NAME || a.kind == CFX_DEVICE)
        return strcmp(a.u.str->text, b.u.str->text);
    if (a.kind == CFX_INT || a.kind == CFX_BOOL_VALUE)
        return (a.u.i > b.u.i) - (a.u.i < b.u.i);
    if (a.kind == CFX_FLOAT)
        return (a.u.f > b.u.f) - (a.u.f < b.u.f);
    if (cfx_value_is_seq(a))
        return compare_numbers(a.u.seq->len, b.u.seq->len);
    return 0;
}

static int compare_args(const cfx_node *a, const cfx_node *b)
{
    int d = compare_numbers(a->nargs, b->nargs);
    if (!d)
        d = compare_numbers(a->nkwargs, b->nkwargs);
    for (uint32_t i = 0; i < a->nargs && !d; i++)
        d = compare_literals(a->args[i], b->args[i]);
    for (uint32_t i = 0; i < 2 * a->nkwargs && !d; i++)
        d = compare_literals(a->kwargs[i], b->kwargs[i]);
    return d;
}

/* Equal nodes keep their order. */
static bool is_less(const order *o, const cfx_node *a, const cfx_node *b)
{
    int d = compare_numbers(a->op, b->op);
    if (!d)
        d = strcmp(a->target->text, b->target->text);
    if (!d)
        d = compare_inputs(o, a, b);
    if (!d)
        d = compare_args(a, b);
    return d ? d < 0 : cfx_node_before(a, b);
}

/* ---- The heap ---- */

static void push(order *o, cfx_node *n)
{
    size_t i = o->nheap++;
    for (; i && is_less(o, n, o->heap[(i - 1) / 2]); i = (i - 1) / 2)
        o->heap[i] = o->heap[(i - 1) / 2];
    o->heap[i] = n;
}

static cfx_node *pop(order *o)
{
    cfx_node *top = o->heap[0], *last = o->heap[--o->nheap];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < o->nheap) {
        if (child + 1 < o->nheap &&
            is_less(o, o->heap[child + 1], o->heap[child]))
            child++;
        if (!is_less(o, o->heap[child], last))
            break;
        o->heap[i] = o->heap[child];
        i = child;
    }
    o->heap[i] = last;
    return top;
}

/* ---- The order ---- */

/* Sections: 0 placeholders, 1 attributes, then alternately calls that may be
 * reordered, and a single one that may not. */
static cfx_status find_sections(order *o)
{
    uint32_t section = 2;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(o->p->graph); n && !st;
         n = cfx_node_next(n)) {
        bool fixed = n->op == CFX_OUTPUT;
        if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR) {
            o->section[n->id] = n->op == CFX_GET_ATTR;
            continue;
        }
        if (!fixed)
            st = cfx_node_is_impure(n, &fixed, o->p->err);
        section += fixed;
        o->section[n->id] = section;
        section += fixed;
    }
    for (cfx_node *n = cfx_graph_first(o->p->graph); n; n = cfx_node_next(n))
        for (uint32_t i = 0; i < n->ninputs; i++)
            o->waits[n->id] += o->section[cfx_node_input(n, i)->id] ==
                               o->section[n->id];
    return st;
}

static void place(order *o, cfx_node *n)
{
    o->node[o->nplaced++] = n;
    o->place[n->id] = (uint32_t)o->nplaced;
}

/* Place the nodes of one section, which are consecutive from `n` on except for
 * placeholders and attributes. */
static cfx_node *place_section(order *o, cfx_node *n)
{
    uint32_t section = o->section[n->id];
    for (; n && (o->section[n->id] == section || o->section[n->id] < 2);
         n = cfx_node_next(n))
        if (o->section[n->id] == section && !o->waits[n->id])
            push(o, n);
    while (o->nheap) {
        cfx_node *next = pop(o);
        place(o, next);
        for (const cfx_use *u = next->first_user; u; u = u->next)
            if (o->section[u->user->id] == section &&
                --o->waits[u->user->id] == 0)
                push(o, u->user);
    }
    return n;
}

static void place_all(order *o)
{
    cfx_node *first = cfx_graph_first(o->p->graph), *n;
    for (n = first; n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER)
            place(o, n);
    for (n = first; n; n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR)
            push(o, n);
    while (o->nheap)
        place(o, pop(o));
    for (n = first; n;)
        n = o->section[n->id] < 2 ? cfx_node_next(n) : place_section(o, n);
}

/* ---- The new graph ---- */

static cfx_value copy_of(void *user, cfx_node *n)
{
    cfx_node *const *copies = user;
    return copies[n->id] ? cfx_value_of_node(copies[n->id]) : CFX_NOTHING;
}

/* Copy everything but the name, which is derived from the target. */
static cfx_status copy_node(const order *o, cfx_graph *to, const cfx_node *n,
                            cfx_node **copies)
{
    const cfx_node_spec spec = {
        .op = (cfx_opcode)n->op,
        .target = n->target->text,
        .args = n->args,
        .kwargs = n->kwargs,
        .nargs = n->nargs,
        .nkwargs = n->nkwargs,
        .type = n->type ? n->type->text : NULL,
        .meta = n->meta,
        .map = copy_of,
        .user = copies,
    };
    copies[n->id] = cfx_graph__make(to, &spec, o->p->err);
    return copies[n->id] ? CFX_OK : o->p->err->code;
}

static cfx_status copy_all(const order *o, cfx_graph *to)
{
    cfx_context *ctx = o->p->ctx;
    cfx_node **copies = cfx_calloc(ctx, o->ids, sizeof(cfx_node *));
    cfx_status st = copies ? CFX_OK : cfx_no_memory(o->p->err);
    for (size_t i = 0; i < o->nplaced && !st; i++)
        st = copy_node(o, to, o->node[i], copies);
    cfx_free(ctx, copies, o->ids * sizeof(cfx_node *));
    return st;
}

static size_t count_changes(const order *o, const cfx_graph *to)
{
    size_t changed = 0, i = 0;
    const cfx_node *old = cfx_graph_first(o->p->graph);
    for (const cfx_node *n = cfx_graph_first(to); n; n = cfx_node_next(n)) {
        changed += strcmp(n->name, o->node[i]->name) || o->node[i] != old;
        old = cfx_node_next(old);
        i++;
    }
    return changed;
}

/* Let the module take the new graph and free its old one. */
static cfx_status replace_graph(cfx_pass_call *p, cfx_graph *to)
{
    cfx_module *same;
    cfx_status st = cfx_graph_module_new_take_both(&same, p->ctx, p->gm, to,
                                                   NULL, p->err);
    p->graph = cfx_graph_module_graph(p->gm);
    return st;
}

static cfx_status rebuild(order *o)
{
    cfx_pass_call *p = o->p;
    cfx_graph *to;
    cfx_status st = cfx_graph_new(&to, p->ctx, p->err);
    if (st)
        return st;
    st = copy_all(o, to);
    if (!st)
        p->changed = count_changes(o, to);
    if (!st && p->changed)
        return replace_graph(p, to);
    cfx_graph_free(to);
    return st;
}

static cfx_status canonicalize_run(cfx_pass_call *p)
{
    order o;
    cfx_status st = cfx_graph_lint(p->graph, p->err);
    if (st)
        return st;
    st = order_init(&o, p);
    if (!st)
        st = find_sections(&o);
    if (!st) {
        place_all(&o);
        st = rebuild(&o);
    }
    order_release(&o);
    return st;
}

const cfx_pass cfx_pass__canonicalize = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "canonicalize()",
    .doc =
        "Bring equivalent graphs into one order, with the names that a new graph would give.",
    .run = canonicalize_run,
};
