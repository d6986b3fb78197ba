/*
 * rewriter -- replace matches one by one.
 *
 * All steps that can fail come first: finding the place, copying the graph
 * there and checking the result. Exchanging uses and erasing the matched nodes
 * needs no memory, so each match is replaced completely or not at all.
 * `changed` maps erased outputs to their replacements, since later matches may
 * have bound them.
 */
#include "interp/match/rewriter_impl.h"

/* ---- Remapping ---- */

static cfx_status follow(void *user, cfx_value v, cfx_value *out)
{
    const cfx_rewrite *r = user;
    for (int hops = 0; v.kind == CFX_NODE && hops < 64; hops++) {
        cfx_value now = cfx_node_map_get(&r->changed, v.u.node);
        if (!now.kind)
            break;
        v = now;
    }
    *out = cfx_value_ref(v);
    return CFX_OK;
}

/* Map a value of a match to its current replacement. Items in the three arrays
 * are borrowed from the map. */
static cfx_status update(cfx_rewrite *r, cfx_match *m, cfx_value *slot)
{
    cfx_value old = *slot, now;
    cfx_status st = cfx_value_map(&now, r->ctx, old, follow, r, r->err);
    if (st)
        return st;
    *slot = now;
    for (size_t i = 0; i < m->nplaceholders; i++)
        if (m->placeholders[i].kind == old.kind &&
            m->placeholders[i].u.i == old.u.i)
            m->placeholders[i] = now;
    for (size_t i = 0; i < m->nreturning; i++)
        if (m->returning[i].kind == old.kind && m->returning[i].u.i == old.u.i)
            m->returning[i] = now;
    cfx_value_unref(old);
    return CFX_OK;
}

static cfx_status update_match(cfx_rewrite *r, cfx_match *m)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(m->pattern); n && !st;
         n = cfx_node_next(n))
        if (m->map[n->id].kind && !cfx_pattern_computes(n))
            st = update(r, m, &m->map[n->id]);
    return st;
}

/* ---- The copy ---- */

static cfx_status bind_placeholders(cfx_rewrite_step *t)
{
    size_t k = 0;
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(t->from); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        cfx_value v = t->m->placeholders[k++];
        if (!v.kind && n->nusers)
            return cfx_fail(
                t->r->err, CFX_EINVAL,
                "the replacement uses %s, which the pattern does not bind",
                n->name);
        st = cfx_node_map_set(&t->map, n, v.kind ? v : cfx_none(), t->r->err);
    }
    return st;
}

static cfx_node *copy_of(const cfx_rewrite_step *t, const cfx_node *n)
{
    cfx_node *copy = n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT
                         ? NULL
                         : cfx_node_map_node(&t->map, n);
    return copy && copy->id >= t->first_id ? copy : NULL;
}

static void erase_copy(cfx_rewrite_step *t)
{
    for (cfx_node *n = cfx_graph_last(t->from); n; n = cfx_node_prev(n))
        if (copy_of(t, n))
            cfx_graph_erase_node(t->r->g, copy_of(t, n), NULL);
}

static bool calls_same(const cfx_node *a, const cfx_node *b)
{
    return a->op == b->op && !strcmp(a->target->text, b->target->text);
}

enum { MANY_NODES = 256 };

/* The node of the match that calls the same target as n, or the anchor. In a very
 * large match it is always the anchor. */
static cfx_node *predecessor(const cfx_match *m, const cfx_node *n)
{
    if (cfx_graph_len(m->pattern) > MANY_NODES)
        return m->anchor;
    const cfx_node *at = NULL;
    cfx_node *old;
    while ((old = cfx_match__next_node(m, &at)) != NULL)
        if (calls_same(old, n))
            return old;
    return m->anchor;
}

/* A call of the same target keeps its meta, except for facts about the value,
 * since its arguments may differ. */
static cfx_status copy_meta(cfx_node *to, const cfx_node *from, cfx_error *err)
{
    cfx_status st = CFX_OK;
    const cfx_seq *meta = from->meta.kind == CFX_DICT ? from->meta.u.seq
                                                      : NULL;
    for (uint32_t i = 0; meta && i + 1 < meta->len && !st; i += 2)
        st = cfx_node_set_meta(to, meta->item[i].u.str->text,
                               meta->item[i + 1], err);
    return st ? st : cfx_node__forget_known(to, err);
}

