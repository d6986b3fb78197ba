/*
 * print_code -- print the Python code that torch.fx generates for a graph.
 *
 * The code has its own namespace, which includes the globals that it uses; so
 * a value's name may differ from the graph's. The parameters and the lines
 * that mark wrapped functions stand above the body but are known only after
 * it: all three are gathered, then written. A value is released (`; x = None`)
 * on the line of its last user.
 */
#include "format/python/code_forms.h"
#include "format/python/coder.h"

/* ---- Types and colours ---- */

#define RED "\033[31m"
#define BLUE "\033[34m"
#define DIM "\033[2m"
#define DIM_BLUE DIM BLUE
#define DIM_GREEN DIM "\033[32m"

static void begin_color(cfx_coder *c, const char *color)
{
    if (c->how->colored)
        cfx_out_puts(c->out, color);
}

static void end_color(cfx_coder *c)
{
    begin_color(c, "\033[0m");
}

static void put_tensor_type(cfx_coder *c, const cfx_tensor *t)
{
    begin_color(c, RED);
    cfx_out_puts(c->out, cfx_dtypes[t->dtype].abbr);
    end_color(c);
    begin_color(c, BLUE);
    cfx_print__extents(c->out, t->rank, t->shape);
    end_color(c);
    begin_color(c, DIM_BLUE);
    if (c->how->include_stride)
        cfx_print__extents(c->out, t->rank, t->stride);
    end_color(c);
    begin_color(c, DIM_GREEN);
    if (c->how->include_device) {
        char device[32];
        cfx_device_format(t->device, device, sizeof(device));
        cfx_out_puts(c->out, device);
    }
    end_color(c);
}

/* ` : TYPE`; in verbose code `: "f32[2, 3]"` where the tensor is known. */
static void put_annotation(cfx_coder *c, const cfx_node *n)
{
    cfx_value v = c->how->verbose ? cfx_print__meta_value(n) : CFX_NOTHING;
    if (v.kind == CFX_TENSOR) {
        cfx_out_puts(c->out, ": \"");
        put_tensor_type(c, v.u.tensor);
        cfx_out_putc(c->out, '"');
    } else if (v.kind == CFX_SYMINT) {
        cfx_values plain = c->values;
        plain.colored = false;
        cfx_out_puts(c->out, ": \"Sym(");
        cfx_out__value(&plain, v);
        cfx_out_puts(c->out, ")\"");
    } else if (n->type) {
        cfx_out_puts(c->out, " : ");
        cfx_coder__type(c, n->type->text);
    }
}

/* ---- Expressions ---- */

static const char *next_part(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? dot + 1 : NULL;
}

static void put_value(cfx_coder *c, cfx_value v)
{
    cfx_out__value(&c->values, v);
}

/* `, "0")`; torch.fx writes these quotes whatever is between them. */
static void put_odd_part(cfx_coder *c, const char *part, size_t n)
{
    bool plain = true;
    for (size_t i = 0; i < n; i++)
        plain = plain && part[i] != '"' && part[i] != '\\';
    cfx_out_puts(c->out, plain ? ", \"" : ", ");
    if (plain)
        cfx_out_add(c->out, part, n);
    else
        cfx_print__quoted(c->out, part, n);
    cfx_out_puts(c->out, plain ? "\")" : ")");
}

/* The attribute at `path` of a value or of self: `self.a.b`, or
 * `getattr(self.a, "0")` if a part is not an identifier. */
static void put_path(cfx_coder *c, cfx_value base, const char *path)
{
    for (const char *p = path; p; p = next_part(p))
        if (!cfx_name_is_identifier(p, strcspn(p, ".")))
            cfx_out_puts(c->out, "getattr(");
    if (base.kind == CFX_ABSENT)
        cfx_out_puts(c->out, "self");
    else
        put_value(c, base);
    for (const char *p = path; p; p = next_part(p)) {
        size_t n = strcspn(p, ".");
        if (cfx_name_is_identifier(p, n)) {
            cfx_out_putc(c->out, '.');
            cfx_out_add(c->out, p, n);
        } else {
            put_odd_part(c, p, n);
        }
    }
}

