/*
 * bench-roofline -- compare floors with measured times, and time a report.
 *
 *     bench-roofline [-t THREADS] [-n RUNS] MODELS DIGESTS NAME...
 *
 * Prints for each model of the zoo: milliseconds from its text to its table
 * (the minimum of several), the floor, the measured time, floor by time, and
 * the node of the direct algorithm that is closest to its floor. Fails if a
 * node is more than 5 % faster than its floor. Run it on an idle machine: other
 * work lengthens times and lowers the measured rates.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cfx/roofline.h>

#include "tests/zoo/zoo.h"

/* Processor time: other work does not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cfx_status drop(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
    return CFX_OK;
}

/* Time from the file to the table; negative if the file alone is not enough
 * (PyTorch's text of bare parameters). */
static double report_once(cfx_context *ctx, const cfx_machine *machine,
                          const zoo_model *zoo)
{
    const cfx_load_options load = {.size = sizeof(load), .no_weights = true};
    const cfx_roofline_options o = {.size = sizeof(o), .machine = machine};
    const cfx_roofline_view view = {.size = sizeof(view), .parts = true};
    cfx_module *gm = NULL;
    cfx_roofline *r = NULL;
    double start = now();
    cfx_status st = cfx_model_load(&gm, ctx, zoo->path, &load, NULL);
    if (!st)
        st = cfx_roofline_new(&r, gm, zoo->in, zoo->nin, &o, NULL);
    if (!st)
        st = cfx_roofline_print((cfx_sink){drop, NULL}, r, &view, NULL);
    double seconds = now() - start;
    cfx_roofline_free(r);
    cfx_module_unref(gm);
    return st ? -1 : seconds;
}

static double report_seconds(cfx_context *ctx, const cfx_machine *machine,
                             const zoo_model *zoo)
{
    double least = -1;
    for (int i = 0; i < 10; i++) {
        double s = report_once(ctx, machine, zoo);
        least = i && least < s ? least : s;
    }
    return least;
}

static const cfx_roofline_node *nearest(const cfx_roofline *r)
{
    const cfx_roofline_node *best = &r->node[0];
    for (size_t i = 1; i < r->nnodes; i++)
        if (!r->node[i].cost->algorithm &&
            cfx_roofline_efficiency(&r->node[i]) >
                cfx_roofline_efficiency(best))
            best = &r->node[i];
    return best;
}

static bool bench(cfx_context *ctx, const cfx_machine *machine, char **place,
                  const char *name, int runs)
{
    const cfx_roofline_options o = {.size = sizeof(o), .machine = machine};
    cfx_error err = {0};
    zoo_model zoo = {.gm = NULL};
    cfx_roofline *r = NULL;
    bool ok = false;
    cfx_status st = zoo_open(&zoo, ctx, place[0], place[1], name, &err);
    if (!st)
        st = zoo_fill(&zoo, &err);
    double report = st ? -1 : report_seconds(ctx, machine, &zoo);
    if (!st)
        st = cfx_roofline_new(&r, zoo.gm, zoo.in, zoo.nin, &o, &err);
    if (!st)
        st = cfx_roofline_measure(r, zoo.in, zoo.nin, runs, NULL, NULL, &err);
    if (st) {
        printf("%s: %s\n", name, err.text);
    } else {
        const cfx_roofline_node *n = nearest(r);
        char ms[32] = "-";
        if (report >= 0)
            snprintf(ms, sizeof(ms), "%.1f", 1e3 * report);
        double e = cfx_roofline_efficiency(n);
        printf("%-20s %6zu %9s %10.3f %10.3f %6.2f  %5.2f %s\n", name,
               r->nnodes, ms, 1e3 * r->total.floor, 1e3 * r->run_seconds,
               r->total.floor / r->run_seconds, e, n->cost->node->name);
        ok = e <= 1.05;
    }
    fflush(stdout);
    cfx_roofline_free(r);
    zoo_close(&zoo);
    return ok;
}

int main(int argc, char **argv)
{
    cfx_options o = {.size = sizeof(o)};
    cfx_context *ctx = NULL;
    cfx_machine *machine = NULL;
    cfx_error err = {0};
    int runs = 0, failed = 0, option;

    while ((option = getopt(argc, argv, "t:n:")) > 0) {
        if (option == 't')
            o.threads = atoi(optarg);
        else if (option == 'n')
            runs = atoi(optarg);
        else
            return 2;
    }
    if (argc - optind < 3)
        return 2;
    if (cfx_context_new(&ctx, &o, &err) ||
        cfx_machine_cached(&machine, ctx, 0, 0, &err)) {
        fprintf(stderr, "bench-roofline: %s\n", err.text);
        return 1;
    }
    printf("%-20s %6s %9s %10s %10s %6s  %s\n", "model", "nodes", "report ms",
           "floor ms", "run ms", "part", "nearest to its floor");
    for (int i = optind + 2; i < argc; i++)
        failed += !bench(ctx, machine, argv + optind, argv[i], runs);
    cfx_machine_free(machine);
    cfx_context_free(ctx);
    return failed != 0;
}
