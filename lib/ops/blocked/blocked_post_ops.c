/*
 * blocked_post_ops -- read post-operations; their checks, cost and kernel.
 */
#include "ops/blocked/blocked_post_ops.h"

#include <math.h>
#include <stdio.h>

#include "op/op_impl.h"

/* ---- Reading ---- */

/* Item `at` of the list: a name and n arguments. */
typedef struct item {
    const char *name;
    const cfx_value *arg;
    int n, at;
} item;

static cfx_status read_add(const cfx_call *call, const item *op,
                           cfx_post_ops *p)
{
    (void)call;
    p->add = op->at;
    return CFX_OK;
}

static cfx_status read_clamp(const cfx_call *call, const item *op,
                             cfx_post_ops *p)
{
    (void)call;
    for (int i = 0; i < 2; i++) {
        if (cfx_value_is_none(op->arg[i]))
            continue;
        p->bound[i] = cfx_value_number(op->arg[i]);
        p->bounds++;
    }
    return CFX_OK;
}

static cfx_status read_activation(const cfx_call *call, const item *op,
                                  cfx_post_ops *p)
{
    return cfx_infer_activation(call, op->name, op->arg, op->n,
                                &p->activation);
}

static cfx_status read_to(const cfx_call *call, const item *op,
                          cfx_post_ops *p)
{
    p->type = op->arg[0].u.dtype;
    return p->type == CFX_F32 || p->type == CFX_BF16
               ? CFX_OK
               : cfx_call_fail(call, CFX_EDTYPE,
                               "the result is float32 or bfloat16, not %s",
                               cfx_dtypes[p->type].name);
}

static cfx_status read_quantize(const cfx_call *call, const item *op,
                                cfx_post_ops *p)
{
    (void)call;
    p->type = CFX_U8;
    p->zero_point = op->arg[0].u.i;
    return CFX_OK;
}

static cfx_status read_call(const cfx_call *call, const item *op,
                            cfx_post_ops *p)
{
    (void)call;
    p->call = op->at;
    return CFX_OK;
}

/* In the order of the kernels. */
static const struct form {
    const char *name; /* NULL: any other */
    cfx_status (*read)(const cfx_call *call, const item *op, cfx_post_ops *p);
    int n;          /* the number of arguments; 0: `read` checks them */
    uint32_t kinds; /* of arguments, as 1 << cfx_kind */
} forms[] = {
    {"add", read_add, 1, 1u << CFX_TENSOR},
    {"clamp", read_clamp, 2, 1u << CFX_INT | 1u << CFX_FLOAT | 1u << CFX_NONE},
    {NULL, read_activation, 0, 0},
    {"to", read_to, 1, 1u << CFX_DTYPE},
    {"blocked_depthwise_conv2d", read_call, 0, 0},
    {"quantize", read_quantize, 1, 1u << CFX_INT},
    {"quantized_add", read_call, 0, 0},
};
enum { FORMS = sizeof(forms) / sizeof(*forms) };

static int find_form(const char *name)
{
    int any = 0;
    for (int i = 0; i < FORMS; i++) {
        if (!forms[i].name)
            any = i;
        else if (!strcmp(forms[i].name, name))
            return i;
    }
    return any;
}

static bool takes(const struct form *f, const item *op)
{
    bool all = !f->n || op->n == f->n;
    for (int i = 0; all && i < f->n; i++)
        all = f->kinds >> op->arg[i].kind & 1;
    return all;
}

bool cfx_post_op_follows(const char *last, const char *next)
{
    return find_form(last) < find_form(next);
}

static cfx_status read_item(const cfx_call *call, cfx_post_ops *p, int i,
                            item *op)
{
    cfx_value v = cfx_call_item(call, p->list, i);
    const char *before = op->name;
    if (!cfx_value_is_seq(v) || !v.u.seq->len ||
        v.u.seq->item[0].kind != CFX_STR)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "a post-op is a tuple of the name of an operator and its arguments");
    *op = (item){v.u.seq->item[0].u.str->text, v.u.seq->item + 1,
                 (int)v.u.seq->len - 1, i};
    int form = find_form(op->name);
    if (!(p->takes >> form & 1))
        return cfx_call_fail(call, CFX_EINVAL, "post-op '%s' is not supported",
                             op->name);
    if (before && !cfx_post_op_follows(before, op->name))
        return cfx_call_fail(call, CFX_EINVAL,
                             "post-op '%s' cannot follow '%s'", op->name,
                             before);
    return takes(&forms[form], op)
               ? forms[form].read(call, op, p)
               : cfx_call_fail(call, CFX_EINVAL,
                               "post-op '%s' does not take such arguments",
                               op->name);
}

