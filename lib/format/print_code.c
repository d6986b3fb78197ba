/*
 * print_code -- the Python code that torch.fx generates of a graph.
 *
 * Names in code come from a namespace of their own, in which the globals that
 * the code needs are entered as it is written; so a value may have another
 * name here than in the graph. The parameters and the lines that mark wrapped
 * functions stand above the body but are known only after it: all three are
 * gathered, then written. A value is released (`;  x = None`) on the line of
 * its last user.
 */
#include "format/print.h"
#include "graph/names.h"

typedef struct coder {
    cfx_context *ctx;
    const cfx_graph *graph;
    const cfx_code_options *how;
    cfx_names names;
    cfx_map globals;           /* qualified name -> its name here */
    cfx_map wrapped;           /* the names of wrapped functions */
    const char **name;         /* of each node, by id; NULL: none yet */
    const cfx_node **last_use; /* of each node, by id */
    size_t nids;
    cfx_buf params, wraps, body, type, summary, last_summary;
    cfx_out *out;              /* to the body, or to the parameters */
    cfx_values values;
    cfx_error *err;
} coder;

/* ---- Names ---- */

static const char *make_name(coder *c, const char *candidate, bool any)
{
    cfx_map_entry *e = cfx_names_create(&c->names, candidate,
                                        strlen(candidate), any);
    if (!e)
        cfx_out_fail(c->out, CFX_ENOMEM);
    return e ? e->key : "";
}

static const char *name_of(void *user, const cfx_node *n)
{
    coder *c = user;
    if (!c->name[n->id])
        c->name[n->id] = make_name(c, n->name, false);
    return c->name[n->id];
}

static bool starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* Is it a function or type of torch, which keeps its dotted name? Methods of
 * Tensor and what belongs to the compiler do not. */
static bool is_of_torch(const char *qualified)
{
    const char *dot = strrchr(qualified, '.');
    if (!dot || !starts(qualified, "torch.") ||
        !strcmp(qualified, "torch.device"))
        return false;
    if (starts(qualified, "torch.Tensor.") && dot == qualified + 12)
        return false;
    return !strstr(qualified, "._dynamo.") && !strstr(qualified, "._inductor.");
}

/* The name of a function or type, by its qualified name, of `len` bytes. */
static const char *global_name(coder *c, const char *qualified, bool builtin)
{
    if (is_of_torch(qualified))
        return qualified;
    size_t len = strlen(qualified);
    cfx_map_entry *e = cfx_map_get(&c->globals, qualified, len);
    if (e)
        return e->v.p;
    const char *name = make_name(c, qualified, builtin);
    char *key = cfx_arena_strdup(&c->names.text, qualified, len);
    e = key ? cfx_map_put(&c->globals, key, len, NULL) : NULL;
    if (!e) {
        cfx_out_fail(c->out, CFX_ENOMEM);
        return "";
    }
    e->v.p = (void *)name;
    return name;
}

static void add_standard_globals(coder *c)
{
    static const char *const standard[] = {
        "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"};
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
        global_name(c, standard[i], true);
}

/* The name of the function that a target spells as torch.fx prints it. */
static const char *function_name(coder *c, const char *target)
{
    char buf[256];
    if (starts(target, "builtins."))
        return global_name(c, target + 9, true);
    if (!strcmp(target, "torch.device"))
        return global_name(c, "device", true);
    if (starts(target, "operator.") && strlen(target) < sizeof(buf) - 1) {
        buf[0] = '_';
        strcpy(buf + 1, target);
        return global_name(c, buf, false);
    }
    return global_name(c, target, false);
}

/* ---- Types ---- */

