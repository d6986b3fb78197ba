/*
 * onnx_write_file -- an ONNX model as a file, with its weights in it, or, where these
 * have more than 2 GB together, in a file beside it, NAME.onnx.data.
 */
#include <stdio.h>

#include "format/io.h"
#include "format/onnx/onnx_write.h"
#include "op/composite.h"

/* protobuf's limit is 2^31 - 1 bytes; the graph needs some. */
enum { INLINE_MAX = 2000000000 };

/* Tensors of fewer bytes stay in the model, as shapes are read from them. */
enum { EXTERNAL_MIN = 1024 };

/* ---- Weights in a file of their own ---- */

static size_t weight_bytes(const Onnx__GraphProto *g)
{
    size_t all = 0;

    for (size_t i = 0; i < g->n_initializer; i++)
        all += g->initializer[i]->raw_data.len;
    return all;
}

static void add_entry(onnx_writer *w, Onnx__TensorProto *p, const char *key,
                      const char *value)
{
    Onnx__StringStringEntryProto *e = onnx_put_alloc(w, 1, sizeof(*e));

    if (!e)
        return;
    onnx__string_string_entry_proto__init(e);
    e->key = onnx_put_text(w, key);
    e->value = onnx_put_text(w, value);
    p->external_data[p->n_external_data++] = e;
}

static void move_out(onnx_writer *w, Onnx__TensorProto *p, const char *file,
                     size_t *at, FILE *to)
{
    size_t len = p->raw_data.len;
    char text[32];

    p->external_data = onnx_put_alloc(w, 3, sizeof(*p->external_data));
    if (!p->external_data)
        return;
    if (fwrite(p->raw_data.data, 1, len, to) != len)
        w->st = cfx_fail_errno(w->err, NULL);
    add_entry(w, p, "location", file);
    snprintf(text, sizeof(text), "%zu", *at);
    add_entry(w, p, "offset", text);
    snprintf(text, sizeof(text), "%zu", len);
    add_entry(w, p, "length", text);
    p->has_data_location = 1;
    p->data_location = 1;
    p->has_raw_data = 0;
    *at += len;
}

static cfx_status write_weights(onnx_writer *w, const char *path,
                                cfx_outfile *file)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    Onnx__GraphProto *g = &w->graph;
    size_t at = 0;

    w->st = cfx_outfile_open(file, w->ctx, path, w->err);
    for (size_t i = 0; i < g->n_initializer && !w->st; i++)
        if (g->initializer[i]->raw_data.len >= EXTERNAL_MIN)
            move_out(w, g->initializer[i], name, &at, file->stream);
    if (w->st && file->stream)
        cfx_fail_at(w->err, "%s", path);
    return w->st;
}

/* ---- The model ---- */

typedef struct stream {
    ProtobufCBuffer base;
    FILE *to;
    bool failed;
} stream;

static void append(ProtobufCBuffer *b, size_t n, const uint8_t *data)
{
    stream *s = (stream *)b;

    s->failed = s->failed || fwrite(data, 1, n, s->to) != n;
}

static void fill_model(onnx_writer *w, Onnx__ModelProto *m,
                       Onnx__OperatorSetIdProto *set)
{
    Onnx__OperatorSetIdProto **list = onnx_put_alloc(w, 1, sizeof(*list));

    onnx__model_proto__init(m);
    onnx__operator_set_id_proto__init(set);
    set->domain = onnx_put_text(w, "");
    set->has_version = 1;
    set->version = w->opset;
    m->has_ir_version = 1;
    m->ir_version = w->opset < ONNX_WRITE_INT4_OPSET ? 8 : 10;
    m->producer_name = onnx_put_text(w, "cfx");
    m->graph = &w->graph;
    m->opset_import = list;
    m->n_opset_import = list != NULL;
    if (list)
        *list = set;
}

static cfx_status write_model(onnx_writer *w, const char *path,
                              cfx_outfile *file)
{
    stream to = {{append}, file->stream, false};
    Onnx__OperatorSetIdProto set;
    Onnx__ModelProto model;

    fill_model(w, &model, &set);
    if (!w->st && protobuf_c_message_get_packed_size(&model.base) > INT32_MAX)
        w->st = cfx_fail(w->err, CFX_ELIMIT,
                         "its graph needs more than 2 GiB");
    if (!w->st)
        protobuf_c_message_pack_to_buffer(&model.base, &to.base);
    if (!w->st && to.failed)
        w->st = cfx_fail_errno(w->err, NULL);
    if (w->st)
        cfx_fail_at(w->err, "%s", path);
    return w->st;
}

/* The weights are complete before the model that names them appears. */
static cfx_status write_files(onnx_writer *w, const char *path)
{
    bool apart = weight_bytes(&w->graph) > INLINE_MAX;
    cfx_outfile model = {0}, weights = {0};
    cfx_buf beside;

    cfx_buf_init(&beside, w->ctx);
    cfx_buf_printf(&beside, "%s.data", path);
    if (beside.failed)
        w->st = cfx_no_memory(w->err);
    if (!w->st && apart)
        write_weights(w, beside.s, &weights);
    if (!w->st)
        w->st = cfx_outfile_open(&model, w->ctx, path, w->err);
    if (!w->st)
        write_model(w, path, &model);
    if (!w->st && apart)
        w->st = cfx_outfile_commit(&weights, w->err);
    if (!w->st)
        w->st = cfx_outfile_commit(&model, w->err);
    cfx_outfile_discard(&model);
    cfx_outfile_discard(&weights);
    cfx_buf_release(&beside);
    return w->st;
}

cfx_status onnx_write(const char *path, const cfx_module *gm,
                      const cfx_save_options *o, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph((cfx_module *)(uintptr_t)gm);

    (void)o;
    if (!g)
        return cfx_fail(err, CFX_EGRAPH, "%s: the model has no graph", path);
    onnx_writer w = {.ctx = cfx_graph_context(g), .err = err, .gm = gm};
    cfx_arena_init(&w.arena, w.ctx);
    cfx_scope_init(&w.keep, &cfx_composite__eager, w.ctx, NULL);
    cfx_map_init(&w.names, w.ctx);
    cfx_map_init(&w.folded, w.ctx);
    cfx_map_init(&w.tensors, w.ctx);
    cfx_map_init(&w.taken, w.ctx);
    cfx_map_init(&w.dims, w.ctx);
    cfx_buf_init(&w.refused, w.ctx);
    onnx__graph_proto__init(&w.graph);
    w.graph.name = onnx_put_text(&w, "main");
    if (!cfx_little_endian())
        w.st = cfx_fail(err, CFX_EUNSUPPORTED,
                        "ONNX is not written on a machine of this byte order");
    if (!w.st)
        onnx_write_graph(&w, g);
    if (w.st)
        cfx_fail_at(err, "%s", path);
    else
        write_files(&w, path);
    cfx_buf_release(&w.refused);
    cfx_map_release(&w.dims);
    cfx_map_release(&w.taken);
    cfx_map_release(&w.tensors);
    cfx_map_release(&w.folded);
    cfx_map_release(&w.names);
    cfx_scope_release(&w.keep);
    cfx_arena_release(&w.arena);
    return w.st;
}
