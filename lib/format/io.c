/*
 * io -- whole files in, whole files out.
 *
 * A file appears only when it is complete: data goes to an unnamed file in the
 * same directory (O_TMPFILE, or one with a temporary name), which is then
 * linked or renamed into place. Pipes and devices (/dev/stdout) are written
 * directly. There is no fsync: this protects against crashes of the program,
 * not of the machine.
 */
#include "format/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

cfx_status cfx_fail_errno(cfx_error *err, const char *what)
{
    int e = errno ? errno : EIO;

    if (e == ENOMEM)
        return cfx_no_memory(err);
    return what ? cfx_fail(err, CFX_EIO, "%s: %s", what, strerror(e))
                : cfx_fail(err, CFX_EIO, "%s", strerror(e));
}

/* ---- Reading ---- */

static int open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

cfx_status cfx_file_open(cfx_file *f, cfx_context *ctx, const char *path,
                         cfx_error *err)
{
    struct stat info;

    *f = (cfx_file){.ctx = ctx, .path = path, .fd = -1};
    if (stat(path, &info))
        return cfx_fail_errno(err, NULL);
    if (!S_ISREG(info.st_mode))
        return cfx_fail(err, CFX_EIO, "is not a regular file");
    f->fd = open_to_read(path);
    if (f->fd < 0)
        return cfx_fail_errno(err, NULL);
    f->size = (size_t)info.st_size;
    f->nhead = f->size < CFX_HEAD ? f->size : CFX_HEAD;
    if (cfx_file_read_at(ctx, f->fd, f->head, f->nhead, 0, NULL))
        f->nhead = 0; /* its reader says why */
    return CFX_OK;
}

void cfx_file_close(cfx_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

cfx_status cfx_file_check(cfx_file *f, cfx_error *err)
{
    return f->fd >= 0 ? CFX_OK : cfx_file_open(f, f->ctx, f->path, err);
}

bool cfx_path_ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);

    return n > k && !strcmp(path + n - k, suffix);
}

/* Bytes between two polls for cancellation: some milliseconds. */
static const size_t most_at_once = (size_t)16 << 20;

