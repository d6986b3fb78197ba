/*
 * split_tags -- torch's split_by_tags: one child per tag.
 *
 * A child's placeholders and parameters are added where they are first used, as
 * in torch.
 */
#include "interp/split/split_impl.h"

#include "interp/split/split_order.h"

typedef struct tagged {
    splitter s;
    cfx_map tags;    /* tag -> its number */
    cfx_value *pair; /* pairs of the map of names */
    size_t npairs, cap;
} tagged;

/* ---- Parts ---- */

static cfx_status read_tags(tagged *t, const char *const *tags, size_t ntags)
{
    splitter *s = &t->s;
    s->nparts = (uint32_t)ntags;
    s->name = cfx_extract__scratch(&s->arena, ntags, sizeof(*s->name), s->err);
    s->order = cfx_extract__scratch(&s->arena, ntags, sizeof(*s->order),
                                    s->err);
    if (!s->name || !s->order)
        return s->err->code;
    for (uint32_t i = 0; i < ntags; i++) {
        bool added;
        cfx_map_entry *e = cfx_map_put(&t->tags, tags[i], strlen(tags[i]),
                                       &added);
        if (!e)
            return cfx_no_memory(s->err);
        if (!added)
            return cfx_fail(s->err, CFX_EINVAL, "the tag '%s' is given twice",
                            tags[i]);
        e->v.u = i;
        s->name[i] = tags[i];
        s->order[i] = i;
    }
    return CFX_OK;
}

static const char *tag_in_meta(void *user, const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "tag");
    (void)user;
    return v.kind == CFX_STR ? v.u.str->text : NULL;
}

static cfx_status check_pair(splitter *s, const cfx_node *before,
                             const cfx_node *n)
{
    uint32_t mine = s->part_of[n->id], part = s->part_of[before->id];
    if (part == NO_PART || mine == NO_PART || part <= mine)
        return CFX_OK;
    return cfx_fail(
        s->err, CFX_EGRAPH,
        "Component %s order must be >= max of its upstream components, order=%u and max=%u",
        s->name[mine], mine, part);
}

static cfx_status check_order(splitter *s, const cfx_node *n)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->ninputs && !st; i++)
        st = check_pair(s, cfx_node_input(n, i), n);
    return st;
}

/* A node that writes to memory is also upstream of nodes that read it later. */
static cfx_status check_writes(splitter *s)
{
    cfx_order_pairs pairs;
    cfx_status st = cfx_order_pairs__find(&pairs, s->g, s->err);
    for (size_t i = 0; i < pairs.n && !st; i++)
        st = check_pair(s, pairs.item[i].before, pairs.item[i].after);
    cfx_order_pairs__release(&pairs);
    return st;
}

static cfx_status place_nodes(tagged *t, cfx_tag_of_fn *tag_of, void *user)
{
    splitter *s = &t->s;
    memset(s->part_of, 0xFF, s->nids * sizeof(*s->part_of));
    for (const cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR ||
            n->op == CFX_OUTPUT)
            continue;
        const char *tag = tag_of(user, n);
        const cfx_map_entry *e = tag ? cfx_map_get(&t->tags, tag, strlen(tag))
                                     : NULL;
        if (!tag)
            return cfx_fail(s->err, CFX_EINVAL, "Node does not have tag: %s",
                            n->name);
        if (!e)
            return cfx_fail(s->err, CFX_EINVAL,
                            "%s has the tag '%s', which is not in the list",
                            n->name, tag);
        s->part_of[n->id] = (uint32_t)e->v.u;
        cfx_status st = check_order(s, n);
        if (st)
            return st;
    }
    return cfx_graph_output_node(s->g)
               ? check_writes(s)
               : cfx_fail(s->err, CFX_EGRAPH, "Graph had no output node!");
}

/* ---- Children ---- */

