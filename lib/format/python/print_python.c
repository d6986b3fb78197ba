/*
 * print_python -- print a module as a Python file: a class for it and for each
 * descendant GraphModule, with imports.
 *
 * Modules of torch.nn are created by their constructors, with arguments from
 * the descriptor's schema. Containers are built child by child.
 */
#include <cfx/file.h>

#include "format/print.h"
#include "format/text/repr.h"
#include "graph/names.h"
#include "nn/module_impl.h"

typedef struct writer {
    cfx_out *out;
    cfx_context *ctx;
    const cfx_module *root;
    cfx_names names;   /* of classes; its memory holds all keys */
    cfx_map classes;   /* path of a GraphModule -> the name of its class */
    cfx_map functions; /* name -> qualified name */
    cfx_buf imports, wraps, code, path;
    cfx_error *err;
} writer;

static void fail_memory(writer *w)
{
    cfx_out_fail(w->out, cfx_no_memory(w->err));
}

/* ---- Names ---- */

/* Can it name a class of the file? */
static bool can_name(const char *s)
{
    static const char *const taken[] = {
        "annotations", "json",     "pathlib", "inf",   "nan",     "torch",
        "device",      "NoneType", "_DTYPES", "_load", "GuardsFn"};
    if (!*s || (*s >= '0' && *s <= '9') || cfx_name_is_illegal(s))
        return false;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (!strcmp(s, taken[i]))
            return false;
    for (; *s; s++)
        if (*s != '_' && (*s < '0' || *s > '9') && (*s < 'A' || *s > 'Z') &&
            (*s < 'a' || *s > 'z'))
            return false;
    return true;
}

/* The path from gm to a module below it; good until the next. */
static const char *path_below(writer *w, const cfx_module *m,
                              const cfx_module *gm)
{
    size_t n = cfx_module_path(m, NULL, 0);
    size_t skip = cfx_module_path(gm, NULL, 0);
    cfx_buf_clear(&w->path);
    if (!cfx_buf_reserve(&w->path, n + 1)) {
        fail_memory(w);
        return "";
    }
    cfx_module_path(m, w->path.s, n + 1);
    return w->path.s + (skip && skip < n ? skip + 1 : skip);
}

/* The class of a GraphModule: that of the root, and what leads to it. */
static const char *class_of(writer *w, const cfx_module *m)
{
    const char *path = path_below(w, m, w->root), *name = NULL;
    size_t len = strlen(path);
    cfx_map_entry *e = cfx_map_get(&w->classes, path, len);
    if (e)
        return e->v.p;
    char *key = cfx_arena_strdup(&w->names.memory, path, len);
    const char *root = cfx_map_get(&w->classes, "", 0)->v.p;
    cfx_buf_clear(&w->code);
    cfx_buf_printf(&w->code, "%s_%s", root, path);
    if (key && !w->code.failed)
        name = cfx_names_create(&w->names, w->code.s, w->code.len, false);
    e = name ? cfx_map_put(&w->classes, key, len, NULL) : NULL;
    if (!e) {
        fail_memory(w);
        return "";
    }
    e->v.p = (void *)(uintptr_t)name;
    return name;
}

static void put_string(writer *w, const char *s)
{
    cfx_print__quoted(w->out, s, strlen(s));
}

/* "self", or how self finds a module below it. */
static void put_owner(writer *w, const cfx_module *m, const cfx_module *gm)
{
    cfx_out_puts(w->out, "        self.");
    if (m == gm)
        return;
    cfx_out_puts(w->out, "get_submodule(");
    put_string(w, path_below(w, m, gm));
    cfx_out_puts(w->out, ").");
}

/* ---- Functions that are not torch's ---- */

/* Print the import or alias that defines the name as the function. */
static cfx_status import(writer *w, const char *name, const char *qualified)
{
    const char *dot = strrchr(qualified, '.');
    if (!cfx_name_is_path(qualified))
        return cfx_fail(w->err, CFX_EUNSUPPORTED,
                        "the function %s has no name in Python", qualified);
    if (!strncmp(qualified, "torch.", 6) || !dot) {
        if (!dot && !cfx_name_is_illegal(qualified))
            return cfx_fail(w->err, CFX_EUNSUPPORTED,
                            "the function %s has no module to import it from",
                            qualified);
        if (dot || strcmp(name, qualified))
            cfx_buf_printf(&w->wraps, "%s = %s\n", name, qualified);
        return CFX_OK;
    }
    cfx_buf_printf(&w->imports, "from %.*s import %s as %s\n",
                   (int)(dot - qualified), qualified, dot + 1, name);
    return CFX_OK;
}

