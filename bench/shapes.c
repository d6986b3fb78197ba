/*
 * bench-shapes -- time of shape propagation: a walk, and a whole run of the
 * program.
 *
 *     bench-shapes [-c] [-n RUNS] CFX MODEL.fx INPUT MODEL2.fx
 *
 * `CFX shapes MODEL -i INPUT` runs as a process. MODEL2 is walked in this
 * process on images of 224 by 224, each time with another batch size and a new
 * interpreter. -c measures processor time, for a busy machine.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/shape_prop.h>

#include "bench.h"

enum { MOST_RUNS = 2000 };

static double took[MOST_RUNS];
static bool processor;

static void tell(const char *what, int n)
{
    double median = bench_median(took, n);
    printf("%-44s %9.1f us, fastest %9.1f\n", what, 1e6 * median,
           1e6 * took[0]);
}

/* ---- The program ---- */

static bool start_once(char *const *command)
{
    int status = 1;
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execv(command[0], command);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Wall time, or processor time of all ended child processes. */
static double clock_of_programs(void)
{
    struct rusage u;
    if (!processor || getrusage(RUSAGE_CHILDREN, &u))
        return bench_now(false);
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

static bool time_program(char *cfx, char *model, char *input, int runs)
{
    char shapes[] = "shapes", option[] = "-i";
    char *const command[] = {cfx, shapes, model, option, input, NULL};
    for (int i = 0; i < runs; i++) {
        double start = clock_of_programs();
        if (!start_once(command))
            return false;
        took[i] = clock_of_programs() - start;
    }
    tell("cfx shapes, start to exit", runs);
    return true;
}

/* ---- Walks ---- */

typedef struct walk {
    cfx_module *gm;
    cfx_context *ctx;
    cfx_error err;
    bool symbols, annotate;
    int64_t batch;
} walk;

static cfx_status walk_once(walk *w)
{
    cfx_shape_env *env = NULL;
    cfx_shape_prop p = {.env = NULL};
    cfx_tensor *x = NULL;
    cfx_value y = CFX_NOTHING;
    cfx_dim shape[] = {cfx_dim_int(++w->batch), cfx_dim_int(3),
                       cfx_dim_int(224), cfx_dim_int(224)};
    cfx_status st = cfx_shape_env_new(&env, w->ctx, &w->err);
    if (!st && w->symbols) {
        static const char *const names[] = {"N", NULL, "H", "W"};
        for (int i = 0; i < 4; i++)
            if (names[i])
                shape[i] = cfx_dim_symbol(env, names[i], 1);
    }
    if (!st)
        st = cfx_tensor_meta(&x, w->ctx, CFX_F32, 4, shape, NULL, &w->err);
    if (!st) {
        const cfx_shape_prop_options o = {
            .size = sizeof(o), .env = env, .no_meta = !w->annotate};
        st = cfx_shape_prop_init(&p, NULL, w->gm, &o, &w->err);
    }
    if (!st)
        st = cfx_interp_run(&p.base, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                            &y, &w->err);
    cfx_value_unref(y);
    cfx_tensor_unref(x);
    cfx_interp_release(&p.base);
    cfx_shape_env_free(env);
    return st;
}

static bool time_walk(walk *w, const char *what, int runs)
{
    for (int i = -3; i < runs; i++) {
        double start = bench_now(processor);
        if (walk_once(w))
            return false;
        if (i >= 0)
            took[i] = bench_now(processor) - start;
    }
    tell(what, runs);
    return true;
}

static bool time_walks(const char *model, int runs)
{
    walk w = {.gm = NULL};
    const cfx_load_options load = {.size = sizeof(load), .no_weights = true};
    bool ok = !cfx_context_new(&w.ctx, NULL, &w.err) &&
              !cfx_model_load(&w.gm, w.ctx, model, &load, &w.err);
    ok = ok && time_walk(&w, "ShapeProp, numbers", runs);
    w.annotate = true;
    ok = ok && time_walk(&w, "ShapeProp, numbers, into the nodes' meta", runs);
    w.symbols = true;
    ok = ok && time_walk(&w, "ShapeProp, symbols, into the nodes' meta", runs);
    w.annotate = false;
    ok = ok && time_walk(&w, "ShapeProp, symbols", runs);
    if (!ok)
        fprintf(stderr, "bench-shapes: %s\n", w.err.text);
    cfx_module_unref(w.gm);
    cfx_context_free(w.ctx);
    return ok;
}

int main(int argc, char **argv)
{
    int runs = 200, option;
    while ((option = getopt(argc, argv, "cn:")) != -1)
        switch (option) {
        case 'c': processor = true; break;
        case 'n': runs = atoi(optarg); break;
        default: argc = 0; break;
        }
    if (argc - optind != 4 || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: bench-shapes [-c] [-n RUNS] CFX MODEL.fx "
                        "INPUT MODEL2.fx\n");
        return 2;
    }
    argv += optind;
    return !time_program(argv[0], argv[1], argv[2], runs) ||
           !time_walks(argv[3], runs);
}
