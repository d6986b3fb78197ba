/*
 * minimize -- search strategies for the part of a graph that differs.
 */
#include "interp/compare/minimize_impl.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- The report ---- */

void cfx_minimizer__say(cfx_minimizer *m, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!m->report.write)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cfx_buf_puts(&m->self->report, m->self->lines++ ? " . " : "");
    cfx_buf_puts(&m->self->report, text);
    cfx_buf_putc(&m->self->report, '\n');
}

/* Pass an iteration's report on to the caller. */
static cfx_status tell(cfx_minimizer *m)
{
    struct cfx_minimizer_self *self = m->self;
    cfx_status st = CFX_OK;
    if (self->report.failed)
        return cfx_no_memory(self->err);
    if (self->report.len)
        st = m->report.write(m->report.user, self->report.s, self->report.len);
    cfx_buf_clear(&self->report);
    self->lines = 0;
    return st ? cfx_fail(self->err, st, "the report cannot be written") : st;
}

/* ---- Culprits ---- */

static cfx_status add_culprits(cfx_minimizer *m, const cfx_node *const *node,
                               size_t n)
{
    struct cfx_minimizer_self *self = m->self;
    if (cfx_grow(self->ctx, m->culprit, m->cap, m->nculprits + n, self->err))
        return CFX_ENOMEM;
    for (size_t i = 0; i < n; i++)
        m->culprit[m->nculprits++] = node[i];
    return CFX_OK;
}

static const char *kind_of(cfx_verdict v)
{
    return v == CFX_MISMATCH ? "numeric" : "run";
}

/* ---- Traversals ---- */

static cfx_status go_sequential(cfx_minimizer *m)
{
    struct cfx_minimizer_self *self = m->self;
    for (size_t i = 0; i < self->n; i++) {
        cfx_verdict v;
        cfx_minimizer__say(m, "Sequential traverse iteration %zu.",
                           ++m->iterations);
        cfx_minimizer__say(m, "Visit node: %s", self->node[i]->name);
        cfx_status st = cfx_minimizer__try(m, &self->node[i], 1, false, &v);
        if (!st && v) {
            cfx_minimizer__say(m, "Found culprit from %s error: %s",
                               kind_of(v), self->node[i]->name);
            st = add_culprits(m, &self->node[i], 1);
        }
        if (!st)
            st = tell(m);
        if (st || (v && !m->find_all))
            return st;
    }
    return CFX_OK;
}

/* The recursion depth is that of halving. */
static cfx_status halve(cfx_minimizer *m, size_t from, size_t to)
{
    const cfx_node *const *node = m->self->node + from;
    size_t n = to - from, before = m->nculprits;
    cfx_verdict v;
    if (!n)
        return CFX_OK;
    cfx_minimizer__say(m, "Binary search iteration %zu", ++m->iterations);
    cfx_minimizer__say(
        m,
        "From node index %zu:%s to %zu:%s. Size of the interested node list is %zu",
        from, node[0]->name, to - 1, node[n - 1]->name, n);
    cfx_status st = cfx_minimizer__try(m, node, n, false, &v);
    if (st)
        return st;
    if (!v) {
        cfx_minimizer__say(m, "No discrepancy found.");
        return tell(m);
    }
    if (n == 1) {
        cfx_minimizer__say(
            m,
            "This is the last node in the sub-module. Search in the current branch is successful with culprit = %s.",
            node[0]->name);
        st = tell(m);
        return st ? st : add_culprits(m, node, 1);
    }
    cfx_minimizer__say(
        m,
        "Proceed to split and lower the halves of the current sub-module individually.");
    st = tell(m);
    if (!st)
        st = halve(m, from, from + n / 2);
    if (!st && (m->nculprits == before || m->find_all))
        st = halve(m, from + n / 2, to);
    if (!st && m->nculprits == before) {
        cfx_minimizer__say(
            m,
            "Further split and lowering found no errors. Unable to minimize the submodule from %s to %s",
            node[0]->name, node[n - 1]->name);
        st = tell(m);
    }
    return st;
}

