/*
 * inplace_cat -- compute the parts of a concatenation where they stand in it.
 *
 * cat([a, b], 1) becomes a view of a tensor that `uninitialized` makes, and the
 * calls that compute a and b write to views of it, by the `out` form of their
 * operators. A concatenation of some parts of a longer one, side by side, is a view,
 * too, as in the dense blocks of DenseNet.
 *
 * The type and the extents of that tensor follow from the graph's inputs: theirs are
 * asserted.
 *
 * Parts are contiguous if no axis before that of the concatenation has several
 * elements, as for one image. Others stay, since calls whose results are not
 * contiguous would be computed apart and copied.
 */
#include <stdio.h>
#include <string.h>

#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "graph/graph_impl.h"

/* The tensor that a node's value is a part of, and the index along an axis at which
 * the part begins. */
typedef struct place {
    cfx_node *whole; /* NULL: in a tensor of its own */
    int axis;
    int64_t from;
} place;

typedef struct joiner {
    cfx_pass_call *p;
    cfx_aliases aliases;
    place *place; /* by id; nodes that the pass makes have none */
    bool *exact;  /* by alias set: something reads its strides or offset */
} joiner;

/* A concatenation; its parts lie in `list`. */
typedef struct joined {
    cfx_node *n;
    cfx_value list;
    const cfx_tensor *t;
    int axis;
} joined;

/* ---- Concatenations ---- */

static bool has_numbers(const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_is_int(t->shape[i]))
            return false;
    return true;
}

/* Are all extents numbers, the elements contiguous, and those of one index of
 * `axis` side by side? */
static bool has_parts(const cfx_tensor *t, int axis)
{
    for (int i = 0; i < t->rank; i++)
        if (cfx_dim_is(t->shape[i], 0) ||
            (i < axis && !cfx_dim_is(t->shape[i], 1)))
            return false;
    return has_numbers(t) && cfx_tensor_is_contiguous(t) && !t->device;
}

/* Mark the alias sets of which a value's strides or place are read. */
static void find_exact(joiner *j)
{
    for (const cfx_node *n = cfx_graph_first(j->p->graph); n;
         n = cfx_node_next(n)) {
        bool reads = cfx_node__has_flag(n, CFX_OP_READS_STRIDES);
        uint32_t inputs = reads ? n->ninputs : 0;
        for (uint32_t i = 0; i < inputs; i++)
            j->exact[cfx_aliases__set(&j->aliases, cfx_node_input(n, i))] =
                true;
    }
}

/* Does the value have memory that only the graph knows, that nothing writes to after
 * it has been computed, and that may lie anywhere? */
static bool is_apart(joiner *j, const cfx_node *n)
{
    uint32_t set = cfx_aliases__set(&j->aliases, n);
    return !j->exact[set] &&
           !cfx_aliases__is(&j->aliases, set,
                            CFX_ALIAS_WRITTEN | CFX_ALIAS_RETURNED |
                                CFX_ALIAS_OUTLIVES);
}

static bool find_joined(joiner *j, joined *c, cfx_node *n)
{
    const cfx_schema *schema = cfx_node_is(n, "cat") ? cfx_pass__signature(n)
                                                     : NULL;
    if (!schema || !is_apart(j, n) || cfx_pass__kwarg(n, "out").kind ||
        cfx_pass__kwarg(n, "axis").kind)
        return false;
    cfx_value dim = cfx_pass__arg(n, schema, "dim");
    *c = (joined){.n = n,
                  .list = cfx_pass__arg(n, schema, "tensors"),
                  .t = cfx_node__known_tensor(n)};
    if (!c->t || !cfx_value_is_seq(c->list) || !c->list.u.seq->len ||
        (dim.kind && dim.kind != CFX_INT))
        return false;
    int64_t axis = dim.kind ? dim.u.i : 0;
    c->axis = (int)(axis < 0 ? axis + c->t->rank : axis);
    return has_parts(c->t, c->axis);
}

