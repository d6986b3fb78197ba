/*
 * onnx_file -- an ONNX file as a GraphModule.
 */
#include "format/io.h"
#include "format/print.h"
#include "format/onnx/onnx_write.h"

/* protobuf's own limit. */
static const size_t FILE_MAX = (size_t)1 << 31;

/* A model begins with its ir_version, a small number, and another field of few
 * kinds: texts of models have no such bytes. */
static bool onnx_probe(const unsigned char *head, size_t n)
{
    return n >= 4 && head[0] == 0x08 && head[1] >= 1 && head[1] < 64 &&
           (head[2] & 7) % 2 == 0 && (head[2] & 7) < 4 && head[2] >= 0x10 &&
           head[2] < 0x48;
}

/* A message begins with the number of a field, from 1 on, and its type. */
static cfx_status check_head(size_t *total, const unsigned char *head,
                             size_t len, cfx_error *err)
{
    (void)total;
    return len && head[0] < 8
               ? cfx_fail(
                     err, CFX_EPARSE,
                     "is not an ONNX file: a field has a number that none can have, at byte 1")
               : CFX_OK;
}

/* The folder of a path, as text in `out`. */
static void folder_of(cfx_buf *out, const char *path)
{
    const char *slash = strrchr(path, '/');

    cfx_buf_add(out, slash ? path : ".",
                !slash          ? 1
                : slash == path ? 1
                                : (size_t)(slash - path));
}

/* A message of that kind, the whole of a file. */
static cfx_status read_message(onnx_message *m, cfx_context *ctx,
                               const ProtobufCMessageDescriptor *kind,
                               const char *path, cfx_error *err)
{
    cfx_bytes bytes = {0};
    cfx_status st = cfx_bytes_read(&bytes, ctx, path, FILE_MAX, check_head,
                                   err);

    if (!st)
        st = onnx_decode(m, ctx, kind, bytes.data, bytes.len, err);
    cfx_bytes_release(&bytes);
    return st;
}

static cfx_status read_model(onnx_message *m, cfx_context *ctx,
                             const char *path, cfx_error *err)
{
    return read_message(m, ctx, &onnx__model_proto__descriptor, path, err);
}

static cfx_status onnx_read(cfx_module **out, cfx_context *ctx,
                            const char *path, const cfx_load_options *o,
                            cfx_error *err)
{
    onnx_message m = {0};
    cfx_buf dir;

    *out = NULL;
    cfx_buf_init(&dir, ctx);
    folder_of(&dir, path);
    cfx_status st = dir.failed ? cfx_no_memory(err) : CFX_OK;
    if (!st)
        st = read_model(&m, ctx, path, err);
    if (!st)
        st = onnx_import(out, ctx, (Onnx__ModelProto *)m.base, dir.s, o, err);
    if (st)
        cfx_fail_at(err, "%s", path);
    onnx_message_release(&m);
    cfx_buf_release(&dir);
    return st;
}

/* "IR 8, operator set 17, com.microsoft 1" */
static cfx_status print_versions(cfx_sink to, const Onnx__ModelProto *m,
                                 cfx_context *ctx, cfx_error *err)
{
    cfx_buf text;
    cfx_out out;

    cfx_buf_init(&text, ctx);
    cfx_buf_printf(&text, "IR %lld", (long long)m->ir_version);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = m->opset_import[i]->domain;
        cfx_buf_printf(&text, ", %.60s %lld",
                       domain && *domain ? domain : "operator set",
                       (long long)m->opset_import[i]->version);
    }
    cfx_status st = text.failed ? cfx_no_memory(err) : CFX_OK;
    if (!st) {
        cfx_out_init(&out, to);
        cfx_out__visible(&out, text.s, text.len);
        st = cfx_out_finish(&out, err);
    }
    cfx_buf_release(&text);
    return st;
}

static cfx_status onnx_print_version(cfx_sink to, cfx_context *ctx,
                                     const char *path, cfx_error *err)
{
    onnx_message m = {0};
    cfx_status st = read_model(&m, ctx, path, err);

    if (!st)
        st = print_versions(to, (const Onnx__ModelProto *)m.base, ctx, err);
    onnx_message_release(&m);
    return st;
}

/* ---- Files of one tensor, as test data has them ---- */

