/*
 * split_module -- torch's split_module: build the children one by one, then the parent
 * that calls them.
 */
#include "interp/split/split_impl.h"

#include <stdio.h>

/* ---- Init and release ---- */

cfx_status cfx_split__init(splitter *s, const cfx_module *gm,
                           const cfx_split_options *options, cfx_error *err)
{
    *s = (splitter){.gm = gm, .err = err};
    s->g = cfx_graph_module_graph(gm);
    if (!s->g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    s->ctx = cfx_graph_context(s->g);
    if (options)
        memcpy(&s->o, options,
               options->size < sizeof(s->o) ? options->size : sizeof(s->o));
    cfx_arena_init(&s->arena, s->ctx);
    s->nids = cfx_graph_ids(s->g);
    s->part_of = cfx_extract__scratch(&s->arena, s->nids, sizeof(*s->part_of),
                                      err);
    s->env = cfx_extract__scratch(&s->arena, s->nids, sizeof(*s->env), err);
    s->path = cfx_extract__scratch(&s->arena, s->nids, sizeof(*s->path), err);
    return s->part_of && s->env && s->path ? CFX_OK : err->code;
}

void cfx_split__release(splitter *s)
{
    for (uint32_t p = 0; s->child && p < s->nparts; p++)
        cfx_module_unref(s->child[p]);
    if (s->ctx)
        cfx_arena_release(&s->arena);
}

/* ---- Children ---- */

/* Set *yes if a get_attr node names a module. */
static cfx_status names_module(splitter *s, const cfx_node *n, bool *yes)
{
    cfx_value v;
    cfx_status st = cfx_module_fetch_attr(&v, s->gm, n->target->text, NULL);
    *yes = !st && v.kind == CFX_MODULE;
    return !st ? CFX_OK
               : cfx_fail(s->err, CFX_ENAME, "Node target %s not found!",
                          n->target->text);
}

/* Find the inputs of part p, each once: first those that become placeholders,
 * then *nmodules get_attr nodes of modules. */
static cfx_status find_inputs(splitter *s, uint32_t p, uint32_t *seen,
                              uint32_t *nmodules)
{
    size_t most = 0;
    uint32_t n = 0;
    bool module = false;
    *nmodules = 0;
    for (uint32_t i = s->nodes.start[p]; i < s->nodes.start[p + 1]; i++)
        most += s->nodes.item[i]->ninputs;
    cfx_node **list = cfx_extract__scratch(&s->arena, 2 * most, sizeof(*list),
                                           s->err);
    if (!list)
        return s->err->code;
    cfx_node **modules = list + most;
    for (uint32_t i = s->nodes.start[p]; i < s->nodes.start[p + 1]; i++)
        for (uint32_t k = 0; k < s->nodes.item[i]->ninputs; k++) {
            cfx_node *from = cfx_node_input(s->nodes.item[i], k);
            if (s->part_of[from->id] == p || seen[from->id] == p + 1)
                continue;
            seen[from->id] = p + 1;
            module = false;
            if (from->op == CFX_GET_ATTR && names_module(s, from, &module))
                return s->err->code;
            if (module)
                modules[(*nmodules)++] = from;
            else
                list[n++] = from;
        }
    s->inputs[p] = list;
    s->ninputs[p] = n;
    memmove(list + n, modules, *nmodules * sizeof(*list));
    return CFX_OK;
}

static cfx_status extract_inputs(splitter *s, cfx_extraction *c, uint32_t p,
                                 uint32_t nmodules)
{
    cfx_node *const *list = s->inputs[p];
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < s->ninputs[p] && !st; i++) {
        char arg[32];
        snprintf(arg, sizeof(arg), "arg_%u", i);
        st = cfx_extract__node(
            c, list[i],
            &(cfx_extract_options){
                .target = s->o.number_inputs ? arg : list[i]->name,
                .placeholder = true,
            });
    }
    for (uint32_t i = 0; i < nmodules && !st; i++) {
        st = cfx_extract__node(c, list[s->ninputs[p] + i],
                               &(cfx_extract_options){0});
    }
    return st;
}

