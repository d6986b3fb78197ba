/*
 * model_formats -- the table of model formats: files are read and written
 * through it.
 */
#include "format/io.h"

#include <string.h>

#include "format/onnx/onnx_writable.h"

static const cfx_format *const formats[] = {
#define MODEL_FORMAT(name) &cfx_model_format__##name.base,
#include "format/model_formats.def"
#undef MODEL_FORMAT
};

enum { NFORMATS = sizeof(formats) / sizeof(*formats) };

const cfx_model_format *cfx_model_format_at(size_t i)
{
    return i < NFORMATS ? (const cfx_model_format *)formats[i] : NULL;
}

const cfx_model_format *cfx_model_format_of_name(const char *path)
{
    return (const cfx_model_format *)cfx_format__of_name(formats, NFORMATS,
                                                         path);
}

const cfx_model_format *cfx_model_format_of_file(cfx_context *ctx,
                                                 const char *path)
{
    const cfx_model_format *format = (const cfx_model_format *)
        cfx_format__of_file(formats, NFORMATS, ctx, path);

    return format && format->read ? format : cfx_model_format_at(0);
}

cfx_status cfx_model_save(const char *path, const cfx_module *gm,
                          const cfx_save_options *options, cfx_error *err)
{
    const cfx_model_format *format = cfx_model_format_of_name(path);
    cfx_save_options o = {.size = sizeof(o)};

    cfx_error_clear(err);
    if (options)
        memcpy(&o, options,
               options->size < sizeof(o) ? options->size : sizeof(o));
    format = format ? format : cfx_model_format_at(0);
    return format->write
               ? format->write(path, gm, &o, err)
               : cfx_fail(err, CFX_EUNSUPPORTED,
                          "%s: models are read from such a file, not written",
                          path);
}

#ifndef HAVE_ONNX
cfx_status cfx_onnx_value_read(cfx_value *out, cfx_context *ctx,
                               const char *model, bool output, size_t i,
                               const char *path, cfx_error *err)
{
    (void)ctx;
    (void)model;
    (void)output;
    (void)i;
    *out = CFX_NOTHING;
    return cfx_fail(err, CFX_EUNSUPPORTED, "%s: cfx is built without ONNX",
                    path);
}

cfx_status cfx_onnx_input_read(cfx_value *out, cfx_context *ctx,
                               const char *model, const char *name,
                               const char *path, cfx_error *err)
{
    (void)name;
    return cfx_onnx_value_read(out, ctx, model, false, 0, path, err);
}

bool cfx_onnx__has_rule(const cfx_op *op)
{
    (void)op;
    return false;
}
#endif
