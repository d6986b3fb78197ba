/*
 * gen_ops -- write cfx/ops.h, a C function for each operator.
 *
 * A function takes the parameters of all overloads of its operator, and the
 * arguments that are given choose one: cfx_max(s, x, .dim = cfx_int(1)). Where
 * there is one overload whose parameters are all required, the function is
 * plain. C++ has no such macros and calls cfx_max_with. `source` writes the
 * bodies. An operator without a name of its own is an error.
 */
#include <stdio.h>
#include <string.h>

#include "ops/c_names.h"
#include "op/overload.h"

/* A C function that is to be written. */
typedef struct function {
    const char *symbol; /* of the descriptor */
    const cfx_op *op;
    const cfx_schema *schema; /* of the first overload */
    const cfx_param *param[CFX_MAX_UNION];
    int nparams;
    bool plain;
    bool writes; /* there is one that writes, too */
} function;

static cfx_status describe(function *f, cfx_context *ctx, const cfx_op *op,
                           const char *symbol)
{
    *f = (function){
        .symbol = symbol, .op = op, .schema = cfx_op_schema(ctx, op)};
    f->nparams = cfx_op__union(ctx, op, f->param);
    if (!f->schema || f->nparams < 0) {
        fprintf(stderr, "gen-ops: cannot read '%s'\n", op->schema);
        return CFX_EPARSE;
    }
    f->plain = !op->next && f->nparams &&
               cfx_c_required(f->schema) == f->nparams;
    for (; op; op = op->next)
        f->writes |= (op->flags & CFX_OP_INPLACE) != 0;
    return CFX_OK;
}

/* ---- The header ---- */

/* In C++, a function whose last arguments may be left out. */
static void print_positional(const function *f, const char *name)
{
    printf("#ifdef __cplusplus\n"
           "CFX_INLINE cfx_value %s(cfx_scope *scope",
           name);
    for (int k = 0; k < f->nparams; k++)
        printf(", cfx_value %s = CFX_NOTHING",
               cfx_c_param_name(f->param[k]->name));
    printf(")\n{\n    return %s_with(scope, %s_args{", name, name);
    for (int k = 0; k < f->nparams; k++)
        printf("%s, ", cfx_c_param_name(f->param[k]->name));
    printf("CFX_NOTHING});\n}\n");
}

static void print_struct(const function *f, const char *name)
{
    printf("typedef struct %s_args {\n", name);
    for (int k = 0; k < f->nparams; k++)
        printf("    cfx_value %s;\n", cfx_c_param_name(f->param[k]->name));
    printf("    cfx_value end_;\n} %s_args;\n", name);
    printf("CFX_API cfx_value %s_with(cfx_scope *s, %s_args args);\n", name,
           name);
    print_positional(f, name);
    printf(
        "#else\n#define %s(scope, ...) \\\n    %s_with(CFX_AT(scope), (%s_args){__VA_ARGS__, .end_ = {0}})\n#endif\n\n",
        name, name, name);
}

static void print_plain_head(const function *f, const char *name)
{
    printf("cfx_value %s(cfx_scope *s", name);
    for (int k = 0; k < f->nparams; k++)
        printf(", cfx_value %s", cfx_c_param_name(f->param[k]->name));
    printf(")");
}

static void print_declaration(const function *f, const char *name)
{
    printf("/* %s", f->op->doc ? f->op->doc : "");
    for (const cfx_op *op = f->op; op; op = op->next)
        printf("\n * %s", op->schema);
    printf(" */\n");
    if (!f->plain) {
        print_struct(f, name);
        return;
    }
    printf("CFX_API ");
    print_plain_head(f, name);
    printf(
        ";\n#ifdef CFX_PLACES_\n#define %s(scope, ...) %s(CFX_AT(scope), __VA_ARGS__)\n#endif\n\n",
        name, name);
}

/* ---- The source ---- */

