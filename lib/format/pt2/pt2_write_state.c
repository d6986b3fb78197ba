/*
 * pt2_write_state -- parameters, buffers and constants: inputs of the exported
 * graph, whose numbers are files of the archive.
 *
 * Tensors that overlap in memory share a file, whatever they are called, so
 * that tied weights stay tied and are written once.
 */
#include <stdlib.h>

#include "format/pt2/pt2_write.h"
#include "nn/module_impl.h"
#include "tensor/storage.h"

enum { PARAMETER, BUFFER, CONSTANT };

/* ---- Collecting ---- */

static bool is_taken(const cfx_pt2_states *s, const cfx_graph *g,
                     const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->item[i].input && !strcmp(s->item[i].input, name))
            return true;
    return cfx_graph_find(g, name) != NULL;
}

/* "p_fc_weight", which no node is called. */
static const char *input_name(cfx_pt2_states *s, const cfx_graph *g,
                              const cfx_pt2_state *one)
{
    static const char prefix[] = {'p', 'b', 'c'};
    char *name = NULL;
    cfx_buf b;

    cfx_buf_init(&b, s->ctx);
    cfx_buf_printf(&b, "%c_", prefix[one->order]);
    for (const char *c = one->path; *c; c++) {
        bool word = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                    (*c >= 'A' && *c <= 'Z') || *c == '_';
        cfx_buf_putc(&b, word ? *c : '_');
    }
    while (!b.failed && is_taken(s, g, b.s))
        cfx_buf_putc(&b, '_');
    if (!b.failed)
        name = cfx_arena_strdup(&s->arena, b.s, b.len);
    cfx_buf_release(&b);
    return name;
}

static int by_order(const void *a, const void *b)
{
    const cfx_pt2_state *x = a, *y = b;

    if (x->order != y->order)
        return x->order - y->order;
    return (x->place > y->place) - (x->place < y->place);
}

static cfx_status add_state(cfx_pt2_states *s, const cfx_module *gm,
                            const char *path, cfx_error *err)
{
    const char *last;
    const cfx_module *m = cfx_module__owner(gm, path, &last);
    const cfx_state *state = m ? cfx_module_state(m, last) : NULL;

    if (!state || !state->tensor)
        return cfx_fail(err, CFX_EATTR, "the model has no '%s'", path);
    if (cfx_tensor_is_meta(state->tensor))
        return cfx_fail(
            err, CFX_EWEIGHT,
            "'%s' has no data: give a file of weights with -w, or --random-weights 0",
            path);
    if (!cfx_pt2__number_of_dtype((cfx_dtype)state->tensor->dtype))
        return cfx_fail(err, CFX_EUNSUPPORTED, "'%s' is %s, unknown to .pt2",
                        path, cfx_dtypes[state->tensor->dtype].name);
    if (cfx_grow(s->ctx, s->item, s->cap, s->n + 1, err))
        return CFX_ENOMEM;
    s->item[s->n++] = (cfx_pt2_state){
        .path = path,
        .state = state,
        .place = s->n,
        .order = !state->is_buffer ? PARAMETER
                 : strncmp(last, "_tensor_constant", 16) || m != gm
                     ? BUFFER
                     : CONSTANT};
    return CFX_OK;
}

static bool reads_state(const cfx_module *gm, const cfx_node *n)
{
    return n->op == CFX_GET_ATTR && !cfx_module_at(gm, n->target->text);
}

cfx_status cfx_pt2__find_states(cfx_pt2_states *s, const cfx_module *gm,
                                cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_status st = CFX_OK;

    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        bool added = false;
        if (!reads_state(gm, n))
            continue;
        if (!cfx_map_put(&s->by_path, n->target->text, n->target->len, &added))
            return cfx_no_memory(err);
        if (added)
            st = add_state(s, gm, n->target->text, err);
    }
    if (st || !s->n)
        return st;
    qsort(s->item, s->n, sizeof(*s->item), by_order);
    for (size_t i = 0; i < s->n; i++) {
        s->item[i].input = input_name(s, g, &s->item[i]);
        cfx_map_entry *e = cfx_map_get(&s->by_path, s->item[i].path,
                                       strlen(s->item[i].path));
        if (!s->item[i].input || !e)
            return cfx_no_memory(err);
        e->v.u = i + 1;
    }
    return CFX_OK;
}

void cfx_pt2__states_release(cfx_pt2_states *s)
{
    cfx_map_release(&s->by_path);
    cfx_arena_release(&s->arena);
    cfx_free(s->ctx, s->item, s->cap * sizeof(*s->item));
}

const cfx_pt2_state *cfx_pt2__state_of(const cfx_pt2_states *s,
                                       const cfx_node *get_attr)
{
    const cfx_map_entry *e = cfx_map_get(&s->by_path, get_attr->target->text,
                                         get_attr->target->len);

    return e && e->v.u ? &s->item[e->v.u - 1] : NULL;
}

/* ---- Files ---- */

/* The memory of a tensor, and the file that has it. */
struct extent {
    const cfx_pt2_state *of;
    const char *begin, *end;
    const struct extent *first; /* of the file; it has the lowest address */
    size_t file;
};

static struct extent extent_of(const cfx_pt2_state *s)
{
    const cfx_tensor *t = s->state->tensor;
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    int64_t last = 0;

