/*
 * input -- parse NAME=VALUE options into the inputs of a graph.
 */
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/text.h>

/* ---- Values ---- */

/* Parse the type before '['; false if the text is not a type and a shape. */
static bool parse_type(cfx_dtype *out, const char **shape, const char *text)
{
    char name[32];
    size_t n = strcspn(text, "[");

    if (!text[n] || n == 0 || n >= sizeof(name) ||
        text[cli_shape_length(text) - 1] != ']')
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    *shape = text + n + 1;
    return cfx_dtype_parse(out, name);
}

/* Parse "1, 3]"; false if an extent is not a number. */
static bool parse_shape(const char *p, int *rank, int64_t *shape)
{
    for (*rank = 0; *p != ']'; p += *p == ',') {
        int64_t v = 0;
        p += strspn(p, " ");
        if (!isdigit((unsigned char)*p) || *rank == CFX_MAX_RANK)
            return false;
        for (; isdigit((unsigned char)*p); p++) {
            if (v > CFX_DIM_MAX / 16)
                return false;
            v = v * 10 + (*p - '0');
        }
        p += strspn(p, " ");
        if (*p != ',' && *p != ']')
            return false;
        shape[(*rank)++] = v;
    }
    return p[1] == '\0' || p[1] == '<';
}

size_t cli_shape_length(const char *text)
{
    size_t len = strlen(text), at = len;

    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    return at < len && at > 1 && text[at - 1] == '<' && text[at - 2] == ']'
               ? at - 1
               : len;
}

static cfx_status make_filled(cfx_value *out, cfx_context *ctx,
                              const char *text, cfx_dtype dtype,
                              const char *extents, const char *name,
                              uint64_t seed, cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];
    const char *limit = text + cli_shape_length(text);
    int rank;
    cfx_tensor *t;

    if (!parse_shape(extents, &rank, shape))
        return cfx_fail(err, CFX_EINVAL, "'%s' needs extents that are numbers",
                        text);
    cfx_status st = cfx_tensor_new(&t, ctx, dtype, rank, shape, err);
    if (!st) {
        st = *limit ? cfx_tensor_randomize_below(
                          t, seed, name, strtoll(limit + 1, NULL, 10), err)
                    : cfx_tensor_randomize(t, seed, name, err);
        *out = cfx_value_of_tensor(t);
    }
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
        cfx_fail_at(err, "%s", text);
    }
    return st;
}

static bool is_name(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NAME || v.kind == CFX_NODE;
}

static cfx_status parse_literal(cfx_value *out, cfx_context *ctx,
                                const char *text, cfx_error *err)
{
    cfx_error why = {0};
    cfx_status st = cfx_parse_value(out, ctx, text, strlen(text), &why);

    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (!st && cfx_value_any(*out, is_name, NULL)) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
        st = CFX_EINVAL;
    }
    if (st)
        return cfx_fail(
            err, CFX_EINVAL,
            "'%s' is not a .npy file, type and shape as in f32[1,3,224,224], or number",
            text);
    return CFX_OK;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t len = strlen(text), n = strlen(suffix);

    return len > n && !strcmp(text + len - n, suffix);
}

cfx_status cli_value_make(cfx_value *out, const cli *c, const char *text,
                          const char *name, uint64_t seed, cfx_error *err)
{
    cfx_dtype dtype;
    const char *extents;

    *out = CFX_NOTHING;
    if (c->model && cfx_model_file_format(c->model)->for_inputs &&
        has_suffix(text, ".pb"))
        return cfx_onnx_input_read(out, c->model, name, text, err);
    if (cfx_tensor_names_file(text)) {
        cfx_tensor *t;
        cfx_status st = cfx_tensor_read(&t, c->ctx, text, !c->g.no_mmap, err);
        if (!st)
            *out = cfx_value_of_tensor(t);
        return st;
    }
    if (parse_type(&dtype, &extents, text))
        return make_filled(out, c->ctx, text, dtype, extents, name, seed, err);
    return parse_literal(out, c->ctx, text, err);
}

/* ---- Placeholders ---- */

