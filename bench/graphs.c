/*
 * graphs -- graph operations of growing size, compared with torch.fx.
 *
 *     bench-graphs [-k TEXT] [-n ROUNDS] [-m MOST] [-p PEER] [-c] [SIZE...]
 *
 * Every run gets a new graph, and only the operation itself is timed. -k
 * selects the rows whose name contains TEXT. PEER is the command of
 * graphs_peer.py, which makes the same graph and runs in the same round, for
 * sizes up to MOST. Results are medians over the rounds, in ns per node; the
 * ratio is that of the medians. -c measures processor time, for a busy machine.
 *
 * The graph is a sequence of blocks of ten nodes: two equal additions and their
 * users, two unused nodes, and in every tenth block a tanh of a neg, which the
 * pattern matches.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/pass.h>
#include <cfx/rewriter.h>
#include <cfx/text.h>

#include "bench.h"

enum { ROUNDS_MAX = 99, BLOCK = 10, MATCH_EVERY = 10 };

/* ---- The graph ---- */

typedef struct builder {
    cfx_graph *g;
    cfx_error *err;
    bool failed;
} builder;

static cfx_value call(builder *b, const char *target, cfx_value x, cfx_value y)
{
    cfx_value args[] = {x, y};
    cfx_node *n = b->failed ? NULL
                            : cfx_graph_call_function(
                                  b->g, target,
                                  cfx_args_of(args, y.kind ? 2 : 1), b->err);

    b->failed = !n;
    return cfx_value_of_node(n);
}

static void add_block(builder *b, cfx_value *x, cfx_value *y, bool matches)
{
    cfx_value sum = call(b, "operator.add", *x, *y);
    cfx_value relu = call(b, "torch.relu", sum, CFX_NOTHING);
    cfx_value twice = call(b, "operator.mul", relu, cfx_int(2));
    cfx_value again = call(b, "operator.add", *x, *y);
    cfx_value relu_1 = call(b, "torch.relu", again, CFX_NOTHING);
    cfx_value sub = call(b, "operator.sub", twice, relu_1);
    cfx_value neg = call(b, "torch.neg", sub, CFX_NOTHING);

    call(b, "torch.relu", call(b, "operator.mul", sub, cfx_int(3)),
         CFX_NOTHING);
    *y = *x;
    *x = call(b, matches ? "torch.tanh" : "torch.sigmoid", neg, CFX_NOTHING);
}

static cfx_graph *build(cfx_context *ctx, size_t n, cfx_error *err)
{
    builder b = {.err = err};
    if (cfx_graph_new(&b.g, ctx, err))
        return NULL;
    cfx_value x = cfx_value_of_node(cfx_graph_placeholder(b.g, "x", err));
    cfx_value y = x;
    for (size_t i = 0; i < n / BLOCK && !b.failed; i++)
        add_block(&b, &x, &y, i % MATCH_EVERY == 0);
    if (!b.failed && cfx_graph_output(b.g, x, err))
        return b.g;
    cfx_graph_free(b.g);
    return NULL;
}

/* The pattern, tanh(neg(x)), or its replacement, sin(x). */
static cfx_graph *small(cfx_context *ctx, bool pattern, cfx_error *err)
{
    builder b = {.err = err};
    if (cfx_graph_new(&b.g, ctx, err))
        return NULL;
    cfx_value x = cfx_value_of_node(cfx_graph_placeholder(b.g, "x", err));
    if (pattern)
        x = call(&b, "torch.neg", x, CFX_NOTHING);
    x = call(&b, pattern ? "torch.tanh" : "torch.sin", x, CFX_NOTHING);
    if (!b.failed && cfx_graph_output(b.g, x, err))
        return b.g;
    cfx_graph_free(b.g);
    return NULL;
}

/* ---- The rows ---- */

