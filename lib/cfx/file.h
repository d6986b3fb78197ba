/*
 * cfx/file.h -- models and tensors in files.
 */
#ifndef CFX_FILE_H
#define CFX_FILE_H

#include <stdio.h>

#include <cfx/graph_module.h>
#include <cfx/text.h>

CFX_BEGIN_DECLS

/* ---- Files that appear when they are complete ---- */

/*
 * A file to be written: what goes to `stream` is in a temporary file beside
 * `path` until it is committed, when it takes the name. Pipes and devices are
 * written to directly. Error texts of all functions here begin with the path.
 */
typedef struct cfx_outfile {
    FILE *stream;
    cfx_context *ctx;
    char *path, *temporary;  /* private */
    size_t path_size, temporary_size;
} cfx_outfile;

/* Fails with CFX_EIO, CFX_ENOMEM; there is nothing to give back then. */
CFX_API cfx_status cfx_outfile_open(cfx_outfile *f, cfx_context *ctx,
                                    const char *path, cfx_error *err);
/* Close it and give it its name, or remove it on failure (CFX_EIO). */
CFX_API cfx_status cfx_outfile_commit(cfx_outfile *f, cfx_error *err);
/* Close and remove it. A zeroed or committed one is allowed. */
CFX_API void cfx_outfile_discard(cfx_outfile *f);

/* ---- safetensors ---- */

/* Tensors by name. */
typedef struct cfx_named_tensor {
    const char *name;
    cfx_tensor *tensor;
} cfx_named_tensor;

typedef struct cfx_tensors {
    cfx_context *ctx;
    size_t n;
    cfx_named_tensor *item; /* sorted by name */
} cfx_tensors;

/* Read a file of tensors; mapped without a copy where `map` is set, else read.
 * Everything the format promises is checked first. Fails with CFX_EIO,
 * CFX_EPARSE, CFX_ENOMEM. Release it with cfx_tensors_release. */
CFX_API cfx_status cfx_safetensors_read(cfx_tensors *out, cfx_context *ctx,
                                        const char *path, bool map,
                                        cfx_error *err);
/*
 * Read tensors from the bytes of such a file, which are in memory. They are
 * copied, unless `borrow` is set: then tensors point into them where they are
 * aligned, and the memory must stay until the last tensor is given back. What
 * writes to a borrowed tensor (an in-place operator, a batch norm in training)
 * writes to it; constant memory crashes the program then. Fails with
 * CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_safetensors_parse(cfx_tensors *out, cfx_context *ctx,
                                         const void *data, size_t size,
                                         bool borrow, cfx_error *err);
/* Write tensors, to a temporary file that takes the name when complete. */
CFX_API cfx_status cfx_safetensors_write(const char *path, cfx_context *ctx,
                                         const cfx_named_tensor *item,
                                         size_t n, cfx_error *err);
CFX_API cfx_tensor *cfx_tensors_get(const cfx_tensors *t, const char *name);
CFX_API void cfx_tensors_release(cfx_tensors *t);

/* ---- NumPy ---- */

CFX_API cfx_status cfx_npy_read(cfx_tensor **out, cfx_context *ctx,
                                const char *path, cfx_error *err);
CFX_API cfx_status cfx_npy_write(const char *path, const cfx_tensor *t,
                                 cfx_error *err);
/* All arrays of an .npz archive. */
CFX_API cfx_status cfx_npz_read(cfx_tensors *out, cfx_context *ctx,
                                const char *path, cfx_error *err);

/* ---- Any format of tensors ---- */

/* Called with the tensors of a file and its path; the index of several files
 * gives those of each. */
typedef cfx_status cfx_tensors_fn(void *user, const cfx_tensors *tensors,
                                  const char *path, cfx_error *err);

/* A format: a row of the table, at the end of the format's own file. */
typedef struct cfx_tensor_format {
    const char *name;   /* "npy" */
    const char *suffix; /* of the names of its files: ".npy" */
    const char *doc;    /* one line */
    bool keyed;         /* tensors have names, else there is one without */
    /* Do the first bytes of a file, up to 64, tell that it is of the format? */
    bool (*probe)(const unsigned char *head, size_t n);
    /* Read a file, mapped where `map` is set and the format allows it. */
    cfx_status (*read)(cfx_tensors *out, cfx_context *ctx, const char *path,
                       bool map, cfx_error *err);
    /* Instead of `read`, where one file names others. */
    cfx_status (*visit)(cfx_context *ctx, const char *path, bool map,
                        cfx_tensors_fn *fn, void *user, cfx_error *err);
    /* NULL: cfx only reads it. One that is not keyed gets one tensor. */
    cfx_status (*write)(const char *path, cfx_context *ctx,
                        const cfx_named_tensor *item, size_t n,
                        cfx_error *err);
} cfx_tensor_format;

