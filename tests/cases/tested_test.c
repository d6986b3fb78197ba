/*
 * tested_test -- tests/golden/tested.def is what the cases show.
 *
 *     tested_test tested.def GOLDEN...          compare it
 *     tested_test tested.def --write GOLDEN...  write it anew
 *
 * It has a line for each operator that some case calls whose result PyTorch
 * gave: the types of the first tensor among the arguments, or else of the
 * result. opcases_test compares these results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/op.h>
#include <cfx/scope.h>

#include "tests/cases/case.h"
#include "tests/cases/program.h"

enum { MAX_OPS = 2048 };

/* A scope that notes what is called. */
struct noting {
    cfx_scope scope;
    uint32_t types[MAX_OPS]; /* of each operator, a bit for each type */
};

static size_t place_of(cfx_context *ctx, const cfx_op *overload)
{
    const cfx_op *op;
    size_t i = 0;
    for (; i < MAX_OPS && (op = cfx_op_at(ctx, i)); i++)
        for (; op; op = op->next)
            if (op == overload)
                return i;
    return MAX_OPS;
}

static cfx_status find_tensor(void *user, cfx_value v)
{
    cfx_value *first = user;
    if (v.kind == CFX_TENSOR && first->kind != CFX_TENSOR)
        *first = v;
    return CFX_OK;
}

static cfx_status note_op(cfx_scope *s, cfx_call *call, cfx_value *out);

static const cfx_scope_class noting_class = {
    .size = sizeof(cfx_scope_class),
    .name = "noting",
    .super = &cfx_eager_class,
    .call_op = note_op,
};

/* A call that writes to its argument has what it wrote as its result, so the
 * arguments are looked at before it runs. */
static cfx_status note_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct noting *n = (struct noting *)s;
    cfx_value first = cfx_none();
    size_t at = place_of(s->ctx, call->op);
    for (int k = 0; k < call->schema->nparams; k++)
        cfx_value_visit(call->in[k], find_tensor, &first);
    int type = first.kind == CFX_TENSOR ? (int)first.u.tensor->dtype : -1;
    cfx_status st = CFX_SCOPE_SUPER(&noting_class, call_op)(s, call, out);
    if (st || at == MAX_OPS)
        return st;
    if (type < 0) {
        cfx_value_visit(*out, find_tensor, &first);
        type = first.kind == CFX_TENSOR ? (int)first.u.tensor->dtype
                                        : CFX_NDTYPES;
    }
    n->types[at] |= 1u << type;
    return st;
}

static void look_at_line(void *user, const char *file, int number,
                         const char *line)
{
    struct noting *n = user;
    char why[256];
    op_case c;
    const char *tab = strchr(line, '\t');
    (void)file;
    (void)number;
    if (!tab || !strcmp(tab + 1, "error"))
        return;
    cfx_scope *s = &n->scope;
    cfx_context *ctx = s->ctx;
    cfx_scope_init(s, &noting_class, ctx, NULL);
    if (case_read(&c, s, line, (size_t)(tab - line), why, sizeof(why)) &&
        !c.only_made)
        case_run(&c, s);
    case_release(&c);
    cfx_scope_release(s);
    s->ctx = ctx;
}

/* ---- The file ---- */

/* TESTED(name, "types"), in the registry's order. */
static void print_line(FILE *to, const cfx_op *op, uint32_t types)
{
    char words[200];
    size_t n = 0;
    int name = (int)strcspn(op->schema, "(.");
    for (int t = 0; t < CFX_NDTYPES; t++)
        if (types >> t & 1)
            n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s",
                                  n ? " " : "", cfx_dtypes[t].abbr);
    words[n] = '\0';
    fprintf(to, "TESTED(%.*s, \"%s\")\n", name, op->schema, words);
}

static char *print_all(cfx_context *ctx, const uint32_t *types)
{
    char *text = NULL;
    size_t size;
    const cfx_op *op;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        abort();
    fputs("/* Operators, and the types in which cases compare their results "
          "with\n * PyTorch's. `make tested` writes this file. */\n",
          to);
    for (size_t i = 0; i < MAX_OPS && (op = cfx_op_at(ctx, i)); i++)
        if (types[i])
            print_line(to, op, types[i]);
    fclose(to);
    return text;
}

/* The lines in which the file is not that text. */
static int compare(const char *path, const char *text)
{
    char line[512];
    int differ = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        size_t n = strcspn(text, "\n") + (*text != '\0');
        if (strlen(line) != n || memcmp(line, text, n)) {
            printf("%shas     %sshould be %.*s",
                   differ ? "" : "not ok: ", line, (int)n, text);
            differ++;
            break;
        }
        text += n;
    }
    if (f)
        fclose(f);
    if (!differ && (!f || *text)) {
        printf("not ok: %s lacks lines\n", path);
        differ++;
    }
    return differ;
}

TEST_PROGRAM(tested)
{
    static struct noting n;
    cfx_error err = {0};
    cfx_context *ctx;
    bool write = argc > 2 && !strcmp(argv[2], "--write");
    if (argc < 3 || cfx_context_new(&ctx, NULL, &err)) {
        fprintf(stderr, "usage: tested FILE [--write] GOLDEN...\n");
        return 2;
    }
    int failed = 0;
    n.scope.ctx = ctx;
    for (int i = 2 + write; i < argc; i++)
        failed += !case_lines(argv[i], NULL, look_at_line, &n);
    char *text = print_all(ctx, n.types);
    FILE *f = write ? fopen(argv[1], "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    } else {
        failed += compare(argv[1], text);
        if (failed)
            puts("`make tested` writes it anew");
    }
    free(text);
    cfx_context_free(ctx);
    return failed > 0;
}
