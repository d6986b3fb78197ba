/*
 * walk -- the interpreter's overhead per node, in ns: a chain of additions of
 * one element, everything included.
 *
 * The time of a walk doubles while another process uses the core's other thread,
 * for a second at times. So walks are timed for two seconds; the median of the
 * fastest batch is printed first, that of the slowest after it.
 */
#include <math.h>

#include "bench.h"

enum { NODES = 1000, REPEAT = 101 };
#define SECONDS 2.0

static cfx_graph *chain(cfx_context *ctx, cfx_error *err)
{
    cfx_graph *g;
    if (cfx_graph_new(&g, ctx, err))
        return NULL;
    cfx_node *x = cfx_graph_placeholder(g, "x", err), *y = x;
    for (int i = 0; i < NODES && y; i++) {
        cfx_value args[] = {cfx_value_of_node(y), cfx_value_of_node(x)};
        y = cfx_graph_call_function(g, "operator.add", cfx_args_of(args, 2),
                                    err);
    }
    if (!y || !cfx_graph_output(g, cfx_value_of_node(y), err)) {
        cfx_graph_free(g);
        return NULL;
    }
    return g;
}

int main(void)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    double seconds[REPEAT], least = INFINITY, most = 0;
    cfx_options options = {.size = sizeof(options), .threads = 1};
    cfx_status st = cfx_context_new(&ctx, &options, &err);
    cfx_graph *g = st ? NULL : chain(ctx, &err);
    if (g)
        st = cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Chain", &err);
    if (!st)
        st = cfx_tensor_new(&x, ctx, CFX_F32, 1, (int64_t[]){1}, &err);
    if (!st) {
        *(float *)x->data = 1;
        st = cfx_interp_init(&it, &cfx_interp_base, gm, &err);
    }
    double until = bench_now(false) + SECONDS;
    while (bench_now(false) < until && !st) {
        for (int i = 0; i < REPEAT && !st; i++) {
            cfx_value in = cfx_value_of_tensor(x), out;
            double start = bench_now(false);
            st = cfx_interp_run(&it, &in, 1, &out, &err);
            seconds[i] = bench_now(false) - start;
            cfx_value_unref(out);
        }
        double median = bench_median(seconds, REPEAT);
        least = fmin(least, median);
        most = fmax(most, median);
    }
    if (st) {
        fprintf(stderr, "walk: %s\n", err.text);
        return 1;
    }
    printf("walk, add of one element     %8.1f ns a node (to %.1f)\n",
           1e9 * least / NODES, 1e9 * most / NODES);
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return 0;
}
