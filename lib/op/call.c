/*
 * call -- run one bound call: infer, allocate, compute.
 *
 * infer leaves metas, views or a value in the call. request_memory then asks
 * for all memory that the call needs: an eager call gets it, a memory plan
 * notes it. A call that writes to its first argument runs straight into it
 * where each element depends on its own only; otherwise the result is computed
 * apart and copied over.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/stop.h"
#include "op/cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "tensor/storage.h"

/* Is it the last word of a name that calls have, or of one without overload? */
static bool is_called(const char *aliases, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = aliases; at && (at = strstr(at, name)); at += n)
        if (at > aliases && at[-1] == '.' && strchr(" .", at[n]))
            return true;
    return false;
}

const char *cfx_op__shown_name(const cfx_op *op, const cfx_schema *schema,
                               char *buf, size_t size)
{
    const char *name = schema ? schema->name : "call";
    if (!op || !schema || !op->aliases || is_called(op->aliases, name) ||
        (op->inplace_aliases && strstr(op->inplace_aliases, name)))
        return name;
    snprintf(buf, size, "%.*s", (int)strcspn(op->aliases, " "), op->aliases);
    return buf;
}

cfx_status cfx_call_fail(const cfx_call *call, cfx_status code,
                         const char *fmt, ...)
{
    char text[CFX_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char name[64];
    return cfx_fail(call->err, code, "%s: %s",
                    cfx_op__shown_name(call->op, call->schema, name,
                                       sizeof(name)), text);
}

cfx_status cfx_call_axis(const cfx_call *call, int64_t axis, int rank,
                         int *out)
{
    int64_t n = rank ? rank : 1;
    if (axis < -n || axis >= n)
        return cfx_call_fail(call, CFX_EINVAL,
                             "Dimension out of range (expected to be in range "
                             "of [%lld, %lld], but got %lld)", (long long)-n,
                             (long long)n - 1, (long long)axis);
    *out = (int)(axis < 0 ? axis + n : axis);
    return CFX_OK;
}

/* ---- Results, from within infer ---- */

static cfx_status add_out(cfx_call *call, cfx_tensor *t, int alias)
{
    if (call->nout == CFX_MAX_OUTS) {
        cfx_tensor_unref(t);
        return cfx_call_fail(call, CFX_EINVAL, "too many results");
    }
    call->alias[call->nout] = (uint8_t)alias;
    call->out[call->nout++] = t;
    return CFX_OK;
}

cfx_status cfx_call_new(cfx_call *call, cfx_tensor **out, cfx_dtype dtype,
                        int rank, const cfx_dim *shape)
{
    cfx_status st = cfx_tensor_meta(out, call->ctx, dtype, rank, shape, NULL,
                                    call->err);
    if (!st)
        (*out)->device = call->device;
    return st;
}

static bool all_known(int rank, const cfx_dim *shape, const cfx_dim *stride,
                      cfx_dim offset)
{
    bool known = cfx_dim_is_int(offset);
    for (int i = 0; i < rank; i++)
        known = known && cfx_dim_is_int(shape[i]) && cfx_dim_is_int(stride[i]);
    return known;
}

/* Among metas there may be tensors with numbers, such as weights; what symbols
 * make of one is a meta. */
cfx_status cfx_call_new_view(cfx_call *call, cfx_tensor **out, int k, int rank,
                             const cfx_dim *shape, const cfx_dim *stride,
                             cfx_dim offset)
{
    const cfx_tensor *base = cfx_call_tensor(call, k);
    if (!call->meta || cfx_tensor_is_meta(base) ||
        all_known(rank, shape, stride, offset))
        return cfx_tensor__view_in(out, call->ctx, base, rank, shape, stride,
                                   offset, call->err);
    cfx_status st = cfx_tensor_meta(out, call->ctx, (cfx_dtype)base->dtype,
                                    rank, shape, stride, call->err);
    if (!st) {
        (*out)->offset = offset;
        (*out)->device = base->device;
    }
    return st;
}

/* Will numbers be computed into it? Then a result gets its memory at once. */
static bool is_computed(const cfx_call *call)
{
    return !call->meta && !call->inplace && !call->into && call->op->run &&
           !(call->op->flags & CFX_OP_OWN_RESULT);
}

cfx_status cfx_call_out_strided(cfx_call *call, cfx_dtype dtype, int rank,
                                const cfx_dim *shape, const cfx_dim *stride)
{
    cfx_tensor *t;
    cfx_status st =
        is_computed(call)
            ? cfx_tensor__empty(&t, call->ctx, dtype, rank, shape, stride,
                                call->err)
            : cfx_tensor_meta(&t, call->ctx, dtype, rank, shape, stride,
                              call->err);
    if (st)
        return st;
    t->device = call->device;
    return add_out(call, t, 0);
}

cfx_status cfx_call__out_rows(cfx_call *call, cfx_dtype dtype,
                              const cfx_tensor *like)
{
    cfx_tensor *t;
    if (!is_computed(call) || cfx_tensor_is_meta(like))
        return cfx_call_out(call, dtype, like->rank, like->shape);
    cfx_status st = cfx_tensor__empty_rows(&t, call->ctx, like, dtype,
                                           call->err);
    if (st)
        return st;
    t->device = call->device;
    return add_out(call, t, 0);
}

cfx_status cfx_call_out(cfx_call *call, cfx_dtype dtype, int rank,
                        const cfx_dim *shape)
{
    return cfx_call_out_strided(call, dtype, rank, shape, NULL);
}

cfx_status cfx_call_out_like_as(cfx_call *call, const cfx_tensor *like,
                                cfx_dtype dtype)
{
    bool dense = like->flags & CFX_TENSOR_DENSE;
    return cfx_call_out_strided(call, dtype, like->rank, like->shape,
                                dense ? like->stride : NULL);
}

cfx_status cfx_call_out_like(cfx_call *call, const cfx_tensor *like)
{
    return cfx_call_out_like_as(call, like, (cfx_dtype)like->dtype);
}

cfx_status cfx_call_out_view(cfx_call *call, int k, int rank,
                             const cfx_dim *shape, const cfx_dim *stride,
                             cfx_dim offset)
{
    cfx_tensor *t;
    cfx_status st = cfx_call_new_view(call, &t, k, rank, shape, stride,
                                      offset);
    return st ? st : add_out(call, t, cfx_call_place(call, k) + 1);
}

cfx_status cfx_call_out_same(cfx_call *call, int k)
{
    return add_out(call, cfx_tensor_ref(cfx_call_tensor(call, k)),
                   cfx_call_place(call, k) + 1);
}

cfx_status cfx_call_return_take(cfx_call *call, cfx_value v)
{
    if (v.kind == CFX_ABSENT)
        return cfx_no_memory(call->err);
    cfx_value_unref(call->result);
    call->result = v;
    return CFX_OK;
}

void cfx_call__clear(cfx_call *call)
{
    for (int i = 0; i < call->nout; i++)
        cfx_tensor_unref(call->out[i]);
    call->nout = 0;
    cfx_value_unref(call->result);
    call->result = CFX_NOTHING;
}

/* ---- Calls that write ---- */

static bool same_shape(cfx_shape_env *env, const cfx_tensor *a,
                       const cfx_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_eq(env, a->shape[i], b->shape[i]))
            return false;
    return true;
}