/* Module `a.b` is a_b in a child, with a number if the name is taken. */
static cfx_status name_in_child(splitter *s, cfx_map *taken, const char *path,
                                const char **name)
{
    char text[600];
    size_t len = strlen(path);
    if (len > 512)
        return cfx_fail(s->err, CFX_ENAME, "Node target %s not found!", path);
    memcpy(text, path, len + 1);
    for (char *dot = text; (dot = strchr(dot, '.')) != NULL;)
        *dot = '_';
    for (int i = 1;; i++) {
        bool added;
        cfx_map_entry *e = cfx_map_put(taken, text, strlen(text), &added);
        if (!e)
            return cfx_no_memory(s->err);
        if (added) {
            e->v.p = (void *)path;
            *name = cfx_arena_strdup(&s->arena, text, strlen(text));
            if (*name) {
                e->key = *name;
                return CFX_OK;
            }
            cfx_map_remove(taken, text, strlen(text));
            return cfx_no_memory(s->err);
        }
        if (!strcmp(e->v.p, path)) {
            *name = e->key;
            return CFX_OK;
        }
        snprintf(text + len, sizeof(text) - len, "_%d", i);
    }
}

static cfx_status extract_nodes(splitter *s, cfx_extraction *c, uint32_t p,
                                cfx_map *taken)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = s->nodes.start[p]; i < s->nodes.start[p + 1] && !st;
         i++) {
        const cfx_node *n = s->nodes.item[i];
        cfx_extract_options how = {0};
        if (s->o.keep_original_node_name)
            how.name = n->name;
        if (n->op == CFX_CALL_MODULE)
            st = name_in_child(s, taken, n->target->text, &how.target);
        s->path[n->id] = how.target;
        if (!st)
            st = cfx_extract__node(c, n, &how);
    }
    return st;
}

/* Copy the modules that the nodes call or fetch into a child. */
static cfx_status lift_modules(splitter *s, uint32_t p, uint32_t nmodules)
{
    cfx_module *to = s->child[p];
    cfx_status st = CFX_OK;
    for (uint32_t i = s->nodes.start[p]; i < s->nodes.start[p + 1] && !st;
         i++) {
        const cfx_node *n = s->nodes.item[i];
        if (n->op == CFX_CALL_MODULE)
            st = cfx_lift__one(to, s->path[n->id], s->gm, n->target->text,
                               s->err);
    }
    for (uint32_t i = 0; i < nmodules && !st; i++) {
        const char *path = s->inputs[p][s->ninputs[p] + i]->target->text;
        st = cfx_lift__one(to, path, s->gm, path, s->err);
    }
    return st;
}

static cfx_status extract_part(splitter *s, uint32_t p, uint32_t *seen)
{
    cfx_extraction c = {.env = s->env, .err = s->err};
    uint32_t nmodules = 0, first = s->outputs.start[p];
    cfx_map taken;
    cfx_status st = cfx_graph_new(&c.to, s->ctx, s->err);
    if (st)
        return st;
    cfx_map_init(&taken, s->ctx);
    st = find_inputs(s, p, seen, &nmodules);
    if (!st)
        st = extract_inputs(s, &c, p, nmodules);
    if (!st)
        st = extract_nodes(s, &c, p, &taken);
    if (!st)
        st = cfx_extract__output(&c, s->outputs.item + first,
                                 s->outputs.start[p + 1] - first,
                                 s->o.tuple_return);
    cfx_map_release(&taken);
    if (st) {
        cfx_graph_free(c.to);
        return st;
    }
    st = cfx_extract__module_take(&s->child[p], s->gm, c.to, "GraphModule",
                                  s->err);
    return st ? st : lift_modules(s, p, nmodules);
}

