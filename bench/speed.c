/*
 * speed -- compare cfx with its peers, row by row.
 *
 *     bench-speed [-k TEXT] [-t THREADS] [-n ROUNDS] [-s SECONDS] [-z ZOO]
 *                 [-p PEER] [-f] [-c] ROWS
 *
 * ROWS is rows.txt; -k selects the rows whose name contains TEXT; ZOO is the
 * folder of the zoo's models, PEER the command of peer.py. Every row is
 * measured in rounds. In each round cfx and its peers run alternately, so that
 * other work affects all of them. A round is the median of its runs, or with
 * -f, for a busy machine, the fastest one. Results are medians over the rounds;
 * the ratio is the median of the rounds' ratios. -c measures processor time,
 * which is useful with one thread. Pauses let one side's threads go to sleep
 * before the other begins.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/text.h>

#include "bench.h"

enum { ROUNDS_MAX = 99, SEED = 1 };

static void pause_for_threads(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
}

/* ---- cfx ---- */

typedef struct subject {
    cfx_module *gm;
    cfx_interp it;
    cfx_value in[BENCH_INPUTS];
    cfx_error err;
} subject;

static cfx_status make_input(cfx_value *out, cfx_context *ctx,
                             const char *spec, cfx_error *err)
{
    char name[BENCH_NAME];
    const char *at = strchr(spec, '[');
    int64_t shape[CFX_MAX_RANK];
    int rank = 0;
    cfx_tensor *t;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, "="), spec);
    while (at && *at != ']' && rank < CFX_MAX_RANK) {
        char *end;
        shape[rank++] = strtoll(at + 1, &end, 10);
        at = *end == ',' || *end == ']' ? end : NULL;
    }
    if (!at || strncmp(strchr(spec, '='), "=f32[", 5) != 0)
        return cfx_fail(err, CFX_EINVAL, "%s is no NAME=f32[N,...]", spec);
    cfx_status st = cfx_tensor_new(&t, ctx, CFX_F32, rank, shape, err);
    if (st)
        return st;
    *out = cfx_value_of_tensor(t);
    return cfx_tensor_randomize(t, SEED, name, err);
}

static bool prepare(subject *s, cfx_context *ctx, const bench_row *row,
                    const char *text)
{
    cfx_status st = cfx_parse_model(&s->gm, ctx, text, strlen(text), row->name,
                                    &s->err);

    if (!st)
        st = cfx_module_randomize(s->gm, SEED, &s->err);
    for (int i = 0; i < row->ninputs && !st; i++)
        st = make_input(&s->in[i], ctx, row->input[i], &s->err);
    if (!st)
        st = cfx_interp_init(&s->it, &cfx_interp_base, s->gm, &s->err);
    if (st)
        fprintf(stderr, "bench-speed: %s\n", s->err.text);
    return !st;
}

static void subject_release(subject *s)
{
    cfx_interp_release(&s->it);
    for (int i = 0; i < BENCH_INPUTS; i++)
        cfx_value_unref(s->in[i]);
    cfx_module_unref(s->gm);
}

static bool run_once(void *arg)
{
    subject *s = arg;
    cfx_value y = CFX_NOTHING;
    size_t n = 0;

    while (n < BENCH_INPUTS && s->in[n].kind == CFX_TENSOR)
        n++;
    if (cfx_interp_run(&s->it, s->in, n, &y, &s->err)) {
        fprintf(stderr, "bench-speed: %s\n", s->err.text);
        return false;
    }
    cfx_value_unref(y);
    return true;
}

/* ---- Rows ---- */

typedef struct bench {
    cfx_context *ctx;
    bench_peer peer;
    const char *rows, *only, *zoo, *command;
    int threads, rounds;
    bench_time time;
} bench;

enum side { CFX, TORCH, OPENBLAS, MEMORY, SIDES };

static const char *const side_names[SIDES] = {"", "torch", "openblas",
                                              "memory"};

typedef struct result {
    double seconds[SIDES][ROUNDS_MAX]; /* of a round; 0: not measured */
} result;