static bool is_name_char(char ch)
{
    return ch == '_' || ch == '.' || (ch >= '0' && ch <= '9') ||
           (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (unsigned char)ch >= 0x80;
}

static void put_type_name(coder *c, const char *s, size_t len)
{
    char name[256];
    if (len >= sizeof(name)) {
        cfx_out_add(c->out, s, len);
        return;
    }
    memcpy(name, s, len);
    name[len] = '\0';
    if (!strcmp(name, "None"))
        strcpy(name, "NoneType");
    cfx_out_puts(c->out, global_name(c, name, cfx_name_is_illegal(name)));
}

/* The type that graph text spells `typing.List[int]` is `typing_List[int]`
 * here, and an Optional is the Union that it stands for. */
static void put_type(coder *c, const char *t)
{
    uint64_t optional = 0; /* bit d: bracket d closes an Optional */
    int depth = 0;
    while (*t) {
        size_t n = 0;
        while (is_name_char(t[n]))
            n++;
        if (n == 15 && starts(t, "typing.Optional[") && depth < 63) {
            put_type_name(c, "typing.Union", 12);
            optional |= UINT64_C(1) << (depth + 1);
        } else if (n) {
            put_type_name(c, t, n);
        }
        t += n;
        if (n || !*t)
            continue;
        depth += *t == '[';
        if (*t == ']' && depth < 64 && optional >> depth & 1) {
            cfx_out_puts(c->out, ",NoneType");
            optional &= ~(UINT64_C(1) << depth);
        }
        depth -= *t == ']' && depth > 0;
        if (*t != ' ')
            cfx_out_putc(c->out, *t);
        t++;
    }
}

/* ` : TYPE`; in verbose code `: "f32[2, 3]"` where the tensor is known. */
static void put_annotation(coder *c, const cfx_node *n)
{
    cfx_value v = c->how->verbose ? cfx_print__meta_value(n) : CFX_NOTHING;
    if (v.kind == CFX_TENSOR) {
        cfx_out_puts(c->out, ": \"");
        cfx_print__type(c->out, v.u.tensor, false);
        cfx_out_putc(c->out, '"');
    } else if (v.kind == CFX_SYMINT) {
        cfx_out_puts(c->out, ": \"Sym(");
        cfx_print__value(&c->values, v);
        cfx_out_puts(c->out, ")\"");
    } else if (n->type.kind != CFX_ABSENT) {
        cfx_out_puts(c->out, " : ");
        put_type(c, n->type.u.str->text);
    }
}

/* ---- Expressions ---- */

static bool is_identifier(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(s[i]) || s[i] == '.')
            return false;
    return len && !(s[0] >= '0' && s[0] <= '9');
}

static const char *next_part(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? dot + 1 : NULL;
}

static void put_value(coder *c, cfx_value v)
{
    cfx_print__value(&c->values, v);
}

/* What `path` names below a value, or below self: `self.a.b`, and
 * `getattr(self.a, "0")` where a part is no identifier. */
static void put_path(coder *c, cfx_value base, const char *path)
{
    for (const char *p = path; p; p = next_part(p))
        if (!is_identifier(p, strcspn(p, ".")))
            cfx_out_puts(c->out, "getattr(");
    if (base.kind == CFX_ABSENT)
        cfx_out_puts(c->out, "self");
    else
        put_value(c, base);
    for (const char *p = path; p; p = next_part(p)) {
        size_t n = strcspn(p, ".");
        bool plain = is_identifier(p, n);
        cfx_out_puts(c->out, plain ? "." : ", \"");
        cfx_out_add(c->out, p, n);
        cfx_out_puts(c->out, plain ? "" : "\")");
    }
}

static void put_call(coder *c, const cfx_node *n, uint32_t first)
{
    bool any = n->nargs > first;
    cfx_out_putc(c->out, '(');
    if (any)
        cfx_print__items(&c->values, n->args + first, n->nargs - first);
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        if (any)
            cfx_out_puts(c->out, ", ");
        any = true;
        cfx_out_puts(c->out, n->kwargs[2 * i].u.str->text);
        cfx_out_puts(c->out, " = ");
        put_value(c, n->kwargs[2 * i + 1]);
    }
    cfx_out_putc(c->out, ')');
}