static bool same_layout(const cfx_tensor *a, const cfx_tensor *b)
{
    if (a->dtype != b->dtype)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_same(a->stride[i], b->stride[i]))
            return false;
    return true;
}

/* Do several elements surely lie in one place? */
static bool overlaps_itself(const cfx_tensor *t)
{
    bool several = false;
    for (int i = 0; i < t->rank; i++) {
        if (cfx_dim_is(t->shape[i], 0))
            return false;
        several |= cfx_dim_is(t->stride[i], 0) && !cfx_dim_is(t->shape[i], 1);
    }
    return several;
}

cfx_status cfx_infer_written(const cfx_call *call, const cfx_tensor *t)
{
    return overlaps_itself(t)
               ? cfx_call_fail(call, CFX_EINVAL, "unsupported operation: more "
                               "than one element of the written-to tensor "
                               "refers to a single memory location. Please "
                               "clone() the tensor before performing the "
                               "operation.")
               : CFX_OK;
}

/* PyTorch's canCast: a result may not go into a lesser category. */
static cfx_status check_inplace(cfx_call *call, const cfx_tensor *self)
{
    char want[128], have[128];
    const cfx_tensor *r = call->nout ? call->out[0] : NULL;
    if (!r)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "has no form that writes to its argument");
    if (cfx_dtypes[r->dtype].category > cfx_dtypes[self->dtype].category)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "result type %s can't be cast to the desired "
                             "output type %s", cfx_dtypes[r->dtype].name,
                             cfx_dtypes[self->dtype].name);
    if (same_shape(call->env, r, self))
        return cfx_infer_written(call, self);
    cfx_tensor_format_type(self, have, sizeof(have));
    cfx_tensor_format_type(r, want, sizeof(want));
    return cfx_call_fail(call, CFX_ESHAPE, "output with shape %s doesn't "
                         "match the broadcast shape %s", have, want);
}

