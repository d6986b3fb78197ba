/*
 * annotate_returns -- annotate nodes with the return types of schemas:
 * torch.fx's AnnotateTypesWithSchema.
 *
 * An existing type is kept. If a call may resolve to several operators, as x +
 * y does, all must return the same type.
 */
#include <cfx/pass.h>

#include <stdio.h>
#include <string.h>

#include "interp/rewrite/binding.h"

static const struct {
    const char *returns, *type;
} words[] = {
    {"Tensor", "torch.Tensor"},
    {"Tensor[]", "typing.List[torch.Tensor]"},
    {"int", "int"},
    {"SymInt", "int"},
    {"bool", "bool"},
    {"float", "float"},
};

/* "(Tensor values, Tensor indices)" is a tuple of two. */
static bool tuple_type(const char *returns, char *buf, size_t size)
{
    size_t n = (size_t)snprintf(buf, size, "typing.Tuple[");
    for (const char *at = returns; *at != ')' && n < size;) {
        at += 1 + strspn(at + 1, " ");
        if (strncmp(at, "Tensor", 6) || !strchr(" ,)", at[6]))
            return false;
        n += (size_t)snprintf(buf + n, size - n, "%storch.Tensor",
                              buf[n - 1] == '[' ? "" : ", ");
        at += strcspn(at, ",)");
        if (!*at)
            return false;
    }
    return n < size && snprintf(buf + n, size - n, "]") < (int)(size - n);
}

/* Format the result type of a schema; "" if Python has no name for it. */
static void type_of(const cfx_schema *s, char *buf, size_t size)
{
    char returns[256];
    *buf = '\0';
    size_t n = cfx_schema__returns(s, returns, sizeof(returns));
    if (n >= sizeof(returns))
        return;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(words[i].returns, returns))
            snprintf(buf, size, "%s", words[i].type);
    if (*returns == '(' && !tuple_type(returns, buf, size))
        *buf = '\0';
}

struct types {
    char type[512];
    bool any, differ;
};

static cfx_status add_type(void *user, const cfx_target *t, const cfx_bound *b)
{
    struct types *all = user;
    char type[512];
    (void)b;
    type_of(t->schema, type, sizeof(type));
    if (all->any && strcmp(all->type, type))
        all->differ = true;
    memcpy(all->type, type, sizeof(type));
    all->any = true;
    return CFX_OK;
}

static cfx_status call_type(const cfx_graph_kinds *k, const cfx_node *n,
                            char *buf, size_t size, cfx_error *err)
{
    struct types all = {.any = false};
    cfx_status st = cfx_node__candidates(k, n, add_type, &all, err);
    if (!st && all.any && !all.differ)
        snprintf(buf, size, "%s", all.type);
    /* An item of a tensor is a tensor. */
    if (!st && !*buf && all.any && k->of[n->id].self == 1u << CFX_TENSOR)
        snprintf(buf, size, "torch.Tensor");
    return st;
}

static void module_type(const cfx_pass_call *p, const cfx_node *n, char *buf,
                        size_t size)
{
    const cfx_module *m = cfx_module_at(p->gm, n->target->text);
    const cfx_module_type *type = m ? cfx_module_type_of(m) : NULL;
    const cfx_schema *s;
    if (type && type->forward_schema && !cfx_graph_module_graph(m) &&
        !cfx_schema_parse(&s, p->ctx, type->forward_schema, NULL))
        type_of(s, buf, size);
}

static void attr_type(const cfx_pass_call *p, const cfx_node *n, char *buf,
                      size_t size)
{
    cfx_value v;
    if (!cfx_module_fetch_attr(&v, p->gm, n->target->text, NULL) &&
        v.kind == CFX_TENSOR)
        snprintf(buf, size, "torch.Tensor");
}

static cfx_status annotate(cfx_pass_call *p, const cfx_graph_kinds *k,
                           cfx_node *n)
{
    char type[512] = "";
    cfx_status st = CFX_OK;
    if (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD)
        st = call_type(k, n, type, sizeof(type), p->err);
    else if (n->op == CFX_CALL_MODULE)
        module_type(p, n, type, sizeof(type));
    else if (n->op == CFX_GET_ATTR)
        attr_type(p, n, type, sizeof(type));
    if (st || !*type)
        return st;
    p->changed++;
    return cfx_node_set_type(n, type, p->err);
}

static cfx_status annotate_returns_run(cfx_pass_call *p)
{
    cfx_graph_kinds kinds;
    cfx_status st = cfx_graph_kinds__init(&kinds, p->graph, false, p->err);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        if (!n->type)
            st = annotate(p, &kinds, n);
    cfx_graph_kinds__release(&kinds);
    return st;
}

const cfx_pass cfx_pass__annotate_returns = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "annotate_returns()",
    .doc =
        "Annotate nodes without a type with the return type of their operator's or module's schema.",
    .run = annotate_returns_run,
};
