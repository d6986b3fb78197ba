/*
 * onnx_captures -- the values around the graph of a node that it uses.
 */
#include "format/onnx/onnx.h"

static bool contains_node(cfx_value v)
{
    if (v.kind != CFX_TUPLE && v.kind != CFX_LIST)
        return v.kind == CFX_NODE;
    for (size_t i = 0; i < v.u.seq->len; i++)
        if (v.u.seq->item[i].kind == CFX_NODE)
            return true;
    return false;
}

/* Names that a graph or the graphs in it define hide those outside; that some
 * other graph in it uses the outer one is not worth a second table. */
typedef struct capture {
    onnx_node *n;
    cfx_map seen;
    const char **name;
    size_t count, room;
} capture;

static void see_use(capture *c, const char *name)
{
    bool added = false;
    const cfx_value *v;

    if (!*name || !cfx_map_put(&c->seen, name, strlen(name), &added) || !added)
        return;
    v = onnx_find_value(c->n->importer, name);
    if (!v || !contains_node(*v))
        return;
    if (c->count == c->room)
        onnx_fail(c->n, CFX_EUNSUPPORTED,
                  "its graphs use more than %zu values around them", c->room);
    else
        c->name[c->count++] = name;
}

static void see_definition(capture *c, const char *name)
{
    cfx_map_put(&c->seen, name, strlen(name), NULL);
}

static void see_graph(capture *c, const Onnx__GraphProto *g, int depth)
{
    for (size_t i = 0; i < g->n_input; i++)
        see_definition(c, onnx_text(g->input[i]->name));
    for (size_t i = 0; i < g->n_initializer; i++)
        see_definition(c, onnx_text(g->initializer[i]->name));
    for (size_t i = 0; i < g->n_node && depth < ONNX_MAX_DEPTH; i++) {
        const Onnx__NodeProto *p = g->node[i];
        for (size_t k = 0; k < p->n_input; k++)
            see_use(c, onnx_text(p->input[k]));
        for (size_t k = 0; k < p->n_attribute; k++)
            if (p->attribute[k]->g)
                see_graph(c, p->attribute[k]->g, depth + 1);
        for (size_t k = 0; k < p->n_output; k++)
            see_definition(c, onnx_text(p->output[k]));
    }
    for (size_t i = 0; i < g->n_output; i++)
        see_use(c, onnx_text(g->output[i]->name));
}

bool onnx_captures(onnx_node *n, const Onnx__GraphProto *g, const char **name,
                   size_t *count, size_t room)
{
    capture c = {.n = n, .name = name, .count = *count, .room = room};

    cfx_map_init(&c.seen, n->s->ctx);
    for (size_t i = 0; i < c.count; i++)
        see_definition(&c, name[i]);
    see_graph(&c, g, 0);
    *count = c.count;
    cfx_map_release(&c.seen);
    return !cfx_scope_failed(n->s);
}
