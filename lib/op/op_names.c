/*
 * op_names -- the names under which code calls an operator.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/op.h>

/* "torch.relu" gives "torch.relu_"; "aten.relu.default" "aten.relu_.default".
 */
static size_t inplace_name(char *buf, size_t size, const char *name,
                           size_t len)
{
    size_t cut = len;
    if (!strncmp(name, "aten.", 5))
        while (cut > 5 && name[cut - 1] != '.')
            cut--;
    if (cut != len)
        cut--;
    int n = snprintf(buf, size, "%.*s_%.*s", (int)cut, name, (int)(len - cut),
                     name + cut);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static cfx_status derived(const char *name, size_t len, cfx_op_name_fn *fn,
                          void *user)
{
    char buf[128];
    size_t n = strncmp(name, "operator.", 9)
                   ? inplace_name(buf, sizeof(buf), name, len)
                   : 0;
    return n ? fn(user, buf, n, true, NULL) : CFX_OK;
}

cfx_status cfx_op_names(const cfx_op *op, cfx_op_name_fn *fn, void *user)
{
    const char *lists[] = {op->aliases, op->inplace_aliases};
    cfx_status st = CFX_OK;
    for (int i = 0; i < 2; i++)
        for (const char *p = lists[i]; p && *p && !st; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            if (n)
                st = fn(user, p, n, i == 1, NULL);
            if (!st && n && i == 0 && op->flags & CFX_OP_INPLACE)
                st = derived(p, n, fn, user);
            p += n;
        }
    for (const cfx_variant *v = op->variants; v && v->schema && !st; v++)
        st = fn(user, v->schema, strcspn(v->schema, "("), false, v);
    return st;
}
