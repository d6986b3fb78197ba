/*
 * folder -- export a GraphModule as a Python package.
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

static const char *const file_name[NFILES] = {
    "__init__.py", "module.py", "state.safetensors"};

typedef struct folder {
    cfx_context *ctx;
    const cfx_module *gm;
    const char *name;       /* of the class */
    cfx_buf path, temporary, from, to;
    bool there;             /* was the folder there before? */
    bool state;             /* are there numbers? */
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

/* ---- Numbers ---- */

static bool has_numbers(const cfx_state *s)
{
    return s->tensor && !cfx_tensor_is_meta(s->tensor);
}

static size_t count_numbers(const cfx_module *gm)
{
    size_t n = 0;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++)
            n += has_numbers(cfx_module_state_at(m, i));
    return n;
}

/* "layer1.0.weight", from gm. */
static char *full_name(cfx_arena *memory, const cfx_module *gm,
                       const cfx_module *m, const char *name)
{
    size_t n = cfx_module_path(m, NULL, 0), len = strlen(name) + 1;
    size_t above = cfx_module_path(gm, NULL, 0);
    char *full = cfx_arena_alloc(memory, n + 1 + len);
    if (!full)
        return NULL;
    cfx_module_path(m, full, n + 1);
    if (n)
        full[n++] = '.';
    memcpy(full + n, name, len);
    return full + above + (above > 0);
}

static cfx_status write_state(folder *f, const char *path)
{
    size_t n = count_numbers(f->gm), at = 0;
    cfx_arena memory;
    cfx_status st = CFX_OK;
    cfx_named_tensor *item = cfx_calloc(f->ctx, n, sizeof(*item));
    if (!item)
        return out_of_memory(f->err);
    cfx_arena_init(&memory, f->ctx);
    for (const cfx_module *m = f->gm; m; m = cfx_module_next(m, f->gm))
        for (size_t i = 0; i < cfx_module_nstate(m) && !st; i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (!has_numbers(s))
                continue;
            char *name = full_name(&memory, f->gm, m, s->name);
            item[at++] = (cfx_named_tensor){name, s->tensor};
            st = name ? CFX_OK : out_of_memory(f->err);
        }
    if (!st)
        st = cfx_safetensors_write(path, f->ctx, item, n, f->err);
    cfx_arena_release(&memory);
    cfx_free(f->ctx, item, n * sizeof(*item));
    return st;
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
        return st ? st : write_state(f, f->from.s);
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
        cfx_buf_printf(&f->temporary, f->there ? "%s/%ld.%u.tmp"
                                               : "%s.%ld.%u.tmp",
                       f->path.s, (long)getpid(), i);
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

/* Let what is complete take its name. */
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
    struct stat st;
    f->there = !stat(f->path.s, &st);
    if (f->there && !S_ISDIR(st.st_mode))
        return cfx_fail(f->err, CFX_EIO, "%s: is no folder", f->path.s);
    f->state = count_numbers(f->gm) > 0;
    cfx_status rc = make_temporary(f);
    for (int i = 0; i < NFILES && !rc; i++)
        if (i != STATE || f->state)
            rc = write_file(f, i);
    return rc ? rc : install(f);
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