/* The input of a run, built again for each, and its results. */
typedef struct work {
    cfx_context *ctx;
    size_t size;
    cfx_module *gm;
    cfx_graph *g;    /* of gm */
    cfx_graph *made; /* by the run */
    cfx_graph *pattern, *replacement;
    char *text;
    size_t len, room;
    uint64_t seen; /* result of reading, so that it is kept */
    cfx_error err;
} work;

static cfx_status run_build(work *w)
{
    w->made = build(w->ctx, w->size, &w->err);
    return w->made ? CFX_OK : w->err.code;
}

static cfx_status run_iterate(work *w)
{
    for (cfx_node *n = cfx_graph_first(w->g); n; n = cfx_node_next(n))
        w->seen++;
    return CFX_OK;
}

static cfx_status run_read_op(work *w)
{
    for (cfx_node *n = cfx_graph_first(w->g); n; n = cfx_node_next(n))
        w->seen += n->op;
    return CFX_OK;
}

static cfx_status run_lint(work *w)
{
    return cfx_graph_lint(w->g, &w->err);
}

static cfx_status count(void *user, const char *text, size_t len)
{
    work *w = user;
    w->seen += len + (unsigned char)*text;
    return CFX_OK;
}

static cfx_status run_print(work *w)
{
    return cfx_print_graph((cfx_sink){count, w}, w->g, false, &w->err);
}

static cfx_status run_parse(work *w)
{
    return cfx_parse_model(&w->gm, w->ctx, w->text, w->len, "text", &w->err);
}

static cfx_status run_copy(work *w)
{
    return cfx_graph_copy(&w->made, w->g, &w->err);
}

static cfx_status run_dead_code(work *w)
{
    size_t n;
    cfx_status st = cfx_graph_eliminate_dead_code(w->g, NULL, &n, &w->err);
    w->seen += n;
    return st;
}

static cfx_status run_cse(work *w)
{
    size_t n;
    cfx_status st = cfx_pass_apply(w->gm, "common_subexpressions", false, &n,
                                   &w->err);
    w->seen += n;
    return st;
}

static cfx_status run_replace(work *w)
{
    cfx_matches found;
    cfx_status st = cfx_replace_pattern(w->gm, w->pattern, w->replacement,
                                        NULL, &found, &w->err);
    size_t blocks = w->size / BLOCK;
    if (!st && found.n != (blocks + MATCH_EVERY - 1) / MATCH_EVERY)
        st = cfx_fail(&w->err, CFX_EGRAPH, "%zu matches", found.n);
    cfx_matches_release(&found);
    return st;
}

enum needs { NOTHING, GRAPH, TEXT };

static const struct row {
    const char *name;
    enum needs needs;
    cfx_status (*run)(work *w);
} rows[] = {
    {"build", NOTHING, run_build},
    {"iterate", GRAPH, run_iterate},
    {"read_op", GRAPH, run_read_op},
    {"lint", GRAPH, run_lint},
    {"print", GRAPH, run_print},
    {"parse", TEXT, run_parse},
    {"copy", GRAPH, run_copy},
    {"dead_code", GRAPH, run_dead_code},
    {"common_subexpressions", GRAPH, run_cse},
    {"replace_pattern", GRAPH, run_replace},
};

/* ---- One run ---- */

static cfx_status keep(void *user, const char *text, size_t len)
{
    work *w = user;
    if (w->len + len > w->room) {
        size_t room = 2 * (w->room + len);
        char *more = realloc(w->text, room);
        if (!more)
            return CFX_ENOMEM;
        w->text = more;
        w->room = room;
    }
    memcpy(w->text + w->len, text, len);
    w->len += len;
    return CFX_OK;
}

static cfx_status make(work *w, enum needs needs)
{
    if (needs == NOTHING)
        return CFX_OK;
    cfx_graph *g = build(w->ctx, w->size, &w->err);
    if (g && needs == TEXT) {
        cfx_sink sink = {keep, w};
        if (!cfx_print_graph(sink, g, false, &w->err))
            keep(w, "\n", 1);
        cfx_graph_free(g);
    } else if (g && !cfx_graph_module_new_take_both(&w->gm, w->ctx, NULL, g,
                                                    "GraphModule", &w->err)) {
        w->g = g;
        w->pattern = small(w->ctx, true, &w->err);
        w->replacement = small(w->ctx, false, &w->err);
    }
    return w->err.code;
}

