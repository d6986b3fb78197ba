#define _POSIX_C_SOURCE 200809L
/*
 * traced_test -- every module type, traced through its forward: the graph, run,
 * gives the bits that the module gives, and the metas found while tracing are
 * those of its result. Arguments: the golden files whose cases are used; -k
 * TEXT: only cases that hold it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/interp.h>
#include <cfx/tracer.h>

#include "tests/cases/case.h"
#include "tests/cases/program.h"

struct counts {
    cfx_context *ctx;
    int passed, failed;
};

/* ---- One case, traced ---- */

struct inputs {
    op_case *c;
    const cfx_value *in;
};

/* The proxy in place of a tensor. */
static cfx_status as_proxy(void *user, cfx_value v, cfx_value *out)
{
    const struct inputs *p = user;
    *out = v;
    for (size_t i = 0; v.kind == CFX_TENSOR && i < p->c->ntensors; i++)
        if (v.u.tensor == p->c->tensor[i]) {
            *out = p->in[i];
            return CFX_OK;
        }
    cfx_value_ref(v);
    return CFX_OK;
}

static cfx_value call_module(cfx_scope *s, const cfx_value *in, void *user)
{
    op_case *c = user;
    struct inputs p = {c, in};
    cfx_value args[CASE_MAX_ARGS], kwargs[2 * CASE_MAX_ARGS], out;
    for (size_t i = 0; i < c->nargs; i++) {
        cfx_value_map(&args[i], s->ctx, c->args[i], as_proxy, &p, NULL);
        args[i] = cfx_scope_take(s, args[i]);
    }
    for (size_t i = 0; i < 2 * c->nkwargs; i++) {
        cfx_value_map(&kwargs[i], s->ctx, c->kwargs[i], as_proxy, &p, NULL);
        kwargs[i] = cfx_scope_take(s, kwargs[i]);
    }
    if (cfx_scope_call_module(s, c->module, NULL,
                              (cfx_args){args, c->nargs, kwargs, c->nkwargs},
                              &out))
        return cfx_none();
    return cfx_scope_take(s, out);
}

static bool no_leaf(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return false;
}

static cfx_status trace(op_case *c, cfx_context *ctx, bool metas,
                        cfx_module **gm, cfx_error *err)
{
    char params[8 * CASE_MAX_TENSORS] = "";
    cfx_value meta[CASE_MAX_TENSORS];
    for (size_t i = 0; i < c->ntensors; i++) {
        meta[i] = cfx_value_of_tensor(c->tensor[i]);
        snprintf(params + strlen(params), 8, "x%zu ", i);
    }
    cfx_trace_options o = {
        .size = sizeof(o),
        .root = c->module,
        .is_leaf = no_leaf,
        .metas = meta,
        .nmetas = metas ? c->ntensors : 0,
        .known_sizes = metas,
    };
    return cfx_trace_function_with(gm, ctx, call_module, c, params, &o, err);
}

/* The meta of what the graph returns agrees with what came out. */
static cfx_status meta_of(void *user, cfx_value v, cfx_value *out)
{
    bool *all = user;
    *out = v;
    if (v.kind == CFX_NODE) {
        *out = cfx_node_meta(v.u.node, "tensor_meta");
        *all = *all && out->kind;
        if (!out->kind)
            *out = cfx_none();
    }
    cfx_value_ref(*out);
    return CFX_OK;
}

static bool check_metas(cfx_context *ctx, const cfx_module *gm,
                        cfx_value result)
{
    const cfx_node *n = cfx_graph_output_node(cfx_graph_module_graph(gm));
    bool all = true;
    cfx_value v;
    if (cfx_value_map(&v, ctx, n->args[0], meta_of, &all, NULL))
        return false;
    bool same = !all || case_same(result, v);
    cfx_value_unref(v);
    return same;
}

/* ---- Comparing ---- */

static bool read_case(cfx_scope *s, op_case *c, cfx_context *ctx,
                      const char *line, char *why, size_t size)
{
    cfx_scope_init(s, &cfx_eager_class, ctx, NULL);
    return case_read(c, s, line, strcspn(line, "\t"), why, size);
}