/* Return the index of a placeholder by name, or n. */
static size_t find_placeholder(const cfx_node **list, size_t n,
                               const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        const char *target = cli_input_name(list[i]);
        if (strlen(target) == len && !memcmp(target, name, len))
            return i;
    }
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]->name) == len && !memcmp(list[i]->name, name, len))
            return i;
    }
    return n;
}

/* Format "x, mask" for messages. */
static void list_names(char *buf, size_t size, const cfx_node **list, size_t n)
{
    size_t at = 0;

    snprintf(buf, size, "none");
    for (size_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s%s", i ? ", " : "",
                               cli_input_name(list[i]),
                               list[i]->nargs ? " (optional)" : "");
}

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n && text[n] == '=' ? n : 0;
}

static cfx_status take_input(cli_inputs *in, const cfx_node **list,
                             const char *text, const cli_input_maker *how,
                             cfx_error *err)
{
    size_t len = name_length(text), i = 0;
    char names[512];

    if (len) {
        i = find_placeholder(list, in->n, text, len);
        text += len + 1;
    } else {
        while (i < in->n && !cfx_value_is_absent(in->value[i]))
            i++;
    }
    if (i == in->n) {
        list_names(names, sizeof(names), list, in->n);
        return len ? cfx_fail(err, CFX_ENAME,
                              "there is no input '%.*s'; the model has: %s",
                              (int)len, text - len - 1, names)
                   : cfx_fail(err, CFX_EINVAL,
                              "'%s' is one input too many; the model has: %s",
                              text, names);
    }
    if (!cfx_value_is_absent(in->value[i]))
        return cfx_fail(err, CFX_EINVAL, "the input '%s' is given twice",
                        cli_input_name(list[i]));
    cfx_status st = how->make(how->user, &in->value[i], text,
                              cli_input_name(list[i]), err);
    if (st)
        cfx_fail_at(err, "input %s", cli_input_name(list[i]));
    return st;
}

cfx_value cli_known_shape(const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "tensor_meta");

    return v.kind == CFX_TENSOR ? v : cfx_node_meta(n, "val");
}

/* ---- Files of several inputs ---- */

struct expansion {
    cli_list *to;
    const char *file;
};

static cfx_status add_text(cli_list *to, const char *name, const char *file,
                           const char *key, cfx_error *err)
{
    size_t size = strlen(name) + strlen(file) + strlen(key) + 3;
    const char **item = realloc(to->item, ((size_t)to->n + 1) * sizeof(*item));
    char *text = malloc(size);

    to->item = item ? item : to->item;
    if (!item || !text) {
        free(text);
        return cfx_no_memory(err);
    }
    snprintf(text, size, "%s%s%s%s%s", name, *name ? "=" : "", file,
             *key ? ":" : "", key);
    to->item[to->n++] = text;
    return CFX_OK;
}

static cfx_status add_tensors(void *user, const cfx_tensors *tensors,
                              const char *path, cfx_error *err)
{
    const struct expansion *x = user;
    cfx_status st = CFX_OK;

    (void)path;
    for (size_t i = 0; i < tensors->n && !st; i++)
        st = add_text(x->to, tensors->item[i].name, x->file,
                      tensors->item[i].name, err);
    return st;
}

cfx_status cli_expand_inputs(cli_list *out, const cli *c,
                             const cli_list *texts, cfx_error *err)
{
    cfx_status st = CFX_OK;

    *out = (cli_list){0};
    for (int i = 0; i < texts->n && !st; i++) {
        const char *text = texts->item[i];
        const cfx_tensor_format *f = cfx_tensor_format_of_name(text);
        struct expansion x = {out, text};
        st = f && f->keyed && !name_length(text) &&
                     !cfx_tensor_names_file(text)
                 ? cfx_tensors_visit(c->ctx, text, !c->g.no_mmap, add_tensors,
                                     &x, err)
                 : add_text(out, "", text, "", err);
    }
    return st;
}

void cli_expanded_release(cli_list *l)
{
    for (int i = 0; i < l->n; i++)
        free((char *)(uintptr_t)l->item[i]);
    free(l->item);
    *l = (cli_list){0};
}

