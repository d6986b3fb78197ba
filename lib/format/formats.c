/*
 * formats -- recognize the format of a file.
 *
 * The content of a file tells its format. The suffix tells it where the content
 * cannot: of a pipe, of a file that is to be written, and of a broken file,
 * whose reader then says what is wrong with it. A folder has the suffix "/".
 */
#include "format/io.h"

#include <sys/stat.h>

const cfx_format *cfx_format__of_name(const cfx_format *const *formats,
                                      size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (cfx_path_ends_in(path, formats[i]->suffix))
            return formats[i];
    return NULL;
}

/* NULL where no probe knows the content, or it cannot be read. */
static const cfx_format *probe_file(const cfx_format *const *formats, size_t n,
                                    cfx_context *ctx, const char *path)
{
    unsigned char head[CFX_HEAD];
    size_t len;

    if (cfx_file_head(ctx, path, head, &len))
        return NULL;
    /* The first row may take what no other knows. */
    for (size_t i = n; i-- > 0;)
        if (formats[i]->probe && formats[i]->probe(head, len))
            return formats[i];
    return NULL;
}

const cfx_format *cfx_format__of_file(const cfx_format *const *formats,
                                      size_t n, cfx_context *ctx,
                                      const char *path)
{
    const cfx_format *format = probe_file(formats, n, ctx, path);
    struct stat info;

    if (!format && !stat(path, &info) && S_ISDIR(info.st_mode))
        format = cfx_format__of_name(formats, n, "x/");
    return format ? format : cfx_format__of_name(formats, n, path);
}
