/*
 * read_model -- a model's text: its parts, in their order.
 *
 * A text without a tree is just a graph. The generated code that str(gm)
 * prints between tree and graph is skipped, since the graph defines it.
 */
#include "format/text/reader.h"
#include "graph/decide.h"
#include "nn/module_impl.h"

/* ---- State ---- */

/* The module that holds the state `path`, made where it is missing; *name is
 * after its last dot. */
static cfx_status find_holder(cfx_reader *r, cfx_module *root, char *path,
                              cfx_module **holder, const char **name)
{
    cfx_module *m = root;
    *name = path;
    for (char *dot; (dot = strchr(*name, '.')); *name = dot + 1) {
        *dot = '\0';
        cfx_module *child = cfx_module_child(m, *name);
        if (!child) {
            cfx_status st = cfx_module_new_container(&child, r->ctx, "Module",
                                                     r->err);
            if (!st)
                st = cfx_module_add_take(m, *name, child, r->err);
            if (st)
                return st;
        }
        m = child;
    }
    *holder = m;
    return **name ? CFX_OK
                  : cfx_fail(r->err, CFX_EPARSE, "the state has no name");
}

static cfx_status declare(cfx_reader *r, cfx_module *m, const char *name,
                          cfx_dtype dtype, int rank, const cfx_dim *shape,
                          bool is_buffer)
{
    if (!cfx_module_state(m, name))
        return is_buffer
                   ? cfx_module_buffer(m, name, dtype, rank, shape, r->err)
                   : cfx_module_param(m, name, dtype, rank, shape, r->err);
    cfx_tensor *t;
    cfx_status st = cfx_tensor_meta(&t, r->ctx, dtype, rank, shape, NULL,
                                    r->err);
    if (!st) {
        st = cfx_module_set(m, name, t, r->err);
        cfx_tensor_unref(t);
    }
    return st;
}

/* The path, which may stand in quotes, and the colon. */
static cfx_status read_path(cfx_reader *r, cfx_lexer *lx, const char *s,
                            const char *end, cfx_buf *path)
{
    const char *at = s;
    if (*s == '\'' || *s == '"') {
        cfx_lexer_init(lx, s, end, &r->string);
        if (lx->token != CFX_TOKEN_STRING)
            return cfx_read__unexpected(r, lx, "a path");
        cfx_buf_add(path, cfx_buf_str(&r->string), r->string.len);
        cfx_lexer_next(lx);
    } else {
        while (s < end && *s != ':')
            s++;
        cfx_buf_add(path, at, (size_t)(s - at));
        cfx_lexer_init(lx, s, end, &r->string);
    }
    if (path->failed || r->string.failed)
        return cfx_no_memory(r->err);
    if (!path->len || strlen(path->s) != path->len)
        return cfx_reader_fail(r, at, CFX_EPARSE, "a path should stand here");
    return cfx_read__punct(r, lx, ':');
}

/* `f32[2, 3]`, maybe with ` buffer` or ` parameter`, or `None`. */
typedef struct spec {
    cfx_dtype dtype;
    int rank;
    cfx_dim shape[CFX_MAX_RANK];
    bool none, buffer;
} spec;

static cfx_status read_spec(cfx_reader *r, cfx_lexer *lx, spec *out)
{
    cfx_status st = CFX_OK;
    out->none = cfx_lexer_is_name(lx, "None");
    if (out->none)
        cfx_lexer_next(lx);
    else
        st = cfx_read__type(r, lx, &out->dtype, &out->rank, out->shape);
    if (st)
        return st;
    out->buffer = !out->none && !cfx_dtype_is_float(out->dtype);
    if (cfx_lexer_is_name(lx, "buffer") ||
        cfx_lexer_is_name(lx, "parameter")) {
        out->buffer = *lx->text == 'b';
        cfx_lexer_next(lx);
    }
    return lx->token == CFX_TOKEN_END
               ? CFX_OK
               : cfx_read__unexpected(r, lx, "the end of the line");
}

static cfx_status read_state(cfx_reader *r, const char *s, const char *end,
                             cfx_module *root)
{
    cfx_lexer lx;
    cfx_module *m = NULL;
    cfx_buf path;
    spec is;
    const char *name = NULL;
    cfx_buf_init(&path, r->ctx);
    cfx_status st = read_path(r, &lx, s, end, &path);
    if (!st)
        st = read_spec(r, &lx, &is);
    if (!st) {
        st = find_holder(r, root, path.s, &m, &name);
        if (!st)
            st = is.none ? cfx_module_no_param(m, name, r->err)
                         : declare(r, m, name, is.dtype, is.rank, is.shape,
                                   is.buffer);
        if (st)
            cfx_reader_fail_at(r, s);
    }
    cfx_buf_release(&path);
    return st;
}

static cfx_status read_states(cfx_reader *r, const char **at, cfx_module *root)
{
    cfx_line line;
    while (cfx_reader_line(r, *at, &line) && !cfx_read__is_graph(&line)) {
        const char *s = cfx_line_begin(&line);
        cfx_status st = s < line.end ? read_state(r, s, line.end, root)
                                     : CFX_OK;
        if (st)
            return st;
        *at = line.next;
    }
    return CFX_OK;
}

/* ---- Before the graph ---- */

