/*
 * call -- run one bound call: infer, allocate, compute.
 *
 * infer leaves metas, views or a value in the call. Then all memory that the
 * call needs is allocated (memory.c says how much). A call that writes to its
 * first argument computes each element in place, if the operator is pointwise;
 * otherwise the result is computed apart and copied.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/stop.h"
#include "dim/env.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "tensor/storage.h"

/* ---- Running ---- */

/* The copies that a call is run with. */
typedef struct copies {
    uint32_t in, out;       /* a bit for each argument and result */
    const cfx_value *given; /* the arguments as they were bound */
    cfx_value arg[CFX_MAX_PARAMS];
    cfx_tensor *result[CFX_MAX_OUTS];
} copies;

static cfx_status make_contiguous(void *user, cfx_value v, cfx_value *out)
{
    if (v.kind != CFX_TENSOR || cfx_tensor_is_contiguous(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_tensor *t = cfx_loop_contiguous(user, v.u.tensor);
    if (!t)
        return CFX_ENOMEM;
    *out = cfx_value_of_tensor(t);
    return CFX_OK;
}

/* Copy all tensors in argument k that are not contiguous. */
static cfx_status copy_argument(cfx_call *call, int k, copies *c)
{
    cfx_value made;
    if (c->in >> k & 1) /* with another tensor of its list */
        return CFX_OK;
    cfx_status st = cfx_value_map(&made, call->ctx, call->in[k],
                                  make_contiguous, call, call->err);
    if (st)
        return st;
    if (!c->in) {
        c->given = call->in;
        memcpy(c->arg, call->in,
               (size_t)call->schema->nparams * sizeof(*c->arg));
        call->in = c->arg;
    }
    c->in |= (uint32_t)1 << k;
    c->arg[k] = made;
    return CFX_OK;
}

static cfx_status replace_result(cfx_call *call, int i, copies *c)
{
    cfx_tensor *t;
    cfx_status st = cfx_loop_like(call, call->out[i], &t);
    if (st)
        return st;
    c->out |= (uint32_t)1 << i;
    c->result[i] = call->out[i];
    call->out[i] = t;
    return CFX_OK;
}

static cfx_context *work_context(const cfx_call *call)
{
    return call->work_ctx ? call->work_ctx : call->ctx;
}

static cfx_status give_workspace(cfx_call *call, size_t bytes)
{
    call->work = cfx_block_alloc(work_context(call), bytes);
    if (!call->work)
        return cfx_call_fail(call, CFX_ENOMEM,
                             "out of memory for %zu bytes of scratch", bytes);
    call->work_size = bytes;
    return CFX_OK;
}

static cfx_status give_memory(cfx_call *call, const cfx_request *r, void *user)
{
    switch (r->kind) {
    case CFX_REQUEST_RESULT:
    case CFX_REQUEST_APART: return cfx_tensor_alloc(r->t, call->err);
    case CFX_REQUEST_ARGUMENT: return copy_argument(call, r->at, user);
    case CFX_REQUEST_TEMP: return replace_result(call, r->at, user);
    default: return give_workspace(call, r->bytes);
    }
}

/* Free what only `run` needed, and copy the temporaries to their results. */
static cfx_status give_back(cfx_call *call, copies *c, cfx_status st)
{
    if (call->work) {
        cfx_block_free(work_context(call), call->work, call->work_size);
        call->work = NULL;
    }
    for (int i = 0; c->out >> i; i++) {
        cfx_tensor *temp = call->out[i];
        if (!(c->out >> i & 1))
            continue;
        call->out[i] = c->result[i];
        if (!st)
            st = cfx_tensor_copy(call->out[i], temp, call->err);
        cfx_tensor_unref(temp);
    }
    for (int k = 0; c->in >> k; k++)
        if (c->in >> k & 1)
            cfx_value_unref(c->arg[k]);
    if (c->in)
        call->in = c->given;
    return st;
}

CFX_NOINLINE
static cfx_status run_op(cfx_call *call)
{
    copies c;
    c.in = c.out = 0;
    cfx_status st = cfx_call__request_memory(call, give_memory, &c);
    if (!st && call->op->run)
        st = call->op->run(call);
    return call->work || c.in || c.out ? give_back(call, &c, st) : st;
}

/* Most calls: the only result got its memory in infer, and the operator asks
 * for no more. */
static bool has_its_memory(const cfx_call *call)
{
    return call->nout == 1 && call->out[0]->storage &&
           call->result.kind == CFX_ABSENT && call->op->run &&
           !(call->op->flags & CFX_OP_COPIES) && !call->op->workspace;
}

static bool is_meta(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor);
}

static cfx_status check_metas(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (call->schema->tensors >> k & 1 &&
            CFX_UNLIKELY(cfx_value_any(call->in[k], is_meta, NULL)))
            return cfx_call_fail(call, CFX_EINVAL, "argument '%s' has no data",
                                 call->schema->params[k].name);
    return CFX_OK;
}

CFX_NOINLINE
static cfx_status run_written(cfx_call *call)
{
    cfx_status st = cfx_call__check_targets(call);
    for (int i = 0; i < call->nout && !st && call->into; i++)
        if (cfx_tensor_is_meta(cfx_call__target(call, i)))
            st = cfx_call_fail(call, CFX_EINVAL, "argument 'out' has no data");
    if (st)
        return st;
    bool straight = cfx_call__writes_straight(call);
    if (straight)
        cfx_call__aim_outs(call);
    st = run_op(call);
    if (!st && !straight)
        st = cfx_call__copy_outs(call);
    if (!st)
        cfx_call__replace_outs(call);
    return st;
}

static cfx_status wrap(cfx_call *call, cfx_value *out)
{
    if (call->result.kind != CFX_ABSENT) {
        *out = call->result;
        call->result = CFX_NOTHING;
    } else if (call->nout == 1 && call->schema->nreturns == 1) {
        *out = cfx_value_of_tensor(call->out[0]);
        call->nout = 0;
    } else {
        cfx_value item[CFX_MAX_OUTS];
        for (int i = 0; i < call->nout; i++)
            item[i] = cfx_value_of_tensor(call->out[i]);
        *out = cfx_seq_new(call->ctx, CFX_TUPLE, call->nout, item,
                           call->schema->result);
        if (out->kind == CFX_ABSENT)
            return cfx_no_memory(call->err);
    }
    return CFX_OK;
}

/* Kernels leave work out when the context stops: then nothing that came of it
 * counts, an error neither. */
static cfx_status check_stop(cfx_call *call, cfx_status st)
{
    if (CFX_LIKELY(!cfx_context_stops(call->ctx)))
        return st;
    if (st && call->err)
        *call->err = (cfx_error){0};
    return cfx_context_check(call->ctx, call->err);
}

static cfx_status finish(cfx_call *call, cfx_status st, cfx_value *out)
{
    if (!st)
        st = wrap(call, out);
    cfx_call__clear(call);
    return st;
}

/* ---- The state of a call ---- */

/* On the stack; larger ones are allocated. */
typedef union state_buffer {
    max_align_t align;
    unsigned char bytes[384];
} state_buffer;

static cfx_status get_state(cfx_call *call, state_buffer *buffer)
{
    size_t n = call->op->state_size;
    call->state = NULL;
    if (!n)
        return CFX_OK;
    call->state = n <= sizeof(*buffer) ? buffer : cfx_alloc(call->ctx, n);
    if (!call->state)
        return cfx_no_memory(call->err);
    memset(call->state, 0, n);
    return CFX_OK;
}

static void release_state(cfx_call *call, const state_buffer *buffer)
{
    if (CFX_UNLIKELY(call->state && call->state != buffer))
        cfx_free(call->ctx, call->state, call->op->state_size);
    call->state = NULL;
}

/* ---- Costs ---- */

/* The type of the first float tensor, else of the first tensor. */
static cfx_dtype type_of(const cfx_call *call)
{
    cfx_dtype first = call->nout ? (cfx_dtype)call->out[0]->dtype : CFX_F32;
    bool any = false;
    for (int k = 0; k < call->schema->nparams; k++) {
        const cfx_value v = call->in[k];
        bool list = cfx_value_is_seq(v) && v.u.seq->len;
        cfx_value one = list ? v.u.seq->item[0] : v;
        if (one.kind != CFX_TENSOR)
            continue;
        cfx_dtype t = (cfx_dtype)one.u.tensor->dtype;
        if (cfx_dtype_is_float(t))
            return t;
        if (!any)
            first = t;
        any = true;
    }
    return first;
}

static cfx_status find_cost(cfx_call *call, void *user)
{
    cfx_cost *cost = user;
    cfx_cost_rule *rule = cfx_op__cost(call->ctx, call->op);
    cost->dtype = type_of(call);
    if (rule)
        rule(call, cost);
    cfx_cost__fill(call, cost);
    return CFX_OK;
}

/* ---- Types that few operators compute with ---- */

enum { COMPLEX_TYPES = 1 << CFX_C64 | 1 << CFX_C128 };

/* Is it of a type that an operator with these flags does not take? */
static bool is_refused(uint32_t flags, cfx_value v)
{
    if (v.kind != CFX_TENSOR)
        return v.kind == CFX_COMPLEX && !(flags & CFX_OP_COMPLEX);
    int type = 1 << v.u.tensor->dtype;
    return type & CFX_STORED_TYPES ||
           (type & COMPLEX_TYPES && !(flags & CFX_OP_COMPLEX));
}

static cfx_status refuse_type(void *user, cfx_value v)
{
    const cfx_call *call = user;
    return is_refused((uint32_t)call->op->flags, v)
               ? cfx_infer_refuse(call, cfx_value_dtype(v))
               : CFX_OK;
}

/* The results come first: most often they tell all, and there are few. */
CFX_NOINLINE
static cfx_status check_types(cfx_call *call)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < call->nout && !st; i++)
        st = refuse_type(call, cfx_value_of_tensor(call->out[i]));
    for (int k = 0; k < call->schema->nparams && !st; k++)
        if (cfx_value_is_seq(call->in[k]) || call->in[k].kind == CFX_TENSOR ||
            (call->in[k].kind == CFX_COMPLEX && call->nout))
            st = cfx_value_visit(call->in[k], refuse_type, call);
    return st;
}

