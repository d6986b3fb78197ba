/*
 * memory_zoo_test -- memory plans of whole models.
 *
 *     memory_zoo_test MODELS DIGESTS [MODEL...]
 *
 * The plans of all models of the folder are checked, at several sizes, and must
 * be as small as the largest live set. Those named also run: in the arena, with
 * the bits of a run elsewhere, within the bytes that the plan tells, and from
 * the second run on without an allocation but of the result.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/aliases.h"
#include "shapeprop/memory/memory_impl.h"
#include "tests/unit/shape/memory_check.h"
#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

static const char *models, *digests;
static int passed, failed;

static void claim(bool ok, const char *model, const char *fmt, ...)
    CFX_PRINTF(3, 4);

static void claim(bool ok, const char *model, const char *fmt, ...)
{
    va_list ap;
    passed += ok;
    failed += !ok;
    if (ok)
        return;
    printf("not ok: %s: ", model);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- A counting allocator ---- */

static long allocations, held, most;

static void *count_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    long now = __atomic_add_fetch(&held, (long)size, __ATOMIC_RELAXED);
    if (now > most)
        most = now;
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

static void count_free(void *user, void *p, size_t size)
{
    (void)user;
    __atomic_sub_fetch(&held, (long)size, __ATOMIC_RELAXED);
    free(p);
}

static cfx_context *context(bool counted, int threads)
{
    cfx_options o = {.size = sizeof(o), .threads = threads};
    cfx_context *ctx = NULL;
    if (counted)
        o.allocator = (cfx_allocator){count_alloc, count_free, NULL};
    if (cfx_context_new(&ctx, &o, NULL))
        exit(2);
    return ctx;
}

/* ---- Plans ---- */

/* Inputs of the digest, or an image a batch of that size. */
static size_t metas(cfx_value *in, cfx_context *ctx, const zoo_model *m,
                    int batch, int size)
{
    const char *name;
    const json_t *spec;
    size_t n = 0;
    json_object_foreach(json_object_get(m->digest, "inputs"), name, spec)
    {
        int d[4] = {1, 1, 1, 1};
        cfx_dim shape[4];
        cfx_tensor *t;
        if (sscanf(json_string_value(spec), "f32[%d,%d,%d,%d]", &d[0], &d[1],
                   &d[2], &d[3]) != 4)
            exit(2);
        if (batch) {
            d[0] = batch;
            d[2] = d[3] = size;
        }
        for (int i = 0; i < 4; i++)
            shape[i] = cfx_dim_int(d[i]);
        if (cfx_tensor_meta(&t, ctx, CFX_F32, 4, shape, NULL, NULL))
            exit(2);
        in[n++] = cfx_value_of_tensor(t);
    }
    return n;
}

/* Values that share a block for these shapes may share memory for any. */
static void check_aliases(const zoo_model *m, const char *name,
                          const cfx_memory_plan *plan)
{
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    const cfx_node **first = calloc(cfx_memory_plan_len(plan) + 1,
                                    sizeof(cfx_node *));
    cfx_aliases a = {0};
    int shared = 0;
    bool ok = first && !cfx_aliases__init(&a, g, NULL);
    claim(ok, name, "no aliases");
    for (cfx_node *n = ok ? cfx_graph_first(g) : NULL; n;
         n = cfx_node_next(n)) {
        size_t count;
        const cfx_memory_part *part = cfx_memory__parts(plan, n, &count);
        for (size_t i = 0; i < count; i++) {
            const cfx_node **in = &first[part[i].block];
            shared += *in != NULL;
            *in = *in ? *in : n;
            claim(cfx_aliases__set(&a, *in) == cfx_aliases__set(&a, n), name,
                  "%s and %s share block %u", (*in)->name, n->name,
                  part[i].block);
        }
    }
    claim(shared, name, "no values share memory");
    cfx_aliases__release(&a);
    free(first);
}

static void check_at(const zoo_model *m, const char *name, cfx_context *ctx,
                     int batch, int size)
{
    cfx_value in[ZOO_MAX_INPUTS];
    cfx_memory_plan *plan;
    cfx_error err = {0};
    size_t n = metas(in, ctx, m, batch, size);
    bool ok = !cfx_memory_plan_new(&plan, m->gm, in, n, NULL, &err);
    claim(ok, name, "%s", err.text);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(in[i]);
    if (!ok)
        return;
    memory_check c = check_memory(plan);
    claim(!*c.text, name, "at %d x %d: %s", batch, size, c.text);
    claim(cfx_memory_plan_arena(plan) == c.most, name,
          "at %d x %d: an arena "
          "of %lld bytes, the largest live set has %lld",
          batch, size, (long long)cfx_memory_plan_arena(plan), c.most);
    check_aliases(m, name, plan);
    cfx_memory_plan_free(plan);
}

