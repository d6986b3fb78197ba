/*
 * zoo_test -- run whole models and compare every node with a digest of what
 * PyTorch got (tests/oracle/README.md, "golden/zoo").
 *
 *     zoo_test MODELS DIGESTS NAME...
 *
 * MODELS holds NAME.fx, DIGESTS NAME.json.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cfx/interp.h>

#include "base/util.h"
#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

struct check {
    cfx_interp base;
    const json_t *nodes;
    int compared, wrong;
    double worst;
    char first[512];
};

static struct check *downcast(cfx_interp *it)
{
    return (struct check *)it;
}

/* ---- One tensor against its entry ---- */

static uint64_t sample_key(const char *node)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (const char *p = "sample:"; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    for (const char *p = node; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return cfx_mix64(UINT64_C(0x9E3779B97F4A7C15)) ^ h;
}

static void *at_flat(const cfx_tensor *t, int64_t flat)
{
    int64_t index[CFX_MAX_RANK];
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = flat % cfx_tensor_size(t, i);
        flat /= cfx_tensor_size(t, i);
    }
    return cfx_tensor_at(t, index);
}

static void describe(const cfx_tensor *t, char *buf, size_t size)
{
    size_t n = (size_t)snprintf(buf, size, "%s[", cfx_dtypes[t->dtype].abbr);
    int64_t step = 1;
    bool plain = true;
    for (int i = t->rank - 1; i >= 0; i--) {
        plain &= cfx_tensor_stride(t, i) == step;
        step *= cfx_tensor_size(t, i) ? cfx_tensor_size(t, i) : 1;
    }
    for (int i = 0; i < t->rank && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "," : "",
                              (long long)cfx_tensor_size(t, i));
    n += (size_t)snprintf(buf + n, size - n, "]");
    for (int i = 0; i < t->rank && !plain && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "," : "@(",
                              (long long)cfx_tensor_stride(t, i));
    if (!plain && n < size)
        snprintf(buf + n, size - n, ")");
}

static void wrong(struct check *c, const char *node, const char *what,
                  double have, double want)
{
    if (!c->wrong++)
        snprintf(c->first, sizeof(c->first), "%s: %s is %.9g, not %.9g", node,
                 what, have, want);
}

static void compare_number(struct check *c, const char *node, const char *what,
                           double have, double want, double scale)
{
    double e = fabs(have - want) / (scale > 1e-30 ? scale : 1);
    if (e > c->worst)
        c->worst = e;
    if (!(e <= 1e-4))
        wrong(c, node, what, have, want);
}

static void compare_tensor(struct check *c, const char *node,
                           const cfx_tensor *t, const json_t *entry)
{
    char have[256];
    const char *want = json_string_value(json_array_get(entry, 0));
    describe(t, have, sizeof(have));
    c->compared++;
    if (strcmp(have, want)) {
        if (!c->wrong++)
            snprintf(c->first, sizeof(c->first), "%s is %s, not %s", node,
                     have, want);
        return;
    }
    int64_t n = cfx_tensor_numel(t);
    double sum = 0, magnitude = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = cfx_element_double((cfx_dtype)t->dtype, at_flat(t, i));
        sum += v;
        magnitude += fabs(v);
        largest = fabs(v) > largest ? fabs(v) : largest;
    }
    if (!n || json_array_size(entry) < 5)
        return;
    double scale = json_number_value(json_array_get(entry, 3));
    double mean = json_number_value(json_array_get(entry, 1));
    double mean_abs = json_number_value(json_array_get(entry, 2));
    compare_number(c, node, "the mean", sum / (double)n, mean, scale);
    compare_number(c, node, "the mean magnitude", magnitude / (double)n,
                   mean_abs, scale);
    compare_number(c, node, "the largest", largest, scale, scale);
    const json_t *samples = json_array_get(entry, 4);
    uint64_t key = sample_key(node);
    for (size_t k = 0; k < json_array_size(samples); k++) {
        int64_t i = (int64_t)(cfx_random_bits(key, k) % (uint64_t)n);
        double v = cfx_element_double((cfx_dtype)t->dtype, at_flat(t, i));
        compare_number(c, node, "a sample", v,
                       json_number_value(json_array_get(samples, k)), scale);
    }
}

static void compare_value(struct check *c, const char *node, cfx_value v,
                          const json_t *entry)
{
    if (v.kind == CFX_TENSOR && json_is_string(json_array_get(entry, 0))) {
        compare_tensor(c, node, v.u.tensor, entry);
    } else if (cfx_value_is_seq(v) && json_is_array(entry)) {
        for (uint32_t i = 0; i < v.u.seq->len; i++) {
            char name[300];
            const json_t *item = json_array_get(entry, i);
            snprintf(name, sizeof(name), "%s.%u", node, i);
            if (item && !json_is_null(item))
                compare_value(c, name, v.u.seq->item[i], item);
        }
    } else if (!c->wrong++) {
        snprintf(c->first, sizeof(c->first), "%s is a %s", node,
                 cfx_kind_name((cfx_kind)v.kind));
    }
}

static cfx_status check_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out);

static const cfx_interp_class check_class = {
    .size = sizeof(cfx_interp_class),
    .name = "check",
    .super = &cfx_interp_base,
    .run_node = check_run_node,
};

static cfx_status check_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out)
{
    struct check *c = downcast(it);
    cfx_status st = CFX_SUPER(&check_class, run_node)(it, n, out);
    const json_t *entry = json_object_get(c->nodes, n->name);
    if (!st && entry)
        compare_value(c, n->name, *out, entry);
    return st;
}

/* ---- Models ---- */

static bool check_model(const char *models, const char *digests,
                        const char *name)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    zoo_model m = {0};
    cfx_value out = CFX_NOTHING;
    struct check c = {.compared = 0};
    cfx_status st = cfx_context_new(&ctx, NULL, &err);
    if (!st)
        st = zoo_open(&m, ctx, models, digests, name, &err);
    c.nodes = json_object_get(m.digest, "nodes");
    if (!st)
        st = zoo_fill(&m, &err);
    if (!st)
        st = cfx_interp_init(&c.base, &check_class, m.gm, &err);
    if (!st)
        st = cfx_interp_run(&c.base, m.in, m.nin, &out, &err);
    bool complete = c.compared >= (int)json_object_size(c.nodes);
    if (!st && !c.wrong && !complete)
        st = cfx_fail(&err, CFX_EGRAPH, "only %d of %zu nodes compared",
                      c.compared, json_object_size(c.nodes));
    bool ok = !st && !c.wrong;
    printf("%s %s: %d nodes, worst %.1e%s%s\n", ok ? "ok" : "not ok", name,
           c.compared, c.worst, ok ? "" : ": ",
           ok   ? ""
           : st ? err.text
                : c.first);
    fflush(stdout);
    cfx_value_unref(out);
    cfx_interp_release(&c.base);
    zoo_close(&m);
    cfx_context_free(ctx);
    return ok;
}

TEST_PROGRAM(zoo)
{
    int passed = 0, failed = 0;
    for (int i = 3; i < argc; i++)
        *(check_model(argv[1], argv[2], argv[i]) ? &passed : &failed) += 1;
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
