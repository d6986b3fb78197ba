/*
 * same_test -- one model, one result: every node has the same bits with one,
 * two and three threads, and the results at each level of instructions agree.
 *
 *     same_test MODELS DIGESTS NAME...
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/interp.h>

#include "base/util.h"
#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

/* Relative to the largest magnitude of a result. */
#define TOLERANCE 1e-4

/* ---- A run that takes the digest of every value ---- */

struct digest {
    cfx_interp base;
    uint64_t *of; /* by id of the node */
    bool compare; /* with those of an earlier run */
    char differs[128];
};

static uint64_t of_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    for (; n; n--, p++)
        h = (h ^ *p) * UINT64_C(0x100000001B3);
    return h;
}

static cfx_status add_leaf(void *user, cfx_value v)
{
    uint64_t *h = user;
    cfx_tensor *t;
    if (v.kind != CFX_TENSOR) {
        *h = of_bytes(*h, &v.u.i, v.kind == CFX_INT ? sizeof(v.u.i) : 0);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor_contiguous(&t, v.u.tensor, NULL);
    if (st)
        return st;
    *h = of_bytes(*h + t->dtype, t->data,
                  (size_t)cfx_tensor_numel(t) *
                      cfx_dtype_size((cfx_dtype)t->dtype));
    cfx_tensor_unref(t);
    return CFX_OK;
}

static cfx_status digest_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out);

static const cfx_interp_class digest_class = {
    .size = sizeof(cfx_interp_class),
    .name = "digest",
    .super = &cfx_interp_base,
    .run_node = digest_run_node,
};

static cfx_status digest_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out)
{
    struct digest *d = (struct digest *)it;
    uint64_t h = 1;
    cfx_status st = CFX_SUPER(&digest_class, run_node)(it, n, out);
    if (!st)
        st = cfx_value_visit(*out, add_leaf, &h);
    if (!st && d->compare && d->of[n->id] != h && !*d->differs)
        snprintf(d->differs, sizeof(d->differs), "%s", n->name);
    d->of[n->id] = h;
    return st;
}

/* ---- Runs ---- */

struct place {
    const char *models, *digests, *name;
};

/* Run a model in a context of that kind; *result outlives it as numbers. */
static cfx_status run(const struct place *at, int threads, cfx_cpu cpu,
                      uint64_t **of, char *differs, size_t size,
                      double **numbers, size_t *count, cfx_error *err)
{
    cfx_context *ctx = NULL;
    zoo_model m = {0};
    cfx_value y = CFX_NOTHING;
    struct digest d = {.compare = *of != NULL};
    cfx_options o = {.size = sizeof(o), .threads = threads, .cpu = cpu};
    cfx_status st = cfx_context_new(&ctx, &o, err);
    if (!st)
        st = zoo_open(&m, ctx, at->models, at->digests, at->name, err);
    if (!st)
        st = zoo_fill(&m, err);
    if (!st)
        st = cfx_interp_init(&d.base, &digest_class, m.gm, err);
    if (!st && !*of)
        *of = calloc(cfx_graph_ids(cfx_graph_module_graph(m.gm)),
                     sizeof(**of));
    d.of = *of;
    if (!st)
        st = cfx_interp_run(&d.base, m.in, m.nin, &y, err);
    snprintf(differs, size, "%s", d.differs);
    while (!st && cfx_value_is_seq(y)) {
        cfx_value first = cfx_value_ref(y.u.seq->item[0]);
        cfx_value_unref(y);
        y = first;
    }
    if (!st && y.kind == CFX_TENSOR) {
        *count = (size_t)cfx_tensor_numel(y.u.tensor);
        *numbers = malloc(*count * sizeof(**numbers));
        for (size_t i = 0; i < *count; i++)
            (*numbers)[i] = cfx_element_double(
                (cfx_dtype)y.u.tensor->dtype,
                (char *)y.u.tensor->data +
                    i * cfx_dtype_size((cfx_dtype)y.u.tensor->dtype));
    }
    cfx_value_unref(y);
    cfx_interp_release(&d.base);
    zoo_close(&m);
    cfx_context_free(ctx);
    return st;
}

/* ---- Claims ---- */

static int passed, failed;

static void claim(bool ok, const char *name, const char *what, const char *why)
{
    *(ok ? &passed : &failed) += 1;
    printf("%s %s: %s%s%s\n", ok ? "ok" : "not ok", name, what,
           *why ? ": " : "", why);
    fflush(stdout);
}

static void check_threads(const struct place *at, double **numbers,
                          size_t *count)
{
    uint64_t *of = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        cfx_error err = {0};
        char differs[128], what[64];
        double *again = NULL;
        size_t n = 0;
        cfx_status st = run(at, threads, CFX_CPU_BEST, &of, differs,
                            sizeof(differs), &again, &n, &err);
        snprintf(what, sizeof(what), "the same bits with %d thread%s", threads,
                 threads > 1 ? "s" : "");
        claim(!st && !*differs && n, at->name, what, st ? err.text : differs);
        free(threads == 1 ? NULL : again);
        if (threads == 1) {
            *numbers = again;
            *count = n;
        }
    }
    free(of);
}

static void check_level(const struct place *at, cfx_cpu cpu,
                        const double *want, size_t count)
{
    cfx_error err = {0};
    char differs[128], what[64], why[128] = "";
    uint64_t *of = NULL;
    double *have = NULL, largest = 0, worst = 0;
    size_t n = 0;
    cfx_status st = run(at, 2, cpu, &of, differs, sizeof(differs), &have, &n,
                        &err);
    for (size_t i = 0; i < n && n == count; i++) {
        double e = fabs(have[i] - want[i]);
        largest = fabs(want[i]) > largest ? fabs(want[i]) : largest;
        worst = e > worst || e != e ? e : worst;
    }
    snprintf(what, sizeof(what), "the same result at level %s",
             cfx_cpu_name(cpu));
    snprintf(why, sizeof(why), "off by %.1e of %.3g", worst, largest);
    claim(!st && n && n == count && worst <= TOLERANCE * largest, at->name,
          what, st ? err.text : why);
    free(have);
    free(of);
}

static bool has_level(cfx_cpu cpu)
{
    cfx_context *ctx;
    cfx_options o = {.size = sizeof(o), .threads = 1, .cpu = cpu};
    cfx_status st = cfx_context_new(&ctx, &o, NULL);
    cfx_context_free(ctx);
    return !st;
}

TEST_PROGRAM(same)
{
    for (int i = 3; i < argc; i++) {
        struct place at = {argv[1], argv[2], argv[i]};
        double *numbers = NULL;
        size_t count = 0;
        check_threads(&at, &numbers, &count);
        for (int cpu = CFX_CPU_PLAIN; cpu <= CFX_CPU_AVX512; cpu++)
            if (has_level((cfx_cpu)cpu))
                check_level(&at, (cfx_cpu)cpu, numbers, count);
        free(numbers);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
