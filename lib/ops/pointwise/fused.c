/*
 * fused -- several pointwise operators in one pass over memory:
 * torch.ops.cfx.fused_pointwise.
 *
 *     torch.ops.cfx.fused_pointwise.default([x, y], [('torch.mul', 'v0', 'v1'),
 *                                              ('torch.sigmoid', 'v2')])
 *
 * Values are numbered: the operands, then the result of each step. A step has the
 * name of a function, its positional arguments, and a dict of keyword arguments
 * if it has any. The str 'vN' is value N; other arguments stand for themselves.
 * The result is that of the last step.
 *
 * shape   as of the steps, one after the other.
 * cost    the sum of the steps; operands are read once, and the result is
 *         written.
 */
#include "kernel/pointwise/program.h"

#include <stdlib.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "op/scope_impl.h"
#include "ops/pointwise/fused.h"

_Static_assert((int)CFX_FUSED_STEPS == CFX_PROGRAM_STEPS &&
                   (int)CFX_FUSED_INPUTS == CFX_PROGRAM_INPUTS,
               "a program has room for the steps");

CFX_PARAMS(params, OPERANDS, STEPS);

/* ---- Steps as calls ---- */

/* The values of a program: operands, then results. */
typedef struct values {
    const cfx_call *call;
    const cfx_value *result;
    int nresults;
} values;

/* The value that an argument stands for; absent for one that there is not. */
static cfx_value value_of(const values *v, cfx_value arg)
{
    const char *text = arg.kind == CFX_STR ? arg.u.str->text : "";
    int operands = cfx_call_len(v->call, OPERANDS);
    char *end;
    if (text[0] != 'v' || text[1] < '0' || text[1] > '9')
        return arg;
    long n = strtol(text + 1, &end, 10);
    if (*end || n >= operands + v->nresults)
        return CFX_NOTHING;
    return n < operands ? cfx_call_item(v->call, OPERANDS, (int)n)
                        : v->result[n - operands];
}

static cfx_value malformed(cfx_scope *s, int step, const char *why)
{
    return cfx_scope_fail(s, CFX_EINVAL, "step %d %s", step, why);
}

/* Set n arguments; a dict gives a key and a value in turn. */
static bool set_args(const values *v, cfx_value *to, const cfx_value *from,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = value_of(v, from[i]);
        if (!to[i].kind)
            return false;
    }
    return true;
}

static cfx_value call_step(cfx_scope *s, const values *v, int step)
{
    cfx_value f = cfx_call_item(v->call, STEPS, step);
    cfx_value arg[CFX_FUSED_ARGS], keyword[2 * CFX_FUSED_ARGS];
    const cfx_seq *kwargs = NULL;
    if (!cfx_value_is_seq(f) || !f.u.seq->len ||
        f.u.seq->item[0].kind != CFX_STR)
        return malformed(s, step,
                         "does not begin with the name of a function");
    uint32_t n = f.u.seq->len - 1;
    if (n && f.u.seq->item[n].kind == CFX_DICT)
        kwargs = f.u.seq->item[n--].u.seq;
    if (n > CFX_FUSED_ARGS || (kwargs && kwargs->len > 2 * CFX_FUSED_ARGS))
        return malformed(s, step, "has too many arguments");
    if (!set_args(v, arg, f.u.seq->item + 1, n) ||
        (kwargs && !set_args(v, keyword, kwargs->item, kwargs->len)))
        return malformed(s, step, "has a value that no step before it gives");
    return cfx_call_function(
        s, f.u.seq->item[0].u.str->text,
        (cfx_args){arg, n, keyword, kwargs ? kwargs->len / 2 : 0});
}

/* All steps, in a scope. */
static cfx_value fused_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value result[CFX_PROGRAM_STEPS];
    values v = {call, result, 0};
    int n = cfx_call_len(call, STEPS);
    if (n < 1 || n > CFX_PROGRAM_STEPS)
        return cfx_scope_fail(s, CFX_EINVAL, "takes 1 to %d steps, but got %d",
                              CFX_PROGRAM_STEPS, n);
    for (int i = 0; i < n && !cfx_scope_failed(s); i++, v.nresults++)
        result[i] = call_step(s, &v, i);
    return cfx_scope_failed(s) ? cfx_none() : result[n - 1];
}

/* ---- Steps as loops ---- */

/* The state of a call. */
struct program {
    cfx_program p;
    bool planned; /* else the steps are run one after the other */
    int ninputs;
    int input[CFX_PROGRAM_INPUTS]; /* which operands the inputs are */
};

/* A scope that infers the steps and records their loops. */
typedef struct recorder {
    cfx_scope scope;
    const cfx_call *call;
    struct program *to;
    const cfx_tensor *result[CFX_PROGRAM_STEPS];
} recorder;

static bool is_single(const cfx_tensor *t)
{
    bool one = true;
    for (int i = 0; i < t->rank; i++)
        one = one && cfx_dim_is(t->shape[i], 1);
    return one;
}

/* The input that an operand is; a new one if it is none yet, -1 if there are too
 * many. */
static int find_input(struct program *to, int operand)
{
    int i = 0;
    while (i < to->ninputs && to->input[i] != operand)
        i++;
    if (i == CFX_PROGRAM_INPUTS)
        return -1;
    if (i == to->ninputs)
        to->input[to->ninputs++] = operand;
    return i;
}

