/*
 * aten_names_test -- ATen's forward operators are known by the names and with
 * the parameters that PyTorch gives them.
 *
 *     aten_names SIGNATURES REASONS
 *
 * SIGNATURES has a line for each overload (oracle/aten_names.py). REASONS has a
 * pattern of names a line, a tab, and why cfx lacks them; each serves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fnmatch.h>

#include "op/op_impl.h"
#include "tests/cases/program.h"

enum { LINE = 4096, MAX_REASONS = 256 };

struct reasons {
    char pattern[MAX_REASONS][LINE / 16];
    bool used[MAX_REASONS];
    int n;
};

static bool read_reasons(struct reasons *r, const char *path)
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f) && r->n < MAX_REASONS)
        if (*line != '#' && strchr(line, '\t'))
            snprintf(r->pattern[r->n++], sizeof(*r->pattern), "%.*s",
                     (int)strcspn(line, "\t"), line);
    return f && !fclose(f);
}

static bool has_reason(struct reasons *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (!fnmatch(r->pattern[i], name, 0))
            return r->used[i] = true;
    return false;
}

/* Options that say nothing about the result. */
static bool is_idle(const char *name)
{
    static const char *const idle[] = {"pin_memory", "layout", "device",
                                       "non_blocking", "generator"};
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
        if (!strcmp(name, idle[i]))
            return true;
    return false;
}

/* Does a signature take what another lists, by place and by name? */
static bool takes(const cfx_schema *have, const cfx_schema *want,
                  const char **missing)
{
    for (int i = 0; i < want->nparams; i++) {
        const cfx_param *p = &want->params[i];
        int at = cfx_param__named(have, p->name);
        bool by_place = i < want->npositional;
        *missing = p->name;
        if (at < 0 && (by_place ? i < have->npositional : false))
            at = i; /* only called by its place */
        if (at < 0 && is_idle(p->name))
            continue;
        if (at < 0 || (by_place && at != i))
            return false;
    }
    return true;
}

/* NULL, or what is wrong. */
static const char *look_at(cfx_context *ctx, const char *text,
                           const char *name)
{
    char full[2 * LINE];
    const char *missing = NULL;
    const cfx_schema *want;
    snprintf(full, sizeof(full), "torch.ops.aten.%s%s", name,
             strchr(name, '.') ? "" : ".default");
    const cfx_target *t = cfx_find_function(ctx, full);
    if (!t)
        return "unknown";
    if (cfx_schema_parse(&want, ctx, text, NULL))
        return "its signature is not read";
    for (; t; t = t->next)
        if (takes(t->variant, want, &missing))
            return NULL;
    return missing;
}

TEST_PROGRAM(aten_names)
{
    static struct reasons reasons;
    char line[LINE];
    cfx_context *ctx;
    int known = 0, excused = 0, failed = 0;
    FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!f || !read_reasons(&reasons, argv[2]) ||
        cfx_context_new(&ctx, NULL, NULL)) {
        fprintf(stderr, "usage: aten_names SIGNATURES REASONS\n");
        return 2;
    }
    while (fgets(line, sizeof(line), f)) {
        char name[LINE];
        line[strcspn(line, "\n")] = 0;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "("), line);
        const char *wrong = look_at(ctx, line, name);
        known += !wrong;
        if (wrong && has_reason(&reasons, name))
            excused++;
        else if (wrong && ++failed)
            printf("not ok: %s: %s\n", name, wrong);
    }
    for (int i = 0; i < reasons.n; i++)
        if (!reasons.used[i] && ++failed)
            printf("not ok: %s has a reason and needs none\n",
                   reasons.pattern[i]);
    printf("%d known, %d with a reason, %d failed\n", known, excused, failed);
    fclose(f);
    cfx_context_free(ctx);
    return failed > 0;
}
