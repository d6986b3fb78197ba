/*
 * model_formats -- the table of model formats: files are read and written
 * through it.
 *
 * The content of a file tells its format. The suffix tells it where the content
 * cannot: of a pipe, of a file that is to be written, and of a broken file,
 * whose reader then says what is wrong with it.
 */
#include "format/io.h"

#include <string.h>

static const cfx_model_format *const formats[] = {
#define MODEL_FORMAT(name) &cfx_model_format__##name,
#include "format/model_formats.def"
#undef MODEL_FORMAT
};

enum { NFORMATS = sizeof(formats) / sizeof(*formats) };

const cfx_model_format *cfx_model_format_at(size_t i)
{
    return i < NFORMATS ? formats[i] : NULL;
}

const cfx_model_format *cfx_model_format_of_name(const char *path)
{
    for (size_t i = 0; i < NFORMATS; i++)
        if (cfx_path_ends_in(path, formats[i]->suffix))
            return formats[i];
    return NULL;
}

static const cfx_model_format *probe_file(cfx_context *ctx, const char *path)
{
    unsigned char head[CFX_HEAD];
    size_t n;

    if (cfx_file_head(ctx, path, head, &n))
        return NULL;
    for (size_t i = 0; i < NFORMATS; i++)
        if (formats[i]->read && formats[i]->probe(head, n))
            return formats[i];
    return NULL;
}

cfx_status cfx_model__read(cfx_module **out, cfx_context *ctx,
                           const char *path, cfx_error *err)
{
    const cfx_model_format *format = probe_file(ctx, path);

    if (!format)
        format = cfx_model_format_of_name(path);
    return (format && format->read ? format : formats[0])
        ->read(out, ctx, path, err);
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
    format = format ? format : formats[0];
    return format->write ? format->write(path, gm, &o, err)
                         : cfx_fail(err, CFX_EUNSUPPORTED,
                                    "%s: models are "
                                    "read from such a file, not written",
                                    path);
}
