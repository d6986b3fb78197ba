/*
 * folder -- a GraphModule as a Python package: what cfx writes, and what torch.fx's
 * to_folder writes.
 *
 * Files are written to a temporary folder. For a new package it is renamed as
 * a whole; in an existing folder the files are renamed one by one.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/io.h"
#include "format/print.h"

enum { INIT, MODULE, STATE, NFILES };

static const char *const file_name[NFILES] = {"__init__.py", "module.py",
                                              "state.safetensors"};

typedef struct folder {
    cfx_context *ctx;
    const cfx_module *gm;
    const char *name; /* of the class */
    cfx_buf path, temporary, from, to;
    bool there; /* was the folder there before? */
    bool state; /* are there numbers? */
    cfx_error *err;
} folder;

static cfx_status out_of_memory(cfx_error *err)
{
    return cfx_no_memory(err);
}

static cfx_status join(cfx_buf *to, const cfx_buf *dir, const char *name,
                       cfx_error *err)
{
    cfx_buf_clear(to);
    cfx_buf_printf(to, "%s/%s", dir->s, name);
    return to->failed ? out_of_memory(err) : CFX_OK;
}

/* ---- Files ---- */

static cfx_status write_text(folder *f, int which, cfx_sink to)
{
    cfx_out out;
    if (which == MODULE)
        return cfx_print_python_module(to, f->gm, f->name, f->state, f->err);
    cfx_out_init(&out, to);
    cfx_out_puts(&out, "from .module import ");
    cfx_out_puts(&out, f->name);
    cfx_out_putc(&out, '\n');
    return cfx_out_finish(&out, f->err);
}

static cfx_status write_file(folder *f, int which)
{
    cfx_outfile file;
    cfx_status st = join(&f->from, &f->temporary, file_name[which], f->err);
    if (st || which == STATE)
        return st ? st
                  : cfx_model__write_weights(f->from.s, f->gm, NULL, f->err);
    st = cfx_outfile_open(&file, f->ctx, f->from.s, f->err);
    if (st)
        return st;
    st = write_text(f, which, cfx_sink_file(file.stream));
    /* A write error is reported when the file is closed. */
    if (st && st != CFX_EIO) {
        cfx_outfile_discard(&file);
        return st;
    }
    return cfx_outfile_commit(&file, f->err);
}

/* A folder of a name that was free. */
static cfx_status make_temporary(folder *f)
{
    for (unsigned i = 0; i < 1000; i++) {
        cfx_buf_clear(&f->temporary);
        cfx_buf_printf(&f->temporary,
                       f->there ? "%s/%ld.%u.tmp" : "%s.%ld.%u.tmp", f->path.s,
                       (long)getpid(), i);
        if (f->temporary.failed)
            return out_of_memory(f->err);
        if (!mkdir(f->temporary.s, 0777))
            return CFX_OK;
        if (errno != EEXIST)
            break;
    }
    cfx_status st = cfx_fail_errno(f->err, f->path.s);
    cfx_buf_clear(&f->temporary);
    return st;
}

/* Rename the temporary files into place. */
static cfx_status install(folder *f)
{
    if (!f->there && rename(f->temporary.s, f->path.s))
        return cfx_fail_errno(f->err, f->path.s);
    /* The module comes last: it names the others. */
    static const int order[] = {STATE, INIT, MODULE};
    for (int i = 0; i < NFILES && f->there; i++) {
        const char *name = file_name[order[i]];
        if (order[i] == STATE && !f->state)
            continue;
        if (join(&f->from, &f->temporary, name, f->err) ||
            join(&f->to, &f->path, name, f->err))
            return CFX_ENOMEM;
        cfx_file_keep_mode(f->from.s, f->to.s);
        if (rename(f->from.s, f->to.s))
            return cfx_fail_errno(f->err, f->to.s);
    }
    return CFX_OK;
}

/* Take away what is left of the temporary folder. */
static void clean_up(folder *f)
{
    for (int i = 0; i < NFILES && f->temporary.len; i++)
        if (!join(&f->from, &f->temporary, file_name[i], NULL))
            unlink(f->from.s);
    if (f->temporary.len)
        rmdir(f->temporary.s);
}