/*
 * One pass over a call's results and arguments tells of nearly all calls that
 * nothing need be refused: a bit for each type of a tensor, and these.
 */
enum {
    SEEN_META = 1 << 30,   /* a tensor without numbers */
    SEEN_OTHERS = 1 << 29, /* sequences or complex numbers */
    OTHER_KINDS = 1 << CFX_COMPLEX | 1 << CFX_TUPLE | 1 << CFX_LIST
};

static int survey(const cfx_call *call)
{
    const cfx_value *v = call->in, *end = v + call->schema->nparams;
    int seen = 0;
    for (int i = 0; i < call->nout; i++)
        seen |= 1 << call->out[i]->dtype;
    for (; v < end; v++) {
        if (v->kind == CFX_TENSOR)
            seen |= 1 << v->u.tensor->dtype |
                    (cfx_tensor_is_meta(v->u.tensor) ? SEEN_META : 0);
        else if (OTHER_KINDS >> v->kind & 1)
            seen |= SEEN_OTHERS;
    }
    return seen;
}

/* Call the rule. An extent that lacked memory looks like one that does not fit. */
static cfx_status infer(cfx_call *call)
{
    const cfx_exprs *extents = call->env ? call->env->table : NULL;
    uint64_t failures = extents ? cfx_exprs_failures(extents) : 0;
    if (CFX_UNLIKELY(!call->op->infer))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "an operator of higher order is called in a scope");
    cfx_status st = call->op->infer(call);
    if (CFX_LIKELY(!st || !extents) || cfx_exprs_failures(extents) == failures)
        return st;
    cfx_error_clear(call->err);
    return cfx_no_memory(call->err);
}

