/*
 * matcher -- prepare patterns, and return matches.
 *
 * The search is in matcher_search.c, the comparison of two calls in
 * matcher_call.c, and the further conditions on a match in matcher_check.c.
 */
#include "interp/match/matcher_impl.h"

#include <stdio.h>

/* ---- Special nodes ---- */

static const char *target_of(const cfx_node *n)
{
    return n->target->text;
}

static uint8_t kind_of(const cfx_node *n)
{
    static const struct {
        const char *target;
        cfx_pattern_kind kind;
    } special[] = {
        {"cfx.any", CFX_PAT_ANY},         {"cfx.one_of", CFX_PAT_ONE_OF},
        {"cfx.optional", CFX_PAT_ONE_OF}, {"cfx.where", CFX_PAT_WHERE},
        {"cfx.module", CFX_PAT_MODULE},   {"cfx.call", CFX_PAT_CALL},
        {"cfx.number", CFX_PAT_NUMBER},
    };
    if (n->op == CFX_PLACEHOLDER)
        return CFX_PAT_PLACEHOLDER;
    if (n->op == CFX_CALL_FUNCTION && !strncmp(target_of(n), "cfx.", 4))
        for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
            if (!strcmp(target_of(n), special[i].target))
                return (uint8_t)special[i].kind;
    return CFX_PAT_NODE;
}

bool cfx_pattern_computes(const cfx_node *n)
{
    return n->op != CFX_OUTPUT && cfx_pattern_is_plain(kind_of(n));
}

static bool is_optional(const cfx_node *n)
{
    return !strcmp(target_of(n), "cfx.optional");
}

/* one_of(a, b) and one_of([a, b]) are equivalent. */
static const cfx_value *arguments(const cfx_node *n, uint32_t *count)
{
    if (n->nargs == 1 && cfx_value_is_seq(n->args[0])) {
        *count = n->args[0].u.seq->len;
        return n->args[0].u.seq->item;
    }
    *count = n->nargs;
    return n->args;
}

uint32_t cfx_pattern_alternatives(const cfx_node *pn)
{
    uint32_t n;
    arguments(pn, &n);
    return is_optional(pn) ? 2 : n;
}

cfx_value cfx_pattern_alternative(const cfx_node *pn, uint32_t i)
{
    uint32_t n;
    const cfx_value *arg = arguments(pn, &n);
    return i < n ? arg[i] : arg[0].u.node->args[0];
}

static bool is_node(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NODE;
}

bool cfx_pattern_has_nodes(cfx_value v)
{
    return cfx_value_any(v, is_node, NULL);
}

/* Find the predicate that `v` names; absent: there is no such argument. */
static cfx_status find_predicate(cfx_matcher *m, const cfx_node *n,
                                 cfx_value v, cfx_error *err)
{
    if (v.kind != CFX_STR)
        return cfx_fail(err, CFX_EINVAL,
                        "%s: %s takes the name of a predicate", n->name,
                        target_of(n));
    const char *name = v.u.str->text;
    for (size_t i = 0; i < m->o.npredicates; i++)
        if (!strcmp(m->o.predicates[i].name, name)) {
            m->node[n->id].test = &m->o.predicates[i];
            return CFX_OK;
        }
    return cfx_fail(err, CFX_EINVAL, "%s: there is no predicate '%s'", n->name,
                    name);
}

static cfx_status check_optional(const cfx_node *n, cfx_error *err)
{
    bool alone = n->nargs == 1 && n->args[0].kind == CFX_NODE &&
                 n->args[0].u.node->nargs > 0;
    return n->nargs == 2 || alone
               ? CFX_OK
               : cfx_fail(
                     err, CFX_EINVAL,
                     "%s: cfx.optional takes a node, and what stands there without it",
                     n->name);
}

