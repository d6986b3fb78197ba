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
        if (strncmp(returns, word, n) ||
            (returns[n] && !strchr(" ,)", returns[n])))
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
    for (const char *at; (at = strstr(returns, word));) {
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
    cfx_buf_puts(&b,
                 several ? "Tensor(a!)[] out) -> " : "Tensor(a!) out) -> ");
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