/* New nodes inherit provenance from all nodes of the match: meta first from their
 * predecessor, and as the last origin the anchor, whose value replaces it. In a very
 * large match they inherit from the anchor only. */
static cfx_status inherit(cfx_rewrite_step *t, cfx_node *copy)
{
    const cfx_match *m = t->m;
    cfx_error *err = t->r->err;
    const cfx_node *first = predecessor(m, copy), *at = NULL, *old;
    bool many = cfx_graph_len(m->pattern) > MANY_NODES;
    bool same = !many && t->r->o.same_values && calls_same(first, copy);
    cfx_status st = same ? copy_meta(copy, first, err) : CFX_OK;
    if (!st)
        st = cfx_node_inherit(copy, first, err);
    if (many)
        return st;
    if (!st && first == m->anchor)
        st = cfx_node_set_meta(copy, "from_node", CFX_NOTHING, err);
    while (!st && (old = cfx_match__next_node(m, &at)) != NULL)
        if (old != m->anchor)
            st = cfx_node_inherit(copy, old, err);
    return st ? st : cfx_node_inherit(copy, m->anchor, err);
}

/* Record the copies in order. */
static cfx_status list_copies(cfx_rewrite_step *t)
{
    cfx_match *m = t->m;
    size_t n = 0, i = 0;
    cfx_status st = CFX_OK;
    for (const cfx_node *f = cfx_graph_first(t->from); f; f = cfx_node_next(f))
        n += copy_of(t, f) != NULL;
    m->replacements = n ? cfx_alloc(t->r->ctx, n * sizeof(cfx_node *)) : NULL;
    if (n && !m->replacements)
        return cfx_no_memory(t->r->err);
    m->nreplacements = n;
    for (const cfx_node *f = cfx_graph_first(t->from); f && !st;
         f = cfx_node_next(f)) {
        cfx_node *copy = copy_of(t, f);
        if (!copy)
            continue;
        m->replacements[i++] = copy;
        if (copy->op != CFX_GET_ATTR || !t->r->o.same_values)
            st = inherit(t, copy);
    }
    return st;
}

/* ---- Outputs ---- */

typedef struct cfx_leaves {
    const cfx_rewrite_step *t;
    size_t n; /* seen so far */
} cfx_leaves;

static cfx_status count_leaf(void *user, cfx_value v)
{
    (void)v;
    ++*(size_t *)user;
    return CFX_OK;
}

size_t cfx_rewriter__count_leaves(cfx_value v)
{
    size_t n = 0;
    cfx_value_visit(v, count_leaf, &n);
    return n;
}

/* Return the part of the output that counts: all but a dict of names. */
static cfx_value output_of(const cfx_graph *g)
{
    const cfx_node *out = cfx_graph_output_node(g);
    return out && out->nargs ? out->args[0] : cfx_none();
}

static size_t pattern_leaves(const cfx_match *m)
{
    cfx_value out = output_of(m->pattern);
    if (!m->names)
        return cfx_rewriter__count_leaves(out);
    size_t n = 0;
    for (uint32_t i = 0; i + 1 < out.u.seq->len; i++)
        n += cfx_rewriter__count_leaves(out.u.seq->item[i]);
    return n;
}

static cfx_status take_leaf(void *user, cfx_value v)
{
    cfx_leaves *l = user;
    l->t->with[l->n++] = v;
    return CFX_OK;
}

/* Pairs leaves of the pattern's output with their nodes' first positions. */
typedef struct cfx_pairing {
    const cfx_rewrite_step *t;
    const cfx_value *leaf; /* of the copy's output */
    size_t at, next;       /* leaf; distinct output */
} cfx_pairing;

static cfx_status pair_leaf(void *user, cfx_value v)
{
    cfx_pairing *p = user;
    const cfx_match *m = p->t->m;
    cfx_value leaf = p->leaf[p->at++];
    cfx_value stands = v.kind == CFX_NODE ? m->map[v.u.node->id] : CFX_NOTHING;
    /* Distinct outputs are in the order of their first positions. */
    if (v.kind == CFX_NODE && p->next < m->nreturning &&
        m->returning[p->next].kind == stands.kind &&
        m->returning[p->next].u.i == stands.u.i)
        p->t->with[p->next++] = leaf;
    return CFX_OK;
}