typedef struct infix {
    const char *name, *form; /* `@` stands for the next argument */
} infix;

static const infix infixes[] = {
    {"eq", "@ == @"}, {"ne", "@ != @"}, {"lt", "@ < @"}, {"gt", "@ > @"},
    {"le", "@ <= @"}, {"ge", "@ >= @"}, {"pos", "+@"}, {"neg", "-@"},
    {"invert", "~@"}, {"add", "@ + @"}, {"sub", "@ - @"}, {"mul", "@ * @"},
    {"floordiv", "@ // @"}, {"truediv", "@ / @"}, {"div", "@ / @"},
    {"mod", "@ % @"}, {"pow", "@ ** @"}, {"lshift", "@ << @"},
    {"rshift", "@ >> @"}, {"and_", "@ & @"}, {"or_", "@ | @"},
    {"xor", "@ ^ @"}, {"getitem", "@[@]"}, {"matmul", "@ \x01 @"}};

static const infix inplace[] = {
    {"iadd", "@ += @"}, {"iand", "@ &= @"}, {"ifloordiv", "@ //= @"},
    {"ilshift", "@ <<= @"}, {"imod", "@ %= @"}, {"imul", "@ *= @"},
    {"imatmul", "@ \x01= @"}, {"ior", "@ |= @"}, {"ipow", "@ **= @"},
    {"irshift", "@ >>= @"}, {"isub", "@ -= @"}, {"itruediv", "@ /= @"},
    {"ixor", "@ ^= @"}, {"setitem", "@[@] = @"}};

/* The form in which an operator with `nargs` arguments is written, or NULL. */
static const char *find_form(const infix *table, size_t n, const char *target,
                             uint32_t nargs)
{
    if (!starts(target, "operator."))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].name, target + 9))
            continue;
        uint32_t want = 0;
        for (const char *f = table[i].form; *f; f++)
            want += *f == '@';
        return nargs >= want ? table[i].form : NULL;
    }
    return NULL;
}

static void put_form(coder *c, const char *form, const cfx_value *arg)
{
    for (; *form; form++)
        if (*form == '@')
            put_value(c, *arg++);
        else
            cfx_out_putc(c->out, *form == '\x01' ? '@' : *form);
}

/* ---- Statements ---- */

static void put_assignment(coder *c, const cfx_node *n)
{
    cfx_out_puts(c->out, name_of(c, n));
    put_annotation(c, n);
    cfx_out_puts(c->out, " = ");
}

static void note_wrapped(coder *c, const cfx_node *n, const char *name)
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

static bool put_getattr(coder *c, const cfx_node *n, const char *global)
{
    if (strcmp(global, "getattr") || n->nargs != 2 ||
        n->args[1].kind != CFX_STR ||
        !is_identifier(n->args[1].u.str->text, n->args[1].u.str->len))
        return false;
    put_assignment(c, n);
    put_path(c, n->args[0], n->args[1].u.str->text);
    return true;
}

static void put_function(coder *c, const cfx_node *n)
{
    const char *target = cfx_print__target(n);
    const char *form = find_form(infixes, sizeof(infixes) / sizeof(infix),
                                 target, n->nargs);
    if (form) {
        put_assignment(c, n);
        put_form(c, form, n->args);
        return;
    }
    form = find_form(inplace, sizeof(inplace) / sizeof(infix), target,
                     n->nargs);
    if (form) {
        put_form(c, form, n->args);
        cfx_out_puts(c->out, ";  ");
        put_assignment(c, n);
        put_value(c, n->args[0]);
        return;
    }
    const char *global = function_name(c, target);
    if (put_getattr(c, n, global))
        return;
    put_assignment(c, n);
    cfx_out_puts(c->out, global);
    put_call(c, n, 0);
    note_wrapped(c, n, global);
}

static void put_margin(coder *c)
{
    cfx_out_repeat(c->out, ' ', c->how->indent + 4);
}

