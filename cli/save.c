/*
 * save -- write a model: its text, and its weights beside it.
 *
 * PyTorch's text is used if it is lossless: it is parsed again and the result
 * must be the same model.
 */
#include "save.h"

#include <cfx/graph_module.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The second line of a file that is in the superset only because PyTorch's text
 * would lose something; without this reason, that text is used again. */
static const char only_where_needed[] =
    "# PyTorch's text would lose a part of this model\n";

bool cli_is_superset(const char *path)
{
    static const char first[] = "# cfx ";
    char line[2][sizeof(only_where_needed) + 1] = {"", ""};
    FILE *f = fopen(path, "rb");
    bool is = f && fgets(line[0], sizeof(line[0]), f) &&
              !strncmp(line[0], first, sizeof(first) - 1) &&
              !(fgets(line[1], sizeof(line[1]), f) &&
                !strcmp(line[1], only_where_needed));

    if (f)
        fclose(f);
    return is;
}

/* ---- Is PyTorch's text lossless? ---- */

static bool same_tensor_type(const cfx_tensor *a, const cfx_tensor *b)
{
    char x[128], y[128];

    if (!a || !b)
        return a == b;
    cfx_tensor_format_type(a, x, sizeof(x));
    cfx_tensor_format_type(b, y, sizeof(y));
    return !strcmp(x, y);
}

static bool same_module(const cfx_module *a, const cfx_module *b)
{
    const cfx_schema *s = cfx_module_schema(a), *t = cfx_module_schema(b);

    if (strcmp(cfx_module_name(a), cfx_module_name(b)) ||
        strcmp(cfx_module_class_name(a), cfx_module_class_name(b)) ||
        cfx_module_training(a) != cfx_module_training(b) ||
        !s != !t || (s && strcmp(s->text, t->text)) ||
        cfx_module_nchildren(a) != cfx_module_nchildren(b) ||
        cfx_module_nstate(a) != cfx_module_nstate(b))
        return false;
    for (int k = 0; s && k < s->nparams; k++) {
        if (!cfx_value_equal(cfx_module_attrs(a)[k], cfx_module_attrs(b)[k]) ||
            cfx_attr_is_undecided(a, s->params[k].name) !=
                cfx_attr_is_undecided(b, s->params[k].name))
            return false;
    }
    for (size_t i = 0; i < cfx_module_nstate(a); i++) {
        const cfx_state *x = cfx_module_state_at(a, i);
        const cfx_state *y = cfx_module_state_at(b, i);
        if (strcmp(x->name, y->name) || x->is_buffer != y->is_buffer ||
            !same_tensor_type(x->tensor, y->tensor))
            return false;
    }
    return true;
}

static bool same_names(const cfx_graph *a, const cfx_graph *b)
{
    const cfx_node *x = cfx_graph_first(a), *y = cfx_graph_first(b);

    for (; x && y; x = cfx_node_next(x), y = cfx_node_next(y)) {
        if (strcmp(x->name, y->name))
            return false;
    }
    return !x && !y;
}

/* Parsed nodes have no tensors among their arguments. */
static cfx_status same_model(bool *same, const cfx_module *a,
                             const cfx_module *b, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(a);
    const cfx_graph *h = cfx_graph_module_graph(b);
    const cfx_module *x = a, *y = b;

    *same = h && same_names(g, h) && !cfx_graph_has_user_meta(g);
    for (; x && y && *same;
         x = cfx_module_next(x, a), y = cfx_module_next(y, b))
        *same = same_module(x, y) &&
                (x == a || !cfx_graph_module_graph(x));
    return *same ? cfx_graph_equal(same, g, h, err) : CFX_OK;
}

/* Parse in a context that prints no notes. */
static cfx_status read_back(cfx_module **out, cfx_context *ctx,
                            const cfx_module *gm, cfx_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    cfx_error why = {0};

    *out = NULL;
    if (!f)
        return cfx_no_memory(err);
    cfx_status st = cfx_print_model(cfx_sink_file(f), gm, false, err);
    if (fclose(f) && !st)
        st = cfx_no_memory(err);
    if (!st && cfx_parse_model(out, ctx, text, size, "text", &why) ==
                   CFX_ENOMEM)
        st = cfx_no_memory(err);
    free(text);
    return st;
}

static cfx_status is_plain(bool *plain, const cfx_module *gm, cfx_error *err)
{
    const cfx_options o = {.size = sizeof(o), .threads = 1};
    cfx_context *ctx = NULL;
    cfx_module *back = NULL;

    *plain = false;
    cfx_status st = cfx_context_new(&ctx, &o, err);
    if (!st)
        st = read_back(&back, ctx, gm, err);
    if (!st && back)
        st = same_model(plain, gm, back, err);
    cfx_module_unref(back);
    cfx_context_free(ctx);
    return st;
}

/* A sink that inserts the mark after the first line. */
struct marked {
    FILE *to;
    bool done;
};

static cfx_status write_marked(void *user, const char *text, size_t len)
{
    struct marked *m = user;
    const char *end = m->done ? NULL : memchr(text, '\n', len);
    size_t first = end ? (size_t)(end - text) + 1 : len;

    if (fwrite(text, 1, first, m->to) != first)
        return CFX_EIO;
    if (end && fputs(only_where_needed, m->to) == EOF)
        return CFX_EIO;
    m->done = m->done || end;
    return fwrite(text + first, 1, len - first, m->to) == len - first
               ? CFX_OK : CFX_EIO;
}