static cfx_status note_function(void *user, const char *name,
                                const char *qualified)
{
    writer *w = user;
    bool added = false;
    cfx_map_entry *e = cfx_map_get(&w->functions, name, strlen(name));
    if (e && !strcmp(e->v.p, qualified))
        return CFX_OK;
    if (e)
        return cfx_fail(w->err, CFX_EUNSUPPORTED,
                        "%s stands for %s and for %s", name,
                        (const char *)e->v.p, qualified);
    char *key = cfx_arena_strdup(&w->names.memory, name, strlen(name));
    char *own = cfx_arena_strdup(&w->names.memory, qualified,
                                 strlen(qualified));
    e = key && own ? cfx_map_put(&w->functions, key, strlen(key), &added)
                   : NULL;
    if (!e)
        return cfx_no_memory(w->err);
    e->v.p = own;
    return import(w, name, qualified);
}

/* ---- Modules ---- */

/* Is it made of its children, one by one? */
static bool is_container(const cfx_module *m)
{
    return m->graph || m->type->container || !m->schema ||
           (!m->schema->nparams && m->nchildren);
}

/* Arguments that must be given by their place, others by name, where they are
 * not the default. */
static void put_arguments(writer *w, const cfx_module *m)
{
    const char *before = "";
    for (int k = 0; m->schema && k < m->schema->nparams; k++) {
        const cfx_param *p = &m->schema->params[k];
        cfx_value v = m->attrs.in[k];
        if (!p->required && cfx_is_default(p, v))
            continue;
        cfx_out_puts(w->out, before);
        before = ", ";
        if (!p->required) {
            cfx_out_puts(w->out, p->name);
            cfx_out_putc(w->out, '=');
        }
        cfx_out__value(&(cfx_values){.out = w->out,
                                     .style = CFX_STYLE_REPR,
                                     .err = w->err},
                       v);
    }
}

/* An expression that makes a module, but for what is put into it later. */
static void put_constructor(writer *w, const cfx_module *m)
{
    const char *schema = m->type->schema;
    size_t len = strcspn(schema, "(");
    if (m->graph) {
        cfx_out_puts(w->out, class_of(w, m));
        cfx_out_puts(w->out, "()");
        return;
    }
    if (!cfx_module_type__is_builtin(m->type)) {
        cfx_out_fail(w->out, cfx_fail(w->err, CFX_EUNSUPPORTED,
                                      "%s: PyTorch has no module type %s",
                                      path_below(w, m, w->root),
                                      cfx_module_class_name(m)));
        return;
    }
    if (!strncmp(schema, "GuardsFn(", 9)) {
        cfx_out_puts(w->out, "GuardsFn()");
        return;
    }
    if (cfx_module__is_parametrized(m)) {
        cfx_out_fail(w->out, cfx_fail(w->err, CFX_EUNSUPPORTED,
                                      "%s: a %s has no text in Python",
                                      path_below(w, m, w->root),
                                      cfx_module_class_name(m)));
        return;
    }
    if (cfx_module_check_decided(m, w->err)) {
        cfx_out_fail(w->out, CFX_EUNDECIDED);
        return;
    }
    cfx_out_puts(w->out, "torch.nn.");
    cfx_out_add(w->out, schema, len);
    cfx_out_putc(w->out, '(');
    if (!strncmp(schema, "TransformerEncoder(", 19))
        cfx_out_puts(w->out,
                     "torch.nn.Identity(), 0, enable_nested_tensor=False");
    put_arguments(w, m);
    cfx_out_putc(w->out, ')');
}

static void put_state(writer *w, const cfx_module *m, const cfx_module *gm)
{
    for (size_t i = 0; i < m->nstate; i++) {
        const cfx_state *s = &m->state[i];
        const cfx_tensor *t = s->tensor;
        put_owner(w, m, gm);
        cfx_out_puts(w->out, s->is_buffer ? "register_buffer("
                                          : "register_parameter(");
        put_string(w, s->name);
        if (!t) {
            cfx_out_puts(w->out, ", None)\n");
            continue;
        }
        cfx_out_puts(w->out, s->is_buffer
                                 ? ", torch.zeros("
                                 : ", torch.nn.Parameter(torch.zeros(");
        cfx_print__extents(w->out, t->rank, t->shape);
        cfx_out_puts(w->out, ", dtype=torch.");
        cfx_out_puts(w->out, cfx_dtypes[t->dtype].name);
        cfx_out_puts(w->out, s->is_buffer ? ")"
                             : cfx_dtype_is_float((cfx_dtype)t->dtype)
                                 ? "))"
                                 : "), requires_grad=False)");
        cfx_out_puts(w->out, s->is_buffer && !s->persistent
                                 ? ", persistent=False)\n"
                                 : ")\n");
    }
}

