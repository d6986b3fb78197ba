#define _POSIX_C_SOURCE 200809L
/*
 * opcases_test -- every case in the golden files against what PyTorch got:
 * values, shapes, strides, types; and what infer promised against what came
 * out. Arguments: the golden files; -k TEXT: only cases that hold it; -x: in
 * the files that follow, f16 and bf16 must be PyTorch's bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/lapack.h"
#include "tests/cases/case.h"
#include "tests/cases/program.h"

struct counts {
    cfx_context *ctx;
    int passed, failed;
    bool exact;
};

static void report(struct counts *n, bool ok, const char *file, int line,
                   const char *text, const char *why)
{
    if (ok) {
        n->passed++;
        return;
    }
    n->failed++;
    printf("%s:%d: %.*s\n    %s\n", file, line, (int)strcspn(text, "\t"), text,
           why);
}

/* The values of a run in a scope of that class; NULL error text: it went well.
 */
static bool run(cfx_scope *s, op_case *c, const char *line, size_t len,
                cfx_value *out, char *why, size_t size)
{
    *out = cfx_none();
    if (!case_read(c, s, line, len, why, size)) {
        if (!*why)
            snprintf(why, size, "cannot read: %s", s->error.text);
        return false;
    }
    *out = case_run(c, s);
    if (cfx_scope_failed(s))
        snprintf(why, size, "%s", s->error.text);
    return !cfx_scope_failed(s);
}

/* Run the case on tensors without elements: the result has to be like the one
 * with them, or refused since it depends on the elements. */
static void check_meta(cfx_context *ctx, struct counts *n, const char *file,
                       int number, const char *line, cfx_value eager)
{
    char why[3000] = "";
    op_case c;
    cfx_scope s;
    cfx_value out;
    cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
    bool ran = run(&s, &c, line, strcspn(line, "\t"), &out, why, sizeof(why));
    bool ok = ran ? case_same(eager, out) : s.error.code == CFX_EUNSUPPORTED;
    if (ran && !ok)
        snprintf(why, sizeof(why), "a meta scope promises something else");
    report(n, ok, file, number, line, why);
    case_release(&c);
    cfx_scope_release(&s);
}

/* A build without LAPACK or PCRE2 refuses what needs it. */
static bool is_partial(void)
{
#ifdef HAVE_PCRE2
    return !cfx_have_lapack();
#else
    return true;
#endif
}

static void check_line(void *user, const char *file, int number,
                       const char *line)
{
    struct counts *n = user;
    cfx_context *ctx = n->ctx;
    const char *tab = strchr(line, '\t');
    char why[3000] = "";
    op_case c;
    cfx_scope s;
    cfx_value out;
    if (!tab)
        return;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    bool ran = run(&s, &c, line, (size_t)(tab - line), &out, why, sizeof(why));
    c.exact = n->exact;
    bool ok = !strcmp(tab + 1, "error")
                  ? !ran && cfx_scope_failed(&s)
                  : ran &&
                        case_compare(&s, &c, out, tab + 1, why, sizeof(why));
    if (!ran && s.error.code == CFX_EUNSUPPORTED && is_partial())
        ok = true;
    if (!strcmp(tab + 1, "error") && ran)
        snprintf(why, sizeof(why), "PyTorch refuses this; it ran");
    report(n, ok, file, number, line, why);
    if (ran)
        check_meta(ctx, n, file, number, line, out);
    case_release(&c);
    cfx_scope_release(&s);
}

TEST_PROGRAM(opcases)
{
    struct counts n = {0};
    const char *only = NULL;
    cfx_error err = {0};
    if (cfx_context_new(&n.ctx, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-k") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "-x"))
            n.exact = true;
        else if (!case_lines(argv[i], only, check_line, &n))
            n.failed++;
    }
    cfx_context_free(n.ctx);
    printf("%d passed, %d failed\n", n.passed, n.failed);
    return n.failed || !n.passed;
}