static cfx_status check_seen(cfx_call *call, int seen)
{
    const int rare = CFX_STORED_TYPES | COMPLEX_TYPES | SEEN_OTHERS;
    return CFX_LIKELY(!(seen & rare)) || call->op->flags & CFX_OP_STORED_TYPES
               ? CFX_OK
               : check_types(call);
}

static cfx_status infer_and_check(cfx_call *call)
{
    cfx_status st = infer(call);
    return st || !call->op->run ? st : check_seen(call, survey(call));
}

/* infer, then what somebody wants to know of it, and that a call that writes
 * gives what it has written to. */
static cfx_status look_at(cfx_call *call, cfx_outs_visitor *look, void *user)
{
    cfx_status st = infer_and_check(call);
    bool writes = call->inplace || call->into;
    if (!st && writes)
        st = cfx_call__check_targets(call);
    if (!st && look)
        st = look(call, user);
    if (!st && writes)
        cfx_call__replace_outs(call);
    return st;
}

static cfx_status visit_outs(cfx_call *call, cfx_outs_visitor *at, void *user,
                             cfx_value *out)
{
    cfx_out_taken taken;
    cfx_status st = cfx_call__find_device(call);
    if (CFX_LIKELY(!(call->op->flags & CFX_OP__OUT)))
        return finish(call, st ? st : look_at(call, at, user), out);
    if (!st)
        st = cfx_call__take_out(call, &taken);
    if (st)
        return st;
    st = look_at(call, at, user);
    cfx_call__put_out(call, &taken);
    return finish(call, st, out);
}

