/*
 * fuse_pointwise -- compute chains of pointwise operators in one pass over
 * memory: torch.ops.cfx.fused_pointwise.
 *
 * The result of a group is that of its last node; the other nodes are read only within the
 * group, and have the same shape. Whether a node is one loop over elements is found by
 * calling it on the metas of its arguments. A node of the group is computed later than
 * before, so nothing may write to what it reads in between.
 */
#include <stdio.h>
#include <stdlib.h>

#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "interp/split/extract.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/pointwise/fused.h"

/* With fewer elements, calls cost more than passes over memory. */
enum { LEAST = 8192 };

typedef struct fuser {
    cfx_pass_call *p;
    cfx_retracer retracer;
    cfx_aliases aliases;
    bool *is_step; /* by id */
    uint32_t ids;
} fuser;

/* ---- Which nodes are steps ---- */

/* A meta scope that inspects the operators that are called. */
typedef struct trial {
    cfx_scope base;
    int calls;
    bool loops; /* all are loops over elements */
} trial;

static bool is_complex(cfx_value v)
{
    return v.kind == CFX_TENSOR &&
           cfx_dtype_is_complex((cfx_dtype)v.u.tensor->dtype);
}

static cfx_status look(cfx_call *call, void *user)
{
    trial *t = user;
    cfx_loop l;
    t->calls++;
    t->loops = t->loops && !call->inplace && call->op->loop &&
               call->op->loop(call, &l);
    return CFX_OK;
}

static cfx_status try_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    return cfx_call__visit_outs(call, look, s, out);
}

static const cfx_scope_class trial_class = {
    .size = sizeof(cfx_scope_class),
    .name = "trial",
    .super = &cfx_meta_class,
    .call_op = try_op,
};

/* Copy arguments, with metas for nodes. False if a node has none, if one is nested deeper,
 * or for complex tensors, which the fused operator does not take. */
static bool put_metas(cfx_value *to, const cfx_value *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i].kind == CFX_NODE ? cfx_node__known(from[i].u.node)
                                         : from[i];
        if (!to[i].kind || cfx_value_is_seq(to[i]) || to[i].kind == CFX_DICT ||
            is_complex(to[i]))
            return false;
    }
    return true;
}

/* Call what n calls. */
static cfx_status call(cfx_pass_call *p, cfx_scope *s, const cfx_node *n,
                       cfx_args args, cfx_value *out)
{
    const char *name = n->target->text;
    cfx_module *m;
    const cfx_target *target;
    if (n->op == CFX_CALL_MODULE) {
        m = cfx_module_at(p->gm, name);
        return m && !cfx_graph_module_graph(m)
                   ? cfx_scope_call_module(s, m, name, args, out)
                   : CFX_ENAME;
    }
    target = n->op == CFX_CALL_METHOD ? cfx_find_method(p->ctx, name)
                                      : cfx_find_function(p->ctx, name);
    return target ? cfx_scope_call_target(s, target, args, out) : CFX_ENAME;
}

static bool tries_as_loop(cfx_pass_call *p, const cfx_node *n)
{
    cfx_value args[CFX_FUSED_ARGS], kwargs[2 * CFX_FUSED_ARGS],
        out = CFX_NOTHING;
    trial t = {.loops = true};
    if (!cfx_node_is_call(n) || !cfx_node__known_tensor(n) ||
        is_complex(cfx_node__known(n)) || n->nargs > CFX_FUSED_ARGS ||
        n->nkwargs > CFX_FUSED_ARGS || !put_metas(args, n->args, n->nargs) ||
        !put_metas(kwargs, n->kwargs, 2 * (size_t)n->nkwargs))
        return false;
    cfx_scope_init(&t.base, &trial_class, p->ctx, NULL);
    cfx_status st = call(p, &t.base, n,
                         (cfx_args){args, n->nargs, kwargs, n->nkwargs}, &out);
    if (!st)
        cfx_value_unref(out);
    cfx_scope_release(&t.base);
    return !st && t.calls == 1 && t.loops;
}

