/*
 * bench-decode -- time a decoder, token by token.
 *
 *     bench-decode [-t THREADS] [-n TOKENS] [-p POSITION] [-f] [-c] [-o] [-b]
 *                  [-8] [-q] [-a] DECODER TOKENS.npy
 *
 * DECODER and its tokens come from decoder.py. Each token is the one with the
 * largest logit, so that a wrong one shows: tokens must be PyTorch's. Prints the
 * median time of a token (-f: the shortest; -c: of the processor), the bytes that
 * the nodes of one run read and write (the roofline's), and their rate, compared
 * with the memory's bandwidth as `cfx machine` measures it. They are those of a
 * full cache: -p begins at a position, so that most of it is read; tokens are not
 * compared then. -o optimizes the graph first, -b with weights of
 * bfloat16, -8 of int8; -a runs in the arena of its memory plan. With narrow
 * weights, and with -q, for a model that `cfx quantize` wrote, tokens may differ.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/memory_plan.h>
#include <cfx/optimize.h>
#include <cfx/roofline.h>

#include "bench.h"

enum { TOKENS_MAX = 4096 };

/* How the decoder runs: its options. */
typedef struct settings {
    cfx_optimize_options how;
    bool optimize, arena;
    bool exact;     /* all tokens have to be PyTorch's */
    bool fastest;   /* the shortest time counts, else the median */
    bool processor; /* its time counts */
    int threads, tokens, position;
} settings;

typedef struct decoder {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_tensor *token, *position;
    cfx_interp it;
    cfx_memory_plan *plan;
    cfx_planned_scope scope;
} decoder;

static cfx_status fail(cfx_error *err, const char *text)
{
    return cfx_fail(err, CFX_EINVAL, "%s", text);
}

static void inputs_of(const decoder *d, cfx_value in[2])
{
    in[0] = cfx_value_of_tensor(d->token);
    in[1] = cfx_value_of_tensor(d->position);
}

/* Exported models have a batch: i64[1, 1], where others have i64[1]. */
static int token_rank(const cfx_module *gm)
{
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));
    while (n->op != CFX_PLACEHOLDER)
        n = cfx_node_next(n);
    cfx_value v = cfx_node_meta(n, "tensor_meta");
    if (v.kind != CFX_TENSOR)
        v = cfx_node_meta(n, "val");
    return v.kind == CFX_TENSOR ? v.u.tensor->rank : 1;
}

static cfx_status open_decoder(decoder *d, const char *path, int threads,
                               const cfx_optimize_options *optimize,
                               bool arena, cfx_error *err)
{
    const cfx_options o = {.size = sizeof(o), .threads = threads};
    const int64_t one[2] = {1, 1};
    cfx_value in[2];
    cfx_interp_options how = {.size = sizeof(how)};
    cfx_status st = cfx_context_new(&d->ctx, &o, err);
    if (!st)
        st = cfx_model_load(&d->gm, d->ctx, path, NULL, err);
    if (!st)
        st = cfx_tensor_new(&d->token, d->ctx, CFX_I64, token_rank(d->gm), one,
                            err);
    if (!st)
        st = cfx_tensor_new(&d->position, d->ctx, CFX_I64, 1, one, err);
    if (st)
        return st;
    inputs_of(d, in);
    if (optimize)
        st = cfx_optimize(d->gm, in, 2, optimize, err);
    if (!st && arena)
        st = cfx_memory_plan_new(&d->plan, d->gm, in, 2, NULL, err);
    if (!st && arena)
        st = cfx_planned_scope_init(&d->scope, d->plan, err);
    if (arena)
        how.scope = &d->scope.base;
    return st ? st
              : cfx_interp_init_with(&d->it, &cfx_interp_base, d->gm, &how,
                                     err);
}

static void close_decoder(decoder *d)
{
    cfx_interp_release(&d->it);
    cfx_planned_scope_release(&d->scope);
    cfx_memory_plan_free(d->plan);
    cfx_tensor_unref(d->token);
    cfx_tensor_unref(d->position);
    cfx_module_unref(d->gm);
    cfx_context_free(d->ctx);
}

/* ---- Decoding ---- */

