/*
 * cost_rules_test -- shapeprop/COSTS.md is what the rules of operators say.
 *
 *     cost_rules_test COSTS.md          compare it, line by line
 *     cost_rules_test COSTS.md --write  write it anew
 *
 * Above a mark the file is written by hand. Below, in tables, each row has a
 * call with symbols for extents, and the formulas that its operator's rule
 * gives for them; then follow lists of the operators whose rules need none. To
 * add a row, write its call into the table and let the others be made. Every
 * rule must be in some row or list.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/cost.h>
#include <cfx/op.h>

#include "base/util.h"
#include "op/op_cost.h"
#include "op/rules.h"
#include "tests/cases/case.h"
#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

#define MARK                                                                  \
    "<!-- From here on written by tests/case_tests cost_rules --write. -->"

enum { MAX_RULES = 512, CELL = 512 };

static cfx_context *ctx;
static int failed;

static void complain(const char *fmt, ...) CFX_PRINTF(1, 2);

static void complain(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("not ok: ");
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    failed++;
}

/* ---- The rules that rows have shown ---- */

static cfx_cost_rule *shown[MAX_RULES];
static int nshown;

static bool is_shown(cfx_cost_rule *rule)
{
    for (int i = 0; i < nshown; i++) {
        if (shown[i] == rule)
            return true;
    }
    return false;
}

/* ---- A row ---- */

/* Adds up the costs of a call, and keeps the rule of the first. */
struct counting {
    cfx_scope scope;
    cfx_cost cost;
    bool any;
};

static cfx_status count_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct counting *c = (struct counting *)(void *)s;
    cfx_cost one;
    cfx_cost_rule *rule = call->op->cost;
    cfx_status rc = cfx_call_cost(call, &one, out);

    if (rc)
        return rc;
    if (rule && !is_shown(rule) && nshown < MAX_RULES)
        shown[nshown++] = rule;
    if (c->any)
        cfx_cost_add(s->env, &c->cost, &one);
    else
        c->cost = one;
    c->any = true;
    return CFX_OK;
}

static const cfx_scope_class counting_class = {
    .size = sizeof(cfx_scope_class),
    .name = "counting",
    .super = &cfx_meta_class,
    .call_op = count_op,
};

static void add_dim(cfx_buf *b, cfx_dim d)
{
    char text[CELL];

    cfx_dim_format(d, text, sizeof(text));
    cfx_buf_printf(b, " %s |", text);
}

static bool run_case(struct counting *c, const char *call, size_t len)
{
    char why[256];
    op_case oc;
    bool ok = case_read(&oc, &c->scope, call, len, why, sizeof(why));

    if (!ok)
        complain("%.*s: %s", (int)len, call, why);
    else if (case_run(&oc, &c->scope), cfx_scope_failed(&c->scope))
        complain("%.*s: %s", (int)len, call, c->scope.error.text);
    else if (!c->any)
        complain("%.*s: calls no operator", (int)len, call);
    case_release(&oc);
    return ok && c->any;
}

/* "| `call` | macs | ops | transcendental | read | written |" */
static void add_row(cfx_buf *b, const char *call, size_t len)
{
    struct counting c = {.any = false};
    cfx_shape_env *env = NULL;

    if (cfx_shape_env_new(&env, ctx, NULL))
        abort();
    cfx_scope_init(&c.scope, &counting_class, ctx, env);
    cfx_buf_printf(b, "| `%.*s` |", (int)len, call);
    if (run_case(&c, call, len)) {
        add_dim(b, c.cost.macs);
        add_dim(b, c.cost.ops);
        add_dim(b, c.cost.transcendental);
        add_dim(b, c.cost.bytes_read);
        add_dim(b, c.cost.bytes_written);
    }
    cfx_buf_putc(b, '\n');
    cfx_scope_release(&c.scope);
    cfx_shape_env_free(env);
}

/* ---- Lists ---- */

static const struct list {
    const char *title;
    cfx_cost_rule *rule;
    bool views; /* those that compute nothing */
} lists[] = {
    {"Nothing: views, and what is asked without looking at numbers", NULL,
     true},
    {"No arithmetic; all tensors are read, the results written", NULL, false},
    {"No arithmetic; only the results are written", cfx_cost_created, false},
    {"No arithmetic; the first tensor is read, the result written; nothing "
     "where that is the tensor itself",
     cfx_cost_first, false},
    {"No operation for each element of the result: comparisons", cfx_cost_0_0,
     false},
    {"One operation for each element of the result", cfx_cost_1_0, false},
    {"One, transcendental", cfx_cost_1_1, false},
    {"Two, of which one is transcendental", cfx_cost_2_1, false},
    {"Three, of which one is transcendental", cfx_cost_3_1, false},
    {"Three, of which two are transcendental", cfx_cost_3_2, false},
    {"Four, of which two are transcendental", cfx_cost_4_2, false},
    {"Four, of which three are transcendental", cfx_cost_4_3, false},
};