/* The module after m and all that is below it. */
static const cfx_module *skip(const cfx_module *m, const cfx_module *root)
{
    for (; m != root; m = m->parent)
        if (m->index + 1 < m->parent->nchildren)
            return m->parent->child[m->index + 1];
    return NULL;
}

/* Print the descendants of a GraphModule, except children that constructors
 * create. */
static void put_modules(writer *w, const cfx_module *gm)
{
    put_state(w, gm, gm);
    const cfx_module *m = gm->nchildren ? gm->child[0] : NULL;
    while (m && !w->out->status) {
        bool open = is_container(m) && !m->graph;
        put_owner(w, m->parent, gm);
        cfx_out_puts(w->out, "add_module(");
        put_string(w, m->name);
        cfx_out_puts(w->out, ", ");
        put_constructor(w, m);
        cfx_out_puts(w->out, ")\n");
        if (open)
            put_state(w, m, gm);
        m = open ? cfx_module_next(m, gm) : skip(m, gm);
    }
}

/* The flag of all is that of the root; some have another. */
static void put_training(writer *w)
{
    cfx_out_puts(w->out, w->root->training ? "        self.train()\n"
                                           : "        self.eval()\n");
    for (const cfx_module *m = w->root; m && !w->out->status;
         m = cfx_module_next(m, w->root)) {
        if (m->training == w->root->training)
            continue;
        put_owner(w, m, w->root);
        cfx_out_puts(w->out,
                     m->training ? "training = True\n" : "training = False\n");
    }
}

/* ---- Classes ---- */

/* The method, indented; what marks wrapped functions belongs to the file. */
static void put_forward(writer *w, const cfx_module *gm)
{
    static const char mark[] = "torch.fx._symbolic_trace.wrap(";
    const cfx_code_options how = {
        .size = sizeof(how), .function = note_function, .function_user = w};
    cfx_buf_clear(&w->code);
    cfx_status st = cfx_print_code_with(cfx_sink_buf(&w->code), gm->graph,
                                        &how, w->err);
    if (st || w->code.failed) {
        cfx_out_fail(w->out, st ? st : CFX_ENOMEM);
        return;
    }
    const char *s = cfx_buf_str(&w->code);
    while (*s && !w->out->status) {
        size_t n = strcspn(s, "\n");
        if (!strncmp(s, mark, sizeof(mark) - 1)) {
            cfx_buf_add(&w->wraps, s, n);
            cfx_buf_putc(&w->wraps, '\n');
        } else if (n && strspn(s, " ") < n) {
            cfx_out_puts(w->out, "    ");
            cfx_out_add(w->out, s, n);
            cfx_out_putc(w->out, '\n');
        }
        s += n + (s[n] != '\0');
    }
}

static void put_class(writer *w, const cfx_module *gm, bool state)
{
    cfx_out_puts(w->out, "\n\nclass ");
    cfx_out_puts(w->out, class_of(w, gm));
    cfx_out_puts(w->out, "(torch.nn.Module):\n    def __init__(self):\n"
                         "        super().__init__()\n");
    put_modules(w, gm);
    if (gm == w->root && state)
        cfx_out_puts(
            w->out,
            "        _load(self, pathlib.Path(__file__).with_name(\"state.safetensors\"))\n");
    if (gm == w->root)
        put_training(w);
    cfx_out_putc(w->out, '\n');
    put_forward(w, gm);
}

static bool has_guards(const cfx_module *root)
{
    for (const cfx_module *m = root; m; m = cfx_module_next(m, root))
        if (!strncmp(m->type->schema, "GuardsFn(", 9))
            return true;
    return false;
}

/* ---- The file ---- */

static const char guards_class[] =
    "\n\n"
    "class GuardsFn(torch.nn.Module):\n"
    "    \"\"\"Checks of inputs, which the text of a program leaves out.\"\"\"\n"
    "\n"
    "    def forward(self, *args):\n"
    "        return None\n";

/* A .safetensors file is the length of its header in eight bytes, the header
 * in JSON, and the numbers. */
static void put_dtypes(cfx_out *to)
{
    cfx_out_puts(to, "\n\n_DTYPES = {\n");
    for (int t = 0; t < CFX_NDTYPES; t++) {
        if (!cfx_dtypes[t].safetensors)
            continue;
        cfx_out_puts(to, "    \"");
        cfx_out_puts(to, cfx_dtypes[t].safetensors);
        cfx_out_puts(to, "\": torch.");
        cfx_out_puts(to, cfx_dtypes[t].name);
        cfx_out_puts(to, ",\n");
    }
    cfx_out_puts(to, "}\n");
}