static cfx_status go_accumulate(cfx_minimizer *m)
{
    struct cfx_minimizer_self *self = m->self;
    for (size_t i = 0; i < self->n; i++) {
        cfx_verdict v;
        cfx_minimizer__say(m, "Accumulate traverse iteration %zu.",
                           ++m->iterations);
        cfx_minimizer__say(m, "Add node: %s", self->node[i]->name);
        cfx_status st = cfx_minimizer__try(m, self->node, i + 1, false, &v);
        if (!st && v) {
            cfx_minimizer__say(m, "Found culprit %s", self->node[i]->name);
            st = add_culprits(m, &self->node[i], 1);
        }
        if (!st)
            st = tell(m);
        if (st || v)
            return st;
    }
    return CFX_OK;
}

/* Try one block as a whole. */
static cfx_status try_block(cfx_minimizer *m, size_t from, size_t to,
                            bool whole)
{
    const cfx_node *const *node = m->self->node + from;
    cfx_verdict v;
    if (from == to)
        return CFX_OK;
    cfx_minimizer__say(m, "Nodes block %zu.", ++m->iterations);
    cfx_minimizer__say(
        m,
        "From node index %zu:%s to %zu:%s. Size of the interested node list is %zu",
        from, node[0]->name, to - 1, node[to - from - 1]->name, to - from);
    cfx_status st = cfx_minimizer__try(m, node, to - from, whole, &v);
    if (!st && v) {
        cfx_minimizer__say(m, "Found culprit from %s error: %s to %s",
                           kind_of(v), node[0]->name,
                           node[to - from - 1]->name);
        st = add_culprits(m, node, to - from);
    } else if (!st) {
        cfx_minimizer__say(m, "No discrepancy found.");
    }
    return st ? st : tell(m);
}

static bool is_skipped(const cfx_minimizer *m, const cfx_node *n)
{
    for (size_t i = 0; i < m->nskip; i++)
        if (!strcmp(m->skip[i], n->name))
            return true;
    return false;
}

static cfx_status go_skip(cfx_minimizer *m)
{
    size_t start = 0;
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < m->self->n && !st; i++)
        if (is_skipped(m, m->self->node[i])) {
            st = try_block(m, start, i, true);
            start = i + 1;
        }
    return st ? st : try_block(m, start, m->self->n, true);
}

/*
 * Find the boundary of the culprits. With `last`: the smallest number of
 * leading nodes that differ; else the largest first index for which the rest
 * still differs. *found is false if nothing differs.
 */
static cfx_status find_border(cfx_minimizer *m, size_t n, bool last,
                              size_t *at, bool *found)
{
    size_t low = 0, high = n;
    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        size_t from = last ? 0 : mid, to = last ? mid + 1 : n;
        cfx_verdict v;
        cfx_minimizer__say(m, "Block search iteration %zu", ++m->iterations);
        cfx_minimizer__say(m, "Search for %s node in culprits",
                           last ? "last" : "first");
        cfx_minimizer__say(m, "Subgraph constructed by %s to %s",
                           m->self->node[from]->name,
                           m->self->node[to - 1]->name);
        cfx_status st = cfx_minimizer__try(m, m->self->node + from, to - from,
                                           false, &v);
        cfx_minimizer__say(m, v ? "Culprits found" : "Culprits not found");
        if (!st)
            st = tell(m);
        if (st)
            return st;
        if (v) {
            *found = true;
            *at = mid;
        }
        if ((v != CFX_ALIKE) == last)
            high = mid;
        else
            low = mid + 1;
    }
    return CFX_OK;
}