static cfx_status check_special(cfx_matcher *m, const cfx_node *n,
                                cfx_error *err)
{
    uint32_t nargs = 0;
    if (n->op != CFX_CALL_FUNCTION)
        return CFX_OK;
    arguments(n, &nargs);
    switch ((cfx_pattern_kind)m->node[n->id].kind) {
    case CFX_PAT_WHERE:
        return find_predicate(m, n, n->nargs == 2 ? n->args[1] : CFX_NOTHING,
                              err);
    case CFX_PAT_CALL:
        return find_predicate(m, n, n->nargs ? n->args[0] : CFX_NOTHING, err);
    case CFX_PAT_NUMBER:
        return n->nargs == 2 && cfx_pattern_is_number(n->args[0]) &&
                       cfx_pattern_is_number(n->args[1])
                   ? CFX_OK
                   : cfx_fail(
                         err, CFX_EINVAL,
                         "%s: cfx.number takes a number and a relative tolerance",
                         n->name);
    case CFX_PAT_ONE_OF:
        if (is_optional(n))
            return check_optional(n, err);
        return nargs ? CFX_OK
                     : cfx_fail(err, CFX_EINVAL,
                                "%s: cfx.one_of needs alternatives", n->name);
    case CFX_PAT_MODULE:
        return n->nargs && n->args[0].kind == CFX_STR
                   ? CFX_OK
                   : cfx_fail(err, CFX_EINVAL,
                              "%s: cfx.module takes the name of a type first",
                              n->name);
    default: return CFX_OK;
    }
}

/* ---- Outputs ---- */

static bool has(const cfx_node *const *list, size_t n, const cfx_node *node)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == node)
            return true;
    return false;
}

typedef struct cfx_outputs {
    cfx_matcher *m;
    bool *seen; /* by id */
} cfx_outputs;

static cfx_status add_output(void *user, cfx_value v)
{
    cfx_outputs *o = user;
    cfx_matcher *m = o->m;
    if (v.kind != CFX_NODE || o->seen[v.u.node->id])
        return CFX_OK;
    o->seen[v.u.node->id] = true;
    if (cfx_grow(m->ctx, m->returning, m->returning_cap, m->nreturning + 1,
                 NULL))
        return CFX_ENOMEM;
    m->returning[m->nreturning++] = v.u.node;
    return CFX_OK;
}

/* Split off the dict of names: only the other items of the tuple are
 * outputs. */
static cfx_status split_names(cfx_matcher *m, cfx_error *err)
{
    cfx_value out = m->out_args;
    uint32_t n = cfx_value_is_seq(out) ? out.u.seq->len : 0;
    if (n < 2 || out.u.seq->item[n - 1].kind != CFX_DICT)
        return cfx_fail(
            err, CFX_EINVAL,
            "the pattern must return a tuple that ends in a dict of names");
    const cfx_seq *names = out.u.seq->item[n - 1].u.seq;
    for (uint32_t i = 0; i < names->len; i += 2)
        if (names->item[i].kind != CFX_STR ||
            names->item[i + 1].kind != CFX_NODE)
            return cfx_fail(err, CFX_EINVAL,
                            "a name of the pattern must stand for a node");
    m->nout_args = n - 1;
    return CFX_OK;
}

static cfx_status find_outputs(cfx_matcher *m, cfx_error *err)
{
    cfx_outputs o = {.m = m};
    cfx_status st = m->o.name_node_map ? split_names(m, err) : CFX_OK;
    if (st)
        return st;
    size_t size = (size_t)m->ids * sizeof(bool);
    o.seen = cfx_calloc(m->ctx, m->ids, sizeof(bool));
    if (!o.seen)
        return cfx_no_memory(err);
    if (!m->nout_args)
        st = cfx_value_visit(m->out_args, add_output, &o);
    for (uint32_t i = 0; i < m->nout_args && !st; i++)
        st = cfx_value_visit(m->out_args.u.seq->item[i], add_output, &o);
    cfx_free(m->ctx, o.seen, size);
    return st ? cfx_no_memory(err) : CFX_OK;
}

/* ---- Anchors ---- */

static cfx_status add_anchor(cfx_matcher *m, const cfx_node *n, cfx_error *err)
{
    if (cfx_grow(m->ctx, m->anchor, m->anchors_cap, m->nanchors + 1, err))
        return CFX_ENOMEM;
    m->anchor[m->nanchors++] = (cfx_anchor){.node = n};
    return CFX_OK;
}

