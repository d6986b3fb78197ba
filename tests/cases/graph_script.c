/*
 * graph_script -- does to graphs what a script says, and writes what became of
 * them. Argument: the script, whose grammar is in tests/oracle/README.md.
 *
 * oracle/random_graphs.py makes scripts, does the same to graphs of torch.fx,
 * and compares what both write. A command that fails writes its error and the
 * script goes on; the program fails for a script that it cannot read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/graph_module.h>
#include <cfx/rewriter.h>
#include <cfx/text.h>

enum { MAX_MODELS = 64 };

typedef struct model {
    char name[32];
    cfx_module *gm;
} model;

/* The graph that is edited is that of the first model. */
typedef struct script {
    cfx_context *ctx;
    cfx_sink out;
    cfx_error *err;
    model models[MAX_MODELS];
    size_t nmodels;
    cfx_graph *g;
    const cfx_value *in; /* arguments of the command */
    size_t n;
} script;

/* ---- Arguments ---- */

/* None or nothing is NULL. */
static const char *text_at(const script *s, size_t i)
{
    return i < s->n && s->in[i].kind == CFX_STR ? s->in[i].u.str->text : NULL;
}

static cfx_opcode opcode_at(const script *s, size_t i)
{
    const char *name = text_at(s, i);
    cfx_opcode op = CFX_PLACEHOLDER;
    while (name && op < CFX_OUTPUT && strcmp(cfx_opcode_names[op], name))
        op++;
    return op;
}

static cfx_node *node_at(const script *s, size_t i)
{
    cfx_value v = i < s->n ? s->in[i] : CFX_NOTHING;
    if (v.kind == CFX_NODE)
        return v.u.node;
    cfx_fail(s->err, CFX_EINVAL, "argument %zu should be a node, not %s", i,
             cfx_kind_name((cfx_kind)v.kind));
    return NULL;
}

static cfx_graph *graph_at(const script *s, size_t i)
{
    const char *name = text_at(s, i);
    for (size_t k = 0; name && k < s->nmodels; k++)
        if (!strcmp(s->models[k].name, name))
            return cfx_graph_module_graph(s->models[k].gm);
    cfx_fail(s->err, CFX_ENAME, "no model %s", name ? name : "is named");
    return NULL;
}

/* Items of a tuple, a list or a dict; none where it is left out. */
static cfx_seq *items_at(const script *s, size_t i)
{
    static cfx_seq none;
    if (i >= s->n)
        return &none;
    bool has = cfx_value_is_seq(s->in[i]) || s->in[i].kind == CFX_DICT;
    return has ? s->in[i].u.seq : &none;
}

/* ---- What is written ---- */

static cfx_status put_node(const cfx_node *n)
{
    if (!n)
        return CFX_EGRAPH;
    printf("%s\n", n->name);
    return CFX_OK;
}

static cfx_status put_bool(cfx_status st, bool b)
{
    if (!st)
        puts(b ? "True" : "False");
    return st;
}

static void put_name(void *data, cfx_node *n)
{
    bool *first = data;
    printf("%s%s", *first ? "" : " ", n->name);
    *first = false;
}

static cfx_status put_value(script *s, cfx_value v)
{
    return cfx_print_value(s->out, cfx_value_is_none(v) ? cfx_none() : v,
                           CFX_STYLE_REPR, s->err);
}

static cfx_status graph(script *s)
{
    bool first = true;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n))
        put_name(&first, n);
    putchar('\n');
    cfx_status st = cfx_print_graph(s->out, s->g, false, s->err);
    putchar('\n');
    return st;
}

/* The order of inputs and users, which other texts do not show. */
static cfx_status users(script *s)
{
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        bool first = true;
        for (uint32_t i = 0; i < n->ninputs; i++)
            put_name(&first, cfx_node_input(n, i));
        printf("%s%s :", first ? "" : " : ", n->name);
        first = false;
        for (const cfx_use *u = n->first_user; u; u = u->next)
            put_name(&first, u->user);
        putchar('\n');
    }
    return CFX_OK;
}

static cfx_status code(script *s)
{
    cfx_status st = cfx_print_code(s->out, s->g, s->err);
    putchar('\n');
    return st;
}

static cfx_status modules(script *s)
{
    cfx_status st = cfx_print_modules(s->out, s->models[0].gm, s->err);
    putchar('\n');
    return st;
}

