/*
 * onnx_file -- an ONNX file as a GraphModule.
 */
#include <unistd.h>

#include "format/io.h"
#include "format/print.h"
#include "format/onnx/onnx_write.h"
#include "value/texts.h"

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
static cfx_status read_message(onnx_message *m,
                               const ProtobufCMessageDescriptor *kind,
                               const cfx_file *f, cfx_error *err)
{
    cfx_bytes bytes = {0};
    cfx_status st = cfx_file_read(&bytes, f, FILE_MAX, check_head, err);

    if (!st)
        st = onnx_decode(m, f->ctx, kind, bytes.data, bytes.len, err);
    cfx_bytes_release(&bytes);
    return st;
}

static cfx_status read_model(onnx_message *m, const cfx_file *f,
                             cfx_error *err)
{
    return read_message(m, &onnx__model_proto__descriptor, f, err);
}

/* ---- Models that are read for certain inputs ---- */

/* May a model that was not read with this status be read for certain inputs? */
static bool needs_inputs(cfx_status st)
{
    return st == CFX_EUNDECIDED || st == CFX_ESHAPE || st == CFX_EINVAL ||
           st == CFX_EUNSUPPORTED;
}

/* Vectors of at most so many numbers may decide shapes. */
enum { KNOWN_NUMBERS = 64 };

/* What the reader may know of an input, a new value: the meta of a tensor, None, a list.
 * With `numbers` also numbers, strings and the elements of short vectors. */
static cfx_status known_value(cfx_value *out, cfx_context *ctx, cfx_value v,
                              bool numbers, cfx_error *err)
{
    const cfx_tensor *t = v.u.tensor;
    cfx_tensor *meta;

    *out = CFX_NOTHING;
    if (v.kind != CFX_TENSOR) {
        bool texts = cfx_texts_are(v) && (v.kind == CFX_STR || v.u.seq->len);
        bool sequence = v.kind == CFX_NONE || v.kind == CFX_LIST;
        bool number = v.kind == CFX_INT || v.kind == CFX_FLOAT;
        if (texts || number ? numbers : sequence)
            *out = cfx_value_ref(v);
        return CFX_OK;
    }
    if (numbers && t->rank < 2 && cfx_tensor_numel(t) <= KNOWN_NUMBERS) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor_meta(&meta, ctx, (cfx_dtype)t->dtype, t->rank,
                                    t->shape, NULL, err);
    if (!st)
        *out = cfx_value_of_tensor(meta);
    return st;
}

/* "IR 8, operator set 17, com.microsoft 1" */
static cfx_status set_version(cfx_model_file *f, const Onnx__ModelProto *m,
                              cfx_error *err)
{
    cfx_buf text;

    cfx_buf_init(&text, f->file.ctx);
    cfx_buf_printf(&text, "IR %lld", (long long)m->ir_version);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = m->opset_import[i]->domain;
        cfx_buf_printf(&text, ", %.60s %lld",
                       domain && *domain ? domain : "operator set",
                       (long long)m->opset_import[i]->version);
    }
    cfx_status st = cfx_model__set_version(f, &text, err);
    cfx_buf_release(&text);
    return st;
}

static cfx_status read_once(cfx_module **out, cfx_model_file *f,
                            const cfx_load_options *o, cfx_error *err)
{
    onnx_message m = {0};
    onnx_folder dir = {.fd = -1};
    cfx_buf path;

    cfx_buf_init(&path, f->file.ctx);
    folder_of(&path, f->path);
    dir.path = path.s;
    cfx_status st = path.failed ? cfx_no_memory(err)
                                : read_model(&m, &f->file, err);
    if (!st)
        st = set_version(f, (Onnx__ModelProto *)m.base, err);
    if (!st)
        st = onnx_import(out, f->file.ctx, (Onnx__ModelProto *)m.base, &dir, o,
                         err);
    if (dir.fd >= 0)
        close(dir.fd);
    onnx_message_release(&m);
    cfx_buf_release(&path);
    return st;
}