static void refuse_name(cfx_coder *c, const cfx_node *n, const char *name)
{
    cfx_out_fail(c->out,
                 cfx_fail(c->err, CFX_EUNSUPPORTED,
                          "%s: '%s' is not a name in Python", n->name, name));
}

static void put_call(cfx_coder *c, const cfx_node *n, uint32_t first)
{
    bool any = n->nargs > first;
    cfx_out_putc(c->out, '(');
    if (any)
        cfx_print__items(&c->values, n->args + first, n->nargs - first);
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        if (any)
            cfx_out_puts(c->out, ", ");
        any = true;
        const cfx_string *key = n->kwargs[2 * i].u.str;
        if (!cfx_name_is_identifier(key->text, key->len))
            refuse_name(c, n, key->text);
        cfx_out_add(c->out, key->text, key->len);
        cfx_out_puts(c->out, " = ");
        put_value(c, n->kwargs[2 * i + 1]);
    }
    cfx_out_putc(c->out, ')');
}

/* The form in which an operator with `nargs` arguments is written, or NULL. */
static const char *find_form(const cfx_code_form *table, const char *target,
                             uint32_t nargs)
{
    if (!cfx_starts(target, "operator."))
        return NULL;
    for (; table->name; table++) {
        if (strcmp(table->name, target + 9))
            continue;
        uint32_t want = 0;
        for (const char *f = table->form; *f; f++)
            want += *f == '@';
        return nargs >= want ? table->form : NULL;
    }
    return NULL;
}

static void put_form(cfx_coder *c, const char *form, const cfx_value *arg)
{
    for (; *form; form++)
        if (*form == '@')
            put_value(c, *arg++);
        else
            cfx_out_putc(c->out, *form == '\x01' ? '@' : *form);
}

/* ---- Statements ---- */

static void put_assignment(cfx_coder *c, const cfx_node *n)
{
    cfx_out_puts(c->out, cfx_coder__name(c, n));
    put_annotation(c, n);
    cfx_out_puts(c->out, " = ");
}

static void note_wrapped(cfx_coder *c, const cfx_node *n, const char *name)
{
    cfx_value wrapped = cfx_node_meta(n, "is_wrapped");
    bool added = false;
    if (wrapped.kind != CFX_BOOL_VALUE || !wrapped.u.i)
        return;
    if (!cfx_map_put(&c->wrapped, name, strlen(name), &added))
        c->wraps.failed = true;
    if (!added)
        return;
    cfx_buf_puts(&c->wraps, c->wraps.len ? "\n" : "");
    cfx_buf_puts(&c->wraps, "torch.fx._symbolic_trace.wrap(\"");
    cfx_buf_puts(&c->wraps, name);
    cfx_buf_puts(&c->wraps, "\")");
}

static bool put_getattr(cfx_coder *c, const cfx_node *n, const char *global)
{
    const cfx_string *name = n->nargs == 2 && n->args[1].kind == CFX_STR
                                 ? n->args[1].u.str
                                 : NULL;
    if (strcmp(global, "getattr") || !name ||
        !cfx_name_is_identifier(name->text, name->len))
        return false;
    put_assignment(c, n);
    put_path(c, n->args[0], n->args[1].u.str->text);
    return true;
}

static void put_function(cfx_coder *c, const cfx_node *n)
{
    const char *target = cfx_print__target(n);
    const char *form = find_form(cfx_code_infix, target, n->nargs);
    if (form) {
        put_assignment(c, n);
        put_form(c, form, n->args);
        return;
    }
    form = find_form(cfx_code_inplace, target, n->nargs);
    if (form) {
        put_form(c, form, n->args);
        cfx_out_puts(c->out, ";  ");
        put_assignment(c, n);
        put_value(c, n->args[0]);
        return;
    }
    const char *global = cfx_coder__function(c, target);
    if (put_getattr(c, n, global))
        return;
    put_assignment(c, n);
    cfx_out_puts(c->out, global);
    put_call(c, n, 0);
    note_wrapped(c, n, global);
}