/* List one leaf for each position of the pattern's output. A node that is
 * returned twice has the leaf of its first position. */
static cfx_status pair_places(cfx_rewrite_step *t, size_t n)
{
    size_t size = n * sizeof(cfx_value);
    cfx_value *leaf = cfx_alloc(t->r->ctx, size);
    if (!leaf)
        return cfx_no_memory(t->r->err);
    cfx_value *with = t->with;
    t->with = leaf;
    cfx_value_visit(t->output, take_leaf, &(cfx_leaves){.t = t});
    t->with = with;
    cfx_pairing p = {.t = t, .leaf = leaf};
    cfx_value out = output_of(t->m->pattern);
    if (!t->m->names)
        cfx_value_visit(out, pair_leaf, &p);
    for (uint32_t i = 0; t->m->names && i + 1 < out.u.seq->len; i++)
        cfx_value_visit(out.u.seq->item[i], pair_leaf, &p);
    cfx_free(t->r->ctx, leaf, size);
    return CFX_OK;
}

static cfx_status check_literals(const cfx_rewrite_step *t)
{
    for (size_t i = 0; i < t->m->nreturning; i++) {
        cfx_value v = t->m->returning[i];
        if (v.kind == CFX_NODE && v.u.node->nusers &&
            t->with[i].kind != CFX_NODE)
            return cfx_fail(
                t->r->err, CFX_EUNSUPPORTED,
                "the replacement has a literal in the place of %s, which has users",
                v.u.node->name);
    }
    return CFX_OK;
}

static cfx_status pair_outputs(cfx_rewrite_step *t)
{
    size_t n = cfx_rewriter__count_leaves(t->output);
    if (n == t->m->nreturning)
        cfx_value_visit(t->output, take_leaf, &(cfx_leaves){.t = t});
    else if (n == pattern_leaves(t->m)) {
        cfx_status st = pair_places(t, n);
        if (st)
            return st;
    } else {
        return cfx_fail(t->r->err, CFX_EINVAL,
                        "Returning nodes count mismatch: %zu vs %zu",
                        t->m->nreturning, n);
    }
    return check_literals(t);
}

/* ---- Steps that cannot fail ---- */

static bool is_old(void *data, cfx_node *user)
{
    return user->id < *(uint32_t *)data;
}

static bool is_input(const cfx_match *m, size_t i)
{
    for (size_t k = 0; k < m->nplaceholders; k++)
        if (m->placeholders[k].kind == CFX_NODE &&
            m->placeholders[k].u.node == m->returning[i].u.node)
            return true;
    return false;
}

/* Names of erased nodes are free: a copy gets the name of the node that called the
 * same target, else the name that it has in the replacement. */
static void take_names(const cfx_rewrite_step *t)
{
    for (const cfx_node *n = cfx_graph_first(t->from); n;
         n = cfx_node_next(n)) {
        cfx_node *copy = copy_of(t, n);
        const cfx_node *old = copy ? predecessor(t->m, copy) : NULL;
        if (!copy)
            continue;
        if (calls_same(old, copy))
            cfx_node__take_free_name(copy, old->name);
        else if (strcmp(copy->name, n->name) != 0)
            cfx_node__take_free_name(copy, n->name);
    }
}

static void commit(cfx_rewrite_step *t)
{
    cfx_match *m = t->m;
    /* Outputs that are inputs go first: others may be replaced by them. */
    for (int inputs = 1; inputs >= 0; inputs--)
        for (size_t i = 0; i < m->nreturning; i++)
            if (m->returning[i].kind == CFX_NODE &&
                t->with[i].kind == CFX_NODE && is_input(m, i) == inputs)
                cfx_node_replace_all_uses_with(m->returning[i].u.node,
                                               t->with[i].u.node, is_old,
                                               &t->first_id, NULL);
    for (const cfx_node *n = cfx_graph_last(m->pattern); n;
         n = cfx_node_prev(n)) {
        cfx_value v = m->map[n->id];
        if (v.kind == CFX_NODE && cfx_pattern_computes(n) && !v.u.node->nusers)
            cfx_graph_erase_node(t->r->g, v.u.node, NULL);
    }
    if (t->r->o.same_values)
        take_names(t);
}