static int64_t largest(const cfx_tensor *logits)
{
    const float *x = logits->data;
    int64_t n = cfx_tensor_numel(logits), best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Compute the token after `token` at a position. */
static cfx_status next_token(decoder *d, int64_t position, int64_t *token,
                             bool processor, double *seconds, cfx_error *err)
{
    cfx_value in[2], y;
    *(int64_t *)d->token->data = *token;
    *(int64_t *)d->position->data = position;
    inputs_of(d, in);
    double start = bench_now(processor);
    cfx_status st = cfx_interp_run(&d->it, in, 2, &y, err);
    *seconds = bench_now(processor) - start;
    if (!st)
        *token = largest(y.u.tensor);
    cfx_value_unref(y);
    return st;
}

/* Each run gets PyTorch's tokens, as long as there are some; *same is the number of
 * equal ones. */
static cfx_status decode(decoder *d, const cfx_tensor *want, const settings *o,
                         double *seconds, int *same, cfx_error *err)
{
    int64_t token = 0;
    *same = 0;
    for (int i = 0; i < o->tokens; i++) {
        cfx_status st = next_token(d, o->position + i, &token, o->processor,
                                   &seconds[i], err);
        if (st)
            return st;
        if (o->position || i >= cfx_tensor_numel(want))
            continue;
        int64_t right = ((const int64_t *)want->data)[i];
        *same += token == right;
        token = right;
    }
    return CFX_OK;
}

/* ---- The report ---- */

/* The bytes that one run reads and writes, and the rate of the memory. */
static cfx_status find_traffic(decoder *d, int threads, double *bytes,
                               double *bandwidth, cfx_error *err)
{
    cfx_machine *machine = NULL;
    cfx_roofline *r = NULL;
    cfx_value in[2];
    inputs_of(d, in);
    cfx_status st = cfx_machine_cached(&machine, d->ctx, 0, 0, err);
    const cfx_roofline_options o = {
        .size = sizeof(o), .machine = machine, .threads = threads};
    if (!st)
        st = cfx_roofline_new(&r, d->gm, in, 2, &o, err);
    if (!st) {
        const cfx_machine_rates *rates = cfx_machine_for(machine, threads);
        cfx_dim all = cfx_cost_bytes(r->env, &r->total.cost.cost);
        *bytes = (double)cfx_dim_value(all);
        *bandwidth = rates->level[rates->nlevels - 1].rate[CFX_MACHINE_READ];
    }
    cfx_roofline_free(r);
    cfx_machine_free(machine);
    return st;
}

static cfx_status run(decoder *d, char *const path[2], const settings *o,
                      cfx_error *err)
{
    static double seconds[TOKENS_MAX];
    cfx_tensor *want = NULL;
    double bytes = 0, bandwidth = 0;
    int same, n = o->tokens;
    cfx_status st = open_decoder(d, path[0], o->threads,
                                 o->optimize ? &o->how : NULL, o->arena, err);
    if (!st)
        st = cfx_npy_read(&want, d->ctx, path[1], err);
    if (!st)
        st = decode(d, want, o, seconds, &same, err);
    int compared = st || o->position
                       ? 0
                       : (int)fmin(n, (double)cfx_tensor_numel(want));
    if (!st && same < compared && o->exact)
        st = fail(err, "a token differs from PyTorch's");
    if (!st)
        st = find_traffic(d, o->threads, &bytes, &bandwidth, err);
    if (!st) {
        /* The median sorts them. */
        double median = bench_median(seconds, n);
        double token = o->fastest ? seconds[0] : median;
        printf(
            "%d of %d tokens as PyTorch's, %.3f ms a token, %.0f MB, %.1f GB/s, "
            "%.2f of the memory's %.1f GB/s\n",
            same, compared, 1e3 * token, 1e-6 * bytes, 1e-9 * bytes / token,
            bytes / token / bandwidth, 1e-9 * bandwidth);
    }
    cfx_tensor_unref(want);
    return st;
}

static bool read_options(int argc, char **argv, settings *o)
{
    int c;

    while ((c = getopt(argc, argv, "t:n:p:fcob8qa")) != -1) {
        switch (c) {
        case 't': o->threads = atoi(optarg); break;
        case 'n': o->tokens = atoi(optarg); break;
        case 'p': o->position = atoi(optarg); break;
        case 'f': o->fastest = true; break;
        case 'c': o->processor = true; break;
        case 'o': o->optimize = true; break;
        case '8': o->how.int8_weights = true; break;
        case 'b': o->how.bfloat16 = true; break;
        case 'q': o->exact = false; break;
        case 'a': o->arena = true; break;
        default: return false;
        }
    }
    if (o->how.int8_weights || o->how.bfloat16) {
        o->optimize = true;
        o->exact = false;
    }
    return optind == argc - 2 && o->tokens > 0 && o->tokens <= TOKENS_MAX;
}

int main(int argc, char **argv)
{
    decoder d = {.ctx = NULL};
    cfx_error err = {0};
    settings o = {.how = {.size = sizeof(o.how)},
                  .exact = true,
                  .threads = 1,
                  .tokens = 16};

    if (!read_options(argc, argv, &o)) {
        fputs(
            "usage: bench-decode [-t THREADS] [-n TOKENS] [-p POSITION] [-f] [-c] [-o] "
            "[-b] [-8] [-q] [-a] DECODER TOKENS.npy\n",
            stderr);
        return 2;
    }
    cfx_status st = run(&d, argv + optind, &o, &err);
    if (st)
        fprintf(stderr, "bench-decode: %s\n", err.text);
    close_decoder(&d);
    return st != 0;
}
