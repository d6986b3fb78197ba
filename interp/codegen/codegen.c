/*
 * codegen -- print a GraphModule as a C file.
 *
 * Variables have the names of the nodes. Names with a meaning in C or in its
 * headers get an underscore. Where a tracer would name a node differently, the
 * generated code sets the name (cfx_named).
 */
#define CFX_NO_PLACES
#include "interp/codegen/codegen_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Failures ---- */

void cgen_no_memory(cgen *c)
{
    cfx_out_fail(c->out, CFX_ENOMEM);
}

void cgen_refuse(cgen *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->out->status)
        cfx_vfail(c->err, CFX_EUNSUPPORTED, fmt, ap);
    va_end(ap);
    cfx_out_fail(c->out, CFX_EUNSUPPORTED);
}

/* ---- Names ---- */

/* Keywords of C11 and C23, macros of the headers that generated files include
 * and of compilers, and names that the generated functions use themselves. */
/* clang-format off */
static const char *const taken[] = {
    "alignas", "alignof", "asm", "assert", "auto", "bool", "break", "case",
    "char", "complex", "const", "constexpr", "continue", "default", "do",
    "double", "else", "enum", "errno", "extern", "false", "far", "float",
    "for", "fortran", "goto", "hpux", "i386", "if", "imaginary", "in",
    "inline", "int", "linux", "long", "main", "mips", "near", "noreturn",
    "nullptr", "offsetof", "pascal", "register", "restrict", "return", "s",
    "self", "short", "signed", "sizeof", "sparc", "static", "static_assert",
    "stderr", "stdin", "stdout", "struct", "sun", "switch", "thread_local",
    "true", "typedef", "typeof", "typeof_unqual", "union", "unix", "unsigned",
    "user", "va_arg", "va_copy", "va_end", "va_start", "vax", "void",
    "volatile", "while"};
/* clang-format on */