static cfx_status remember(cfx_rewrite_step *t)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < t->m->nreturning && !st; i++) {
        cfx_value old = t->m->returning[i], now = t->with[i];
        if (old.kind != CFX_NODE || now.kind != CFX_NODE ||
            now.u.node == old.u.node)
            continue;
        st = cfx_node_map_set(&t->r->changed, old.u.node, now, t->r->err);
        if (!st && t->r->o.same_values && now.u.node->id >= t->first_id)
            st = cfx_node__keep_meta(now.u.node, old.u.node, t->r->err);
    }
    return st;
}

/* ---- One match ---- */

static cfx_status check_replacement(cfx_rewrite *r, const cfx_graph *from,
                                    const cfx_graph *pattern)
{
    size_t want = 0, have = 0;
    for (const cfx_node *n = cfx_graph_first(pattern); n; n = cfx_node_next(n))
        want += n->op == CFX_PLACEHOLDER;
    for (const cfx_node *n = cfx_graph_first(from); n; n = cfx_node_next(n))
        have += n->op == CFX_PLACEHOLDER;
    if (want != have)
        return cfx_fail(r->err, CFX_EINVAL,
                        "Placeholder count mismatch: %zu vs %zu", want, have);
    const cfx_node *out = cfx_graph_output_node(from);
    if (!out || !out->nargs)
        return cfx_fail(r->err, CFX_EINVAL, "the replacement has no output");
    return CFX_OK;
}

static cfx_status copy_in(cfx_rewrite_step *t)
{
    cfx_rewrite *r = t->r;
    t->first_id = cfx_graph_ids(r->g);
    cfx_status st = cfx_graph_insert_graph(r->g, t->from, &t->map, &t->output,
                                           r->err);
    if (st)
        return st;
    st = pair_outputs(t);
    if (!st)
        st = list_copies(t);
    if (!st)
        st = remember(t);
    if (st)
        erase_copy(t);
    return st;
}

/* Replace one match. *done is false if a cycle forbids it. */
static cfx_status replace(cfx_rewrite *r, cfx_match *m, const cfx_graph *from,
                          bool *done)
{
    cfx_rewrite_step t = {.r = r, .m = m, .from = from};
    size_t size = (m->nreturning + 1) * sizeof(*t.with);
    bool cycle = false;
    cfx_node_map_init(&t.map, from);
    t.with = cfx_calloc(r->ctx, 1, size);
    cfx_status st = t.with ? bind_placeholders(&t) : cfx_no_memory(r->err);
    if (!st)
        st = cfx_rewriter__find_place(&t, &cycle);
    if (!st && !cycle)
        st = copy_in(&t);
    *done = !st && !cycle;
    if (*done)
        commit(&t);
    cfx_value_unref(t.output);
    cfx_free(r->ctx, t.with, size);
    cfx_node_map_release(&t.map);
    return st;
}

static cfx_status replace_if_kept(cfx_rewrite *r, cfx_match *m,
                                  const cfx_graph *replacement, bool *done)
{
    const cfx_graph *from = replacement;
    cfx_status st = update_match(r, m);
    *done = false;
    if (st ||
        cfx_rewriter__written_within(&(cfx_rewrite_step){.r = r, .m = m}))
        return st;
    if (r->o.make || r->o.build) {
        from = NULL;
        st = r->o.build ? cfx_rewriter__build(r, m, &from)
                        : r->o.make(r->o.make_user, m, r->g, &from, r->err);
        if (st || !from)
            return st;
        st = check_replacement(r, from, r->pattern);
        if (!st)
            st = cfx_rewriter__adopt(r, from);
    }
    return st ? st : replace(r, m, from, done);
}

/* ---- All matches ---- */

static bool passes(const cfx_rewrite *r, const cfx_match *m)
{
    for (size_t i = 0; i < r->o.nfilters; i++)
        if (!r->o.filters[i].keep(r->o.filters[i].user, m, r->g))
            return false;
    return true;
}

static void drop(cfx_matches *found, size_t from, size_t to)
{
    for (; from < to; from++)
        cfx_match__release(found->ctx, &found->item[from]);
}