/* The places of all overloads' parameters, one overload after the other. */
static void print_places(const function *f, cfx_context *ctx)
{
    uint8_t place[CFX_MAX_PARAMS];
    if (!f->op->next)
        return;
    printf("static const uint8_t %s_places[] = {", f->symbol);
    for (const cfx_op *op = f->op; op; op = op->next) {
        const cfx_schema *s = cfx_op_schema(ctx, op);
        cfx_op__places(s, f->param, f->nparams, place);
        printf("\n    ");
        for (int k = 0; k < s->nparams; k++)
            printf("%d, ", place[k]);
    }
    printf("\n};\n\n");
}

static void print_body(const function *f, const char *name, bool inplace)
{
    const char *writes = inplace ? "true" : "false";
    if (f->plain) {
        print_plain_head(f, name);
        printf("\n{\n    cfx_value args[] = {");
        for (int k = 0; k < f->nparams; k++)
            printf("%s%s", k ? ", " : "", cfx_c_param_name(f->param[k]->name));
        printf("};\n");
    } else {
        printf("cfx_value %s_with(cfx_scope *s, %s_args args)\n{\n", name,
               name);
    }
    const char *args = f->plain ? "args" : "(const cfx_value *)&args";
    if (f->op->next)
        printf(
            "    return cfx_scope__call_overload(s, &cfx_op__%s, %s_places,\n        %s, %d, %s);\n}\n\n",
            f->symbol, f->symbol, args, f->nparams, writes);
    else
        printf("    return cfx_scope_call(s, &cfx_op__%s, %s, %d, %s);\n}\n\n",
               f->symbol, args, f->nparams, writes);
}

/* ---- All operators ---- */

/* The families, each followed by the symbols of its descriptors, which stand in
 * the order of the registry. */
static const struct entry {
    const char *family, *symbol;
} entries[] = {
#define FAMILY(name) {.family = name},
#define OP(name) {.symbol = #name},
#include "ops/ops.def"
#undef OP
};

enum { NENTRIES = sizeof(entries) / sizeof(*entries) };

/* Whoever has the same name before; names differ by more than underscores. */
static bool is_same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

static cfx_status check_name(cfx_context *ctx, size_t i, const char *name)
{
    char other[128];
    for (size_t k = 0; k < i; k++)
        for (int inplace = 0; inplace < 2; inplace++) {
            cfx_c_function_name(other, sizeof(other),
                                cfx_op_schema(ctx, cfx_op_at(ctx, k)),
                                inplace);
            if (!is_same_name(name, other))
                continue;
            fprintf(stderr, "gen-ops: two operators would be %s: '%s', '%s'\n",
                    name, cfx_op_at(ctx, k)->schema,
                    cfx_op_at(ctx, i)->schema);
            return CFX_EINVAL;
        }
    return CFX_OK;
}

static cfx_status print_op(cfx_context *ctx, size_t i, const char *symbol,
                           bool header)
{
    function f;
    char name[128];
    const cfx_op *op = cfx_op_at(ctx, i);
    cfx_status st = describe(&f, ctx, op, symbol);
    if (!st && !header)
        print_places(&f, ctx);
    for (int inplace = 0; !st && inplace <= f.writes; inplace++) {
        cfx_c_function_name(name, sizeof(name), f.schema, inplace);
        st = check_name(ctx, i, name);
        if (header)
            print_declaration(&f, name);
        else
            print_body(&f, name, inplace);
    }
    return st;
}

static cfx_status print_ops(cfx_context *ctx, bool header)
{
    size_t n = 0;
    cfx_status st = CFX_OK;
    for (size_t i = 0; !st && i < NENTRIES; i++) {
        if (entries[i].family) {
            if (header)
                printf("/* ---- %s ---- */\n\n", entries[i].family);
        } else if (cfx_op_at(ctx, n)) {
            st = print_op(ctx, n++, entries[i].symbol, header);
        }
    }
    if (!st && cfx_op_at(ctx, n)) {
        fprintf(stderr, "gen-ops: '%s' stands in no line of ops.def\n",
                cfx_op_at(ctx, n)->schema);
        st = CFX_EINVAL;
    }
    return st;
}

