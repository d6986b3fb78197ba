/*
 * codegen_call -- print the call of a node.
 *
 * Tracing the C code must give the node's own target and arguments. The
 * function of cfx/ops.h does if the tracer records it under this target
 * (cfx_op_call_name), required arguments are positional and the others keywords
 * in the schema's order, and only one overload binds, the one that the function
 * selects_overload. All other calls are made by name.
 */
#define CFX_NO_PLACES
#include "interp/codegen/codegen_impl.h"
#include "ops/c_names.h"
#include "op/op_impl.h"
#include "op/overload.h"

/* ---- Functions of cfx/ops.h ---- */

#define OP(name) extern const cfx_op cfx_op__##name;
#include "ops/ops.def"
#undef OP
static const cfx_op *const heads[] = {
#define OP(name) &cfx_op__##name,
#include "ops/ops.def"
#undef OP
};

enum { NHEADS = sizeof(heads) / sizeof(heads[0]) };

bool cgen_find_functions(cgen *c)
{
    for (int i = 0; i < NHEADS; i++)
        for (const cfx_op *op = heads[i]; op; op = op->next) {
            const cfx_op **key = cfx_arena_alloc(&c->arena, sizeof(key));
            if (!key)
                return false;
            *key = op;
            cfx_map_entry *e = cfx_map_put(&c->heads, (const char *)key,
                                           sizeof(op), NULL);
            if (!e)
                return false;
            e->v.u = (uint64_t)i;
        }
    return true;
}

/* ---- Arguments ---- */

/* A call of an operator's function. */
typedef struct function_call {
    const cfx_op *head; /* its first overload */
    const cfx_param *param[CFX_MAX_UNION];
    int nparams;
    uint8_t place[CFX_MAX_PARAMS]; /* by parameter of the chosen overload */
    cfx_value arg[CFX_MAX_UNION];
} function_call;

/* Find the function of an overload; false if it has none. */
static bool find_function(function_call *f, const cgen *c, const cfx_target *t)
{
    const cfx_map_entry *e = cfx_map_get(&c->heads, (const char *)&t->op,
                                         sizeof(t->op));
    if (!e || (t->inplace && !(t->op->flags & CFX_OP_INPLACE)))
        return false;
    *f = (function_call){.head = heads[e->v.u]};
    f->nparams = cfx_op__union(c->ctx, f->head, f->param);
    if (f->nparams < 0)
        return false;
    cfx_op__places(t->schema, f->param, f->nparams, f->place);
    return true;
}

/* Take the node's arguments, in the order that is_in_schema_order requires. */
static void take_arguments(function_call *f, const cfx_schema *s,
                           const cfx_node *n)
{
    for (uint32_t i = 0; i < n->nargs; i++)
        f->arg[f->place[i]] = n->args[i];
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        const cfx_string *name = n->kwargs[2 * i].u.str;
        int k = cfx_param_find(s, name->text, name->len);
        f->arg[f->place[k]] = n->kwargs[2 * i + 1];
    }
}

/* True if the arguments select this overload. */
static bool selects_overload(const function_call *f, const cgen *c,
                             const cfx_target *t)
{
    uint8_t all[CFX_MAX_UNION * 8];
    cfx_value in[CFX_MAX_PARAMS];
    size_t n = 0;
    for (const cfx_op *op = f->head; op; op = op->next) {
        const cfx_schema *s = cfx_op_schema(c->ctx, op);
        if (!s || n + CFX_MAX_PARAMS > sizeof(all))
            return false;
        cfx_op__places(s, f->param, f->nparams, all + n);
        n += (size_t)s->nparams;
    }
    cfx_overload found = cfx_op__overload(c->ctx, f->head, all, f->arg,
                                          f->nparams, t->inplace, in);
    return found.matches && found.op == t->op;
}

/* ---- Does tracing record the same call? ---- */