/* May the results be written where they are to go? */
static cfx_status check_targets(cfx_call *call)
{
    uint32_t n = call->into && call->into->kind != CFX_TENSOR
                     ? call->into->u.seq->len : 1;
    cfx_status st = CFX_OK;
    if (!call->into)
        return check_inplace(call, cfx_call__tensor_at(call, 0));
    if (!call->nout || n != call->nout)
        return cfx_call_fail(call, CFX_EINVAL, "gives %d tensors, but out has "
                             "%u", (int)call->nout, n);
    for (int i = 0; i < call->nout && !st; i++) {
        const cfx_tensor *r = call->out[i], *t = cfx_call__target(call, i);
        st = cfx_call__check_out(call, r, t, same_shape(call->env, r, t));
    }
    return st;
}

/* May the result be computed into t, element by element? Not where an argument
 * is another view of the same memory. */
static bool writes_straight(const cfx_call *call, const cfx_tensor *t)
{
    /* Metas have no address, but an offset. */
    if (!(call->op->flags & CFX_OP_POINTWISE) || call->nout != 1 ||
        !same_layout(call->out[0], t))
        return false;
    for (int k = 0; k < call->schema->nparams; k++) {
        const cfx_tensor *x = cfx_call__tensor_at(call, k);
        if (x && x != t && cfx_tensor_shares(x, t) &&
            (x->data != t->data || !cfx_dim_same(x->offset, t->offset) ||
             x->rank != t->rank || !same_layout(x, t)))
            return false;
    }
    return true;
}

bool cfx_call__writes_straight(const cfx_call *call)
{
    const cfx_tensor *t = cfx_call__target(call, 0);
    return t && writes_straight(call, t);
}

/* ---- Memory ---- */

#define COPIES                                                                \
    (CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FIRST_TO_CONTIGUOUS |        \
     CFX_OP_COPIES_FROM_CONTIGUOUS)

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
               ? CFX_ESHAPE : CFX_OK;
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

static cfx_status request_copies(cfx_call *call, cfx_call_giver *give,
                                 void *user)
{
    const uint32_t flags = call->op->flags;
    int n = flags & CFX_OP_COPIES_TO_CONTIGUOUS ? call->schema->nparams
            : flags & CFX_OP_COPIES_FIRST_TO_CONTIGUOUS ? 1 : 0;
    cfx_status st = CFX_OK;
    for (int k = 0; k < n && !st; k++) {
        cfx_tensor *t = cfx_call__tensor_at(call, k);
        const cfx_request r = {CFX_REQUEST_ARGUMENT, k, t, 0};
        if (t && !cfx_tensor_is_contiguous(t))
            st = give(call, &r, user);
    }
    n = flags & CFX_OP_COPIES_FROM_CONTIGUOUS ? call->nout : 0;
    for (int i = 0; i < n && !st; i++) {
        const cfx_request r = {CFX_REQUEST_TEMP, i, call->out[i], 0};
        if (!cfx_tensor_is_contiguous(r.t))
            st = give(call, &r, user);
    }
    return st;
}

/* `straight`: the results are computed into tensors that are there. */
static cfx_status request_memory(cfx_call *call, bool straight,
                                 cfx_call_giver *give, void *user)
{
    cfx_status st = CFX_OK;
    if (!straight)
        st = request_results(call, give, user);
    if (st || !call->op->run)
        return st;
    if (call->op->flags & COPIES)
        st = request_copies(call, give, user);
    if (st || !call->op->workspace ||
        (call->meta && !workspace_is_known(call)))
        return st;
    const cfx_request r = {CFX_REQUEST_WORK, 0, NULL,
                           call->op->workspace(call)};
    return r.bytes ? give(call, &r, user) : CFX_OK;
}

cfx_status cfx_call__request_memory(cfx_call *call, cfx_call_giver *give,
                                    void *user)
{
    return request_memory(call, cfx_call__writes_straight(call), give, user);
}

/* ---- Running ---- */