static void put_parameter(coder *c, const cfx_node *n)
{
    const char *target = n->target.u.str->text;
    cfx_out *body = c->out, out;
    cfx_out_init(&out, cfx_sink_buf(&c->params));
    c->out = c->values.out = &out;
    if (c->params.len || strcmp(target, "self"))
        cfx_out_puts(&out, c->params.len ? ", " : "self, ");
    cfx_out_puts(&out, target);
    put_annotation(c, n);
    if (n->nargs) {
        cfx_out_puts(&out, " = ");
        put_value(c, n->args[0]);
    }
    c->out = c->values.out = body;
    cfx_out_fail(body, cfx_out_finish(&out, c->err));

    const char *raw = target + strspn(target, "*");
    if (strcmp(raw, name_of(c, n))) {
        put_margin(c);
        cfx_out_puts(body, name_of(c, n));
        cfx_out_puts(body, " = ");
        cfx_out_puts(body, raw);
        cfx_out_putc(body, '\n');
    }
}

/* `;  a = b = None`: inputs that n is the last to use, and n itself where
 * nobody uses it. */
static void put_releases(coder *c, const cfx_node *n)
{
    const char *before = ";  ";
    for (uint32_t i = 0; i <= n->ninputs; i++) {
        const cfx_node *x = i < n->ninputs ? cfx_node_input(n, i) : n;
        bool ends = x == n ? !n->nusers : c->last_use[x->id] == n;
        if (!ends)
            continue;
        cfx_out_puts(c->out, before);
        cfx_out_puts(c->out, name_of(c, x));
        before = " = ";
    }
    cfx_out_puts(c->out, *before == ' ' ? " = None\n" : "\n");
}

/* A comment, where it differs from the one before it. */
static void put_summary(coder *c, const cfx_node *n)
{
    cfx_out out;
    bool first = !c->body.len && !c->out->len;
    cfx_buf_clear(&c->summary);
    cfx_out_init(&out, cfx_sink_buf(&c->summary));
    cfx_print__summary(&out, n, c->ctx, c->err);
    cfx_out_fail(c->out, cfx_out_finish(&out, c->err));
    if (c->last_summary.len == c->summary.len && c->summary.len &&
        !memcmp(c->last_summary.s, c->summary.s, c->summary.len))
        return;
    if (!first)
        cfx_out_putc(c->out, '\n');
    put_margin(c);
    cfx_out_add(c->out, cfx_buf_str(&c->summary), c->summary.len);
    cfx_out_putc(c->out, '\n');
    cfx_buf was = c->last_summary;
    c->last_summary = c->summary;
    c->summary = was;
}

static void put_output(coder *c, const cfx_node *n)
{
    if (n->type.kind != CFX_ABSENT) {
        cfx_out *body = c->out, out;
        cfx_out_init(&out, cfx_sink_buf(&c->type));
        c->out = &out;
        cfx_out_puts(&out, " -> ");
        put_type(c, n->type.u.str->text);
        c->out = body;
        cfx_out_fail(body, cfx_out_finish(&out, c->err));
    }
    put_margin(c);
    cfx_out_puts(c->out, "return ");
    put_value(c, n->nargs ? n->args[0] : cfx_none());
    cfx_out_putc(c->out, '\n');
}

static void put_node(coder *c, const cfx_node *n)
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
    put_margin(c);
    if (n->op == CFX_CALL_FUNCTION) {
        put_function(c, n);
    } else {
        put_assignment(c, n);
        bool method = n->op == CFX_CALL_METHOD;
        put_path(c, method && n->nargs ? n->args[0] : CFX_NOTHING,
                 n->target.u.str->text);
        if (n->op != CFX_GET_ATTR)
            put_call(c, n, method);
    }
    put_releases(c, n);
}

/* ---- The whole ---- */

static bool prepare(coder *c)
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