cfx_status cfx_file_read_at(cfx_context *ctx, int fd, void *to, size_t n,
                            size_t offset, cfx_error *err)
{
    unsigned char *p = to;

    while (n) {
        ssize_t got = pread(fd, p, n < most_at_once ? n : most_at_once,
                            (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cfx_fail_errno(err, NULL);
        if (got == 0)
            return cfx_fail(err, CFX_EIO,
                            "the file became shorter while it was read");
        p += got;
        n -= (size_t)got;
        offset += (size_t)got;
        cfx_status st = n ? cfx_context_check(ctx, err) : CFX_OK;
        if (st)
            return st;
    }
    return CFX_OK;
}

bool cfx_head_is_zip_of(const unsigned char *head, size_t n, const char *last)
{
    /* The header of an entry: its length of the name, then at 30 the name. */
    const size_t at = 30, k = strlen(last);
    size_t len = n > at ? head[26] + 256u * head[27] : 0;

    return len > k && at + len <= n && !memcmp(head, "PK\3\4", 4) &&
           !memcmp(head + at + len - k, last, k);
}

void cfx_bytes_release(cfx_bytes *b)
{
    if (b->data)
        cfx_block_free(b->ctx, b->data, b->cap);
    *b = (cfx_bytes){0};
}

static cfx_status bytes_grow(cfx_bytes *b, size_t cap, cfx_error *err)
{
    unsigned char *data = cfx_block_alloc(b->ctx, cap);

    if (!data)
        return cfx_no_memory(err);
    if (b->data) {
        memcpy(data, b->data, b->len);
        cfx_block_free(b->ctx, b->data, b->cap);
    }
    b->data = data;
    b->cap = cap;
    return CFX_OK;
}

cfx_status cfx_bytes_are_text(size_t *total, const unsigned char *head,
                              size_t len, cfx_error *err)
{
    (void)total;
    return memchr(head, '\0', len)
               ? cfx_fail(err, CFX_EPARSE, "is not a file of text")
               : CFX_OK;
}

/* Append once what a file gives, but no more than b has room for. */
static cfx_status read_piece(cfx_bytes *b, int fd, bool *end, cfx_error *err)
{
    size_t room = b->cap - b->len;
    ssize_t got = read(fd, b->data + b->len,
                       room < most_at_once ? room : most_at_once);

    if (got < 0 && errno != EINTR)
        return cfx_fail_errno(err, NULL);
    *end = got == 0;
    b->len += got > 0 ? (size_t)got : 0;
    return cfx_context_check(b->ctx, err);
}

static cfx_status check_size(size_t size, size_t total, size_t limit,
                             cfx_error *err)
{
    if (total && size > total)
        return cfx_fail(err, CFX_EPARSE, "has %zu bytes after its end",
                        size - total);
    return size > limit
               ? cfx_fail(err, CFX_ELIMIT,
                          "has %zu bytes, more than the %zu that are read",
                          size, limit)
               : CFX_OK;
}

static cfx_status bytes_read_fd(cfx_bytes *b, int fd, size_t limit,
                                cfx_bytes_check *check, cfx_error *err)
{
    const size_t head = CFX_NPY_HEADER_MAX + 4096;
    struct stat info;
    size_t size = 0, total = 0;
    bool end = false;
    cfx_status st = CFX_OK;

    /* st_size may be 0 or wrong: it is only a hint. */
    if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size > 0)
        size = (size_t)info.st_size;
    st = check_size(size, 0, limit, err);
    if (!st)
        st = bytes_grow(b, size && size < head ? size + 1 : head, err);
    while (!st && !end && b->len < b->cap)
        st = read_piece(b, fd, &end, err);
    if (!st && check)
        st = check(&total, b->data, b->len, err);
    if (!st)
        st = check_size(size, total, limit, err);
    if (!st && !end && size >= b->cap)
        st = bytes_grow(b, size + 1, err);
    while (!st && !end) {
        size_t cap = b->cap;
        if (b->len == cap)
            st = cfx_mul_size(&cap, cap, 2) ? bytes_grow(b, cap, err)
                                            : cfx_no_memory(err);
        if (!st)
            st = read_piece(b, fd, &end, err);
        if (!st)
            st = check_size(b->len, total, limit, err);
    }
    return st;
}

cfx_status cfx_file_read(cfx_bytes *out, const cfx_file *f, size_t limit,
                         cfx_bytes_check *check, cfx_error *err)
{
    int fd = f->fd;
    cfx_status st = CFX_OK;

    *out = (cfx_bytes){.ctx = f->ctx};
    /* Opening a pipe without a writer blocks; a signal may cancel it. */
    while (fd < 0 && (fd = open_to_read(f->path)) < 0) {
        if (errno != EINTR)
            return cfx_fail_errno(err, NULL);
        st = cfx_context_check(f->ctx, err);
        if (st)
            return st;
    }
    if (fd == f->fd && lseek(fd, 0, SEEK_SET))
        st = cfx_fail_errno(err, NULL);
    if (!st)
        st = bytes_read_fd(out, fd, limit, check, err);
    if (fd != f->fd)
        close(fd);
    if (st)
        cfx_bytes_release(out);
    return st;
}

cfx_status cfx_bytes_read(cfx_bytes *out, cfx_context *ctx, const char *path,
                          size_t limit, cfx_bytes_check *check, cfx_error *err)
{
    const cfx_file f = {.ctx = ctx, .path = path, .fd = -1};

    return cfx_file_read(out, &f, limit, check, err);
}

/* ---- Bytes of elements ---- */

bool cfx_little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

void cfx_swap_bytes(void *p, size_t n, size_t size)
{
    unsigned char *x = p;

    for (size_t i = 0; i < n; i++, x += size) {
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char keep = x[a];
            x[a] = x[b];
            x[b] = keep;
        }
    }
}

void cfx_normalize_bools(void *p, size_t n)
{
    unsigned char *x = p;

    for (size_t i = 0; i < n; i++) {
        if (x[i] > 1) /* avoids copying mapped pages that need no change */
            x[i] = 1;
    }
}

static cfx_status write_swapped(FILE *to, const unsigned char *p, size_t n,
                                size_t size, cfx_error *err)
{
    unsigned char chunk[4096];
    size_t most = sizeof(chunk) / size;

    while (n) {
        size_t k = n < most ? n : most;
        memcpy(chunk, p, k * size);
        cfx_swap_bytes(chunk, k, size);
        if (fwrite(chunk, size, k, to) != k)
            return cfx_fail_errno(err, NULL);
        p += k * size;
        n -= k;
    }
    return CFX_OK;
}

