/*
 * repr -- visible and hidden arguments in a module's line.
 */
#include "format/text/repr.h"

bool cfx_shown_next(const char **repr, cfx_shown *item)
{
    const char *s = *repr ? *repr : "";
    *item = (cfx_shown){.name = ""};
    s += strspn(s, " ");
    for (; *s == '$' || *s == '?' || *s == '='; s++) {
        item->alone |= *s == '$';
        item->if_changed |= *s == '?';
        item->bare |= *s == '=';
    }
    item->name = s;
    item->len = strcspn(s, " ");
    *repr = s + item->len;
    return item->len > 0;
}

bool cfx_shown_has(const char *repr, const char *name)
{
    cfx_shown item;
    while (cfx_shown_next(&repr, &item))
        if (strlen(name) == item.len && !memcmp(name, item.name, item.len))
            return true;
    return false;
}

bool cfx_is_default(const cfx_param *p, cfx_value v)
{
    if (p->required)
        return false;
    if (cfx_value_equal(p->init, v))
        return true;
    if (!cfx_value_is_seq(v) || v.kind == CFX_DICT || !v.u.seq->len ||
        cfx_value_is_seq(p->init))
        return false;
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        if (!cfx_value_equal(p->init, v.u.seq->item[i]))
            return false;
    return true;
}

bool cfx_derived_next(const char **derived, cfx_derived *item)
{
    const char *s = *derived ? *derived : "";
    s += strspn(s, " ");
    item->param = s;
    item->param_len = strcspn(s, "=");
    if (!s[item->param_len])
        return false;
    item->child = s + item->param_len + 1;
    item->child_len = strcspn(item->child, ".");
    if (!item->child[item->child_len])
        return false;
    item->attr = item->child + item->child_len + 1;
    item->attr_len = strcspn(item->attr, " ");
    *derived = item->attr + item->attr_len;
    return true;
}