/* "a.b" -> "TAG.a.b" */
static cfx_status note_name(tagged *t, uint32_t p, const cfx_node *n)
{
    splitter *s = &t->s;
    cfx_buf text;
    if (!s->o.qualname_map ||
        (n->op != CFX_CALL_MODULE && n->op != CFX_GET_ATTR))
        return CFX_OK;
    if (cfx_grow(s->ctx, t->pair, t->cap, 2 * t->npairs + 2, s->err))
        return CFX_ENOMEM;
    cfx_buf_init(&text, s->ctx);
    cfx_buf_puts(&text, s->name[p]);
    cfx_buf_putc(&text, '.');
    cfx_buf_puts(&text, n->target->text);
    cfx_value *pair = t->pair + 2 * t->npairs++;
    pair[0] = cfx_str_new(s->ctx, n->target->text, n->target->len);
    pair[1] = text.failed ? CFX_NOTHING
                          : cfx_str_new(s->ctx, cfx_buf_str(&text), text.len);
    cfx_buf_release(&text);
    return CFX_OK;
}

/* Add the inputs of a node that the child does not have yet. */
static cfx_status extract_inputs(tagged *t, cfx_extraction *c, uint32_t p,
                                 const cfx_node *n, uint32_t *has)
{
    splitter *s = &t->s;
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->ninputs && !st; i++) {
        cfx_node *from = cfx_node_input(n, i);
        if (s->part_of[from->id] == p || has[from->id] == p + 1)
            continue;
        has[from->id] = p + 1;
        if (from->op == CFX_GET_ATTR) {
            st = cfx_extract__node(c, from, &(cfx_extract_options){0});
            if (!st)
                st = note_name(t, p, from);
            continue;
        }
        st = cfx_extract__node(c, from,
                               &(cfx_extract_options){
                                   .target = from->name,
                                   .placeholder = true,
                               });
        s->inputs[p][s->ninputs[p]++] = from;
    }
    return st;
}

static cfx_status extract_part(tagged *t, uint32_t p, uint32_t *has)
{
    splitter *s = &t->s;
    cfx_extraction c = {.env = s->env, .err = s->err};
    uint32_t from = s->nodes.start[p], to = s->nodes.start[p + 1];
    uint32_t first = s->outputs.start[p];
    size_t most = 0;
    for (uint32_t i = from; i < to; i++)
        most += s->nodes.item[i]->ninputs;
    s->inputs[p] = cfx_extract__scratch(&s->arena, most, sizeof(cfx_node *),
                                        s->err);
    if (!s->inputs[p] || cfx_graph_new(&c.to, s->ctx, s->err))
        return s->err->code;
    cfx_status st = CFX_OK;
    for (uint32_t i = from; i < to && !st; i++) {
        const cfx_node *n = s->nodes.item[i];
        st = extract_inputs(t, &c, p, n, has);
        if (!st)
            st = cfx_extract__node(&c, n,
                                   &(cfx_extract_options){.name = n->name});
        if (!st)
            st = note_name(t, p, n);
    }
    if (!st)
        st = cfx_extract__output(&c, s->outputs.item + first,
                                 s->outputs.start[p + 1] - first,
                                 s->o.tuple_return);
    if (st) {
        cfx_graph_free(c.to);
        return st;
    }
    st = cfx_extract__module_take(&s->child[p], s->gm, c.to, "GraphModule",
                                  s->err);
    return st ? st : cfx_lift__all(s->child[p], c.to, s->gm, s->err);
}

static cfx_status extract_parts(tagged *t)
{
    splitter *s = &t->s;
    cfx_arena *a = &s->arena;
    uint32_t *has = cfx_extract__scratch(a, s->nids, sizeof(*has), s->err);
    s->inputs = cfx_extract__scratch(a, s->nparts, sizeof(*s->inputs), s->err);
    s->ninputs = cfx_extract__scratch(a, s->nparts, sizeof(*s->ninputs),
                                      s->err);
    s->child = cfx_extract__scratch(a, s->nparts, sizeof(*s->child), s->err);
    if (!has || !s->inputs || !s->ninputs || !s->child)
        return s->err->code;
    cfx_status st = CFX_OK;
    for (uint32_t p = 0; p < s->nparts && !st; p++)
        st = extract_part(t, p, has);
    return st;
}

