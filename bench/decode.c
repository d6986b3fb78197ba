/*
 * bench-decode -- time a decoder, token by token.
 *
 *     bench-decode [-t THREADS] [-n TOKENS] [-o] [-b] [-8] [-a] DECODER.fx
 *
 * DECODER.fx and its tokens come from decoder.py. Each token is the one with the
 * largest logit, so that a wrong one shows: tokens must be PyTorch's. Prints the
 * median time of a token, the bytes that the nodes of one run read and write
 * (the roofline's), and their rate, compared with the memory's bandwidth as
 * `cfx machine` measures it. -o optimizes the graph first, -b with weights of
 * bfloat16, -8 of int8, where some tokens may differ; -a runs in the arena of its
 * memory plan.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/memory_plan.h>
#include <cfx/optimize.h>
#include <cfx/roofline.h>

#include "bench.h"

enum { TOKENS_MAX = 4096 };

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

static cfx_status open_decoder(decoder *d, const char *path, int threads,
                               const cfx_optimize_options *optimize,
                               bool arena, cfx_error *err)
{
    const cfx_options o = {.size = sizeof(o), .threads = threads};
    const int64_t one = 1;
    cfx_value in[2];
    cfx_interp_options how = {.size = sizeof(how)};
    cfx_status st = cfx_context_new(&d->ctx, &o, err);
    if (!st)
        st = cfx_model_load(&d->gm, d->ctx, path, NULL, err);
    if (!st)
        st = cfx_tensor_new(&d->token, d->ctx, CFX_I64, 1, &one, err);
    if (!st)
        st = cfx_tensor_new(&d->position, d->ctx, CFX_I64, 1, &one, err);
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
                             double *seconds, cfx_error *err)
{
    cfx_value in[2], y;
    *(int64_t *)d->token->data = *token;
    *(int64_t *)d->position->data = position;
    inputs_of(d, in);
    double start = bench_now(false);
    cfx_status st = cfx_interp_run(&d->it, in, 2, &y, err);
    *seconds = bench_now(false) - start;
    if (!st)
        *token = largest(y.u.tensor);
    cfx_value_unref(y);
    return st;
}

/* The tokens that PyTorch chose: DECODER.tokens.npy beside DECODER.fx. */
static cfx_status read_tokens(cfx_tensor **out, decoder *d, const char *path,
                              cfx_error *err)
{
    char name[1024];
    size_t n = strlen(path);
    if (n < 3 || strcmp(path + n - 3, ".fx") != 0)
        return fail(err, "the model's name does not end in .fx");
    snprintf(name, sizeof(name), "%.*s.tokens.npy", (int)(n - 3), path);
    return cfx_npy_read(out, d->ctx, name, err);
}

/* Each run gets PyTorch's tokens; *same is the number of equal ones. */
static cfx_status decode(decoder *d, const cfx_tensor *want, int n,
                         double *seconds, int *same, cfx_error *err)
{
    int64_t token = 0;
    *same = 0;
    for (int i = 0; i < n; i++) {
        cfx_status st = next_token(d, i, &token, &seconds[i], err);
        if (st)
            return st;
        int64_t right = i < cfx_tensor_numel(want)
                            ? ((const int64_t *)want->data)[i]
                            : token;
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

static cfx_status run(decoder *d, const char *path, int threads, int n,
                      const cfx_optimize_options *optimize, bool arena,
                      cfx_error *err)
{
    static double seconds[TOKENS_MAX];
    cfx_tensor *want = NULL;
    double bytes = 0, bandwidth = 0;
    int same;
    cfx_status st = open_decoder(d, path, threads, optimize, arena, err);
    if (!st)
        st = read_tokens(&want, d, path, err);
    if (!st)
        st = decode(d, want, n, seconds, &same, err);
    if (!st && same < n &&
        !(optimize && (optimize->bfloat16 || optimize->int8_weights)))
        st = fail(err, "a token differs from PyTorch's");
    if (!st)
        st = find_traffic(d, threads, &bytes, &bandwidth, err);
    if (!st) {
        double median = bench_median(seconds, n);
        printf(
            "%d of %d tokens as PyTorch's, %.3f ms a token, %.0f MB, %.1f GB/s, "
            "%.2f of the memory's %.1f GB/s\n",
            same, n, 1e3 * median, 1e-6 * bytes, 1e-9 * bytes / median,
            bytes / median / bandwidth, 1e-9 * bandwidth);
    }
    cfx_tensor_unref(want);
    return st;
}

int main(int argc, char **argv)
{
    decoder d = {.ctx = NULL};
    cfx_error err = {0};
    cfx_optimize_options how = {.size = sizeof(how)}, *optimize = NULL;
    bool arena = false;
    int threads = 1, n = 16, c;

    while ((c = getopt(argc, argv, "t:n:ob8a")) != -1) {
        switch (c) {
        case 't': threads = atoi(optarg); break;
        case 'n': n = atoi(optarg); break;
        case '8':
            how.int8_weights = true;
            optimize = &how;
            break;
        case 'b': how.bfloat16 = true; /* fall through */
        case 'o': optimize = &how; break;
        case 'a': arena = true; break;
        default: return 2;
        }
    }
    if (optind != argc - 1 || n < 1 || n > TOKENS_MAX)
        return fputs(
                   "usage: bench-decode [-t THREADS] [-n TOKENS] [-o] [-b] [-8] [-a] "
                   "DECODER.fx\n",
                   stderr),
               2;
    cfx_status st = run(&d, argv[optind], threads, n, optimize, arena, &err);
    if (st)
        fprintf(stderr, "bench-decode: %s\n", err.text);
    close_decoder(&d);
    return st != 0;
}