/* End a line of the body that belongs to n. */
static void end_line(cfx_coder *c, const cfx_node *n)
{
    cfx_out_putc(c->out, '\n');
    if (!cfx_code_body__note(&c->body, n))
        cfx_out_fail(c->out, CFX_ENOMEM);
}

/* From now on `out` writes to `to`; the former is given back. */
static cfx_out *write_to(cfx_coder *c, cfx_out *out, cfx_buf *to)
{
    cfx_out *was = c->out;
    cfx_out_init(out, cfx_sink_buf(to));
    c->out = c->values.out = out;
    return was;
}

static void write_back(cfx_coder *c, cfx_out *was)
{
    cfx_status st = cfx_out_finish(c->out, c->err);
    c->out = c->values.out = was;
    if (st)
        cfx_out_fail(was, st);
}

static void put_desc(cfx_coder *c, const cfx_node *n)
{
    cfx_values str = {.style = CFX_STYLE_STR, .err = c->err};
    cfx_value desc = cfx_node_meta(n, "desc");
    cfx_out out, *body;
    if (!c->how->expanded_def || desc.kind <= CFX_NONE)
        return;
    body = write_to(c, &out, &c->descs);
    str.out = &out;
    cfx_out__value(&str, desc);
    write_back(c, body);
}

static void put_parameter(cfx_coder *c, const cfx_node *n)
{
    const char *target = n->target->text, *raw = target;
    while (*raw == '*' && raw - target < 2)
        raw++;
    if (!cfx_name_is_identifier(raw, strlen(raw))) {
        if (!cfx_name_is_parameter(raw, strlen(raw)))
            refuse_name(c, n, target);
        target = raw = cfx_coder__name(c, n);
    }
    cfx_out out, *body = write_to(c, &out, &c->params);
    cfx_out_puts(&out, target);
    put_annotation(c, n);
    if (n->nargs) {
        cfx_out_puts(&out, " = ");
        put_value(c, n->args[0]);
    }
    cfx_out_putc(&out, '\0');
    write_back(c, body);
    put_desc(c, n);
    cfx_buf_putc(&c->descs, '\0');
    cfx_buf_add(&c->param_names, target, strlen(target) + 1);
    c->nparams++;

    if (strcmp(raw, cfx_coder__name(c, n))) {
        cfx_out_puts(body, cfx_coder__name(c, n));
        cfx_out_puts(body, " = ");
        cfx_out_puts(body, raw);
        end_line(c, n);
    }
}

/* `;  a = b = None`: inputs that n is the last to use, and n itself where
 * nobody uses it. */
static void put_releases(cfx_coder *c, const cfx_node *n)
{
    const char *before = ";  ";
    for (uint32_t i = 0; i <= n->ninputs; i++) {
        bool is_input = i < n->ninputs;
        const cfx_node *x = is_input ? cfx_node_input(n, i) : n;
        bool ends = is_input ? c->last_use[x->id] == n : !n->nusers;
        if (!ends)
            continue;
        cfx_out_puts(c->out, before);
        if (*before == ';')
            begin_color(c, DIM);
        cfx_out_puts(c->out, cfx_coder__name(c, x));
        before = " = ";
    }
    if (*before == ' ') {
        cfx_out_puts(c->out, " = None");
        end_color(c);
    }
    end_line(c, n);
}