cfx_status cfx_write_numbers(FILE *to, const cfx_tensor *t, cfx_error *err)
{
    const size_t chunk = (size_t)4 << 20;
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    size_t part = cfx_dtype_size(cfx_dtype_real((cfx_dtype)t->dtype));
    cfx_tensor *flat = NULL;
    cfx_status st = cfx_tensor_contiguous(&flat, t, err);

    if (st)
        return st;
    const unsigned char *p = flat->data;
    size_t left = (size_t)cfx_tensor_numel(flat) * size;
    while (left && !st) {
        size_t n = left < chunk ? left : chunk;
        if (!cfx_little_endian() && size > 1)
            st = write_swapped(to, p, n / part, part, err);
        else if (fwrite(p, 1, n, to) != n)
            st = cfx_fail_errno(err, NULL);
        else
            st = cfx_context_check(t->ctx, err);
        p += n;
        left -= n;
    }
    cfx_tensor_unref(flat);
    return st;
}

/* ---- Writing ---- */

static char *path_copy(cfx_context *ctx, const char *path, size_t *size)
{
    *size = strlen(path) + 1;
    char *copy = cfx_alloc(ctx, *size);
    if (copy)
        memcpy(copy, path, *size);
    return copy;
}

/* Find a free temporary name beside f->path, and link `fd` to it; if that is
 * -1, create a file. Returns a file descriptor, or -1. */
static int take_name(cfx_outfile *f, int fd, mode_t mode)
{
    char self[48], name[PATH_MAX + 48];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < 1000; i++) {
        int len = snprintf(name, sizeof(name), "%s.%ld.%u.tmp", f->path,
                           (long)getpid(), i);
        if (len < 0 || (size_t)len >= f->temporary_size || len >= PATH_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        int got = fd < 0 ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                mode)
                  : linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW)
                      ? -1
                      : fd;
        if (got >= 0) {
            /* The first byte is set last: a signal handler removes the file
             * with this name, and a prefix may name another file. */
            memcpy(f->temporary + 1, name + 1, (size_t)len);
            atomic_thread_fence(memory_order_release);
            f->temporary[0] = name[0];
            return got;
        }
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    return -1;
}

/* Open an unnamed file in the directory of f->path, which vanishes if the
 * program dies; -1 if the file system has none. */
