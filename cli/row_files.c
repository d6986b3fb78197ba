/*
 * row_files -- results of many rows, written row by row to .npy files.
 *
 * Whoever opens a file gives it its length and writes its header. Both follow from the
 * type of the result, so that all processes write the same, and none waits for
 * another.
 */
#include "row_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART ".part"

struct cli_row_file {
    int fd;
    cfx_dtype dtype;
    int rank;
    int64_t shape[CFX_MAX_RANK]; /* of the whole file */
    size_t header, row;          /* bytes of the header and of each row */
    char path[4096];
};

static cfx_status failed(const char *path, cfx_error *err)
{
    return cfx_fail(err, CFX_EIO, "%s: %s", path, strerror(errno));
}

/* ---- One file ---- */

static cfx_status write_at(const cli_row_file *f, const void *data,
                           size_t bytes, size_t at, cfx_error *err)
{
    const char *p = data;
    while (bytes) {
        ssize_t n = pwrite(f->fd, p, bytes, (off_t)at);
        if (n < 0 && errno != EINTR)
            return failed(f->path, err);
        if (n > 0) {
            p += n;
            at += (size_t)n;
            bytes -= (size_t)n;
        }
    }
    return CFX_OK;
}

/* Write the header, as cfx_npy_write does. */
static cfx_status write_header(cli_row_file *f, cfx_error *err)
{
    enum { MAGIC = 10, CHUNK = 64 };
    char text[MAGIC + 64 * CFX_MAX_RANK] = "\x93NUMPY\x01";
    size_t size = sizeof(text) - CHUNK, n = MAGIC;

    n += (size_t)snprintf(text + n, size - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          cfx_dtypes[f->dtype].npy);
    for (int i = 0; i < f->rank; i++)
        n += (size_t)snprintf(text + n, size - n, "%lld%s",
                              (long long)f->shape[i],
                              f->rank == 1      ? ","
                              : i + 1 < f->rank ? ", "
                                                : "");
    n += (size_t)snprintf(text + n, size - n, "), }");
    while (n % CHUNK != CHUNK - 1)
        text[n++] = ' ';
    text[n++] = '\n';
    text[8] = (char)((n - MAGIC) & 255);
    text[9] = (char)((n - MAGIC) >> 8);
    f->header = n;
    return write_at(f, text, n, 0, err);
}

/* Is the length of the file a number that the system knows? */
static bool has_length(const cli_row_file *f)
{
    const size_t most = INT64_MAX - 4096;
    return !f->row || (size_t)f->shape[0] <= most / f->row;
}

static cfx_status open_file(cli_row_file *f, cfx_error *err)
{
    f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return failed(f->path, err);
    cfx_status st = has_length(f) ? write_header(f, err)
                                  : cfx_fail(err, CFX_ELIMIT,
                                             "%s: is too long", f->path);
    off_t length = (off_t)(f->header + f->row * (size_t)f->shape[0]);
    return st || !ftruncate(f->fd, length) ? st : failed(f->path, err);
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one;
}

/* Fill in what the first rows tell: the type and the length of the file. */
static cfx_status describe(cli_row_file *f, const cli_row_files *all,
                           const char *name, const cfx_tensor *t,
                           cfx_error *err)
{
    int n = snprintf(f->path, sizeof(f->path), "%s/%s.npy" PART, all->dir,
                     name);
    if (n < 0 || (size_t)n >= sizeof(f->path))
        return cfx_fail(err, CFX_EINVAL, "%s: the path is too long", all->dir);
    if (strchr(name, '/'))
        return cfx_fail(err, CFX_EINVAL,
                        "%s: a key with a slash cannot name a file", f->path);
    if (!cfx_dtypes[t->dtype].npy || !is_little_endian())
        return cfx_fail(err, CFX_EUNSUPPORTED, "%s: NumPy has no %s here",
                        f->path, cfx_dtypes[t->dtype].name);
    f->dtype = (cfx_dtype)t->dtype;
    f->rank = t->rank;
    f->row = cfx_dtype_size(f->dtype);
    f->shape[0] = all->rows;
    for (int i = 1; i < t->rank; i++) {
        f->shape[i] = cfx_tensor_size(t, i);
        f->row *= (size_t)f->shape[i];
    }
    return open_file(f, err);
}