/* Trace, run, compare. What cannot be traced without metas says so. */
static bool check_traced(cfx_context *ctx, const char *line, cfx_value want,
                         bool metas, char *why, size_t size)
{
    op_case c;
    cfx_scope s;
    cfx_error err = {0};
    cfx_module *gm = NULL;
    cfx_interp it = {0};
    cfx_value in[CASE_MAX_TENSORS], out = CFX_NOTHING;
    bool ok = read_case(&s, &c, ctx, line, why, size);
    cfx_status st = ok ? trace(&c, ctx, metas, &gm, &err) : CFX_OK;
    bool refused = !metas && st == CFX_EUNSUPPORTED;
    for (size_t i = 0; i < c.ntensors; i++)
        in[i] = cfx_value_of_tensor(c.tensor[i]);
    cfx_context_seed(ctx, 7);
    if (ok && !st)
        st = cfx_graph_lint(cfx_graph_module_graph(gm), &err);
    if (ok && !st)
        st = cfx_interp_init(&it, &cfx_interp_base, gm, &err);
    if (ok && !st)
        st = cfx_interp_run(&it, in, c.ntensors, &out, &err);
    if (st && !refused) {
        snprintf(why, size, "%s: %s", metas ? "with metas" : "bare", err.text);
        ok = false;
    } else if (ok && !refused && !case_same(want, out)) {
        snprintf(why, size, "%s: another result",
                 metas ? "with metas" : "bare");
        ok = false;
    } else if (ok && !refused && metas && !check_metas(ctx, gm, out)) {
        snprintf(why, size, "the metas are not those of the result");
        ok = false;
    }
    cfx_value_unref(out);
    cfx_interp_release(&it);
    cfx_module_unref(gm);
    case_release(&c);
    cfx_scope_release(&s);
    return ok;
}

static const char *covered[512];
static size_t ncovered;

static void cover(const cfx_module *m)
{
    const char *schema = cfx_module_type_of(m)->schema;
    for (size_t i = 0; i < ncovered; i++)
        if (covered[i] == schema)
            return;
    covered[ncovered++] = schema;
}

static void check_line(void *user, const char *file, int number,
                       const char *line)
{
    struct counts *n = user;
    cfx_context *ctx = n->ctx;
    char why[3000] = "";
    op_case c;
    cfx_scope s;
    bool read = read_case(&s, &c, ctx, line, why, sizeof(why));
    if (read && c.module && !c.only_made) {
        cfx_context_seed(ctx, 7);
        cfx_value want = case_run(&c, &s);
        bool ran = !cfx_scope_failed(&s);
        bool ok = !ran ||
                  (check_traced(ctx, line, want, true, why, sizeof(why)) &&
                   check_traced(ctx, line, want, false, why, sizeof(why)));
        if (ran)
            cover(c.module);
        n->passed += ok;
        n->failed += !ok;
        if (!ok)
            printf("%s:%d: %.*s\n    %s\n", file, number,
                   (int)strcspn(line, "\t"), line, why);
    }
    case_release(&c);
    cfx_scope_release(&s);
}

/* No type was left out, but those that are nothing without their children
 * (see tracer_module_test) or do nothing. */
static bool needs_children(const cfx_module_type *type)
{
    static const char *const schema[] = {
        "TransformerEncoder()",
        "GuardsFn()",
        "ParametrizationList()",
        "_WeightNorm(int dim=0)",
    };
    for (size_t i = 0; i < sizeof(schema) / sizeof(*schema); i++)
        if (!strcmp(type->schema, schema[i]))
            return true;
    return false;
}

static void check_coverage(struct counts *n)
{
    const cfx_module_type *type;
    for (size_t i = 0; (type = cfx_module_type_at(n->ctx, i)); i++) {
        size_t k = 0;
        while (k < ncovered && covered[k] != type->schema)
            k++;
        if (type->container || k < ncovered || needs_children(type))
            continue;
        printf("no case traces %s\n", type->schema);
        n->failed++;
    }
}

TEST_PROGRAM(traced)
{
    struct counts n = {0};
    const char *only = NULL;
    cfx_error err = {0};
    if (cfx_context_new(&n.ctx, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-k") && i + 1 < argc)
            only = argv[++i];
        else if (!case_lines(argv[i], only, check_line, &n))
            n.failed++;
    }
    if (!only)
        check_coverage(&n);
    cfx_context_free(n.ctx);
    printf("%d passed, %d failed\n", n.passed, n.failed);
    return n.failed || !n.passed;
}
