/*
 * div_to_mul -- x / c becomes x * (1 / c): Optimum's
 * ChangeTrueDivToMulByInverse.
 *
 * The old target and divisor are stored in the node's meta under "divided_by",
 * so that the reverse restores them exactly (Optimum divides 1 by the inverse,
 * which does not always give the old divisor). Numbers are left alone, since 49
 * * (1 / 49) is less than 1 and may become an extent; so are divisors whose
 * inverse is not a normal float32.
 */
#include "interp/passes/affine.h"

#include <math.h>

#include "interp/split/extract.h"

static const char meta_key[] = "divided_by";

static const struct pair {
    const char *div, *mul;
    cfx_opcode op;
} pairs[] = {
    {"operator.truediv", "operator.mul", CFX_CALL_FUNCTION},
    {"_operator.truediv", "_operator.mul", CFX_CALL_FUNCTION},
    {"torch.div", "torch.mul", CFX_CALL_FUNCTION},
    {"torch.divide", "torch.mul", CFX_CALL_FUNCTION},
    {"torch.true_divide", "torch.mul", CFX_CALL_FUNCTION},
    {"torch.ops.aten.div.Tensor", "torch.ops.aten.mul.Tensor",
     CFX_CALL_FUNCTION},
    {"torch.ops.aten.div.Scalar", "torch.ops.aten.mul.Scalar",
     CFX_CALL_FUNCTION},
    {"div", "mul", CFX_CALL_METHOD},
    {"divide", "mul", CFX_CALL_METHOD},
    {"true_divide", "mul", CFX_CALL_METHOD},
    {"__truediv__", "__mul__", CFX_CALL_METHOD},
};

static const struct pair *pair_of(const cfx_node *n)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (n->op == (uint8_t)pairs[i].op &&
            !strcmp(n->target->text, pairs[i].div))
            return &pairs[i];
    return NULL;
}

/* ---- Finding tensors ---- */

/* True if any overload of the call returns a Tensor or an item. */
static bool may_give_tensor(cfx_pass_call *p, const cfx_node *n)
{
    const char *name = n->target->text;
    const cfx_target *t = n->op == CFX_CALL_METHOD
                              ? cfx_find_method(p->ctx, name)
                              : cfx_find_function(p->ctx, name);
    for (; t; t = t->next) {
        const char *arrow = strstr(t->schema->text, "-> ");
        if (arrow && !strncmp(arrow + 3, "Tensor", 6))
            return true;
    }
    return cfx_node_is(n, "getitem");
}

static bool input_is_tensor(const bool *is_tensor, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (is_tensor[cfx_node_input(n, i)->id])
            return true;
    return false;
}

/* Find out if a node is a tensor. Inputs of the graph are, unless their meta or
 * type says otherwise; so is a call with overloads for tensors and numbers if
 * its inputs are tensors. */
static bool find_type(cfx_pass_call *p, const bool *is_tensor,
                      const cfx_node *n)
{
    cfx_value known = cfx_extract__known(n);
    if (known.kind)
        return known.kind == CFX_TENSOR;
    switch (n->op) {
    case CFX_PLACEHOLDER: return !n->type || strstr(n->type->text, "Tensor");
    case CFX_GET_ATTR:
    case CFX_CALL_MODULE: return true;
    case CFX_CALL_METHOD:
    case CFX_CALL_FUNCTION:
        return may_give_tensor(p, n) &&
               (!n->ninputs || input_is_tensor(is_tensor, n));
    default: return false;
    }
}

/* ---- Forward and reverse ---- */

static bool can_invert(double c)
{
    double inverse = 1 / c;
    return isfinite(c) && c != 0 && fabs(inverse) <= 0x1p127 &&
           fabs(inverse) >= 0x1p-126;
}

static cfx_status invert(cfx_pass_call *p, cfx_node *n,
                         const struct pair *pair)
{
    double c = cfx_value_number(n->args[1]);
    const cfx_value target = {.kind = CFX_STR, .u.str = n->target};
    cfx_value was[] = {target, n->args[1]};
    cfx_value note = cfx_tuple_new(p->ctx, 2, was);
    cfx_status st = note.kind ? cfx_node_set_meta(n, meta_key, note, p->err)
                              : cfx_no_memory(p->err);
    cfx_value_unref(note);
    if (!st)
        st = cfx_node_set_target(n, pair->mul, p->err);
    if (!st)
        st = cfx_node_update_arg(n, 1, cfx_float(1 / c), p->err);
    p->changed++;
    return st;
}

static cfx_status restore(cfx_pass_call *p, cfx_node *n)
{
    cfx_value note = cfx_node_meta(n, meta_key);
    if (note.kind != CFX_TUPLE || note.u.seq->len != 2 || n->nargs != 2 ||
        note.u.seq->item[0].kind != CFX_STR)
        return CFX_OK;
    cfx_status st = cfx_node_set_target(n, note.u.seq->item[0].u.str->text,
                                        p->err);
    if (!st)
        st = cfx_node_update_arg(n, 1, note.u.seq->item[1], p->err);
    if (!st)
        st = cfx_node_set_meta(n, meta_key, CFX_NOTHING, p->err);
    p->changed++;
    return st;
}

static cfx_status div_to_mul_run(cfx_pass_call *p)
{
    size_t ids = (size_t)cfx_graph_ids(p->graph) + 1;
    bool *is_tensor = cfx_calloc(p->ctx, ids, sizeof(*is_tensor));
    cfx_status st = is_tensor ? CFX_OK : cfx_no_memory(p->err);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        if (p->reverse) {
            st = restore(p, n);
            continue;
        }
        is_tensor[n->id] = find_type(p, is_tensor, n);
        const struct pair *pair = pair_of(n);
        if (pair && n->nargs == 2 && !n->nkwargs &&
            n->args[0].kind == CFX_NODE && is_tensor[n->args[0].u.node->id] &&
            (n->args[1].kind == CFX_INT || n->args[1].kind == CFX_FLOAT) &&
            can_invert(cfx_value_number(n->args[1])))
            st = invert(p, n, pair);
    }
    cfx_free(p->ctx, is_tensor, ids * sizeof(*is_tensor));
    return st;
}

const cfx_pass cfx_pass__div_to_mul = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "div_to_mul()",
    .doc = "Replace division by a number by multiplication with its inverse.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_REVERSIBLE,
    .run = div_to_mul_run,
};