static int compare(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

/* Names without lower-case letters may be macros (I, NAN, EOF). Names that
 * begin with two underscores, or with one and a capital, are reserved. */
static bool is_taken(const char *name)
{
    bool small = false;
    for (const char *p = name; *p; p++)
        small = small || (*p >= 'a' && *p <= 'z');
    return !small || !strncmp(name, "cfx_", 4) ||
           (name[0] == '_' &&
            (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'))) ||
           bsearch(name, taken, sizeof(taken) / sizeof(*taken), sizeof(*taken),
                   compare);
}

/* Give a node a C name; false if the name is already in use. */
static bool claim(cgen *c, const cfx_node *n, const char *name)
{
    bool added = false;
    if (!cfx_map_put(&c->used, name, strlen(name), &added))
        cgen_no_memory(c);
    if (added)
        c->name[n->id] = name;
    return added;
}

static void change_name(cgen *c, const cfx_node *n)
{
    bool own = n->name[0] != '_';
    cfx_buf_clear(&c->buf);
    cfx_buf_puts(&c->buf, own ? "" : "v");
    cfx_buf_puts(&c->buf, n->name);
    do {
        cfx_buf_putc(&c->buf, '_');
        char *name = c->buf.failed
                         ? NULL
                         : cfx_arena_strdup(&c->arena, c->buf.s, c->buf.len);
        if (!name)
            cgen_no_memory(c);
        else if (claim(c, n, name))
            return;
    } while (!c->out->status);
}

/* Most nodes keep their names, so these are claimed first. */
static void choose_names(cgen *c)
{
    for (const cfx_node *n = cfx_graph_first(c->graph); n;
         n = cfx_node_next(n))
        if (!is_taken(n->name))
            claim(c, n, n->name);
    for (const cfx_node *n = cfx_graph_first(c->graph); n && !c->out->status;
         n = cfx_node_next(n))
        if (!c->name[n->id])
            change_name(c, n);
}

/* True if a tracer would give the node another name. */
static bool needs_name(cgen *c, const cfx_node *n)
{
    cfx_names_candidate(&c->buf, (cfx_opcode)n->op, cfx_print__target(n));
    const char *guess = cfx_names_create(&c->guessed, cfx_buf_str(&c->buf),
                                         c->buf.len, false);
    if (c->buf.failed || !guess) {
        cgen_no_memory(c);
        return false;
    }
    if (!strcmp(guess, n->name))
        return false;
    if (!cfx_names_replace(&c->guessed, guess, n->name, strlen(n->name)))
        cgen_no_memory(c);
    return true;
}

/* ---- Text ---- */

/* Print the shape of a node's value as a comment. */
static void put_shape(cgen *c, const cfx_node *n)
{
    cfx_value v = cfx_print__meta_value(n);
    if (v.kind != CFX_TENSOR)
        return;
    cfx_out out;
    cfx_buf_clear(&c->buf);
    cfx_out_init(&out, cfx_sink_buf(&c->buf));
    cfx_print__type(&out, v.u.tensor, false);
    if (cfx_out_finish(&out, NULL))
        cgen_no_memory(c);
    cfx_out_puts(c->out, " /* ");
    for (const char *p = cfx_buf_str(&c->buf); *p; p++) {
        cfx_out_putc(c->out, *p);
        if (*p == '*' && p[1] == '/')
            cfx_out_putc(c->out, ' ');
    }
    cfx_out_puts(c->out, " */");
}

static const cfx_node *next_param(const cfx_node *n)
{
    while (n && n->op != CFX_PLACEHOLDER)
        n = cfx_node_next(n);
    return n;
}

static const cfx_node *first_param(const cfx_graph *g)
{
    return next_param(cfx_graph_first(g));
}

static size_t count_params(const cfx_graph *g)
{
    size_t count = 0;
    for (const cfx_node *n = first_param(g); n;
         n = next_param(cfx_node_next(n)))
        count++;
    return count;
}

/* Copy Python's notation without blanks; those in strings become escapes. */
static void squeeze(cfx_buf *to, const char *s)
{
    char quote = 0;
    for (; *s; s++) {
        if (quote && *s == '\\') {
            cfx_buf_add(to, s, s[1] ? 2 : 1);
            s += s[1] != '\0';
        } else if (*s == ' ') {
            cfx_buf_puts(to, quote ? "\\x20" : "");
        } else {
            if (quote ? *s == quote : *s == '\'' || *s == '"')
                quote = quote ? 0 : *s;
            cfx_buf_putc(to, *s);
        }
    }
}

/* Print the parameters as cfx_trace_function takes them: "x flag=3 *args". */
static void put_params(cgen *c)
{
    cfx_buf all;
    cfx_buf_init(&all, c->ctx);
    for (const cfx_node *n = first_param(c->graph); n;
         n = next_param(cfx_node_next(n))) {
        const char *target = n->target->text;
        if (strpbrk(target, " =\t\n"))
            cgen_refuse(c, "a parameter '%s' has no C text", target);
        cfx_buf_puts(&all, all.len ? " " : "");
        cfx_buf_puts(&all, target);
        if (!n->nargs)
            continue;
        cfx_buf_clear(&c->buf);
        cfx_status st = cfx_print_value(cfx_sink_buf(&c->buf), n->args[0],
                                        CFX_STYLE_LOSSLESS, c->err);
        cfx_out_fail(c->out, st);
        cfx_buf_putc(&all, '=');
        squeeze(&all, cfx_buf_str(&c->buf));
    }
    if (all.failed)
        cgen_no_memory(c);
    cgen_literal(c, cfx_buf_str(&all), all.len);
    cfx_buf_release(&all);
}

static bool is_last(const cgen *c, const cgen_unit *u)
{
    return u == c->unit + c->nunits - 1;
}

/* Functions for other files have a prototype; all others are static. */
static void put_prototypes(cgen *c, const cgen_unit *u)
{
    cfx_out_puts(c->out, "cfx_value ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_forward(cfx_scope *s, cfx_module *self");
    for (size_t n = count_params(c->graph); n; n--)
        cfx_out_puts(c->out, ", cfx_value");
    cfx_out_puts(c->out, ");\n");
    if (!c->how->no_build) {
        cfx_out_puts(c->out, "cfx_status ");
        cfx_out_puts(c->out, u->prefix);
        cfx_out_puts(
            c->out,
            "_build(cfx_module **out, cfx_context *ctx, cfx_error *err);\n");
    }
    cfx_out_puts(c->out, "extern const cfx_compiled ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_compiled;\n\n");
}

static void put_signature(cgen *c, const cgen_unit *u)
{
    cfx_out_puts(c->out, is_last(c, u) ? "cfx_value " : "static cfx_value ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_forward(cfx_scope *s, cfx_module *self");
    for (const cfx_node *n = first_param(c->graph); n;
         n = next_param(cfx_node_next(n))) {
        cfx_out_puts(c->out, ",\n    cfx_value ");
        cfx_out_puts(c->out, c->name[n->id]);
        put_shape(c, n);
    }
    cfx_out_putc(c->out, ')');
}

/* ---- Statements ---- */

static void begin_statement(cgen *c, const cfx_node *n, bool named)
{
    if (n->type)
        cfx_out_puts(c->out, "cfx_annotate(s, ");
    if (named) {
        cfx_out_puts(c->out, "cfx_named(s, ");
        cgen_literal(c, n->name, strlen(n->name));
        cfx_out_puts(c->out, ", ");
    }
}

static void end_statement(cgen *c, const cfx_node *n, bool named)
{
    cfx_out_puts(c->out, named ? ")" : "");
    if (n->type) {
        cfx_out_puts(c->out, ", ");
        cgen_literal(c, n->type->text, n->type->len);
        cfx_out_putc(c->out, ')');
    }
    cfx_out_puts(c->out, ";\n");
}

/* Drop the inputs whose last user is n, and n itself if it has no users. */
static void put_drops(cgen *c, const cfx_node *n)
{
    for (uint32_t i = 0; i <= n->ninputs; i++) {
        const cfx_node *x = i < n->ninputs ? cfx_node_input(n, i) : n;
        if (x == n ? n->nusers != 0 : c->last_use[x->id] != n)
            continue;
        cfx_out_puts(c->out, "    cfx_scope_drop(s, &");
        cfx_out_puts(c->out, c->name[x->id]);
        cfx_out_puts(c->out, ");\n");
    }
}

static void put_param_statement(cgen *c, const cfx_node *n)
{
    bool named = needs_name(c, n);
    if (named || n->type) {
        cfx_out_puts(c->out, "    ");
        cfx_out_puts(c->out, c->name[n->id]);
        cfx_out_puts(c->out, " = ");
        begin_statement(c, n, named);
        cfx_out_puts(c->out, c->name[n->id]);
        end_statement(c, n, named);
    } else if (!n->nusers) {
        cfx_out_puts(c->out, "    (void)");
        cfx_out_puts(c->out, c->name[n->id]);
        cfx_out_puts(c->out, ";\n");
    }
}

static void put_statement(cgen *c, const cfx_node *n)
{
    if (n->op == CFX_PLACEHOLDER)
        return;
    if (n->op == CFX_OUTPUT) {
        cfx_out_puts(c->out, "    return ");
        cgen_value(c, n->nargs ? n->args[0] : cfx_none());
        cfx_out_puts(c->out, ";\n");
        return;
    }
    bool named = needs_name(c, n);
    cfx_out_puts(c->out, "    cfx_value ");
    cfx_out_puts(c->out, c->name[n->id]);
    cfx_out_puts(c->out, " = ");
    begin_statement(c, n, named);
    cgen_call(c, n);
    end_statement(c, n, named);
    put_drops(c, n);
}

static bool uses_self(const cfx_graph *g)
{
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR)
            return true;
    return false;
}

static void put_forward(cgen *c, const cgen_unit *u)
{
    put_signature(c, u);
    cfx_out_puts(c->out, "\n{\n");
    if (!uses_self(c->graph))
        cfx_out_puts(c->out, "    (void)self;\n");
    cfx_out_puts(c->out, "    (void)s;\n");
    for (const cfx_node *n = first_param(c->graph); n && !c->out->status;
         n = next_param(cfx_node_next(n)))
        put_param_statement(c, n);
    for (const cfx_node *n = cfx_graph_first(c->graph); n && !c->out->status;
         n = cfx_node_next(n))
        put_statement(c, n);
    if (!cfx_graph_output_node(c->graph))
        cfx_out_puts(c->out, "    return cfx_none();\n");
    cfx_out_puts(c->out, "}\n\n");
}

/* ---- The entry point ---- */

static void put_default(cgen *c, const cfx_node *n)
{
    const char *target = n->target->text;
    if (target[0] == '*')
        cfx_out_puts(c->out, target[1] == '*'
                                 ? "cfx_list_of(s, CFX_DICT, 0, NULL)"
                                 : "cfx_list_of(s, CFX_TUPLE, 0, NULL)");
    else
        cgen_value(c, n->args[0]);
}

static void put_input(cgen *c, const cfx_node *n, size_t i)
{
    char text[64];
    snprintf(text, sizeof(text), ", in[%zu]", i);
    cfx_out_puts(c->out, text);
    if (!n->nargs && n->target->text[0] != '*')
        return;
    snprintf(text, sizeof(text), ".kind ? in[%zu] : ", i);
    cfx_out_puts(c->out, text);
    put_default(c, n);
}

/* Check that a required input was given; the message is torch.fx's. */
static void put_check(cgen *c, const cfx_node *n, size_t i)
{
    char text[64];
    if (n->nargs || n->target->text[0] == '*')
        return;
    snprintf(text, sizeof(text), "    if (!in[%zu].kind)\n", i);
    cfx_out_puts(c->out, text);
    cfx_out_puts(
        c->out,
        "        return cfx_scope_fail(s, CFX_EINVAL, \"%s\",\n            \"Expected positional argument for parameter ");
    cfx_out_puts(c->out, n->name);
    cfx_out_puts(c->out, ", but one was not passed in!\");\n");
}

static void put_call(cgen *c, const cgen_unit *u)
{
    size_t i = 0, nparams = count_params(c->graph);
    cfx_out_puts(c->out, "static cfx_value ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out,
                 "_call(cfx_scope *s, const cfx_value *in, void *user)\n{\n");
    if (!nparams)
        cfx_out_puts(c->out, "    (void)in;\n");
    for (const cfx_node *n = first_param(c->graph); n;
         n = next_param(cfx_node_next(n)))
        put_check(c, n, i++);
    cfx_out_puts(c->out, "    size_t frame = cfx_scope_enter(s);\n"
                         "    return cfx_scope_leave(s, frame,\n        ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_forward(s, user");
    i = 0;
    for (const cfx_node *n = first_param(c->graph); n;
         n = next_param(cfx_node_next(n)))
        put_input(c, n, i++);
    cfx_out_puts(c->out, "));\n}\n\n");
}

static void put_entry(cgen *c, const cgen_unit *u, bool built)
{
    const char *name = cfx_module_class_name(u->gm);
    cfx_out_puts(c->out, is_last(c, u) ? "const cfx_compiled "
                                       : "static const cfx_compiled ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_compiled = {\n"
                         "    .size = sizeof(cfx_compiled),\n"
                         "    .name = ");
    cgen_literal(c, name, strlen(name));
    cfx_out_puts(c->out, ",\n    .params = ");
    put_params(c);
    cfx_out_puts(c->out, ",\n    .nparams = ");
    cfx_out_int(c->out, (int64_t)count_params(c->graph));
    cfx_out_puts(c->out, ",\n    .forward = ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, "_call,\n");
    if (built) {
        cfx_out_puts(c->out, "    .build = ");
        cfx_out_puts(c->out, u->prefix);
        cfx_out_puts(c->out, "_build,\n");
    }
    cfx_out_puts(c->out, "};\n\n");
}

/* ---- One GraphModule ---- */

static bool prepare(cgen *c, const cfx_graph *g)
{
    size_t n = cfx_graph_ids(g) + 1;
    c->graph = g;
    c->name = cfx_calloc(c->ctx, n, sizeof(*c->name));
    c->last_use = cfx_calloc(c->ctx, n, sizeof(*c->last_use));
    cfx_map_init(&c->used, c->ctx);
    cfx_names_init(&c->guessed, c->ctx);
    if (!c->name || !c->last_use)
        return false;
    for (const cfx_node *u = cfx_graph_first(g); u; u = cfx_node_next(u))
        for (uint32_t i = 0; i < u->ninputs; i++)
            c->last_use[cfx_node_input(u, i)->id] = u;
    return true;
}

static void release_unit(cgen *c)
{
    size_t n = cfx_graph_ids(c->graph) + 1;
    cfx_free(c->ctx, c->name, n * sizeof(*c->name));
    cfx_free(c->ctx, c->last_use, n * sizeof(*c->last_use));
    cfx_map_release(&c->used);
    cfx_names_release(&c->guessed);
}

static void put_unit(cgen *c, const cgen_unit *u)
{
    bool built = is_last(c, u) && !c->how->no_build;
    if (!prepare(c, cfx_graph_module_graph(u->gm))) {
        cgen_no_memory(c);
    } else {
        choose_names(c);
        if (is_last(c, u))
            put_prototypes(c, u);
        if (!c->out->status) {
            put_forward(c, u);
            put_call(c, u);
        }
        if (built && !c->out->status)
            cgen_build(c, u);
        if (!c->out->status)
            put_entry(c, u, built);
        if (built && !c->how->no_main && !c->out->status)
            cgen_main(c, u, count_params(c->graph));
    }
    release_unit(c);
}

/* ---- The file ---- */

/* Make a prefix for functions that no other GraphModule has. */
static const char *make_prefix(cgen *c, const char *name)
{
    size_t len;
    cfx_names_candidate(&c->buf, CFX_PLACEHOLDER, name);
    for (size_t i = 0; i < c->buf.len; i++) {
        char ch = c->buf.s[i];
        if (!((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9')))
            c->buf.s[i] = '_';
    }
    bool bad = !c->buf.len || c->buf.s[0] == '_' ||
               (c->buf.s[0] >= '0' && c->buf.s[0] <= '9') ||
               !strncmp(c->buf.s, "cfx_", 4) || !strcmp(c->buf.s, "cfx");
    char *first = cfx_arena_strdup(&c->arena, cfx_buf_str(&c->buf),
                                   c->buf.len);
    cfx_buf_clear(&c->buf);
    cfx_buf_puts(&c->buf, bad ? "m_" : "");
    cfx_buf_puts(&c->buf, first ? first : "");
    len = c->buf.len;
    for (uint64_t i = 2; first && !c->buf.failed; i++) {
        bool added = false;
        char *key = cfx_arena_strdup(&c->arena, c->buf.s, c->buf.len);
        if (!key || !cfx_map_put(&c->taken, key, c->buf.len, &added))
            return NULL;
        if (added)
            return key;
        c->buf.len = len;
        cfx_buf_printf(&c->buf, "_%llu", (unsigned long long)i);
    }
    return NULL;
}

/* Collect all GraphModules below gm, children first. */
static bool find_units(cgen *c, const cfx_module *gm)
{
    const cfx_module *m;
    size_t n = 0;
    for (m = gm; m; m = cfx_module_next(m, gm))
        c->nunits += cfx_graph_module_graph(m) != NULL;
    c->unit = cfx_arena_alloc(&c->arena, c->nunits * sizeof(*c->unit));
    if (!c->unit)
        return false;
    for (m = gm; m; m = cfx_module_next(m, gm)) {
        const char *name = m == gm ? cfx_module_class_name(m)
                                   : cfx_module_name(m);
        if (!cfx_graph_module_graph(m))
            continue;
        if (m == gm && c->how->prefix)
            name = c->how->prefix;
        cgen_unit *u = &c->unit[c->nunits - ++n];
        u->gm = m;
        u->prefix = make_prefix(c, name);
        if (!u->prefix)
            return false;
    }
    return true;
}

static void put_head(cgen *c, const cgen_unit *u)
{
    cfx_out_puts(c->out, "/*\n * ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, ".c -- made by cfx of the graph of ");
    for (const char *p = cfx_module_class_name(u->gm); *p; p++)
        cfx_out_putc(c->out, *p == '/' || *p == '*' || *p == '\n' ? '_' : *p);
    cfx_out_puts(c->out, ".\n *\n *     cc ");
    cfx_out_puts(c->out, u->prefix);
    cfx_out_puts(c->out, ".c $(pkg-config --cflags --libs cfx)\n */\n"
                         "#include <math.h>\n"
                         "#include <stdint.h>\n\n"
                         "#include <cfx/codegen.h>\n\n");
}

static void put_file(cgen *c, const cfx_module *gm)
{
    if (!cgen_find_functions(c) || !find_units(c, gm)) {
        cgen_no_memory(c);
        return;
    }
    put_head(c, &c->unit[c->nunits - 1]);
    for (size_t i = 0; i < c->nunits && !c->out->status; i++)
        put_unit(c, &c->unit[i]);
}

cfx_status cfx_print_c(cfx_sink to, const cfx_module *gm,
                       const cfx_c_options *options, cfx_error *err)
{
    static const cfx_c_options plain = {.size = sizeof(plain)};
    cfx_out out;
    cgen c = {.ctx = cfx_module_context(gm),
              .out = &out,
              .err = err,
              .how = options ? options : &plain};
    if (!cfx_graph_module_graph(gm))
        return cfx_fail(err, CFX_EINVAL, "%s has no graph",
                        cfx_module_class_name(gm));
    cfx_out_init(&out, to);
    cfx_arena_init(&c.arena, c.ctx);
    cfx_buf_init(&c.buf, c.ctx);
    cfx_map_init(&c.taken, c.ctx);
    cfx_map_init(&c.heads, c.ctx);
    put_file(&c, gm);
    cfx_map_release(&c.heads);
    cfx_map_release(&c.taken);
    cfx_buf_release(&c.buf);
    cfx_arena_release(&c.arena);
    return cfx_out_finish(&out, err);
}
