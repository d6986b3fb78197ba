/*
 * passes_zoo_test -- every pass on whole models of the zoo, with weights from
 * a seed: the graph stays well-formed, prints and reads back as it is, and
 * gives the same outputs; and the pass changes as many nodes as the table
 * says. Then all passes in a row.
 *
 *     passes_zoo_test MODELS DIGESTS TABLE [--write] NAME...
 *
 * With --write the table is written anew, of these models, which are not run.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/interp.h>
#include <cfx/pass.h>

#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

/* A pass may round: then outputs agree less. */
#define EXACT 1e-5
#define ROUNDED 1e-4
#define NARROWED 2e-2

enum { MAX_ROWS = 4096 };

static int passed, failed;
static bool write_it;

/* ---- The table ---- */

/* "pass<TAB>model<TAB>changed" a line; what is not there changes nothing. */
static struct row {
    char pass[64], model[64];
    size_t changed;
} rows[MAX_ROWS];
static int nrows;

static struct row *find_row(const char *pass, const char *model)
{
    for (int i = 0; i < nrows; i++)
        if (!strcmp(rows[i].pass, pass) && !strcmp(rows[i].model, model))
            return &rows[i];
    return NULL;
}

static void read_table(const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f) && nrows < MAX_ROWS) {
        struct row *r = &rows[nrows];
        if (sscanf(line, "%63[^\t]\t%63[^\t]\t%zu", r->pass, r->model,
                   &r->changed) == 3)
            nrows++;
    }
    if (f)
        fclose(f);
}

/* ---- Claims ---- */

static void not_ok(const char *pass, const char *model, const char *what,
                   cfx_error *err)
{
    failed++;
    printf("not ok: %s on %s: %s%s%s\n", pass, model, what,
           err->text[0] ? ": " : "", err->text);
    *err = (cfx_error){0};
}

/* ---- A model ---- */

typedef struct subject {
    const char *name;
    cfx_context *ctx;
    zoo_model m;
    cfx_value want; /* what it gives */
    char *text;     /* the superset's */
    size_t len;
    cfx_error err;
} subject;

static cfx_status run(cfx_context *ctx, cfx_module *gm, const cfx_value *in,
                      size_t nin, cfx_value *out, cfx_error *err)
{
    cfx_interp it = {0};
    *out = CFX_NOTHING;
    cfx_context_seed(ctx, 1);
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, err);
    if (!st)
        st = cfx_interp_run(&it, in, nin, out, err);
    cfx_interp_release(&it);
    return st;
}

/* ---- Comparing ---- */

typedef struct leaves {
    cfx_value item[4096];
    size_t n;
} leaves;

static cfx_status add_leaf(void *user, cfx_value v)
{
    leaves *l = user;
    if (l->n < sizeof(l->item) / sizeof(*l->item))
        l->item[l->n++] = v;
    return CFX_OK;
}

static cfx_tensor *doubles(const cfx_tensor *t)
{
    cfx_tensor *out;
    if (cfx_tensor_meta(&out, t->ctx, CFX_F64, t->rank, t->shape, NULL, NULL))
        return NULL;
    if (cfx_tensor_alloc(out, NULL) || cfx_tensor_copy(out, t, NULL)) {
        cfx_tensor_unref(out);
        return NULL;
    }
    return out;
}

/* The greatest difference, as a part of the greatest magnitude. */
static double tensor_distance(const cfx_tensor *a, const cfx_tensor *b)
{
    char x[128], y[128];
    double most = 0, scale = 1;
    cfx_tensor_format_type(a, x, sizeof(x));
    cfx_tensor_format_type(b, y, sizeof(y));
    if (strcmp(x, y))
        return INFINITY;
    cfx_tensor *p = doubles(a), *q = doubles(b);
    for (int64_t i = 0, n = cfx_tensor_numel(p); i < n; i++) {
        double u = ((double *)p->data)[i], v = ((double *)q->data)[i];
        double d = fabs(u - v);
        if (u == v || (isnan(u) && isnan(v)))
            continue;
        if (isnan(d) || d > most)
            most = isnan(d) ? INFINITY : d;
        scale = fabs(u) > scale ? fabs(u) : scale;
    }
    cfx_tensor_unref(p);
    cfx_tensor_unref(q);
    return most / scale;
}

