/*
 * pass_manager -- order passes, apply them, and report which one failed.
 */
#include <cfx/pass_manager.h>

#include <string.h>

#include "base/context_impl.h"
#include "base/util.h"
#include "interp/passes/pass_impl.h"

typedef struct entry {
    char *text; /* "split(parts=3)" */
    size_t size;
    const cfx_pass *pass;
} entry;

/* this_before_that, with names of passes. */
typedef struct constraint {
    const cfx_pass *first, *then;
} constraint;

typedef struct check {
    cfx_pass_check *fn;
    void *user;
} check;

struct cfx_pass_manager {
    cfx_context *ctx;
    cfx_pass_manager_options o;
    cfx_missed_list missed; /* of the present run */
    struct {
        entry *item;
        size_t n, cap;
    } entries;
    struct {
        constraint *item;
        size_t n, cap;
    } constraints;
    struct {
        check *item;
        size_t n, cap;
    } checks;
};

static entry *entry_at(const cfx_pass_manager *pm, size_t i)
{
    return &pm->entries.item[i];
}

static void drop_entries(cfx_pass_manager *pm, size_t from)
{
    while (pm->entries.n > from) {
        entry *e = entry_at(pm, --pm->entries.n);
        cfx_free(pm->ctx, e->text, e->size);
    }
}

/* ---- Life ---- */

cfx_status cfx_pass_manager_new(cfx_pass_manager **out, cfx_context *ctx,
                                const cfx_pass_manager_options *options,
                                cfx_error *err)
{
    *out = NULL;
    if (options && options->size != sizeof(*options))
        return cfx_fail(err, CFX_EINVAL, "options.size is %zu, not %zu",
                        options->size, sizeof(*options));
    cfx_pass_manager *pm = cfx_calloc(ctx, 1, sizeof(*pm));
    if (!pm)
        return cfx_no_memory(err);
    pm->ctx = ctx;
    if (options)
        pm->o = *options;
    *out = pm;
    return CFX_OK;
}

void cfx_pass_manager_free(cfx_pass_manager *pm)
{
    if (!pm)
        return;
    cfx_context *ctx = pm->ctx;
    drop_entries(pm, 0);
    cfx_free(ctx, pm->entries.item, pm->entries.cap * sizeof(entry));
    cfx_free(ctx, pm->constraints.item,
             pm->constraints.cap * sizeof(constraint));
    cfx_free(ctx, pm->checks.item, pm->checks.cap * sizeof(check));
    cfx_free(ctx, pm, sizeof(*pm));
}

/* ---- The list ---- */

static cfx_status find(const cfx_pass **out, cfx_context *ctx,
                       const char *name, size_t len, cfx_error *err)
{
    size_t n = 0;
    while (n < len && name[n] != '(' && name[n] != ' ')
        n++;
    if (!n)
        return cfx_fail(err, CFX_EPARSE, "the name of a pass is missing");
    return cfx_pass__find(out, ctx, name, n, err);
}

static cfx_status entry_make(entry *e, cfx_context *ctx, const char *text,
                             size_t len, cfx_error *err)
{
    cfx_status st = find(&e->pass, ctx, text, len, err);
    if (st)
        return st;
    e->size = len + 1;
    e->text = cfx_alloc(ctx, e->size);
    if (!e->text)
        return cfx_no_memory(err);
    memcpy(e->text, text, len);
    e->text[len] = '\0';
    return CFX_OK;
}

cfx_status cfx_pass_manager_add(cfx_pass_manager *pm, const char *text,
                                cfx_error *err)
{
    size_t before = pm->entries.n;
    cfx_status st = CFX_OK;
    for (const char *rest; text && !st; text = rest) {
        entry e = {0};
        size_t len = cfx_pass_text_split(&text, &rest);
        st = entry_make(&e, pm->ctx, text, len, err);
        if (!st)
            st = cfx_grow(pm->ctx, pm->entries.item, pm->entries.cap,
                          pm->entries.n + 1, err);
        if (st)
            cfx_free(pm->ctx, e.text, e.size);
        else
            pm->entries.item[pm->entries.n++] = e;
    }
    if (st)
        drop_entries(pm, before);
    return st;
}

