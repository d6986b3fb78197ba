/*
 * fuse_gelu -- torch.nn.functional.gelu in place of its formula.
 *
 *     0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
 *
 * as models write it out for the approximation by tanh. Nothing else may read
 * what is computed on the way, or write to x. Meta must show that x is a tensor of
 * floating-point numbers.
 */
#include <math.h>
#include <string.h>

#include "graph/aliases.h"
#include "interp/passes/affine.h"
#include "interp/passes/retrace.h"
#include "interp/split/extract.h"

enum { STEPS = 8 };

/* The nodes of the formula, each before those that it reads. */
typedef struct formula {
    cfx_node *x;
    cfx_node *step[STEPS];
    int n;
} formula;

/* Two operands of a call of `op`, without further arguments. */
static bool find_operands(const cfx_node *n, const char *op,
                          const cfx_value **a, const cfx_value **b)
{
    if (!n || !cfx_node_is(n, op) || n->nargs != 2 || n->nkwargs)
        return false;
    *a = &n->args[0];
    *b = &n->args[1];
    return true;
}

static bool is_number(const cfx_value *v, double expected)
{
    return (v->kind == CFX_INT || v->kind == CFX_FLOAT) &&
           fabs(cfx_value_number(*v) - expected) <= 1e-6 * fabs(expected);
}

/* n is an operand of what was found before; only that may read it. */
static bool take_step(formula *f, cfx_node *n)
{
    if (n->nusers != 1 && f->n)
        return false;
    f->step[f->n++] = n;
    return true;
}

/* The node that n combines with a number by `op`, in either order; or NULL. */
static cfx_node *with_number(formula *f, cfx_node *n, const char *op,
                             double number)
{
    const cfx_value *a, *b;
    if (!find_operands(n, op, &a, &b) || !take_step(f, n))
        return NULL;
    if (a->kind == CFX_NODE && is_number(b, number))
        return a->u.node;
    if (b->kind == CFX_NODE && is_number(a, number) && strcmp(op, "pow") != 0)
        return b->u.node;
    return NULL;
}

/* n = 0.044715 * x**3. */
static bool is_cube(formula *f, cfx_node *n)
{
    cfx_node *cube = with_number(f, n, "mul", 0.044715);
    return cube && with_number(f, cube, "pow", 3) == f->x;
}

/* n = 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)). */
static bool is_gate(formula *f, cfx_node *n)
{
    const cfx_value *a, *b;
    cfx_node *tanh = with_number(f, n, "add", 1);
    if (!tanh || !cfx_node_is(tanh, "tanh") || tanh->nargs != 1 ||
        tanh->nkwargs || tanh->args[0].kind != CFX_NODE || !take_step(f, tanh))
        return false;
    cfx_node *sum = with_number(f, tanh->args[0].u.node, "mul",
                                0.79788456080286536);
    if (!find_operands(sum, "add", &a, &b) || a->kind != CFX_NODE ||
        b->kind != CFX_NODE || !take_step(f, sum))
        return false;
    cfx_node *cube = a->u.node == f->x ? b->u.node : a->u.node;
    return (a->u.node == f->x || b->u.node == f->x) && is_cube(f, cube);
}

/* n is the product of 0.5 * x and the gate. */
static bool find_formula(formula *f, cfx_node *n)
{
    const cfx_value *v[2];
    for (int i = 0; i < 2; i++) {
        *f = (formula){.x = NULL};
        if (!find_operands(n, "mul", &v[0], &v[1]) || v[0]->kind != CFX_NODE ||
            v[1]->kind != CFX_NODE || !take_step(f, n))
            return false;
        f->x = with_number(f, v[i]->u.node, "mul", 0.5);
        if (f->x && is_gate(f, v[1 - i]->u.node))
            return true;
    }
    return false;
}

static bool is_float(const cfx_node *n)
{
    cfx_value v = cfx_extract__known(n);
    return v.kind == CFX_TENSOR &&
           cfx_dtype_is_float((cfx_dtype)v.u.tensor->dtype);
}

static cfx_status fuse(cfx_pass_call *p, const formula *f)
{
    cfx_node *n = f->step[0];
    cfx_value args[] = {cfx_value_of_node(f->x)};
    cfx_value tanh = cfx_str_new(p->ctx, "tanh", 4);
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *y = cfx_graph_call_function(p->graph, "torch.nn.functional.gelu",
                                          cfx_args_of(args, 1), p->err);
    cfx_graph_restore(p->graph, at);
    cfx_status st = !y ? p->err->code
                    : tanh.kind
                        ? cfx_node_update_kwarg(y, "approximate", tanh, p->err)
                        : cfx_no_memory(p->err);
    cfx_value_unref(tanh);
    if (!st)
        st = cfx_node__keep_meta(y, n, p->err);
    if (!st)
        st = cfx_node_replace_all_uses_with(n, y, NULL, NULL, p->err);
    /* A node is erased before those that it reads, whatever their order. */
    for (int left = f->n; left > 0 && !st; left--)
        for (int i = 0; i < f->n && !st; i++)
            if (!f->step[i]->erased && !f->step[i]->nusers)
                st = cfx_graph_erase_node(p->graph, f->step[i], p->err);
    p->changed += (size_t)f->n;
    return st;
}

/* Goes backward, so that the analysis has seen what a formula reads. */
static cfx_status fuse_gelu_run(cfx_pass_call *p)
{
    cfx_aliases aliases = {0};
    formula f;
    cfx_status st = cfx_aliases__init(&aliases, p->graph, p->err);
    for (cfx_node *n = cfx_graph_last(p->graph); n && !st;
         n = cfx_node_prev(n))
        if (find_formula(&f, n) && is_float(f.x) &&
            !cfx_aliases__is_written(&aliases, f.x))
            st = fuse(p, &f);
    cfx_aliases__release(&aliases);
    return st;
}

const cfx_pass cfx_pass__fuse_gelu = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_gelu()",
    .doc = "Replace the formula of gelu by tanh with gelu, where meta "
           "tensor_meta shows a floating-point type.",
    .flags = CFX_PASS_ROUNDS,
    .run = fuse_gelu_run,
};
