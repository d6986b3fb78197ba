/*
 * annotate_getitem -- derive the type of operator.getitem from the container's
 * type: torch.fx's annotate_getitem_nodes.
 *
 * Types are texts: typing.Tuple[A, B], tuple[A, ...], typing.List[A]. An index
 * out of range is skipped (torch.fx asserts).
 */
#include <cfx/pass.h>

#include <string.h>

#include "base/util.h"

/* A substring of a type. */
typedef struct piece {
    const char *at;
    size_t len;
} piece;

/* Find the text in the brackets of `NAME[...]`, with or without "typing.". */
static bool inside(const char *type, const char *name, piece *out)
{
    size_t n = strlen(name), len = strlen(type);
    if (!strncmp(type, "typing.", 7)) {
        type += 7;
        len -= 7;
    }
    if (strncmp(type, name, n) || type[n] != '[' || type[len - 1] != ']')
        return false;
    *out = (piece){type + n + 1, len - n - 2};
    return true;
}

/* Return the end of the list item that begins at `at`. */
static const char *part_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end && (*at != ',' || depth); at++)
        depth += (*at == '[') - (*at == ']');
    return at;
}

static piece trimmed(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    return (piece){at, (size_t)(end - at)};
}

static size_t count_parts(piece all)
{
    const char *end = all.at + all.len;
    size_t n = all.len > 0;
    for (const char *at = all.at; (at = part_end(at, end)) < end; at++)
        n++;
    return n;
}

static piece part_at(piece all, size_t i)
{
    const char *end = all.at + all.len, *at = all.at, *stop;
    for (; stop = part_end(at, end), i; i--)
        at = stop + 1;
    return trimmed(at, stop);
}

static bool is_dots(piece p)
{
    return p.len == 3 && !memcmp(p.at, "...", 3);
}

static bool item_of_tuple(piece all, int64_t index, piece *out)
{
    int64_t n = (int64_t)count_parts(all);
    if (n == 2 && is_dots(part_at(all, 1))) {
        *out = part_at(all, 0);
        return true;
    }
    if (index < 0)
        index += n;
    if (index < 0 || index >= n)
        return false;
    *out = part_at(all, (size_t)index);
    return true;
}

static bool item_type(const char *type, cfx_value index, piece *out)
{
    piece all;
    if (index.kind != CFX_INT)
        return false;
    if (inside(type, "Tuple", &all) || inside(type, "tuple", &all))
        return item_of_tuple(all, index.u.i, out);
    if (!inside(type, "List", &all) && !inside(type, "list", &all))
        return false;
    *out = trimmed(all.at, all.at + all.len);
    return true;
}

static cfx_status annotate(cfx_pass_call *p, cfx_node *n, cfx_buf *text)
{
    const cfx_node *from = n->args[0].u.node;
    piece type;
    if (!from->type || !item_type(from->type->text, n->args[1], &type))
        return CFX_OK;
    cfx_buf_clear(text);
    cfx_buf_add(text, type.at, type.len);
    if (text->failed)
        return cfx_no_memory(p->err);
    if (n->type && !strcmp(n->type->text, cfx_buf_str(text)))
        return CFX_OK;
    p->changed++;
    return cfx_node_set_type(n, cfx_buf_str(text), p->err);
}

static cfx_status annotate_getitem_run(cfx_pass_call *p)
{
    cfx_buf text;
    cfx_status st = CFX_OK;
    cfx_buf_init(&text, p->ctx);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_CALL_FUNCTION && n->nargs == 2 &&
            n->args[0].kind == CFX_NODE && cfx_node_is(n, "getitem"))
            st = annotate(p, n, &text);
    cfx_buf_release(&text);
    return st;
}

const cfx_pass cfx_pass__annotate_getitem = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "annotate_getitem()",
    .doc =
        "Annotate each operator.getitem with the item type of its container's type.",
    .run = annotate_getitem_run,
};