const char *cfx_pass_manager_at(const cfx_pass_manager *pm, size_t i)
{
    return i < pm->entries.n ? entry_at(pm, i)->text : NULL;
}

cfx_status cfx_pass_manager_this_before_that(cfx_pass_manager *pm,
                                             const char *this_pass,
                                             const char *that_pass,
                                             cfx_error *err)
{
    constraint c = {0};
    cfx_status st = find(&c.first, pm->ctx, this_pass, strlen(this_pass), err);
    if (!st)
        st = find(&c.then, pm->ctx, that_pass, strlen(that_pass), err);
    if (!st)
        st = cfx_grow(pm->ctx, pm->constraints.item, pm->constraints.cap,
                      pm->constraints.n + 1, err);
    if (!st)
        pm->constraints.item[pm->constraints.n++] = c;
    return st;
}

cfx_status cfx_pass_manager_add_check(cfx_pass_manager *pm, cfx_pass_check *fn,
                                      void *user, cfx_error *err)
{
    cfx_status st = cfx_grow(pm->ctx, pm->checks.item, pm->checks.cap,
                             pm->checks.n + 1, err);
    if (!st)
        pm->checks.item[pm->checks.n++] = (check){fn, user};
    return st;
}

/* ---- The order ---- */

/* True if entry i may come next while those from `from` on are not placed. */
static bool is_ready(const cfx_pass_manager *pm, size_t i, size_t from)
{
    const constraint *c = pm->constraints.item;
    for (size_t k = 0; k < pm->constraints.n; k++) {
        if (c[k].then != entry_at(pm, i)->pass)
            continue;
        for (size_t j = from; j < pm->entries.n; j++)
            if (entry_at(pm, j)->pass == c[k].first)
                return false;
    }
    return true;
}

/* Format the texts of a range of passes: "['a', 'b']". */
static void list_texts(const cfx_pass_manager *pm, size_t from, size_t to,
                       cfx_buf *out)
{
    cfx_buf_putc(out, '[');
    for (size_t i = from; i < to; i++)
        cfx_buf_printf(out, "%s'%s'", i > from ? ", " : "",
                       entry_at(pm, i)->text);
    cfx_buf_putc(out, ']');
}

static cfx_status circular(const cfx_pass_manager *pm, size_t from,
                           cfx_error *err)
{
    cfx_buf text;
    cfx_buf_init(&text, pm->ctx);
    list_texts(pm, from, pm->entries.n, &text);
    cfx_status st = cfx_fail(
        err, CFX_EINVAL,
        "Circular dependency detected within the following passes: %s",
        cfx_buf_str(&text));
    cfx_buf_release(&text);
    return st;
}

/* Lists are short, so each entry is searched for. */
cfx_status cfx_pass_manager_solve(cfx_pass_manager *pm, cfx_error *err)
{
    for (size_t placed = 0; placed < pm->entries.n; placed++) {
        size_t i = placed;
        while (i < pm->entries.n && !is_ready(pm, i, placed))
            i++;
        if (i == pm->entries.n)
            return circular(pm, placed, err);
        entry e = *entry_at(pm, i);
        memmove(entry_at(pm, placed + 1), entry_at(pm, placed),
                (i - placed) * sizeof(e));
        *entry_at(pm, placed) = e;
    }
    return CFX_OK;
}

/* ---- Running ---- */

/* A hook may fail without setting an error. */
static cfx_status hooked(cfx_status st, const char *hook, cfx_error *err)
{
    return st ? cfx_fail(err, st, "the %s hook returned %s without a message",
                         hook, cfx_status_name(st))
              : CFX_OK;
}