/* A comment, where it differs from the one before it. */
static void put_summary(cfx_coder *c, const cfx_node *n)
{
    cfx_out out;
    bool first = !c->body.text.len && !c->out->len;
    cfx_buf_clear(&c->summary);
    cfx_out_init(&out, cfx_sink_buf(&c->summary));
    cfx_print__summary(&out, n, c->how, c->err);
    cfx_out_fail(c->out, cfx_out_finish(&out, c->err));
    if (c->last_summary.len == c->summary.len && c->summary.len &&
        !memcmp(c->last_summary.s, c->summary.s, c->summary.len))
        return;
    if (!first)
        end_line(c, n);
    begin_color(c, DIM);
    cfx_out_add(c->out, cfx_buf_str(&c->summary), c->summary.len);
    end_color(c);
    end_line(c, n);
    cfx_buf was = c->last_summary;
    c->last_summary = c->summary;
    c->summary = was;
}

/* The items of a result, each on a line with its description. */
static void put_described(cfx_coder *c, const cfx_node *n, cfx_value v,
                          const cfx_seq *descs)
{
    cfx_values str = {.out = c->out, .style = CFX_STYLE_STR, .err = c->err};
    bool tuple = v.kind == CFX_TUPLE;
    cfx_out_puts(c->out, tuple ? "return (" : "return [");
    end_line(c, n);
    for (uint32_t i = 0; i < v.u.seq->len && i < descs->len; i++) {
        cfx_out_puts(c->out, "    ");
        put_value(c, v.u.seq->item[i]);
        cfx_out_puts(c->out, ",  # ");
        cfx_out__value(&str, descs->item[i]);
        end_line(c, n);
    }
    cfx_out_putc(c->out, tuple ? ')' : ']');
    end_line(c, n);
}

static void put_custom_end(cfx_coder *c, const cfx_node *n, cfx_value v)
{
    const cfx_codegen *gen = c->how->codegen;
    cfx_buf value, text;
    cfx_out out, *body;
    cfx_buf_init(&value, c->ctx);
    cfx_buf_init(&text, c->ctx);
    body = write_to(c, &out, &value);
    put_value(c, v);
    write_back(c, body);
    cfx_status st = body->status ? body->status
                                 : gen->end(gen->user, cfx_sink_buf(&text),
                                            cfx_buf_str(&value), c->err);
    cfx_out_fail(body, text.failed ? CFX_ENOMEM : st);
    for (const char *s = cfx_buf_str(&text); *s && !body->status;) {
        size_t len = strcspn(s, "\n");
        cfx_out_add(body, s, len);
        end_line(c, n);
        s += len + (s[len] == '\n');
    }
    cfx_buf_release(&text);
    cfx_buf_release(&value);
}

static void put_output(cfx_coder *c, const cfx_node *n)
{
    cfx_value v = n->nargs ? n->args[0] : cfx_none();
    cfx_value descs = c->how->expanded_def ? cfx_node_meta(n, "desc")
                                           : CFX_NOTHING;
    if (n->type) {
        cfx_out out, *body = write_to(c, &out, &c->type);
        cfx_out_puts(&out, " -> ");
        cfx_coder__type(c, n->type->text);
        write_back(c, body);
    }
    if (c->how->codegen && c->how->codegen->end) {
        put_custom_end(c, n, v);
    } else if (cfx_value_is_seq(v) && cfx_value_is_seq(descs)) {
        put_described(c, n, v, descs.u.seq);
    } else {
        cfx_out_puts(c->out, "return ");
        put_value(c, v);
        end_line(c, n);
    }
}

static void put_node(cfx_coder *c, const cfx_node *n)
{
    if (n->op == CFX_PLACEHOLDER) {
        put_parameter(c, n);
        return;
    }
    if (n->op == CFX_OUTPUT) {
        put_output(c, n);
        return;
    }
    if (c->how->verbose)
        put_summary(c, n);
    if (n->op == CFX_CALL_FUNCTION) {
        put_function(c, n);
    } else {
        put_assignment(c, n);
        bool method = n->op == CFX_CALL_METHOD;
        put_path(c, method && n->nargs ? n->args[0] : CFX_NOTHING,
                 n->target->text);
        if (n->op != CFX_GET_ATTR)
            put_call(c, n, method);
    }
    put_releases(c, n);
}

/* ---- The whole ---- */

