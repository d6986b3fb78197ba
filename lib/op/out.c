/*
 * out -- `out=`: write the result to a given tensor.
 *
 * An operator whose results are new tensors has a second signature, created at
 * the first lookup of a name:
 *
 *     add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 *     add(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)
 *         -> Tensor(a!)
 *
 * Several results go to a list of as many tensors. The signature belongs to a
 * copy of the descriptor, so that a call that writes compares as another
 * operator. Rules see the operator's own signature: call.c hides `out` from
 * them.
 */
#include "op/infer.h"
#include "op/op_impl.h"

/* Does "Tensor" or "(Tensor values, Tensor indices)" contain no views? */
static bool gives_new_tensors(const char *returns)
{
    static const char word[] = "Tensor";
    size_t n = strlen(word);
    returns += *returns == '(';
    do {
        if (strncmp(returns, word, n) || (returns[n] && !strchr(" ,)",
                                                                 returns[n])))
            return false;
        returns += strcspn(returns, ",)");
        returns += strspn(returns, ",) ");
    } while (*returns);
    return true;
}

static const char *returns_of(const char *schema)
{
    const char *arrow = strstr(schema, "->");
    return arrow ? arrow + 2 + strspn(arrow + 2, " ") : "";
}

bool cfx_out__is_offered(const cfx_op *op)
{
    const uint32_t never = CFX_OP_OWN_RESULT | CFX_OP_EFFECT | CFX_OP__OUT;
    return op->run && !op->call_graphs && !(op->flags & never) &&
           gives_new_tensors(returns_of(op->schema));
}

/* The closing parenthesis of the parameters. */
static const char *find_close(const char *schema)
{
    const char *at = strchr(schema, '(');
    for (int depth = 0; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (!depth)
            break;
    }
    return at;
}

static void put_returns(cfx_buf *b, const char *returns)
{
    static const char word[] = "Tensor";
    for (const char *at; (at = strstr(returns, word)); ) {
        size_t n = (size_t)(at - returns) + strlen(word);
        cfx_buf_add(b, returns, n);
        cfx_buf_puts(b, "(a!)");
        returns += n;
    }
    cfx_buf_puts(b, returns);
}

const char *cfx_out__signature(cfx_arena *arena, const char *text,
                               const cfx_schema *read, const cfx_op *op)
{
    cfx_buf b;
    const char *close = find_close(text);
    bool several = *returns_of(op->schema) == '(';
    cfx_buf_init(&b, arena->ctx);
    cfx_buf_add(&b, text, (size_t)(close - text));
    if (read->nparams)
        cfx_buf_puts(&b, ", ");
    if (read->npositional == read->nparams)
        cfx_buf_puts(&b, "*, ");
    cfx_buf_puts(&b, several ? "Tensor(a!)[] out) -> " : "Tensor(a!) out) -> ");
    put_returns(&b, returns_of(op->schema));
    char *copy = b.failed ? NULL : cfx_arena_strdup(arena, b.s, b.len);
    cfx_buf_release(&b);
    return copy;
}

const cfx_out_op *cfx_out__new(cfx_arena *arena, const cfx_op *op,
                               const cfx_schema *schema)
{
    cfx_out_op *o = cfx_arena_alloc(arena, sizeof(*o));
    const char *text = cfx_out__signature(arena, op->schema, schema, op);
    if (!o || !text)
        return NULL;
    *o = (cfx_out_op){.op = *op, .of = op, .schema = schema};
    o->op.schema = text;
    o->op.params = NULL;
    o->op.inplace_aliases = NULL;
    o->op.variants = NULL;
    o->op.next = NULL;
    o->op.flags &= ~(uint32_t)(CFX_OP_INPLACE | CFX_OP_COMMUTES);
    o->op.flags |= CFX_OP__OUT;
    return o;
}

/* ---- Calls ---- */

cfx_tensor *cfx_call__target(const cfx_call *call, int i)
{
    if (!call->into)
        return call->inplace && !i ? call->in[0].u.tensor : NULL;
    if (call->into->kind == CFX_TENSOR)
        return i ? NULL : call->into->u.tensor;
    return (uint32_t)i < call->into->u.seq->len
               ? call->into->u.seq->item[i].u.tensor : NULL;
}

/* The default dtype is that of `out`. */
static void default_dtype(cfx_call *call, cfx_value *in)
{
    const cfx_tensor *t = cfx_call__target(call, 0);
    for (int k = 0; t && k < call->schema->nparams; k++)
        if (call->schema->params[k].base == CFX_T_DTYPE &&
            in[k].kind == CFX_NONE)
            in[k] = cfx_value_of_dtype((cfx_dtype)t->dtype);
}

cfx_status cfx_call__take_out(cfx_call *call, cfx_out_taken *taken)
{
    const cfx_out_op *o = (const cfx_out_op *)call->op;
    taken->schema = call->schema;
    taken->in = call->in;
    if (!(call->op->flags & CFX_OP__OUT))
        return CFX_OK;
    if (call->inplace)
        return cfx_call_fail(call, CFX_EINVAL, "takes out= or inplace=True, "
                             "not both");
    call->schema = o->schema;
    call->into = &taken->in[o->schema->nparams];
    memcpy(taken->own, taken->in,
           (size_t)o->schema->nparams * sizeof(*taken->own));
    call->in = taken->own;
    default_dtype(call, taken->own);
    return CFX_OK;
}

void cfx_call__put_out(cfx_call *call, const cfx_out_taken *taken)
{
    call->schema = taken->schema;
    call->in = taken->in;
    call->into = NULL;
}

/* Operators on PyTorch's TensorIterator convert the result; others need an
 * `out` of the result's type. */
static cfx_status check_type(cfx_call *call, const cfx_tensor *r,
                             const cfx_tensor *t)
{
    const cfx_dtype_info *want = &cfx_dtypes[r->dtype];
    const cfx_dtype_info *have = &cfx_dtypes[t->dtype];
    if (want->category > have->category)
        return cfx_call_fail(call, CFX_EDTYPE, "result type %s can't be cast "
                             "to the desired output type %s", want->name,
                             have->name);
    if (r->dtype != t->dtype && !(call->op->flags & CFX_OP_POINTWISE))
        return cfx_call_fail(call, CFX_EDTYPE, "expected out tensor to have "
                             "dtype %s, but got %s instead", want->name,
                             have->name);
    return CFX_OK;
}

static bool is_empty(const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (cfx_dim_is(t->shape[i], 0))
            return true;
    return false;
}

/* PyTorch resizes `out`, with a warning unless it is empty; here shapes are
 * immutable. */
cfx_status cfx_call__check_out(cfx_call *call, const cfx_tensor *r,
                               const cfx_tensor *t, bool same_shape)
{
    char want[128], have[128];
    cfx_status st = check_type(call, r, t);
    if (st || same_shape)
        return st ? st : cfx_infer_written(call, t);
    cfx_tensor_format_type(t, have, sizeof(have));
    cfx_tensor_format_type(r, want, sizeof(want));
    return cfx_call_fail(call, CFX_ESHAPE, is_empty(t)
                         ? "out is %s and would be resized to %s, which is not "
                           "supported: give it that shape"
                         : "an output with one or more elements would be "
                           "resized since it is %s, which does not match the "
                           "required output shape %s: give it that shape",
                         have, want);
}
