/*
 * blocked_post_ops -- read post-operations; their checks, cost and kernel.
 */
#include "ops/blocked/blocked_post_ops.h"

#include <math.h>
#include <stdio.h>

#include "op/op_impl.h"

/* ---- Reading ---- */

/* In the order of the enumeration. */
static const struct form {
    const char *name; /* NULL: any other */
    int n;            /* the number of arguments; 0: others check them */
    uint32_t kinds;   /* of arguments, as 1 << cfx_kind */
} forms[CFX_POST_OPS] = {
    {"add", 1, 1u << CFX_TENSOR},
    {"clamp", 2, 1u << CFX_INT | 1u << CFX_FLOAT | 1u << CFX_NONE},
    {NULL, 0, 0},
    {"to", 1, 1u << CFX_DTYPE},
    {"blocked_depthwise_conv2d", 0, 0},
    {"quantize", 1, 1u << CFX_INT},
    {"quantized_add", 0, 0},
};

static int find_form(const char *name)
{
    int any = 0;
    for (int i = 0; i < CFX_POST_OPS; i++) {
        if (!forms[i].name)
            any = i;
        else if (!strcmp(forms[i].name, name))
            return i;
    }
    return any;
}

bool cfx_post_op_follows(const char *last, const char *next)
{
    return find_form(last) < find_form(next);
}

static bool fits(const struct form *f, const cfx_seq *op)
{
    bool all = !f->n || op->len == (uint32_t)f->n + 1;
    for (int i = 1; all && i <= f->n; i++)
        all = f->kinds >> op->item[i].kind & 1;
    return all;
}

/* Read item i of the list, which follows one of the form *last. */
static cfx_status read_item(const cfx_call *call, cfx_post_ops *p, int i,
                            int *last)
{
    cfx_value v = cfx_call_item(call, p->list, i);
    const cfx_seq *op = v.u.seq;
    if (!cfx_value_is_seq(v) || !op->len || op->item[0].kind != CFX_STR)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "a post-op is a tuple of the name of an operator and its arguments");
    const char *name = op->item[0].u.str->text;
    int form = find_form(name);
    if (!(p->takes >> form & 1))
        return cfx_call_fail(call, CFX_EINVAL, "post-op '%s' is not supported",
                             name);
    if (form <= *last)
        return cfx_call_fail(
            call, CFX_EINVAL, "post-op '%s' cannot follow '%s'", name,
            cfx_call_item(call, p->list, i - 1).u.seq->item[0].u.str->text);
    if (!fits(&forms[form], op))
        return cfx_call_fail(call, CFX_EINVAL,
                             "post-op '%s' does not take such arguments",
                             name);
    *last = form;
    p->at[form] = i;
    return form == CFX_POST_ACTIVATION
               ? cfx_infer_activation(call, name, op->item + 1,
                                      (int)op->len - 1, &p->activation)
               : CFX_OK;
}

cfx_status cfx_post_ops_read(const cfx_call *call, int bias, int list,
                             int takes, cfx_post_ops *out)
{
    cfx_status st = CFX_OK;
    int last = -1;
    *out = (cfx_post_ops){.bias = bias,
                          .list = list,
                          .takes = takes,
                          .biased = cfx_call_has(call, bias)};
    for (int i = 0; i < CFX_POST_OPS; i++)
        out->at[i] = -1;
    for (int i = 0; i < cfx_call_len(call, list) && !st; i++)
        st = read_item(call, out, i, &last);
    if (st)
        return st;
    const cfx_value *to = cfx_post_ops_args(call, out, CFX_POST_TO);
    out->type = to                                ? to->u.dtype
                : out->at[CFX_POST_QUANTIZE] >= 0 ? CFX_U8
                                                  : CFX_F32;
    return !to || out->type == CFX_F32 || out->type == CFX_BF16
               ? CFX_OK
               : cfx_call_fail(call, CFX_EDTYPE,
                               "the result is float32 or bfloat16, not %s",
                               cfx_dtypes[out->type].name);
}

const cfx_value *cfx_post_ops_args(const cfx_call *call, const cfx_post_ops *p,
                                   cfx_post_op which)
{
    int at = p->at[which];
    return at < 0 ? NULL : cfx_call_item(call, p->list, at).u.seq->item + 1;
}

static const cfx_tensor *tensor_added(const cfx_call *call,
                                      const cfx_post_ops *p)
{
    const cfx_value *v = cfx_post_ops_args(call, p, CFX_POST_ADD);
    return v ? v->u.tensor : NULL;
}

void cfx_post_ops_range(const cfx_call *call, const cfx_post_ops *p, float *lo,
                        float *hi)
{
    const cfx_value *v = cfx_post_ops_args(call, p, CFX_POST_CLAMP);
    *lo = v && v[0].kind != CFX_NONE ? (float)cfx_value_number(v[0])
                                     : -INFINITY;
    *hi = v && v[1].kind != CFX_NONE ? (float)cfx_value_number(v[1])
                                     : INFINITY;
}

