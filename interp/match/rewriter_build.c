/*
 * rewriter_build -- record the replacement of one match by code.
 */
#include "interp/match/rewriter_impl.h"

#include <cfx/tracer.h>

typedef struct recording {
    const cfx_rewrite *r;
    const cfx_match *m;
    bool skipped;
} recording;

/* Literals take the place of their proxies. */
static cfx_value record(cfx_scope *s, const cfx_value *in, void *user)
{
    recording *c = user;
    const cfx_match *m = c->m;
    size_t size = (m->nplaceholders + 1) * sizeof(*in);
    cfx_value *bound = cfx_alloc(s->ctx, size);
    if (!bound) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    for (size_t i = 0; i < m->nplaceholders; i++)
        bound[i] = m->placeholders[i].kind == CFX_NODE ? in[i]
                                                       : m->placeholders[i];
    cfx_value v = c->r->o.build(s, bound, m, c->r->o.build_user);
    c->skipped = v.kind == CFX_NONE;
    cfx_free(s->ctx, bound, size);
    return v;
}

/* Write the names of the parameters: "p0 p1 ...". */
static void print_params(cfx_buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cfx_buf_printf(b, "%sp%zu", i ? " " : "", i);
}

cfx_status cfx_rewriter__build(cfx_rewrite *r, const cfx_match *m,
                               const cfx_graph **out)
{
    const cfx_trace_options o = {
        .size = sizeof(o), .root = r->gm, .no_places = true};
    recording c = {.r = r, .m = m};
    cfx_buf params;
    *out = NULL;
    cfx_module_unref(r->built);
    r->built = NULL;
    cfx_buf_init(&params, r->ctx);
    print_params(&params, m->nplaceholders);
    cfx_status st = params.failed
                        ? cfx_no_memory(r->err)
                        : cfx_trace_function_with(&r->built, r->ctx, record,
                                                  &c, cfx_buf_str(&params), &o,
                                                  r->err);
    cfx_buf_release(&params);
    if (!st && !c.skipped)
        *out = cfx_graph_module_graph(r->built);
    return st;
}