static void work_release(work *w)
{
    cfx_graph_free(w->made);
    cfx_graph_free(w->pattern);
    cfx_graph_free(w->replacement);
    cfx_module_unref(w->gm);
    free(w->text);
}

/* Return seconds; negative, with a message on stderr, on failure. */
static double run_once(cfx_context *ctx, const struct row *row, size_t size,
                       bool processor)
{
    work w = {.ctx = ctx, .size = size};
    double took = -1;
    cfx_status st = make(&w, row->needs);

    if (!st) {
        double start = bench_now(processor);
        st = row->run(&w);
        took = bench_now(processor) - start;
    }
    if (st)
        fprintf(stderr, "bench-graphs: %s: %s\n", row->name, w.err.text);
    work_release(&w);
    return st ? -1 : took;
}

/* ---- Rounds ---- */

typedef struct bench {
    const char *only, *command;
    bench_peer peer;
    size_t most;
    int rounds;
    bool processor;
} bench;

static bool measure(bench *b, cfx_context *ctx, const struct row *row,
                    size_t size)
{
    double cfx[ROUNDS_MAX], torch[ROUNDS_MAX];
    bool beside = b->peer.to && size <= b->most;

    for (int i = 0; i < b->rounds; i++) {
        cfx[i] = run_once(ctx, row, size, b->processor);
        torch[i] = beside ? bench_peer_graph(&b->peer, row->name, size,
                                             b->processor)
                          : 0;
        if (cfx[i] < 0 || torch[i] < 0)
            return false;
    }
    double ours = bench_median(cfx, b->rounds);
    double theirs = bench_median(torch, b->rounds);
    printf("%-24s %8zu %10.1f", row->name, size, 1e9 * ours / (double)size);
    if (beside)
        printf(" %10.1f %8.0f", 1e9 * theirs / (double)size, theirs / ours);
    putchar('\n');
    fflush(stdout);
    return true;
}

static bool options(bench *b, int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "k:n:m:p:c")) != -1;)
        switch (c) {
        case 'k': b->only = optarg; break;
        case 'n': b->rounds = atoi(optarg); break;
        case 'm': b->most = (size_t)atoll(optarg); break;
        case 'p': b->command = optarg; break;
        case 'c': b->processor = true; break;
        default: return false;
        }
    return b->rounds > 0 && b->rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    static const char *const sizes[] = {"1000", "100000", "1000000"};
    bench b = {.rounds = 3, .most = 100000};
    if (!options(&b, argc, argv)) {
        fprintf(stderr, "usage: bench-graphs [-k TEXT] [-n ROUNDS] [-m MOST] "
                        "[-p PEER] [-c] [SIZE...]\n");
        return 2;
    }
    const char *const *size = optind < argc
                                  ? (const char *const *)argv + optind
                                  : sizes;
    int nsizes = optind < argc ? argc - optind : 3;
    cfx_context *ctx = NULL;
    cfx_options o = {.size = sizeof(o), .threads = 1};
    bool ok = !cfx_context_new(&ctx, &o, NULL) &&
              (!b.command || bench_peer_start(&b.peer, b.command, 1));

    printf("%-24s %8s %10s %10s %8s\n", "", "nodes", "ns a node", "torch",
           "ratio");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && ok; i++)
        for (int k = 0; k < nsizes && ok; k++)
            if (!b.only || strstr(rows[i].name, b.only))
                ok = measure(&b, ctx, &rows[i], (size_t)atoll(size[k]));
    bench_peer_stop(&b.peer);
    cfx_context_free(ctx);
    return ok ? 0 : 1;
}