/* The i-th format; NULL after the last. */
CFX_API const cfx_tensor_format *cfx_tensor_format_at(size_t i);
/* The format of files with such a name; NULL where none has its suffix. */
CFX_API const cfx_tensor_format *cfx_tensor_format_of_name(const char *path);

/* Visit the tensors of a file of any format, which its content tells before
 * its suffix. Fails with CFX_EIO, CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENOMEM and
 * what `fn` fails with. */
CFX_API cfx_status cfx_tensors_visit(cfx_context *ctx, const char *path,
                                     bool map, cfx_tensors_fn *fn, void *user,
                                     cfx_error *err);
/* Does a text name a tensor in a file, FILE.npy or FILE.npz:KEY, for
 * cfx_tensor_read? */
CFX_API bool cfx_tensor_names_file(const char *text);
/* Read that tensor; a file without a key must hold one. Fails as
 * cfx_tensors_visit does, with CFX_ENAME and CFX_EINVAL. */
CFX_API cfx_status cfx_tensor_read(cfx_tensor **out, cfx_context *ctx,
                                   const char *text, bool map, cfx_error *err);
/* Write tensors in the format that the suffix of the path tells. Fails with
 * CFX_EUNSUPPORTED, CFX_EINVAL, CFX_EIO, CFX_ENOMEM. */
CFX_API cfx_status cfx_tensors_write(const char *path, cfx_context *ctx,
                                     const cfx_named_tensor *item, size_t n,
                                     cfx_error *err);

/* ---- Models ---- */

typedef struct cfx_load_options {
    size_t size;                /* sizeof(cfx_load_options) */
    const char *weights;        /* .safetensors, .npz, or the .index.json of
                                   several files; NULL: MODEL.safetensors or
                                   its index, where they exist */
    bool no_weights;            /* leave all state without numbers */
    bool random_weights;        /* fill it from `seed` instead */
    uint64_t seed;
    bool no_map;                /* read the weights instead of mapping them */
    bool assume_defaults;       /* undecided arguments of modules are their
                                   defaults */
} cfx_load_options;

/*
 * Load a model: its text, and weights by name. Missing weights are no error
 * here, only when they are used; names in the file that the model lacks are.
 * Fails with CFX_EIO, CFX_EPARSE, CFX_ENAME, CFX_ESHAPE, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_model_load(cfx_module **out, cfx_context *ctx,
                                  const char *path,
                                  const cfx_load_options *options,
                                  cfx_error *err);

/* Load weights by name into a module that is there; `path` and failures as
 * above. */
CFX_API cfx_status cfx_module_load_weights(cfx_module *m, const char *path,
                                           bool map, cfx_error *err);

/*
 * The same from the bytes of a safetensors file in memory, copied or borrowed
 * as cfx_safetensors_parse does it. With cfx_parse_model a program loads a
 * model without files:
 *
 *     cfx_parse_model(&m, ctx, text, strlen(text), "net", &err) ||
 *         cfx_module_parse_weights(m, weights, sizeof(weights), true, &err)
 *
 * Fails with CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENAME, CFX_ESHAPE, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_module_parse_weights(cfx_module *m, const void *data,
                                            size_t size, bool borrow,
                                            cfx_error *err);

/*
 * Visit each tensor that stands in the arguments of a model's graphs, once,
 * with the name that the superset gives it ("%tensor0"), under which the
 * weights file has it. Stops at the first that does not return CFX_OK. Fails
 * with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_model_visit_tensors(
    const cfx_module *gm,
    cfx_status (*fn)(void *user, const char *name, cfx_tensor *t), void *user,
    cfx_error *err);

/*
 * Fill every parameter and buffer from a seed, by its name; the values are
 * the same on every machine. The header of format/random.c gives the formula.
 */
CFX_API cfx_status cfx_module_randomize(cfx_module *gm, uint64_t seed,
                                        cfx_error *err);