static cfx_status find_nodes(script *s)
{
    cfx_opcode op = opcode_at(s, 0);
    const char *target = text_at(s, 1);
    bool first = true;
    for (cfx_node *n = NULL; (n = cfx_graph_find_nodes(s->g, op, target, n));)
        put_name(&first, n);
    putchar('\n');
    return CFX_OK;
}

static cfx_status lint(script *s)
{
    cfx_status st = cfx_graph_lint(s->g, s->err);
    if (!st)
        puts("ok");
    return st;
}

/* ---- New nodes ---- */

static cfx_status inserting_before(script *s)
{
    cfx_graph_inserting_before(s->g, s->n ? node_at(s, 0) : NULL);
    return s->err->code;
}

static cfx_status inserting_after(script *s)
{
    cfx_graph_inserting_after(s->g, s->n ? node_at(s, 0) : NULL);
    return s->err->code;
}

/* create(opcode, target, args, kwargs, name or None, type or None) */
static cfx_status create(script *s)
{
    const cfx_seq *args = items_at(s, 2), *kwargs = items_at(s, 3);
    return put_node(cfx_graph_create_node(
        s->g, opcode_at(s, 0), text_at(s, 1),
        (cfx_args){args->item, args->len, kwargs->item, kwargs->len / 2},
        text_at(s, 4), text_at(s, 5), s->err));
}

/* Read a dict from names of nodes of another graph to what replaces them. */
static cfx_status read_map(script *s, cfx_node_map *map, const cfx_graph *of,
                           const cfx_seq *pairs)
{
    cfx_status st = CFX_OK;
    cfx_node_map_init(map, of);
    for (uint32_t i = 0; !st && i < pairs->len; i += 2) {
        const char *name = pairs->item[i].u.str->text;
        const cfx_node *n = cfx_graph_find(of, name);
        st = n ? cfx_node_map_set(map, n, pairs->item[i + 1], s->err)
               : cfx_fail(s->err, CFX_ENAME, "no node %s", name);
    }
    return st;
}

static cfx_node *mapped(void *user, cfx_node *n)
{
    return cfx_node_map_node(user, n);
}

/* node_copy(node) or node_copy(model, name, {input: node}) */
static cfx_status node_copy(script *s)
{
    if (s->n == 1) {
        cfx_node *n = node_at(s, 0);
        return n ? put_node(cfx_graph_node_copy(s->g, n, NULL, NULL, s->err))
                 : s->err->code;
    }
    cfx_graph *from = graph_at(s, 0);
    const cfx_node *n = from ? cfx_graph_find(from, text_at(s, 1)) : NULL;
    cfx_node_map map;
    if (!n)
        return cfx_fail(s->err, CFX_ENAME, "no node to copy");
    cfx_status st = read_map(s, &map, from, items_at(s, 2));
    if (!st)
        st = put_node(cfx_graph_node_copy(s->g, n, mapped, &map, s->err));
    cfx_node_map_release(&map);
    return st;
}

/* graph_copy(model, {placeholder: value}); model None: the graph itself */
static cfx_status graph_copy(script *s)
{
    cfx_graph *from = text_at(s, 0) ? graph_at(s, 0) : s->g;
    cfx_node_map map;
    cfx_value output = CFX_NOTHING;
    if (!from)
        return s->err->code;
    cfx_status st = read_map(s, &map, from, items_at(s, 1));
    if (!st)
        st = cfx_graph_insert_graph(s->g, from, &map, &output, s->err);
    if (!st)
        st = put_value(s, output);
    putchar('\n');
    cfx_value_unref(output);
    cfx_node_map_release(&map);
    return st;
}

/* ---- Edits ---- */

static cfx_status erase_node(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_graph_erase_node(s->g, n, s->err) : s->err->code;
}

static bool is_listed(void *data, const cfx_node *n)
{
    const cfx_seq *names = data;
    for (uint32_t i = 0; i < names->len; i++)
        if (names->item[i].kind == CFX_NODE && names->item[i].u.node == n)
            return true;
    return false;
}

struct listing {
    cfx_seq *users;
    bool first;
};

static bool is_chosen(void *data, cfx_node *n)
{
    const struct listing *l = data;
    return is_listed(l->users, n);
}

static void put_changed(void *data, cfx_node *n)
{
    struct listing *l = data;
    put_name(&l->first, n);
}

