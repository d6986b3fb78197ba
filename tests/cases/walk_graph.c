/*
 * walk_graph -- a case as a graph: run, shapes and costs.
 *
 * The graph is freed before its result is printed: nothing in a result may
 * belong to the graph that gave it.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/cost.h>
#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/shape_prop.h>
#include <cfx/text.h>

#include "tests/cases/walk_run.h"

enum { MOST = 64 };

/* A graph that calls what a case calls, and its inputs. */
typedef struct made {
    walk_case *w;
    cfx_context *ctx;
    cfx_module *gm;
    cfx_graph *g;
    cfx_value in[MOST];
    size_t n;
    cfx_error err;
} made;

static cfx_status as_input(void *user, cfx_value v, cfx_value *out)
{
    made *m = user;
    char name[16];
    snprintf(name, sizeof(name), "x%zu", m->n);
    cfx_node *x = m->n < MOST ? cfx_graph_placeholder(m->g, name, &m->err)
                              : NULL;
    if (!x)
        return CFX_ENOMEM;
    m->in[m->n++] = v;
    *out = cfx_value_of_node(x);
    return CFX_OK;
}

static cfx_status tensor_as_input(void *user, cfx_value v, cfx_value *out)
{
    if (v.kind == CFX_TENSOR)
        return as_input(user, v, out);
    *out = cfx_value_ref(v);
    return CFX_OK;
}

/* Tensors become inputs; if `all`, the other arguments do, too. */
static cfx_status open_values(made *m, const cfx_value *from, size_t n,
                              size_t step, bool all, cfx_value *out)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        bool key = step == 2 && i % 2 == 0;
        if (key)
            out[i] = cfx_value_ref(from[i]);
        else if (all)
            st = as_input(m, from[i], &out[i]);
        else
            st = cfx_value_map(&out[i], m->ctx, from[i], tensor_as_input, m,
                               &m->err);
    }
    return st;
}

static cfx_status fill_graph(made *m, const op_case *c, bool all)
{
    cfx_value args[CASE_MAX_ARGS] = {{0}}, kwargs[2 * CASE_MAX_ARGS] = {{0}};
    cfx_args a = {args, c->nargs, kwargs, c->nkwargs};
    cfx_node *y = NULL;
    cfx_status st = open_values(m, c->args, c->nargs, 1, all, args);
    if (!st)
        st = open_values(m, c->kwargs, 2 * c->nkwargs, 2, all, kwargs);
    if (!st)
        y = c->is_method
                ? cfx_graph_call_method(m->g, c->target + 7, a, &m->err)
                : cfx_graph_call_function(m->g, c->target, a, &m->err);
    bool ok = y && cfx_graph_output(m->g, cfx_value_of_node(y), &m->err);
    for (size_t i = 0; i < c->nargs; i++)
        cfx_value_unref(args[i]);
    for (size_t i = 0; i < 2 * c->nkwargs; i++)
        cfx_value_unref(kwargs[i]);
    return ok ? CFX_OK : CFX_EGRAPH;
}

/* False where a graph does not take the arguments. */
static bool make(made *m, walk_case *w, cfx_context *ctx, const op_case *c,
                 bool all)
{
    *m = (made){.w = w, .ctx = ctx};
    if (cfx_graph_new(&m->g, ctx, &m->err))
        return false;
    if (fill_graph(m, c, all)) {
        cfx_graph_free(m->g);
        return false;
    }
    return !cfx_graph_module_new_take_both(&m->gm, ctx, NULL, m->g, "M",
                                           &m->err);
}

/* An error is one line. */
static void judge(made *m, cfx_status st, const char *what)
{
    if (st && (!*m->err.text || strchr(m->err.text, '\n')))
        walk_disagree(m->w, "%s fails without one sentence: %s", what,
                      m->err.text);
    m->err = (cfx_error){0};
}

static cfx_status ignore(void *user, const char *text, size_t len)
{
    (void)text;
    *(size_t *)user += len;
    return CFX_OK;
}

static cfx_status run(made *m, cfx_value *out)
{
    cfx_interp it = {0};
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, m->gm, &m->err);
    if (!st)
        st = cfx_interp_run(&it, m->in, m->n, out, &m->err);
    cfx_interp_release(&it);
    return st;
}

static cfx_status without_numbers(void *user, cfx_value v, cfx_value *out)
{
    const made *m = user;
    cfx_tensor *meta;
    *out = cfx_value_ref(v);
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    cfx_status st = cfx_tensor_meta(
        &meta, m->ctx, (cfx_dtype)v.u.tensor->dtype, v.u.tensor->rank,
        v.u.tensor->shape, v.u.tensor->stride, NULL);
    if (st)
        return st;
    cfx_value_unref(*out);
    *out = cfx_value_of_tensor(meta);
    return CFX_OK;
}

/* Costs: of tensors whose numbers are known, or with `metas` are not. */
static cfx_status count(made *m, bool metas)
{
    cfx_value in[MOST];
    cfx_cost_prop p = {0};
    cfx_shape_env *env = NULL;
    size_t n = 0;
    cfx_status st = cfx_shape_env_new(&env, m->ctx, &m->err);
    for (; n < m->n && !st; n += !st)
        if (!metas)
            in[n] = cfx_value_ref(m->in[n]);
        else
            st = cfx_value_map(&in[n], m->ctx, m->in[n], without_numbers, m,
                               &m->err);
    if (!st)
        st = cfx_cost_prop_init(&p, NULL, m->gm, env, &m->err);
    if (!st)
        st = cfx_cost_prop_run(&p, in, n, &m->err);
    cfx_cost_prop_release(&p);
    while (n--)
        cfx_value_unref(in[n]);
    cfx_shape_env_free(env);
    return st;
}

void walk_graph(walk_case *w, cfx_context *ctx, const op_case *c, bool small)
{
    for (int all = 0; all < 2; all++) {
        cfx_value out = CFX_NOTHING;
        size_t len = 0;
        made m;
        if (!make(&m, w, ctx, c, all))
            continue;
        judge(&m, count(&m, true), "roofline");
        if (small) {
            judge(&m, count(&m, false), "roofline of known numbers");
            judge(&m, run(&m, &out), "run");
        }
        cfx_module_unref(m.gm);
        cfx_print_value((cfx_sink){ignore, &len}, out, CFX_STYLE_REPR, NULL);
        cfx_value_unref(out);
    }
}
