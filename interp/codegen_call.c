/*
 * codegen_call -- the call that a node stands for.
 *
 * Traced, the C text must give the node's own spelling. The function of
 * cfx/ops.h does where the tracer spells it so (cfx_op_spelling), required
 * arguments are positional and the others keywords in the schema's order, and
 * just one overload binds; all other calls are made by name.
 */
#define CFX_NO_PLACES
#include "interp/codegen.h"
#include "op/c_names.h"

/* ---- Which functions there are ---- */

#define OP(name) extern const cfx_op cfx_op__##name;
#include "op/ops.def"
#undef OP
static const cfx_op *const heads[] = {
#define OP(name) &cfx_op__##name,
#include "op/ops.def"
#undef OP
};

enum { NHEADS = sizeof(heads) / sizeof(heads[0]) };

/* The names that each operator's first overload has: no other gets them. */
static bool note_names(cgen *c, const cfx_op *op)
{
    char name[128];
    const cfx_schema *s = cfx_op_schema(c->ctx, op);
    for (int inplace = 0; s && inplace < 2; inplace++) {
        cfx_c_function_name(name, sizeof(name), s, true, inplace);
        size_t n = strlen(name);
        char *key = cfx_arena_strdup(&c->arena, name, n);
        if (!key || !cfx_map_put(&c->functions, key, n, NULL))
            return false;
    }
    return s;
}

bool cgen_find_functions(cgen *c)
{
    for (int i = 0; i < NHEADS; i++) {
        uint64_t place = 1;
        if (!note_names(c, heads[i]))
            return false;
        for (const cfx_op *op = heads[i]; op; op = op->next, place++) {
            const cfx_op **key = cfx_arena_alloc(&c->arena, sizeof(key));
            if (!key)
                return false;
            *key = op;
            cfx_map_entry *e = cfx_map_put(&c->overloads, (const char *)key,
                                           sizeof(op), NULL);
            if (!e)
                return false;
            e->v.u = place;
        }
    }
    return true;
}

/* The C function of an overload into `name`; false if it has none. */
static bool function_of(const cgen *c, const cfx_target *t, char *name,
                        size_t size)
{
    const cfx_map_entry *e = cfx_map_get(&c->overloads, (const char *)&t->op,
                                         sizeof(t->op));
    if (!e || (t->inplace && !(t->op->flags & CFX_OP_INPLACE)))
        return false;
    cfx_c_function_name(name, size, t->schema, e->v.u == 1, t->inplace);
    return e->v.u == 1 || !cfx_map_get(&c->functions, name, strlen(name));
}

/* ---- Does it record the same? ---- */

static bool binds(cgen *c, const cfx_target *t, const cfx_node *n)
{
    cfx_bound b = {0};
    cfx_target one = *t;
    one.next = NULL;
    cfx_status st = cfx_bind(&b, c->ctx, &one, n->args, n->nargs, n->kwargs,
                             n->nkwargs, NULL);
    cfx_bound_release(&b);
    return !st;
}

/* The only overload that takes the node's arguments, or NULL. */
static const cfx_target *sole_target(cgen *c, const cfx_node *n)
{
    const char *name = n->target.u.str->text;
    const cfx_target *found = NULL;
    const cfx_target *t = n->op == CFX_CALL_METHOD
                              ? cfx_find_method(c->ctx, name)
                              : cfx_find_function(c->ctx, name);
    for (; t; t = t->next) {
        if (!binds(c, t, n))
            continue;
        if (found)
            return NULL;
        found = t;
    }
    return found;
}

static bool is_spelled_so(const cfx_target *t, const cfx_node *n)
{
    char name[256];
    bool method = false;
    size_t len = cfx_op_spelling(t->op, t->inplace, &method, name,
                                 sizeof(name));
    return len && len < sizeof(name) && method == (n->op == CFX_CALL_METHOD) &&
           !strcmp(name, n->target.u.str->text);
}

/* Required arguments stand in order, others are keywords in order. */
static bool is_laid_out_so(const cfx_schema *s, const cfx_node *n)
{
    int k = cfx_c_required(s);
    if (n->nargs != (uint32_t)k)
        return false;
    for (uint32_t i = 0; i < n->nkwargs; i++, k++) {
        while (k < s->nparams &&
               strcmp(s->params[k].name, n->kwargs[2 * i].u.str->text))
            k++;
        if (k == s->nparams || s->params[k].required)
            return false;
    }
    return true;
}

static bool put_function(cgen *c, const cfx_node *n)
{
    char name[128];
    const cfx_target *t = n->nargs || n->nkwargs ? sole_target(c, n) : NULL;
    if (!t || t->how || t->variant != t->schema || !is_spelled_so(t, n) ||
        !is_laid_out_so(t->schema, n) ||
        !function_of(c, t, name, sizeof(name)))
        return false;
    cfx_out_puts(c->out, name);
    cfx_out_puts(c->out, "(s, ");
    cgen_values(c, n->args, n->nargs);
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        cfx_out_puts(c->out, n->nargs || i ? ", ." : ".");
        cfx_out_puts(c->out,
                     cfx_c_param_name(n->kwargs[2 * i].u.str->text));
        cfx_out_puts(c->out, " = ");
        cgen_value(c, n->kwargs[2 * i + 1]);
    }
    cfx_out_putc(c->out, ')');
    return true;
}

/* ---- Calls by name ---- */

static void put_named(cgen *c, const char *function, const cfx_node *n)
{
    cfx_out_puts(c->out, function);
    cgen_literal(c, n->target.u.str->text, n->target.u.str->len);
    cfx_out_puts(c->out, ", ");
    cgen_args(c, n->args, n->nargs);
    cfx_out_puts(c->out, ", ");
    cgen_kwargs(c, n->kwargs, n->nkwargs);
    cfx_out_putc(c->out, ')');
}

static void put_module(cgen *c, const cfx_node *n)
{
    if (n->nargs != 1 || n->nkwargs) {
        put_named(c, "cfx_call_module_with(s, self, ", n);
        return;
    }
    cfx_out_puts(c->out, "cfx_call_module(s, self, ");
    cgen_literal(c, n->target.u.str->text, n->target.u.str->len);
    cfx_out_puts(c->out, ", ");
    cgen_value(c, n->args[0]);
    cfx_out_putc(c->out, ')');
}

void cgen_call(cgen *c, const cfx_node *n)
{
    if (n->op == CFX_GET_ATTR) {
        cfx_out_puts(c->out, "cfx_get_attr(s, self, ");
        cgen_literal(c, n->target.u.str->text, n->target.u.str->len);
        cfx_out_putc(c->out, ')');
    } else if (n->op == CFX_CALL_MODULE) {
        put_module(c, n);
    } else if (n->op == CFX_CALL_FUNCTION && !n->ninputs) {
        put_named(c, "cfx_call_constant(s, ", n);
    } else if (!put_function(c, n)) {
        put_named(c, n->op == CFX_CALL_METHOD ? "cfx_call_method(s, "
                                              : "cfx_call_function(s, ", n);
    }
}