static const char loader[] =
    "\n\n"
    "def _load(root, path):\n"
    "    \"\"\"Give modules the tensors of a .safetensors file.\"\"\"\n"
    "    with open(path, \"rb\") as file:\n"
    "        size = int.from_bytes(file.read(8), \"little\")\n"
    "        entries = json.loads(file.read(size))\n"
    "        data = file.read()\n"
    "    for path, entry in entries.items():\n"
    "        if path == \"__metadata__\":\n"
    "            continue\n"
    "        begin, end = entry[\"data_offsets\"]\n"
    "        value = torch.empty(entry[\"shape\"], dtype=_DTYPES[entry[\"dtype\"]])\n"
    "        if begin < end:\n"
    "            value = torch.frombuffer(bytearray(data[begin:end]),\n"
    "                                     dtype=value.dtype).reshape(value.shape)\n"
    "        owner, _, name = path.rpartition(\".\")\n"
    "        owner = root.get_submodule(owner)\n"
    "        if name in owner._parameters:\n"
    "            value = torch.nn.Parameter(\n"
    "                value, requires_grad=value.is_floating_point())\n"
    "            owner._parameters[name] = value\n"
    "        else:\n"
    "            owner._buffers[name] = value\n";

/* The imports precede the classes but are known only after them. */
static void put_file(cfx_out *to, const writer *w, const cfx_buf *classes,
                     bool state)
{
    cfx_out_puts(to, "from __future__ import annotations\n\n");
    cfx_out_puts(to, state ? "import json\nimport pathlib\n" : "");
    cfx_out_puts(to, "from math import inf, nan\n");
    cfx_out_puts(to, cfx_buf_str(&w->imports));
    cfx_out_puts(to, "\nimport torch\nimport torch.fx\n"
                     "from torch import device\n\nNoneType = type(None)\n");
    cfx_out_puts(to, cfx_buf_str(&w->wraps));
    if (state)
        put_dtypes(to);
    cfx_out_puts(to, state ? loader : "");
    cfx_out_puts(to, has_guards(w->root) ? guards_class : "");
    cfx_out_add(to, cfx_buf_str(classes), classes->len);
}

static void init(writer *w, const cfx_module *gm, const char *name,
                 cfx_error *err)
{
    *w = (writer){.ctx = cfx_module_context(gm), .root = gm, .err = err};
    cfx_buf *bufs[] = {&w->imports, &w->wraps, &w->code, &w->path};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_init(bufs[i], w->ctx);
    cfx_names_init(&w->names, w->ctx);
    cfx_map_init(&w->classes, w->ctx);
    cfx_map_init(&w->functions, w->ctx);
    const char *own = cfx_names_create(&w->names, name, strlen(name), false);
    cfx_map_entry *e = own ? cfx_map_put(&w->classes, "", 0, NULL) : NULL;
    if (e)
        e->v.p = (void *)(uintptr_t)own;
    else
        cfx_no_memory(err);
}

static void release(writer *w)
{
    cfx_buf *bufs[] = {&w->imports, &w->wraps, &w->code, &w->path};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_release(bufs[i]);
    cfx_map_release(&w->functions);
    cfx_map_release(&w->classes);
    cfx_names_release(&w->names);
}

const char *cfx_print__class_name(const cfx_module *gm, const char *name,
                                  cfx_error *err)
{
    if (!cfx_graph_module_graph(gm)) {
        cfx_fail(err, CFX_EINVAL, "%s has no graph",
                 cfx_module_class_name(gm));
        return NULL;
    }
    if (name && !can_name(name)) {
        cfx_fail(err, CFX_EINVAL, "'%s' cannot name a class", name);
        return NULL;
    }
    if (!name && can_name(cfx_module_class_name(gm)))
        name = cfx_module_class_name(gm);
    return name ? name : "FxModule";
}

cfx_status cfx_print_python_module(cfx_sink to, const cfx_module *gm,
                                   const char *name, bool state,
                                   cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_out out, file;
    cfx_buf classes;
    writer w;
    err = err ? err : &own;
    if (!(name = cfx_print__class_name(gm, name, err)))
        return err->code;
    cfx_buf_init(&classes, cfx_module_context(gm));
    cfx_out_init(&out, cfx_sink_buf(&classes));
    init(&w, gm, name, err);
    w.out = &out;
    for (const cfx_module *m = gm; m && !out.status && !err->code;
         m = cfx_module_next(m, gm))
        if (m->graph)
            put_class(&w, m, state);
    cfx_status st = cfx_out_finish(&out, err);
    if (!st && (w.imports.failed || w.wraps.failed))
        st = cfx_no_memory(err);
    st = st ? st : err->code;
    cfx_out_init(&file, to);
    if (!st)
        put_file(&file, &w, &classes, state);
    st = st ? st : cfx_out_finish(&file, err);
    release(&w);
    cfx_buf_release(&classes);
    return st;
}
