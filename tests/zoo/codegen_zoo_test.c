/*
 * codegen_zoo_test -- whole models as C: the text compiles without a warning,
 * builds the same modules, traces to the same graph and computes the same
 * bits.
 *
 *     codegen_zoo_test [-n] MODELS DIGESTS NAME...
 *
 * -n: do not run the models.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/interp.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/compile.h"
#include "tests/zoo/zoo.h"

static int passed, failed;

static void claim(bool ok, const char *name, const char *what, const char *why)
{
    *(ok ? &passed : &failed) += 1;
    if (!ok)
        printf("not ok %s: %s: %s\n", name, what, why);
    fflush(stdout);
}

/* ---- Texts ---- */

typedef cfx_status print_fn(cfx_sink to, const cfx_module *m, cfx_error *err);

static cfx_status print_graph(cfx_sink to, const cfx_module *m, cfx_error *err)
{
    return cfx_print_graph(to, cfx_graph_module_graph(m), false, err);
}

static bool same_text(print_fn *print, const cfx_module *a,
                      const cfx_module *b, char *why, size_t size)
{
    cfx_context *ctx = cfx_module_context(a);
    cfx_error err = {0};
    cfx_buf x, y;
    cfx_buf_init(&x, ctx);
    cfx_buf_init(&y, ctx);
    bool ok = !print(cfx_sink_buf(&x), a, &err) &&
              !print(cfx_sink_buf(&y), b, &err);
    size_t i = 0;
    while (ok && i < x.len && i < y.len && x.s[i] == y.s[i])
        i++;
    size_t from = i > 60 ? i - 60 : 0;
    snprintf(why, size, "%.200s\n  %.150s\n  %.150s", err.text,
             cfx_buf_str(&x) + from, cfx_buf_str(&y) + from);
    ok = ok && i == x.len && i == y.len;
    cfx_buf_release(&x);
    cfx_buf_release(&y);
    return ok;
}

static void check_trace(const char *name, const cfx_compiled *c,
                        const cfx_module *gm, cfx_module *built)
{
    cfx_error err = {0};
    cfx_module *traced = NULL;
    char why[600];
    if (cfx_compiled_trace(&traced, c, built, &err)) {
        claim(false, name, "its trace is the same graph", err.text);
        return;
    }
    bool same = same_text(print_graph, gm, traced, why, sizeof(why));
    claim(same, name, "its trace is the same graph", why);
    cfx_module_unref(traced);
}

/* ---- Results ---- */

static bool same_tensor(const cfx_tensor *x, const cfx_tensor *y)
{
    cfx_tensor *a = NULL, *b = NULL;
    bool same = x->dtype == y->dtype &&
                !cfx_tensor_contiguous(&a, (cfx_tensor *)x, NULL) &&
                !cfx_tensor_contiguous(&b, (cfx_tensor *)y, NULL) &&
                cfx_tensor_numel(a) == cfx_tensor_numel(b) &&
                !memcmp(a->data, b->data,
                        (size_t)cfx_tensor_numel(a) *
                            cfx_dtype_size((cfx_dtype)a->dtype));
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
    return same;
}

static bool same_value(cfx_value x, cfx_value y)
{
    if (x.kind != y.kind)
        return false;
    if (x.kind == CFX_TENSOR)
        return same_tensor(x.u.tensor, y.u.tensor);
    if (!cfx_value_is_seq(x) && x.kind != CFX_DICT)
        return cfx_value_equal(x, y);
    if (x.u.seq->len != y.u.seq->len)
        return false;
    for (uint32_t i = 0; i < x.u.seq->len; i++)
        if (!same_value(x.u.seq->item[i], y.u.seq->item[i]))
            return false;
    return true;
}

static void check_run(zoo_model *m, const char *name, const cfx_compiled *c,
                      cfx_module *built)
{
    cfx_error err = {0};
    cfx_interp it = {0};
    cfx_value want = CFX_NOTHING, have = CFX_NOTHING;
    uint64_t seed = (uint64_t)json_integer_value(
        json_object_get(m->digest, "seed"));
    cfx_status st = zoo_fill(m, &err);
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, m->gm, &err);
    if (!st)
        st = cfx_interp_run(&it, m->in, m->nin, &want, &err);
    if (!st)
        st = cfx_module_randomize(built, seed, &err);
    if (!st)
        st = cfx_compiled_run(c, built, m->in, m->nin, &have, &err);
    claim(!st && same_value(want, have), name, "it computes the same bits",
          st ? err.text : "they differ");
    cfx_value_unref(want);
    cfx_value_unref(have);
    cfx_interp_release(&it);
}

static void check_model(const char *models, const char *digests,
                        const char *name, bool run)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    zoo_model m = {0};
    compiled_file f = {0};
    cfx_module *built = NULL;
    char why[600];
    cfx_status st = cfx_context_new(&ctx, NULL, &err);
    if (!st)
        st = zoo_open(&m, ctx, models, digests, name, &err);
    claim(!st, name, "it reads", err.text);
    if (!st && compile_module(&f, m.gm, &err)) {
        st = f.entry->build(&built, ctx, &err);
        claim(!st, name, "its modules are built", err.text);
        if (built) {
            bool same = same_text(cfx_print_modules, m.gm, built, why,
                                  sizeof(why));
            claim(same, name, "its modules are the same", why);
            same = same_text(print_graph, m.gm, built, why, sizeof(why));
            claim(same, name, "its graph is the same", why);
            check_trace(name, f.entry, m.gm, built);
        }
        if (built && run)
            check_run(&m, name, f.entry, built);
    }
    claim(f.entry, name, "it compiles without a warning", f.why);
    cfx_module_unref(built);
    zoo_close(&m);
    cfx_context_free(ctx);
    compile_release(&f);
}

int main(int argc, char **argv)
{
    bool run = argc < 2 || strcmp(argv[1], "-n");
    int at = run ? 1 : 2;
    if (argc < at + 2)
        return 2;
    for (int i = at + 2; i < argc; i++)
        check_model(argv[at], argv[at + 1], argv[i], run);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