static cfx_status write_folder(folder *f)
{
    struct stat info;
    f->there = !stat(f->path.s, &info);
    if (f->there && !S_ISDIR(info.st_mode))
        return cfx_fail(f->err, CFX_EIO, "%s: is not a folder", f->path.s);
    size_t n;
    cfx_status st = cfx_model__count_weights(&n, f->gm, f->err);
    f->state = n > 0;
    if (!st)
        st = make_temporary(f);
    for (int i = 0; i < NFILES && !st; i++)
        if (i != STATE || f->state)
            st = write_file(f, i);
    return st ? st : install(f);
}

cfx_status cfx_graph_module_to_folder(const cfx_module *gm, const char *path,
                                      const char *name, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    err = err ? err : &own;
    folder f = {.ctx = cfx_module_context(gm), .gm = gm, .err = err};
    cfx_buf *bufs[] = {&f.path, &f.temporary, &f.from, &f.to};
    size_t len = strlen(path);

    f.name = cfx_print__class_name(gm, name, err);
    if (!f.name)
        return err->code;
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_init(bufs[i], f.ctx);
    while (len > 1 && path[len - 1] == '/')
        len--;
    cfx_buf_add(&f.path, path, len);
    cfx_status st = f.path.failed || !len ? CFX_OK : write_folder(&f);
    if (f.path.failed)
        st = out_of_memory(err);
    else if (!len)
        st = cfx_fail(err, CFX_EINVAL, "the folder has no name");
    clean_up(&f);
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_release(bufs[i]);
    return st;
}

/* ---- Reading ---- */

/* The name that torch.fx.GraphModule.to_folder gives its file of weights. */
#define TORCH_STATE "state_dict.pt"

/* "DIR/NAME" */
static cfx_status path_in(cfx_buf *out, const char *dir, const char *name,
                          cfx_error *err)
{
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    cfx_buf_clear(out);
    cfx_buf_add(out, dir, len);
    cfx_buf_printf(out, "/%s", name);
    return out->failed ? out_of_memory(err) : CFX_OK;
}

static cfx_status folder_read(cfx_module **out, cfx_model_file *f,
                              const cfx_load_options *o, cfx_error *err)
{
    cfx_context *ctx = f->file.ctx;
    cfx_model_file *code = NULL;
    cfx_buf file;
    *out = NULL;
    cfx_buf_init(&file, ctx);
    cfx_status st = path_in(&file, f->path, file_name[MODULE], err);
    if (!st)
        st = cfx_model_file_open(&code, ctx, file.s, err);
    if (!st)
        st = cfx_model_format__python.read(out, code, o, err);
    cfx_model_file_close(code);
    cfx_buf_release(&file);
    return st;
}

static cfx_status folder_read_weights(cfx_module *gm, cfx_model_file *f,
                                      bool map, cfx_error *err)
{
    const char *const names[] = {TORCH_STATE, file_name[STATE]};
    cfx_status st = CFX_OK;
    bool found = false;
    cfx_buf file;
    cfx_buf_init(&file, cfx_module_context(gm));
    for (size_t i = 0; i < 2 && !st && !found; i++) {
        st = path_in(&file, f->path, names[i], err);
        found = !st && !access(file.s, F_OK);
    }
    if (found)
        st = cfx_module_load_weights(gm, file.s, map, err);
    cfx_buf_release(&file);
    return st;
}

/* ---- The format ---- */

static cfx_status folder_write(const char *path, const cfx_module *gm,
                               const cfx_save_options *o, cfx_error *err)
{
    cfx_status st = cfx_graph_module_to_folder(gm, path, o->name, err);
    if (st && st != CFX_EIO)
        cfx_fail_at(err, "%s", path);
    return st;
}

const cfx_model_format cfx_model_format__folder = {
    .base =
        {.name = "folder",
         .suffix = "/",
         .doc =
             "A Python package: `from OUT import NAME` needs PyTorch only."},
    .options = CFX_SAVE_NAME,
    .read = folder_read,
    .read_weights = folder_read_weights,
    .write = folder_write,
};
