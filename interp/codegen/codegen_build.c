/*
 * codegen_build -- print the C code that builds the modules, and main.
 *
 * Only the parts that a module's constructor does not create are written:
 * arguments that differ from their defaults, and added children and state.
 */
#define CFX_NO_PLACES
#include "format/text/repr.h"
#include "interp/codegen/codegen_impl.h"
#include "nn/module_impl.h"
#include "ops/c_names.h"

/* ---- Paths ---- */

/* Format the path of `name` in m from the root into c->buf, as a literal. */
static void put_path(cgen *c, const cfx_module *root, const cfx_module *m,
                     const char *name)
{
    size_t len = strlen(name), at;
    for (const cfx_module *p = m; p != root; p = cfx_module_parent(p))
        len += strlen(cfx_module_name(p)) + (p != m || *name);
    cfx_buf_clear(&c->buf);
    cfx_buf_repeat(&c->buf, '.', len);
    if (c->buf.failed) {
        cgen_no_memory(c);
        return;
    }
    at = len - strlen(name);
    memcpy(c->buf.s + at, name, strlen(name));
    at -= *name && at;
    for (const cfx_module *p = m; p != root; p = cfx_module_parent(p)) {
        size_t n = strlen(cfx_module_name(p));
        memcpy(c->buf.s + (at -= n), cfx_module_name(p), n);
        at -= at > 0;
    }
    cgen_literal(c, cfx_buf_str(&c->buf), len);
}

static void begin(cgen *c, const char *function, const cfx_module *root,
                  const cfx_module *m, const char *name)
{
    cfx_out_puts(c->out, "    ");
    cfx_out_puts(c->out, function);
    cfx_out_puts(c->out, "(&b, ");
    put_path(c, root, m, name);
}

/* ---- Modules ---- */

static bool same_arguments(const cfx_module *a, const cfx_module *b)
{
    const cfx_schema *s = cfx_module_schema(a);
    const cfx_value *x = cfx_module_attrs(a), *y = cfx_module_attrs(b);
    if (cfx_module_type_of(a) != cfx_module_type_of(b) ||
        strcmp(cfx_module_class_name(a), cfx_module_class_name(b)))
        return false;
    for (int k = 0; s && k < s->nparams; k++)
        if (!cfx_value_equal(x[k], y[k]))
            return false;
    return a->undecided == b->undecided;
}

/* True if the constructor of m's parent creates m. */
static bool comes_with_parent(cgen *c, const cfx_module *m)
{
    const cfx_module *up = cfx_module_parent(m);
    cfx_module *fresh = NULL;
    if (!cfx_module_schema(up))
        return false;
    cfx_status st = cfx_model__remake(&fresh, up, c->err);
    if (st)
        cfx_out_fail(c->out, st);
    const cfx_module *made = fresh
                                 ? cfx_module_child(fresh, cfx_module_name(m))
                                 : NULL;
    bool same = made && same_arguments(made, m);
    cfx_module_unref(fresh);
    return same;
}

static bool must_write(const cfx_module *m, int k)
{
    const cfx_param *p = &cfx_module_schema(m)->params[k];
    return !cfx_is_default(p, cfx_module_attrs(m)[k]) ||
           cfx_module__lists(cfx_module_type_of(m)->must_give, p->name);
}

static void put_arguments(cgen *c, const cfx_module *m)
{
    const cfx_schema *s = cfx_module_schema(m);
    const cfx_value *v = cfx_module_attrs(m);
    int n = cfx_c_required(s), named = 0, written = 0;
    for (int k = n; k < s->nparams; k++)
        named += must_write(m, k);
    cfx_out_puts(c->out, ", ");
    cgen_args(c, v, (size_t)n, named > 0);
    for (int k = n; k < s->nparams; k++) {
        if (!must_write(m, k))
            continue;
        cfx_out_puts(c->out, written++ ? ", " : "");
        cfx_out_puts(c->out, "cfx_str(s, ");
        cgen_literal(c, s->params[k].name, strlen(s->params[k].name));
        cfx_out_puts(c->out, "), ");
        cgen_value(c, v[k]);
    }
    cfx_out_puts(c->out, named ? ")});\n" : ");\n");
}

