/*
 * gen_ops -- write cfx/ops.h, a C function for each overload of each operator.
 *
 * Parameters without a default stand first, in a macro's order; those with one
 * are named: cfx_clamp(s, x, .min = cfx_num(0)). Where all are required, the
 * function is plain. C++ has no such macros and calls cfx_clamp_with. `source`
 * writes the bodies.
 */
#include <stdio.h>
#include <string.h>

#include "op/c_names.h"

static void print_struct(const cfx_schema *s, const char *name)
{
    printf("typedef struct %s_args {\n", name);
    for (int k = 0; k < s->nparams; k++)
        printf("    cfx_value %s;\n", cfx_c_param_name(s->params[k].name));
    printf("    cfx_value end_;\n} %s_args;\n", name);
    printf("CFX_API cfx_value %s_with(cfx_scope *s, %s_args args);\n", name,
           name);
    printf("#ifndef __cplusplus\n"
           "#define %s(scope, ...) \\\n    %s_with(CFX_AT(scope), "
           "(%s_args){__VA_ARGS__, .end_ = {0}})\n#endif\n\n", name, name,
           name);
}

static void print_plain_head(const cfx_schema *s, const char *name)
{
    printf("cfx_value %s(cfx_scope *s", name);
    for (int k = 0; k < s->nparams; k++)
        printf(", cfx_value %s", cfx_c_param_name(s->params[k].name));
    printf(")");
}

static void print_declaration(const cfx_op *op, const cfx_schema *s,
                              const char *name)
{
    printf("/* %s\n * %s */\n", op->doc ? op->doc : "", op->schema);
    if (cfx_c_required(s) < s->nparams || !s->nparams) {
        print_struct(s, name);
        return;
    }
    printf("CFX_API ");
    print_plain_head(s, name);
    printf(";\n#ifdef CFX_PLACES_\n#define %s(scope, ...) "
           "%s(CFX_AT(scope), __VA_ARGS__)\n#endif\n\n", name, name);
}

static void print_body(const char *symbol, int depth, const cfx_schema *s,
                       const char *name, bool inplace)
{
    bool plain = cfx_c_required(s) == s->nparams && s->nparams;
    if (plain) {
        print_plain_head(s, name);
        printf("\n{\n    cfx_value args[] = {");
        for (int k = 0; k < s->nparams; k++)
            printf("%s%s", k ? ", " : "", cfx_c_param_name(s->params[k].name));
        printf("};\n");
    } else {
        printf("cfx_value %s_with(cfx_scope *s, %s_args args)\n{\n", name,
               name);
    }
    printf("    const cfx_op *op = &cfx_op__%s;\n", symbol);
    for (int i = 0; i < depth; i++)
        printf("    op = op->next;\n");
    printf("    return cfx_scope_call(s, op, %s, %d, %s);\n}\n\n",
           plain ? "args" : "(const cfx_value *)&args", s->nparams,
           inplace ? "true" : "false");
}

/* The symbols of the descriptors, in the order of the registry. */
static const char *const symbols[] = {
#define OP(name) #name,
#include "op/ops.def"
#undef OP
};

/* Is it the name of another operator's first overload? scatter.reduce would
 * be called as scatter_reduce is; it is left to calls by name. */
static bool is_taken(cfx_context *ctx, const char *name, int depth)
{
    char head[128];
    for (size_t i = 0; depth && cfx_op_at(ctx, i); i++) {
        const cfx_schema *s = cfx_op_schema(ctx, cfx_op_at(ctx, i));
        for (int inplace = 0; s && inplace < 2; inplace++) {
            cfx_c_function_name(head, sizeof(head), s, true, inplace);
            if (!strcmp(head, name))
                return true;
        }
    }
    return false;
}

static int print_op(cfx_context *ctx, const cfx_op *head, const char *symbol,
                    bool header)
{
    int depth = 0;
    for (const cfx_op *op = head; op; op = op->next, depth++) {
        char name[128];
        const cfx_schema *s = cfx_op_schema(ctx, op);
        if (!s) {
            fprintf(stderr, "gen-ops: cannot read '%s'\n", op->schema);
            return 1;
        }
        for (int inplace = 0; inplace <= !!(op->flags & CFX_OP_INPLACE);
             inplace++) {
            cfx_c_function_name(name, sizeof(name), s, !depth, inplace);
            if (is_taken(ctx, name, depth))
                continue;
            if (header)
                print_declaration(op, s, name);
            else
                print_body(symbol, depth, s, name, inplace);
        }
    }
    return 0;
}

static const char head[] =
    "/*\n"
    " * cfx/ops.h -- the C functions of all operators, made from their\n"
    " * schemas when cfx is built.\n"
    " *\n"
    " *     y = cfx_clamp(s, x, .min = cfx_num(0));\n"
    " *\n"
    " * Calls with named arguments are macros, in C only. C++ fills a struct:\n"
    " *\n"
    " *     cfx_clamp_args a = {};\n"
    " *     a.self = x;\n"
    " *     a.min = cfx_num(0);\n"
    " *     y = cfx_clamp_with(s, a);\n"
    " */\n"
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
    if (header)
        fputs(head, stdout);
    else
        printf("/* Made when cfx is built; see cfx/ops.h. */\n"
               "#define CFX_NO_PLACES\n#include <cfx/ops.h>\n\n"
               "#define OP(name) extern const cfx_op cfx_op__##name;\n"
               "#include \"op/ops.def\"\n#undef OP\n\n");
    int failed = 0;
    for (size_t i = 0; !failed && cfx_op_at(ctx, i); i++)
        failed = print_op(ctx, cfx_op_at(ctx, i), symbols[i], header);
    if (header)
        printf("#undef CFX_PLACES_\n\nCFX_END_DECLS\n\n#endif\n");
    cfx_context_free(ctx);
    return failed || fflush(stdout) || ferror(stdout);
}
