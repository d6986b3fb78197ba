/*
 * inline_numbers -- parameters with one element, as ONNX files have them for numbers,
 * become literals in the arguments of pointwise operators: rules for formulas know
 * literals, and no memory is read for them. prelu of such a parameter is leaky_relu.
 *
 * The result must be a tensor of floats of the other operand's type, so that the number
 * takes part in the same arithmetic.
 */
#include <cfx/ops.h>

#include "interp/rewrite/binding.h"
#include "interp/rewrite/retrace.h"
#include "interp/rewrite/rewrite_rules.h"

static bool is_pointwise(const cfx_node *n)
{
    return (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD) &&
           n->nargs == 2 && !n->nkwargs &&
           cfx_node__has_flag(n, CFX_OP_POINTWISE);
}

/* Does n give a tensor of the same type for a number in place of argument i? */
static bool takes_number(cfx_pass_call *p, const cfx_node *n, uint32_t i,
                         double number)
{
    const cfx_node *x = cfx_node__arg(n, 1 - i);
    const cfx_tensor *want = cfx_node__known_tensor(n);
    const cfx_tensor *other = x ? cfx_node__known_tensor(x) : NULL;
    cfx_value args[] = {n->args[0], n->args[1]};
    args[i] = cfx_float(number);
    return want && other && want->dtype == other->dtype &&
           cfx_dtype_is_float((cfx_dtype)want->dtype) &&
           cfx_call__gives(p->ctx, cfx_node__target(n), cfx_args_of(args, 2),
                           want);
}

static cfx_status inline_at(cfx_pass_call *p, cfx_node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        cfx_node *from = cfx_node__arg(n, i);
        double number;
        if (!from || !cfx_facts__number(p, n->args[i], &number) ||
            !takes_number(p, n, i, number))
            continue;
        p->changed++;
        cfx_status st = cfx_node_update_arg(n, i, cfx_float(number), p->err);
        return st ? st : cfx_pass__drop_attrs(p, &from, 1);
    }
    return CFX_OK;
}

static cfx_value leaky_relu(cfx_scope *s, const cfx_node *n, void *slope)
{
    return cfx_leaky_relu(s, n->args[0],
                          .negative_slope = cfx_float(*(double *)slope));
}

/* prelu with one parameter is leaky_relu. */
static cfx_status inline_slope(cfx_retracer *r, cfx_node *n, cfx_node **next)
{
    const cfx_tensor *y = cfx_node__known_tensor(n);
    cfx_node *from = cfx_node__arg(n, 1);
    double slope;
    bool done = false;
    if (!from || !y || y->dtype != CFX_F32 || n->nargs != 2 ||
        !cfx_facts__number(r->p, n->args[1], &slope))
        return CFX_OK;
    cfx_status st = cfx_retracer__node(r, n, leaky_relu, &slope, next, &done);
    if (st || !done)
        return st;
    r->p->changed++;
    return cfx_pass__drop_attrs(r->p, &from, 1);
}

static cfx_status inline_numbers_run(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    cfx_retracer r = {.p = p};
    for (cfx_node *n = cfx_graph_first(p->graph), *next; n && !st; n = next) {
        next = cfx_node_next(n);
        if (is_pointwise(n))
            st = inline_at(p, n);
        else if (cfx_node_is(n, "prelu"))
            st = inline_slope(&r, n, &next);
    }
    cfx_retracer__release(&r);
    return st;
}

const cfx_pass cfx_pass__inline_numbers = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "inline_numbers()",
    .doc =
        "Write parameters with one element as literals in the arguments of pointwise operators, and prelu with one as leaky_relu, where meta tensor_meta shows that the type stays.",
    .flags = CFX_PASS_ROUNDS,
    .run = inline_numbers_run,
};