/* The copies that a call is run with. */
typedef struct copies {
    uint32_t in, out;             /* a bit for each argument and result */
    const cfx_value *given;       /* the arguments as they were bound */
    cfx_value arg[CFX_MAX_PARAMS];
    cfx_tensor *result[CFX_MAX_OUTS];
} copies;

static cfx_status copy_argument(cfx_call *call, int k, copies *c)
{
    cfx_tensor *t = cfx_loop_contiguous(call, cfx_call__tensor_at(call, k));
    if (!t)
        return CFX_ENOMEM;
    if (!c->in) {
        c->given = call->in;
        memcpy(c->arg, call->in,
               (size_t)call->schema->nparams * sizeof(*c->arg));
        call->in = c->arg;
    }
    c->in |= (uint32_t)1 << k;
    c->arg[k] = cfx_value_of_tensor(t);
    return CFX_OK;
}

static cfx_status twin_result(cfx_call *call, int i, copies *c)
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
    case CFX_REQUEST_APART:
        return cfx_tensor_alloc(r->t, call->err);
    case CFX_REQUEST_ARGUMENT:
        return copy_argument(call, r->at, user);
    case CFX_REQUEST_TEMP:
        return twin_result(call, r->at, user);
    default:
        return give_workspace(call, r->bytes);
    }
}

/* Give back what only `run` needed, and copy twins to their results. */
static cfx_status give_back(cfx_call *call, copies *c, cfx_status st)
{
    if (call->work) {
        cfx_block_free(work_context(call), call->work, call->work_size);
        call->work = NULL;
    }
    for (int i = 0; c->out >> i; i++) {
        cfx_tensor *twin = call->out[i];
        if (!(c->out >> i & 1))
            continue;
        call->out[i] = c->result[i];
        if (!st)
            st = cfx_tensor_copy(call->out[i], twin, call->err);
        cfx_tensor_unref(twin);
    }
    for (int k = 0; c->in >> k; k++)
        if (c->in >> k & 1)
            cfx_value_unref(c->arg[k]);
    if (c->in)
        call->in = c->given;
    return st;
}

CFX_NOINLINE
static cfx_status run_op(cfx_call *call, bool straight)
{
    copies c;
    c.in = c.out = 0;
    cfx_status st = request_memory(call, straight, give_memory, &c);
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
           !(call->op->flags & COPIES) && !call->op->workspace;
}

static bool is_meta(cfx_value v)
{
    return v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor);
}

static bool holds_meta(cfx_value v)
{
    if (!cfx_value_is_seq(v))
        return is_meta(v);
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        if (is_meta(v.u.seq->item[i]))
            return true;
    return false;
}

static cfx_status check_metas(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (CFX_UNLIKELY(holds_meta(call->in[k])))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "argument '%s' has no numbers",
                                 call->schema->params[k].name);
    return CFX_OK;
}

/* The results become the tensors that they were written to. */
static void replace_outs(cfx_call *call)
{
    for (int i = 0; i < call->nout; i++) {
        cfx_tensor *t = cfx_call__target(call, i);
        if (!t)
            continue;
        cfx_tensor_unref(call->out[i]);
        call->out[i] = cfx_tensor_ref(t);
        call->alias[i] = call->into ? (uint8_t)(call->schema->nparams + 1) : 1;
    }
}

static cfx_status copy_outs(cfx_call *call)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < call->nout && !st; i++) {
        cfx_tensor *t = cfx_call__target(call, i);
        if (t && call->out[i]->data != t->data)
            st = cfx_tensor_copy(t, call->out[i], call->err);
    }
    return st;
}

