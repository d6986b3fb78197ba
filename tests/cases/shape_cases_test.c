/*
 * shape_cases_test -- calls on tensors whose extents are symbols, from files of
 * tests/cases/shapes/. Arguments: [-k TEXT] [--update] FILE...
 *
 *     torch.cat([f32[N,3], f32[M,3]], 1)
 *         f32[N, 6]
 *         guard: M == N
 *
 * A call is in the notation of tests/oracle/README.md, with expressions for
 * extents and integers. Below it stand the result, as cfx prints it, and the
 * guards that it needs; or the line `error: TEXT`. Lines that begin with `#`
 * are comments.
 */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include <cfx/text.h>

#include "tests/cases/case.h"
#include "tests/cases/expect.h"
#include "tests/cases/program.h"

/* Make the call and print what it gives. */
static void print_result(cfx_scope *s, const char *call, FILE *out)
{
    op_case c;
    cfx_error err = {0};
    char why[512] = "";
    if (!case_read(&c, s, call, strlen(call), why, sizeof(why))) {
        fprintf(out, "    error: cannot read: %s\n",
                *why ? why : s->error.text);
        case_release(&c);
        return;
    }
    cfx_value v = case_run(&c, s);
    if (cfx_scope_failed(s)) {
        fprintf(out, "    error: %s\n", s->error.text);
    } else {
        fputs("    ", out);
        if (cfx_print_shape(cfx_sink_file(out), v, false, &err))
            fprintf(out, "error: %s", err.text);
        fputc('\n', out);
        for (size_t i = 0; i < cfx_shape_env_guards(s->env); i++)
            fprintf(out, "    guard: %s\n", cfx_shape_env_guard(s->env, i));
    }
    case_release(&c);
}

static void write_case(char *text, FILE *out)
{
    cfx_context *ctx = NULL;
    cfx_shape_env *env = NULL;
    cfx_scope s;
    cfx_error err = {0};
    const char *call = expect_line(&text);
    fprintf(out, "%s\n", call);
    if (cfx_context_new(&ctx, NULL, &err) ||
        cfx_shape_env_new(&env, ctx, &err)) {
        fprintf(out, "    error: %s\n", err.text);
    } else {
        cfx_scope_init(&s, &cfx_meta_class, ctx, env);
        print_result(&s, call, out);
        cfx_scope_release(&s);
    }
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

static expect_line_kind kind(const char *line)
{
    return *line == '#'           ? EXPECT_KEPT
           : strchr(" \n", *line) ? EXPECT_MORE
                                  : EXPECT_CASE;
}

TEST_PROGRAM(shape_cases)
{
    return expect_main(argc, argv, kind, write_case);
}