static cfx_node *part_at(const joined *c, uint32_t i)
{
    cfx_value v = c->list.u.seq->item[i];
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

static int64_t extent(const joined *c, const cfx_node *part)
{
    return cfx_dim_value(cfx_node__known_tensor(part)->shape[c->axis]);
}

/* ---- Calls that can write to a part ---- */

/* Find the `out` form of an operator's default overload, and write its name; NULL if
 * there is none. */
static const cfx_target *out_form(const joiner *j, const cfx_node *n,
                                  char *name, size_t size)
{
    static const char plain[] = ".default";
    const char *target = n->target ? n->target->text : "";
    size_t len = strlen(target), end = strlen(plain);
    if (n->op != CFX_CALL_FUNCTION || len < end ||
        strcmp(target + len - end, plain) || len >= size)
        return NULL;
    snprintf(name, size, "%.*s.out", (int)(len - end), target);
    return cfx_find_function(j->p->ctx, name);
}

/* Can the i-th part be computed where it stands? */
static bool is_movable(joiner *j, const joined *c, uint32_t i)
{
    char name[256];
    const cfx_node *n = part_at(c, i);
    const cfx_tensor *t = n ? cfx_node__known_tensor(n) : NULL;
    return t && t->dtype == c->t->dtype && t->rank == c->t->rank &&
           has_parts(t, c->axis) && is_apart(j, n) &&
           !cfx_effects_any(cfx_aliases__effects(&j->aliases, n)) &&
           out_form(j, n, name, sizeof(name));
}

/* Can all parts be moved, each to one place? They are marked meanwhile. */
static bool are_movable(joiner *j, const joined *c)
{
    uint32_t n = c->list.u.seq->len, i = 0;
    while (i < n && is_movable(j, c, i) && !j->place[part_at(c, i)->id].whole)
        j->place[part_at(c, i++)->id].whole = c->n;
    for (uint32_t k = 0; k < i; k++)
        j->place[part_at(c, k)->id].whole = NULL;
    return i == n;
}

/* Do the parts follow each other in another concatenation? */
static bool are_joined(const joiner *j, const joined *c)
{
    const cfx_node *first = part_at(c, 0);
    if (!first || cfx_aliases__is_later(&j->aliases, first))
        return false;
    place next = j->place[first->id];
    for (uint32_t i = 0; i < c->list.u.seq->len; i++) {
        const cfx_node *n = part_at(c, i);
        if (!next.whole || !n || cfx_aliases__is_later(&j->aliases, n))
            return false;
        const place *at = &j->place[n->id];
        if (at->whole != next.whole || at->axis != c->axis ||
            at->from != next.from)
            return false;
        next.from += extent(c, n);
    }
    return true;
}

/* ---- Rewriting ---- */

/* Call a function of a tensor's extents, after `first` unless it is absent, before a
 * node. */
static cfx_node *call_with_size(const joiner *j, const char *target,
                                cfx_value first, const cfx_tensor *t,
                                cfx_node *before)
{
    cfx_pass_call *p = j->p;
    cfx_value shape[CFX_MAX_RANK], args[2];
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_int(cfx_dim_value(t->shape[i]));
    cfx_value size = cfx_list_new(p->ctx, (size_t)t->rank, shape);
    if (!size.kind) {
        cfx_no_memory(p->err);
        return NULL;
    }
    uint32_t n = 0;
    if (first.kind)
        args[n++] = first;
    args[n++] = size;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, before);
    cfx_node *y = cfx_graph_call_function(p->graph, target,
                                          cfx_args_of(args, n), p->err);
    cfx_graph_restore(p->graph, at);
    cfx_value_unref(size);
    return y;
}

/* uninitialized(shape, dtype=dtype), before all parts. */
static cfx_node *add_whole(const joiner *j, const joined *c)
{
    cfx_node *before = part_at(c, 0);
    for (uint32_t i = 1; i < c->list.u.seq->len; i++)
        if (part_at(c, i)->order < before->order)
            before = part_at(c, i);
    cfx_node *whole = call_with_size(j, "torch.ops.cfx.uninitialized.default",
                                     CFX_NOTHING, c->t, before);
    return whole && !cfx_node_update_kwarg(
                        whole, "dtype",
                        cfx_value_of_dtype((cfx_dtype)c->t->dtype), j->p->err)
               ? whole
               : NULL;
}

/* narrow(whole, axis, from, extent), before a node. */
static cfx_node *add_view(const joiner *j, place of, int64_t extent,
                          cfx_node *before)
{
    const cfx_value args[] = {cfx_value_of_node(of.whole), cfx_int(of.axis),
                              cfx_int(of.from), cfx_int(extent)};
    cfx_graph *g = j->p->graph;
    cfx_insert_point at = cfx_graph_inserting_before(g, before);
    cfx_node *view = cfx_graph_call_function(g, "torch.narrow",
                                             cfx_args_of(args, 4), j->p->err);
    cfx_graph_restore(g, at);
    return view;
}

static cfx_status move_part(joiner *j, const joined *c, cfx_node *n, place to)
{
    char name[256];
    cfx_error *err = j->p->err;
    cfx_node *view = add_view(j, to, extent(c, n), n);
    cfx_status st = view ? CFX_OK : err->code;
    j->place[n->id] = to;
    j->p->changed++;
    out_form(j, n, name, sizeof(name));
    if (!st)
        st = cfx_node_set_target(n, name, err);
    return st ? st
              : cfx_node_update_kwarg(n, "out", cfx_value_of_node(view), err);
}

