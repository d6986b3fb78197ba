/*
 * support -- describe what a backend supports by combining functions.
 */
#include <cfx/partition.h>

#include <string.h>

#include "graph/graph_impl.h"

bool cfx_support_all(void *user, const cfx_node *n)
{
    const cfx_support_list *list = user;
    for (size_t i = 0; i < list->n; i++)
        if (!list->item[i].fn(list->item[i].user, n))
            return false;
    return true;
}

bool cfx_support_any(void *user, const cfx_node *n)
{
    const cfx_support_list *list = user;
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].fn(list->item[i].user, n))
            return true;
    return false;
}

bool cfx_support_not_named(void *user, const cfx_node *n)
{
    for (const char *const *name = user; *name; name++)
        if (!strcmp(n->name, *name))
            return false;
    return true;
}

static int dtype_of(const cfx_node *n)
{
    cfx_value v = cfx_node__known(n);
    return v.kind == CFX_TENSOR ? v.u.tensor->dtype : -1;
}

bool cfx_support_not_of_dtype(void *user, const cfx_node *n)
{
    const cfx_dtype *dtype = user;
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (dtype_of(cfx_node_input(n, i)) == (int)*dtype)
            return false;
    return true;
}

static const char *target_of(const cfx_support_rules *rules, const cfx_node *n)
{
    const char *target = n->target->text;
    const cfx_module *m = n->op == CFX_CALL_MODULE
                              ? cfx_module_at(rules->gm, target)
                              : NULL;
    return m ? cfx_module_class_name(m) : target;
}

/* Only arguments that are nodes are checked, and only if the rule mentions
 * them. */
static bool fits(const cfx_support_rule *rule, const cfx_node *n)
{
    size_t most = sizeof(rule->args) / sizeof(*rule->args);
    for (uint32_t i = 0; i < n->nargs && i < most; i++) {
        if (!rule->args[i] || n->args[i].kind != CFX_NODE)
            continue;
        int dtype = dtype_of(n->args[i].u.node);
        if (dtype < 0 || !(rule->args[i] >> dtype & 1))
            return false;
    }
    return true;
}

bool cfx_support_by_rules(void *user, const cfx_node *n)
{
    const cfx_support_rules *rules = user;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR ||
        n->op == CFX_OUTPUT)
        return false;
    const char *target = target_of(rules, n);
    for (size_t i = 0; i < rules->n; i++)
        if (!strcmp(rules->item[i].target, target))
            return fits(&rules->item[i], n);
    return false;
}