/* replace_all_uses_with(node, with) or (node, with, [user, ...]) */
static cfx_status replace_all_uses_with(script *s)
{
    cfx_node *n = node_at(s, 0), *with = node_at(s, 1);
    struct listing list = {items_at(s, 2), true};
    cfx_replace_options o = {.size = sizeof(o),
                             .changed = put_changed,
                             .keep = s->n > 2 ? is_chosen : NULL,
                             .data = &list};
    if (!n || !with)
        return s->err->code;
    cfx_status st = cfx_node_replace_all_uses(n, with, &o, NULL, s->err);
    putchar('\n');
    return st;
}

static cfx_status replace_input_with(script *s)
{
    cfx_node *n = node_at(s, 0), *old = node_at(s, 1), *with = node_at(s, 2);
    return n && old && with ? cfx_node_replace_input_with(n, old, with, s->err)
                            : s->err->code;
}

static cfx_status set_args(script *s)
{
    cfx_node *n = node_at(s, 0);
    const cfx_seq *args = items_at(s, 1);
    return n ? cfx_node_set_args(n, args->item, args->len, s->err)
             : s->err->code;
}

static cfx_status set_kwargs(script *s)
{
    cfx_node *n = node_at(s, 0);
    const cfx_seq *kwargs = items_at(s, 1);
    return n ? cfx_node_set_kwargs(n, kwargs->item, kwargs->len / 2, s->err)
             : s->err->code;
}

static cfx_status update_arg(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_node_update_arg(n, (size_t)s->in[1].u.i, s->in[2], s->err)
             : s->err->code;
}

static cfx_status insert_arg(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_node_insert_arg(n, (size_t)s->in[1].u.i, s->in[2], s->err)
             : s->err->code;
}

static cfx_status update_kwarg(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_node_update_kwarg(n, text_at(s, 1), s->in[2], s->err)
             : s->err->code;
}

static cfx_status set_target(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_node_set_target(n, text_at(s, 1), s->err) : s->err->code;
}

static cfx_status set_type(script *s)
{
    cfx_node *n = node_at(s, 0);
    return n ? cfx_node_set_type(n, text_at(s, 1), s->err) : s->err->code;
}

static cfx_status rename_node(script *s)
{
    cfx_node *n = node_at(s, 0);
    cfx_status st = n ? cfx_node_rename(n, text_at(s, 1), s->err)
                      : s->err->code;
    return st ? st : put_node(n);
}

static cfx_status prepend(script *s)
{
    cfx_node *n = node_at(s, 0), *x = node_at(s, 1);
    return n && x ? cfx_node_prepend(n, x, s->err) : s->err->code;
}

static cfx_status append(script *s)
{
    cfx_node *n = node_at(s, 0), *x = node_at(s, 1);
    return n && x ? cfx_node_append(n, x, s->err) : s->err->code;
}

/* ---- Whole graphs ---- */

/* Go on with a deep copy, in a GraphModule of what it needs. */
static cfx_status copy(script *s)
{
    cfx_graph *g;
    cfx_module *gm, **root = &s->models[0].gm;
    cfx_status st = cfx_graph_copy(&g, s->g, s->err);
    if (!st)
        st = cfx_graph_module_from_root_take_graph(&gm, *root, g, NULL,
                                                   s->err);
    if (st)
        return st;
    cfx_module_unref(*root);
    *root = gm;
    s->g = cfx_graph_module_graph(gm);
    return CFX_OK;
}

struct memory {
    char *text;
    size_t len, room;
};

static cfx_status remember(void *user, const char *text, size_t len)
{
    struct memory *m = user;
    if (m->room - m->len < len) {
        size_t room = 2 * (m->room + len);
        char *more = realloc(m->text, room);
        if (!more)
            return CFX_ENOMEM;
        m->text = more;
        m->room = room;
    }
    memcpy(m->text + m->len, text, len);
    m->len += len;
    return CFX_OK;
}

/* Go on with what is read from the text in which all is written. */
static cfx_status reread(script *s)
{
    struct memory m = {.text = NULL};
    cfx_module *gm, **old = &s->models[0].gm;
    cfx_status st = cfx_print_model((cfx_sink){remember, &m}, *old, true,
                                    s->err);
    if (!st)
        st = cfx_parse_model(&gm, s->ctx, m.text, m.len, "reread", s->err);
    free(m.text);
    if (st)
        return st;
    cfx_module_unref(*old);
    *old = gm;
    s->g = cfx_graph_module_graph(gm);
    return CFX_OK;
}