cfx_status cfx_split__extract(splitter *s)
{
    cfx_arena *a = &s->arena;
    uint32_t *seen = cfx_extract__scratch(a, s->nids, sizeof(*seen), s->err);
    s->inputs = cfx_extract__scratch(a, s->nparts, sizeof(*s->inputs), s->err);
    s->ninputs = cfx_extract__scratch(a, s->nparts, sizeof(*s->ninputs),
                                      s->err);
    s->child = cfx_extract__scratch(a, s->nparts, sizeof(*s->child), s->err);
    if (!seen || !s->inputs || !s->ninputs || !s->child)
        return s->err->code;
    cfx_status st = CFX_OK;
    for (uint32_t p = 0; p < s->nparts && !st; p++)
        st = extract_part(s, p, seen);
    return st;
}

/* ---- The map of names ---- */

cfx_status cfx_split__dict_take(splitter *s, cfx_value *pair, size_t n,
                                cfx_value *out)
{
    bool made = true;
    for (size_t i = 0; i < 2 * n; i++)
        made = made && pair[i].kind == CFX_STR;
    *out = made ? cfx_dict_new(s->ctx, n, pair) : CFX_NOTHING;
    for (size_t i = 0; i < 2 * n; i++)
        cfx_value_unref(pair[i]);
    return out->kind ? CFX_OK : cfx_no_memory(s->err);
}

/* Map "submod_0.a_b" to "a.b" for each module that a part calls. Keys point
 * into the strings. */
static cfx_status map_names(splitter *s)
{
    size_t n = 0, cap = 2 * (size_t)s->nodes.start[s->nparts];
    char text[700];
    cfx_value *pair = cfx_calloc(s->ctx, cap + 1, sizeof(*pair));
    cfx_map seen;
    cfx_map_init(&seen, s->ctx);
    bool made = pair != NULL;
    for (uint32_t i = 0; i < s->nodes.start[s->nparts] && made; i++) {
        const cfx_node *from = s->nodes.item[i];
        bool added;
        if (from->op != CFX_CALL_MODULE)
            continue;
        int len = snprintf(text, sizeof(text), "%s.%s",
                           s->name[s->part_of[from->id]], s->path[from->id]);
        cfx_map_entry *e = cfx_map_put(&seen, text, (size_t)len, &added);
        if (e && !added)
            continue;
        pair[2 * n] = cfx_str_new(s->ctx, text, (size_t)len);
        pair[2 * n + 1] = cfx_str_new(s->ctx, from->target->text,
                                      from->target->len);
        made = e && pair[2 * n].kind;
        if (made)
            e->key = pair[2 * n].u.str->text;
        n++;
    }
    cfx_map_release(&seen);
    cfx_status st = pair ? cfx_split__dict_take(s, pair, n, s->o.qualname_map)
                         : cfx_no_memory(s->err);
    cfx_free(s->ctx, pair, (cap + 1) * sizeof(*pair));
    return st;
}

/* ---- The public function ---- */

cfx_status cfx_split_module(cfx_module **out, const cfx_module *gm,
                            cfx_part_of_fn *part_of, void *user,
                            const cfx_split_options *options, cfx_error *err)
{
    cfx_error why;
    splitter s;
    why.code = CFX_OK;
    *out = NULL;
    if (options && options->qualname_map)
        *options->qualname_map = CFX_NOTHING;
    cfx_status st = cfx_split__init(&s, gm, options, &why);
    if (!st)
        st = cfx_split__prepare(&s, part_of, user);
    if (!st)
        st = cfx_split__extract(&s);
    if (!st && s.o.qualname_map)
        st = map_names(&s);
    if (!st)
        st = cfx_split__parent(&s, out);
    if (st && s.o.qualname_map) {
        cfx_value_unref(*s.o.qualname_map);
        *s.o.qualname_map = CFX_NOTHING;
    }
    cfx_split__release(&s);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}
