/*
 * shape_rows -- the rows of a table of shapes.
 *
 * Consecutive nodes of one module that is deeper than requested become one row,
 * with the value of the last one of them that other nodes use.
 */
#include "shapeprop/shapes/shape_rows.h"

#include "base/util.h"

/* Return the length of the first `depth` atoms of a path. */
static size_t cut(cfx_node_path p, int depth)
{
    for (size_t i = 0; i < p.len; i++)
        if (p.path[i] == '.' && !--depth)
            return i;
    return p.len;
}

static cfx_shape_row row_of(const cfx_shape_prop *p, const cfx_node *n,
                            cfx_node_path path)
{
    return (cfx_shape_row){
        .name = n->name,
        .name_len = strlen(n->name),
        .op = cfx_opcode_names[n->op],
        .target = n->target->text,
        .path = path,
        .value = cfx_interp_env(&p->base, n),
    };
}

static const char *class_at(const cfx_module *root, const char *path,
                            size_t len)
{
    char name[256];
    if (len >= sizeof(name))
        return "";
    memcpy(name, path, len);
    name[len] = '\0';
    const cfx_module *m = cfx_module_at(root, name);
    return m ? cfx_module_class_name(m) : "";
}

/* True if a node is merged into the row of the module of `len` bytes. A node
 * that calls just that module has a row of its own. */
static bool is_inside(const cfx_shape_rows *r, const cfx_node *n, int depth,
                      size_t *len)
{
    cfx_node_path path = r->path[n->id];
    *len = cut(path, depth);
    if (!depth || !path.len || n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT)
        return false;
    size_t names = 1;
    for (size_t i = 0; i < path.len; i++)
        names += path.path[i] == '.';
    return names > (size_t)depth ||
           (names == (size_t)depth && n->op != CFX_CALL_MODULE);
}

static bool is_used_behind(const cfx_node *n, const cfx_node *end)
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!end || u->user == end || cfx_node_before(end, u->user))
            return true;
    return false;
}

/* Add one row for all nodes from n on in its module; returns the next node. */
static const cfx_node *add_module(cfx_shape_rows *r, const cfx_shape_prop *p,
                                  const cfx_node *n, size_t len, int depth)
{
    const char *name = r->path[n->id].path;
    const cfx_node *end = n, *last = n;
    size_t l;
    while (end && is_inside(r, end, depth, &l) && l == len &&
           !memcmp(r->path[end->id].path, name, len))
        end = cfx_node_next(end);
    for (const cfx_node *k = n; k != end; k = cfx_node_next(k))
        if (is_used_behind(k, end))
            last = k;
    cfx_shape_row row = row_of(p, last, (cfx_node_path){name, len});
    row.name = name;
    row.name_len = len;
    row.op = "module";
    row.target = class_at(p->base.module, name, len);
    r->row[r->n++] = row;
    return end;
}

cfx_status cfx_shape_rows__make(cfx_shape_rows *r, const cfx_shape_prop *p,
                                int depth, cfx_error *err)
{
    const cfx_graph *g = p->base.graph;
    size_t len;
    *r = (cfx_shape_rows){.ctx = cfx_graph_context(g),
                          .cap = cfx_graph_len(g),
                          .ids = cfx_graph_ids(g)};
    r->row = cfx_alloc(r->ctx, r->cap * sizeof(*r->row));
    r->path = cfx_alloc(r->ctx, r->ids * sizeof(*r->path));
    if (!r->row || !r->path)
        return cfx_no_memory(err);
    cfx_graph_node_paths(g, r->path);
    for (const cfx_node *n = cfx_graph_first(g); n;) {
        if (is_inside(r, n, depth, &len)) {
            n = add_module(r, p, n, len, depth);
        } else {
            r->row[r->n++] = row_of(p, n, r->path[n->id]);
            n = cfx_node_next(n);
        }
    }
    for (size_t i = 0; i < r->n; i++)
        if (!r->row[i].value.kind)
            return cfx_fail(err, CFX_EINVAL,
                            "%.*s has no value: the walk must keep them",
                            (int)r->row[i].name_len, r->row[i].name);
    return CFX_OK;
}

void cfx_shape_rows__release(cfx_shape_rows *r)
{
    cfx_free(r->ctx, r->row, r->cap * sizeof(*r->row));
    cfx_free(r->ctx, r->path, r->ids * sizeof(*r->path));
}