static int open_unnamed(cfx_outfile *f, mode_t mode)
{
#ifdef O_TMPFILE
    char self[48], folder[PATH_MAX], *slash;
    int fd;

    if (f->path_size > sizeof(folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, f->path, f->path_size);
    slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    fd = open(slash ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (fd >= 0 && access(self, F_OK)) { /* it could not be linked later */
        close(fd);
        fd = -1;
    }
    return fd;
#else
    (void)f;
    (void)mode;
    return -1;
#endif
}

/* A signal handler reads f->temporary: it must never be dangling. */
static void forget_name(cfx_outfile *f)
{
    char *name = f->temporary;

    f->temporary = NULL;
    atomic_thread_fence(memory_order_release);
    if (name)
        cfx_free(f->ctx, name, f->temporary_size);
}

/* Create a temporary file; f->temporary is its name, "" if unnamed. It has the
 * permissions and, if that can be, the owner of the file that it replaces, of
 * which `old` tells; NULL: there is none. */
static cfx_status open_temporary(cfx_outfile *f, int *fd,
                                 const struct stat *old, cfx_error *err)
{
    const mode_t mode = old ? old->st_mode & 0777 : 0666;

    f->temporary_size = strlen(f->path) + 48;
    f->temporary = cfx_calloc(f->ctx, 1, f->temporary_size);
    if (!f->temporary)
        return cfx_no_memory(err);
    *fd = open_unnamed(f, mode);
    if (*fd < 0)
        *fd = take_name(f, -1, mode);
    if (*fd < 0) {
        cfx_status st = cfx_fail_errno(err, NULL);
        forget_name(f);
        return st;
    }
    /* The mask of the process took bits; changing the owner takes them, too. */
    if (old) {
        (void)!fchown(*fd, old->st_uid, old->st_gid);
        (void)fchmod(*fd, mode);
    }
    return CFX_OK;
}

static cfx_status open_to_write(cfx_outfile *f, const char *path,
                                cfx_error *err)
{
    struct stat info;
    int fd = -1;
    char real[PATH_MAX];

    /* A symbolic link is kept: its target is replaced. */
    f->path = path_copy(f->ctx, realpath(path, real) ? real : path,
                        &f->path_size);
    if (!f->path)
        return cfx_no_memory(err);
    const bool there = !stat(f->path, &info);
    if (there && !S_ISREG(info.st_mode)) {
        fd = open(f->path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            return cfx_fail_errno(err, NULL);
    } else {
        cfx_status st = open_temporary(f, &fd, there ? &info : NULL, err);
        if (st)
            return st;
    }
    f->stream = fdopen(fd, "wb");
    if (!f->stream) {
        cfx_status st = cfx_fail_errno(err, NULL);
        close(fd);
        return st;
    }
    return CFX_OK;
}

cfx_status cfx_outfile_open(cfx_outfile *f, cfx_context *ctx, const char *path,
                            cfx_error *err)
{
    *f = (cfx_outfile){.ctx = ctx};
    cfx_status st = open_to_write(f, path, err);
    if (st) {
        cfx_outfile_discard(f);
        cfx_fail_at(err, "%s", path);
    }
    return st;
}

void cfx_file_keep_mode(const char *path, const char *of)
{
    struct stat old;

    if (!stat(of, &old)) {
        (void)!chown(path, old.st_uid, old.st_gid);
        (void)chmod(path, old.st_mode & 0777);
    }
}

/* A write failed before, and its errno is lost; one more fails alike. What it
 * writes is discarded. */
static void find_reason(FILE *stream)
{
    errno = 0;
    if (!fflush(stream) && putc('\n', stream) != EOF)
        fflush(stream);
}

void cfx_outfile_discard(cfx_outfile *f)
{
    if (f->stream)
        fclose(f->stream);
    if (f->temporary && f->temporary[0])
        unlink(f->temporary);
    forget_name(f);
    if (f->path)
        cfx_free(f->ctx, f->path, f->path_size);
    *f = (cfx_outfile){0};
}

cfx_status cfx_outfile_commit(cfx_outfile *f, cfx_error *err)
{
    cfx_status st = CFX_OK;
    FILE *stream = f->stream;

    f->stream = NULL;
    if (ferror(stream))
        find_reason(stream);
    else
        errno = 0;
    if (ferror(stream) || fflush(stream))
        st = cfx_fail_errno(err, f->path);
    else if (f->temporary && !f->temporary[0] &&
             take_name(f, fileno(stream), 0) < 0)
        st = cfx_fail_errno(err, f->path);
    if (fclose(stream) && !st)
        st = cfx_fail_errno(err, f->path);
    if (!st && f->temporary) {
        if (rename(f->temporary, f->path))
            st = cfx_fail_errno(err, f->path);
        else
            forget_name(f);
    }
    cfx_outfile_discard(f);
    return st;
}

/* ---- Lists of tensors ---- */

cfx_status cfx_tensors_init(cfx_tensors *list, cfx_context *ctx, size_t n,
                            cfx_error *err)
{
    *list = (cfx_tensors){.ctx = ctx};
    if (!n)
        return CFX_OK;
    list->item = cfx_calloc(ctx, n, sizeof(*list->item));
    if (!list->item)
        return cfx_no_memory(err);
    list->n = n;
    return CFX_OK;
}

cfx_status cfx_tensors_name(cfx_tensors *list, size_t i, const char *name,
                            size_t len, cfx_error *err)
{
    char *copy = cfx_alloc(list->ctx, len + 1);

    if (!copy)
        return cfx_no_memory(err);
    memcpy(copy, name, len);
    copy[len] = '\0';
    list->item[i].name = copy;
    return CFX_OK;
}

static int by_name(const void *a, const void *b)
{
    const cfx_named_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

cfx_status cfx_tensors_sort(cfx_tensors *list, cfx_error *err)
{
    if (list->n)
        qsort(list->item, list->n, sizeof(*list->item), by_name);
    for (size_t i = 1; i < list->n; i++) {
        if (!strcmp(list->item[i - 1].name, list->item[i].name))
            return cfx_fail(err, CFX_EPARSE, "the name '%s' stands twice",
                            list->item[i].name);
    }
    return CFX_OK;
}

cfx_tensor *cfx_tensors_get(const cfx_tensors *t, const char *name)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, t->item[middle].name);
        if (!order)
            return t->item[middle].tensor;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void cfx_tensors_release(cfx_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        char *name = (char *)(uintptr_t)t->item[i].name;
        if (name)
            cfx_free(t->ctx, name, strlen(name) + 1);
        cfx_tensor_unref(t->item[i].tensor);
    }
    if (t->item)
        cfx_free(t->ctx, t->item, t->n * sizeof(*t->item));
    *t = (cfx_tensors){0};
}