static void put_body(coder *c)
{
    cfx_out out;
    cfx_out_init(&out, cfx_sink_buf(&c->body));
    c->out = c->values.out = &out;
    add_standard_globals(c);
    for (const cfx_node *n = cfx_graph_first(c->graph); n && !out.status;
         n = cfx_node_next(n))
        put_node(c, n);
    if (!cfx_graph_first(c->graph)) {
        put_margin(c);
        cfx_out_puts(&out, "pass\n");
    }
    c->out = c->values.out = NULL;
    cfx_status st = cfx_out_finish(&out, c->err);
    c->body.failed = c->body.failed || st == CFX_ENOMEM;
    if (st)
        cfx_fail(c->err, st, "the code cannot be written");
}

static void put_indented(cfx_out *o, const coder *c, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        cfx_out_repeat(o, ' ', c->how->indent);
        cfx_out_add(o, text, n);
        text += n + (text[n] == '\n');
        if (*text)
            cfx_out_putc(o, '\n');
    }
}

static void assemble(cfx_out *o, coder *c)
{
    const char *name = c->how->class_name;
    if (name) {
        cfx_out_repeat(o, ' ', c->how->indent - 4);
        cfx_out_puts(o, "class ");
        cfx_out_puts(o, name);
        cfx_out_puts(o, "(torch.nn.Module):\n");
    } else {
        cfx_out_putc(o, '\n');
    }
    put_indented(o, c, cfx_buf_str(&c->wraps));
    if (!name || c->wraps.len)
        cfx_out_puts(o, "\n\n");
    cfx_out_repeat(o, ' ', c->how->indent);
    cfx_out_puts(o, "def forward(");
    cfx_out_puts(o, c->params.len ? cfx_buf_str(&c->params) : "self");
    cfx_out_putc(o, ')');
    cfx_out_puts(o, cfx_buf_str(&c->type));
    cfx_out_puts(o, ":\n");
    cfx_out_add(o, cfx_buf_str(&c->body), c->body.len);
    if (!name)
        cfx_out_puts(o, "    ");
}

static void release(coder *c)
{
    cfx_free(c->ctx, c->name, (c->nids + 1) * sizeof(*c->name));
    cfx_free(c->ctx, c->last_use, (c->nids + 1) * sizeof(*c->last_use));
    cfx_buf_release(&c->params);
    cfx_buf_release(&c->wraps);
    cfx_buf_release(&c->body);
    cfx_buf_release(&c->type);
    cfx_buf_release(&c->summary);
    cfx_buf_release(&c->last_summary);
    cfx_map_release(&c->wrapped);
    cfx_map_release(&c->globals);
    cfx_names_release(&c->names);
}

void cfx_print__code(cfx_out *o, const cfx_graph *g,
                     const cfx_code_options *how, cfx_error *err)
{
    cfx_error own = {CFX_OK, ""};
    coder c = {.ctx = cfx_graph_context(g), .graph = g, .how = how,
               .err = err ? err : &own};
    c.values = (cfx_values){.style = CFX_STYLE_CODE, .node_name = name_of,
                            .user = &c, .err = c.err};
    cfx_names_init(&c.names, c.ctx);
    cfx_map_init(&c.globals, c.ctx);
    cfx_map_init(&c.wrapped, c.ctx);
    cfx_buf *bufs[] = {&c.params, &c.wraps, &c.body, &c.type, &c.summary,
                       &c.last_summary};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_init(bufs[i], c.ctx);
    if (!prepare(&c))
        cfx_fail(c.err, CFX_ENOMEM, "out of memory");
    else
        put_body(&c);
    if (c.wraps.failed)
        cfx_fail(c.err, CFX_ENOMEM, "out of memory");
    if (c.err->code)
        cfx_out_fail(o, c.err->code);
    else
        assemble(o, &c);
    release(&c);
}

cfx_status cfx_print_code(cfx_sink to, const cfx_graph *g, cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_print__code(&out, g, &(cfx_code_options){.indent = 0}, err);
    return cfx_out_finish(&out, err);
}
