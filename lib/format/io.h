/*
 * io.h -- read whole files, write tensor data. Not installed.
 */
#ifndef CFX_FORMAT_IO_H
#define CFX_FORMAT_IO_H

#include <cfx/file.h>

#include "base/util.h"

/* The bytes of a file, in a block of the context (aligned to 64 bytes). */
typedef struct cfx_bytes {
    cfx_context *ctx;
    unsigned char *data;
    size_t len, cap;
} cfx_bytes;

/* Looks at the first bytes of a file, so that one of another kind, or without an
 * end, is refused before it takes memory; these are all of it, or at least
 * CFX_NPY_HEADER_MAX. May set *total to the size that all should have. */
typedef cfx_status cfx_bytes_check(size_t *total, const unsigned char *head,
                                   size_t len, cfx_error *err);
/* A check of files of text: they have no NUL. */
cfx_status cfx_bytes_are_text(size_t *total, const unsigned char *head,
                              size_t len, cfx_error *err);

/* The first bytes of a file, by which formats are told: an archive's first entry
 * has its name there. */
enum { CFX_HEAD = 320 };

/* A file that is read. */
typedef struct cfx_file {
    cfx_context *ctx;
    const char *path;
    int fd; /* -1: it is a pipe, device or folder, or cannot be opened */
    size_t size;
    unsigned char head[CFX_HEAD];
    size_t nhead;
} cfx_file;

/* Open a regular file, and read its head. A pipe is not opened, which would wait
 * for a writer, and lose what it writes. Close it, also on failure. `path` is
 * borrowed. Fails with CFX_EIO. */
cfx_status cfx_file_open(cfx_file *f, cfx_context *ctx, const char *path,
                         cfx_error *err);
void cfx_file_close(cfx_file *f);
/* Say why a file is not open. */
cfx_status cfx_file_check(cfx_file *f, cfx_error *err);

/* Read a file, or a pipe, to its end; at most `limit` bytes. Fails with CFX_EIO,
 * CFX_EPARSE, CFX_ELIMIT, CFX_ENOMEM. */
cfx_status cfx_file_read(cfx_bytes *out, const cfx_file *f, size_t limit,
                         cfx_bytes_check *check, cfx_error *err);
cfx_status cfx_bytes_read(cfx_bytes *out, cfx_context *ctx, const char *path,
                          size_t limit, cfx_bytes_check *check,
                          cfx_error *err);
void cfx_bytes_release(cfx_bytes *b);

/* Read exactly `n` bytes from `offset`, through interruptions and short
 * reads; CFX_EIO where the file ends before. */
cfx_status cfx_file_read_at(cfx_context *ctx, int fd, void *to, size_t n,
                            size_t offset, cfx_error *err);

/* Does a path end in a suffix, and have more than that? */
bool cfx_path_ends_in(const char *path, const char *suffix);
/* Does a file's head begin a zip archive whose first entry's name ends in `last`? */
bool cfx_head_is_zip_of(const unsigned char *head, size_t n, const char *last);

/* Give a file that is to replace `of`, if there is one, its permissions and, if
 * that can be, its owner. */
void cfx_file_keep_mode(const char *path, const char *of);

/* Fail with errno's message. */
cfx_status cfx_fail_errno(cfx_error *err, const char *what);

/* Swap the bytes of `n` elements of `size` bytes each. */
void cfx_swap_bytes(void *p, size_t n, size_t size);
/* Is this machine little-endian? */
bool cfx_little_endian(void);

/* Write the data of a tensor, row-major and little-endian, to a stream; polls
 * for cancellation. */
cfx_status cfx_write_numbers(FILE *to, const cfx_tensor *t, cfx_error *err);

/* Replace nonzero bytes by 1: kernels rely on 0 and 1. */
void cfx_normalize_bools(void *p, size_t n);

/* A list of `n` unnamed tensors to fill in; release it. */
cfx_status cfx_tensors_init(cfx_tensors *list, cfx_context *ctx, size_t n,
                            cfx_error *err);