static void print_row(const bench *b, const char *name, result *r)
{
    double cfx[ROUNDS_MAX];
    bool any = false;

    memcpy(cfx, r->seconds[CFX], sizeof(cfx));
    for (int side = TORCH; side < SIDES; side++) {
        double ratio[ROUNDS_MAX];
        if (!(r->seconds[side][0] > 0))
            continue;
        for (int i = 0; i < b->rounds; i++)
            ratio[i] = r->seconds[side][i] / r->seconds[CFX][i];
        printf("%-40s %10.3f   %-8s %10.3f %7.2f\n", any ? "" : name,
               1e3 * bench_median(cfx, b->rounds), side_names[side],
               1e3 * bench_median(r->seconds[side], b->rounds),
               bench_median(ratio, b->rounds));
        any = true;
    }
    if (!any)
        printf("%-40s %10.3f\n", name, 1e3 * bench_median(cfx, b->rounds));
    fflush(stdout);
}

static bool measure_round(bench *b, const bench_row *row, subject *s,
                          result *r, int i)
{
    if (b->peer.to) {
        r->seconds[TORCH][i] = bench_peer_run(&b->peer, b->time);
        pause_for_threads();
    }
    if (row->sgemm[0]) {
        r->seconds[OPENBLAS][i] = bench_sgemm(row->sgemm, b->threads, b->time);
        pause_for_threads();
    }
    if (row->memory[0] > 0) {
        int reads = row->memory[0] > row->memory[1] ? 2 : 1;
        r->seconds[MEMORY][i] = 1e6 * (row->memory[0] + row->memory[1]) /
                                bench_bandwidth(b->ctx, reads, b->time);
    }
    r->seconds[CFX][i] = bench_measure(run_once, s, b->time);
    pause_for_threads();
    return r->seconds[CFX][i] > 0;
}

static bool measure_row(bench *b, const bench_row *row)
{
    result r = {0};
    subject s = {0};
    char *text = bench_model_text(row, b->zoo);
    bool ok = text && prepare(&s, b->ctx, row, text);

    if (ok && b->peer.to)
        ok = bench_peer_load(&b->peer, row, text);
    for (int i = 0; i < b->rounds && ok; i++)
        ok = measure_round(b, row, &s, &r, i);
    if (ok)
        print_row(b, row->name, &r);
    subject_release(&s);
    free(text);
    return ok;
}

static bool measure_rows(bench *b, FILE *rows)
{
    bench_row row;
    int line = 0;
    bool ok = true;

    printf("%-40s %10s   %-8s %10s %7s\n", "times in ms", "cfx", "peer",
           "peer", "ratio");
    while (ok && bench_read_row(&row, rows, &line))
        if (!b->only || strstr(row.name, b->only))
            ok = measure_row(b, &row);
    return ok && feof(rows);
}

static bool parse_options(bench *b, int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "k:t:n:s:z:p:fc")) != -1) {
        switch (c) {
        case 'k': b->only = optarg; break;
        case 't': b->threads = atoi(optarg); break;
        case 'n': b->rounds = atoi(optarg); break;
        case 's': b->time.seconds = atof(optarg); break;
        case 'f': b->time.part = 0; break;
        case 'c': b->time.processor = true; break;
        case 'z': b->zoo = optarg; break;
        case 'p': b->command = optarg; break;
        default: return false;
        }
    }
    b->rows = argv[optind];
    return optind + 1 == argc && b->threads > 0 && b->rounds > 0 &&
           b->rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    bench b = {
        .threads = 2, .rounds = 5, .time = {0.1, 0.5, false}, .zoo = "zoo"};
    cfx_error err = {0};
    FILE *rows;
    bool ok;

    if (!parse_options(&b, argc, argv)) {
        fprintf(
            stderr,
            "usage: bench-speed [-k TEXT] [-t THREADS] "
            "[-n ROUNDS] [-s SECONDS] [-z ZOO] [-p PEER] [-f] [-c] ROWS\n");
        return 2;
    }
    cfx_options options = {.size = sizeof(options), .threads = b.threads};
    if (!(rows = fopen(b.rows, "r"))) {
        perror(b.rows);
        return 1;
    }
    ok = (!b.command || bench_peer_start(&b.peer, b.command, b.threads)) &&
         !cfx_context_new(&b.ctx, &options, &err);
    if (err.code)
        fprintf(stderr, "bench-speed: %s\n", err.text);
    ok = ok && measure_rows(&b, rows);
    bench_peer_stop(&b.peer);
    cfx_context_free(b.ctx);
    fclose(rows);
    return !ok;
}