static cfx_status read_tensor(cfx_tensor **out, cfx_context *ctx,
                              const char *path, cfx_error *err)
{
    onnx_message m = {0};
    cfx_status st = read_message(&m, ctx, &onnx__tensor_proto__descriptor,
                                 path, err);

    if (!st)
        st = onnx_tensor_read(out, ctx, (Onnx__TensorProto *)m.base, NULL,
                              err);
    if (st)
        cfx_fail_at(err, "%s", path);
    onnx_message_release(&m);
    return st;
}

/* The declared type of an input, without those that are initializers, or of an
 * output; NULL if there is none. */
static const Onnx__TypeProto *type_of(const Onnx__GraphProto *g, bool output,
                                      size_t i)
{
    if (output)
        return i < g->n_output ? g->output[i]->type : NULL;
    for (size_t k = 0; k < g->n_input; k++) {
        bool own = true;
        for (size_t j = 0; j < g->n_initializer && own; j++)
            own = strcmp(onnx_text(g->initializer[j]->name),
                         onnx_text(g->input[k]->name)) != 0;
        if (own && i-- == 0)
            return g->input[k]->type;
    }
    return NULL;
}

/* The type of the input of that name; NULL if there is none. */
static const Onnx__TypeProto *type_of_name(const Onnx__GraphProto *g,
                                           const char *name)
{
    for (size_t i = 0; i < g->n_input; i++)
        if (!strcmp(onnx_text(g->input[i]->name), name))
            return g->input[i]->type;
    return NULL;
}

/* A value of input or output i, or, with a name, of that input. */
static cfx_status read_value(cfx_value *out, cfx_context *ctx,
                             const char *model, const char *name, bool output,
                             size_t i, const char *path, cfx_error *err)
{
    onnx_message m = {0}, value = {0};
    cfx_status st = read_model(&m, ctx, model, err);

    *out = CFX_NOTHING;
    if (st) {
        cfx_fail_at(err, "%s", model);
    } else {
        const Onnx__GraphProto *g = ((Onnx__ModelProto *)m.base)->graph;
        const Onnx__TypeProto *type = !g     ? NULL
                                      : name ? type_of_name(g, name)
                                             : type_of(g, output, i);
        st = read_message(&value, ctx, onnx_value_kind(type), path, err);
        if (!st)
            st = onnx_value_read(out, ctx, value.base, err);
        if (st)
            cfx_fail_at(err, "%s", path);
    }
    onnx_message_release(&value);
    onnx_message_release(&m);
    return st;
}

cfx_status cfx_onnx_value_read(cfx_value *out, cfx_context *ctx,
                               const char *model, bool output, size_t i,
                               const char *path, cfx_error *err)
{
    return read_value(out, ctx, model, NULL, output, i, path, err);
}

cfx_status cfx_onnx_input_read(cfx_value *out, cfx_context *ctx,
                               const char *model, const char *name,
                               const char *path, cfx_error *err)
{
    return read_value(out, ctx, model, name, false, 0, path, err);
}

/* One tensor, whose name is empty. */
static cfx_status tensor_file_read(cfx_tensors *out, cfx_context *ctx,
                                   const char *path, bool map, cfx_error *err)
{
    (void)map;
    cfx_status st = cfx_tensors_init(out, ctx, 1, err);
    if (!st)
        st = cfx_tensors_name(out, 0, "", 0, err);
    if (!st)
        st = read_tensor(&out->item[0].tensor, ctx, path, err);
    if (st)
        cfx_tensors_release(out);
    return st;
}

const cfx_tensor_format cfx_tensor_format__onnx_tensor = {
    .base = {.name = "pb",
             .suffix = ".pb",
             .doc = "One tensor of ONNX, as its test data has them."},
    .read = tensor_file_read,
};

/* They were read with the model, which cannot be read without: they decide
 * shapes. */
static cfx_status onnx_read_weights(cfx_module *gm, const char *path, bool map,
                                    cfx_error *err)
{
    (void)gm;
    (void)path;
    (void)map;
    (void)err;
    return CFX_OK;
}

const cfx_model_format cfx_model_format__onnx = {
    .base = {.name = "onnx",
             .suffix = ".onnx",
             .doc = "An ONNX model, with its weights.",
             .probe = onnx_probe},
    .options = CFX_SAVE_CALLS,
    .read = onnx_read,
    .read_weights = onnx_read_weights,
    .write = onnx_write,
    .print_version = onnx_print_version,
};