/* The names by family, in lines of 78. */
static void print_index(cfx_context *ctx)
{
    size_t n = 0, column = 0;
    for (size_t i = 0; i < NENTRIES; i++) {
        char name[128];
        if (entries[i].family) {
            printf("%s *\n * %s:\n", column ? "\n" : "", entries[i].family);
            column = 0;
            continue;
        }
        const cfx_op *op = cfx_op_at(ctx, n++);
        const cfx_schema *s = op ? cfx_op_schema(ctx, op) : NULL;
        if (!s)
            continue;
        cfx_c_function_name(name, sizeof(name), s, false);
        if (column + 1 + strlen(name) > 78) {
            printf("\n");
            column = 0;
        }
        if (!column)
            column = (size_t)printf(" *    ");
        column += (size_t)printf(" %s", name);
    }
    printf("\n */\n");
}

static const char about[] =
    "/*\n"
    " * cfx/ops.h -- the C functions of all operators, made from their\n"
    " * schemas when cfx is built.\n"
    " *\n"
    " *     y = cfx_max(s, x);\n"
    " *     y = cfx_max(s, x, .dim = cfx_int(1));\n"
    " *     y = cfx_max(s, x, .other = z);\n"
    " *\n"
    " * An operator has one function, named as in ATen: cfx_, the operator's\n"
    " * name in lower case. It takes the parameters of all overloads, in the\n"
    " * order of their schemas, which stand above it; keyword-only ones come\n"
    " * last. The first overload that takes the arguments that are given is\n"
    " * called, as in PyTorch.\n"
    " *\n"
    " * ATen marks the spelling that writes to its first argument, and\n"
    " * operators of its own, by an underscore: relu_, _softmax. A name that\n"
    " * differs from another in that alone is misread, so here they are\n"
    " * cfx_relu_inplace and cfx_aten_softmax.\n"
    " *\n"
    " * Calls with named arguments are macros, in C only. In C++ arguments are\n"
    " * given by position, or in a struct:\n"
    " *\n"
    " *     cfx_clamp_args a = {};\n"
    " *     a.self = x;\n"
    " *     a.min = cfx_float(0);\n"
    " *     y = cfx_clamp_with(s, a);\n";

static const char head[] =
    "#ifndef CFX_OPS_H\n#define CFX_OPS_H\n\n"
    "#include <cfx/scope.h>\n\n"
    "#if !defined(__cplusplus) && !defined(CFX_NO_PLACES)\n"
    "#define CFX_PLACES_\n#endif\n\nCFX_BEGIN_DECLS\n\n";

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx;
    bool header = argc < 2 || strcmp(argv[1], "source");
    cfx_options options = {.size = sizeof(options), .threads = 1};
    if (cfx_context_new(&ctx, &options, &err)) {
        fprintf(stderr, "gen-ops: %s\n", err.text);
        return 1;
    }
    if (header) {
        fputs(about, stdout);
        print_index(ctx);
        fputs(head, stdout);
    } else {
        printf("/* Made when cfx is built; see cfx/ops.h. */\n"
               "#define CFX_NO_PLACES\n#include <cfx/ops.h>\n\n"
               "#include \"op/overload.h\"\n\n"
               "#define OP(name) extern const cfx_op cfx_op__##name;\n"
               "#include \"ops/ops.def\"\n#undef OP\n\n");
    }
    cfx_status st = print_ops(ctx, header);
    if (header)
        printf("#undef CFX_PLACES_\n\nCFX_END_DECLS\n\n#endif\n");
    cfx_context_free(ctx);
    return st || fflush(stdout) || ferror(stdout);
}