cfx_status cfx_call__visit_outs(cfx_call *call, cfx_outs_visitor *at,
                                void *user, cfx_value *out)
{
    state_buffer buffer;
    *out = CFX_NOTHING;
    if (CFX_UNLIKELY(cfx_call__is_batched(call)))
        return cfx_call__run_batched(
            call, &(cfx_batched){.at = at, .user = user}, out);
    call->meta = true;
    cfx_status st = get_state(call, &buffer);
    if (!st)
        st = visit_outs(call, at, user, out);
    release_state(call, &buffer);
    return st;
}

cfx_status cfx_call_meta(cfx_call *call, cfx_value *out)
{
    return cfx_call__visit_outs(call, NULL, NULL, out);
}

cfx_status cfx_call_cost(cfx_call *call, cfx_cost *cost, cfx_value *out)
{
    cfx_dim zero = cfx_dim_int(0);
    *cost = (cfx_cost){.macs = zero,
                       .ops = zero,
                       .transcendental = zero,
                       .bytes_read = CFX_DIM_BAD,
                       .bytes_written = CFX_DIM_BAD};
    if (CFX_UNLIKELY(cfx_call__is_batched(call)))
        return cfx_call__run_batched(call, &(cfx_batched){.cost = cost}, out);
    return cfx_call__visit_outs(call, find_cost, cost, out);
}

static cfx_status check_arguments(cfx_call *call)
{
    int seen = survey(call);
    cfx_status st = check_seen(call, seen);
    return CFX_LIKELY(st || !(seen & (SEEN_META | SEEN_OTHERS)))
               ? st
               : check_metas(call);
}

static cfx_status run_call(cfx_call *call)
{
    cfx_status st = infer(call);
    if (!st && call->op->run)
        st = check_arguments(call);
    if (st)
        return st;
    if (call->inplace || call->into)
        return run_written(call);
    if (call->op->flags & CFX_OP_OWN_RESULT)
        cfx_call__clear(call);
    return CFX_LIKELY(has_its_memory(call)) ? call->op->run(call)
                                            : run_op(call);
}

/* A call with `out=`, or of an overload that has it. */
CFX_NOINLINE
static cfx_status run_with_out(cfx_call *call)
{
    cfx_out_taken taken;
    cfx_status st = cfx_call__take_out(call, &taken);
    if (st)
        return st;
    st = run_call(call);
    cfx_call__put_out(call, &taken);
    return st;
}

cfx_status cfx_call_eager(cfx_call *call, cfx_value *out)
{
    state_buffer buffer;
    *out = CFX_NOTHING;
    if (CFX_UNLIKELY(cfx_call__is_batched(call)))
        return cfx_call__run_batched(call, &(cfx_batched){.eager = true}, out);
    call->meta = false;
    call->device = 0;
    cfx_status st = get_state(call, &buffer);
    if (!st && call->known)
        st = cfx_call__find_device(call);
    if (!st)
        st = CFX_LIKELY(!(call->op->flags & CFX_OP__OUT)) ? run_call(call)
                                                          : run_with_out(call);
    st = finish(call, check_stop(call, st), out);
    release_state(call, &buffer);
    return st;
}
