/*
 * load -- time from main to the first kernel, for a model with all weights in a
 * file. Each run is a new process.
 *
 *     bench-load MODEL N,C,H,W [RUNS]
 *     bench-load models/resnet18.fx 1,3,224,224
 *
 * Weights that MODEL's file does not hold (as a .pt2 does) are written to one
 * beside.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/interp.h>

enum { MOST_RUNS = 101, MOST_TENSORS = 4096, NAME = 160 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- The weights ---- */

/* Fill a model from a seed and write all its state. */
static cfx_status write_weights(const char *model, const char *to,
                                cfx_error *err)
{
    static cfx_named_tensor item[MOST_TENSORS];
    static char name[MOST_TENSORS][NAME];
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    size_t n = 0;
    cfx_load_options o = {.size = sizeof(o), .random_weights = true};
    cfx_status st = cfx_context_new(&ctx, NULL, err);
    if (!st)
        st = cfx_model_load(&gm, ctx, model, &o, err);
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *state = cfx_module_state_at(m, i);
            char path[128];
            cfx_module_path(m, path, sizeof(path));
            if (!state->tensor || n == MOST_TENSORS)
                continue;
            snprintf(name[n], NAME, "%s%s%s", path, *path ? "." : "",
                     state->name);
            item[n] = (cfx_named_tensor){name[n], state->tensor};
            n++;
        }
    if (!st)
        st = cfx_safetensors_write(to, ctx, item, n, err);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return st;
}

/* ---- One run, until the first kernel ---- */

struct first {
    cfx_interp base;
    double at;
};

static cfx_status first_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out);

static const cfx_interp_class first_class = {
    .size = sizeof(cfx_interp_class),
    .name = "first",
    .super = &cfx_interp_base,
    .run_node = first_run_node,
};

static cfx_status first_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out)
{
    struct first *f = (struct first *)it;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR)
        return CFX_SUPER(&first_class, run_node)(it, n, out);
    f->at = now();
    return CFX_EUSER;
}

static int read_shape(const char *text, int64_t *shape)
{
    int rank = 0;
    for (char *end; *text && rank < CFX_MAX_RANK; text = end + (*end == ',')) {
        shape[rank++] = strtoll(text, &end, 10);
        if (end == text)
            return 0;
    }
    return rank;
}

/* Print the milliseconds of each part. */
static int run_once(double start, const char *model, const char *weights,
                    const char *shape_text)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    cfx_tensor *x = NULL;
    cfx_value y;
    struct first f = {.at = 0};
    int64_t shape[CFX_MAX_RANK];
    int rank = read_shape(shape_text, shape);
    double made = 0, loaded = 0, prepared = 0;
    cfx_load_options o = {.size = sizeof(o),
                          .weights = *weights ? weights : NULL};
    cfx_status st = cfx_context_new(&ctx, NULL, &err);
    made = now();
    if (!st)
        st = cfx_model_load(&gm, ctx, model, &o, &err);
    loaded = now();
    if (!st)
        st = cfx_tensor_new(&x, ctx, CFX_F32, rank, shape, &err);
    if (!st)
        st = cfx_interp_init(&f.base, &first_class, gm, &err);
    prepared = now();
    if (!st)
        st = cfx_interp_run(&f.base, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                            &y, &err);
    if (st == CFX_EUSER)
        printf("%.3f %.3f %.3f %.3f\n", made - start, loaded - made,
               prepared - loaded, f.at - start);
    else
        fprintf(stderr, "load: %s\n", err.text);
    cfx_interp_release(&f.base);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return st != CFX_EUSER;
}

/* ---- Many processes ---- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (x[3] > y[3]) - (x[3] < y[3]);
}

static int run_many(const char *self, const char *model, const char *weights,
                    const char *shape, int runs)
{
    static double ms[MOST_RUNS][4];
    for (int i = 0; i < runs; i++) {
        char command[2048];
        snprintf(command, sizeof(command), "'%s' --once '%s' '%s' '%s'", self,
                 model, weights, shape);
        FILE *p = popen(command, "r");
        int n = p ? fscanf(p, "%lf %lf %lf %lf", &ms[i][0], &ms[i][1],
                           &ms[i][2], &ms[i][3])
                  : 0;
        if (p)
            pclose(p);
        if (n != 4)
            return 1;
    }
    qsort(ms, (size_t)runs, sizeof(ms[0]), by_value);
    const double *m = ms[runs / 2];
    printf("load, main to first kernel   %8.2f ms (context %.2f, model %.2f, "
           "interpreter %.2f), fastest %.2f\n",
           m[3], m[0], m[1], m[2], ms[0][3]);
    return 0;
}

int main(int argc, char **argv)
{
    double start = now();
    if (argc == 5 && !strcmp(argv[1], "--once"))
        return run_once(start, argv[2], argv[3], argv[4]);
    int runs = argc == 4 ? atoi(argv[3]) : 21;
    if ((argc != 3 && argc != 4) || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: bench-load MODEL N,C,H,W [RUNS]\n");
        return 2;
    }
    const cfx_model_format *format = cfx_model_format_of_name(argv[1]);
    if (format && format->read_weights)
        return run_many(argv[0], argv[1], "", argv[2], runs);
    char weights[] = "/tmp/bench-load-XXXXXX";
    cfx_error err = {0};
    int fd = mkstemp(weights);
    if (fd < 0 || close(fd) || write_weights(argv[1], weights, &err)) {
        fprintf(stderr, "load: %s\n", err.text);
        return 1;
    }
    int failed = run_many(argv[0], argv[1], weights, argv[2], runs);
    unlink(weights);
    return failed;
}
