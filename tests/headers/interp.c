/*
 * Interpreters, tracers, transformers, and what compares runs.
 */
#include "example.h"

@interp.h.1
@interp.h.2
@interp.h.3
@interp.h.4

static void counted(cfx_module *gm, const cfx_value *inputs)
{
    cfx_value result;
    @interp.h.5
    require(!err.code && c.n == 2 && first(result) == 2);
    cfx_value_unref(result);
}

static int looked;

static void look(const cfx_node *n, cfx_value v)
{
    looked += n->op == CFX_CALL_FUNCTION && v.kind == CFX_TENSOR;
}

static void stepped(cfx_module *gm, const cfx_value *inputs)
{
    cfx_interp it = {0};
    const cfx_node *node;
    cfx_value v, result;
    size_t n = 1;
    require(!cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    @interp.h.6
    require(!st && looked == 2);
    cfx_value_unref(result);
    cfx_interp_release(&it);
}

static void called(cfx_module *gm, cfx_tensor *x)
{
    cfx_value y;
    @interp.h.7
    require(!err.code && first(y) == 2);
    cfx_value_unref(y);
}

@tracer.h.1

static cfx_value my_gelu2(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_gelu(s, in[0]);
}

static void traced(void)
{
    cfx_module *gm = NULL;
    @tracer.h.2
    require(!err.code && cfx_graph_find(cfx_graph_module_graph(gm), "mul"));
    cfx_module_unref(gm);
}

static void appended(cfx_module *gm)
{
    cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_node *n = cfx_graph_find(g, "add");
    @tracer.h.4
    require(!st && y.kind == CFX_NODE);
}

static void wrapped(cfx_value x)
{
    cfx_scope scope, *s = &scope;
    cfx_value y;
    cfx_scope_init(s, &cfx_eager_class, ctx, NULL);
    @tracer.h.5
    require(!err.code && y.kind == CFX_TENSOR);
    cfx_scope_release(s);
}

@transformer.h.1
@transformer.h.2
@transformer.h.3
@transformer.h.4

static void transformed(cfx_module *gm)
{
    cfx_module *out = NULL;
    @transformer.h.5
    require(!err.code && cfx_graph_find(cfx_graph_module_graph(out), "mul"));
    cfx_module_unref(out);
}

static void compared(cfx_module *gm, cfx_module *fused, const cfx_value *inputs)
{
    size_t n = 1;
    @compare.h.1
    require(!err.code && !c.ndiffer);
    cfx_interp_release(&a);
    cfx_interp_release(&b);
}

/* The part with relu is told to be wrong. */
static cfx_status run_quantized(void *user, cfx_module *gm,
                                const cfx_graph *part, const cfx_value *inputs,
                                size_t n, cfx_value *result, cfx_error *error)
{
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .graph = part};
    (void)user;
    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, error);
    if (!st)
        st = cfx_interp_run(&it, inputs, n, result, error);
    cfx_interp_release(&it);
    return st;
}

static void minimized(cfx_module *gm, cfx_value *inputs)
{
    size_t n = 1;
    @minimize.h.1
    require(!err.code);
}

@decompose.h.1
@decompose.h.2

static void decomposed(cfx_module *gm)
{
    size_t changed;
    @decompose.h.3
    require(!err.code);
}

int main(void)
{
    begin();
    cfx_module *gm = model(SUM), *fused = model(SUM);
    cfx_value x = ones(2, 2);
    counted(gm, &x);
    stepped(gm, &x);
    called(gm, x.u.tensor);
    traced();
    wrapped(x);
    transformed(gm);
    compared(gm, fused, &x);
    minimized(gm, &x);
    decomposed(gm);
    appended(gm);
    cfx_value_unref(x);
    cfx_module_unref(fused);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return 0;
}