cfx_status cfx_post_ops_read(const cfx_call *call, int bias, int list,
                             uint32_t takes, cfx_post_ops *out)
{
    cfx_status st = CFX_OK;
    item op = {NULL};
    *out = (cfx_post_ops){.bias = bias,
                          .list = list,
                          .takes = takes,
                          .biased = cfx_call_has(call, bias),
                          .add = -1,
                          .call = -1,
                          .bound = {-INFINITY, INFINITY},
                          .type = CFX_F32};
    for (int i = 0; i < cfx_call_len(call, list) && !st; i++)
        st = read_item(call, out, i, &op);
    return st;
}

const cfx_tensor *cfx_post_ops_add(const cfx_call *call, const cfx_post_ops *p)
{
    return p->add < 0
               ? NULL
               : cfx_call_item(call, p->list, p->add).u.seq->item[1].u.tensor;
}

cfx_status cfx_post_ops_bind(const cfx_call *call, const cfx_post_ops *p,
                             cfx_tensor *result, cfx_call *out,
                             cfx_value in[CFX_MAX_PARAMS])
{
    enum { MOST = 8 };
    const cfx_seq *op = cfx_call_item(call, p->list, p->call).u.seq;
    cfx_value given[MOST];
    char name[80];
    snprintf(name, sizeof(name), "torch.ops.cfx.%s.default",
             op->item[0].u.str->text);
    const cfx_target *t = cfx_find_function(call->ctx, name);
    if (t && op->len <= MOST)
        memcpy(given, op->item, op->len * sizeof(*given));
    given[0] = cfx_value_of_tensor(result);
    if (!t || op->len > MOST || !cfx_bind__ordered(t, given, op->len, in))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "post-op '%s' takes the arguments of that operator after the first",
            op->item[0].u.str->text);
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
    const uint32_t image = p->takes & CFX_POST_TO ? 1u << CFX_BF16 : 0;
    const struct {
        const cfx_tensor *t;
        uint32_t other; /* the types besides float32 */
    } all[] = {{cfx_call_tensor(call, input), image},
               {cfx_call_tensor(call, weight), narrow},
               {cfx_call_tensor(call, p->bias), 0},
               {cfx_post_ops_add(call, p), image}};
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
    const cfx_tensor *add = cfx_post_ops_add(call, p);
    cfx_dim channels = p->takes & CFX_POST_TO
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
    int64_t steps = p->biased + (p->add >= 0) + p->bounds +
                    2 * (p->type == CFX_U8) +
                    8 * (p->call >= 0 && p->type == CFX_U8);

    add(call, &cost->transcendental, y, p->activation.transcendental);
    add(call, &cost->ops, y, steps + p->activation.ops);
}

cfx_blocked_epilogue cfx_post_ops_kernel(const cfx_call *call,
                                         const cfx_post_ops *p)
{
    const cfx_tensor *bias = cfx_call_tensor(call, p->bias);
    const cfx_tensor *add = cfx_post_ops_add(call, p);
    cfx_blocked_epilogue k = {.bias = bias ? bias->data : NULL,
                              .add = add ? add->data : NULL,
                              .add_narrow = add && add->dtype == CFX_BF16,
                              .narrow = p->type == CFX_BF16,
                              .converts = cfx_blocked_bfloat16(call->ctx) ==
                                          CFX_BLOCKED_PAIRS,
                              .lo = (float)p->bound[0],
                              .hi = (float)p->bound[1]};
    if (p->activation.op) {
        k.activation = cfx_pointwise_loop(call->ctx, CFX_C_F32,
                                          (cfx_pw)p->activation.code);
        k.params = p->activation.params;
    }
    return k;
}