static cfx_status find_steps(fuser *f)
{
    cfx_pass_call *p = f->p;
    f->ids = cfx_graph_ids(p->graph);
    f->is_step = cfx_calloc(p->ctx, f->ids, sizeof(*f->is_step));
    if (!f->is_step)
        return cfx_no_memory(p->err);
    for (const cfx_node *n = cfx_graph_first(p->graph); n;
         n = cfx_node_next(n))
        f->is_step[n->id] = tries_as_loop(p, n);
    return CFX_OK;
}

/* ---- Groups ---- */

/* The nodes of a group, last first, and their inputs from outside. */
typedef struct group {
    cfx_node *step[CFX_FUSED_STEPS];
    int nsteps;
    const cfx_node *input[CFX_FUSED_INPUTS];
    int ninputs;
} group;

static bool has_step(const group *g, const cfx_node *n)
{
    for (int i = 0; i < g->nsteps; i++)
        if (g->step[i] == n)
            return true;
    return false;
}

/* Find the inputs of the group; false if there are too many. */
static bool find_inputs(group *g)
{
    g->ninputs = 0;
    for (int i = 0; i < g->nsteps; i++)
        for (uint32_t k = 0; k < g->step[i]->ninputs; k++) {
            const cfx_node *x = cfx_node_input(g->step[i], k);
            int j = 0;
            while (j < g->ninputs && g->input[j] != x)
                j++;
            if (has_step(g, x) || j < g->ninputs)
                continue;
            if (j == CFX_FUSED_INPUTS)
                return false;
            g->input[g->ninputs++] = x;
        }
    return true;
}

static bool same_shape(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]);
    return same;
}

static bool reads_written(fuser *f, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_aliases__is_written(&f->aliases, cfx_node_input(n, i)))
            return true;
    return false;
}

/* Can n be computed where the group is, and for it alone? */
static bool joins(fuser *f, const group *g, const cfx_node *n)
{
    if (!f->is_step[n->id] || has_step(g, n) || g->nsteps == CFX_FUSED_STEPS ||
        !same_shape(cfx_node__known_tensor(n),
                    cfx_node__known_tensor(g->step[0])) ||
        cfx_aliases__is_written(&f->aliases, n) || reads_written(f, n))
        return false;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!has_step(g, u->user))
            return false;
    return true;
}

static bool add_one(fuser *f, group *g)
{
    for (int i = 0; i < g->nsteps; i++)
        for (uint32_t k = 0; k < g->step[i]->ninputs; k++) {
            cfx_node *n = cfx_node_input(g->step[i], k);
            if (!joins(f, g, n))
                continue;
            g->step[g->nsteps++] = n;
            if (find_inputs(g))
                return true;
            g->nsteps--;
        }
    return false;
}

static bool is_large(const cfx_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (!cfx_dim_is_int(t->shape[i]))
            return true;
        n *= cfx_tensor_size(t, i);
    }
    return n >= LEAST;
}

/* Find the group that ends with n; false if it is n alone. */
static bool find_group(fuser *f, group *g, cfx_node *n)
{
    *g = (group){.step = {n}, .nsteps = 1};
    if (n->id >= f->ids || !f->is_step[n->id] ||
        !is_large(cfx_node__known_tensor(n)) || !find_inputs(g))
        return false;
    while (add_one(f, g))
        continue;
    find_inputs(g);
    qsort(g->step, (size_t)g->nsteps, sizeof(*g->step), cfx_extract__by_order);
    return g->nsteps > 1;
}

/* ---- The call ---- */

/* The reference to a step or input, a str; or the argument itself, if it is no node. */
static cfx_value name_of(cfx_scope *s, const group *g, cfx_value arg)
{
    char name[16];
    int at = 0;
    if (arg.kind != CFX_NODE)
        return arg;
    while (at < g->ninputs && g->input[at] != arg.u.node)
        at++;
    for (int i = 0; at == g->ninputs && i < g->nsteps; i++)
        if (g->step[i] == arg.u.node) {
            at += i;
            break;
        }
    snprintf(name, sizeof(name), "v%d", at);
    return cfx_str(s, name);
}