enum { NLISTS = sizeof(lists) / sizeof(*lists), WIDTH = 78 };

static bool is_in(const cfx_op *op, const struct list *l)
{
    return op->cost == l->rule && (l->rule || !op->run == l->views);
}

static bool is_listed(const cfx_op *op)
{
    for (int i = 0; i < NLISTS; i++) {
        if (is_in(op, &lists[i]))
            return true;
    }
    return false;
}

/* A name, on the next line where it does not fit. */
static void add_name(cfx_buf *b, int *column, const char *schema)
{
    int n = (int)strcspn(schema, "(");
    bool fits = *column + 2 + n < WIDTH;

    if (*column)
        cfx_buf_puts(b, fits ? ", " : ",\n");
    *column = *column && fits ? *column + 2 + n : n;
    cfx_buf_add(b, schema, (size_t)n);
}

static void add_list(cfx_buf *b, const struct list *l)
{
    int column = 0;

    cfx_buf_printf(b, "\n%s:\n\n", l->title);
    for (size_t i = 0; cfx_op_at(ctx, i); i++) {
        for (const cfx_op *op = cfx_op_at(ctx, i); op; op = op->next) {
            if (is_in(op, l))
                add_name(b, &column, op->schema);
        }
    }
    cfx_buf_puts(b, ".\n");
}

/* Check that a row shows each rule for the costs of operators. */
static void check_shown(void)
{
    for (size_t i = 0; cfx_op_at(ctx, i); i++) {
        for (const cfx_op *op = cfx_op_at(ctx, i); op; op = op->next) {
            if (op->cost && !is_listed(op) && !is_shown(op->cost))
                complain("no row shows the rule of %.*s",
                         (int)strcspn(op->schema, "("), op->schema);
        }
    }
}

/* ---- The file ---- */

/* Make the part of the text below the mark anew: calls keep their order, other
 * lines stay, lists are at the end. */
static int make(cfx_buf *b, const char *text)
{
    const char *end = strstr(text, "\n## Without a formula\n");
    int rows = 0;

    for (size_t n; text != end && *text; text += n) {
        n = strcspn(text, "\n") + 1;
        const char *quote = n > 4 && !memcmp(text, "| `", 3)
                                ? memchr(text + 3, '`', n - 3)
                                : NULL;
        if (quote) {
            add_row(b, text + 3, (size_t)(quote - text - 3));
            rows++;
        } else {
            cfx_buf_add(b, text, n);
        }
    }
    cfx_buf_puts(b, "\n## Without a formula\n");
    for (int i = 0; i < NLISTS; i++)
        add_list(b, &lists[i]);
    return rows;
}

static void compare(const char *have, const char *want)
{
    while (*have || *want) {
        int n = (int)strcspn(have, "\n"), m = (int)strcspn(want, "\n");
        if (n != m || memcmp(have, want, (size_t)n))
            complain("the file says\n    %.*s\n  and the rules\n    %.*s", n,
                     have, m, want);
        have += n + (have[n] == '\n');
        want += m + (want[m] == '\n');
    }
}

static bool write_file(const char *path, const char *head, size_t nhead,
                       const char *tail)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(head, 1, nhead, f) == nhead && fputs(tail, f) >= 0;

    return f && !fclose(f) && ok;
}

TEST_PROGRAM(cost_rules)
{
    size_t len;
    char *text = argc > 1 ? zoo_read(argv[1], &len) : NULL;
    const char *mark = text ? strstr(text, MARK "\n") : NULL;
    cfx_buf b;

    if (!mark || cfx_context_new(&ctx, NULL, NULL)) {
        fprintf(stderr, "usage: cost_rules COSTS.md [--write]\n");
        return 2;
    }
    mark += strlen(MARK "\n");
    cfx_buf_init(&b, ctx);
    int rows = make(&b, mark);
    check_shown();
    if (argc > 2 && !write_file(argv[1], text, (size_t)(mark - text), b.s))
        complain("cannot write %s", argv[1]);
    if (argc < 3)
        compare(mark, b.s);
    printf("%d passed, %d failed\n", rows + NLISTS, failed);
    cfx_buf_release(&b);
    cfx_context_free(ctx);
    free(text);
    return failed != 0;
}
