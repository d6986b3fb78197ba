/*
 * pt2_write -- models as torch.export.save of torch 2.13 writes them.
 *
 * The graph is one that cfx_to_aten makes: calls of ATen's overloads, with
 * metas. Inputs are passed as in the file that was read, or by position.
 */
#include "format/pt2/pt2_write.h"

#include <stdio.h>

#include <cfx/version.h>

#include "format/print.h"

/* ---- The description of the model ---- */

static cfx_status put_program(cfx_pt2_writer *w, cfx_error *err)
{
    cfx_buf *b = w->out;

    cfx_buf_puts(b, "{\"graph_module\": {\"graph\": ");
    cfx_status st = cfx_pt2__put_graph(w, w->gm, true, err);
    cfx_buf_puts(b, ", ");
    if (!st)
        st = cfx_pt2__put_signature(w, err);
    cfx_buf_puts(
        b,
        ", \"metadata\": {}, \"treespec_namedtuple_fields\": {}}, \"opset_version\": {\"aten\": 10}, ");
    cfx_pt2__put_ranges(b, &w->symbols);
    cfx_buf_puts(
        b,
        ", \"schema_version\": {\"major\": 8, \"minor\": 20}, \"verifiers\": [\"TRAINING\"], \"torch_version\": \"cfx " CFX_VERSION
        "\", \"guards_code\": []}");
    return !st && b->failed ? cfx_no_memory(err) : st;
}

/* ---- Files ---- */

static cfx_status add(cfx_zip_writer *z, const char *root, const char *name,
                      const char *data, size_t size, cfx_error *err)
{
    char path[512];

    snprintf(path, sizeof(path), "%.255s/%s", root, name);
    return cfx_zip_writer_add(z, path, data, size, err);
}

static cfx_status add_text(cfx_zip_writer *z, const char *root,
                           const char *name, const char *text, cfx_error *err)
{
    return add(z, root, name, text, strlen(text), err);
}

static cfx_status add_model(cfx_zip_writer *z, const char *root,
                            cfx_pt2_writer *w, cfx_error *err)
{
    cfx_buf b;

    cfx_buf_init(&b, w->ctx);
    w->out = &b;
    cfx_status st = put_program(w, err);
    if (!st)
        st = add(z, root, "models/model.json", b.s, b.len, err);
    cfx_buf_release(&b);
    return st;
}

/* An empty file stands for no inputs. */
static cfx_status add_inputs(cfx_zip_writer *z, const char *root,
                             cfx_pt2_writer *w, const cfx_save_options *o,
                             cfx_error *err)
{
    const json_t *tree = w->in_spec.tree;
    cfx_buf b;
    cfx_status st = CFX_OK;

    cfx_buf_init(&b, w->ctx);
    if (o->inputs && (!tree || cfx_pt2__can_pickle(tree)))
        st = cfx_pt2__put_inputs(&b, w->ctx, tree, o->inputs, o->ninputs, err);
    if (!st && b.failed)
        st = cfx_no_memory(err);
    if (!st)
        st = add(z, root, "data/sample_inputs/model.pt", cfx_buf_str(&b),
                 b.len, err);
    cfx_buf_release(&b);
    return st;
}

static cfx_status add_files(cfx_zip_writer *z, const char *root,
                            cfx_pt2_writer *w, const cfx_save_options *o,
                            cfx_error *err)
{
    cfx_status st = cfx_pt2__write_states(z, root, &w->states, err);

    if (!st)
        st = add_model(z, root, w, err);
    if (!st)
        st = add_inputs(z, root, w, o, err);
    if (!st)
        st = add_text(z, root, "archive_format", "pt2", err);
    if (!st)
        st = add_text(z, root, "archive_version", "0", err);
    if (!st)
        st = add_text(z, root, "byteorder",
                      cfx_little_endian() ? "little" : "big", err);
    if (!st)
        st = add_text(z, root, ".data/version", "6\n", err);
    return st ? st : cfx_zip_writer_finish(z, err);
}

/* The folder in the archive has the name of the file without its suffix. */
static void root_of(char *root, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strlen(name);

    len -= cfx_path_ends_in(name, ".pt2") ? 4 : 0;
    snprintf(root, size, "%.*s", (int)(len < size ? len : size - 1), name);
}

static cfx_status collect(cfx_pt2_writer *w, const cfx_save_options *o,
                          cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(w->gm);

    if (!g)
        return cfx_fail(err, CFX_EGRAPH, "the model has no graph");
    cfx_status st = cfx_pt2__find_symbols(&w->symbols, g, o, err);
    if (!st)
        st = cfx_pt2__find_in_spec(&w->in_spec, g, err);
    return st ? st : cfx_pt2__find_states(&w->states, w->gm, err);
}

static cfx_status write_archive(cfx_outfile *file, const char *root,
                                cfx_pt2_writer *w, const cfx_save_options *o,
                                cfx_error *err)
{
    cfx_zip_writer z;

    cfx_zip_writer_init(&z, w->ctx, cfx_sink_file(file->stream));
    cfx_status st = add_files(&z, root, w, o, err);
    cfx_zip_writer_release(&z);
    return st;
}

/* Opening and committing a file name it in their errors. */
cfx_status cfx_pt2__write(const char *path, const cfx_module *gm,
                          const cfx_save_options *o, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_pt2_writer w = {
        .ctx = ctx, .gm = gm, .symbols = {.ctx = ctx}, .states = {.ctx = ctx}};
    cfx_outfile file = {0};
    char root[256];

    cfx_map_init(&w.states.by_path, ctx);
    cfx_arena_init(&w.states.arena, ctx);
    root_of(root, sizeof(root), path);
    cfx_status st = collect(&w, o, err);
    if (st)
        cfx_fail_at(err, "%s", path);
    else
        st = cfx_outfile_open(&file, ctx, path, err);
    if (!st) {
        st = write_archive(&file, root, &w, o, err);
        if (st)
            cfx_fail_at(err, "%s", path);
        else
            st = cfx_outfile_commit(&file, err);
    }
    cfx_outfile_discard(&file);
    cfx_pt2__in_spec_release(&w.in_spec);
    cfx_pt2__states_release(&w.states);
    cfx_pt2__symbols_release(&w.symbols);
    return st;
}