/* Let the generated program refuse undecided arguments, as this one does. */
static void put_undecided(cgen *c, const cfx_module *root, const cfx_module *m)
{
    for (int k = 0; m->undecided >> k; k++) {
        const char *name = m->schema->params[k].name;
        if (!(m->undecided >> k & 1))
            continue;
        begin(c, "cfx_build_undecide", root, m, "");
        cfx_out_puts(c->out, ", ");
        cgen_literal(c, name, strlen(name));
        cfx_out_puts(c->out, ");\n");
    }
}

static void put_module(cgen *c, const cfx_module *root, const cfx_module *m)
{
    const cfx_schema *s = cfx_module_schema(m);
    const char *name = cfx_module_class_name(m);
    if (comes_with_parent(c, m))
        return;
    if (s && strcmp(s->name, name)) {
        cfx_out_puts(c->out, "    cfx_build_as(&b, ");
        cgen_literal(c, name, strlen(name));
        cfx_out_puts(c->out, ");\n");
    }
    begin(c, s ? "cfx_build" : "cfx_build_container", root, m, "");
    cfx_out_puts(c->out, ", ");
    cgen_literal(c, s ? s->name : name, strlen(s ? s->name : name));
    if (s)
        put_arguments(c, m);
    else
        cfx_out_puts(c->out, ");\n");
    put_undecided(c, root, m);
}

/* ---- State and flags ---- */

static void put_state(cgen *c, const cfx_module *root, const cfx_module *m,
                      const cfx_state *s)
{
    const cfx_tensor *t = s->tensor;
    begin(c, "cfx_build_state", root, m, s->name);
    cfx_out_puts(c->out, ", ");
    if (!t) {
        cfx_out_puts(c->out, "CFX_F32, -1, NULL, false);\n");
        return;
    }
    cgen_dtype(c, t->dtype);
    cfx_out_puts(c->out, ", ");
    cfx_out_int(c->out, t->rank);
    cfx_out_puts(c->out, t->rank ? ", (int64_t[]){" : ", NULL, ");
    for (int i = 0; i < t->rank; i++) {
        if (!cfx_dim_is_int(t->shape[i])) {
            cgen_refuse(c, "a symbolic extent of '%s' has no C text", s->name);
            return;
        }
        cfx_out_puts(c->out, i ? ", " : "");
        cfx_out_int(c->out, cfx_dim_value(t->shape[i]));
    }
    cfx_out_puts(c->out, t->rank ? "}, " : "");
    cfx_out_puts(c->out, s->is_buffer ? "true);\n" : "false);\n");
}

static void put_states(cgen *c, const cfx_module *root, const cfx_module *m)
{
    cfx_module *fresh = NULL;
    if (!cfx_module_nstate(m))
        return;
    cfx_status st = cfx_model__remake(&fresh, m, c->err);
    if (st)
        cfx_out_fail(c->out, st);
    for (size_t i = 0; !st && i < cfx_module_nstate(m); i++) {
        const cfx_state *s = cfx_module_state_at(m, i);
        const cfx_state *initial = fresh ? cfx_module_state(fresh, s->name)
                                         : NULL;
        if (!initial || !cfx_model__same_state(initial, s))
            put_state(c, root, m, s);
    }
    cfx_module_unref(fresh);
}

static void put_training(cgen *c, const cfx_module *root, const cfx_module *m)
{
    bool above = m != root && cfx_module_training(cfx_module_parent(m));
    if (cfx_module_training(m) == above)
        return;
    begin(c, "cfx_build_train", root, m, "");
    cfx_out_puts(c->out, above ? ", false);\n" : ", true);\n");
}

/* ---- The build function ---- */

void cgen_build(cgen *c, const cgen_unit *u)
{
    const cfx_module *root = u->gm, *m;
    const char *name = cfx_module_class_name(root);
    cfx_out_puts(c->out, "cfx_status ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(
        c->out,
        "_build(cfx_module **out, cfx_context *ctx, cfx_error *err)\n{\n    cfx_builder b;\n"
        "    cfx_scope *s = cfx_build_begin(&b, ctx, ");
    cgen_literal(c, name, strlen(name));
    cfx_out_puts(c->out, ");\n\n    (void)s;\n");
    for (m = cfx_module_next(root, root); m && !c->out->status;
         m = cfx_module_next(m, root))
        put_module(c, root, m);
    for (m = root; m && !c->out->status; m = cfx_module_next(m, root))
        put_states(c, root, m);
    for (m = root; m; m = cfx_module_next(m, root))
        put_training(c, root, m);
    for (const cgen_unit *k = c->unit; k <= u; k++) {
        begin(c, "cfx_build_graph", root, k->gm, "");
        cfx_out_puts(c->out, ", &");
        cfx_out_puts(c->out, k->prefix);
        cfx_out_puts(c->out, "_compiled);\n");
    }
    cfx_out_puts(c->out, "    return cfx_build_end(&b, out, err);\n}\n\n");
}