cfx_status cfx_post_ops_bind(const cfx_call *call, const cfx_post_ops *p,
                             cfx_post_op which, cfx_tensor *result,
                             cfx_call *out, cfx_value in[CFX_MAX_PARAMS])
{
    enum { MOST = 8 };
    const cfx_seq *op = cfx_call_item(call, p->list, p->at[which]).u.seq;
    cfx_value given[MOST];
    char name[80];
    snprintf(name, sizeof(name), "torch.ops.cfx.%s.default",
             forms[which].name);
    const cfx_target *t = cfx_find_function(call->ctx, name);
    if (t && op->len <= MOST)
        memcpy(given, op->item, op->len * sizeof(*given));
    given[0] = cfx_value_of_tensor(result);
    if (!t || op->len > MOST || !cfx_bind__ordered(t, given, op->len, in))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "post-op '%s' takes the arguments of that operator after the first",
            forms[which].name);
    *out = (cfx_call){.ctx = call->ctx,
                      .env = call->env,
                      .err = call->err,
                      .op = t->op,
                      .schema = t->schema,
                      .in = in};
    return CFX_OK;
}

/* ---- Checks ---- */

cfx_status cfx_post_ops_check_types(const cfx_call *call,
                                    const cfx_post_ops *p, int input,
                                    int weight, uint32_t narrow)
{
    const uint32_t image = p->takes >> CFX_POST_TO & 1 ? 1u << CFX_BF16 : 0;
    const struct {
        const cfx_tensor *t;
        uint32_t other; /* the types besides float32 */
    } all[] = {{cfx_call_tensor(call, input), image},
               {cfx_call_tensor(call, weight), narrow},
               {cfx_call_tensor(call, p->bias), 0},
               {tensor_added(call, p), image}};
    for (int i = 0; i < 4; i++) {
        const cfx_tensor *t = all[i].t;
        uint32_t other = all[i].other;
        if (t && t->dtype != CFX_F32 && !(other >> t->dtype & 1))
            return cfx_call_fail(call, CFX_EDTYPE,
                                 "expected float32%s%s, got %s",
                                 other >> CFX_BF16 & 1 ? ", bfloat16" : "",
                                 other >> CFX_I8 & 1 ? ", int8 or uint8" : "",
                                 cfx_dtypes[t->dtype].name);
    }
    return CFX_OK;
}

cfx_status cfx_post_ops_check_shapes(const cfx_call *call,
                                     const cfx_post_ops *p, int rank,
                                     const cfx_dim *shape)
{
    const cfx_tensor *bias = cfx_call_tensor(call, p->bias);
    const cfx_tensor *add = tensor_added(call, p);
    cfx_dim channels = p->takes >> CFX_POST_TO & 1
                           ? cfx_dim_mul(call->env, shape[1], shape[4])
                           : shape[rank - 1];
    if (bias &&
        (bias->rank != 1 || !cfx_dim_eq(call->env, bias->shape[0], channels)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the bias does not have one element for each output channel");
    bool same = !add || add->rank == rank;
    for (int i = 0; add && same && i < rank; i++)
        same = cfx_dim_eq(call->env, add->shape[i], shape[i]);
    return same ? CFX_OK
                : cfx_call_fail(
                      call, CFX_ESHAPE,
                      "the tensor of 'add' has not the shape of the result");
}

/* ---- Cost and kernel ---- */

static void add(const cfx_call *call, cfx_dim *to, cfx_dim n, int64_t factor)
{
    cfx_dim more = cfx_dim_mul(call->env, n, cfx_dim_int(factor));
    *to = cfx_dim_add(call->env, *to, more);
}

void cfx_post_ops_cost(const cfx_call *call, const cfx_post_ops *p, cfx_dim y,
                       cfx_cost *cost)
{
    const cfx_value *v = cfx_post_ops_args(call, p, CFX_POST_CLAMP);
    int64_t steps = p->biased + (p->at[CFX_POST_ADD] >= 0) +
                    2 * (p->at[CFX_POST_QUANTIZE] >= 0) +
                    8 * (p->at[CFX_POST_QUANTIZED_ADD] >= 0);

    for (int i = 0; v && i < 2; i++)
        steps += v[i].kind != CFX_NONE;
    add(call, &cost->transcendental, y, p->activation.transcendental);
    add(call, &cost->ops, y, steps + p->activation.ops);
}

cfx_blocked_epilogue cfx_post_ops_kernel(const cfx_call *call,
                                         const cfx_post_ops *p)
{
    const cfx_tensor *bias = cfx_call_tensor(call, p->bias);
    const cfx_tensor *add = tensor_added(call, p);
    cfx_blocked_epilogue k = {.bias = bias ? bias->data : NULL,
                              .add = add ? add->data : NULL,
                              .add_narrow = add && add->dtype == CFX_BF16,
                              .narrow = p->type == CFX_BF16,
                              .converts = cfx_blocked_bfloat16(call->ctx) ==
                                          CFX_BLOCKED_PAIRS};
    cfx_post_ops_range(call, p, &k.lo, &k.hi);
    if (p->activation.op) {
        k.activation = cfx_pointwise_loop(call->ctx, CFX_C_F32,
                                          (cfx_pw)p->activation.code);
        k.params = p->activation.params;
    }
    return k;
}
