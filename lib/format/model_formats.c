/*
 * model_formats -- the table of model formats: files are read and written
 * through it.
 */
#include "format/io.h"

#include <string.h>

#include "format/onnx/onnx_writable.h"
#include "format/print.h"

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

cfx_status cfx_model_file_open(cfx_model_file **out, cfx_context *ctx,
                               const char *path, cfx_error *err)
{
    size_t size = strlen(path) + 1;
    cfx_model_file *f = cfx_alloc(ctx, sizeof(*f) + size);

    *out = f;
    if (!f)
        return cfx_no_memory(err);
    *f = (cfx_model_file){.size = size};
    memcpy(f->path, path, size);
    cfx_file_open(&f->file, ctx, f->path, NULL); /* the reader says why not */
    cfx_buf_init(&f->version, ctx);
    f->format = (const cfx_model_format *)cfx_format__of_file(
        formats, NFORMATS, &f->file);
    if (!f->format || !f->format->read)
        f->format = cfx_model_format_at(0);
    return CFX_OK;
}

void cfx_model_file_close(cfx_model_file *f)
{
    if (!f)
        return;
    if (f->format->close)
        f->format->close(f);
    cfx_buf_release(&f->version);
    cfx_file_close(&f->file);
    cfx_free(f->file.ctx, f, sizeof(*f) + f->size);
}

cfx_status cfx_model__set_version(cfx_model_file *f, const cfx_buf *text,
                                  cfx_error *err)
{
    cfx_out out;

    if (text->failed)
        return cfx_no_memory(err);
    cfx_buf_clear(&f->version);
    cfx_out_init(&out, cfx_sink_buf(&f->version));
    cfx_out__visible(&out, text->s, text->len);
    return cfx_out_finish(&out, err);
}

const cfx_model_format *cfx_model_file_format(const cfx_model_file *f)
{
    return f->format;
}

const char *cfx_model_file_version(const cfx_model_file *f)
{
    return cfx_buf_str(&f->version);
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

cfx_status cfx_onnx_input_read(cfx_value *out, const cfx_model_file *model,
                               const char *name, const char *path,
                               cfx_error *err)
{
    (void)name;
    return cfx_onnx_value_read(out, model->file.ctx, NULL, false, 0, path,
                               err);
}

bool cfx_onnx__has_rule(const cfx_op *op)
{
    (void)op;
    return false;
}
#endif