/* Anchors are outputs without other users, not counting the dict of names. */
static cfx_status find_anchors(cfx_matcher *m, cfx_error *err)
{
    if (m->o.match_output)
        return add_anchor(m, m->output, err);
    for (size_t i = 0; i < m->nreturning; i++)
        if (m->returning[i]->nusers == 1) {
            cfx_status st = add_anchor(m, m->returning[i], err);
            if (st)
                return st;
        }
    return CFX_OK;
}

/* Find the nodes that a candidate for the anchor may equal: the anchor, or the
 * nodes that its special nodes lead to. */
static cfx_status find_heads(cfx_matcher *m, cfx_anchor *a, cfx_error *err)
{
    uint32_t n = 0;
    m->queue[n++] = a->node;
    for (uint32_t i = 0; i < n; i++) {
        const cfx_node *pn = m->queue[i];
        uint8_t kind = m->node[pn->id].kind;
        uint32_t parts = kind == CFX_PAT_ONE_OF  ? cfx_pattern_alternatives(pn)
                         : kind == CFX_PAT_WHERE ? 1
                                                 : 0;
        for (uint32_t k = 0; k < parts; k++) {
            cfx_value v = kind == CFX_PAT_WHERE
                              ? pn->args[0]
                              : cfx_pattern_alternative(pn, k);
            if (v.kind == CFX_NODE && !has(m->queue, n, v.u.node))
                m->queue[n++] = v.u.node;
        }
        if (kind == CFX_PAT_ANY || kind == CFX_PAT_PLACEHOLDER)
            a->any_node = true;
        if (!cfx_pattern_is_plain(kind))
            continue;
        if (n > 256)
            a->any_node = true;
        if (cfx_grow(m->ctx, a->heads, a->heads_cap, a->nheads + 1, err))
            return CFX_ENOMEM;
        a->heads[a->nheads++] = pn;
    }
    return CFX_OK;
}

/* Mark all nodes that an anchor reaches through nodes that every match of it
 * binds. */
static void mark_early(cfx_matcher *m, const cfx_node *anchor)
{
    uint32_t n = 0;
    m->queue[n++] = anchor;
    m->node[anchor->id].early = true;
    for (uint32_t i = 0; i < n; i++) {
        const cfx_node *pn = m->queue[i];
        if (!cfx_pattern_is_plain(m->node[pn->id].kind))
            continue;
        for (uint32_t k = 0; k < pn->ninputs; k++) {
            const cfx_node *input = cfx_node_input(pn, k);
            if (!m->node[input->id].early) {
                m->node[input->id].early = true;
                m->queue[n++] = input;
            }
        }
    }
}

/* Find the shortest path over plain nodes from those that earlier anchors
 * reach to this one. from[id]: 1 + the queue index of the user that led to
 * the node. */
static cfx_status find_path(cfx_matcher *m, cfx_anchor *a, uint32_t *from,
                            cfx_error *err)
{
    uint32_t n = 0, i = 0;
    memset(from, 0, m->ids * sizeof(*from));
    m->queue[n++] = a->node;
    for (; i < n; i++) {
        const cfx_node *pn = m->queue[i];
        if (m->node[pn->id].early)
            break;
        if (!cfx_pattern_is_plain(m->node[pn->id].kind))
            continue;
        for (uint32_t k = 0; k < pn->ninputs; k++) {
            const cfx_node *input = cfx_node_input(pn, k);
            if (from[input->id] || input == a->node)
                continue;
            from[input->id] = i + 1;
            m->queue[n++] = input;
        }
    }
    if (i == n || m->node[m->queue[i]->id].kind == CFX_PAT_ANY)
        return CFX_OK;
    for (const cfx_node *pn = m->queue[i];; pn = m->queue[from[pn->id] - 1]) {
        if (cfx_grow(m->ctx, a->path, a->path_cap, a->npath + 1, err))
            return CFX_ENOMEM;
        a->path[a->npath++] = pn;
        if (pn == a->node)
            return CFX_OK;
    }
}

static cfx_status prepare_anchors(cfx_matcher *m, cfx_error *err)
{
    cfx_status st = find_anchors(m, err);
    uint32_t *from = cfx_alloc(m->ctx, m->ids * sizeof(*from));
    if (!from)
        return cfx_no_memory(err);
    for (size_t i = 0; i < m->nanchors && !st; i++) {
        st = find_heads(m, &m->anchor[i], err);
        if (!st && i)
            st = find_path(m, &m->anchor[i], from, err);
        mark_early(m, m->anchor[i].node);
    }
    cfx_free(m->ctx, from, m->ids * sizeof(*from));
    return st;
}

