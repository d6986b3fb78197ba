/*
 * text_file -- a model file: PyTorch's text or the superset, and its weights
 * beside it.
 *
 * PyTorch's text is used if it is lossless: it is parsed again and the result
 * must be the same model.
 */
#include <string.h>
#include <sys/stat.h>

#include "format/io.h"
#include "format/print.h"

/* The longest text of a model that is read. */
#define TEXT_MAX ((size_t)1 << 30)

/* The first line of the superset begins with this. The second line says if the
 * file is in the superset only because PyTorch's text would lose something; it
 * is written as PyTorch's text again when that no longer holds. */
static const char superset[] = "# cfx ";
static const char only_where_needed[] =
    "# PyTorch's text would lose a part of this model\n";

/* ---- Reading ---- */

/* A text has no control characters but white space. */
static bool text_probe(const unsigned char *head, size_t n)
{
    bool text = n > 0;
    for (size_t i = 0; i < n; i++)
        text = text &&
               (head[i] >= ' ' || (head[i] >= '\t' && head[i] <= '\r'));
    return text;
}

/* Other kinds of files are recognized by their first bytes. */
static cfx_status check_kind(size_t *total, const unsigned char *head,
                             size_t len, cfx_error *err)
{
    (void)total;
    if (len >= 4 && !memcmp(head, "PK\3\4", 4))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "is a zip archive, not the text of a model");
    if (memchr(head, '\0', len))
        return cfx_fail(err, CFX_EPARSE, "is not the text of a model");
    return CFX_OK;
}

static cfx_status text_read(cfx_module **out, cfx_model_file *f,
                            const cfx_load_options *o, cfx_error *err)
{
    (void)o;
    cfx_bytes text = {0};
    cfx_status st = cfx_file_read(&text, &f->file, TEXT_MAX, check_kind, err);

    if (st)
        cfx_fail_at(err, "%s", f->path);
    else
        st = cfx_parse_model(out, f->file.ctx, (const char *)text.data,
                             text.len, f->path, err);
    cfx_bytes_release(&text);
    return st;
}

bool cfx_model_is_lossless(const char *path)
{
    char line[2][sizeof(only_where_needed) + 1] = {"", ""};
    struct stat info;
    /* A pipe can be read once, for its model. */
    bool regular = !stat(path, &info) && S_ISREG(info.st_mode);
    FILE *f = regular ? fopen(path, "rb") : NULL;
    bool is = f && fgets(line[0], sizeof(line[0]), f) &&
              !strncmp(line[0], superset, sizeof(superset) - 1) &&
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
        cfx_module_training(a) != cfx_module_training(b) || !s != !t ||
        (s && strcmp(s->text, t->text)) ||
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
        *same = same_module(x, y) && (x == a || !cfx_graph_module_graph(x));
    return *same ? cfx_graph_equal(same, g, h, err) : CFX_OK;
}

