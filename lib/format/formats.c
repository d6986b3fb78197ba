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

const cfx_format *cfx_format__of_file(const cfx_format *const *formats,
                                      size_t n, const cfx_file *f)
{
    const cfx_format *format = NULL;
    struct stat info;

    /* The first row may take what no other knows. */
    for (size_t i = n; f->fd >= 0 && i-- > 0;)
        if (formats[i]->probe && formats[i]->probe(f->head, f->nhead))
            return formats[i];
    if (f->fd < 0 && !stat(f->path, &info) && S_ISDIR(info.st_mode))
        format = cfx_format__of_name(formats, n, "x/");
    return format ? format : cfx_format__of_name(formats, n, f->path);
}
