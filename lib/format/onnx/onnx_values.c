/*
 * onnx_values -- sequences and optional values as files, as test data has them.
 *
 * A sequence is a list, an optional value without an element None. The bytes of
 * such a file do not tell which kind it is: the model does, in the type of the
 * input or output.
 */
#include "format/io.h"
#include "format/onnx/onnx.h"

typedef struct reader {
    cfx_context *ctx;
    cfx_error *err;
} reader;

static cfx_status read_sequence(cfx_value *out, reader *r,
                                Onnx__SequenceProto *p);
static cfx_status read_optional(cfx_value *out, reader *r,
                                Onnx__OptionalProto *p);

static cfx_status read_tensor(cfx_value *out, reader *r, Onnx__TensorProto *p)
{
    return onnx_constant_read(out, r->ctx, p, NULL, r->err);
}

/* The decoder has bounded how deeply they nest. */
static cfx_status read_item(cfx_value *out, reader *r, Onnx__SequenceProto *p,
                            size_t i)
{
    if (i < p->n_tensor_values)
        return read_tensor(out, r, p->tensor_values[i]);
    i -= p->n_tensor_values;
    if (i < p->n_sequence_values)
        return read_sequence(out, r, p->sequence_values[i]);
    return read_optional(out, r, p->optional_values[i - p->n_sequence_values]);
}

static cfx_status read_sequence(cfx_value *out, reader *r,
                                Onnx__SequenceProto *p)
{
    size_t n = p->n_tensor_values + p->n_sequence_values +
               p->n_optional_values;
    cfx_value *item = cfx_calloc(r->ctx, n ? n : 1, sizeof(*item));
    cfx_status st = item ? CFX_OK : cfx_no_memory(r->err);
    size_t read = 0;

    while (!st && read < n && !(st = read_item(&item[read], r, p, read)))
        read++;
    if (!st) {
        *out = cfx_list_new(r->ctx, n, item);
        st = out->kind == CFX_LIST ? CFX_OK : cfx_no_memory(r->err);
    }
    for (size_t i = 0; i < read; i++)
        cfx_value_unref(item[i]);
    if (item)
        cfx_free(r->ctx, item, (n ? n : 1) * sizeof(*item));
    return st;
}

static cfx_status read_optional(cfx_value *out, reader *r,
                                Onnx__OptionalProto *p)
{
    if (p->tensor_value)
        return read_tensor(out, r, p->tensor_value);
    if (p->sequence_value)
        return read_sequence(out, r, p->sequence_value);
    if (p->optional_value)
        return read_optional(out, r, p->optional_value);
    *out = cfx_none();
    return CFX_OK;
}

const ProtobufCMessageDescriptor *onnx_value_kind(const Onnx__TypeProto *type)
{
    return type && type->sequence_type   ? &onnx__sequence_proto__descriptor
           : type && type->optional_type ? &onnx__optional_proto__descriptor
                                         : &onnx__tensor_proto__descriptor;
}

cfx_status onnx_value_read(cfx_value *out, cfx_context *ctx,
                           ProtobufCMessage *m, cfx_error *err)
{
    reader r = {ctx, err};

    if (m->descriptor == &onnx__sequence_proto__descriptor)
        return read_sequence(out, &r, (Onnx__SequenceProto *)m);
    if (m->descriptor == &onnx__optional_proto__descriptor)
        return read_optional(out, &r, (Onnx__OptionalProto *)m);
    return read_tensor(out, &r, (Onnx__TensorProto *)m);
}
