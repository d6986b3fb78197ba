/*
 * propagation -- time to propagate the shapes of a whole model, without data: a
 * walk in a meta scope with integer extents, and one with symbols.
 *
 * Each run has another batch size (or new symbol names, so that expressions are
 * not cached), and creates and releases its interpreter. The peer does the same
 * with the same model.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/text.h>

#include "bench.h"

enum { TEXT_MAX_ = 1 << 20, RUNS_MAX = 10000 };

typedef struct bench {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_error err;
    bool symbolic;
    const char *only; /* rows whose name contains this */
} bench;

static cfx_dim symbol(cfx_shape_env *env, char letter, int run)
{
    char name[32];
    snprintf(name, sizeof(name), "%c%d", letter, run);
    return cfx_dim_symbol(env, name, 1);
}

/* One propagation, with creation and release of all objects. */
static cfx_status propagate(bench *b, int run)
{
    cfx_scope s;
    cfx_shape_env *env = NULL;
    cfx_tensor *x = NULL;
    cfx_value out = cfx_none();
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    cfx_dim size = cfx_dim_int(224);
    cfx_dim shape[] = {cfx_dim_int(1 + run), cfx_dim_int(3), size, size};
    cfx_status st = CFX_OK;
    if (b->symbolic) {
        st = cfx_shape_env_new(&env, b->ctx, &b->err);
        if (st)
            return st;
        shape[0] = symbol(env, 'N', run);
        shape[2] = symbol(env, 'H', run);
        shape[3] = symbol(env, 'W', run);
    }
    cfx_scope_init(&s, &cfx_meta_class, b->ctx, env);
    st = cfx_tensor_meta(&x, b->ctx, CFX_F32, 4, shape, NULL, &b->err);
    if (!st)
        st = cfx_interp_init_with(&it, &cfx_interp_base, b->gm, &o, &b->err);
    if (!st)
        st = cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                            &out, &b->err);
    cfx_value_unref(out);
    cfx_tensor_unref(x);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    cfx_shape_env_free(env);
    return st;
}

static bool time_runs(bench *b, const char *name, int runs)
{
    static double seconds[RUNS_MAX];
    if (b->only && !strstr(name, b->only))
        return true;
    for (int i = 0; i < runs; i++) {
        double start = bench_now(false);
        if (propagate(b, i)) {
            fprintf(stderr, "bench-propagation: %s\n", b->err.text);
            return false;
        }
        seconds[i] = bench_now(false) - start;
    }
    double median = bench_median(seconds, runs);
    printf("%-28s %10.1f us   least %10.1f us\n", name, 1e6 * median,
           1e6 * seconds[0]);
    return true;
}

static bool open_model(bench *b, const char *path)
{
    static char text[TEXT_MAX_];
    cfx_options options = {.size = sizeof(options), .threads = 1};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    if (f)
        fclose(f);
    if (!n || n == sizeof(text)) {
        fprintf(stderr, "bench-propagation: %s cannot be read\n", path);
        return false;
    }
    if (cfx_context_new(&b->ctx, &options, &b->err) ||
        cfx_parse_model(&b->gm, b->ctx, text, n, path, &b->err)) {
        fprintf(stderr, "bench-propagation: %s\n", b->err.text);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *zoo = "zoo", *name = "resnet50", *peer = NULL;
    int runs = 201, c;
    char path[BENCH_TEXT], command[2 * BENCH_TEXT];
    bench b = {0};
    while ((c = getopt(argc, argv, "z:m:n:p:k:")) != -1) {
        if (c == 'z')
            zoo = optarg;
        else if (c == 'm')
            name = optarg;
        else if (c == 'n')
            runs = atoi(optarg);
        else if (c == 'p')
            peer = optarg;
        else if (c == 'k')
            b.only = optarg;
        else
            return 2;
    }
    runs = runs < 1 ? 1 : runs > RUNS_MAX ? RUNS_MAX : runs;
    snprintf(path, sizeof(path), "%s/%s.fx", zoo, name);
    bool ok = open_model(&b, path);
    printf("%s\n", ok ? path : "");
    ok = ok && time_runs(&b, "x=f32[i,3,224,224]", runs);
    b.symbolic = true;
    ok = ok && time_runs(&b, "x=f32[N,3,H,W]", runs);
    cfx_module_unref(b.gm);
    cfx_context_free(b.ctx);
    fflush(stdout);
    if (ok && peer) {
        snprintf(command, sizeof(command), "%s %s", peer, path);
        ok = system(command) == 0;
    }
    return !ok;
}