static cfx_status go_block(cfx_minimizer *m)
{
    size_t first = 0, last = m->self->n - 1;
    bool found = true;
    cfx_status st = CFX_OK;
    if (m->find_last >= 0)
        st = find_border(m, m->self->n, true, &last, &found);
    if (!st && found && m->find_last <= 0)
        st = find_border(m, last + 1, false, &first, &found);
    if (st || !found)
        return st;
    cfx_minimizer__say(m, "Finish searching, found minimum block (%s,%s)",
                       m->self->node[first]->name, m->self->node[last]->name);
    st = tell(m);
    return st ? st : add_culprits(m, m->self->node + first, last + 1 - first);
}

/* ---- The nodes ---- */

static cfx_status check_name(cfx_minimizer *m, const char *name)
{
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    return !name || cfx_graph_find(g, name)
               ? CFX_OK
               : cfx_fail(m->self->err, CFX_ENAME, "there is no node '%s'",
                          name);
}

static cfx_status collect(cfx_minimizer *m)
{
    struct cfx_minimizer_self *self = m->self;
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    bool in = !m->start;
    self->node = cfx_calloc(self->ctx, cfx_graph_len(g) + 1,
                            sizeof(*self->node));
    if (!self->node)
        return cfx_no_memory(self->err);
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        in = in || !strcmp(n->name, m->start);
        if (in && cfx_node_is_call(n) &&
            !(m->exclude && m->exclude(m->user, n)))
            self->node[self->n++] = n;
        if (m->end && !strcmp(n->name, m->end))
            break;
    }
    return CFX_OK;
}

static cfx_status check(cfx_minimizer *m, size_t ninputs)
{
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    size_t want = 0;
    if (!g || !m->run_b)
        return cfx_fail(m->self->err, CFX_EINVAL,
                        "a minimizer needs a graph and run_b");
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        want += n->op == CFX_PLACEHOLDER;
    if (want != ninputs)
        return cfx_fail(
            m->self->err, CFX_EINVAL,
            "Placeholder count (%zu) does not match sample_input count (%zu)",
            want, ninputs);
    cfx_status st = check_name(m, m->start);
    return st ? st : check_name(m, m->end);
}

static cfx_status traverse(cfx_minimizer *m)
{
    if (!m->self->n)
        return CFX_OK;
    switch (m->traversal) {
    case CFX_SEQUENTIAL: return go_sequential(m);
    case CFX_BINARY: return halve(m, 0, m->self->n);
    case CFX_ACCUMULATE: return go_accumulate(m);
    case CFX_SKIP: return go_skip(m);
    case CFX_BLOCK: return go_block(m);
    default: return try_block(m, 0, m->self->n, false);
    }
}

cfx_status cfx_minimize(cfx_minimizer *m, const cfx_value *inputs,
                        size_t ninputs, cfx_error *err)
{
    cfx_error own = {0};
    cfx_context *ctx = cfx_module_context(m->gm);
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    struct cfx_minimizer_self self = {.ctx = ctx, .err = err ? err : &own};
    cfx_minimizer_release(m);
    m->iterations = 0;
    m->self = &self;
    cfx_buf_init(&self.report, ctx);
    cfx_node_map_init(&self.a, g);
    cfx_node_map_init(&self.b, g);
    cfx_status st = check(m, ninputs);
    if (!st)
        st = collect(m);
    if (!st)
        st = cfx_minimizer__run_all(m, inputs, ninputs);
    if (!st)
        st = traverse(m);
    cfx_node_map_release(&self.a);
    cfx_node_map_release(&self.b);
    cfx_buf_release(&self.report);
    if (self.node)
        cfx_free(ctx, self.node, (cfx_graph_len(g) + 1) * sizeof(*self.node));
    m->self = NULL;
    return st;
}

void cfx_minimizer_release(cfx_minimizer *m)
{
    if (m->culprit)
        cfx_free(cfx_module_context(m->gm), m->culprit,
                 m->cap * sizeof(*m->culprit));
    m->culprit = NULL;
    m->nculprits = m->cap = 0;
}