static cfx_status move_parts(joiner *j, const joined *c)
{
    place to = {add_whole(j, c), c->axis, 0};
    cfx_status st = to.whole ? CFX_OK : j->p->err->code;
    for (uint32_t i = 0; i < c->list.u.seq->len && !st; i++) {
        cfx_node *n = part_at(c, i);
        int64_t next = to.from + extent(c, n);
        st = move_part(j, c, n, to);
        to.from = next;
    }
    return st;
}

/* The parts stand side by side: read them there. */
static cfx_status replace(joiner *j, const joined *c)
{
    cfx_pass_call *p = j->p;
    int64_t all = cfx_dim_value(c->t->shape[c->axis]);
    cfx_node *y = add_view(j, j->place[part_at(c, 0)->id], all, c->n);
    cfx_status st = y ? cfx_node_inherit(y, c->n, p->err) : p->err->code;
    if (!st)
        st = cfx_node_replace_all_uses_with(c->n, y, NULL, NULL, p->err);
    p->changed++;
    return st ? st : cfx_graph_erase_node(p->graph, c->n, p->err);
}

/* From the end, so that a longer concatenation comes before those of its parts. */
static cfx_status join_all(joiner *j)
{
    joined c;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_last(j->p->graph), *prev; n && !st;
         n = prev) {
        prev = cfx_node_prev(n);
        if (!find_joined(j, &c, n))
            continue;
        bool joins = are_joined(j, &c);
        if (!joins && !are_movable(j, &c))
            continue;
        if (!joins)
            st = move_parts(j, &c);
        if (!st)
            st = replace(j, &c);
    }
    return st;
}

/* Are all inputs tensors, whose sizes and types can be asserted? */
static bool takes_tensors(const cfx_graph *g)
{
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER && !cfx_node__known_tensor(n))
            return false;
    return true;
}

static cfx_status assert_input(const joiner *j, cfx_node *n, cfx_node *before)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    cfx_node *y = call_with_size(
        j, "torch.ops.aten._assert_tensor_metadata.default",
        cfx_value_of_node(n), t, before);
    return y ? cfx_node_update_kwarg(y, "dtype",
                                     cfx_value_of_dtype((cfx_dtype)t->dtype),
                                     j->p->err)
             : j->p->err->code;
}

/* Assert the sizes and types of the inputs, after the last of them. What is joined
 * does not depend on an extent that is a symbol. */
static cfx_status assert_inputs(const joiner *j)
{
    cfx_node *body = NULL;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(j->p->graph); n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER)
            body = cfx_node_next(n);
    for (cfx_node *n = cfx_graph_first(j->p->graph); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER && has_numbers(cfx_node__known_tensor(n)))
            st = assert_input(j, n, body);
    return st;
}

/* The strides of moved parts are those of the whole. */
static cfx_status forget_strides(const joiner *j)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(j->p->graph); n && !st;
         n = cfx_node_next(n))
        if (!cfx_aliases__is_later(&j->aliases, n) && j->place[n->id].whole)
            st = cfx_node__forget_known(n, j->p->err);
    return st;
}

static cfx_status init(joiner *j)
{
    cfx_pass_call *p = j->p;
    cfx_status st = cfx_aliases__init(&j->aliases, p->graph, p->err);
    size_t n = cfx_aliases__len(&j->aliases);
    if (st)
        return st;
    j->place = cfx_calloc(p->ctx, n, sizeof(*j->place));
    j->exact = cfx_calloc(p->ctx, n, sizeof(*j->exact));
    if (!j->place || !j->exact)
        return cfx_no_memory(p->err);
    find_exact(j);
    return CFX_OK;
}

static void release(joiner *j)
{
    size_t n = cfx_aliases__len(&j->aliases);
    cfx_free(j->p->ctx, j->place, n * sizeof(*j->place));
    cfx_free(j->p->ctx, j->exact, n * sizeof(*j->exact));
    cfx_aliases__release(&j->aliases);
}

static cfx_status inplace_cat_run(cfx_pass_call *p)
{
    joiner j = {.p = p};
    if (!takes_tensors(p->graph))
        return CFX_OK;
    cfx_status st = init(&j);
    if (!st)
        st = join_all(&j);
    if (!st && p->changed)
        st = assert_inputs(&j);
    if (!st)
        st = forget_strides(&j);
    release(&j);
    return st;
}

const cfx_pass cfx_pass__inplace_cat = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "inplace_cat()",
    .doc =
        "Compute the parts of a concatenation where they stand in it, where meta tensor_meta shows that they are contiguous.",
    .run = inplace_cat_run,
};