static bool prepare(cfx_coder *c)
{
    const cfx_node *n;
    c->nids = cfx_graph_ids(c->graph);
    c->name = cfx_calloc(c->ctx, c->nids + 1, sizeof(*c->name));
    c->last_use = cfx_calloc(c->ctx, c->nids + 1, sizeof(*c->last_use));
    if (!c->name || !c->last_use)
        return false;
    for (n = cfx_graph_first(c->graph); n; n = cfx_node_next(n))
        for (uint32_t i = 0; i < n->ninputs; i++)
            c->last_use[cfx_node_input(n, i)->id] = n;
    return true;
}

static void put_body(cfx_coder *c)
{
    cfx_out out;
    cfx_out_init(&out, cfx_sink_buf(&c->body.text));
    c->out = c->values.out = &out;
    cfx_coder__add_globals(c);
    for (const cfx_node *n = cfx_graph_first(c->graph); n && !out.status;
         n = cfx_node_next(n))
        put_node(c, n);
    if (!cfx_graph_first(c->graph)) {
        cfx_out_puts(&out, "pass");
        end_line(c, NULL);
    }
    c->out = c->values.out = NULL;
    if (cfx_out_finish(&out, c->err))
        cfx_fail(c->err, out.status, "the code cannot be written");
}

static void init(cfx_coder *c, const cfx_graph *g, const cfx_code_options *how)
{
    cfx_buf *bufs[] = {&c->params,  &c->param_names, &c->descs,
                       &c->wraps,   &c->body.text,   &c->type,
                       &c->summary, &c->last_summary};
    c->graph = g;
    c->ctx = cfx_graph_context(g);
    c->how = how;
    c->body.notes = how->line || how->transform;
    c->values = (cfx_values){.style = CFX_STYLE_CODE,
                             .colored = how->colored,
                             .node_name = cfx_coder__name,
                             .user = c,
                             .err = c->err};
    cfx_names_init(&c->names, c->ctx);
    cfx_map_init(&c->globals, c->ctx);
    cfx_map_init(&c->wrapped, c->ctx);
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_init(bufs[i], c->ctx);
}

static void release(cfx_coder *c)
{
    cfx_free(c->ctx, c->name, (c->nids + 1) * sizeof(*c->name));
    cfx_free(c->ctx, c->last_use, (c->nids + 1) * sizeof(*c->last_use));
    cfx_buf_release(&c->params);
    cfx_buf_release(&c->param_names);
    cfx_buf_release(&c->descs);
    cfx_buf_release(&c->wraps);
    cfx_buf_release(&c->type);
    cfx_buf_release(&c->summary);
    cfx_buf_release(&c->last_summary);
    cfx_code_body__release(&c->body);
    cfx_map_release(&c->wrapped);
    cfx_map_release(&c->globals);
    cfx_names_release(&c->names);
}

void cfx_out__code(cfx_out *o, const cfx_graph *g, const cfx_code_options *how,
                   cfx_code_frame *frame, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_coder c = {.err = err ? err : &own};
    init(&c, g, how);
    if (!prepare(&c))
        cfx_no_memory(c.err);
    else
        put_body(&c);
    if (c.wraps.failed || c.descs.failed || c.param_names.failed)
        cfx_no_memory(c.err);
    if (!c.err->code)
        cfx_coder__transform(&c);
    if (c.err->code)
        cfx_out_fail(o, c.err->code);
    else
        cfx_coder__assemble(o, &c, frame);
    release(&c);
}

cfx_status cfx_print_code_with(cfx_sink to, const cfx_graph *g,
                               const cfx_code_options *options, cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_out__code(&out, g, options, &(cfx_code_frame){.lines = 0}, err);
    return cfx_out_finish(&out, err);
}

cfx_status cfx_print_code(cfx_sink to, const cfx_graph *g, cfx_error *err)
{
    return cfx_print_code_with(
        to, g, &(cfx_code_options){.size = sizeof(cfx_code_options)}, err);
}
