/*
 * The first steps: contexts, tensors, values, graphs, text.
 */
#include "example.h"

@text.h.1

static int context(void)
{
    @context.h.1
    @context.h.2
    return 0;
}

static int tensor(void)
{
    @tensor.h.1
    x[0] = 3;
    require(t->rank == 2);
    @tensor.h.2
    return 0;
}

static void status(void)
{
    cfx_module *gm = NULL;
    @status.h.1
    require(err.code == CFX_EIO);
}

static void dims(void)
{
    cfx_shape_env *env = NULL;
    char text[64];
    require(!cfx_shape_env_new(&env, ctx, &err));
    @dim.h.1
    require(!strcmp(text, "(H + 1)//2"));
    cfx_shape_env_free(env);
}

static void values(void)
{
    cfx_scope scope, *s = &scope;
    cfx_value x = ones(1, 1), y;
    cfx_scope_init(s, &cfx_eager_class, ctx, NULL);
    @value.h.1
    require(!cfx_scope_status(s, &err) && first(y) == 3);
    cfx_value_unref(x);
    cfx_scope_release(s);
}

static void nearest(void)
{
    const char *word = "relo", *name[] = {"relu", "gelu"};
    size_t nnames = 2;
    @nearest.h.1
}

static void copied(cfx_graph *from)
{
    cfx_graph *to = NULL;
    cfx_value out;
    cfx_node *x = cfx_graph_first(from), *y;
    require(!cfx_graph_new(&to, ctx, &err));
    y = cfx_graph_placeholder(to, "y", &err);
    @graph.h.5
    require(!err.code && cfx_graph_len(to) == 2);
    cfx_value_unref(out);
    cfx_graph_free(to);
}

static void graphs(void)
{
    @graph.h.1
    require(!err.code && !cfx_graph_lint(g, &err));
    @graph.h.3
    cfx_node *n = y;
    @graph.h.2
    @graph.h.4
    copied(g);
    cfx_graph_free(g);
}

static void printed(void)
{
    FILE *f = stdout;
    cfx_module *gm = model(SUM);
    @picture.h.1
    @operators.h.1
    cfx_code_transform t = {.run = stop_first};
    cfx_code_options o = {.size = sizeof(o), .transform = &t};
    require(!cfx_print_code_with(cfx_sink_file(stdout),
                                 cfx_graph_module_graph(gm), &o, &err));
    require(!err.code);
    cfx_module_unref(gm);
}

static void parsed(void)
{
    const char *text = SUM;
    static const unsigned char weights[10] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    size_t size = sizeof(weights);
    cfx_module *m = NULL;
    int failed;
    @file.h.2
    require(!failed);
    cfx_module_unref(m);
}

int main(void)
{
    require(!context());
    begin();
    require(!tensor());
    status();
    dims();
    values();
    nearest();
    graphs();
    printed();
    parsed();
    cfx_context_free(ctx);
    return 0;
}