/* Keep the matches that pass the filters. */
static void filter(cfx_rewrite *r, cfx_matches *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->n; i++) {
        if (passes(r, &found->item[i]))
            found->item[kept++] = found->item[i];
        else
            drop(found, i, i + 1);
    }
    found->n = kept;
}

static cfx_status replace_all(cfx_rewrite *r, const cfx_graph *replacement,
                              cfx_matches *found)
{
    size_t kept = 0, i = 0;
    cfx_status st = CFX_OK;
    for (; i < found->n && !st; i++) {
        bool done;
        st = replace_if_kept(r, &found->item[i], replacement, &done);
        if (done)
            found->item[kept++] = found->item[i];
        else
            drop(found, i, i + 1);
    }
    drop(found, i, found->n);
    found->n = kept;
    return st;
}

static cfx_status check(const cfx_rewrite *r, const cfx_graph *replacement)
{
    const cfx_match_options *m = &r->o.match;
    bool computes = false;
    if (m->match_output || m->match_placeholder || m->keep_overlapping)
        return cfx_fail(
            r->err, CFX_EINVAL,
            "matches to be replaced cannot overlap, nor hold placeholders or the output");
    if (!replacement && !r->o.make && !r->o.build)
        return cfx_fail(
            r->err, CFX_EINVAL,
            "Must provide either a replacement GraphModule or a replacement callback");
    for (const cfx_node *n = cfx_graph_first(r->pattern); n;
         n = cfx_node_next(n))
        computes |= cfx_pattern_computes(n);
    return computes
               ? CFX_OK
               : cfx_fail(r->err, CFX_EINVAL, "the pattern computes nothing");
}

static cfx_status rewrite(cfx_rewrite *r, const cfx_graph *replacement,
                          cfx_matches *found)
{
    cfx_matcher *m;
    cfx_status st = cfx_matcher_new(&m, r->pattern, &r->o.match, r->err);
    if (st)
        return st;
    st = check(r, replacement);
    if (!st && !r->o.make && !r->o.build)
        st = check_replacement(r, replacement, r->pattern);
    if (!st)
        st = cfx_matcher_match(m, r->g, found, r->err);
    cfx_matcher_free(m);
    if (st) {
        cfx_matches_release(found);
        return st;
    }
    filter(r, found);
    if (found->n && !r->o.across_writes)
        st = cfx_rewriter__find_writes(r);
    if (!st && found->n && !r->o.make && !r->o.build)
        st = cfx_rewriter__adopt(r, replacement);
    if (st)
        cfx_matches_release(found);
    else
        st = replace_all(r, replacement, found);
    if (r->adopted)
        cfx_graph_module_delete_all_unused_submodules(r->gm);
    return st;
}

cfx_status cfx_replace_pattern(cfx_module *gm, const cfx_graph *pattern,
                               const cfx_graph *replacement,
                               const cfx_rewrite_options *options,
                               cfx_matches *replaced, cfx_error *err)
{
    cfx_matches found = {0};
    cfx_rewrite r = {
        .ctx = cfx_module_context(gm),
        .gm = gm,
        .g = cfx_graph_module_graph(gm),
        .pattern = pattern,
        .err = err,
    };
    if (replaced)
        *replaced = found;
    if (!r.g)
        return cfx_fail(err, CFX_EGRAPH, "%s has no graph",
                        cfx_module_class_name(gm));
    if (options)
        memcpy(&r.o, options,
               options->size && options->size < sizeof(r.o) ? options->size
                                                            : sizeof(r.o));
    cfx_insert_point point = cfx_graph_inserting_before(r.g, NULL);
    cfx_node_map_init(&r.changed, r.g);
    cfx_status st = rewrite(&r, replacement, &found);
    cfx_node_map_release(&r.changed);
    cfx_rewriter__forget_writes(&r);
    cfx_graph_restore(r.g, point);
    cfx_module_unref(r.built);
    cfx_free(r.ctx, r.seen, r.seen_cap * sizeof(*r.seen));
    cfx_free(r.ctx, r.stack, r.stack_cap * sizeof(*r.stack));
    if (replaced)
        *replaced = found;
    else
        cfx_matches_release(&found);
    return st;
}