/* eliminate_dead_code() or eliminate_dead_code([impure node, ...]) */
static cfx_status eliminate_dead_code(script *s)
{
    size_t nerased;
    cfx_dce_options o = {.size = sizeof(o),
                         .is_impure = s->n ? is_listed : NULL,
                         .user = items_at(s, 0)};
    cfx_status st = cfx_graph_eliminate_dead_code(s->g, &o, &nerased, s->err);
    return put_bool(st, nerased > 0);
}

/* Print the nodes that match those of the pattern, in the pattern's order. */
static cfx_status put_match(script *s, const cfx_graph *pattern,
                            const cfx_match *m)
{
    const char *before = "";
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(pattern); n && !st;
         n = cfx_node_next(n)) {
        cfx_value v = cfx_match_of(m, n);
        if (v.kind == CFX_ABSENT)
            continue;
        printf("%s%s=", before, n->name);
        st = put_value(s, v);
        before = " ";
    }
    putchar('\n');
    return st;
}

/* replace_pattern(model, model); both are graphs without modules. Calls that
 * write are random ones here, and torch.fx takes no notice of them. */
static cfx_status replace_pattern(script *s)
{
    cfx_graph *pattern = graph_at(s, 0), *replacement = graph_at(s, 1);
    const cfx_rewrite_options o = {.size = sizeof(o), .across_writes = true};
    cfx_matches found;
    if (!pattern || !replacement)
        return s->err->code;
    cfx_graph_set_owning_module(pattern, NULL);
    cfx_graph_set_owning_module(replacement, NULL);
    cfx_status st = cfx_replace_pattern(s->models[0].gm, pattern, replacement,
                                        &o, &found, s->err);
    for (size_t i = 0; !st && i < found.n; i++)
        st = put_match(s, pattern, &found.item[i]);
    cfx_matches_release(&found);
    return st;
}

/* ---- Reading ---- */

/* `nargs` is the least number of arguments. */
static const struct command {
    const char *name;
    size_t nargs;
    cfx_status (*run)(script *s);
} commands[] = {
    {"append", 2, append},
    {"code", 0, code},
    {"copy", 0, copy},
    {"create", 6, create},
    {"eliminate_dead_code", 0, eliminate_dead_code},
    {"erase_node", 1, erase_node},
    {"find_nodes", 2, find_nodes},
    {"graph", 0, graph},
    {"graph_copy", 2, graph_copy},
    {"insert_arg", 3, insert_arg},
    {"inserting_after", 0, inserting_after},
    {"inserting_before", 0, inserting_before},
    {"lint", 0, lint},
    {"modules", 0, modules},
    {"node_copy", 1, node_copy},
    {"prepend", 2, prepend},
    {"rename", 2, rename_node},
    {"replace_all_uses_with", 2, replace_all_uses_with},
    {"replace_input_with", 3, replace_input_with},
    {"replace_pattern", 2, replace_pattern},
    {"reread", 0, reread},
    {"set_args", 2, set_args},
    {"set_kwargs", 2, set_kwargs},
    {"set_target", 2, set_target},
    {"set_type", 2, set_type},
    {"update_arg", 3, update_arg},
    {"update_kwarg", 3, update_kwarg},
    {"users", 0, users},
};

/* Names are those of nodes. */
static cfx_status to_node(void *user, cfx_value v, cfx_value *out)
{
    const script *s = user;
    cfx_node *n = NULL;
    if (v.kind == CFX_NAME) {
        n = cfx_graph_find(s->g, v.u.str->text);
        if (!n)
            return cfx_fail(s->err, CFX_ENAME, "no node %s", v.u.str->text);
    }
    *out = n ? cfx_value_of_node(n) : cfx_value_ref(v);
    return CFX_OK;
}

/* The list of arguments; the `%` before a node's name is left out, since
 * without a graph the notation has names, not nodes. */
