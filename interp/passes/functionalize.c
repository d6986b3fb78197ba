/*
 * functionalize -- let calls that write to their first argument return a new
 * tensor, as torch.func.functionalize.
 *
 * y = f_(x) becomes y = f(x), and nodes after it that read x read y, if
 *
 * - x is neither an input of the graph nor a parameter or buffer, nor a view of
 *   one;
 * - no other value that may share x's memory is read after the call;
 * - f(x) has the type and shape of x: those of any x, as relu's, or according to meta
 *   `tensor_meta` (run shape propagation first).
 */
#include <cfx/pass.h>
#include <cfx/scope.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "graph/graph_impl.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/binding.h"

/* The uses of the values that an alias set has so far, as positions in the graph. */
typedef struct set_uses {
    uint32_t latest; /* of all */
    uint32_t owner;  /* the id of the value that is used there */
    uint32_t others; /* the latest use of another value */
} set_uses;

typedef struct functionalizer {
    cfx_pass_call *p;
    cfx_aliases aliases;
    set_uses *uses; /* by set */
} functionalizer;

static void note_value(functionalizer *f, const cfx_node *n)
{
    set_uses *s = &f->uses[cfx_aliases__set(&f->aliases, n)];
    uint32_t last = f->aliases.life.last_use[n->id];
    if (last > s->latest)
        *s = (set_uses){last, n->id, s->latest};
    else if (last > s->others)
        s->others = last;
}

/* The last use of a value that may share x's memory. */
static uint32_t last_use_of_others(functionalizer *f, const cfx_node *x)
{
    const set_uses *s = &f->uses[cfx_aliases__set(&f->aliases, x)];
    return s->owner == x->id || s->others > s->latest ? s->others : s->latest;
}

/* The argument that n need not write to, or NULL. */
static cfx_node *spared_argument(functionalizer *f, const cfx_node *n)
{
    cfx_aliases *a = &f->aliases;
    cfx_node *x = n->nargs ? cfx_value__node(n->args[0]) : NULL;
    if (!x)
        return NULL;
    if (cfx_aliases__is(a, cfx_aliases__set(a, x), CFX_ALIAS_OUTLIVES))
        cfx_pass_missed(
            f->p, n,
            "it writes to %s, which is or shares memory with an input, a parameter or a buffer",
            x->name);
    else if (last_use_of_others(f, x) > a->life.place[n->id])
        cfx_pass_missed(
            f->p, n,
            "it writes to %s, and another value in that memory is read later",
            x->name);
    else
        return x;
    return NULL;
}

/* ---- The type of the result ---- */

/* Has the result of `apart` the type of x, which the call in place keeps? lt gives bool,
 * and promotion may widen. */
static bool keeps_type(const functionalizer *f, const cfx_node *n,
                       const cfx_node *x, const cfx_target *apart)
{
    const cfx_tensor *want = cfx_node__known_tensor(x);
    return want &&
           cfx_call__gives(
               f->p->ctx, apart,
               (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs}, want);
}

/* Has the result the type of any tensor x? It has, if a pointwise function of x and of
 * literals keeps float32: where it would widen integers, the call in place fails. */
static bool keeps_any_type(const functionalizer *f, const cfx_node *n,
                           const cfx_target *apart)
{
    cfx_context *ctx = f->p->ctx;
    cfx_value args[CFX_MAX_PARAMS];
    cfx_tensor *t;
    if (!(apart->op->flags & CFX_OP_POINTWISE) || n->ninputs != 1 ||
        n->nargs > CFX_MAX_PARAMS ||
        cfx_tensor_new(&t, ctx, CFX_F32, 1, (const int64_t[]){1}, NULL))
        return false;
    args[0] = cfx_value_of_tensor(t);
    for (uint32_t i = 1; i < n->nargs; i++)
        args[i] = n->args[i];
    bool keeps = cfx_call__gives(
        ctx, apart, (cfx_args){args, n->nargs, n->kwargs, n->nkwargs}, t);
    cfx_tensor_unref(t);
    return keeps;
}

/* The call that does not write: its target, and the name to print for it. */
typedef struct apart {
    const cfx_target *target; /* NULL: there is none */
    bool method;
    char name[128];
} apart;

static void find_by_name(apart *a, cfx_context *ctx, size_t len)
{
    if (!len || len >= sizeof(a->name))
        a->target = NULL;
    else
        a->target = a->method ? cfx_find_method(ctx, a->name)
                              : cfx_find_function(ctx, a->name);
}

