/*
 * memory -- the memory that a call needs, for runs and for memory plans.
 */
#include "op/op_impl.h"

static bool is_known(const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_is_int(t->shape[i]) || !cfx_dim_is_int(t->stride[i]))
            return false;
    return true;
}

static cfx_status find_symbol(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_SYMINT ||
                   (v.kind == CFX_TENSOR && !is_known(v.u.tensor))
               ? CFX_ESHAPE
               : CFX_OK;
}

bool cfx_value__has_symbols(cfx_value v)
{
    return cfx_value_visit(v, find_symbol, NULL) == CFX_ESHAPE;
}

/* The rules of workspaces need numbers. */
static bool workspace_is_known(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (cfx_value__has_symbols(call->in[k]))
            return false;
    for (int i = 0; i < call->nout; i++)
        if (!is_known(call->out[i]))
            return false;
    return true;
}

/* Views share the memory of what they view. An operator without a `run` gives
 * nothing but views in a list. */
static cfx_status request_results(cfx_call *call, cfx_call_giver *give,
                                  void *user)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < call->nout && !st; i++) {
        cfx_request r = {CFX_REQUEST_RESULT, i, call->out[i], 0};
        if (call->alias[i] || r.t->storage)
            continue;
        if (cfx_call__target(call, i))
            r.kind = CFX_REQUEST_APART;
        st = give(call, &r, user);
    }
    if (!call->op->run || !cfx_value_is_seq(call->result))
        return st;
    for (uint32_t i = 0; i < call->result.u.seq->len && !st; i++) {
        cfx_value v = call->result.u.seq->item[i];
        const cfx_request r = {CFX_REQUEST_RESULT, (int)i, v.u.tensor, 0};
        if (v.kind == CFX_TENSOR && !v.u.tensor->storage)
            st = give(call, &r, user);
    }
    return st;
}

/* Who is asked for a copy of an argument. */
typedef struct copying {
    cfx_call *call;
    cfx_call_giver *give;
    void *user;
    int k; /* the argument */
} copying;

static cfx_status request_copy(void *user, cfx_value v)
{
    const copying *c = user;
    const cfx_request r = {CFX_REQUEST_ARGUMENT, c->k, v.u.tensor, 0};
    return v.kind == CFX_TENSOR && !cfx_tensor_is_contiguous(v.u.tensor)
               ? c->give(c->call, &r, c->user)
               : CFX_OK;
}

static cfx_status request_copies(cfx_call *call, cfx_call_giver *give,
                                 void *user)
{
    const uint32_t flags = call->op->flags;
    int n = flags & CFX_OP_COPIES_TO_CONTIGUOUS         ? call->schema->nparams
            : flags & CFX_OP_COPIES_FIRST_TO_CONTIGUOUS ? 1
                                                        : 0;
    cfx_status st = CFX_OK;
    copying c = {call, give, user, 0};
    for (; c.k < n && !st; c.k++)
        st = cfx_value_visit(call->in[c.k], request_copy, &c);
    n = flags & CFX_OP_COPIES_FROM_CONTIGUOUS ? call->nout : 0;
    for (int i = 0; i < n && !st; i++) {
        const cfx_request r = {CFX_REQUEST_TEMP, i, call->out[i], 0};
        if (!cfx_tensor_is_contiguous(r.t))
            st = give(call, &r, user);
    }
    return st;
}

cfx_status cfx_call__request_memory(cfx_call *call, cfx_call_giver *give,
                                    void *user)
{
    cfx_status st = CFX_OK;
    if (!cfx_call__writes_straight(call))
        st = request_results(call, give, user);
    if (st || !call->op->run)
        return st;
    if (call->op->flags & CFX_OP_COPIES)
        st = request_copies(call, give, user);
    if (st || !call->op->workspace ||
        (call->meta && !workspace_is_known(call)))
        return st;
    const cfx_request r = {CFX_REQUEST_WORK, 0, NULL,
                           call->op->workspace(call)};
    return r.bytes ? give(call, &r, user) : CFX_OK;
}