static cfx_status read_arguments(script *s, const char *text, size_t len,
                                 cfx_value *out)
{
    cfx_value names = CFX_NOTHING;
    char *list = malloc(len + 2), *to = list, quote = 0;
    if (!list)
        return cfx_no_memory(s->err);
    *to++ = '[';
    for (size_t i = 0; i < len; i++) {
        if (quote && text[i] == '\\')
            *to++ = text[i++];
        else if (text[i] == quote)
            quote = 0;
        else if (!quote && (text[i] == '\'' || text[i] == '"'))
            quote = text[i];
        if (quote || text[i] != '%')
            *to++ = text[i];
    }
    *to++ = ']';
    cfx_status st = cfx_parse_value(&names, s->ctx, list, (size_t)(to - list),
                                    s->err);
    if (!st)
        st = cfx_value_map(out, s->ctx, names, to_node, s, s->err);
    cfx_value_unref(names);
    free(list);
    return st;
}

static cfx_status run_command(script *s, const struct command *c,
                              const char *text, size_t len)
{
    cfx_value args = CFX_NOTHING;
    cfx_status st = read_arguments(s, text, len, &args);
    if (st)
        return st;
    s->in = args.u.seq->item;
    s->n = args.u.seq->len;
    st = s->n < c->nargs
             ? cfx_fail(s->err, CFX_EINVAL, "%s takes %zu arguments", c->name,
                        c->nargs)
             : c->run(s);
    cfx_value_unref(args);
    return st;
}

/* Run a line of the script, `name(arguments)`. */
static bool run_line(script *s, const char *line, size_t len)
{
    const char *open = memchr(line, '(', len);
    *s->err = (cfx_error){0};
    if (!s->g || !open || line[len - 1] != ')')
        return false;
    printf("> %.*s\n", (int)len, line);
    size_t name = (size_t)(open - line);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *c = &commands[i];
        if (strlen(c->name) != name || memcmp(line, c->name, name))
            continue;
        if (run_command(s, c, open + 1, len - name - 2))
            printf("error: %.*s\n", (int)strcspn(s->err->text, "\n"),
                   s->err->text);
        return true;
    }
    return false;
}

static bool add_model(script *s, const char *name, const char *text,
                      size_t len)
{
    model *m = &s->models[s->nmodels];
    *s->err = (cfx_error){0};
    if (s->nmodels == MAX_MODELS)
        return false;
    snprintf(m->name, sizeof(m->name), "%.*s", (int)strcspn(name, "\n"), name);
    if (cfx_parse_model(&m->gm, s->ctx, text, len, m->name, s->err)) {
        fprintf(stderr, "%s\n", s->err->text);
        return false;
    }
    if (!s->nmodels++)
        s->g = cfx_graph_module_graph(m->gm);
    return true;
}

/* `==== NAME`, and the text of a model; `====`, and commands; and so on. */
static bool run_script(script *s, const char *text)
{
    static const char mark[] = "====";
    const char *name = NULL, *model_text = NULL, *next;
    for (const char *line = text; *line; line = next) {
        size_t len = strcspn(line, "\n");
        next = line + len + (line[len] == '\n');
        bool marked = !strncmp(line, mark, sizeof(mark) - 1);
        if (marked && name &&
            !add_model(s, name, model_text, (size_t)(line - model_text)))
            return false;
        if (marked) {
            name = len > sizeof(mark) ? line + sizeof(mark) : NULL;
            model_text = next;
        } else if (!name && len && !run_line(s, line, len)) {
            fprintf(stderr, "'%.*s' is no command\n", (int)len, line);
            return false;
        }
    }
    return !name;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t len = 0, room = 1 << 16;
    char *text = malloc(room);
    while (f && text) {
        len += fread(text + len, 1, room - len - 1, f);
        if (len < room - 1)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (text)
        text[len] = '\0';
    if (!f || fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

int main(int argc, char **argv)
{
    cfx_error err;
    script s = {.out = cfx_sink_file(stdout), .err = &err};
    char *text = argc == 2 ? read_all(argv[1]) : NULL;
    bool ok = false;
    if (!text)
        fprintf(stderr, "graph_script: it takes a script that can be read\n");
    else if (cfx_context_new(&s.ctx, NULL, NULL))
        fprintf(stderr, "graph_script: out of memory\n");
    else
        ok = run_script(&s, text);
    for (size_t i = 0; i < s.nmodels; i++)
        cfx_module_unref(s.models[i].gm);
    cfx_context_free(s.ctx);
    free(text);
    return ok && !fflush(stdout) ? 0 : 1;
}
