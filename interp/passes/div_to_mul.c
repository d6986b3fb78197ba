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
#include <cfx/ops.h>
#include <math.h>

#include "interp/rewrite/rewrite_rules.h"

static const char meta_key[] = "divided_by";

/* ---- Forward ---- */

static cfx_value quotient(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_pattern__quotient(s, in[0], in[1]);
}

static bool can_invert(cfx_pass_call *p, const cfx_match *m)
{
    cfx_value x = m->placeholders[0], c = m->placeholders[1];
    if (x.kind != CFX_NODE || (c.kind != CFX_INT && c.kind != CFX_FLOAT))
        return false;
    double number = cfx_value_number(c), inverse = 1 / number;
    return isfinite(number) && number != 0 && fabs(inverse) <= 0x1p127 &&
           fabs(inverse) >= 0x1p-126 && cfx_facts__is_tensor(p, x.u.node);
}

static cfx_value product(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                         void *p)
{
    const cfx_node *n = m->anchor;
    cfx_value args[] = {in[0], cfx_float(1 / cfx_value_number(in[1]))};
    cfx_value note = cfx_tuple(s, cfx_str(s, n->target->text), in[1]);
    cfx_value y = cfx_call__like(s, n, "mul", cfx_args_of(args, 2));
    (void)p;
    if (y.kind == CFX_NODE)
        cfx_node_set_meta(y.u.node, meta_key, note, &s->error);
    return cfx_named(s, n->name, y);
}

/* ---- Reverse ---- */

static cfx_value any_product(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_mul(s, in[0], in[1]);
}

static bool was_divided(cfx_pass_call *p, const cfx_match *m)
{
    cfx_value note = cfx_node_meta(m->anchor, meta_key);
    (void)p;
    return note.kind == CFX_TUPLE && note.u.seq->len == 2 &&
           note.u.seq->item[0].kind == CFX_STR && m->anchor->nargs == 2;
}

static cfx_value divide_again(cfx_scope *s, const cfx_value *in,
                              const cfx_match *m, void *p)
{
    const cfx_value *note = cfx_node_meta(m->anchor, meta_key).u.seq->item;
    const char *target = note[0].u.str->text;
    cfx_value args[] = {in[0], note[1]};
    cfx_value y = m->anchor->op == CFX_CALL_METHOD
                      ? cfx_call_method(s, target, cfx_args_of(args, 2))
                      : cfx_call_function(s, target, cfx_args_of(args, 2));
    (void)p;
    return cfx_named(s, m->anchor->name, y);
}

static const cfx_rewrite_rule rules[] = {
    {.params = "x c",
     .pattern = quotient,
     .where = can_invert,
     .build = product},
    {.params = "x c",
     .pattern = any_product,
     .where = was_divided,
     .build = divide_again,
     .undo = true},
    {0},
};

const cfx_pass cfx_pass__div_to_mul = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "div_to_mul()",
    .doc = "Replace division by a number by multiplication with its inverse.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_REVERSIBLE,
    .rules = rules,
};