/* Parse in a context that prints no notes. */
static cfx_status read_back(cfx_module **out, cfx_context *ctx,
                            const cfx_module *gm, cfx_error *err)
{
    cfx_error why = {0};
    cfx_buf text;

    *out = NULL;
    cfx_buf_init(&text, ctx);
    cfx_status st = cfx_print_model(cfx_sink_buf(&text), gm, false, err);
    if (!st && text.failed)
        st = cfx_no_memory(err);
    if (!st && cfx_parse_model(out, ctx, cfx_buf_str(&text), text.len, "text",
                               &why) == CFX_ENOMEM)
        st = cfx_no_memory(err);
    cfx_buf_release(&text);
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

/* ---- Writing ---- */

/* A sink that inserts the mark after the first line. */
struct marked {
    cfx_sink to;
    bool done;
};

static cfx_status write_marked(void *user, const char *text, size_t len)
{
    struct marked *m = user;
    const char *end = m->done ? NULL : memchr(text, '\n', len);
    size_t first = end ? (size_t)(end - text) + 1 : len;
    cfx_status st = m->to.write(m->to.user, text, first);

    if (!st && end)
        st = m->to.write(m->to.user, only_where_needed,
                         sizeof(only_where_needed) - 1);
    m->done = m->done || end;
    return st || first == len
               ? st
               : m->to.write(m->to.user, text + first, len - first);
}

cfx_status cfx_model_print(cfx_sink to, const cfx_module *gm, bool lossless,
                           cfx_error *err)
{
    struct marked m = {.to = to};
    bool plain = false;
    cfx_status st = lossless ? CFX_OK : is_plain(&plain, gm, err);

    if (st)
        return st;
    return lossless || plain
               ? cfx_print_model(to, gm, lossless, err)
               : cfx_print_model((cfx_sink){write_marked, &m}, gm, true, err);
}

void cfx_weights_beside(cfx_buf *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    cfx_buf_add(out, path,
                dot && dot > base ? (size_t)(dot - path) : strlen(path));
    cfx_buf_puts(out, cfx_tensor_format__safetensors.base.suffix);
}

static bool is_special(const char *path)
{
    struct stat st;

    return !stat(path, &st) && !S_ISREG(st.st_mode);
}

/* ---- Pairs of a text and its weights ---- */

/* FNV-1a, of 64 bits. */
static const uint64_t no_text = UINT64_C(0xcbf29ce484222325);

static uint64_t add_text(uint64_t sum, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* The text in a file, if there is one. */
static cfx_pair sum_file(const cfx_file *f)
{
    cfx_bytes text;
    cfx_pair pair = {.given = !cfx_file_read(&text, f, TEXT_MAX, NULL, NULL)};

    if (pair.given)
        pair.text = add_text(no_text, (const char *)text.data, text.len);
    cfx_bytes_release(&text);
    return pair;
}

cfx_status cfx_text__check_pair(const cfx_file *of, const cfx_file *weights,
                                cfx_error *err)
{
    cfx_pair replaced = cfx_safetensors__replaced(weights);
    cfx_pair text = replaced.given && of->fd >= 0 ? sum_file(of)
                                                  : (cfx_pair){.given = false};

    return text.given && text.text == replaced.text
               ? cfx_fail(
                     err, CFX_EWEIGHT,
                     "%s: is the text before %s was written, which did not end: write both again (-w %s would take these weights)",
                     of->path, weights->path, weights->path)
               : CFX_OK;
}

/* A sink that sums what it passes on. */
struct summed {
    cfx_sink to;
    uint64_t sum;
};

static cfx_status write_summed(void *user, const char *text, size_t len)
{
    struct summed *s = user;

    s->sum = add_text(s->sum, text, len);
    return s->to.write(s->to.user, text, len);
}

/* ---- Writing both ---- */

/* The weights first, under their name; the text appears last. Weights are not
 * written to pipes and devices. A write error is reported when the file is
 * closed. */
static cfx_status write_both(const char *path, const char *beside,
                             const cfx_module *gm, bool lossless,
                             cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_outfile f = {0};
    cfx_error why = {0};
    cfx_pair old = {.given = false};
    size_t n = 0;
    cfx_status st = is_special(path) ? CFX_OK
                                     : cfx_model__count_weights(&n, gm, err);

    if (!st && n && !strcmp(beside, path))
        st = cfx_fail(err, CFX_EINVAL, "%s: is the name of its weights", path);
    if (!st)
        st = cfx_outfile_open(&f, ctx, path, err);
    if (!st) {
        struct summed sum = {cfx_sink_file(f.stream), no_text};
        if (n)
            old = sum_file(&(cfx_file){.ctx = ctx, .path = path, .fd = -1});
        st = cfx_model_print((cfx_sink){write_summed, &sum}, gm, lossless,
                             &why);
        old.given = old.given && old.text != sum.sum;
        if (st == CFX_EIO)
            return cfx_outfile_commit(&f, err);
        if (st) {
            cfx_fail_from(err, &why);
            cfx_fail_at(err, "%s", path);
        }
    }
    if (!st && n)
        st = cfx_model__write_weights(beside, gm, &old, err);
    if (!st)
        st = cfx_outfile_commit(&f, err);
    else
        cfx_outfile_discard(&f);
    return st;
}

static cfx_status text_write(const char *path, const cfx_module *gm,
                             const cfx_save_options *o, cfx_error *err)
{
    cfx_buf beside;

    cfx_buf_init(&beside, cfx_module_context(gm));
    cfx_weights_beside(&beside, path);
    cfx_status st = beside.failed
                        ? cfx_no_memory(err)
                        : write_both(path, beside.s, gm, o->lossless, err);
    cfx_buf_release(&beside);
    return st;
}

const cfx_model_format cfx_model_format__text = {
    .base =
        {.name = "text",
         .suffix = ".fx",
         .doc =
             "A model file, in PyTorch's text if that is lossless, else in its superset, with the weights in OUT.safetensors.",
         .probe = text_probe},
    .options = CFX_SAVE_LOSSLESS,
    .read = text_read,
    .write = text_write,
};