/* Read the byte order mark and the version of the superset. */
static cfx_status read_head(cfx_reader *r, const char **at)
{
    cfx_line line;
    if (cfx_starts(*at, r->end, "\xef\xbb\xbf"))
        *at += 3;
    if (!cfx_reader_line(r, *at, &line) ||
        !cfx_starts(line.s, line.end, "# cfx "))
        return CFX_OK;
    const char *version = line.s + 6;
    while (line.end > version && (line.end[-1] == ' '))
        line.end--;
    if (line.end - version != 1 || *version != '1')
        return cfx_reader_fail(r, version, CFX_EPARSE,
                               "this version of the text is not known");
    r->lossless = true;
    *at = line.next;
    return CFX_OK;
}

/* Skip blank lines and comments. */
static void skip_empty(const cfx_reader *r, const char **at)
{
    cfx_line line;
    while (cfx_reader_line(r, *at, &line)) {
        const char *s = cfx_line_begin(&line);
        if (s < line.end && *s != '#')
            return;
        *at = line.next;
    }
}

/* May the line be of the code that str(gm) has? */
static bool is_code(const cfx_line *line)
{
    static const char *const begin[] = {" ",    "\t",        "#",
                                        "def ", "torch.fx.", "@"};
    for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
        if (cfx_starts(line->s, line->end, begin[i]))
            return true;
    return line->s == line->end;
}

/* Read the part between tree and graph. PyTorch's text may have a state block,
 * too. */
static cfx_status read_middle(cfx_reader *r, const char **at, cfx_module *root)
{
    cfx_line line;
    while (cfx_reader_line(r, *at, &line)) {
        const char *s = cfx_line_begin(&line);
        if (cfx_read__is_graph(&line))
            return CFX_OK;
        if (cfx_starts(s, line.end, "state:")) {
            *at = line.next;
            cfx_status st = read_states(r, at, root);
            if (st)
                return st;
            continue;
        }
        if (!is_code(&line) || (r->lossless && s < line.end && *s != '#'))
            return cfx_reader_fail(r, s, CFX_EPARSE,
                                   "'graph():' should stand here");
        *at = line.next;
    }
    return cfx_reader_fail(r, r->end, CFX_EPARSE, "the text has no graph");
}

/* ---- The whole ---- */

/* A graph of the superset that is not the root's. */
static cfx_status read_inner(cfx_reader *r, const char **at, cfx_module *root)
{
    cfx_graph *g;
    cfx_line path;
    cfx_lexer lx;
    const char *begin = *at;
    cfx_status st = cfx_read__graph(r, at, &path, &g);
    if (st)
        return st;
    const char *word = cfx_reader_word(r, path.s, (size_t)(path.end - path.s));
    if (path.s < path.end && (*path.s == '\'' || *path.s == '"')) {
        cfx_lexer_init(&lx, path.s, path.end, &r->string);
        word = r->string.failed ? NULL : cfx_buf_str(&r->string);
    }
    cfx_module *m = word ? cfx_module_at(root, word) : NULL, *out;
    if (word && (!m || m == root || m->graph || !m->type->container))
        st = cfx_reader_fail(r, begin, CFX_EPARSE,
                             "the graph belongs to no container");
    else if (!word)
        st = cfx_no_memory(r->err);
    if (st)
        cfx_graph_free(g);
    else
        st = cfx_graph_module_new_take_both(&out, r->ctx, m, g,
                                            cfx_module_class_name(m), r->err);
    return st;
}

static cfx_status read_graphs(cfx_reader *r, const char **at,
                              cfx_module **root, cfx_module **out)
{
    cfx_graph *g;
    cfx_line path;
    const char *begin = *at;
    cfx_status st = cfx_read__graph(r, at, &path, &g);
    if (st)
        return st;
    if (path.s != path.end) {
        cfx_graph_free(g);
        return cfx_reader_fail(r, begin, CFX_EPARSE,
                               "the root's graph should come first");
    }
    cfx_module *m = *root;
    *root = NULL;
    st = cfx_graph_module_new_take_both(
        out, r->ctx, m, g, m ? cfx_module_class_name(m) : "GraphModule",
        r->err);
    while (!st && *at < r->end)
        st = read_inner(r, at, *out);
    if (!st)
        st = cfx_read__quantized(*out, r->name, r->err);
    return st || !r->undecided ? st : cfx_graph__decide(*out, r->err);
}

static cfx_status read_model(cfx_reader *r, cfx_module **out)
{
    cfx_module *root = NULL;
    cfx_line line;
    const char *at = r->text;
    const char *nul = memchr(r->text, '\0', (size_t)(r->end - r->text));
    if (nul)
        return cfx_reader_fail(r, nul, CFX_EPARSE,
                               "the text holds a NUL character");
    cfx_status st = read_head(r, &at);
    if (st)
        return st;
    skip_empty(r, &at);
    if (!cfx_reader_line(r, at, &line))
        return cfx_reader_fail(r, r->end, CFX_EPARSE, "the text is empty");
    if (!cfx_read__is_graph(&line)) {
        st = cfx_read__tree(r, &at, false, &root);
        if (!st)
            st = read_middle(r, &at, root);
    }
    if (!st)
        st = read_graphs(r, &at, &root, out);
    cfx_module_unref(root);
    return st;
}

cfx_status cfx_parse_model(cfx_module **out, cfx_context *ctx,
                           const char *text, size_t len, const char *name,
                           cfx_error *err)
{
    cfx_reader r;
    *out = NULL;
    cfx_reader_init(&r, ctx, name, text, len, err);
    cfx_status st = read_model(&r, out);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    cfx_reader_release(&r);
    return st;
}