/* Read a model of which some inputs are known. */
static cfx_status read_for(cfx_module **out, cfx_model_file *f,
                           const cfx_named_value *inputs, size_t n,
                           bool numbers, cfx_error *err)
{
    cfx_context *ctx = f->file.ctx;
    cfx_named_value *known = cfx_calloc(ctx, n + 1, sizeof(*known));
    const cfx_load_options o = {.constants = known, .nconstants = n};
    cfx_status st = known ? CFX_OK : cfx_no_memory(err);

    for (size_t i = 0; i < n && !st; i++) {
        known[i].name = inputs[i].name;
        st = known_value(&known[i].value, ctx, inputs[i].value, numbers, err);
    }
    if (!st)
        st = read_once(out, f, &o, err);
    for (size_t i = 0; known && i < n; i++)
        cfx_value_unref(known[i].value);
    if (known)
        cfx_free(ctx, known, (n + 1) * sizeof(*known));
    return st;
}

static cfx_status onnx_read(cfx_module **out, cfx_model_file *f,
                            const cfx_load_options *o, cfx_error *err)
{
    const cfx_named_value *inputs;
    size_t n;
    cfx_error why = {0};

    *out = NULL;
    cfx_status st = read_once(out, f, o, err);
    if (o->give_inputs && needs_inputs(st)) {
        cfx_error_clear(err);
        st = o->give_inputs(o->user, &inputs, &n, err);
        if (!st &&
            (o->input_numbers || read_for(out, f, inputs, n, false, &why)))
            st = read_for(out, f, inputs, n, true, err);
    }
    if (st)
        cfx_fail_at(err, "%s", f->path);
    return st;
}

/* ---- Files of one tensor, as test data has them ---- */

static cfx_status read_tensor(cfx_tensor **out, cfx_file *f, cfx_error *err)
{
    onnx_message m = {0};
    cfx_status st = read_message(&m, &onnx__tensor_proto__descriptor, f, err);

    if (!st)
        st = onnx_tensor_read(out, f->ctx, (Onnx__TensorProto *)m.base, NULL,
                              err);
    if (st)
        cfx_fail_at(err, "%s", f->path);
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
static cfx_status read_value(cfx_value *out, const cfx_file *model,
                             const char *name, bool output, size_t i,
                             const char *path, cfx_error *err)
{
    const cfx_file f = {.ctx = model->ctx, .path = path, .fd = -1};
    onnx_message m = {0}, value = {0};
    cfx_status st = read_model(&m, model, err);

    *out = CFX_NOTHING;
    if (st) {
        cfx_fail_at(err, "%s", model->path);
    } else {
        const Onnx__GraphProto *g = ((Onnx__ModelProto *)m.base)->graph;
        const Onnx__TypeProto *type = !g     ? NULL
                                      : name ? type_of_name(g, name)
                                             : type_of(g, output, i);
        st = read_message(&value, onnx_value_kind(type), &f, err);
        if (!st)
            st = onnx_value_read(out, f.ctx, value.base, err);
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
    const cfx_file f = {.ctx = ctx, .path = model, .fd = -1};

    return read_value(out, &f, NULL, output, i, path, err);
}

cfx_status cfx_onnx_input_read(cfx_value *out, const cfx_model_file *model,
                               const char *name, const char *path,
                               cfx_error *err)
{
    return read_value(out, &model->file, name, false, 0, path, err);
}

const cfx_tensor_format cfx_tensor_format__onnx_tensor = {
    .base = {.name = "pb",
             .suffix = ".pb",
             .doc = "One tensor of ONNX, as its test data has them."},
    .read_one = read_tensor,
};

/* They were read with the model, which cannot be read without: they decide
 * shapes. */
static cfx_status onnx_read_weights(cfx_module *gm, cfx_model_file *f,
                                    bool map, cfx_error *err)
{
    (void)gm;
    (void)f;
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
    .for_inputs = true,
    .read = onnx_read,
    .read_weights = onnx_read_weights,
    .write = onnx_write,
};