/* `@` stands for the prefix, `#` for the number of inputs (at least 1). */
static const char program[] =
    "#ifndef CFX_NO_MAIN\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n\n"
    "#include <cfx/file.h>\n\n"
    "static int usage(void)\n"
    "{\n"
    "    fprintf(stderr,\n"
    "            \"usage: @ [-w WEIGHTS] [-s SEED] [-o FILE.npy] INPUT...\\n\"\n"
    "            \"An INPUT is a file x.npy, or a type and a shape to fill from the seed:\\n\"\n"
    "            \"f32[2,3]. So are the weights, where there is no file.\\n\");\n"
    "    return 2;\n"
    "}\n\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    cfx_error err = {0};\n"
    "    cfx_context *ctx = NULL;\n"
    "    cfx_module *model = NULL;\n"
    "    cfx_value in[#] = {{0}}, y = cfx_none();\n"
    "    const char *weights = NULL, *output = NULL;\n"
    "    uint64_t seed = 0;\n"
    "    size_t n = 0;\n"
    "    int i = 1;\n\n"
    "    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {\n"
    "        if (!strcmp(argv[i], \"-w\"))\n"
    "            weights = argv[i + 1];\n"
    "        else if (!strcmp(argv[i], \"-s\"))\n"
    "            seed = strtoull(argv[i + 1], NULL, 10);\n"
    "        else if (!strcmp(argv[i], \"-o\"))\n"
    "            output = argv[i + 1];\n"
    "        else\n"
    "            return usage();\n"
    "    }\n"
    "    if (i < argc && argv[i][0] == '-')\n"
    "        return usage();\n"
    "    cfx_status st = cfx_context_new(&ctx, NULL, &err);\n"
    "    if (!st)\n"
    "        st = @_build(&model, ctx, &err);\n"
    "    if (!st)\n"
    "        st = weights ? cfx_module_load_weights(model, weights, true, &err)\n"
    "                     : cfx_module_randomize(model, seed, &err);\n"
    "    for (; i < argc && !st; i++, n++)\n"
    "        st = cfx_compiled_input(n < # ? &in[n] : &y, &@_compiled, n, ctx,\n"
    "                                argv[i], seed, &err);\n"
    "    if (!st)\n"
    "        st = cfx_compiled_run(&@_compiled, model, in, n, &y, &err);\n"
    "    if (!st && output && y.kind == CFX_TENSOR)\n"
    "        st = cfx_npy_write(output, y.u.tensor, &err);\n"
    "    else if (!st)\n"
    "        st = cfx_print_value(cfx_sink_file(stdout), y, CFX_STYLE_REPR, &err);\n"
    "    if (!st && !(output && y.kind == CFX_TENSOR))\n"
    "        putchar('\\n');\n"
    "    if (st)\n"
    "        fprintf(stderr, \"@: %s\\n\", err.text);\n"
    "    cfx_value_unref(y);\n"
    "    for (n = 0; n < #; n++)\n"
    "        cfx_value_unref(in[n]);\n"
    "    cfx_module_unref(model);\n"
    "    cfx_context_free(ctx);\n"
    "    return st != CFX_OK;\n"
    "}\n"
    "#endif\n";

void cgen_main(cgen *c, const cgen_unit *u, size_t nparams)
{
    bool directive = true; /* `#` at the start of a line is copied */
    for (const char *p = program; *p; p++) {
        if (*p == '@')
            cfx_out_puts(c->out, u->prefix);
        else if (*p == '#' && !directive)
            cfx_out_int(c->out, nparams ? (int64_t)nparams : 1);
        else
            cfx_out_putc(c->out, *p);
        directive = *p == '\n';
    }
}