static cfx_status run_checks(const cfx_pass_manager *pm, cfx_module *gm,
                             cfx_error *err)
{
    const check *c = pm->checks.item;
    cfx_status st = CFX_OK;
    if (!pm->o.no_lint)
        st = cfx_graph_lint(cfx_graph_module_graph(gm), err);
    for (size_t i = 0; i < pm->checks.n && !st; i++)
        st = hooked(c[i].fn(c[i].user, gm, err), "check", err);
    return st;
}

static cfx_status observed(cfx_pass_manager *pm, cfx_module *gm,
                           cfx_pass_report *r, cfx_error *err)
{
    cfx_graph_observer seen;
    int64_t start = cfx_clock_ns();
    cfx_status st = cfx_graph_observer_init(&seen, cfx_graph_module_graph(gm),
                                            err);
    if (st)
        return st;
    st = cfx_missed__apply_pass(gm, r->text, pm->o.reverse, &r->changed,
                                pm->o.missed ? &pm->missed : NULL, err);
    r->seconds = 1e-9 * (double)(cfx_clock_ns() - start);
    if (cfx_graph_module_graph(gm) != seen.graph)
        seen.graph = NULL; /* the module has a new graph */
    else if (!st)
        st = cfx_graph_observer_inherit(&seen, err);
    r->created = seen.ncreated;
    r->erased = seen.nerased;
    r->replaced = seen.uses;
    cfx_graph_observer_release(&seen);
    return st;
}

/* Put the name of the failed pass before the error. */
static void explain(const cfx_pass_manager *pm, size_t done, const entry *e,
                    cfx_error *err)
{
    cfx_buf text;
    if (!err || err->code == CFX_ENOMEM)
        return;
    cfx_buf_init(&text, pm->ctx);
    if (pm->o.reverse)
        list_texts(pm, pm->entries.n - done, pm->entries.n, &text);
    else
        list_texts(pm, 0, done, &text);
    cfx_fail_at(
        err,
        "An error occurred when running the '%s' pass after the following passes: %s",
        e->text, cfx_buf_str(&text));
    cfx_buf_release(&text);
}

static cfx_status run_one(cfx_pass_manager *pm, cfx_module *gm, size_t step,
                          size_t i, size_t *changed, cfx_error *err)
{
    const entry *e = entry_at(pm, pm->o.reverse ? pm->entries.n - 1 - i : i);
    cfx_pass_report r = {
        .text = e->text, .pass = e->pass, .step = step, .index = i};
    cfx_status st = cfx_context_check(pm->ctx, err);
    if (!st && pm->o.before)
        st = hooked(pm->o.before(pm->o.user, gm, &r, err), "before", err);
    if (!st)
        st = observed(pm, gm, &r, err);
    if (!st)
        st = run_checks(pm, gm, err);
    if (!st && pm->o.after)
        st = hooked(pm->o.after(pm->o.user, gm, &r, err), "after", err);
    *changed += r.changed;
    if (st)
        explain(pm, i, e, err);
    return st;
}

static cfx_status tell_missed(const cfx_pass_manager *pm, cfx_module *gm,
                              cfx_error *err)
{
    return pm->o.missed
               ? cfx_missed__tell(&pm->missed, cfx_graph_module_graph(gm),
                                  pm->o.missed, pm->o.user, err)
               : CFX_OK;
}

cfx_status cfx_pass_manager_run(cfx_pass_manager *pm, cfx_module *gm,
                                size_t *changed, cfx_error *err)
{
    size_t all = 0, of_step = 1;
    int steps = pm->o.steps > 0 ? pm->o.steps : 1;
    cfx_error_clear(err);
    cfx_missed__init(&pm->missed, pm->ctx);
    cfx_status st = cfx_pass_manager_solve(pm, err);
    for (int step = 0; step < steps && of_step && !st; step++) {
        of_step = 0;
        for (size_t i = 0; i < pm->entries.n && !st; i++)
            st = run_one(pm, gm, (size_t)step, i, &of_step, err);
        all += of_step;
    }
    if (changed)
        *changed = all;
    if (!st)
        st = tell_missed(pm, gm, err);
    cfx_missed__release(&pm->missed);
    return st;
}
