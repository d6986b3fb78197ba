/*
 * serve -- cfx's side of peers.py: runs one model as often as it is told.
 *
 *     bench-serve [-t THREADS] [-o] [-b] [-c] MODEL.fx INPUT.npy...
 *
 * -o optimizes the model first, -b with weights of bfloat16; -c measures processor
 * time. Prints "ready" when the model can run, then reads commands from stdin and
 * prints one line for each:
 *
 *     run SECONDS    run it for about so long, three times at least; print the
 *                    fastest and the median time in seconds
 *     output FILE    run it once, and write the first output to FILE
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/memory_plan.h>
#include <cfx/optimize.h>

#include "bench.h"

enum { LEAST_RUNS = 3, MOST_RUNS = 4096, LINE = 1024 };

typedef struct server {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_value input[BENCH_INPUTS];
    size_t ninputs;
    cfx_memory_plan *plan;
    cfx_planned_scope scope;
    cfx_interp it;
    bool processor; /* its time is measured */
} server;

static cfx_status open_server(server *s, const char *model, int ninputs,
                              char **inputs, int threads,
                              const cfx_optimize_options *optimize,
                              cfx_error *err)
{
    const cfx_options o = {.size = sizeof(o), .threads = threads};
    cfx_interp_options how = {.size = sizeof(how), .scope = &s->scope.base};
    cfx_status st = cfx_context_new(&s->ctx, &o, err);
    for (int i = 0; i < ninputs && !st; i++) {
        cfx_tensor *t;
        st = cfx_npy_read(&t, s->ctx, inputs[i], err);
        if (!st)
            s->input[s->ninputs++] = cfx_value_of_tensor(t);
    }
    if (!st)
        st = cfx_model_load(&s->gm, s->ctx, model, NULL, err);
    if (!st && optimize)
        st = cfx_optimize(s->gm, s->input, s->ninputs, optimize, err);
    if (!st)
        st = cfx_memory_plan_new(&s->plan, s->gm, s->input, s->ninputs, NULL,
                                 err);
    if (!st)
        st = cfx_planned_scope_init(&s->scope, s->plan, err);
    return st ? st
              : cfx_interp_init_with(&s->it, &cfx_interp_base, s->gm, &how,
                                     err);
}

static void close_server(server *s)
{
    cfx_interp_release(&s->it);
    cfx_planned_scope_release(&s->scope);
    cfx_memory_plan_free(s->plan);
    for (size_t i = 0; i < s->ninputs; i++)
        cfx_value_unref(s->input[i]);
    cfx_module_unref(s->gm);
    cfx_context_free(s->ctx);
}

static cfx_status run_once(server *s, cfx_value *y, cfx_error *err)
{
    return cfx_interp_run(&s->it, s->input, s->ninputs, y, err);
}

static cfx_status measure(server *s, double seconds, cfx_error *err)
{
    static double took[MOST_RUNS];
    double begin = bench_now(s->processor);
    int n = 0;
    cfx_status st = CFX_OK;
    while (!st && n < MOST_RUNS &&
           (n < LEAST_RUNS || bench_now(s->processor) - begin < seconds)) {
        cfx_value y;
        double start = bench_now(s->processor);
        st = run_once(s, &y, err);
        took[n++] = bench_now(s->processor) - start;
        cfx_value_unref(y);
    }
    if (!st) {
        double median = bench_median(took, n);
        printf("%.9f %.9f\n", took[0], median);
    }
    return st;
}

/* The first tensor of the result: of a tuple, list or dict too. */
static const cfx_tensor *first_tensor(cfx_value y)
{
    for (uint32_t i = y.kind == CFX_DICT; y.kind != CFX_TENSOR; i = 0) {
        if ((!cfx_value_is_seq(y) && y.kind != CFX_DICT) || !y.u.seq->len)
            return NULL;
        y = y.u.seq->item[i];
    }
    return y.u.tensor;
}

static cfx_status write_output(server *s, const char *path, cfx_error *err)
{
    cfx_value y;
    cfx_status st = run_once(s, &y, err);
    const cfx_tensor *t = st ? NULL : first_tensor(y);
    if (!st && !t)
        st = cfx_fail(err, CFX_EINVAL, "the model returns no tensor");
    if (!st)
        st = cfx_npy_write(path, t, err);
    cfx_value_unref(y);
    if (!st)
        puts("written");
    return st;
}

static cfx_status serve(server *s, cfx_error *err)
{
    char line[LINE], word[LINE], rest[LINE];
    cfx_status st = CFX_OK;
    puts("ready");
    fflush(stdout);
    while (!st && fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%1023s %1023s", word, rest) != 2)
            return cfx_fail(err, CFX_EINVAL, "malformed: %s", line);
        st = strcmp(word, "run") == 0 ? measure(s, atof(rest), err)
                                      : write_output(s, rest, err);
        fflush(stdout);
    }
    return st;
}

int main(int argc, char **argv)
{
    server s = {.ctx = NULL};
    cfx_error err = {0};
    int threads = 1, c;
    cfx_optimize_options how = {.size = sizeof(how)}, *optimize = NULL;

    while ((c = getopt(argc, argv, "t:obc")) != -1) {
        if (c == 't')
            threads = atoi(optarg);
        else if (c == 'o' || c == 'b')
            optimize = &how;
        else if (c == 'c')
            s.processor = true;
        else
            return 2;
        how.bfloat16 |= c == 'b';
    }
    int ninputs = argc - optind - 1;
    if (ninputs < 1 || ninputs > BENCH_INPUTS)
        return fputs("usage: bench-serve [-t THREADS] [-o] [-b] [-c] MODEL.fx "
                     "INPUT.npy...\n",
                     stderr),
               2;
    cfx_status st = open_server(&s, argv[optind], ninputs, argv + optind + 1,
                                threads, optimize, &err);
    if (!st)
        st = serve(&s, &err);
    if (st)
        fprintf(stderr, "bench-serve: %s\n", err.text);
    close_server(&s);
    return st != 0;
}