/* ---- Creation ---- */

static cfx_status add_placeholder(cfx_matcher *m, const cfx_node *n,
                                  cfx_error *err)
{
    if (cfx_grow(m->ctx, m->placeholder, m->placeholders_cap,
                 m->nplaceholders + 1, err))
        return CFX_ENOMEM;
    m->placeholder[m->nplaceholders++] = n;
    return CFX_OK;
}

static cfx_status prepare_nodes(cfx_matcher *m, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(m->pattern); n && !st;
         n = cfx_node_next(n)) {
        m->node[n->id].kind = kind_of(n);
        if (n->op == CFX_PLACEHOLDER)
            st = add_placeholder(m, n, err);
        else if (n->op != CFX_OUTPUT && !n->nusers)
            return cfx_fail(
                err, CFX_EGRAPH,
                "SubgraphMatcher cannot be initialized with an pattern with dead code: nothing uses %s",
                n->name);
        else
            st = check_special(m, n, err);
    }
    return st;
}

static cfx_status prepare(cfx_matcher *m, cfx_error *err)
{
    if (!cfx_graph_len(m->pattern))
        return cfx_fail(
            err, CFX_EGRAPH,
            "SubgraphMatcher cannot be initialized with an empty pattern");
    m->output = cfx_graph_output_node(m->pattern);
    if (!m->output || !m->output->nargs)
        return cfx_fail(err, CFX_EGRAPH, "the pattern has no output");
    m->out_args = m->output->args[0];
    m->node = cfx_calloc(m->ctx, m->ids, sizeof(*m->node));
    m->queue = cfx_alloc(m->ctx, m->ids * sizeof(*m->queue));
    if (!m->node || !m->queue)
        return cfx_no_memory(err);
    cfx_status st = prepare_nodes(m, err);
    if (!st)
        st = find_outputs(m, err);
    return st ? st : prepare_anchors(m, err);
}

cfx_status cfx_matcher_new(cfx_matcher **out, const cfx_graph *pattern,
                           const cfx_match_options *options, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(pattern);
    cfx_matcher *m = cfx_calloc(ctx, 1, sizeof(*m));
    if (!m)
        return cfx_no_memory(err);
    m->ctx = ctx;
    m->pattern = pattern;
    m->ids = cfx_graph_ids(pattern);
    if (options)
        memcpy(&m->o, options,
               options->size && options->size < sizeof(m->o) ? options->size
                                                             : sizeof(m->o));
    m->o.by_operator |= m->o.commutative;
    if (m->o.node_name_match && !*m->o.node_name_match)
        m->o.node_name_match = NULL;
    cfx_status st = prepare(m, err);
    if (st)
        cfx_matcher_free(m);
    else
        *out = m;
    return st;
}

static void free_node(cfx_matcher *m, cfx_pattern_node *n)
{
    while (n->calls) {
        cfx_bound_pattern *call = n->calls;
        n->calls = call->next;
        cfx_bound_release(&call->bound);
        cfx_free(m->ctx, call, sizeof(*call));
    }
}

void cfx_matcher_free(cfx_matcher *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->ids && m->node; i++)
        free_node(m, &m->node[i]);
    for (size_t i = 0; i < m->nanchors; i++) {
        cfx_anchor *a = &m->anchor[i];
        cfx_free(m->ctx, a->heads, a->heads_cap * sizeof(*a->heads));
        cfx_free(m->ctx, a->path, a->path_cap * sizeof(*a->path));
    }
    cfx_free(m->ctx, m->anchor, m->anchors_cap * sizeof(*m->anchor));
    cfx_free(m->ctx, m->placeholder,
             m->placeholders_cap * sizeof(*m->placeholder));
    cfx_free(m->ctx, m->returning, m->returning_cap * sizeof(*m->returning));
    if (m->node)
        cfx_free(m->ctx, m->node, m->ids * sizeof(*m->node));
    if (m->queue)
        cfx_free(m->ctx, m->queue, m->ids * sizeof(*m->queue));
    cfx_free(m->ctx, m, sizeof(*m));
}