CFX_NOINLINE
static cfx_status run_written(cfx_call *call)
{
    cfx_status st = check_targets(call);
    for (int i = 0; i < call->nout && !st && call->into; i++)
        if (cfx_tensor_is_meta(cfx_call__target(call, i)))
            st = cfx_call_fail(call, CFX_EINVAL, "argument 'out' has no "
                               "numbers");
    if (st)
        return st;
    if (cfx_call__writes_straight(call)) {
        replace_outs(call);
        return run_op(call, true);
    }
    st = run_op(call, false);
    if (!st)
        st = copy_outs(call);
    if (!st)
        replace_outs(call);
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
static cfx_status heed_stop(cfx_call *call, cfx_status st)
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
typedef union state_room {
    max_align_t align;
    unsigned char bytes[384];
} state_room;

static cfx_status take_state(cfx_call *call, state_room *room)
{
    size_t n = call->op->state_size;
    call->state = NULL;
    if (!n)
        return CFX_OK;
    call->state = n <= sizeof(*room) ? room : cfx_alloc(call->ctx, n);
    if (!call->state)
        return cfx_no_memory(call->err);
    memset(call->state, 0, n);
    return CFX_OK;
}

static void drop_state(cfx_call *call, const state_room *room)
{
    if (CFX_UNLIKELY(call->state && call->state != room))
        cfx_free(call->ctx, call->state, call->op->state_size);
    call->state = NULL;
}

/* ---- Costs ---- */

static cfx_status find_cost(cfx_call *call, void *user)
{
    cfx_cost *cost = user;
    cfx_cost_rule *rule = cfx_op__cost(call->ctx, call->op);
    if (rule)
        rule(call, cost);
    cfx_cost__fill(call, cost);
    return CFX_OK;
}

/* ---- Types without arithmetic ---- */

static cfx_status refuse_stored(void *user, cfx_value v)
{
    const cfx_call *call = user;
    return v.kind == CFX_TENSOR &&
                   (1 << v.u.tensor->dtype & CFX_STORED_TYPES)
               ? cfx_infer_refuse(call, (cfx_dtype)v.u.tensor->dtype)
               : CFX_OK;
}

static cfx_status check_stored(cfx_call *call)
{
    cfx_status st = CFX_OK;
    for (int k = 0; k < call->schema->nparams && !st; k++)
        st = cfx_value_visit(call->in[k], refuse_stored, call);
    for (int i = 0; i < call->nout && !st; i++)
        st = refuse_stored(call, cfx_value_of_tensor(call->out[i]));
    return st;
}

static cfx_status infer(cfx_call *call)
{
    cfx_status st;
    if (CFX_UNLIKELY(!call->op->infer))
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "an operator of higher "
                             "order is called in a scope");
    st = call->op->infer(call);
    if (CFX_STORED_TYPES && !st && call->op->run &&
        !(call->op->flags & CFX_OP_STORED_TYPES))
        st = check_stored(call);
    return st;
}

/* infer, then what somebody wants to know of it, and that a call that writes
 * gives what it has written to. */
static cfx_status look_at(cfx_call *call, cfx_outs_visitor *look, void *user)
{
    cfx_status st = infer(call);
    bool writes = call->inplace || call->into;
    if (!st && writes)
        st = check_targets(call);
    if (!st && look)
        st = look(call, user);
    if (!st && writes)
        replace_outs(call);
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
    state_room room;
    call->meta = true;
    cfx_status st = take_state(call, &room);
    if (!st)
        st = visit_outs(call, at, user, out);
    drop_state(call, &room);
    return st;
}

cfx_status cfx_call_meta(cfx_call *call, cfx_value *out)
{
    return cfx_call__visit_outs(call, NULL, NULL, out);
}

cfx_status cfx_call_cost(cfx_call *call, cfx_cost *cost, cfx_value *out)
{
    cfx_dim zero = cfx_dim_int(0);
    *cost = (cfx_cost){zero, zero, zero, CFX_DIM_BAD, CFX_DIM_BAD, NULL};
    return cfx_call__visit_outs(call, find_cost, cost, out);
}

static cfx_status run_call(cfx_call *call)
{
    cfx_status st = infer(call);
    if (!st && call->op->run)
        st = check_metas(call);
    if (st)
        return st;
    if (call->inplace || call->into)
        return run_written(call);
    if (call->op->flags & CFX_OP_OWN_RESULT)
        cfx_call__clear(call);
    return CFX_LIKELY(has_its_memory(call)) ? call->op->run(call)
                                            : run_op(call, false);
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

static cfx_status eager(cfx_call *call, cfx_value *out)
{
    cfx_status st = call->known ? cfx_call__find_device(call) : CFX_OK;
    if (!st)
        st = CFX_LIKELY(!(call->op->flags & CFX_OP__OUT))
                 ? run_call(call) : run_with_out(call);
    return finish(call, heed_stop(call, st), out);
}

cfx_status cfx_call_eager(cfx_call *call, cfx_value *out)
{
    state_room room;
    call->meta = false;
    call->device = 0;
    cfx_status st = take_state(call, &room);
    if (!st)
        st = eager(call, out);
    drop_state(call, &room);
    return st;
}