    for (int i = 0; i < t->rank; i++)
        last += (cfx_tensor_size(t, i) - 1) * cfx_dim_value(t->stride[i]);
    const char *begin = t->data;
    return (struct extent){
        s, begin,
        cfx_tensor_numel(t) ? begin + ((size_t)last + 1) * size : begin, NULL,
        0};
}

static int by_address(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->of > y->of) - (x->of < y->of);
}

static bool can_share(const struct extent *first, const struct extent *e)
{
    size_t size = cfx_dtype_size((cfx_dtype)e->of->state->tensor->dtype);

    return first->of->state->tensor->dtype == e->of->state->tensor->dtype &&
           (first->of->order == CONSTANT) == (e->of->order == CONSTANT) &&
           (first->of->state->persistent == e->of->state->persistent) &&
           (size_t)(e->begin - first->begin) % size == 0;
}

/* Is it in data/weights? Constants and buffers that the state dict lacks are
 * not. */
static bool is_weight(const cfx_pt2_state *s)
{
    return s->order != CONSTANT && s->state->persistent;
}

/* Sort by address, and give those that overlap one file. */
static void share(struct extent *e, size_t n)
{
    const char *end = NULL;
    size_t files[2] = {0, 0};

    if (n)
        qsort(e, n, sizeof(*e), by_address);
    for (size_t i = 0; i < n; i++) {
        const struct extent *first = i ? e[i - 1].first : NULL;
        if (first && e[i].begin < end && e[i].end > e[i].begin &&
            can_share(first, &e[i])) {
            e[i].first = first;
            e[i].file = first->file;
            end = e[i].end > end ? e[i].end : end;
            continue;
        }
        e[i].first = &e[i];
        e[i].file = files[is_weight(e[i].of)]++;
        end = e[i].end;
    }
}

static const char *name_of_file(cfx_buf *b, const char *root,
                                const struct extent *e)
{
    cfx_buf_clear(b);
    if (root)
        cfx_buf_printf(b, "%s/data/%s/", root,
                       is_weight(e->of) ? "weights" : "constants");
    cfx_buf_printf(b, "%s_%zu", is_weight(e->of) ? "weight" : "tensor",
                   e->file);
    return b->failed ? NULL : b->s;
}

static cfx_status write_files(cfx_zip_writer *z, const char *root,
                              const struct extent *e, size_t n, cfx_buf *b,
                              cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < n && !st;) {
        const char *end = e[i].end, *name = name_of_file(b, root, &e[i]);
        size_t k = i + 1;
        for (; k < n && e[k].first == &e[i]; k++)
            end = e[k].end > end ? e[k].end : end;
        st = name ? cfx_zip_writer_add(z, name, e[i].begin,
                                       (size_t)(end - e[i].begin), err)
                  : cfx_no_memory(err);
        if (!st)
            st = cfx_context_check(z->ctx, err);
        i = k;
    }
    return st;
}

/* ---- Configurations ---- */

static void put_payload(cfx_buf *b, const struct extent *e)
{
    static const cfx_pt2_symbols none = {.n = 0};
    const cfx_state *state = e->of->state;
    size_t size = cfx_dtype_size((cfx_dtype)state->tensor->dtype);
    bool real = cfx_dtype_is_float((cfx_dtype)state->tensor->dtype);

    cfx_pt2__put_comma(b);
    cfx_pt2__put_name(b, e->of->path);
    cfx_buf_printf(
        b,
        ": {\"path_name\": \"%s_%zu\", \"is_param\": %s, \"use_pickle\": false, \"tensor_meta\": ",
        is_weight(e->of) ? "weight" : "tensor", e->file,
        e->of->order == PARAMETER ? "true" : "false");
    cfx_pt2__put_meta(b, &none, state->tensor, "cpu",
                      (int64_t)((size_t)(e->begin - e->first->begin) / size),
                      e->of->order == PARAMETER && real);
    cfx_buf_putc(b, '}');
}

static cfx_status write_config(cfx_zip_writer *z, const char *root,
                               const struct extent *e, size_t n, bool weights,
                               cfx_error *err)
{
    const char *kind = weights ? "weights" : "constants";
    char name[512];
    cfx_buf b;

    snprintf(name, sizeof(name), "%.255s/data/%s/model_%s_config.json", root,
             kind, kind);
    cfx_buf_init(&b, z->ctx);
    cfx_buf_puts(&b, "{\"config\": {");
    for (size_t i = 0; i < n; i++)
        if (is_weight(e[i].of) == weights)
            put_payload(&b, &e[i]);
    cfx_buf_puts(&b, "}}");
    cfx_status st = b.failed ? cfx_no_memory(err)
                             : cfx_zip_writer_add(z, name, b.s, b.len, err);
    cfx_buf_release(&b);
    return st;
}

cfx_status cfx_pt2__write_states(cfx_zip_writer *z, const char *root,
                                 const cfx_pt2_states *s, cfx_error *err)
{
    struct extent *e = cfx_calloc(s->ctx, s->n + 1, sizeof(*e));
    cfx_buf b;

    if (!e)
        return cfx_no_memory(err);
    for (size_t i = 0; i < s->n; i++)
        e[i] = extent_of(&s->item[i]);
    share(e, s->n);
    cfx_buf_init(&b, s->ctx);
    cfx_status st = write_files(z, root, e, s->n, &b, err);
    if (!st)
        st = write_config(z, root, e, s->n, true, err);
    if (!st)
        st = write_config(z, root, e, s->n, false, err);
    cfx_buf_release(&b);
    cfx_free(s->ctx, e, (s->n + 1) * sizeof(*e));
    return st;
}