static bool set_tensor(const recorder *r, cfx_program_operand *o,
                       const cfx_tensor *t)
{
    o->single = is_single(t);
    for (int i = r->to->p.nsteps; i-- > 0;)
        if (r->result[i] == t) {
            o->from = CFX_FROM_STEP;
            o->at = i;
            return true;
        }
    for (int i = 0; i < cfx_call_len(r->call, OPERANDS); i++) {
        cfx_value v = cfx_call_item(r->call, OPERANDS, i);
        if (v.kind != CFX_TENSOR || v.u.tensor != t)
            continue;
        o->from = CFX_FROM_INPUT;
        o->at = find_input(r->to, i);
        return o->at >= 0;
    }
    return false;
}

static bool set_operand(const recorder *r, cfx_program_operand *o, cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        return set_tensor(r, o, v.u.tensor);
    o->from = CFX_FROM_NUMBER;
    o->dtype = v.kind == CFX_FLOAT ? CFX_F64 : CFX_I64;
    if (v.kind == CFX_FLOAT)
        o->number.d = v.u.f;
    else
        o->number.i = v.u.i;
    return v.kind == CFX_FLOAT || v.kind == CFX_INT ||
           v.kind == CFX_BOOL_VALUE;
}

/* Add the loop of a call as a step; false if it has none. */
static bool add_step(recorder *r, const cfx_call *call)
{
    cfx_program *p = &r->to->p;
    cfx_program_step *step = &p->step[p->nsteps];
    cfx_loop l;
    if (!call->op->loop(call, &l) || p->nsteps == CFX_PROGRAM_STEPS)
        return false;
    *step = (cfx_program_step){.code = l.code, .type = l.type, .n = l.n};
    step->out = (cfx_dtype)call->out[0]->dtype;
    for (int i = 0; i < 3; i++)
        step->params[i] = l.params[i];
    for (int i = 0; i < l.n; i++)
        if (!set_operand(r, &step->in[i], l.in[i]))
            return false;
    r->result[p->nsteps++] = call->out[0];
    return true;
}

static cfx_status record_step(cfx_call *call, void *user)
{
    recorder *r = user;
    if (!call->op->loop || call->inplace)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "'%s' is not computed element by element",
                             call->schema->name);
    if (r->to->planned)
        r->to->planned = add_step(r, call);
    return CFX_OK;
}

static cfx_status record_call(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    return cfx_call__visit_outs(call, record_step, s, out);
}

static const cfx_scope_class recorder_class = {
    .size = sizeof(cfx_scope_class),
    .name = "recorder of loops",
    .super = &cfx_composite__meta,
    .call_op = record_call,
};

/* ---- Rules ---- */

/* Can each input be broadcast to the result? One that only steps without use
 * read need not. */
static bool inputs_fit(const cfx_call *call, const struct program *to,
                       const cfx_tensor *y)
{
    bool fit = y->rank <= CFX_ITER_RANK;
    for (int i = 0; i < to->ninputs; i++) {
        const cfx_tensor *x =
            cfx_call_item(call, OPERANDS, to->input[i]).u.tensor;
        fit = fit && x->rank <= y->rank;
        for (int a = 1; fit && a <= x->rank; a++)
            fit = cfx_dim_is(x->shape[x->rank - a], 1) ||
                  cfx_dim_same(x->shape[x->rank - a], y->shape[y->rank - a]);
    }
    return fit;
}

static cfx_status fused_infer(cfx_call *call)
{
    struct program *to = call->state;
    recorder r = {.call = call, .to = to};
    to->planned = true;
    cfx_scope_init(&r.scope, &recorder_class, call->ctx, call->env);
    cfx_value v = fused_build(&r.scope, call);
    cfx_status st = cfx_scope_status(&r.scope, call->err);
    if (!st && v.kind != CFX_TENSOR)
        st = cfx_call_fail(call, CFX_EINVAL, "gives no tensor");
    if (!st) {
        to->planned = to->planned && cfx_program_plan(&to->p) &&
                      inputs_fit(call, to, v.u.tensor);
        st = cfx_call_out_like(call, v.u.tensor);
    }
    cfx_scope_release(&r.scope);
    return st;
}

static void fused_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, fused_build);
}

static size_t fused_workspace(const cfx_call *call)
{
    const struct program *to = call->state;
    return to->planned ? cfx_program_work(call->ctx, &to->p) : 0;
}

static cfx_status fused_run(cfx_call *call)
{
    const struct program *to = call->state;
    cfx_iter it;
    if (!to->planned)
        return cfx_composite_run(call, fused_build);
    cfx_loop_out(&it, call->out[0]);
    for (int i = 0; i < to->ninputs; i++)
        cfx_loop_value(&it, cfx_call_item(call, OPERANDS, to->input[i]));
    return cfx_program_run(call->ctx, &to->p, &it, call->work)
               ? CFX_OK
               : cfx_call_fail(call, CFX_EINVAL, "ZeroDivisionError");
}

const cfx_op cfx_op__fused_pointwise = {
    .schema = "fused_pointwise(any[] operands, any[] steps) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.fused_pointwise.default torch.ops.cfx.fused_pointwise",
    .doc = "Several pointwise operators in one pass over memory.",
    .flags = CFX_OP_BROADCASTS,
    .state_size = sizeof(struct program),
    .infer = fused_infer,
    .cost = fused_cost,
    .workspace = fused_workspace,
    .run = fused_run,
};