static double distance(cfx_value a, cfx_value b)
{
    static leaves x, y;
    double most = 0;
    x.n = y.n = 0;
    cfx_value_visit(a, add_leaf, &x);
    cfx_value_visit(b, add_leaf, &y);
    if (x.n != y.n)
        return INFINITY;
    for (size_t i = 0; i < x.n; i++) {
        double d = x.item[i].kind != CFX_TENSOR || y.item[i].kind != CFX_TENSOR
                       ? (cfx_value_equal(x.item[i], y.item[i]) ? 0 : INFINITY)
                       : tensor_distance(x.item[i].u.tensor,
                                         y.item[i].u.tensor);
        most = d > most ? d : most;
    }
    return most;
}

/* ---- What each pass must keep ---- */

static char *lossless(const cfx_module *gm, size_t *len, cfx_error *err)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);
    if (!f)
        return NULL;
    cfx_status st = cfx_print_model(cfx_sink_file(f), gm, true, err);
    fclose(f);
    if (st) {
        free(text);
        text = NULL;
    }
    return text;
}

/* The text reads back, and prints as it was. */
static bool reads_back(subject *s, const cfx_module *gm)
{
    size_t n, k;
    cfx_module *again = NULL;
    bool same = false;
    char *text = lossless(gm, &n, &s->err), *second = NULL;
    if (text && !cfx_parse_model(&again, s->ctx, text, n, "printed", &s->err))
        second = lossless(again, &k, &s->err);
    if (second)
        same = n == k && !memcmp(text, second, n);
    cfx_module_unref(again);
    free(text);
    free(second);
    return same;
}

/* A pass that counts no change has made none. */
static bool is_as_it_was(subject *s, const cfx_module *gm)
{
    size_t n;
    char *text = lossless(gm, &n, &s->err);
    bool same = text && n == s->len && !memcmp(text, s->text, n);
    free(text);
    return same;
}

/* The outputs against those that the model had. */
static bool gives(subject *s, cfx_module *gm, double tolerance, double *d)
{
    cfx_value got;
    *d = INFINITY;
    if (!run(s->ctx, gm, s->m.in, s->m.nin, &got, &s->err))
        *d = distance(s->want, got);
    cfx_value_unref(got);
    return *d <= tolerance;
}

static double tolerance_of(const cfx_pass *p)
{
    return p->flags & CFX_PASS_NARROWS  ? NARROWED
           : p->flags & CFX_PASS_ROUNDS ? ROUNDED
                                        : EXACT;
}

/* A pass whose options have no defaults is for its own test. */
static bool needs_options(cfx_context *ctx, const cfx_pass *p)
{
    const cfx_schema *schema = cfx_pass_schema(ctx, p);
    for (int k = 0; schema && k < schema->nparams; k++)
        if (schema->params[k].required)
            return true;
    return false;
}

static bool apply(subject *s, cfx_module *gm, const cfx_pass *p,
                  size_t *changed)
{
    return !cfx_pass_run(p, gm, CFX_NO_ARGS, false, changed, &s->err) &&
           !cfx_graph_lint(cfx_graph_module_graph(gm), &s->err);
}

static void compare_count(subject *s, const char *pass, size_t changed)
{
    const struct row *r = find_row(pass, s->name);
    size_t want = r ? r->changed : 0;
    if (write_it && changed && nrows < MAX_ROWS) {
        struct row *new = &rows[nrows++];
        snprintf(new->pass, sizeof(new->pass), "%s", pass);
        snprintf(new->model, sizeof(new->model), "%s", s->name);
        new->changed = changed;
    } else if (!write_it && changed != want) {
        snprintf(s->err.text, sizeof(s->err.text), "%zu, the table says %zu",
                 changed, want);
        not_ok(pass, s->name, "changes another number of nodes", &s->err);
        return;
    }
    passed++;
}