/* A tensor of an input filled from a seed and its name. */
CFX_API cfx_status cfx_tensor_randomize(cfx_tensor *t, uint64_t seed,
                                        const char *name, cfx_error *err);

/* ---- Saving models, in any format ---- */

enum { CFX_SAVE_LOSSLESS = 1, CFX_SAVE_NAME = 2 };

typedef struct cfx_save_options {
    size_t size;      /* sizeof(cfx_save_options) */
    bool lossless;    /* CFX_SAVE_LOSSLESS: the superset of PyTorch's text, also
                         where that loses nothing */
    const char *name; /* CFX_SAVE_NAME: of the class; NULL: the module's */
} cfx_save_options;

/* A format: a row of the table, at the end of the format's own file. */
typedef struct cfx_model_format {
    const char *name;     /* "text" */
    const char *suffix;   /* of the names of its files: ".fx"; "/": a folder */
    const char *doc;      /* one sentence, which calls its files OUT */
    unsigned options;     /* the save options that it takes, CFX_SAVE_... */
    /* Do the first bytes of a file, up to 64, tell that it is of the format? */
    bool (*probe)(const unsigned char *head, size_t n);
    /* The model without weights; NULL: cfx only writes it. Error texts begin
     * with the path, here and below. */
    cfx_status (*read)(cfx_module **out, cfx_context *ctx, const char *path,
                       cfx_error *err);
    /* The model and its weights: both, or neither. NULL: cfx only reads it. */
    cfx_status (*write)(const char *path, const cfx_module *gm,
                        const cfx_save_options *o, cfx_error *err);
} cfx_model_format;

/* The i-th format; NULL after the last. */
CFX_API const cfx_model_format *cfx_model_format_at(size_t i);
/* The format of files with such a name; NULL where none has its suffix. */
CFX_API const cfx_model_format *cfx_model_format_of_name(const char *path);

/* Save a model in the format that the suffix of the path tells, or else as a
 * model file, PyTorch's text. `options` may be NULL. Fails with CFX_EIO,
 * CFX_EINVAL, CFX_EUNSUPPORTED, CFX_ENOMEM. */
CFX_API cfx_status cfx_model_save(const char *path, const cfx_module *gm,
                                  const cfx_save_options *options,
                                  cfx_error *err);
/* The text of a model file alone: the superset where `lossless` is set or
 * PyTorch's text would lose something. */
CFX_API cfx_status cfx_model_print(cfx_sink to, const cfx_module *gm,
                                   bool lossless, cfx_error *err);
/* Is the file's text the superset by choice, not only because PyTorch's text
 * would have lost something? False where it cannot be read. */
CFX_API bool cfx_model_is_lossless(const char *path);

/* ---- A folder that Python imports ---- */

/*
 * Write a GraphModule as a package of Python, as torch.fx's to_folder does:
 *
 *     FOLDER/__init__.py         from .module import NAME
 *     FOLDER/module.py           class NAME(torch.nn.Module): its modules, made
 *                                by their constructors; the code of its graph
 *     FOLDER/state.safetensors   the numbers, where there are any
 *
 * so that `from FOLDER import NAME; NAME()(x)` needs PyTorch, and nothing of
 * ours. torch.fx pickles what is no Linear, Conv or BatchNorm, forgets the
 * imports of functions that are not torch's, buffers of children and the
 * training flags; here all of it is text, and comes back. State without
 * numbers is left as constructors make it, or is zeros.
 *
 * `name` must be an identifier of Python; NULL: the module's class name, or
 * "FxModule" where that is none. A folder that is there keeps its other files.
 * All files are complete before the first takes its name, and a new folder
 * appears when it is complete. Fails with CFX_EINVAL (a name that is none, no
 * graph), CFX_EUNSUPPORTED (a module type that is not PyTorch's, a function
 * that cannot be imported, tensors in arguments), CFX_EIO, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_graph_module_to_folder(const cfx_module *gm,
                                              const char *folder,
                                              const char *name,
                                              cfx_error *err);
/* The text of module.py alone. With `state`, it reads state.safetensors. */
CFX_API cfx_status cfx_print_python_module(cfx_sink to, const cfx_module *gm,
                                           const char *name, bool state,
                                           cfx_error *err);

CFX_END_DECLS

#endif
