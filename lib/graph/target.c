/*
 * target -- does a node or call have this operator, by any of its names?
 */
#include <stdio.h>
#include <string.h>

#include "graph/graph_impl.h"

/* Prefixes that are tried before a bare name. */
static const char *const prefixes[] = {"torch.", "torch.nn.functional.",
                                       "operator."};

/* The targets of a name, or NULL. */
static const cfx_target *find_named(cfx_context *ctx, const char *name)
{
    char full[160];
    const cfx_target *t = cfx_find_function(ctx, name);
    for (size_t i = 0; !t && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        int n = snprintf(full, sizeof(full), "%s%s", prefixes[i], name);
        if (n > 0 && (size_t)n < sizeof(full))
            t = cfx_find_function(ctx, full);
    }
    return t ? t : cfx_find_method(ctx, name);
}

/* Is it the name of the schema, with `_` if the call writes? */
static bool has_name(const cfx_target *t, const char *name)
{
    size_t n = strlen(t->schema->name);
    return !strncmp(name, t->schema->name, n) &&
           !strcmp(name + n, t->inplace ? "_" : "");
}

/* Is one of the targets the operator with that name? */
static bool is_one(cfx_context *ctx, const cfx_target *targets,
                   const char *name)
{
    for (const cfx_target *t = targets; t; t = t->next)
        if (has_name(t, name))
            return true;
    for (const cfx_target *named = find_named(ctx, name); named;
         named = named->next)
        for (const cfx_target *t = targets; t; t = t->next)
            if (t->op == named->op && t->inplace == named->inplace)
                return true;
    return false;
}

static const cfx_target *find(cfx_context *ctx, cfx_opcode op,
                              const char *target)
{
    return op == CFX_CALL_METHOD     ? cfx_find_method(ctx, target)
           : op == CFX_CALL_FUNCTION ? cfx_find_function(ctx, target)
                                     : NULL;
}

static bool is_target(cfx_context *ctx, cfx_opcode op, const char *target,
                      const char *name)
{
    if (op != CFX_CALL_FUNCTION && op != CFX_CALL_METHOD)
        return false;
    if (!strcmp(target, name))
        return true;
    const cfx_target *t = find(ctx, op, target);
    return t && is_one(ctx, t, name);
}

const cfx_target *cfx_node__targets(const cfx_node *n)
{
    return find(n->graph->ctx, (cfx_opcode)n->op, n->target->text);
}

bool cfx_node__has_flag(const cfx_node *n, uint32_t flag)
{
    for (const cfx_target *t = cfx_node__targets(n); t; t = t->next)
        if (t->op->flags & flag)
            return true;
    return false;
}

bool cfx_node_is(const cfx_node *n, const char *name)
{
    return is_target(cfx_graph_context(n->graph), (cfx_opcode)n->op,
                     n->target->text, name);
}

bool cfx_call_is(const cfx_call *call, const char *name)
{
    const cfx_target bound = {
        .op = call->op, .schema = call->schema, .inplace = call->inplace};
    if (call->target.kind != CFX_STR)
        return call->op && call->schema && is_one(call->ctx, &bound, name);
    return is_target(
        call->ctx, call->node ? (cfx_opcode)call->node->op : CFX_CALL_FUNCTION,
        call->target.u.str->text, name);
}
