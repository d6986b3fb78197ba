/*
 * zoo_test -- run whole models and compare every node with a digest of what
 * PyTorch got (tests/oracle/README.md, "golden/zoo").
 *
 *     zoo_test MODELS DIGESTS NAME...
 *
 * MODELS holds NAME.fx, DIGESTS NAME.json. Each model is also linted, and its
 * graph printed and compared with its text.
 */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "base/util.h"

struct check {
    cfx_interp base;
    const json_t *nodes;
    int compared, wrong;
    double worst;
    char first[512];
};

static struct check *downcast(cfx_interp *it) { return (struct check *)it; }

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

static void compare_number(struct check *c, const char *node,
                           const char *what, double have, double want,
                           double scale)
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
    if (v.kind == CFX_TENSOR &&
        json_is_string(json_array_get(entry, 0))) {
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

static char *read_all(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    *len = text ? fread(text, 1, (size_t)n, f) : 0;
    fclose(f);
    if (text)
        text[*len] = '\0';
    return text;
}

/* The text with what it leaves out: hidden arguments behind the name of each
 * module that takes them, and the shapes of bare parameters. */
static char *complete(const char *text, const json_t *digest, size_t *len)
{
    const json_t *hidden = json_object_get(digest, "hidden"), *args;
    const json_t *state = json_object_get(digest, "state"), *v;
    const char *key;
    char *out = NULL;
    FILE *f = open_memstream(&out, len);
    if (!f)
        return NULL;
    args = json_object_iter_value(json_object_iter((json_t *)hidden));
    while (*text) {
        static const char mha[] = "MultiheadAttention(";
        size_t line = strcspn(text, "\n") + 1;
        if (!strncmp(text, "graph():", 8) && json_object_size(state)) {
            fputs("state:\n", f);
            json_object_foreach((json_t *)state, key, v)
                fprintf(f, "    %s: %s\n", key, json_string_value(v));
            fputc('\n', f);
        }
        const char *at = strstr(text, mha);
        size_t n = line;
        if (args && at && at < text + line) {
            n = (size_t)(at - text) + sizeof(mha) - 1;
            fwrite(text, 1, n, f);
            fprintf(f, "num_heads=%lld, batch_first=True",
                    (long long)json_integer_value(
                        json_object_get(args, "num_heads")));
            text += n;
            n = line - n;
        }
        fwrite(text, 1, n, f);
        text += n;
    }
    fclose(f);
    return out;
}

static cfx_status load(cfx_module **out, cfx_context *ctx, const char *path,
                       const json_t *digest, cfx_error *err)
{
    size_t len;
    char *text = read_all(path, &len);
    if (!text)
        return cfx_fail(err, CFX_EIO, "cannot read it");
    if (json_object_get(digest, "hidden")) {
        char *full = complete(text, digest, &len);
        free(text);
        text = full;
    }
    cfx_status st = cfx_parse_model(out, ctx, text, len, path, err);
    free(text);
    if (st)
        return st;
    uint64_t seed = (uint64_t)json_integer_value(
        json_object_get(digest, "seed"));
    return cfx_module_randomize(*out, seed, err);
}

static cfx_status into_buf(void *user, const char *text, size_t len)
{
    cfx_buf_add(user, text, len);
    return CFX_OK;
}

static cfx_status check_text(cfx_context *ctx, const cfx_module *gm,
                             const char *path, cfx_error *err)
{
    cfx_buf b;
    size_t len;
    char *text = read_all(path, &len);
    cfx_buf_init(&b, ctx);
    cfx_status st = cfx_print_graph((cfx_sink){into_buf, &b},
                                    cfx_graph_module_graph(gm), false, err);
    const char *graph = text ? strstr(text, "graph():") : NULL;
    if (!st && (!graph || strncmp(graph, cfx_buf_str(&b), b.len) ||
                strcmp(graph + b.len, "\n")))
        st = cfx_fail(err, CFX_EGRAPH, "the graph does not print back");
    cfx_buf_release(&b);
    free(text);
    return st;
}

static cfx_status make_inputs(cfx_context *ctx, const json_t *digest,
                              cfx_value *in, size_t *n, cfx_error *err)
{
    const json_t *inputs = json_object_get(digest, "inputs"), *spec;
    const char *name;
    json_object_foreach((json_t *)inputs, name, spec) {
        int64_t shape[CFX_MAX_RANK];
        int rank = 0;
        cfx_dtype type;
        char word[16];
        const char *p = json_string_value(spec);
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, "["), p);
        cfx_dtype_parse(&type, word);
        for (p += strcspn(p, "["); *p && *p != ']' && p[1] != ']';) {
            char *end;
            shape[rank++] = strtoll(p + 1, &end, 10);
            p = end;
        }
        cfx_tensor *t;
        cfx_status st = cfx_tensor_new(&t, ctx, type, rank, shape, err);
        if (st)
            return st;
        in[(*n)++] = cfx_value_of_tensor(t);
        st = cfx_tensor_randomize(t, (uint64_t)json_integer_value(
                                         json_object_get(digest, "seed")),
                                  name, err);
        if (st)
            return st;
    }
    return CFX_OK;
}

static bool check_model(const char *models, const char *digests,
                        const char *name)
{
    char path[512], json_path[512];
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    cfx_value in[8], out = CFX_NOTHING;
    size_t nin = 0;
    struct check c = {.compared = 0};
    snprintf(path, sizeof(path), "%s/%s.fx", models, name);
    snprintf(json_path, sizeof(json_path), "%s/%s.json", digests, name);
    json_t *digest = json_load_file(json_path, 0, NULL);
    cfx_status st = digest ? cfx_context_new(&ctx, NULL, &err)
                           : cfx_fail(&err, CFX_EIO, "no digest");
    c.nodes = json_object_get(digest, "nodes");
    if (!st)
        st = load(&gm, ctx, path, digest, &err);
    if (!st)
        st = cfx_graph_lint(cfx_graph_module_graph(gm), &err);
    if (!st)
        st = check_text(ctx, gm, path, &err);
    if (!st)
        st = make_inputs(ctx, digest, in, &nin, &err);
    if (!st)
        st = cfx_interp_init(&c.base, &check_class, gm, &err);
    if (!st)
        st = cfx_interp_run(&c.base, in, nin, &out, &err);
    bool complete_ = c.compared >= (int)json_object_size(c.nodes);
    if (!st && !c.wrong && !complete_)
        st = cfx_fail(&err, CFX_EGRAPH, "only %d of %zu nodes compared",
                      c.compared, json_object_size(c.nodes));
    bool ok = !st && !c.wrong;
    printf("%s %s: %d nodes, worst %.1e%s%s\n", ok ? "ok" : "not ok", name,
           c.compared, c.worst, ok ? "" : ": ", ok ? "" : st ? err.text
                                                             : c.first);
    fflush(stdout);
    cfx_value_unref(out);
    cfx_interp_release(&c.base);
    for (size_t i = 0; i < nin; i++)
        cfx_value_unref(in[i]);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    json_decref(digest);
    return ok;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (int i = 3; i < argc; i++)
        *(check_model(argv[1], argv[2], argv[i]) ? &passed : &failed) += 1;
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