/* By the name of n's target without the `_` of names in place, if the same operator
 * has it; else by the name under which it is recorded. */
static void find_apart(apart *a, const cfx_node *n, const cfx_target *t)
{
    const char *text = n->target->text, *end = text + strlen(text);
    cfx_context *ctx = cfx_graph_context(n->graph);
    if (!strncmp(text, "torch.ops.", 10))
        end = strrchr(text, '.');
    int len = end > text && end[-1] == '_'
                  ? snprintf(a->name, sizeof(a->name), "%.*s%s",
                             (int)(end - 1 - text), text, end)
                  : 0;
    a->method = n->op == CFX_CALL_METHOD;
    find_by_name(a, ctx, (size_t)len);
    if (a->target && a->target->op == t->op)
        return;
    find_by_name(
        a, ctx,
        cfx_op_call_name(t->op, false, &a->method, a->name, sizeof(a->name)));
}

/* relu_(x) becomes relu(x); relu(x, inplace=True) gets inplace=False. */
static cfx_status write_apart(functionalizer *f, cfx_node *n, cfx_node *x,
                              const cfx_target *t, bool *done)
{
    apart a = {.target = NULL};
    const cfx_schema *schema = t->variant ? t->variant : t->schema;
    *done = cfx_pass__arg(n, schema, "inplace").kind != CFX_ABSENT;
    if (*done)
        return cfx_pass__set_arg(f->p, n, schema, "inplace", cfx_bool(false));
    if (t->inplace)
        find_apart(&a, n, t);
    *done = a.target &&
            (cfx_node__known_tensor(x)
                 ? keeps_type(f, n, x, a.target)
                 : t == cfx_node__target(n) && keeps_any_type(f, n, a.target));
    if (!*done)
        cfx_pass_missed(
            f->p, n,
            a.target
                ? "it writes to %s; apart from it, the result has another or an unknown type"
                : "it writes to %s, and no operator computes it without",
            x->name);
    return *done ? cfx_node_set_op(
                       n, a.method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION,
                       a.name, f->p->err)
                 : CFX_OK;
}

static bool is_after(void *n, cfx_node *user)
{
    return cfx_node_before(n, user);
}

/* Nodes after n read its value instead of x. */
static cfx_status read_result(functionalizer *f, cfx_node *x, cfx_node *n)
{
    cfx_lifetimes *life = &f->aliases.life;
    uint32_t *last = &life->last_use[n->id], end = life->last_use[x->id];
    if (end > *last)
        *last = end;
    life->last_use[x->id] = life->place[n->id];
    return cfx_node_replace_all_uses_with(x, n, is_after, n, f->p->err);
}

/* The target in n's chain that writes in place; else the first. operator.iadd is an
 * operator of numbers first. */
static const cfx_target *writing_target(const cfx_node *n)
{
    const cfx_target *first = cfx_node__target(n), *t = first;
    while (t && !t->inplace)
        t = t->next;
    return t ? t : first;
}

static cfx_status rewrite(functionalizer *f, cfx_node *n)
{
    bool done;
    const cfx_target *t = writing_target(n);
    cfx_node *x = t && cfx_effects__writes(
                           cfx_aliases__effects(&f->aliases, n), 0)
                      ? spared_argument(f, n)
                      : NULL;
    if (!x)
        return CFX_OK;
    cfx_status st = write_apart(f, n, x, t, &done);
    if (st || !done)
        return st;
    f->p->changed++;
    return read_result(f, x, n);
}

static cfx_status functionalize_run(cfx_pass_call *p)
{
    functionalizer f = {.p = p};
    cfx_status st = cfx_aliases__init(&f.aliases, p->graph, p->err);
    size_t n = st ? 0 : cfx_aliases__len(&f.aliases);
    f.uses = st ? NULL : cfx_calloc(p->ctx, n, sizeof(*f.uses));
    if (!st && !f.uses)
        st = cfx_no_memory(p->err);
    for (cfx_node *at = st ? NULL : cfx_graph_first(p->graph); at && !st;
         at = cfx_node_next(at)) {
        st = rewrite(&f, at);
        note_value(&f, at);
    }
    cfx_free(p->ctx, f.uses, n * sizeof(*f.uses));
    cfx_aliases__release(&f.aliases);
    return st;
}

const cfx_pass cfx_pass__functionalize = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "functionalize()",
    .doc =
        "Let calls that write to their first argument return a new tensor, where nothing else reads that memory and meta tensor_meta shows that the type stays.",
    .run = functionalize_run,
};