/* ---- Before the model is read ---- */

static bool is_no_text(void *user, cfx_value v)
{
    (void)user;
    return v.kind != CFX_STR;
}

bool cli_is_texts(cfx_value v)
{
    return (v.kind == CFX_STR || (v.kind == CFX_LIST && v.u.seq->len)) &&
           !cfx_value_any(v, is_no_text, NULL);
}

cfx_status cli_known_input(cfx_named_value *out, const cli *c,
                           const char *text, uint64_t seed, cfx_error *err)
{
    size_t len = name_length(text);
    char *name = strndup(text, len);

    *out = (cfx_named_value){name, CFX_NOTHING};
    cfx_status st = name ? cli_value_make(&out->value, c, text + len + !!len,
                                          name, seed, err)
                         : cfx_no_memory(err);
    if (st && len)
        cfx_fail_at(err, "input %s", name);
    return st;
}

void cli_known_input_release(cfx_named_value *v)
{
    cfx_value_unref(v->value);
    free((char *)(uintptr_t)v->name);
}

/* ---- The values of placeholders ---- */

/* Use the defaults, arguments of the placeholders, for missing inputs; starred
 * placeholders at the end may stay empty. */
static cfx_status add_defaults(cli_inputs *in, const cfx_node **list,
                               cfx_error *err)
{
    size_t n = in->n;

    while (n && cfx_value_is_absent(in->value[n - 1]) &&
           list[n - 1]->target->text[0] == '*')
        n--;
    in->n = n;
    for (size_t i = 0; i < n; i++) {
        if (!cfx_value_is_absent(in->value[i]))
            continue;
        if (!list[i]->nargs)
            return cli_fail_missing(in, list, err);
        in->value[i] = cfx_value_ref(list[i]->args[0]);
    }
    return CFX_OK;
}

cfx_status cli_inputs_make_by(cli_inputs *in, const cli *c,
                              const cfx_module *gm, const cli_list *texts,
                              const cli_input_maker *how, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    size_t n = 0, i = 0;

    *in = (cli_inputs){0};
    for (const cfx_node *p = cfx_graph_first(g); p; p = cfx_node_next(p))
        n += p->op == CFX_PLACEHOLDER;
    const cfx_node **list = calloc(n + 1, sizeof(*list));
    in->value = calloc(n + 1, sizeof(*in->value));
    cfx_status st = list && in->value ? CFX_OK : cfx_no_memory(err);
    for (const cfx_node *p = st ? NULL : cfx_graph_first(g); p;
         p = cfx_node_next(p)) {
        if (p->op == CFX_PLACEHOLDER)
            list[i++] = p;
    }
    in->n = i;
    cli_list all = {0};
    if (!st)
        st = cli_expand_inputs(&all, c, texts, err);
    for (int k = 0; k < all.n && !st; k++)
        st = take_input(in, list, all.item[k], how, err);
    cli_expanded_release(&all);
    if (!st)
        st = how->fill(how->user, in, err);
    if (!st)
        st = add_defaults(in, list, err);
    free(list);
    if (st)
        cli_inputs_release(in);
    return st;
}

struct filling {
    const cli *c;
    const cfx_module *gm;
    cfx_model_file *samples;
    uint64_t seed;
};

static cfx_status make_value(void *user, cfx_value *out, const char *text,
                             const char *name, cfx_error *err)
{
    const struct filling *f = user;

    return cli_value_make(out, f->c, text, name, f->seed, err);
}

static cfx_status fill_values(void *user, cli_inputs *in, cfx_error *err)
{
    const struct filling *f = user;

    return cli_add_samples(in, f->gm, f->samples, err);
}

cfx_status cli_inputs_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           cfx_model_file *samples, const cli_list *texts,
                           uint64_t seed, cfx_error *err)
{
    struct filling f = {c, gm, samples, seed};
    const cli_input_maker how = {make_value, fill_values, &f};

    return cli_inputs_make_by(in, c, gm, texts, &how, err);
}

void cli_inputs_release(cli_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        cfx_value_unref(in->value[i]);
    free(in->value);
    *in = (cli_inputs){0};
}
