/*
 * machine_find -- the machine descriptions that come with cfx, by name.
 */
#define _GNU_SOURCE 1
#include "shapeprop/machine/machine_impl.h"

#include <cfx/nearest.h>

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CFX_MACHINES_DIR /* set by the makefile */
#define CFX_MACHINES_DIR "/usr/share/cfx/machines"
#endif

static const char *folder(void)
{
    const char *dir = getenv("CFX_MACHINES");

    return dir && *dir ? dir : CFX_MACHINES_DIR;
}

/* Return the length of a file's name without .json; 0 for other files. */
static size_t stem(const char *file)
{
    size_t n = strlen(file);

    return n > 5 && file[0] != '.' && !strcmp(file + n - 5, ".json") ? n - 5
                                                                     : 0;
}

static int is_machine(const struct dirent *d)
{
    return stem(d->d_name) > 0;
}

/* Append the existing names: " (there are A, B)". */
static void add_names(cfx_buf *b, cfx_nearest *near)
{
    struct dirent **list;
    int n = scandir(folder(), &list, is_machine, alphasort);

    for (int i = 0; i < n; i++) {
        cfx_buf_puts(b, i ? ", " : n > 1 ? " (there are " : " (there is ");
        cfx_buf_add(b, list[i]->d_name, stem(list[i]->d_name));
        cfx_nearest_try(near, list[i]->d_name, stem(list[i]->d_name));
        free(list[i]);
    }
    if (n > 0)
        cfx_buf_putc(b, ')');
    else
        cfx_buf_printf(
            b, " (there are none in %s; CFX_MACHINES names another folder)",
            folder());
    if (n >= 0)
        free(list);
}

static cfx_status unknown(cfx_context *ctx, const char *name, cfx_error *err)
{
    cfx_buf names;
    cfx_nearest near;

    cfx_buf_init(&names, ctx);
    cfx_nearest_init(&near, name, strlen(name));
    add_names(&names, &near);
    cfx_status st = cfx_fail(
        err, CFX_ENAME,
        "there is no machine '%s', nor a file of that name%s%s", name,
        cfx_buf_str(&names), cfx_nearest_text(&near));
    cfx_buf_release(&names);
    return st;
}

cfx_status cfx_machine_find(cfx_machine **out, cfx_context *ctx,
                            const char *name, cfx_error *err)
{
    cfx_buf path;
    cfx_status st;

    *out = NULL;
    if (strchr(name, '/') || stem(name) || !access(name, F_OK))
        return cfx_machine_read(out, ctx, name, err);
    cfx_buf_init(&path, ctx);
    cfx_buf_printf(&path, "%s/%s.json", folder(), name);
    if (path.failed)
        st = cfx_no_memory(err);
    else if (!*name || name[0] == '.' || access(path.s, F_OK))
        st = unknown(ctx, name, err);
    else
        st = cfx_machine_read(out, ctx, path.s, err);
    cfx_buf_release(&path);
    return st;
}