static void check_plans(const char *name, int threads)
{
    cfx_context *ctx = context(false, threads);
    cfx_error err = {0};
    zoo_model m = {.nin = 0};
    bool ok = !zoo_open(&m, ctx, models, digests, name, &err);
    bool fixed = !strncmp(name, "vit", 3);
    claim(ok, name, "%s", err.text);
    if (ok) {
        check_at(&m, name, ctx, 0, 0);
        check_at(&m, name, ctx, 1, fixed ? 224 : 299);
        check_at(&m, name, ctx, 3, 224);
    }
    zoo_close(&m);
    cfx_context_free(ctx);
}

/* ---- Runs ---- */

static bool same_tensors(const cfx_tensor *a, const cfx_tensor *b)
{
    size_t n = (size_t)cfx_tensor_numel(a) *
               cfx_dtype_size((cfx_dtype)a->dtype);
    return a->dtype == b->dtype && a->rank == b->rank &&
           cfx_tensor_numel(a) == cfx_tensor_numel(b) &&
           !memcmp(a->data, b->data, n);
}

typedef struct runs {
    const char *name;
    zoo_model m;
    cfx_memory_plan *plan;
    cfx_interp plain, planned;
    cfx_planned_scope scope;
    cfx_value want, got;
} runs;

/* Beside its peak a run holds 200 bytes a tensor for its struct, and lists. */
static void run_plain(runs *r, cfx_error *err)
{
    long before = held;
    long long peak;
    most = held;
    bool ok = !cfx_interp_run(&r->plain, r->m.in, r->m.nin, &r->want, err);
    claim(ok, r->name, "%s", err->text);
    peak = cfx_dim_value(cfx_memory_plan_peak(r->plan, NULL));
    claim(most - before >= peak && most - before < peak + 65536, r->name,
          "a run holds %ld bytes, the plan %lld", most - before, peak);
}

static void run_planned(runs *r, cfx_error *err)
{
    for (int i = 0; i < 2; i++) {
        allocations = 0;
        cfx_value_unref(r->got);
        r->got = CFX_NOTHING;
        bool ok = !cfx_interp_run(&r->planned, r->m.in, r->m.nin, &r->got,
                                  err);
        claim(ok, r->name, "%s", err->text);
        if (!ok)
            return;
        claim(same_tensors(r->want.u.tensor, r->got.u.tensor), r->name,
              "other numbers in the arena, run %d", i + 1);
    }
    /* A tensor and its numbers, and perhaps a view of it. */
#if !defined(CFX_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
    claim(allocations <= 3, r->name, "%ld allocations in the second run",
          allocations);
#endif
    cfx_planned_counts n = cfx_planned_scope_counts(&r->scope);
    claim(!n.missed && n.placed, r->name, "%llu blocks had no place, %llu had",
          (unsigned long long)n.missed, (unsigned long long)n.placed);
}

static void check_run(const char *name)
{
    cfx_context *ctx = context(true, 2);
    cfx_error err = {0};
    runs r = {.name = name};
    cfx_interp_options o = {.size = sizeof(o), .scope = &r.scope.base};
    bool ok = !zoo_open(&r.m, ctx, models, digests, name, &err) &&
              !zoo_fill(&r.m, &err) &&
              !cfx_memory_plan_new(&r.plan, r.m.gm, r.m.in, r.m.nin, NULL,
                                   &err) &&
              !cfx_planned_scope_init(&r.scope, r.plan, &err) &&
              !cfx_interp_init(&r.plain, &cfx_interp_base, r.m.gm, &err) &&
              !cfx_interp_init_with(&r.planned, &cfx_interp_base, r.m.gm, &o,
                                    &err);
    claim(ok, name, "%s", err.text);
    if (ok) {
        run_plain(&r, &err);
        run_planned(&r, &err);
    }
    cfx_interp_release(&r.plain);
    cfx_interp_release(&r.planned);
    cfx_planned_scope_release(&r.scope);
    cfx_memory_plan_free(r.plan);
    if (ok)
        claim(same_tensors(r.want.u.tensor, r.got.u.tensor), name,
              "the result does not outlive its run");
    cfx_value_unref(r.want);
    cfx_value_unref(r.got);
    zoo_close(&r.m);
    cfx_context_free(ctx);
    claim(!held, name, "%ld bytes were not given back", held);
}

TEST_PROGRAM(memory_zoo)
{
    struct dirent *e;
    int n = 0;
    if (argc < 3)
        return 2;
    models = argv[1];
    digests = argv[2];
    DIR *d = opendir(models);
    while (d && (e = readdir(d))) {
        char name[256];
        size_t len = strlen(e->d_name);
        if (len < 4 || len >= sizeof(name) ||
            strcmp(e->d_name + len - 3, ".fx"))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)len - 3, e->d_name);
        check_plans(name, 1 + n % 4);
        n++;
    }
    if (d)
        closedir(d);
    claim(n == 42, "the zoo", "has %d models", n);
    for (int i = 3; i < argc; i++)
        check_run(argv[i]);
    printf("memory_zoo_test: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