static cfx_value step_of(cfx_scope *s, const group *g, const cfx_node *n)
{
    cfx_value item[CFX_FUSED_ARGS + 2], key[2 * CFX_FUSED_ARGS];
    char name[128];
    size_t len = 0;
    snprintf(name, sizeof(name), "%s%s",
             n->op == CFX_CALL_METHOD ? "Tensor." : "", n->target->text);
    item[len++] = cfx_str(s, name);
    for (uint32_t i = 0; i < n->nargs; i++)
        item[len++] = name_of(s, g, n->args[i]);
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        key[2 * i] = n->kwargs[2 * i];
        key[2 * i + 1] = name_of(s, g, n->kwargs[2 * i + 1]);
    }
    if (n->nkwargs) {
        cfx_value dict = cfx_dict_new(s->ctx, n->nkwargs, key);
        if (!dict.kind)
            return cfx_scope_fail(s, CFX_ENOMEM, "out of memory");
        item[len++] = cfx_scope_take(s, dict);
    }
    return cfx_list_of(s, CFX_TUPLE, len, item);
}

static cfx_node *call_of(fuser *f, const group *g)
{
    cfx_pass_call *p = f->p;
    cfx_value operand[CFX_FUSED_INPUTS], step[CFX_FUSED_STEPS];
    cfx_node *y = NULL;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    for (int i = 0; i < g->ninputs; i++)
        operand[i] = cfx_value_of_node((cfx_node *)(uintptr_t)g->input[i]);
    for (int i = 0; i < g->nsteps; i++)
        step[i] = step_of(&s, g, g->step[i]);
    cfx_value args[] = {cfx_list_of(&s, CFX_LIST, (size_t)g->ninputs, operand),
                        cfx_list_of(&s, CFX_LIST, (size_t)g->nsteps, step)};
    if (!cfx_scope_status(&s, p->err))
        y = cfx_graph_call_function(p->graph,
                                    "torch.ops.cfx.fused_pointwise.default",
                                    cfx_args_of(args, 2), p->err);
    cfx_scope_release(&s);
    return y;
}

/* Replace modules by functions. */
static cfx_status inline_modules(fuser *f, group *g)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < g->nsteps && !st; i++) {
        cfx_node *n = g->step[i];
        bool done = true;
        if (n->op == CFX_CALL_MODULE)
            st = cfx_retracer__inline(&f->retracer, n, &g->step[i], &done);
        if (!st && !done)
            st = cfx_fail(f->p->err, CFX_EGRAPH, "%s cannot be inlined",
                          n->name);
    }
    return st;
}

static cfx_status fuse(fuser *f, const group *g)
{
    cfx_pass_call *p = f->p;
    cfx_node *last = g->step[g->nsteps - 1];
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, last);
    cfx_node *y = call_of(f, g);
    cfx_status st = y ? CFX_OK : p->err->code;
    cfx_graph_restore(p->graph, at);
    for (int i = 0; i + 1 < g->nsteps && !st; i++)
        st = cfx_node_inherit(y, g->step[i], p->err);
    if (!st)
        st = cfx_node__keep_meta(y, last, p->err);
    if (!st)
        st = cfx_pass__replace(p, last, y);
    for (int i = g->nsteps - 1; i-- > 0 && !st;) {
        st = cfx_graph_erase_node(p->graph, g->step[i], p->err);
        p->changed += !st;
    }
    return st;
}

static cfx_status fuse_pointwise_run(cfx_pass_call *p)
{
    fuser f = {.p = p, .retracer = {.p = p}};
    group g;
    cfx_status st = cfx_aliases__init(&f.aliases, p->graph, p->err);
    if (!st)
        st = find_steps(&f);
    for (cfx_node *n = cfx_graph_last(p->graph), *before; n && !st;
         n = before) {
        before = cfx_node_prev(n);
        if (!find_group(&f, &g, n))
            continue;
        st = inline_modules(&f, &g);
        if (st)
            break;
        st = fuse(&f, &g);
        before = cfx_node_prev(g.step[g.nsteps - 1]);
    }
    cfx_free(p->ctx, f.is_step, f.ids * sizeof(*f.is_step));
    cfx_retracer__release(&f.retracer);
    cfx_aliases__release(&f.aliases);
    return st;
}

const cfx_pass cfx_pass__fuse_pointwise = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_pointwise()",
    .doc =
        "Compute chains of pointwise operators in one pass over memory, where meta tensor_meta shows the shapes.",
    .run = fuse_pointwise_run,
};