/* ---- The parent ---- */

static cfx_status call_parts(splitter *s, cfx_extraction *c)
{
    for (uint32_t p = 0; p < s->nparts; p++) {
        uint32_t first = s->outputs.start[p];
        cfx_node *call = cfx_extract__call(c, s->name[p], s->inputs[p],
                                           s->ninputs[p]);
        if (!call || cfx_extract__results(c, call, s->outputs.item + first,
                                          s->outputs.start[p + 1] - first,
                                          s->o.tuple_return))
            return s->err->code;
    }
    return CFX_OK;
}

/* A parameter that is returned gets its node's name in the parent. */
static cfx_status make_parent(splitter *s, cfx_extraction *c)
{
    const cfx_node *output = cfx_graph_output_node(s->g);
    cfx_status st = CFX_OK;
    memset(s->env, 0, s->nids * sizeof(*s->env));
    for (const cfx_node *n = cfx_graph_first(s->g); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER)
            st = cfx_extract__node(c, n,
                                   &(cfx_extract_options){.target = n->name});
    for (uint32_t i = 0; i < output->ninputs && !st; i++) {
        const cfx_node *n = cfx_node_input(output, i);
        if (n->op == CFX_GET_ATTR)
            st = cfx_extract__node(c, n,
                                   &(cfx_extract_options){.target = n->name});
    }
    if (!st)
        st = call_parts(s, c);
    return st ? st
              : cfx_extract__node(c, output,
                                  &(cfx_extract_options){.plain = true});
}

static cfx_status give_children(splitter *s, cfx_module *to)
{
    const cfx_node *output = cfx_graph_output_node(s->g);
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < output->ninputs && !st; i++) {
        const cfx_node *n = cfx_node_input(output, i);
        if (n->op == CFX_GET_ATTR)
            st = cfx_lift__one(to, n->name, s->gm, n->target->text, s->err);
    }
    for (uint32_t p = 0; p < s->nparts && !st; p++) {
        cfx_module *child = s->child[p];
        s->child[p] = NULL;
        st = cfx_module_add_take(to, s->name[p], child, s->err);
    }
    return st;
}

/* ---- The public function ---- */

cfx_status cfx_split_by_tags(cfx_module **out, const cfx_module *gm,
                             const char *const *tags, size_t ntags,
                             cfx_tag_of_fn *tag_of, void *user,
                             const cfx_split_options *options, cfx_error *err)
{
    cfx_error why;
    tagged t = {0};
    cfx_value names = CFX_NOTHING;
    why.code = CFX_OK;
    *out = NULL;
    cfx_status st = cfx_split__init(&t.s, gm, options, &why);
    cfx_map_init(&t.tags, t.s.ctx);
    if (!st)
        st = read_tags(&t, tags, ntags);
    if (!st)
        st = place_nodes(&t, tag_of ? tag_of : tag_in_meta, user);
    if (!st)
        st = cfx_split__sort_nodes(&t.s);
    if (!st)
        st = extract_parts(&t);
    cfx_status named = cfx_split__dict_take(&t.s, t.pair, t.npairs, &names);
    if (!st)
        st = named;
    if (!st)
        st = cfx_split__new_parent(&t.s, make_parent, give_children, out);
    if (!st && t.s.o.qualname_map)
        *t.s.o.qualname_map = cfx_value_ref(names);
    else if (t.s.o.qualname_map)
        *t.s.o.qualname_map = CFX_NOTHING;
    cfx_value_unref(names);
    cfx_free(t.s.ctx, t.pair, t.cap * sizeof(*t.pair));
    if (t.s.ctx)
        cfx_map_release(&t.tags);
    cfx_split__release(&t.s);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}