/* The property that a pass broke; NULL if there is none. */
static const char *what_is_wrong(subject *s, cfx_module *gm, const cfx_pass *p,
                                 size_t changed, double *d)
{
    if (write_it)
        return NULL;
    if (!changed)
        return is_as_it_was(s, gm) ? NULL : "says that it changes nothing";
    if (!reads_back(s, gm))
        return "does not read back";
    return gives(s, gm, tolerance_of(p), d) ? NULL : "gives something else";
}

static void check_pass(subject *s, const cfx_pass *p)
{
    char name[64];
    size_t changed = 0;
    double d = 0;
    cfx_module *gm = NULL;
    const char *wrong = "fails";
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->schema, "("),
             p->schema);
    if (!cfx_module_copy(&gm, s->m.gm, &s->err) && apply(s, gm, p, &changed))
        wrong = what_is_wrong(s, gm, p, changed, &d);
    if (wrong && d > 0 && !s->err.text[0])
        snprintf(s->err.text, sizeof(s->err.text), "%g", d);
    if (wrong)
        not_ok(name, s->name, wrong, &s->err);
    else
        compare_count(s, name, changed);
    cfx_module_unref(gm);
}

/* All of them, one after the other. */
static void check_row(subject *s)
{
    double d = 0, tolerance = EXACT;
    size_t changed;
    cfx_module *gm = NULL;
    const char *wrong = NULL;
    if (cfx_module_copy(&gm, s->m.gm, &s->err))
        wrong = "cannot be copied";
    for (size_t i = 0; !wrong && cfx_pass_at(s->ctx, i); i++) {
        const cfx_pass *p = cfx_pass_at(s->ctx, i);
        if (needs_options(s->ctx, p))
            continue;
        if (!apply(s, gm, p, &changed))
            wrong = p->schema;
        tolerance = fmax(tolerance, tolerance_of(p));
    }
    if (!wrong && !reads_back(s, gm))
        wrong = "does not read back";
    else if (!wrong && !gives(s, gm, tolerance, &d))
        wrong = "gives something else";
    if (wrong)
        not_ok("all in a row", s->name, wrong, &s->err);
    else
        passed++;
    cfx_module_unref(gm);
}

static bool open_subject(subject *s, char **argv)
{
    cfx_status st = cfx_context_new(&s->ctx, NULL, &s->err);
    if (!st)
        st = zoo_open(&s->m, s->ctx, argv[1], argv[2], s->name, &s->err);
    if (!st)
        st = zoo_fill(&s->m, &s->err);
    if (!st && !write_it)
        st = run(s->ctx, s->m.gm, s->m.in, s->m.nin, &s->want, &s->err);
    if (!st)
        s->text = lossless(s->m.gm, &s->len, &s->err);
    return s->text;
}

static void check_model(const char *name, char **argv)
{
    subject s = {.name = name};
    if (!open_subject(&s, argv)) {
        not_ok("nothing", name, "does not run", &s.err);
    } else {
        for (size_t i = 0; cfx_pass_at(s.ctx, i); i++)
            if (!needs_options(s.ctx, cfx_pass_at(s.ctx, i)))
                check_pass(&s, cfx_pass_at(s.ctx, i));
        if (!write_it)
            check_row(&s);
    }
    free(s.text);
    cfx_value_unref(s.want);
    zoo_close(&s.m);
    cfx_context_free(s.ctx);
    fflush(stdout);
}

/* ---- The table, anew ---- */

static int by_row(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int d = strcmp(x->pass, y->pass);
    return d ? d : strcmp(x->model, y->model);
}

static bool write_table(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    qsort(rows, (size_t)nrows, sizeof(*rows), by_row);
    for (int i = 0; i < nrows; i++)
        fprintf(f, "%s\t%s\t%zu\n", rows[i].pass, rows[i].model,
                rows[i].changed);
    return !fclose(f);
}

TEST_PROGRAM(passes_zoo)
{
    if (argc < 5) {
        fprintf(stderr, "usage: passes_zoo MODELS DIGESTS TABLE "
                        "[--write] NAME...\n");
        return 2;
    }
    write_it = !strcmp(argv[4], "--write");
    if (!write_it)
        read_table(argv[3]);
    for (int i = write_it ? 5 : 4; i < argc; i++)
        check_model(argv[i], argv);
    if (write_it && !write_table(argv[3])) {
        perror(argv[3]);
        return 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