static cfx_status check_type(const cli_row_file *f, const cfx_tensor *t,
                             cfx_error *err)
{
    bool same = f->dtype == (cfx_dtype)t->dtype && f->rank == t->rank;
    for (int i = 1; same && i < t->rank; i++)
        same = f->shape[i] == cfx_tensor_size(t, i);
    return same
               ? CFX_OK
               : cfx_fail(
                     err, CFX_ESHAPE,
                     "%s: these rows have another type or shape than those before",
                     f->path);
}

/* ---- All files ---- */

typedef struct writer {
    cli_row_files *files;
    const cli_row_range *range;
    size_t i; /* of the part */
} writer;

static cfx_status check_rows(const char *name, cfx_value v, int64_t n,
                             cfx_error *err)
{
    if (v.kind != CFX_TENSOR)
        return cfx_fail(
            err, CFX_ESHAPE,
            "%s is no tensor with a row for each row of the inputs", name);
    const cfx_tensor *t = v.u.tensor;
    if (t->rank && cfx_tensor_size(t, 0) == n)
        return CFX_OK;
    return cfx_fail(
        err, CFX_ESHAPE,
        "%s has %lld rows for a batch of %lld: each row of the inputs has to give one",
        name, (long long)(t->rank ? cfx_tensor_size(t, 0) : 0), (long long)n);
}

/* The file of part w->i, made where the part is the first of its place. */
static cfx_status file_of(cli_row_file **out, writer *w, const char *name,
                          const cfx_tensor *t, cfx_error *err)
{
    cli_row_files *all = w->files;
    if (w->i < all->n) {
        *out = &all->item[w->i];
        return check_type(*out, t, err);
    }
    cli_row_file *grown = realloc(all->item, (all->n + 1) * sizeof(*grown));
    if (!grown)
        return cfx_no_memory(err);
    all->item = grown;
    *out = &grown[all->n++];
    **out = (cli_row_file){.fd = -1};
    return describe(*out, all, name, t, err);
}

static cfx_status write_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    writer *w = user;
    const cli_row_range *r = w->range;
    cli_row_file *f = NULL;
    cfx_tensor *flat;
    cfx_status st = check_rows(name, v, r->n, err);
    if (!st)
        st = file_of(&f, w, name, v.u.tensor, err);
    if (!st)
        st = cfx_tensor_contiguous(&flat, v.u.tensor, err);
    if (st)
        return st;
    st = write_at(f, (const char *)flat->data + (size_t)r->skip * f->row,
                  (size_t)(r->n - r->skip) * f->row,
                  f->header + (size_t)r->at * f->row, err);
    cfx_tensor_unref(flat);
    w->i++;
    return st;
}

cfx_status cli_row_files_write(cli_row_files *f, const cli_result *r,
                               const cli_row_range *range, cfx_error *err)
{
    writer w = {f, range, 0};
    return cli_visit_result(r, write_part, &w, err);
}

cfx_status cli_row_files_sync(cli_row_files *f, cfx_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->item[i].fd >= 0 && fsync(f->item[i].fd))
            return failed(f->item[i].path, err);
    return CFX_OK;
}

void cli_row_files_release(cli_row_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->item[i].fd >= 0)
            close(f->item[i].fd);
    free(f->item);
    f->item = NULL;
    f->n = 0;
}

static cfx_status rename_part(const char *dir, const char *name,
                              cfx_error *err)
{
    char from[4096], to[4096];
    size_t len = strlen(name) - strlen(PART);
    int n = snprintf(from, sizeof(from), "%s/%s", dir, name);
    int m = snprintf(to, sizeof(to), "%s/%.*s", dir, (int)len, name);
    if (n < 0 || (size_t)n >= sizeof(from) || m < 0 || (size_t)m >= sizeof(to))
        return cfx_fail(err, CFX_EINVAL, "%s: the path is too long", dir);
    return rename(from, to) && errno != ENOENT ? failed(from, err) : CFX_OK;
}

cfx_status cli_row_files_finish(const char *dir, cfx_error *err)
{
    static const char suffix[] = ".npy" PART;
    const size_t end = sizeof(suffix) - 1;
    DIR *d = opendir(dir);
    cfx_status st = d ? CFX_OK : failed(dir, err);

    for (struct dirent *e; !st && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > end && !strcmp(e->d_name + len - end, suffix))
            st = rename_part(dir, e->d_name, err);
    }
    if (d)
        closedir(d);
    return st;
}
