#define _POSIX_C_SOURCE 200809L
/*
 * opcases_memory_test -- every case in the golden files while memory runs out:
 * after one allocation, after two, and so on until the call succeeds. It must
 * tell of it and give everything back. Arguments: the golden files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/case.h"
#include "tests/cases/program.h"

static long allowed = -1; /* allocations until failure; negative: no end */
static bool failed;

static void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (allowed == 0 || size >> 40) {
        failed = true;
        return NULL;
    }
    if (allowed > 0)
        allowed--;
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

static void test_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

/* Run it with so many allocations; gives its status. */
static cfx_status run_with(cfx_context *ctx, op_case *c, long count)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    failed = false;
    allowed = count;
    case_run(c, &s);
    allowed = -1;
    cfx_status st = cfx_scope_status(&s, NULL);
    cfx_scope_release(&s);
    return st;
}

static bool check_case(cfx_context *ctx, const char *line, size_t len,
                       char *why, size_t size)
{
    op_case c;
    cfx_scope s;
    bool ok = true;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    if (!case_read(&c, &s, line, len, why, size)) {
        case_release(&c);
        cfx_scope_release(&s);
        return true; /* opcases_test tells of it */
    }
    cfx_status wanted = run_with(ctx, &c, -1);
    for (long n = 0; ok; n++) {
        size_t before = cfx_context_memory(ctx);
        cfx_status st = run_with(ctx, &c, n);
        size_t after = cfx_context_memory(ctx);
        ok = (st == CFX_ENOMEM || st == wanted) && after == before;
        if (!ok)
            snprintf(why, size,
                     "after %ld allocations: %s, not %s; %zu bytes "
                     "held, %zu before",
                     n, cfx_status_name(st),
                     cfx_status_name(failed ? CFX_ENOMEM : wanted), after,
                     before);
        if (!failed)
            break;
    }
    case_release(&c);
    cfx_scope_release(&s);
    return ok;
}

struct counts {
    cfx_context *ctx;
    int passed, wrong;
};

static void check_line(void *user, const char *file, int number,
                       const char *line)
{
    struct counts *n = user;
    char why[512] = "";
    size_t len = strcspn(line, "\t");
    if (check_case(n->ctx, line, len, why, sizeof(why))) {
        n->passed++;
        return;
    }
    n->wrong++;
    printf("%s:%d: %.*s\n    %s\n", file, number, (int)len, line, why);
}

TEST_PROGRAM(opcases_memory)
{
    struct counts n = {0};
    cfx_error err = {0};
    cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 1,
    };
    if (cfx_context_new(&n.ctx, &options, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++)
        if (!case_lines(argv[i], NULL, check_line, &n))
            n.wrong++;
    cfx_context_free(n.ctx);
    printf("%d passed, %d failed\n", n.passed, n.wrong);
    return n.wrong || !n.passed;
}