static bool binds(cgen *c, const cfx_target *t, const cfx_node *n)
{
    cfx_bound b = {0};
    cfx_target one = *t;
    one.next = NULL;
    cfx_status st = cfx_bind(
        &b, c->ctx, &one, (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
        NULL);
    cfx_bound_release(&b);
    return !st;
}

/* Return the only overload that takes the node's arguments, or NULL. */
static const cfx_target *sole_target(cgen *c, const cfx_node *n)
{
    const char *name = n->target->text;
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

static bool is_recorded_target(const cfx_target *t, const cfx_node *n)
{
    char name[256];
    bool method = false;
    size_t len = cfx_op_call_name(t->op, t->inplace, &method, name,
                                  sizeof(name));
    return len && len < sizeof(name) && method == (n->op == CFX_CALL_METHOD) &&
           !strcmp(name, n->target->text);
}

/* True if required arguments are positional and the others ordered keywords. */
static bool is_in_schema_order(const cfx_schema *s, const cfx_node *n)
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

/* Print positional arguments first, then the others by name. */
static void put_arguments(cgen *c, const function_call *f, const cfx_node *n)
{
    uint32_t i = 0;
    for (; i < n->nargs && f->place[i] == i; i++) {
        cfx_out_puts(c->out, ", ");
        cgen_value(c, n->args[i]);
    }
    for (; i < n->nargs + n->nkwargs; i++) {
        const char *name = i < n->nargs
                               ? f->param[f->place[i]]->name
                               : n->kwargs[2 * (i - n->nargs)].u.str->text;
        cfx_out_puts(c->out, ", .");
        cfx_out_puts(c->out, cfx_c_param_name(name));
        cfx_out_puts(c->out, " = ");
        cgen_value(c, i < n->nargs ? n->args[i]
                                   : n->kwargs[2 * (i - n->nargs) + 1]);
    }
}

static bool put_function(cgen *c, const cfx_node *n)
{
    char name[128];
    function_call f;
    const cfx_target *t = n->nargs || n->nkwargs ? sole_target(c, n) : NULL;
    if (!t || t->how || t->variant != t->schema || !is_recorded_target(t, n) ||
        !is_in_schema_order(t->schema, n) || !find_function(&f, c, t))
        return false;
    take_arguments(&f, t->schema, n);
    if (!selects_overload(&f, c, t))
        return false;
    cfx_c_function_name(name, sizeof(name), t->schema, t->inplace);
    cfx_out_puts(c->out, name);
    cfx_out_puts(c->out, "(s");
    put_arguments(c, &f, n);
    cfx_out_putc(c->out, ')');
    return true;
}

/* ---- Calls by name ---- */

static void put_named(cgen *c, const char *function, const cfx_node *n)
{
    cfx_out_puts(c->out, function);
    cgen_literal(c, n->target->text, n->target->len);
    cfx_out_puts(c->out, ", ");
    cgen_args(c, n->args, n->nargs, n->nkwargs > 0);
    cgen_values(c, n->kwargs, 2 * (size_t)n->nkwargs);
    cfx_out_puts(c->out, n->nkwargs ? ")})" : ")");
}

static void put_module(cgen *c, const cfx_node *n)
{
    if (n->nargs != 1 || n->nkwargs) {
        put_named(c, "cfx_call_module_with(s, self, ", n);
        return;
    }
    cfx_out_puts(c->out, "cfx_call_module(s, self, ");
    cgen_literal(c, n->target->text, n->target->len);
    cfx_out_puts(c->out, ", ");
    cgen_value(c, n->args[0]);
    cfx_out_putc(c->out, ')');
}

void cgen_call(cgen *c, const cfx_node *n)
{
    if (n->op == CFX_GET_ATTR) {
        cfx_out_puts(c->out, "cfx_call_get_attr(s, self, ");
        cgen_literal(c, n->target->text, n->target->len);
        cfx_out_putc(c->out, ')');
    } else if (n->op == CFX_CALL_MODULE) {
        put_module(c, n);
    } else if (n->op == CFX_CALL_FUNCTION && !n->ninputs) {
        put_named(c, "cfx_call_constant(s, ", n);
    } else if (!put_function(c, n)) {
        put_named(c,
                  n->op == CFX_CALL_METHOD ? "cfx_call_method(s, "
                                           : "cfx_call_function(s, ",
                  n);
    }
}