/* Name item i. */
cfx_status cfx_tensors_name(cfx_tensors *list, size_t i, const char *name,
                            size_t len, cfx_error *err);
/* Sort a list by name; CFX_EPARSE for a duplicate name. */
cfx_status cfx_tensors_sort(cfx_tensors *list, cfx_error *err);

/* Like cfx_tensors_visit, for an open file. */
cfx_status cfx_file_visit_tensors(cfx_file *f, bool map, cfx_tensors_fn *fn,
                                  void *user, cfx_error *err);

/* The format with the suffix of `path`, of n; or NULL. */
const cfx_format *cfx_format__of_name(const cfx_format *const *formats,
                                      size_t n, const char *path);
/* The format of a file by its content, else by its suffix; or NULL. */
const cfx_format *cfx_format__of_file(const cfx_format *const *formats,
                                      size_t n, const cfx_file *f);

/* An open model file. `read` of its format sets the version. */
struct cfx_model_file {
    cfx_file file;
    const cfx_model_format *format;
    cfx_buf version;
    void *opened; /* the format's own, which its `close` releases */
    size_t size;  /* of `path` */
    char path[];
};
/* Set the version, with what a terminal would not show escaped. */
cfx_status cfx_model__set_version(cfx_model_file *f, const cfx_buf *text,
                                  cfx_error *err);

/* The rows of the tables of formats. */
#define TENSOR_FORMAT(name)                                                   \
    extern const cfx_tensor_format cfx_tensor_format__##name;
#include "format/tensors/tensor_formats.def"
#undef TENSOR_FORMAT
#define MODEL_FORMAT(name)                                                    \
    extern const cfx_model_format cfx_model_format__##name;
#include "format/model_formats.def"
#undef MODEL_FORMAT

/*
 * A text and its weights are renamed into place one after the other, weights
 * first. So that a program that dies in between leaves no pair that loads and
 * computes something else, weights that replace others tell the text that they
 * do not belong to, by its checksum.
 */
typedef struct cfx_pair {
    bool given;
    uint64_t text; /* checksum of the text that is replaced */
} cfx_pair;
/* Write weights that tell a text of which they are no longer; `replaced` may be
 * NULL. */
cfx_status cfx_safetensors__write_pair(const char *path, cfx_context *ctx,
                                       const cfx_named_tensor *item, size_t n,
                                       const cfx_pair *replaced,
                                       cfx_error *err);
/* The checksum that a weights file keeps of the text that it replaced. */
cfx_pair cfx_safetensors__replaced(const cfx_file *f);
/* Fails with CFX_EWEIGHT where the text is that which the weights beside it
 * replaced. */
cfx_status cfx_text__check_pair(const cfx_file *of, const cfx_file *weights,
                                cfx_error *err);

/* Count the tensors with data in a model: parameters, buffers, and arguments in
 * its graphs. */
cfx_status cfx_model__count_weights(size_t *n, const cfx_module *gm,
                                    cfx_error *err);
/* "m.fx" to "m.safetensors", which is added to `out`. */
void cfx_weights_beside(cfx_buf *out, const char *path);
/* Write them to a .safetensors file; `replaced`: the text that they no longer
 * belong to, or NULL. */
cfx_status cfx_model__write_weights(const char *path, const cfx_module *gm,
                                    const cfx_pair *replaced, cfx_error *err);

/* Decode an .npy file; takes the bytes, also on failure. */
cfx_status cfx_npy_decode_take(cfx_tensor **out, cfx_bytes *bytes,
                               cfx_error *err);
/* Add the bytes of an .npy file. Fails with CFX_EUNSUPPORTED for a type that
 * NumPy lacks, CFX_EINVAL for a meta, CFX_ENOMEM. */
cfx_status cfx_npy_put(cfx_buf *out, const cfx_tensor *t, cfx_error *err);
/* The size of an .npy file by its header, of which `len` bytes are given;
 * *total is 0 if these are too few. */
cfx_bytes_check cfx_npy_total;

/* The maximum length of an .npy header. */
enum { CFX_NPY_HEADER_MAX = 65536 };

#endif
