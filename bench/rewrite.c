/*
 * rewrite -- replace_pattern, in ns a node of the graph: graphs of one chain
 * with a match in every hundred nodes, and of nothing but matches.
 */
#include <cfx/rewriter.h>

#include "bench.h"

static cfx_node *call(cfx_graph *g, const char *target, cfx_node *x,
                      cfx_error *err)
{
    cfx_value arg = cfx_value_of_node(x);
    return x ? cfx_graph_call_function(g, target, &arg, 1, NULL, 0, err)
             : NULL;
}

/* A chain of `n` calls, of which the first two of every `each` are neg, relu;
 * the others exp. */
static cfx_module *chain(cfx_context *ctx, int n, int each, cfx_error *err)
{
    cfx_graph *g;
    cfx_module *gm;
    if (cfx_graph_new(&g, ctx, err))
        return NULL;
    cfx_node *x = cfx_graph_placeholder(g, "x", err);
    for (int i = 0; i < n; i++)
        x = call(g, i % each == 0   ? "torch.neg"
                    : i % each == 1 ? "torch.relu" : "torch.exp", x, err);
    if (!x || !cfx_graph_output(g, cfx_value_of_node(x), err)) {
        cfx_graph_free(g);
        return NULL;
    }
    return cfx_graph_module_new_take(&gm, ctx, NULL, g, "Chain", err) ? NULL
                                                                     : gm;
}

/* Replace neg, relu by abs, sin. False on failure. */
static bool measure(cfx_context *ctx, int n, int each, bool meant,
                    cfx_error *err)
{
    cfx_graph *pattern = NULL, *replacement = NULL;
    cfx_module *gm = chain(ctx, n, each, err);
    cfx_matches done = {0};
    const cfx_rewrite_options o = {.match = {.by_operator = meant}};
    if (!gm || cfx_graph_new(&pattern, ctx, err) ||
        cfx_graph_new(&replacement, ctx, err))
        return false;
    cfx_node *p = call(pattern, "torch.relu",
                       call(pattern, "torch.neg",
                            cfx_graph_placeholder(pattern, "x", err), err),
                       err);
    cfx_node *r = call(replacement, "torch.sin",
                       call(replacement, "torch.abs",
                            cfx_graph_placeholder(replacement, "x", err),
                            err), err);
    if (!p || !r || !cfx_graph_output(pattern, cfx_value_of_node(p), err) ||
        !cfx_graph_output(replacement, cfx_value_of_node(r), err))
        return false;
    double start = bench_now(true);
    cfx_status st = cfx_replace_pattern(gm, pattern, replacement, &o, &done,
                                        err);
    double seconds = bench_now(true) - start;
    if (!st)
        printf("%9d nodes, %7zu matches%s %9.3f ms %8.1f ns a node\n", n,
               done.n, meant ? ", by operator" : "             ",
               1e3 * seconds, 1e9 * seconds / n);
    cfx_matches_release(&done);
    cfx_graph_free(pattern);
    cfx_graph_free(replacement);
    cfx_module_unref(gm);
    return !st;
}

int main(void)
{
    static const int sizes[] = {1000, 100000, 1000000};
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_options options = {.size = sizeof(options), .threads = 1};
    bool ok = !cfx_context_new(&ctx, &options, &err);
    for (int i = 0; i < 3 && ok; i++)
        ok = measure(ctx, sizes[i], 100, false, &err) &&
             measure(ctx, sizes[i], 100, true, &err) &&
             measure(ctx, sizes[i], 2, false, &err);
    if (!ok)
        fprintf(stderr, "rewrite: %s\n", err.text);
    cfx_context_free(ctx);
    return !ok;
}