cfx_status cli_print_saved(FILE *to, cfx_context *ctx, const cfx_module *gm,
                           bool plain, cfx_error *err)
{
    cfx_status st = CFX_OK;
    bool wanted = plain;
    struct marked m = {.to = to};

    (void)ctx;
    if (plain)
        st = is_plain(&plain, gm, err);
    if (st)
        return st;
    return wanted && !plain
               ? cfx_print_model((cfx_sink){write_marked, &m}, gm, true, err)
               : cfx_print_model(cfx_sink_file(to), gm, !plain, err);
}

/* ---- Weights ---- */

struct weights {
    cfx_named_tensor *item;
    size_t n;
};

static void weights_release(struct weights *w)
{
    for (size_t i = 0; i < w->n; i++)
        free((char *)w->item[i].name);
    free(w->item);
}

static cfx_status count_tensor(void *user, const char *name, cfx_tensor *t)
{
    size_t *n = user;

    (void)name;
    *n += !cfx_tensor_is_meta(t);
    return CFX_OK;
}

/* Count the tensors, including those in arguments; an upper bound. */
static cfx_status count(size_t *n, const cfx_module *gm, cfx_error *err)
{
    *n = 0;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        *n += cfx_module_nstate(m);
    return cfx_model_visit_tensors(gm, count_tensor, n, err);
}

static cfx_status add_tensor(void *user, const char *name, cfx_tensor *t)
{
    struct weights *w = user;

    if (cfx_tensor_is_meta(t))
        return CFX_OK;
    char *copy = strdup(name);
    if (!copy)
        return CFX_ENOMEM;
    w->item[w->n++] = (cfx_named_tensor){copy, t};
    return CFX_OK;
}

/* Return "layer1.0.weight"; free() it. */
static char *full_name(const cfx_module *m, const char *name)
{
    size_t n = cfx_module_path(m, NULL, 0), k = strlen(name) + 1;
    char *full = malloc(n + 1 + k);

    if (!full)
        return NULL;
    cfx_module_path(m, full, n + 1);
    if (n)
        full[n++] = '.';
    memcpy(full + n, name, k);
    return full;
}

static cfx_status collect(struct weights *w, const cfx_module *gm,
                          cfx_error *err)
{
    size_t n;
    cfx_status st = count(&n, gm, err);

    if (st)
        return st;
    w->item = calloc(n + 1, sizeof(*w->item));
    if (!w->item)
        return cfx_no_memory(err);
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (!s->tensor || cfx_tensor_is_meta(s->tensor))
                continue;
            char *name = full_name(m, s->name);
            if (!name)
                return cfx_no_memory(err);
            w->item[w->n++] = (cfx_named_tensor){name, s->tensor};
        }
    }
    return cfx_model_visit_tensors(gm, add_tensor, w, err);
}

static cfx_status see_numbers(void *user, const char *name, cfx_tensor *t)
{
    (void)name;
    *(bool *)user |= !cfx_tensor_is_meta(t);
    return CFX_OK;
}

bool cli_has_weights(const cfx_module *gm)
{
    bool has = false;
    if (cfx_model_visit_tensors(gm, see_numbers, &has, NULL) || has)
        return true;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (s->tensor && !cfx_tensor_is_meta(s->tensor))
                return true;
        }
    }
    return false;
}

/* Return "m.safetensors" for "m.fx"; free() it. */
static char *weights_path(const char *path)
{
    static const char suffix[] = ".safetensors";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    char *out = malloc(n + sizeof(suffix));

    if (!out)
        return NULL;
    memcpy(out, path, n);
    memcpy(out + n, suffix, sizeof(suffix));
    return out;
}

static cfx_status save_weights(cfx_context *ctx, const cfx_module *gm,
                               const char *beside, cfx_error *err)
{
    struct weights w = {0};
    cfx_status st = collect(&w, gm, err);

    if (!st)
        st = cfx_safetensors_write(beside, ctx, w.item, w.n, err);
    weights_release(&w);
    return st;
}

/* ---- Text and weights ---- */

static bool is_special(const char *path)
{
    struct stat st;

    return !stat(path, &st) && !S_ISREG(st.st_mode);
}

/* Rename the weights into place first, the text last. */
cfx_status cli_save_model(cfx_context *ctx, const cfx_module *gm,
                          const char *path, bool plain, cfx_error *err)
{
    cfx_outfile f = {0};
    char *beside = weights_path(path);
    bool numbers = cli_has_weights(gm) && !is_special(path);
    cfx_status st = beside ? CFX_OK : cfx_no_memory(err);

    if (!st && numbers && !strcmp(beside, path))
        st = cfx_fail(err, CFX_EINVAL, "%s: is the name of its weights", path);
    if (!st)
        st = cfx_outfile_open(&f, ctx, path, err);
    if (!st) {
        st = cli_print_saved(f.stream, ctx, gm, plain, err);
        if (st)
            cfx_fail_at(err, "%s", path);
    }
    if (!st && numbers)
        st = save_weights(ctx, gm, beside, err);
    if (!st)
        st = cfx_outfile_commit(&f, err);
    else
        cfx_outfile_discard(&f);
    free(beside);
    return st;
}
